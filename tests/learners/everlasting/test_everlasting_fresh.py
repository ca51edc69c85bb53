"""everlasting-fresh, the law of a first round, and the conformance of all everlasting predictors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np
import pytest
from support.laws.learner_laws import view_law, views
from support.laws.plain_bbl import Reference, compare_laws
from support.simple_players import script
from support.statistical import check_views, expect_rejection, statistical

from arena import (
    BudgetExceeded,
    Figure1,
    InvalidArgument,
    PrivacyUnit,
    Queries,
    Query,
    Sample,
    Train,
    Unlabelled,
    Unsupported,
    play,
)
from arena.concepts import Rectangles, Thresholds
from arena.testing import check_learner
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV1, EverlastingV2
from learners.mechanisms.accounting import Guarantee
from learners.predictors.vote_predictors import NoisyVotes

SETTINGS = {"teachers": 40, "chunk": 1, "training_rate": 0.5, "rate": 0.75, "answers": 8, "noise": 1.0}
SMALL = EverlastingFresh(pool=12, **SETTINGS)  # type: ignore[arg-type]
COUNTED: dict[str, Any] = {"teachers": 9, "chunk": 1, "training_rate": 0.5, "answers": 400, "rounds": 1}
COUNTED |= {"counter_epsilon": 9.0}
SPREAD = Sample([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1], [20, 20, 20, 20])
STREAM = np.array([0.0, 1.0, 2.0, 3.0, 2.5, 1.5, 3.0, 0.5, 2.0, 1.0, 0.0, 3.0])


# --- what it costs ------------------------------------------------------------------------------------------


def test_a_query_costs_nothing_and_unlabelled_examples_cost_what_queries_of_v2_do() -> None:
    assert EverlastingFresh().costs[PrivacyUnit.QUERY] == Guarantee(0.0, 0.0)
    fresh, v2 = EverlastingFresh(pool=4_000), EverlastingV2()
    assert fresh.costs[PrivacyUnit.UNLABELLED_EXAMPLE] == v2.costs[PrivacyUnit.QUERY]
    assert fresh.costs[PrivacyUnit.TRAINING_EXAMPLE] == v2.costs[PrivacyUnit.TRAINING_EXAMPLE]
    assert fresh.claim.protects == (
        PrivacyUnit.TRAINING_EXAMPLE,
        PrivacyUnit.QUERY,
        PrivacyUnit.UNLABELLED_EXAMPLE,
    )
    assert fresh.claim.epsilon == max(cost.epsilon for cost in fresh.costs.values())
    assert attrs.evolve(SMALL, rounds=1).costs[PrivacyUnit.UNLABELLED_EXAMPLE] == Guarantee(0.0, 0.0)


# --- sizes --------------------------------------------------------------------------------------------------


def test_by_default_a_pool_trains_the_next_round_as_wished() -> None:
    spec = EverlastingFresh(teachers=7, chunk=3, rate=0.3, training_rate=0.5)
    for index in (1, 2, 3):
        following = spec.round(index + 1)
        assert following.teachers == 7 * 2**index
        assert following.examples <= 0.3 * spec.pool_size(index) < following.examples + 1


def test_a_share_that_rounding_leaves_one_short_is_made_up_for() -> None:
    spec = EverlastingFresh(teachers=992_264, chunk=1, rate=0.35, training_rate=0.5)
    assert all(spec.round(index).teachers == 992_264 * 2 ** (index - 1) for index in (1, 2, 3, 4))


def test_a_small_pool_trains_fewer_teachers_and_none_is_refused() -> None:
    assert SMALL.round(2).teachers == 4
    with pytest.raises(InvalidArgument, match=r"the fresh points of round 1 must train .* got 2\. Set more"):
        attrs.evolve(SMALL, pool=2)


# --- games --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spec",
    [
        attrs.evolve(SMALL, answers=4, rounds=3),
        attrs.evolve(SMALL, answers=4, concepts=Thresholds(range(4))),
        EverlastingFresh(teachers=101, answers=2_000),
        pytest.param(EverlastingCounter(counter="crossing", halts=64, **COUNTED), marks=pytest.mark.slow),
        EverlastingCounter(counter="binary", halts=64, **COUNTED),
        EverlastingGaussian(
            teachers=9, chunk=2, halts=30, counter_epsilon=9.0, noise=0.05, rate=0.5, rounds=1, answers=40
        ),
    ],
    ids=["rounds", "domain", "one round is enough", "crossing", "binary", "gaussian"],
)
def test_it_conforms(spec: GenericBBL) -> None:
    check_learner(spec, games=500)


def test_vectors_are_learned_from() -> None:
    spec = attrs.evolve(SMALL, concepts=Rectangles((2, 2)))
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    asked = script(
        Train(Sample(corners, [0, 0, 0, 1], [20] * 4)),
        Unlabelled(np.tile(corners, (3, 1))),
        Queries(np.tile(corners, (5, 1))),
    )
    assert play(spec, asked, Figure1(), games=20, seed=1).rounds == 20


def test_a_stream_that_ends_is_told_by_how_much() -> None:
    asked = script(Train(SPREAD), Unlabelled(STREAM[:5]), Queries(np.zeros(8)), Query(0.0))
    with pytest.raises(BudgetExceeded, match=r"needs 12 fresh points, of which 5 have come. Provide 7 more"):
        play(SMALL, asked, Figure1(), games=3, seed=1)


def test_a_last_round_needs_no_points_and_drops_them() -> None:
    spec = attrs.evolve(SMALL, rounds=1)
    asked = script(Train(SPREAD), Unlabelled(STREAM), Queries(np.zeros(9)))
    found = play(spec, asked, Figure1(), games=3, seed=1)
    assert found.halted.all()


def labels(*moves: object, games: int = 400, seed: int = 3) -> np.ndarray:
    """The answers to the queries after `moves`, which reach into round 3."""
    asked = script(Train(SPREAD), *moves, Queries(np.tile([0.5, 1.0, 1.5, 2.0], 15)))
    found = play(SMALL, asked, Figure1(), games=games, seed=seed, record=True)
    return found.replies[-1].label  # type: ignore[attr-defined, no-any-return]


def test_points_that_come_early_wait_for_their_round() -> None:
    """Pools are cut from the stream in order, so that pieces of any size lead to the same, bit for bit."""
    stream = np.tile(STREAM, 5)  # F_1 + F_2 = 60
    pieces = Unlabelled(stream[:7]), Unlabelled(stream[7:31]), Unlabelled(stream[31:])
    assert (labels(Unlabelled(stream)) == labels(*pieces)).all()


def test_queries_leave_no_trace() -> None:
    """Games with the same coins, asked otherwise in rounds 1 and 2, answer alike in round 3."""
    asked_otherwise = [
        labels(Unlabelled(np.tile(STREAM, 5)), Queries(x)) for x in (np.zeros(40), np.linspace(0, 3, 40))
    ]
    assert (asked_otherwise[0] == asked_otherwise[1]).all()


# --- a reference in plain Python ----------------------------------------------------------------------------


class FreshReference(Reference):
    """The listing with fresh points: D_i is cut from what was handed over."""

    def train(self, sample: Sample) -> None:
        self.handed: list[float] = []
        super().train(sample)

    def receive_unlabelled(self, x: np.ndarray) -> None:
        self.handed += [float(point) for point in x]

    def next_round(self) -> None:
        size = self.spec.pool_size(self.index)
        self.asked, self.handed = self.handed[:size], self.handed[size:]
        super().next_round()


class AloneState:
    """One game of the reference as a table of games."""

    def __init__(self, spec: EverlastingFresh, games: int, rng: np.random.Generator) -> None:
        self._each = [FreshReference(spec, rng) for _ in range(games)]
        self.halted = np.zeros(games, bool)

    def train(self, training: object) -> None:
        for each, which in zip(self._each, training.which, strict=True):  # type: ignore[attr-defined]
            each.train(training.samples[which])  # type: ignore[attr-defined]

    def receive_unlabelled(self, x: np.ndarray) -> None:
        for each, points in zip(self._each, x, strict=True):
            each.receive_unlabelled(points)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.array([each.predict(point) for each, point in zip(self._each, x, strict=True)])


@attrs.frozen
class FreshReferenceLearner(EverlastingFresh):
    name = "reference"

    def start(self, games: int, rng: np.random.Generator) -> AloneState:  # type: ignore[override]
        return AloneState(self, games, rng)


PROBES = (0.0, 1.0, 1.5, 2.0, 3.0)


def spelt(spec: EverlastingFresh, games: int, seed: int) -> np.ndarray:
    """(n,): the answers in round 2 as one number."""
    asked = script(Train(SPREAD), Unlabelled(STREAM), *[Query(2.0)] * 8, *[Query(x) for x in PROBES])
    found = play(spec, asked, Figure1(), games=games, seed=seed, record=True)
    said = np.stack([reply.label for reply in found.replies[-len(PROBES) :]])  # type: ignore[attr-defined]
    return (2 ** np.arange(len(PROBES)) @ said).astype(int)


@lru_cache(maxsize=1)
def reference() -> np.ndarray:
    return spelt(FreshReferenceLearner(pool=12, **SETTINGS), 2_000, 1)  # type: ignore[arg-type]


# False alarms at 1e-7; lies of this size are noticed, as the second test shows.
@pytest.mark.thorough
@pytest.mark.statistical(rate=1e-7)
def test_games_follow_the_reference() -> None:
    assert compare_laws(reference(), spelt(SMALL, 40_000, 2)) > 1e-7


@pytest.mark.thorough
@pytest.mark.parametrize("lie", [{"rate": 0.4}, {"noise": 0.5}, {"teachers": 10}])
def test_a_reference_that_differs_is_noticed(lie: dict) -> None:
    assert compare_laws(reference(), spelt(attrs.evolve(SMALL, **lie), 40_000, 2)) < 1e-7


RATE = 1e-8
SAMPLE = Sample([1.0, 2.0, 3.0, 1.0, 4.0, 2.0], [1, 0, 1, 0, 1, 1])
FIRST_ROUND_LAW_SMALL: dict[str, Any] = {
    "rounds": 1,
    "concepts": Thresholds(range(1, 5)),
    "teachers": 2,
    "chunk": 2,
    "answers": 5,
    "training_rate": 0.7,
    "noise": 0.9,
}
POINTS = [2.0, 2.0, 1.0]
COUNTER = EverlastingCounter(**FIRST_ROUND_LAW_SMALL, halts=3, counter_epsilon=10.0, gap=0.2)
GAUSSIAN = EverlastingGaussian(**FIRST_ROUND_LAW_SMALL, halts=2, counter_epsilon=80.0)


@pytest.mark.parametrize(
    "learner",
    [
        EverlastingV1(**FIRST_ROUND_LAW_SMALL, halts=2),
        EverlastingV2(**FIRST_ROUND_LAW_SMALL),
        EverlastingFresh(**FIRST_ROUND_LAW_SMALL),
        COUNTER,
        GAUSSIAN,
    ],
    ids=lambda learner: learner.name,
)
@pytest.mark.thorough
@statistical(rate=RATE)
def test_what_is_answered_follows_the_law(learner: GenericBBL) -> None:
    seen = views(learner, SAMPLE, POINTS, games=100_000)
    check_views(seen, view_law(learner.law(SAMPLE), POINTS), rate=RATE, effect=0.02)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_teachers_drawn_without_chunks_would_be_noticed() -> None:
    seen = views(EverlastingV2(**FIRST_ROUND_LAW_SMALL), SAMPLE, POINTS, games=100_000)
    with expect_rejection():
        law = EverlastingV2(**{**FIRST_ROUND_LAW_SMALL, "chunk": 1}).law(SAMPLE)
        check_views(seen, view_law(law, POINTS), rate=RATE, effect=0.02)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_a_count_that_lags_less_would_be_noticed() -> None:
    points = [2.0, 2.0, 2.0, 1.0]
    seen = views(COUNTER, SAMPLE, points, games=100_000)
    with expect_rejection():
        law = attrs.evolve(COUNTER, counter_epsilon=20.0).law(SAMPLE)
        check_views(seen, view_law(law, points), rate=RATE, effect=0.02)


def test_with_one_teacher_per_example_it_is_noisy_votes() -> None:
    settings = {**FIRST_ROUND_LAW_SMALL, "teachers": 6, "chunk": 1, "training_rate": 1.0}
    law = EverlastingV2(**settings).law(SAMPLE)
    votes = NoisyVotes(concepts=FIRST_ROUND_LAW_SMALL["concepts"], size=6, epsilon=0.9, answers=5)
    expected = votes.law(SAMPLE)
    x = np.array([1.0, 2.0, 3.0, 4.0])
    ones = np.ones((4, 1))
    assert law.start() == pytest.approx(1.0)
    assert law.step(ones, x) == pytest.approx(expected.step(ones, x))
    assert law.last == expected.last == 5


def test_other_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = EverlastingV2(**FIRST_ROUND_LAW_SMALL)
    for settings in ({"rounds": 2, "answers": 400, "rate": 1.0}, {"agnostic": True}):
        with pytest.raises(Unsupported, match="for its first round only"):
            attrs.evolve(learner, **settings).law(SAMPLE)
    with pytest.raises(Unsupported, match="binary counter"):
        attrs.evolve(COUNTER, counter="binary", counter_epsilon=500.0).law(SAMPLE)
    with pytest.raises(Unsupported, match="distribution of remembered answers is listed for at most 4"):
        attrs.evolve(GAUSSIAN, concepts=Thresholds()).law(SAMPLE)
    with pytest.raises(Unsupported, match="needs a sample of 6"):
        learner.law(Sample([1.0], [1]))
    monkeypatch.setattr("learners.everlasting.first_round_law._MOST_ELECTORATES", 3)
    with pytest.raises(Unsupported, match="drawn in more than 3 ways"):
        learner.law(SAMPLE)
