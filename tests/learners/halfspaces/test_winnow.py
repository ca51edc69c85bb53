"""winnow and confident-winnow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.halfspaces import KINDS, OneWinnow, pool, products_with, target
from support.simple_players import script

from arena import Adaptive, Commit, Example, InvalidArgument, Oblivious, play
from arena.concepts import Halfspaces
from arena.concepts.halfspaces import decision_list, double_points
from arena.testing import check_learner
from learners.halfspaces.dp_winnow import DpWinnow
from learners.halfspaces.winnow import (
    ALWAYS,
    NEVER,
    ConfidentWinnow,
    HalfspaceLearner,
    Winnow,
    WinnowState,
    update_bound,
)

SOON: dict[str, Any] = {"rounds": 12, "epsilon": 3.0, "draws": 3, "rate": 0.8, "threshold": 2.0}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [
        *(Winnow(concepts=Halfspaces(dimension, 0.2)) for dimension in (1, 3, 64)),
        *(ConfidentWinnow(concepts=Halfspaces(3, 0.4), update=update) for update in (ALWAYS, NEVER)),
        *(DpWinnow(concepts=Halfspaces(3, 0.4), **SOON, cached=cached) for cached in (1, 3)),
    ],
    ids=lambda learner: learner.name,
)
def test_it_conforms(learner: HalfspaceLearner) -> None:
    check_learner(learner, games=800 if learner.name == "dp-winnow" else 400)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rate", [None, 0.7])
def test_a_batch_equals_naive_games(kind: str, rate: float | None) -> None:
    rng = np.random.default_rng(3)
    games, rounds, dimension = 7, 60, 6
    learner = Winnow(concepts=Halfspaces(dimension, 0.3), rate=rate)
    points = pool(rng, np.full(dimension, 1 / dimension), 0.0, kind=kind)[0]
    x, y = np.empty((games, rounds, dimension)), rng.integers(2, size=(games, rounds))
    naive = [OneWinnow(dimension, rate=learner.eta) for _ in range(games)]
    shown = np.empty((rounds, games, dimension))
    for t in range(rounds):
        for game, one in enumerate(naive):
            shown[t, game], x[game, t] = one.weights, one.generic(rng, points)
            one.observe(x[game, t], y[game, t])
    played = play(learner, script(Commit(x, y)), Oblivious(rounds), games=games, seed=1, record=True)
    hypotheses = played.replies[0].hypotheses
    np.testing.assert_allclose([h.concepts for h in hypotheses], shown, rtol=1e-9, atol=1e-12)
    assert played.mistakes.tolist() == [one.updates for one in naive]


# --- mistakes -----------------------------------------------------------------------------------------------


def play_worst_points(state: WinnowState, points: np.ndarray, labels: np.ndarray, *, most: int) -> int:
    """The mistakes of one game against an adversary that sends the point with the largest mistake."""
    for mistakes in range(most + 1):
        product = products_with(state.hypothesis().concepts[0], points)
        wrong = (product.round(11) >= 0) != labels  # a product of 0 up to rounding has label 1
        if not wrong.any():
            return mistakes
        worst = np.where(wrong, np.abs(product), -1).argmax()
        state.observe(points[[worst]], labels[[worst]])
    return most + 1


@settings(max_examples=60, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    dimension=st.integers(1, 24),
    relevant=st.integers(1, 3),
    margin=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
    share=st.sampled_from([0.3, 1.0, 1.7]),
    kind=st.sampled_from(KINDS),
)
def test_no_realizable_game_has_more_mistakes_than_its_bound(
    seed: int, dimension: int, relevant: int, margin: float, share: float, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    points, labels = pool(rng, target(rng, dimension, relevant=relevant), margin, kind=kind)
    learner = Winnow(concepts=Halfspaces(dimension, margin), rate=share * margin)
    bound = learner.bound(100)
    assert bound.at_most == update_bound(dimension, share * margin, margin)
    if len(points):
        state = learner.start(1, rng)
        assert play_worst_points(state, points, labels, most=math.floor(bound.at_most) + 1) <= bound.at_most


def test_the_bound_is_that_of_the_textbook() -> None:
    bound = Winnow(concepts=Halfspaces(64, 0.2)).bound(10)
    assert bound.at_most == pytest.approx(2 * math.log(64) / 0.04)
    assert (bound.of, bound.beta, bound.oblivious) == ("mistakes", 0, False)
    assert Winnow(rate=0.4).bound(10) is None
    assert Winnow(concepts=Halfspaces(1, 0.2), rate=5.0).bound(10).at_most == 0
    assert update_bound(64, 0.1, 0.2) == pytest.approx(2 * math.log(64) / 0.03)


@pytest.mark.parametrize("dimension", [2, 64, 1024])
def test_one_point_of_many_is_learned_with_logarithmically_many_mistakes(dimension: int) -> None:
    """A mistake changes a ratio of weights by e^2, so that (1/2)·ln d + 1 mistakes are enough."""
    learner = Winnow(concepts=Halfspaces(dimension, 1.0))
    wanted = np.eye(dimension)[dimension // 2]
    points = 2 * np.eye(dimension) - 1
    state = learner.start(1, np.random.default_rng(0))
    mistakes = play_worst_points(state, points, (wanted > 0).astype(int), most=99)
    assert mistakes <= math.log(dimension) / 2 + 1
    assert mistakes <= learner.bound(99).at_most


def test_weights_of_both_signs_are_learned_through_doubled_points() -> None:
    """A decision list with alternations: x_0 gives 1, x_1 gives 0, x_2 gives 1, else 0."""
    rng = np.random.default_rng(5)
    wanted = decision_list(5, [(0, 1), (1, 0), (2, 1)], 0)
    points = double_points(np.insert(np.arange(32)[:, None] >> np.arange(5) & 1, 5, -1, axis=1))
    labels = (points @ wanted.weights > 0).astype(int)
    firsts = [1 if p[0] else 0 if p[1] else 1 if p[2] else 0 for p in points]
    assert labels.tolist() == firsts
    learner = Winnow(concepts=Halfspaces(12, wanted.margin))
    state = learner.start(1, rng)
    mistakes = play_worst_points(state, points, labels, most=10_000)
    assert 0 < mistakes <= learner.bound(1).at_most
    w = state.hypothesis().concepts[0]
    signed = w[:6] - w[6:]
    assert signed[0] > 0 > signed[1]
    assert ((products_with(w, points) >= 0) == labels).all()


# --- hypotheses --------------------------------------------------------------------------------------------


def test_earlier_hypotheses_do_not_change_and_only_updates_copy() -> None:
    state = Winnow(concepts=Halfspaces(2, 0.5)).start(3, np.random.default_rng(0))
    first = state.hypothesis().concepts
    copy = first.copy()
    right = np.array([1, 1, 1])
    state.observe(np.ones((3, 2)), right)
    assert state.hypothesis().concepts is first
    state.observe(np.array([[1.0, -1], [-1, 0], [1, 1]]), right)  # the first is a tie, and labelled 1
    second = state.hypothesis().concepts
    assert second is not first
    assert (first == copy).all()
    assert (second != first).any(axis=1).tolist() == [False, True, False]
    with pytest.raises(ValueError, match="read-only"):
        second[0] = 1


@pytest.mark.parametrize("rate", [1.0, 700.0, 1e300])
def test_very_many_updates_do_not_overflow(rate: float) -> None:
    state = Winnow(concepts=Halfspaces(3, 0.5), rate=rate).start(1, np.random.default_rng(0))
    x = np.array([[-1, 1, 0]], np.int8)
    for label in (1, 0):  # until weights vanish, and back again
        state._scores.sums += 1e6 * (2 * label - 1) * np.array([1, -1, 0])
        for _ in range(3):
            state.observe(x, np.array([label]))
            state.observe(x, np.array([1 - label]))
            w = state.hypothesis().concepts
            assert np.isfinite(w).all()
            assert w.sum() == pytest.approx(1)
        state._scores.sums[:] = 0


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [[0.5, 1.5], [math.nan, 0.0]])
def test_a_point_outside_the_cube_is_refused(point: list[Any]) -> None:
    learner = Winnow(concepts=Halfspaces(2, 0.5))
    with pytest.raises(InvalidArgument, match=r"must lie in the cube|must be finite"):
        learner.start(1, np.random.default_rng(0)).observe(np.array([point]), np.array([0]))
    with pytest.raises(Exception, match=r"must lie in the cube|must be finite"):
        play(learner, script(Example(point, 0)), Adaptive(1), games=2, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_equals_naive_games_for_confident_winnow(kind: str, rng: np.random.Generator) -> None:
    games, rounds, dimension = 6, 50, 5
    learner = ConfidentWinnow(concepts=Halfspaces(dimension, 0.5), c=0.6, rate=0.3)
    state = learner.start(games, rng)
    naive = [OneWinnow(dimension, rate=0.3, unsure=0.6 * 0.5) for _ in range(games)]
    points = pool(rng, np.full(dimension, 1 / dimension), 0.0, kind=kind)[0]
    for t in range(rounds):
        np.testing.assert_allclose(
            state.hypothesis().concepts, [one.weights for one in naive], rtol=1e-9, atol=1e-12
        )
        x, y = np.array([one.generic(rng, points) for one in naive]), rng.integers(2, size=games)
        bits = None
        if t % 3:  # in other rounds the adversary sends no bits
            bits = rng.random(games) < 0.5
            state.instruct(bits)
        state.observe(x, y)
        for game, one in enumerate(naive):
            one.observe(x[game], y[game], bit=True if bits is None else bool(bits[game]))
    assert min(one.updates for one in naive) > 10


@settings(max_examples=60, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    dimension=st.integers(1, 20),
    relevant=st.integers(1, 3),
    margin=st.sampled_from([0.2, 0.5, 1.0]),
    c=st.sampled_from([0.0, 0.3, 0.5, 0.8]),
    share=st.sampled_from([0.4, 1.0, 1.5]),
    kind=st.sampled_from(KINDS),
    eager=st.floats(0, 1),
)
def test_no_bits_bring_more_updates_than_lemma_4_2_allows(
    seed: int, dimension: int, relevant: int, margin: float, c: float, share: float, kind: str, eager: float
) -> None:
    """The adversary searches for mistakes and uncertain predictions, and sends bits at random."""
    rng = np.random.default_rng(seed)
    points, labels = pool(rng, target(rng, dimension, relevant=relevant), margin, kind=kind)
    learner = ConfidentWinnow(
        concepts=Halfspaces(dimension, margin), c=c, rate=share * (1 - c) * margin, update=NEVER
    )
    bound = learner.bound(1)
    assert bound.at_most == update_bound(dimension, learner.eta, (1 - c) * margin)
    if not len(points):
        return
    state, updates = learner.start(1, rng), 0
    for _ in range(2 * math.floor(bound.at_most) + 60):
        before = state.hypothesis().concepts
        confidence = np.where(labels == 1, 1, -1) * products_with(before[0], points)
        unsure = np.flatnonzero(confidence <= c * margin)
        if not len(unsure):
            break
        place = unsure[[rng.integers(len(unsure))]] if rng.random() < eager else [confidence.argmin()]
        state.instruct(np.array([rng.random() < 0.9]))
        state.observe(points[place], labels[place])
        updates += state.hypothesis().concepts is not before
    assert updates <= bound.at_most


def test_the_bound_is_that_of_the_lemma() -> None:
    bound = ConfidentWinnow(concepts=Halfspaces(64, 0.2), c=0.25).bound(10)
    assert bound.at_most == pytest.approx(2 * math.log(64) / (0.75 * 0.2) ** 2)
    assert (bound.of, bound.beta, bound.oblivious) == ("mistakes", 0, False)
    assert ConfidentWinnow(concepts=Halfspaces(64, 0.2), c=0.5, rate=0.2).bound(10) is None


def test_never_is_winnow(rng: np.random.Generator) -> None:
    x, y = rng.integers(-1, 2, (20, 60, 4)), rng.integers(0, 2, (20, 60))
    learners = (
        ConfidentWinnow(concepts=Halfspaces(4, 0.4), c=0.5, update=NEVER),
        Winnow(concepts=Halfspaces(4, 0.4), rate=0.2),
        ConfidentWinnow(concepts=Halfspaces(4, 0.4), c=0.5),
    )
    shown = []
    for learner in learners:
        played = play(learner, script(Commit(x, y)), Oblivious(60), games=20, seed=1, record=True)
        shown.append(played.replies[0].hypotheses[-1].concepts)
    assert (shown[0] == shown[1]).all()
    assert (shown[0] != shown[2]).any(axis=1).sum() > 10


def test_a_bit_holds_for_its_round_only() -> None:
    """The first of two games receives a bit 1; in the next round there are no bits, and `never` applies
    again."""
    learner = ConfidentWinnow(concepts=Halfspaces(2, 1.0), c=0.5, update=NEVER)
    uncertain = Example([1.0, -0.5], 1)  # uniform weights have the product 1/4
    with_bits = Example([1.0, -0.5], 1, update=[True, False])
    played = play(
        learner, script(uncertain, with_bits, uncertain, uncertain), Adaptive(4), games=2, seed=1, record=True
    )
    shown = np.array([reply.hypothesis.concepts for reply in played.replies])
    assert (shown[1] == shown[0]).all()
    assert (shown[2] != shown[1]).any(axis=1).tolist() == [True, False]
    assert (shown[3] == shown[2]).all()
