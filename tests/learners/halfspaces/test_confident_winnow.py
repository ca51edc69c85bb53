"""confident-winnow: Lemma 4.2 for all bits, a plain reference, the effect of the adversary's bits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.players.halfspace_games import KINDS, OneWinnow, pool, products_with, target
from support.players.simple_players import script

from arena import Adaptive, Commit, Example, InvalidArgument, Oblivious, play
from arena.concepts import Halfspaces
from arena.testing import check_learner
from learners.halfspaces.winnow import ALWAYS, NEVER, ConfidentWinnow, Winnow, update_bound


@pytest.mark.thorough
@pytest.mark.parametrize("update", [ALWAYS, NEVER])
def test_it_conforms(update: str) -> None:
    check_learner(ConfidentWinnow(concepts=Halfspaces(3, 0.4), update=update), games=400)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_equals_naive_games(kind: str, rng: np.random.Generator) -> None:
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
    assert bound is not None
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
    assert bound is not None
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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"c": 1.0}, "c must be less than 1, got 1.0"),
        ({"c": -0.1}, "c must be at least 0, got -0.1"),
        ({"update": "often"}, "update must be one of always, never, got 'often'"),
        ({"rate": math.inf}, "rate must be less than inf, got inf"),
    ],
)
def test_settings_out_of_range_are_refused(bad: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        ConfidentWinnow(**bad)  # type: ignore[arg-type]
