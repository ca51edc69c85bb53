"""Counts of the examples labelled 1."""

from __future__ import annotations

import numpy as np

from arena.sample import Sample, Training


def count_ones(sample: Sample) -> int:
    """The number of examples labelled 1."""
    return int(sample.counts[sample.labels == 1].sum())


def count_ones_by_game(training: Training) -> np.ndarray:
    """(n,) float64: the number of examples labelled 1 in the sample of each game."""
    return np.array([float(count_ones(sample)) for sample in training.samples])[training.which]
