"""Learners, one file per algorithm, named as in its paper. `learners.mechanisms` holds their noise and
selection.
"""
