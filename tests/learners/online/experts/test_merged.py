"""Merged weights, against experts that are kept separately."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws.transition_laws import all_experts, pair_weights

from arena.concepts import ConceptClass, FiniteClass, Intervals, Thresholds
from arena.littlestone import soa
from learners.online.experts import transitions
from learners.online.experts.transitions import MergedExperts, build_transitions

CLASSES = [
    Thresholds(range(3)),
    Intervals(range(3)),
    FiniteClass([[0, 0], [0, 1], [1, 0], [1, 1]]),
    FiniteClass([[0, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]]),
    FiniteClass([[1, 0]]),
]


def sets_of(candidates: list[np.ndarray], game: int) -> list[list[list[int]]]:
    return [[np.flatnonzero(row).tolist() for row in told[game]] for told in candidates]


@settings(max_examples=60)
@given(
    concepts=st.sampled_from(CLASSES),
    ends=st.integers(0, 4),
    length=st.integers(1, 3),
    rate=st.floats(0.01, 3),
    change=st.floats(0.05, 0.95),
    mistakes=st.integers(0, 3),
    slab=st.sampled_from([1, 2**20]),
    seed=st.integers(0, 10**6),
)
def test_weights_are_the_sums_of_the_experts(
    concepts: ConceptClass,
    ends: int,
    length: int,
    rate: float,
    change: float,
    mistakes: int,
    slab: int,
    seed: int,
) -> None:
    automaton, rng = soa(concepts), np.random.default_rng(seed)
    assert concepts.domain is not None
    points, games = len(concepts.domain), 3
    table = build_transitions(automaton, points, mistakes)
    experts = MergedExperts(table, games, ends=ends, rate=rate, move_probability=change)
    candidates: list[np.ndarray] = []
    past: list[tuple[np.ndarray, np.ndarray]] = []
    for e in range(1, ends + 2):
        for _ in range(length):
            past.append((rng.integers(0, points, games), rng.integers(0, 2, games)))
            experts.observe(*past[-1])
            check(experts, table, automaton, candidates, past, length, rate, change)
        if e <= ends:
            candidates.append(rng.random((games, e, points)) < 0.6)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(transitions, "_SLAB", slab)
                experts.end_stretch(candidates[-1])
            assert experts.stretches_ended == e


def check(experts, table, automaton, candidates, past, length, rate, change) -> None:
    """The weights of states, and of pairs, to 1e-12 of each."""
    scores = np.exp(experts.scores())
    for game in range(len(scores)):
        examples = [(int(x[game]), int(y[game])) for x, y in past]
        one_by_one = all_experts(
            automaton, sets_of(candidates, game), change, allowed=set(table.states.tolist())
        )
        pairs = pair_weights(automaton, one_by_one, examples, length, rate)
        for s, state in enumerate(table.states.tolist()):
            expected = [pairs.get((state, i), 0.0) for i in range(experts.stretches_ended + 1)]
            assert scores[game, s] == pytest.approx(sum(expected), rel=1e-12, abs=1e-300)
            if sum(expected):
                by_end = np.exp(experts.last_move_scores(np.array([game]), np.array([s])))[0]
                assert by_end / by_end.sum() == pytest.approx(np.array(expected) / sum(expected), rel=1e-12)


def test_losses_are_mistakes() -> None:
    experts = MergedExperts(
        build_transitions(soa(Thresholds(range(3))), 3, 2), 2, ends=0, rate=1.0, move_probability=0.5
    )
    losses = experts.observe(np.array([0, 2]), np.array([1, 1]))
    # The start is the threshold 1, which labels 0 as 0 and 2 as 1.
    assert losses[:, 0].tolist() == [1, 0]
    assert experts.scores()[:, 0].tolist() == [-1.0, 0.0]


def test_very_small_weights_do_not_underflow() -> None:
    """A ratio of weights of exp(-5,000) returns to 1 after as many mistakes of the other expert."""
    automaton = soa(FiniteClass([[0, 0], [1, 0]]))
    experts = MergedExperts(build_transitions(automaton, 2, 1), 1, ends=2, rate=50.0, move_probability=0.5)
    start = automaton.labels(np.array([0]), np.array([0])).astype(int)
    experts.end_stretch(np.ones((1, 1, 2), bool))
    for label in (start, 1 - start):
        for _ in range(100):
            experts.observe(np.array([0]), label)
        if label == start:
            assert np.diff(experts.scores()[0]) == pytest.approx(-5_000)
            experts.end_stretch(np.zeros((1, 2, 2), bool))  # nothing moves
    assert experts.scores()[0] == pytest.approx(np.log([0.5, 0.5]) - 5_000)


@pytest.mark.parametrize("games", [0, 1])
def test_any_number_of_games(games: int) -> None:
    experts = MergedExperts(
        build_transitions(soa(Thresholds(range(3))), 3, 2), games, ends=1, rate=1.0, move_probability=0.5
    )
    experts.observe(np.zeros(games, int), np.zeros(games, int))
    experts.end_stretch(np.ones((games, 1, 3), bool))
    assert experts.scores().shape == (games, 4)
