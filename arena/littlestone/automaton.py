"""Conservative deterministic learners as automata that run a batch of games at once.

A conservative learner changes its state, the set of concepts that agree with the examples on which it erred,
only when it errs. A state predicts the label of every point and has one successor for each. The mistake
bounds of SOA and Halving hold, since their proofs only count what a mistake removes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arena.concepts import ConceptClass, Functions, Thresholds
from arena.errors import Unsupported
from arena.littlestone.concept_sets import ConceptSets, concept_sets
from arena.sample import freeze

START = 0
MAX_ENTRIES = 2**22  # of the tables, states × points; compiling that many takes half a minute

Predict = Callable[[ConceptSets, int], np.ndarray]


class Automaton(ABC):
    """A conservative deterministic learner of a class with a finite domain. States are integers, the first
    `START`. Points are columns: `concept_class.domain_indices(x)`."""

    concept_class: ConceptClass

    @property
    @abstractmethod
    def hypotheses(self) -> ConceptClass:
        """The class to which the functions of its states belong."""

    @property
    @abstractmethod
    def dead(self) -> int:
        """The state with which no concept is consistent. It labels everything 0."""

    @property
    def mistakes(self) -> int:
        """The largest number of mistakes that it makes on examples with which some concept is consistent."""
        return int(self.mistakes_left(np.array([START]))[0])

    @abstractmethod
    def functions(self, states: np.ndarray) -> np.ndarray:
        """The functions of states, as concepts of `hypotheses`; those that predict alike have the same."""

    @abstractmethod
    def labels(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The predictions (bool) of the states at the points; shapes broadcast."""

    @abstractmethod
    def after_mistake(self, states: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The states that follow a wrong prediction at the points; shapes broadcast."""

    @abstractmethod
    def mistakes_left(self, states: np.ndarray) -> np.ndarray:
        """The largest number of further mistakes; -1 where no concept is consistent."""

    def step(self, states: np.ndarray, columns: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The states after the examples (x, y). They change where the prediction is wrong."""
        wrong = self.labels(states, columns) != y
        return np.where(wrong, self.after_mistake(states, columns), states)


@attrs.frozen(eq=False)
class TableAutomaton(Automaton):
    """An automaton stored as tables, with S states of which the last is dead: label (S, points) bool, after
    (S, points) int32, function (S,) indices of the distinct hypotheses, left (S,) int8."""

    concept_class: ConceptClass
    hypotheses: Functions
    label: np.ndarray
    after: np.ndarray
    function: np.ndarray
    left: np.ndarray

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
class BinarySearchAutomaton(Automaton):
    """Binary search: both SOA and Halving for thresholds on N points, without tables. Thresholds are numbered
    0 to N, +inf last. State low·(N + 1) + N - high stands for those from `low` to `high`."""

    concept_class: ConceptClass
    thresholds: np.ndarray

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
        predicts_1 = columns >= (low + high) // 2
        low = np.where(predicts_1, np.maximum(low, columns + 1), low)
        high = np.where(predicts_1, high, np.minimum(high, columns))
        last = len(self.thresholds) - 1
        return np.where(low > high, self.dead, low * (last + 1) + last - high)

    def mistakes_left(self, states: np.ndarray) -> np.ndarray:
        low, high = self._ends(states)
        return np.asarray(np.frexp(np.maximum(high - low + 1, 0))[1] - 1)

    def _ends(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, above = np.divmod(states, len(self.thresholds))
        return low, len(self.thresholds) - 1 - above


def soa(concept_class: ConceptClass) -> Automaton:
    """The Standard Optimal Algorithm of Littlestone (1988), which errs at most Ldim times: it predicts the
    label whose concepts have the larger Littlestone dimension, else that of more concepts, else 1. Raises:
    Unsupported if the domain is not finite or the class is too large to compile."""
    return _automaton(concept_class, _by_dimension)


def halving(concept_class: ConceptClass) -> Automaton:
    """Halving: predicts the label that most concepts give, 1 on a tie. Raises: as `soa`."""
    return _automaton(concept_class, _by_number)


@lru_cache(maxsize=32)
def _automaton(concept_class: ConceptClass, predict: Predict) -> Automaton:
    if isinstance(concept_class, Thresholds) and concept_class.domain is not None:
        return BinarySearchAutomaton(concept_class, freeze(np.append(concept_class.domain, np.inf)))
    return compile_automaton(concept_class, predict)


def compile_automaton(concept_class: ConceptClass, predict: Predict) -> TableAutomaton:
    """The automaton of a conservative learner with the predictions (points,) bool that `predict` makes in
    each state, a set of concepts. Raises: Unsupported if there are too many states."""
    sets = concept_sets(concept_class)
    max_states = MAX_ENTRIES // sets.labels.shape[1]
    if _estimate_states(sets) > 1.5 * max_states and _may_have_states(sets, max_states):
        raise _too_large(concept_class, f"about {_estimate_states(sets):,} states, more than {max_states:,}")
    states, numbers = [sets.all], {sets.all: START}
    label: list[np.ndarray] = []
    after: list[list[int]] = []
    for concepts in states:  # the list grows while it is traversed
        label.append(predict(sets, concepts))
        after.append([])
        for ones, prediction in zip(sets.ones, label[-1], strict=True):
            rest = concepts & ~ones if prediction else concepts & ones
            if rest and rest not in numbers:
                numbers[rest] = len(states)
                states.append(rest)
            after[-1].append(numbers[rest] if rest else -1)
        if len(states) > max_states:
            raise _too_large(concept_class, f"more than {max_states:,} states")
    return _build_tables(concept_class, np.array(label), np.array(after))


def _estimate_states(sets: ConceptSets) -> int:
    """A guess at the number of states, good to a factor of two for intervals and rectangles of all sizes."""
    return int(len(sets.labels) ** 2 // 32)


def _may_have_states(sets: ConceptSets, number: int) -> bool:
    """Whether there can be so many states: the SOA of a class of dimension d has at most (points + 1)^d."""
    return sets.shatters(sets.all, math.ceil(math.log(number, len(sets.ones) + 1)))


def _too_large(concept_class: ConceptClass, states: str) -> Unsupported:
    return Unsupported(
        f"{concept_class} is too large to compile: it has {states}", remedy="Choose a smaller domain."
    )


def _build_tables(concept_class: ConceptClass, label: np.ndarray, after: np.ndarray) -> TableAutomaton:
    dead = len(label)
    label = np.concatenate([label, np.zeros_like(label[:1])])
    after = np.concatenate([np.where(after < 0, dead, after), np.full_like(after[:1], dead)])
    packed = np.packbits(label, axis=1)
    _, first, function = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return TableAutomaton(
        concept_class=concept_class,
        hypotheses=Functions(concept_class, label[first]),
        label=freeze(label),
        after=freeze(after.astype(np.int32)),
        function=freeze(function.ravel()),
        left=freeze(_most_mistakes(after)),
    )


def _most_mistakes(after: np.ndarray) -> np.ndarray:
    """The longest path from each state to one without further mistakes; -1 for the dead state, the last."""
    left = np.zeros(len(after), np.int8)
    left[-1] = -1
    while True:
        longer = left[after].max(axis=1) + 1
        longer[-1] = -1
        if (longer == left).all():
            return left
        left = longer.astype(np.int8)


def _by_dimension(sets: ConceptSets, concepts: int) -> np.ndarray:
    return _heavier_label(sets, concepts, lambda part: (sets.dimension(part), part.bit_count()))


def _by_number(sets: ConceptSets, concepts: int) -> np.ndarray:
    return _heavier_label(sets, concepts, int.bit_count)


def _heavier_label(sets: ConceptSets, concepts: int, weight: Callable[[int], Any]) -> np.ndarray:
    """(points,) bool: whether the concepts that label a point 1 weigh at least as much as the others."""
    parts = [(concepts & ones, concepts & ~ones) for ones in sets.ones]
    return np.array([bool(one) and (not zero or weight(one) >= weight(zero)) for one, zero in parts])
