"""Figures of speed, memory, power and errors; each file is a program that prints its own."""
