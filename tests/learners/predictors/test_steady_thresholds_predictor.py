"""steady-thresholds: its law by hand and against play, its claim against the law, and that it is in step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from support.common_random_numbers import check_common_random_numbers
from support.laws.learner_laws import Views, delta_of_views, view_law, views
from support.laws.voting_laws import check_views
from support.statistical import expect_rejection, statistical

from adversaries.figure1.halt_counter import TrainingSwap
from arena import Figure1, Sample, Unsupported, play
from arena.testing import check_adversary, check_learner
from learners.mechanisms.sparse_vector.steady_thresholds import steady_thresholds_cost
from learners.predictors.vote_predictors import SteadyThresholdsPredictor

RATE = 1e-8
SAMPLE = Sample([0.0, 1.0, 1.0, 2.0], [1, 1, 0, 1], [12, 8, 10, 10])  # votes 0, 0.3, 0.5, 0.75
POINTS = [1.5, -1.0, 0.0, 7.0]
VOTES = [0.5, 0.0, 0.3, 0.75]


def steady(halts: int) -> SteadyThresholdsPredictor:
    return SteadyThresholdsPredictor(size=40, epsilon=0.2, alpha=0.2, halts=halts)


def by_hand(halts: int) -> Views:
    """The law of the view: one answer at a time, each of four kinds."""
    found: Views = {}

    def ask(view: str, tops: int, chance: float) -> None:
        if view.endswith(("h", "H")) or len(view) == len(VOTES):
            found[view] = found.get(view, 0.0) + chance
            return
        ends = stats.laplace.cdf((np.array([0.3, 0.5, 0.7]) - VOTES[len(view)]) * 8)
        zero, top_0, top_1, one = np.diff([0, *ends, 1])
        last = tops + 1 == halts
        for letter, more, share in (
            ("0", 0, zero),
            ("h" if last else "0", 1, top_0),
            ("H" if last else "1", 1, top_1),
            ("1", 0, one),
        ):
            ask(view + letter, tops + more, chance * share)

    ask("", 0, 1.0)
    return found


@pytest.mark.parametrize("halts", [1, 2, 3])
def test_the_law_is_that_of_independent_answers(halts: int) -> None:
    told, expected = view_law(steady(halts).law(SAMPLE), POINTS), by_hand(halts)
    assert set(expected) <= set(told)
    for view, chance in told.items():
        assert chance == pytest.approx(expected.get(view, 0.0), rel=1e-9, abs=1e-15), view


def check_games(halts: int, law: Views) -> None:
    check_views(views(steady(halts), SAMPLE, POINTS, games=400_000), law, rate=RATE, effect=0.01)


@statistical(rate=RATE)
def test_what_is_answered_follows_the_law() -> None:
    check_games(2, view_law(steady(2).law(SAMPLE), POINTS))


@statistical(rate=2 * RATE)
def test_the_law_of_another_budget_would_be_noticed() -> None:
    with expect_rejection():
        check_games(2, view_law(steady(3).law(SAMPLE), POINTS))


@pytest.mark.parametrize("halts", [1, 3])
@pytest.mark.parametrize("ones", [12, 20])  # of 40: the lower threshold, the tie
def test_the_claim_holds_of_the_law(halts: int, ones: int) -> None:
    learner = SteadyThresholdsPredictor(size=40, epsilon=0.3, alpha=0.2, halts=halts, slack=0.01)
    sample = Sample([0.0, 0.0], [1, 0], [ones, 40 - ones])
    pair = [view_law(learner.law(one), [0.0] * 7) for one in (sample, sample.replace_one(0, 0.0, 0))]
    claim = learner.claim
    assert claim.epsilon == steady_thresholds_cost(halts, 0.3, gap=0.4 * 40 * 0.3, slack=0.01).epsilon
    for one, other in (pair, pair[::-1]):
        assert delta_of_views(one, other, claim.epsilon) <= claim.delta
        assert delta_of_views(one, other, 0.0) > 0.01


@pytest.mark.thorough
@pytest.mark.parametrize("halts", [1, 4])
def test_it_conforms_and_is_in_step(halts: int) -> None:
    learner = SteadyThresholdsPredictor(size=20, epsilon=0.3, halts=halts)
    check_learner(learner)
    clear, tied = Sample([0.0], [0], [20]), Sample([0.0, 0.0], [0, 1], [10, 10])
    check_common_random_numbers(learner, clear, tied, [0.0, 1.0, 0.0, 0.0, 2.0])
    check_adversary(TrainingSwap(learner=learner, queries=5), learner, Figure1())


def test_it_is_set_for_the_size_of_the_sample() -> None:
    with pytest.raises(Unsupported, match="steady-thresholds is configured for 1,000 examples, got 3"):
        SteadyThresholdsPredictor().law(Sample([0.0], [1], [3]))
    assert SteadyThresholdsPredictor().adapt_to(70).size == 70
    assert play(steady(1), TrainingSwap(learner=steady(1)), Figure1(), games=0, seed=1).rounds == 100
