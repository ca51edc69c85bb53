"""conservative learners, which change their hypothesis only after a mistake: halving and soa; no privacy."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
from arena.concepts import ConceptClass, Thresholds
from arena.errors import Unsupported
from arena.laws import OnlineLaw
from arena.littlestone import START, Automaton, halving, soa
from arena.littlestone.sparse_majority_automaton import SparseMajorityAutomaton, sparse_majority
from arena.players import Learner
from arena.replies import Hypothesis
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
    """Base of the online learners that protect nothing (ε = ∞), baselines for the private ones.

    Audit one against a claim of your own (`--epsilon`) to see a claim refuted. Raises: Unsupported if the
    domain is not finite.
    """

    common_random_numbers = True  # it draws no random numbers, or one in each round of every game

    concepts: ConceptClass = setting(
        Thresholds(range(16)), help="the concept class H, over a finite domain", check=_check_finite
    )


@attrs.frozen
class ConservativeLearner(WithoutPrivacy):
    """Base of the deterministic learners that are automata: the state, whose function is the hypothesis,
    changes after a mistake.

    If no concept is consistent with the examples on which it erred, it predicts 0 at every point for the rest
    of the game, which does not happen in realizable games.
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
    """A running conservative learner: one state of the automaton for each game."""

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

    Halving (Littlestone 1988) in its conservative form: consistency refers to the examples on which it erred.
    Each of these removes at least half of the concepts, so it makes at most log2 |H| mistakes. Its bound is
    exact, and often below that.
    """

    name = "halving"
    theorem = "Halving (Littlestone 1988): at most log2 |H| mistakes; here those of its longest game"

    def automaton(self) -> Automaton:
        return halving(self.concepts)


@attrs.frozen
class Soa(ConservativeLearner):
    """Predicts at each point the label for which the consistent concepts have the larger Littlestone
    dimension.

    The Standard Optimal Algorithm of Littlestone (1988) in its conservative form: consistency refers to the
    examples on which it erred. In a realizable game it makes at most Ldim mistakes, and no deterministic
    learner has a smaller bound.
    """

    name = "soa"
    theorem = "the Standard Optimal Algorithm (Littlestone 1988): at most Ldim mistakes"

    def automaton(self) -> Automaton:
        return soa(self.concepts)


@attrs.frozen
class SparseMajorityLearner(ConservativeLearner):
    """Predicts with a majority of a few concepts of the class that minimises the worst-case number of
    mistakes.

    After Hanneke, Livni, Moran, Online Learning with Simple Predictors (COLT 2021), computed for the given
    class; the guarantees are those of `arena.littlestone.sparse_majority_automaton`. Its hypotheses are
    majorities of at most `automaton().most_members` concepts, consistent or not. For thresholds that number
    is 1, so it is proper.
    """

    name = "sparse-majority"
    theorem = (
        "sparse majorities (Hanneke, Livni, Moran 2021): O(Ldim) mistakes; here those of its longest game"
    )

    def automaton(self) -> SparseMajorityAutomaton:
        return sparse_majority(self.concepts)
