"""Learners that change only after a mistake (halving, soa, sparse-majority), which are not private; and their
automata as tables, to be run on many short sequences of examples, each represented by its state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
from arena.concepts import ConceptClass, Thresholds
from arena.errors import InvalidArgument, Unsupported
from arena.laws import OnlineLaw
from arena.littlestone import START, Automaton, halving, soa
from arena.littlestone.sparse_majority_automaton import SparseMajorityAutomaton, sparse_majority
from arena.messages import Hypothesis
from arena.players import Learner
from arena.sample import freeze
from arena.settings import setting
from learners.common.learner_bases import OnlineLearner


def _check_finite(instance: Learner, attribute: object, value: ConceptClass) -> None:
    if value.domain is None:
        raise Unsupported(
            f"{instance.name} needs a class with a finite domain; the Littlestone dimension of {value} is "
            "infinite",
            remedy="Give it a finite domain, as in thresholds:1..16.",
        )


@attrs.frozen
class WithoutPrivacy(OnlineLearner):
    """Base of the online learners that protect nothing (ε = ∞), baselines for the private ones."""

    common_random_numbers = True  # it draws no random numbers, or one in each round of every game

    concepts: ConceptClass = setting(
        Thresholds(range(16)), help="the concept class H, over a finite domain", check=_check_finite
    )


@attrs.frozen
class ConservativeLearner(WithoutPrivacy):
    """Base of the deterministic learners that are automata, whose state changes after a mistake.

    If no concept is consistent with the examples on which it erred, it predicts 0 for the rest of the game.
    """

    @abstractmethod
    def automaton(self) -> Automaton:
        """The automaton of the class, compiled once. Raises: Unsupported if the class is too large."""

    def bound(self, rounds: int) -> Bound:
        """The most mistakes in a realizable game of any length: the longest path in the automaton."""
        return Bound(self.automaton().mistakes, MISTAKES, 0, self.theorem)

    def online_law(self) -> ConservativeLaw:
        return ConservativeLaw(self.automaton())

    def start(self, games: int, rng: np.random.Generator) -> ConservativeState:
        return ConservativeState(self.automaton(), games)


class ConservativeState:
    def __init__(self, automaton: Automaton, games: int) -> None:
        self._automaton = automaton
        self._class = automaton.concept_class
        self._states = np.full(games, START)

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self._automaton.hypotheses, self._automaton.functions(self._states))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._class.domain_indices(self._class.check(x))
        wrong = np.flatnonzero(self._automaton.labels(self._states, columns) != y)
        if wrong.size:
            self._states[wrong] = self._automaton.after_mistake(self._states[wrong], columns[wrong])


class ConservativeLaw(OnlineLaw[int]):
    """The hypotheses of an automaton, shown with certainty; a state is one of the automaton."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        functions = automaton.functions(np.arange(automaton.dead + 1))
        distinct, self._numbers = np.unique(functions, axis=0, return_inverse=True)
        self.hypotheses = Hypothesis(automaton.hypotheses, distinct)
        self.points = np.array(automaton.concept_class.domain, float)

    def start(self) -> int:
        return START

    def show(self, state: int) -> list[tuple[int, int, float]]:
        return [(int(self._numbers.ravel()[state]), state, 1.0)]

    def observe(self, state: int, point: int, label: int) -> list[tuple[int, float]]:
        states, columns = np.array([state]), np.array([point])
        if self._automaton.labels(states, columns)[0] == label:
            return [(state, 1.0)]
        return [(int(self._automaton.after_mistake(states, columns)[0]), 1.0)]


@attrs.frozen
class Halving(ConservativeLearner):
    """Predicts at each point the label that most consistent concepts give, and 1 at a tie.

    Littlestone (1988), in the conservative form: consistency refers to the examples on which it erred, of
    which each removes at least half of the concepts. Its bound is exact, and often below log2 |H|.
    """

    name = "halving"
    theorem = "Halving (Littlestone 1988): at most log2 |H| mistakes; here those of its longest game"

    def automaton(self) -> Automaton:
        return halving(self.concepts)


@attrs.frozen
class Soa(ConservativeLearner):
    """Predicts at each point the label for which the consistent concepts have the larger Littlestone
    dimension.

    The Standard Optimal Algorithm of Littlestone (1988), in the conservative form: consistency refers to the
    examples on which it erred. It makes at most Ldim mistakes; no deterministic learner has a smaller bound.
    """

    name = "soa"
    theorem = "the Standard Optimal Algorithm (Littlestone 1988): at most Ldim mistakes"

    def automaton(self) -> Automaton:
        return soa(self.concepts)


@attrs.frozen
class SparseMajorityLearner(ConservativeLearner):
    """Predicts with a majority of a few concepts that minimises the worst-case number of mistakes.

    After Hanneke, Livni, Moran, Online Learning with Simple Predictors (COLT 2021), with the guarantees of
    `arena.littlestone.sparse_majority_automaton`: majorities of at most `automaton().most_members` concepts,
    one for thresholds, so that it is proper.
    """

    name = "sparse-majority"
    theorem = "sparse majorities (Hanneke, Livni, Moran 2021): O(Ldim) mistakes; here of its longest game"

    def automaton(self) -> SparseMajorityAutomaton:
        return sparse_majority(self.concepts)


SOA = "soa"
AUTOMATA: dict[str, Callable[[ConceptClass], Automaton]] = {  # by the names of their learners
    SOA: soa,
    "halving": halving,
    "sparse-majority": sparse_majority,
}

MOST_ENTRIES = 2**26  # states x points, in the table of successors


@attrs.frozen(eq=False, repr=False)
class AutomatonTables:
    """A conservative learner of a class as tables.

    Functions are numbered from 0; the last number, `no_function`, belongs to the dead state (⊥). function
    (S,): of each of S states. after (S, P) int32: the state after a mistake at each of P points. labels (F +
    1, P) bool: of each of F functions, 0 for `no_function`. released (F,): the functions as concepts of
    `automaton.hypotheses`.
    """

    concepts: ConceptClass
    automaton: Automaton
    function: np.ndarray
    after: np.ndarray
    labels: np.ndarray
    released: np.ndarray

    def __repr__(self) -> str:
        return f"an automaton of {self.concepts}, M = {self.depth}"

    @property
    def depth(self) -> int:
        """M, its largest number of mistakes; of the SOA: d, the Littlestone dimension."""
        return self.automaton.mistakes

    @property
    def dead(self) -> int:
        return self.automaton.dead

    @property
    def state_type(self) -> type[np.signedinteger]:
        """A small integer type that holds all states."""
        return np.int16 if self.dead < 2**15 else np.int32

    @property
    def no_function(self) -> int:
        """The number that stands for the function of the dead state."""
        return len(self.released)

    def domain_indices(self, x: np.ndarray) -> np.ndarray:
        return self.concepts.domain_indices(self.concepts.check(x))

    def hypothesis(self, functions: np.ndarray) -> Hypothesis:
        return Hypothesis(self.automaton.hypotheses, self.released[functions])

    def play_tournaments(self, first: np.ndarray, second: np.ndarray, guess: np.ndarray) -> np.ndarray:
        """The winners (k,) of pairs of states with different functions: steps 6 and 7 of Algorithm 1 of Li,
        Wang, Ye.

        The middle one of the points at which the functions differ, with the guessed label (k,) bool, extends
        the sequence whose function labels it differently.
        """
        labels = self.labels[self.function[first]]
        differ = labels != self.labels[self.function[second]]
        rank = differ.cumsum(axis=1)
        x = (2 * rank >= rank[:, -1:]).argmax(axis=1)
        first_errs = labels[np.arange(len(x)), x] != guess
        return np.asarray(self.after[np.where(first_errs, first, second), x])


def power_of_two(instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    """A validator of settings: the number of sequences, which are merged in pairs layer by layer."""
    if value & (value - 1):
        raise InvalidArgument(f"{attribute.name} must be a power of two", value=value)


@lru_cache(maxsize=8)
def tabulate(concepts: ConceptClass, base: str = SOA) -> AutomatonTables:
    """The learner of `AUTOMATA` of this name. Raises: Unsupported if the class is infinite, or too large."""
    automaton = AUTOMATA[base](concepts)
    size, width = automaton.dead + 1, len(concepts.domain or ())
    if size * width > MOST_ENTRIES:
        raise Unsupported(
            f"{base} on {concepts} is too large to tabulate: {size:,} states x {width:,} points",
            remedy="Choose a smaller domain.",
        )
    states, points = np.arange(size), np.arange(width)
    after = automaton.after_mistake(states[:, None], points).astype(np.int32)
    functions = automaton.functions(states[:-1])
    released, first, numbers = np.unique(functions, return_index=True, return_inverse=True)
    labels = automaton.labels(states[first][:, None], points)
    return AutomatonTables(
        concepts=concepts,
        automaton=automaton,
        function=freeze(np.append(numbers, len(released)).astype(np.int32)),
        after=freeze(after),
        labels=freeze(np.concatenate([labels, np.zeros_like(labels[:1])])),
        released=freeze(released),
    )
