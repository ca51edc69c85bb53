"""Learners that publish after every record of a stream."""
