"""Sparse majorities against the least budgets of all majorities there are, and against games."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import optimize
from support.laws.concept_laws import Concepts, agreeing, concepts_of

from arena import Unsupported
from arena.concepts import ConceptClass, FiniteClass, Intervals, Points, Rectangles, Thresholds
from arena.concepts.consistency import labellings
from arena.littlestone import START, dual_vc_dimension, littlestone_dimension
from arena.littlestone.concept_sets import ConceptSets
from arena.littlestone.sparse_majority_automaton import (
    _MistakeBudgets,
    _SmallestMajorities,
    majority,
    sparse_majority,
)

SMALL = arrays.arrays(bool, st.tuples(st.integers(1, 5), st.integers(1, 4)))
CLASSES = arrays.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 5)))
Labels = tuple[int, ...]


def every_majority(concepts: Concepts) -> dict[Labels, int]:
    """The functions that are majorities of concepts, at most five, and how many each takes at least.

    Up to five voters, nine votes are enough for whatever weights can do: of the seven kinds of such rules the
    most expensive has the weights 3, 2, 2, 1, 1.
    """
    fewest: dict[Labels, int] = {}
    for size in (1, 3, 5, 7, 9):
        for members in combinations_with_replacement(sorted(concepts), size):
            fewest.setdefault(
                tuple(int(2 * sum(column) > size) for column in zip(*members, strict=True)), size
            )
    return fewest


def least_budget(majorities: dict[Labels, int]) -> Callable[[Concepts], tuple[float, int]]:
    """Of a set of concepts, the least budget that a majority keeps, and the fewest members for it."""

    @cache
    def best(left: Concepts) -> tuple[float, int]:
        return min((loss_of(left, labels), size) for labels, size in majorities.items())

    def loss_of(left: Concepts, labels: Labels) -> float:
        sides = [agreeing(left, x, 1 - y) for x, y in enumerate(labels)]
        return max((np.inf if side == left else 1 + best(side)[0] for side in sides if side), default=0)

    return best


@settings(max_examples=60)
@given(matrix=SMALL)
def test_budgets_and_members_are_the_least_there_are(matrix: np.ndarray) -> None:
    learner = sparse_majority(FiniteClass(matrix))
    concepts = concepts_of(matrix)
    best = least_budget(every_majority(concepts))
    assert learner.mistakes == best(concepts)[0]
    reached = {START: concepts}
    for state in range(learner.dead):  # in the order in which they were reached
        left = reached[state]
        assert len(learner.members[state]) == best(left)[1]
        for x in range(matrix.shape[1]):
            after = agreeing(left, x, 1 - int(learner.label[state, x]))
            reached.setdefault(int(learner.after[state, x]), after)


@given(matrix=CLASSES)
def test_every_prediction_is_the_majority_of_the_members(matrix: np.ndarray) -> None:
    learner = sparse_majority(FiniteClass(matrix))
    labels = labellings(FiniteClass(matrix))
    for state, members in enumerate(learner.members):
        votes = labels[list(members)].astype(int).sum(axis=0)
        assert ((2 * votes > len(members)) == learner.label[state]).all()
        assert len(members) % 2 == 1 or state == learner.dead
    assert learner.members[learner.dead] == ()
    assert learner.most_members == max(len(members) for members in learner.members)


@pytest.mark.thorough
@given(matrix=CLASSES, data=st.data())
def test_realizable_games_stay_within_the_bound(matrix: np.ndarray, data: st.DataObject) -> None:
    learner = sparse_majority(FiniteClass(matrix))
    target = matrix[data.draw(st.integers(0, len(matrix) - 1))]
    state, mistakes = START, 0
    for x in data.draw(st.lists(st.integers(0, matrix.shape[1] - 1), max_size=20)):
        mistakes += int(learner.label[state, x] != target[x])
        state = int(learner.step(np.array(state), np.array(x), np.array(target[x])))
    assert mistakes <= learner.mistakes
    assert state != learner.dead


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("concept_class", "dimension", "dual", "members", "states"),
    [
        (Points(range(2)), 1, 1, 1, 2),
        (Points(range(3)), 1, 1, 3, 4),
        (Points(range(8)), 1, 1, 3, 9),
        (Points(range(64)), 1, 1, 3, 65),
        (Thresholds(range(4)), 2, 1, 1, 6),
        (Thresholds(range(16)), 4, 1, 1, 52),
        (Thresholds(range(32)), 5, 1, 1, 188),
        (Intervals(range(8)), 4, 2, 1, 100),
        (Intervals(range(12)), 5, 2, 1, 379),
        (Intervals(range(16)), 6, 2, 1, 1_016),
        (Rectangles((3, 3)), 4, 2, 3, 95),
        (Rectangles((4, 4)), 6, 4, 3, 611),
        pytest.param(Rectangles((5, 5)), 7, 4, 5, 2_417, marks=pytest.mark.slow),
        (Rectangles((2, 2, 2)), 4, 3, 1, 78),
    ],
    ids=str,
)
def test_the_cost_of_predicting_with_few_concepts(
    concept_class: ConceptClass, dimension: int, dual: int, members: int, states: int
) -> None:
    """The table docs/tables/online/sparse_majorities.csv. Members are those of the fewest, whichever
    solution a solver finds; which states are reached depends on it, so their number is for scale only."""
    learner = sparse_majority(concept_class)
    assert (learner.mistakes, learner.most_members) == (dimension, members)
    assert littlestone_dimension(concept_class) == dimension
    assert dual_vc_dimension(concept_class) == dual
    assert learner.dead == pytest.approx(states, rel=0.2)


def test_a_majority_may_need_weights() -> None:
    """Of four voters one must count twice; five concepts suffice, and no fewer."""
    labels = np.array([[1, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]], bool)
    forced = dict.fromkeys(range(4), True)
    members = _SmallestMajorities(ConceptSets("four", labels)).find(forced)
    assert sorted(members) == [0, 0, 1, 2, 3]
    assert majority(labels, members).all()


def test_labels_that_no_majority_has_are_recognised() -> None:
    """Every concept is wrong at two of three points, and so is one of three points under any weights."""
    majorities = _SmallestMajorities(ConceptSets("three", np.eye(3, dtype=bool)))
    assert majorities.find(dict.fromkeys(range(3), True)) is None
    assert majorities.find({}) == (0,)


def test_a_budget_that_no_majority_keeps_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were members of three not to be had, point functions would take three mistakes."""
    find = _SmallestMajorities.find

    def alone(self: _SmallestMajorities, forced: dict[int, bool]) -> tuple[int, ...] | None:
        members = find(self, forced)
        return members if members is not None and len(members) == 1 else None

    monkeypatch.setattr(_SmallestMajorities, "find", alone)
    sets = ConceptSets("points", np.eye(4, dtype=bool))
    budgets = _MistakeBudgets(sets)
    assert len(budgets.best_members(sets.all)) == 1
    assert budgets._best[sets.all][0] == 3  # one point after another, and the last one is certain


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [
        (
            "MAX_LOOKUPS",
            45,
            "grid need the budgets of more than 5 sets of concepts. Choose a smaller domain.",
        ),
        ("MAX_PROGRAMMES", 0, "grid need more than 0 integer programmes. Choose a smaller domain."),
    ],
)
def test_a_class_that_is_too_large_is_refused(limit, value, message, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[sparse_majority.__module__], limit, value)
    budgets = _MistakeBudgets(ConceptSets("grid", labellings(Rectangles((3, 3)))))
    with pytest.raises(Unsupported, match=re.escape(message)):
        budgets.best_members(budgets._sets.all)


def test_a_domain_that_is_too_large_is_refused() -> None:
    message = (
        "sparse majorities are supported for up to 1,024 points, and Thresholds(5000 points from 0 to 4999)"
    )
    with pytest.raises(Unsupported, match=re.escape(message + " has 5,000. Choose a smaller domain.")):
        sparse_majority(Thresholds(range(5_000)))


def test_a_programme_that_is_cut_short_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimize, "milp", lambda *_, **__: optimize.OptimizeResult(status=1, x=None))
    majorities = _SmallestMajorities(ConceptSets("three", np.eye(3, dtype=bool)))
    with pytest.raises(
        Unsupported, match="of three with 3 forced points has no solution within 10,000 nodes"
    ):
        majorities.find(dict.fromkeys(range(3), False))
