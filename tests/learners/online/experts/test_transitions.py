"""The states of experts and their moves, against an enumeration of mistakes one by one."""

from __future__ import annotations

import numpy as np
import pytest

from arena.concepts import ConceptClass, FiniteClass, Intervals, Rectangles, Thresholds
from arena.errors import Unsupported
from arena.littlestone import START, Automaton, soa
from learners.online.experts import moves


def within(automaton: Automaton, points: int, mistakes: int) -> set[int]:
    """The states that so many mistakes lead to at most."""
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
def test_moves_are_those_of_the_automaton(concepts: ConceptClass, mistakes: int) -> None:
    automaton = soa(concepts)
    assert concepts.domain is not None
    points = len(concepts.domain)
    found = moves(automaton, points, mistakes)
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
    assert found.numbers == len(known) + len(expected)


def test_the_tables_say_the_same() -> None:
    concepts = Intervals(range(5))
    automaton, found = soa(concepts), moves(soa(concepts), 5, 9)
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
        moves(soa(Thresholds(range(1_024))), 1_024, 10)
    assert "gives experts at least" in str(refused.value)
    assert "states on 1,024 points, over 16,777,216 in all" in str(refused.value)
    assert "Choose a smaller domain, or fewer mistakes." in str(refused.value)
