"""Counts of the examples labelled 1, and claims for noisy counts."""

from __future__ import annotations

import numpy as np

from arena.claims import Claim, PrivacyUnit, choose_claim
from arena.neighbours import Neighbours
from arena.sample import Sample, Training


def count_ones(sample: Sample) -> int:
    """The number of examples labelled 1."""
    return int(sample.counts[sample.labels == 1].sum())


def count_ones_by_game(training: Training) -> np.ndarray:
    """(n,) float64: the number of examples labelled 1 in the sample of each game."""
    return np.array([float(count_ones(sample)) for sample in training.samples])[training.which]


def claim_of_count(epsilon: float, delta: float, neighbours: str) -> Claim:
    """The claim of a count with noise for sensitivity 1, which replacing, adding, removing or zeroing out an
    example changes by at most 1."""
    kinds = Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE
    protects = (PrivacyUnit.TRAINING_EXAMPLE,)
    claims = [Claim(epsilon=epsilon, delta=delta, protects=protects, neighbours=kind) for kind in kinds]
    return choose_claim(claims, neighbours)
