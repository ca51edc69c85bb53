"""Surveys: every mechanism of a library that a catalogue knows, each audited in a process of its own."""
