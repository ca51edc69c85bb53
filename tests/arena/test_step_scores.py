"""Scores of noisy steps, each computed in a second way."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from arena import InvalidArgument
from arena.step_scores import LAST_BITS, LENGTH, RATIO, SPREAD, SUM, StepScore

STEPS = np.array([[[1.0, 0.5], [-2.0, 0.0], [4.0, 1.0]], [[0.0, 0.0], [0.5, 3.0], [1.5, -1.0]]])
MODELS = -np.cumsum(STEPS, axis=1)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (StepScore(SUM), [3.0, 2.0]),
        (StepScore(SUM, clip=0.5, sign=-1), [-6.0, -4.0]),
        (StepScore(SUM, coordinates=(1,)), [1.5, 2.0]),
        (StepScore(SPREAD), [6.0, 1.5]),
        (StepScore(LENGTH), np.log([22.25, 12.5])),
        (StepScore(LAST_BITS, coordinates=(1,)), [-1.0, 2000.0]),
    ],
    ids=str,
)
def test_scores_of_two_runs(score: StepScore, expected: list[float]) -> None:
    assert score.of(MODELS) == pytest.approx(expected)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("rate", [0.25, 1.0])
def test_the_ratio_is_that_of_the_densities(rate: float, replaced: bool) -> None:
    score = StepScore(RATIO, clip=0.5, rate=rate, noise=3.0, shift=2.0, centre=-1.0, replaced=replaced)
    steps = STEPS[:, :, 0] / 0.5

    def density(shift: float) -> np.ndarray:
        moved, unmoved = (norm.pdf(steps, -1.0 + mean, 3.0) for mean in (shift, 0.0))
        return np.prod(rate * moved + (1 - rate) * unmoved, axis=1)

    expected = np.log(density(2.0) / density(-2.0 if replaced else 0.0))
    assert score.of(MODELS) == pytest.approx(expected)


def test_models_that_are_no_numbers_have_scores() -> None:
    lost = np.array([[[np.inf], [np.nan]], [[1.0], [-np.inf]]])
    with np.errstate(invalid="ignore"):
        assert all(np.isfinite(StepScore(kind).of(lost)).all() for kind in (SUM, RATIO, SPREAD, LENGTH))


def test_a_score_must_be_one_of_these() -> None:
    with pytest.raises(InvalidArgument, match="kind must be one of sum, ratio"):
        StepScore("product")
