"""Deterministic learners that change their mind only when they err, as automata: a table of games at once.

A conservative learner's state is the set of concepts that agree with the examples on which it erred. Every
state has one function, its prediction at all points, and one successor for each point at which it may err.
That keeps the states few: their number is at most (points)^(mistakes), where all version spaces of even the
singletons are 2^points. The mistake bounds of SOA and Halving hold all the same, since their proofs count
what a mistake removes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arena.concepts import ConceptClass, Functions, Thresholds
from arena.errors import Unsupported
from arena.littlestone.concept_sets import ConceptSets, concept_sets
from arena.points import freeze

START = 0
MOST_ENTRIES = 2**22  # of the tables, states times points: half a minute

Predict = Callable[[ConceptSets, int], np.ndarray]


class Automaton(ABC):
    """A conservative deterministic learner of a class with a finite domain.

    States are whole numbers, the first is `START`. Points are columns: `concept_class.place(x)`.

    concept_class: what it learns.
    """

    concept_class: ConceptClass

    @property
    @abstractmethod
    def hypotheses(self) -> ConceptClass:
        """The class of its functions."""

    @property
    @abstractmethod
    def dead(self) -> int:
        """The state that no concept is consistent with, which labels everything 0."""

    @property
    def mistakes(self) -> int:
        """The most mistakes it makes where some concept is consistent with all examples."""
        return int(self.mistakes_left(np.array([START]))[0])

    @abstractmethod
    def functions(self, states: np.ndarray) -> np.ndarray:
        """The function of each state, in the terms of `hypotheses`: two states predict alike if and only if
        they have the same."""

    @abstractmethod
    def labels(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Bool: what the states predict at the points; shapes broadcast."""

    @abstractmethod
    def after_mistake(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The states that follow where the prediction was wrong; shapes broadcast."""

    @abstractmethod
    def mistakes_left(self, states: np.ndarray) -> np.ndarray:
        """The most mistakes that are still to come; -1 where no concept is consistent."""

    def step(self, states: np.ndarray, columns: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The states after the examples (x, y): changed where the prediction was wrong."""
        wrong = self.labels(states, columns) != y
        return np.where(wrong, self.after_mistake(states, columns), states)


@attrs.frozen(eq=False)
class Compiled(Automaton):
    """An automaton as tables.

    table: its functions. Shapes: S states, the last of them dead; label (S, points) bool, after (S, points)
    int32, function (S,), left (S,) int8.
    """

    concept_class: ConceptClass
    table: Functions
    label: np.ndarray
    after: np.ndarray
    function: np.ndarray
    left: np.ndarray

    @property
    def hypotheses(self) -> ConceptClass:
        return self.table

    @property
    def dead(self) -> int:
        return len(self.after) - 1

    def functions(self, states: np.ndarray) -> np.ndarray:
        return np.asarray(self.function[states])

    def labels(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.label[states, columns])

    def after_mistake(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.asarray(self.after[states, columns])

    def mistakes_left(self, states: np.ndarray) -> np.ndarray:
        return np.asarray(self.left[states])


@attrs.frozen(eq=False)
class BinarySearch(Automaton):
    """SOA of thresholds on N points, which is Halving as well: binary search, by arithmetic.

    The thresholds are numbered 0 to N in the order of the domain, +inf last. The state of those from `low` to
    `high` is low·(N + 1) + N - high.
    """

    concept_class: ConceptClass
    thresholds: np.ndarray

    @classmethod
    def of(cls, concept_class: Thresholds) -> BinarySearch:
        """For thresholds with a finite domain."""
        assert concept_class.domain is not None
        return cls(concept_class, freeze(np.append(concept_class.domain, np.inf)))

    @property
    def hypotheses(self) -> ConceptClass:
        return self.concept_class

    @property
    def dead(self) -> int:
        return len(self.thresholds) ** 2

    def functions(self, states: np.ndarray) -> np.ndarray:
        low, high = self._ends(states)
        return np.asarray(self.thresholds[(low + high) // 2])

    def labels(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        low, high = self._ends(states)
        return np.asarray(columns >= (low + high) // 2)

    def after_mistake(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        low, high = self._ends(states)
        one = columns >= (low + high) // 2
        low = np.where(one, np.maximum(low, columns + 1), low)
        high = np.where(one, high, np.minimum(high, columns))
        last = len(self.thresholds) - 1
        return np.where(low > high, self.dead, low * (last + 1) + last - high)

    def mistakes_left(self, states: np.ndarray) -> np.ndarray:
        low, high = self._ends(states)
        return np.asarray(np.frexp(np.maximum(high - low + 1, 0))[1] - 1)

    def _ends(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, above = np.divmod(states, len(self.thresholds))
        return low, len(self.thresholds) - 1 - above


def soa(concept_class: ConceptClass) -> Automaton:
    """The Standard Optimal Algorithm of Littlestone (1988): the label whose concepts have the larger
    Littlestone dimension, at a tie the one that more concepts give, then 1. It errs Ldim times at most.

    Raises: Unsupported if the domain is not finite, or the class too large to compile.
    """
    return _automaton(concept_class, _by_dimension)


def halving(concept_class: ConceptClass) -> Automaton:
    """Halving: the label that most concepts give, at a tie 1. It errs log2(concepts) times at most.

    Raises: Unsupported if the domain is not finite, or the class too large to compile.
    """
    return _automaton(concept_class, _by_number)


@lru_cache(maxsize=32)
def _automaton(concept_class: ConceptClass, predict: Predict) -> Automaton:
    if isinstance(concept_class, Thresholds) and concept_class.domain is not None:
        return BinarySearch.of(concept_class)
    return compiled(concept_class, predict)


def compiled(concept_class: ConceptClass, predict: Predict) -> Compiled:
    """The automaton of a conservative learner.

    predict: the labels (points,) bool of the learner whose state is a set of concepts.

    Raises: Unsupported if there are too many states.
    """
    sets = concept_sets(concept_class)
    points = sets.labels.shape[1]
    most = MOST_ENTRIES // points
    states, numbers = [sets.all], {sets.all: START}
    label: list[np.ndarray] = []
    after: list[list[int]] = []
    for concepts in states:  # which grows
        label.append(predict(sets, concepts))
        after.append([])
        for ones, one in zip(sets.ones, label[-1], strict=True):
            rest = concepts & ~ones if one else concepts & ones
            if rest and rest not in numbers:
                numbers[rest] = len(states)
                states.append(rest)
            after[-1].append(numbers[rest] if rest else -1)
        if len(states) > most:
            raise Unsupported(
                f"{concept_class} is too large to compile: more than {most:,} states",
                remedy="Choose a smaller domain.",
            )
    return _tables(concept_class, np.array(label), np.array(after))


def _tables(concept_class: ConceptClass, label: np.ndarray, after: np.ndarray) -> Compiled:
    """An automaton from the rows of its states; -1 in `after` is the dead state."""
    dead = len(label)
    label = np.concatenate([label, np.zeros_like(label[:1])])
    after = np.concatenate([np.where(after < 0, dead, after), np.full_like(after[:1], dead)])
    packed = np.packbits(label, axis=1)
    _, first, function = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return Compiled(
        concept_class=concept_class,
        table=Functions(concept_class, label[first]),
        label=freeze(label),
        after=freeze(after.astype(np.int32)),
        function=freeze(function.ravel()),
        left=freeze(_most_mistakes(after)),
    )


def _most_mistakes(after: np.ndarray) -> np.ndarray:
    """The longest way from each state to one that errs no more; -1 for the dead state, the last."""
    left = np.zeros(len(after), np.int8)
    left[-1] = -1
    while True:
        longer = left[after].max(axis=1) + 1
        longer[-1] = -1
        if (longer == left).all():
            return left
        left = longer.astype(np.int8)


def _by_dimension(sets: ConceptSets, concepts: int) -> np.ndarray:
    return _compared(sets, concepts, lambda part: (sets.dimension(part), part.bit_count()))


def _by_number(sets: ConceptSets, concepts: int) -> np.ndarray:
    return _compared(sets, concepts, int.bit_count)


def _compared(sets: ConceptSets, concepts: int, weight: Callable[[int], Any]) -> np.ndarray:
    """At each point, whether the concepts that label it 1 weigh at least as much as those that do not."""
    parts = [(concepts & ones, concepts & ~ones) for ones in sets.ones]
    return np.array([bool(one) and (not zero or weight(one) >= weight(zero)) for one, zero in parts])
