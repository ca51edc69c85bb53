"""The cost of answers, for a fixed number of them and for one that depends on the answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.statistical import check_mean, expect_rejection, statistical

from arena import InvalidArgument
from arena.privacy_curves import GaussianCurve
from learners.pate.independent_answers import sigma_of_step_1
from learners.pate.student_learners import odometer

RATE = 1e-8
DELTAS = st.floats(1e-9, 0.2)


@given(st.integers(1, 500), st.floats(0.1, 5), DELTAS)
def test_the_odometer_ends_at_the_zcdp_bound(most: int, epsilon: float, delta: float) -> None:
    sigma = sigma_of_step_1(epsilon=epsilon, delta=delta, answers=most)
    read = [odometer(answers, most=most, sigma=sigma, delta=delta) for answers in (0, most // 2, most)]
    assert read == sorted(read)
    assert read[2] == pytest.approx(epsilon)
    assert read[0] < epsilon / 2


def losses(rng: np.random.Generator, *, runs: int, most: int, sigma: float) -> np.ndarray:
    """(runs, most): the log ratio after each answer, on S, if every count is 1 more on S than on S'."""
    steps = rng.standard_normal((runs, most)) / sigma + 1 / (2 * sigma**2)
    return np.cumsum(steps, axis=1)


MOST, SIGMA, DELTA, RUNS = 20, 4.0, 0.05, 200_000


def excess(read: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """For each run that stops as soon as its loss exceeds the meter, and releases where: the part
    (1 − e^(ε(c) − L))⁺ of its chance on S that e^ε(c) times its chance on S' does not cover. Its mean is the
    δ that the meter needs against this student."""
    above = losses > read
    stop = np.where(above.any(axis=1), above.argmax(axis=1), losses.shape[1] - 1)
    rows = np.arange(len(losses))
    return np.maximum(-np.expm1(read[stop] - losses[rows, stop]), 0.0)


@statistical(rate=2 * RATE)
def test_the_odometer_holds_and_the_ex_post_figure_does_not(rng) -> None:
    """The student stops as soon as its loss exceeds the meter."""
    told = losses(rng, runs=RUNS, most=MOST, sigma=SIGMA)
    fixed = np.array([GaussianCurve(math.sqrt(c) / SIGMA).epsilon(DELTA) for c in range(1, MOST + 1)])
    safe = np.array([odometer(c, most=MOST, sigma=SIGMA, delta=DELTA) for c in range(1, MOST + 1)])
    assert excess(safe, told).mean() < DELTA / 2
    with expect_rejection():
        check_mean(excess(fixed, told), DELTA, bounds=(0, 1), rate=RATE, effect=0.02, power=1 - RATE)
    assert excess(fixed, told).mean() > DELTA


@statistical(rate=2 * RATE)
def test_the_loss_exceeds_the_odometer_with_probability_at_most_delta(rng) -> None:
    told = losses(rng, runs=RUNS, most=MOST, sigma=SIGMA)
    safe = np.array([odometer(c, most=MOST, sigma=SIGMA, delta=DELTA) for c in range(1, MOST + 1)])
    crossed = (told > safe).any(axis=1)
    with expect_rejection():
        check_mean(crossed, DELTA, bounds=(0, 1), rate=RATE, effect=0.02, power=1 - RATE)
    assert 0.2 * DELTA < crossed.mean() < DELTA  # Ville's bound, and not far below it


@pytest.mark.parametrize("answers", [3, -1])
def test_answers_beyond_the_budget_are_refused(answers: int) -> None:
    with pytest.raises(InvalidArgument, match="answers must be at least 0 and at most the budget"):
        odometer(answers, most=2, sigma=1.0, delta=0.1)
