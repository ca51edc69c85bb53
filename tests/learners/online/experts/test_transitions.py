"""The states and transitions of experts, against an enumeration of mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from arena.concepts import ConceptClass, FiniteClass, Intervals, Points, Rectangles, Thresholds
from arena.errors import Unsupported
from arena.littlestone import START, Automaton, soa
from arena.littlestone.concept_sets import labellings
from learners.online.experts import transitions
from learners.online.experts.transitions import build_transitions, largest_difference


def within(automaton: Automaton, points: int, mistakes: int) -> set[int]:
    """The states within a number of mistakes of the start."""
    reached = {START}
    for _ in range(mistakes):
        steps = [
            automaton.after_mistake(np.array([s]), np.array([x]))[0] for s in reached for x in range(points)
        ]
        reached |= {int(s) for s in steps if s != automaton.dead}
    return reached


@pytest.mark.parametrize(
    "concepts",
    [
        Thresholds(range(16)),
        Thresholds([0.5]),
        Intervals(range(5)),
        Rectangles([3, 2]),
        FiniteClass([[0, 1, 1]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("mistakes", [0, 1, 2, 9])
def test_transitions_are_those_of_the_automaton(concepts: ConceptClass, mistakes: int) -> None:
    automaton = soa(concepts)
    assert concepts.domain is not None
    points = len(concepts.domain)
    found = build_transitions(automaton, points, mistakes)
    known = within(automaton, points, mistakes)
    assert found.states[0] == START
    assert set(found.states.tolist()) == known
    assert len(found.states) == len(known)
    told = {
        (int(found.states[s]), int(x), int(found.states[t]))
        for s, x, t in zip(found.source, found.point, found.target, strict=True)
    }
    expected = {
        (s, x, int(after))
        for s in known
        for x in range(points)
        if int(after := automaton.after_mistake(np.array([s]), np.array([x]))[0]) in known
    }
    assert told == expected
    assert len(found.source) == len(expected)
    assert found.numbers_per_end == len(known) + len(expected)


def test_the_tables_agree_with_the_automaton() -> None:
    concepts = Intervals(range(5))
    automaton, found = soa(concepts), build_transitions(soa(concepts), 5, 9)
    columns = np.arange(5)
    labels = automaton.labels(found.states[:, None], columns)
    assert found.points == 5
    for y in (0, 1):
        assert np.array_equal(found.wrong[5 * y : 5 * y + 5], (labels != y).T)
    assert np.array_equal(np.argwhere(found.live), sorted(zip(found.source, found.point, strict=True)))
    assert np.array_equal(found.after[found.source, found.point], found.target)
    assert np.array_equal(np.split(found.target, found.starts[1:])[0], [found.reached[0]] * found.starts[1])
    assert np.array_equal(found.target[found.starts], found.reached)
    assert (np.diff(found.target) >= 0).all()


def test_a_class_with_too_many_states_is_refused() -> None:
    with pytest.raises(Unsupported) as refused:
        build_transitions(soa(Thresholds(range(1_024))), 1_024, 10)
    assert "has at least" in str(refused.value)
    assert "points, which exceeds 16,777,216 entries" in str(refused.value)
    assert "Choose a smaller domain, or fewer mistakes." in str(refused.value)


@pytest.mark.parametrize(
    ("concepts", "known"),
    [
        (Points(range(40)), 1),
        (Thresholds(range(16)), 8),
        (Intervals(range(5)), None),
        (Rectangles([3, 2]), None),
        (FiniteClass([[0, 1, 1]]), 0),
    ],
    ids=str,
)
def test_the_largest_difference_is_that_of_all_games(
    concepts: ConceptClass, known: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Follow each concept through all orders of its mistakes."""
    matrix = labellings(concepts)
    automaton, columns = soa(concepts), np.arange(matrix.shape[1])
    most = 0
    for labels in matrix:
        open_states, seen = {START}, set()
        while open_states:
            state = open_states.pop()
            seen.add(state)
            wrong = np.flatnonzero(automaton.labels(np.array(state), columns) != labels)
            most = max(most, len(wrong))
            open_states |= {int(automaton.after_mistake(np.array(state), x)) for x in wrong} - seen
    moves = build_transitions(automaton, len(columns), automaton.mistakes)
    assert largest_difference(moves, matrix) == most
    assert known in (None, most)
    monkeypatch.setattr(transitions, "MOST_PAIRS", 0)
    assert largest_difference(moves, matrix) == (len(columns) if len(moves.source) else 0)
