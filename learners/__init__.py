"""Learners, one file per algorithm, named as in its paper; `learners.mechanisms` has their noise."""
