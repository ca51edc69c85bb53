"""Evidence: what games say for and against a claim."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import attrs
import numpy as np
import pytest
from scipy.stats import binom
from support.simple_players import DeclinesOnLabels, HalfTheNoise, RaisesOnLabels
from support.views import count_views

from arena import BudgetExceeded, Claim, Learner, PrivacyUnit, Sample
from arena.messages import Released
from arena.privacy_curves import (
    ConcentratedCurve,
    GaussianCurve,
    NoisyStepsCurve,
    PrivacyCurve,
    RenyiCurve,
    TabulatedCurve,
    compose_curves,
)
from audits.adversary_search import Ask, Score, Script, SearchTarget, weigh_adversary
from audits.adversary_search.evidence import weigh_games, weigh_halves
from audits.adversary_search.score import simple_scores
from audits.distinguishers.view_features import ViewCounts
from audits.statistics.score_pairs import PairCounts
from learners.foreign.function import Function
from learners.releases.counts import LaplaceCount

SAMPLE = Sample([0.0], [0], [2])
COUNT = Script(protocol="Release", world_0=SAMPLE, world_1=SAMPLE.replace_one(0, 0.0, 1))
CLAIM = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))


Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def draw_halves(draw: Draw, *names: str, seed: int = 1) -> tuple[ViewCounts, ViewCounts]:
    rng = np.random.default_rng(np.random.SFC64(seed))
    return count_views(*draw(rng), *names), count_views(*draw(rng), *names)


def search_target(learner=None, **changes) -> SearchTarget:
    given = {"learner": learner or HalfTheNoise(), "claim": CLAIM, "pairs": 256, "seed": 0}
    return SearchTarget(**{**given, **changes})


def test_a_leak_speaks_and_a_promise_kept_does_not() -> None:
    assert weigh_adversary(search_target(), COUNT).nats > 10
    assert weigh_adversary(search_target(LaplaceCount()), COUNT).nats < 5


def test_evidence_hangs_on_the_seed_and_the_adversary_alone() -> None:
    found = [weigh_adversary(search_target(seed=seed), COUNT) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]


def test_many_games_use_common_random_numbers_where_an_experiment_allows_them() -> None:
    def draw_sum(points, games, rng):
        return points.sum() + rng.laplace(size=games)

    def z(pairs: int, aligned: bool | None) -> float:
        learner = Function(function=draw_sum, receives="points", vectorised=True, aligned=aligned)
        script = attrs.evolve(COUNT, world_1=SAMPLE.replace_one(0, 1.0, 0))
        target = search_target(learner, claim=attrs.evolve(CLAIM, epsilon=0.5))
        return weigh_games(target, script, pairs=pairs, stage="rung").z

    assert z(4_096, None) == z(4_096, True) > 1.3 * z(4_096, False) > 0
    assert z(1_000, None) == z(1_000, False)  # too few for the experiment to pay


def test_perfect_separation_is_worth_what_it_can_win() -> None:
    half = count_views(np.zeros(100), np.ones(100), "value")
    found = weigh_halves((half, half), CLAIM)
    assert found.nats == pytest.approx(100 * np.log1p(np.exp(-1)), rel=0.1)
    assert weigh_halves((half, half), Claim(epsilon=1, delta=0.999, protects=())).nats == 0


def test_worlds_alike_say_nothing() -> None:
    half = count_views(np.zeros(100), np.zeros(100), "value")
    assert weigh_halves((half, half), CLAIM).nats == 0
    assert weigh_halves((count_views(np.zeros((50, 0)), np.zeros((50, 0))),) * 2, CLAIM).z == 0


def test_views_that_no_single_feature_tells_apart_are_learned() -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        coins = rng.random((2, 200)) < 0.5
        return np.column_stack([coins[0], coins[0]]), np.column_stack([coins[1], ~coins[1]])

    found = weigh_halves(draw_halves(draw, "answer 1", "answer 2"), CLAIM)
    assert found.nats > 20
    assert found.score is None


SAMPLE_OF_ONES = Sample([0.0], [1], [2])
ONES = Script(
    protocol="Figure1",
    world_0=SAMPLE_OF_ONES,
    world_1=SAMPLE_OF_ONES.replace_one(0, 0.0, 0),
    steps=(Ask(0.0),),
)


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [RaisesOnLabels(), DeclinesOnLabels()], ids=lambda one: one.name)
def test_to_fail_or_to_decline_in_one_world_is_part_of_the_view(learner: Learner) -> None:
    found = weigh_adversary(search_target(learner, pairs=512), ONES)
    assert found.faults
    assert found.nats > 10
    assert found.score == Score("failed")


def test_to_decline_in_both_is_not() -> None:
    with pytest.raises(BudgetExceeded):
        weigh_adversary(search_target(DeclinesOnLabels(most=1)), ONES)


@pytest.mark.parametrize(
    ("names", "feature"),
    [([f"value[{i}]" for i in range(3)], "value"), ([f"hypothesis {i}" for i in range(1, 4)], "numbers")],
)
def test_noise_that_numbers_or_rounds_share_cancels(names: list[str], feature: str) -> None:
    exact = np.array([[[0.0, 5.0, 7.0]], [[1.0, 4.0, 7.0]]])

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first, second = rng.laplace(scale=100.0, size=(2, 200, 1)) * [1.0, 1.0, 0.0] + exact
        return first, second

    found = weigh_halves(draw_halves(draw, *names), CLAIM)
    assert found.nats > 20
    assert found.score == Score(feature, "weighted", weights=(1.0, -1.0, 0.0))


GRID = 10 * np.linspace(0, 1, 256) ** 2  # nats
CURVES = {
    "Gaussian": GaussianCurve(1.0),
    "zCDP": ConcentratedCurve(0.5),
    "Rényi": RenyiCurve(2.0, 1.0),
    "tabulated": TabulatedCurve(GRID, GaussianCurve(1.0).deltas(GRID)),
    "composed": compose_curves([GaussianCurve(0.8), NoisyStepsCurve(1.0, 2.0, 1)]),
    "noisy steps": NoisyStepsCurve(1.0, 2.0, 4),
}


def shifted_halves(shift: float, seed: int = 1) -> tuple[ViewCounts, ViewCounts]:
    """Normal values of variance 1, whose mean is `shift` in world 1."""
    return draw_halves(lambda rng: (rng.normal(size=200), rng.normal(shift, size=200)), "value", seed=seed)


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
def test_evidence_against_a_curve_needs_no_event_that_breaks_its_epsilon(curve: PrivacyCurve) -> None:
    claim = Claim(epsilon=curve.epsilon(1e-5), delta=1e-5, protects=(), curve=curve)
    halves = shifted_halves(2.5)
    assert weigh_halves(halves, claim).nats > 10
    assert weigh_halves(halves, attrs.evolve(claim, curve=None)).nats < 1
    assert weigh_halves(shifted_halves(1.0), claim).nats < 3


@pytest.mark.thorough
def test_evidence_against_a_true_curve_is_rare() -> None:
    curve = CURVES["Gaussian"]
    claim = Claim(epsilon=curve.epsilon(0.01), delta=0.01, protects=(), curve=curve)
    tries, nats = 300, 2.0
    above = sum(weigh_halves(shifted_halves(1.0, seed), claim).nats >= nats for seed in range(tries))
    assert above <= binom.isf(1e-7, tries, np.exp(-nats))


def test_a_record_at_a_random_place_shows_in_all_entries() -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        shown = rng.normal(size=(2, 400, 40))
        games = np.flatnonzero(rng.random(400) < 0.2)
        shown[1, games, rng.integers(40, size=len(games))] = 7.5
        return shown[0], shown[1]

    found = weigh_halves(draw_halves(draw), CLAIM)
    assert found.nats > 10
    assert found.score in (Score("value", "largest"), Score("value", "occurrences", 7.5))


@pytest.mark.parametrize("form", ["largest", "smallest", "total", "occurrences"])
def test_scores_of_entries_are_the_same_for_games_and_for_views(form: str) -> None:
    values = np.array([[1.0, 3.0, 2.0], [2.0, -np.inf, 2.0], [np.inf, 0.0, 2.0]])
    score = Score("value", form, 2.0 if form == "occurrences" else 0.0)
    expected = {
        "largest": [3.0, 2.0, 1e300],
        "smallest": [1.0, -1e300, 0.0],
        "total": [6.0, -1e300, 1e300],
        "occurrences": [1.0, 2.0, 1.0],
    }[form]
    assert score.of([Released(values)], 3).tolist() == expected
    rows = np.nan_to_num(values, posinf=1e300, neginf=-1e300)
    block = ViewCounts(
        rows, np.array([[0, 1], [1, 2]]), np.ones(2, int), ("value[0]", "value[1]", "value[2]")
    )
    assert score.column(block).tolist() == expected


@pytest.mark.parametrize(
    "score", [Score("value"), Score("value", "equal", 1.0), Score("value", "distance", 2)]
)
def test_columns_are_scores(score: Score) -> None:
    block = count_views(np.array([0, 1, 2.0]), np.array([1, 1, 3.0]), "value")
    column = score.column(block)
    expected = {"as it is": [0, 1, 2, 3], "equal": [0, 1, 0, 0], "distance": [2, 1, 0, 1]}[score.form]
    assert column.tolist() == expected
    assert isinstance(block.count_scores(column), PairCounts)


def test_the_easiest_scores_come_first() -> None:
    names = ("answer 1", "answers 1", "answers", "halted")
    block = count_views(np.eye(4), np.eye(4), *names)
    assert [score.feature for score in simple_scores(block)][:2] == ["halted", "answers 1"]


def test_noise_that_is_shared_in_one_world_only_shows() -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first, second = rng.laplace(scale=10.0, size=(2, 400))
        return np.stack([first, first], axis=1), np.stack([first, second], axis=1)

    found = weigh_halves(draw_halves(draw), CLAIM)
    assert found.nats > 20
    assert found.score is not None
    assert (found.score.feature, found.score.form) == ("value", "weighted distance")


def test_patterns_of_long_games_show() -> None:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        independent = rng.random((400, 40)) < 0.5
        alternating = (np.arange(40) + (rng.random((400, 1)) < 0.5)) % 2
        return independent, alternating ^ (rng.random((400, 40)) < 0.2)

    found = weigh_halves(draw_halves(draw, *(f"answer {t}" for t in range(1, 41))), CLAIM)
    assert found.nats > 20
    assert found.score is not None
    assert found.score.feature.startswith("pattern ")


def test_coupled_games_say_whether_the_challenge_changes_anything() -> None:
    point = Script(protocol="Release", world_0=SAMPLE, world_1=SAMPLE.replace_one(0, 1.0, 0))
    target = search_target(LaplaceCount())
    assert weigh_adversary(target, point).changed == 0
    assert weigh_adversary(target, COUNT).changed == 1
    assert weigh_adversary(search_target(), COUNT).changed is None  # it declares no such numbers


def test_games_too_few_to_exceed_a_large_claim_still_rank_adversaries() -> None:
    def draw_sum(points, games, rng, scale):
        return points.sum() + rng.laplace(scale=scale, size=games)

    def z(scale: float) -> float:
        function = partial(draw_sum, scale=scale)
        learner = Function(function=function, receives="points", vectorised=True, aligned=False)
        script = attrs.evolve(COUNT, world_1=SAMPLE.replace_one(0, 1.0, 0))
        target = search_target(learner, claim=attrs.evolve(CLAIM, epsilon=8.0))
        return weigh_games(target, script, pairs=256, stage="first").z

    assert z(0.01) > 0.5 > -1 > z(1.0)  # an exploration goes on from 0.5 where games are calls
