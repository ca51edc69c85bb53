"""Empirical learners: output distributions, and privacy on tiny instances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.laws.mechanism_laws import RATE, SURE
from support.laws.sanitiser_laws import learner_law
from support.statistical import check_counts, statistical

from arena.errors import InvalidArgument
from learners.online.sanitiser import EmpiricalLearner, ExponentialLearner

FUNCTIONS = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], bool)
DATA = [(0, 0), (0, 1), (1, 1), (1, 1), (2, 0), (2, 1), (2, 0), (0, 0), (1, 0), (2, 0), (2, 0), (1, 1)]


def tally(data: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """The number of occurrences of each point with label 0, and with label 1."""
    table = np.zeros((2, 3), int)
    for x, y in data:
        table[y, x] += 1
    return table[0], table[1]


def learn_repeatedly(
    learner: EmpiricalLearner, rng: np.random.Generator, games: int, allowed: np.ndarray | None = None
) -> np.ndarray:
    zeros, ones = (np.tile(row, (games, 1)) for row in tally(DATA))
    mask = np.ones(len(FUNCTIONS), bool) if allowed is None else allowed
    return learner.learn(rng, FUNCTIONS, zeros, ones, np.tile(mask, (games, 1)))


@statistical(rate=RATE)
def test_the_exponential_learner_follows_its_distribution(rng: np.random.Generator) -> None:
    found = learn_repeatedly(ExponentialLearner(0.7), rng, 400_000)
    law = learner_law(FUNCTIONS, DATA, 0.7)
    check_counts(np.bincount(found, minlength=4), list(law.values()), effect=0.01, **SURE)


def test_functions_that_are_not_allowed_are_never_learned(rng: np.random.Generator) -> None:
    found = learn_repeatedly(ExponentialLearner(0.5), rng, 200, np.array([False, True, False, True]))
    assert set(found.tolist()) == {1, 3}


@statistical(rate=1e-9)
def test_the_exponential_learner_errs_within_its_bound(rng: np.random.Generator) -> None:
    """100,000 runs; a fifth of the bound is exceeded more often than beta."""
    learner, beta = ExponentialLearner(2.0), 0.05
    found = learn_repeatedly(learner, rng, 100_000)
    errors = (FUNCTIONS[:, [x for x, _ in DATA]] != [y for _, y in DATA]).sum(axis=1)
    excess = (errors - errors.min())[found]
    most = stats.binom.isf(1e-9, 100_000, beta)
    assert np.count_nonzero(excess > learner.excess_errors(4, beta)) <= most
    assert np.count_nonzero(excess > learner.excess_errors(4, beta) / 5) > most


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be positive and finite, got 0"):
        ExponentialLearner(0)
