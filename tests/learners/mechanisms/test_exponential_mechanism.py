from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support.laws.mechanism_laws import RATE, SURE, check_selection, selection_law
from support.statistical import check_counts, statistical

from learners.mechanisms.selection import exponential_mechanism


@statistical(rate=2 * RATE)
def test_choices_follow_the_law(rng: np.random.Generator) -> None:
    check_selection(rng)


@pytest.mark.parametrize("shift", [0.0, -1e6, 1e8])
@statistical(rate=RATE)
def test_what_all_scores_share_does_not_matter(rng: np.random.Generator, shift: float) -> None:
    scores = np.array([0.0, 1.0, 2.5])
    chosen = exponential_mechanism(rng, np.tile(scores + shift, (400_000, 1)), epsilon=1, sensitivity=1)
    law = selection_law(scores, epsilon=1, sensitivity=1)
    check_counts(np.bincount(chosen, minlength=3), law, effect=0.01, **SURE)


@statistical(rate=RATE)
def test_neighbouring_games_choose_independently(rng: np.random.Generator) -> None:
    rows = [[0.0, 1.0, 2.0], [1.0, 0.0, 0.5]]
    chosen = exponential_mechanism(rng, np.tile(rows, (400_000, 1)), epsilon=2, sensitivity=1).reshape(-1, 2)
    laws = [selection_law(row, epsilon=2, sensitivity=1) for row in rows]
    check_counts(
        np.bincount(3 * chosen[:, 0] + chosen[:, 1], minlength=9),
        np.outer(*laws).ravel(),
        effect=0.01,
        **SURE,
    )


def test_the_law_is_private() -> None:
    epsilon, sensitivity, scores = 0.8, 1.5, np.array([3.0, 0.0, 1.0, 7.0])
    law = selection_law(scores, epsilon=epsilon, sensitivity=sensitivity)
    for moves in itertools.product([-sensitivity, 0, sensitivity], repeat=4):
        other = selection_law(scores + moves, epsilon=epsilon, sensitivity=sensitivity)
        assert np.abs(np.log(law / other)).max() <= epsilon + 1e-12


def test_an_option_that_is_ruled_out_is_never_chosen_whatever_its_score(rng: np.random.Generator) -> None:
    scores = np.tile([math.nan, 0.0, math.inf, 1e300, -math.inf, -1.0], (1000, 1))
    allowed = np.tile([False, True, False, False, False, True], (1000, 1))
    chosen = exponential_mechanism(rng, scores, epsilon=1, sensitivity=1, allowed=allowed)
    assert set(chosen.tolist()) == {1, 5}
