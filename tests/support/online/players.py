"""Online players: opponents without privacy, learners with true and false bounds, and adversaries."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena import Adversary, Commit, Example, Hypothesis, Learner, Moves, setting
from arena.claims import MISTAKES, Bound, Claim, PrivacyUnit
from arena.concepts import ConceptClass, Functions, Thresholds
from arena.littlestone import START, Automaton, soa
from learners.online.conservative import ConservativeState


@attrs.frozen
class Opponent(Learner):
    """What the learners of this file share: no privacy, and a class."""

    protocols: ClassVar[tuple[str, ...]] = ("Oblivious", "Adaptive", "SpecialRound")

    concepts: ConceptClass = Thresholds(range(16))

    claim = Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))


@attrs.frozen
class Lazy(Opponent):
    """SOA that takes a mistake to heart only with some chance, by the coins of each game."""

    name = "lazy"
    chance: float = 0.3

    def start(self, games: int, rng: np.random.Generator) -> LazyState:
        return LazyState(soa(self.concepts), games, self.chance, rng)


class LazyState(ConservativeState):
    def __init__(self, automaton: Automaton, games: int, chance: float, rng: np.random.Generator) -> None:
        super().__init__(automaton, games)
        self.chance, self.rng = chance, rng

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        before = self._states.copy()
        super().observe(x, y)
        self._states = np.where(self.rng.random(len(before)) < self.chance, self._states, before)


@attrs.frozen
class Guesser(Opponent):
    """A new random function every round, whatever it is told."""

    name = "guesser"

    def start(self, games: int, rng: np.random.Generator) -> GuesserState:
        return GuesserState(self.concepts, games, rng)


class GuesserState:
    def __init__(self, concepts: ConceptClass, games: int, rng: np.random.Generator) -> None:
        self.rng = rng
        assert concepts.domain is not None
        self.table = Functions(concepts, rng.random((4096, len(concepts.domain))) < 0.5)
        self.games = games

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self.table, self.rng.integers(0, 4096, self.games))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        pass


@attrs.frozen
class Forest(Opponent):
    """A forest as section 3 of Li, Wang, Ye tells of the learner of Golowich and Livni (2021), without noise
    in what it releases, written for clarity.

    The function shown stays until fewer than half as many nodes have it as when it was chosen.
    """

    name = "forest"
    trees: int = 32

    def start(self, games: int, rng: np.random.Generator) -> ForestState:
        return ForestState(self, games, rng)


class ForestState:
    def __init__(self, spec: Forest, games: int, rng: np.random.Generator) -> None:
        self.automaton = soa(spec.concepts)
        self.games = [OneForest(self.automaton, spec.trees, child) for child in rng.spawn(games)]

    def hypothesis(self) -> Hypothesis:
        shown = np.array([game.shown for game in self.games])
        return Hypothesis(self.automaton.hypotheses, self.automaton.functions(shown))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        concepts = self.automaton.concept_class
        for game, column, label in zip(
            self.games, concepts.domain_indices(concepts.check(x)), y == 1, strict=True
        ):
            game.insert(int(column), bool(label))


class OneForest:
    """The forest of one game. Node 1 of a tree is its root, 2i and 2i + 1 are the children of node i."""

    def __init__(self, automaton: Automaton, trees: int, rng: np.random.Generator) -> None:
        self.automaton, self.rng = automaton, rng
        leaves = 2**automaton.mistakes
        self.pertinent = [(tree, leaves + leaf) for tree in range(trees) for leaf in range(leaves)]
        self.state = dict.fromkeys(self.pertinent, START)
        self.columns = np.arange(len(automaton.concept_class.domain or ()))
        self.effects = 0
        self.choose()

    def choose(self) -> None:
        """Show the function that most nodes have: as the state of one of them."""
        alive = [state for state in self.state.values() if state != self.automaton.dead]
        if not alive:
            self.least = 0.0
            return
        functions = self.automaton.functions(np.array(alive))
        found, first, count = np.unique(functions, return_index=True, return_counts=True)
        best = int(count.argmax())
        self.shown, self.function, self.least = alive[first[best]], found[best], count[best] / 2

    def insert(self, column: int, y: bool) -> None:
        """Put the example into a random pertinent node's sequence."""
        node = self.pertinent[self.rng.integers(len(self.pertinent))]
        before = self.state[node]
        self.state[node] = int(self.automaton.step(np.array(before), column, y))
        if self.state[node] == before:
            return
        self.effects += 1
        while node is not None:
            node = self.lift(node)
        states = np.array([state for state in self.state.values() if state != self.automaton.dead])
        if len(states) == 0 or (self.automaton.functions(states) == self.function).sum() < self.least:
            self.choose()

    def lift(self, node: tuple[int, int]) -> tuple[int, int] | None:
        """The parent, if the node and its sibling are pertinent and collide; it takes their place."""
        tree, place = node
        sibling = (tree, place ^ 1)
        pair = [self.state[node], self.state.get(sibling, self.automaton.dead)]
        if self.automaton.dead in pair:
            return None
        labels = self.automaton.labels(np.array(pair)[:, None], self.columns)
        if (labels[0] == labels[1]).all():
            return None
        column, y = int((labels[0] != labels[1]).argmax()), bool(self.rng.integers(2))
        wrong = pair[int(labels[1, column] != y)]
        parent = (tree, place // 2)
        for gone in (node, sibling):
            self.pertinent.remove(gone)
            del self.state[gone]
        self.pertinent.append(parent)
        self.state[parent] = int(self.automaton.after_mistake(np.array(wrong), column))
        return parent


@attrs.frozen
class TinySoa(Learner):
    """SOA, with a bound that a test can set."""

    name = "tiny-soa"
    protocols = ("Oblivious", "Adaptive")
    theorem = "Littlestone 1988"

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")
    rounds: int = setting(100, help="T")
    at_most: float | None = setting(None, help="its bound instead of Ldim")
    beta: float | None = setting(0.0, help="of its bound")
    of: str = setting(MISTAKES, help="of its bound")
    oblivious: bool = setting(False, help="of its bound")

    claim = Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def bound(self, rounds: int) -> Bound | None:
        most = soa(self.concepts).mistakes if self.at_most is None else self.at_most
        return Bound(most, self.of, self.beta, self.theorem, self.oblivious)

    def start(self, games: int, rng: np.random.Generator) -> ConservativeState:
        return ConservativeState(soa(self.concepts), games)


class GuessState:
    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self._games, self._rng = games, rng

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(Thresholds(), np.where(self._rng.random(self._games) < 0.5, -np.inf, np.inf))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        pass


@attrs.frozen
class Guess(Learner):
    """Predicts a random constant in every round, and so is wrong half the time."""

    name = "guess"
    protocols = ("Adaptive",)

    concepts: ConceptClass = setting(Thresholds(range(16)), help="the concept class H")

    claim = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> GuessState:
        return GuessState(games, rng)


@attrs.frozen
class Drawn(Adversary):
    """Uniform points, labelled by a threshold that is random in each game and flipped with `noise`."""

    name = "drawn"
    protocols: ClassVar[tuple[str, ...]] = ("Adaptive", "Oblivious")

    rounds: int = setting(100, help="T")
    noise: float = setting(0.0, help="of a flipped label")
    protocol: str = setting("Adaptive", help="how it plays")
    lies: bool = setting(False, help="whether it says that it is realizable all the same")
    learner: Learner | None = setting(None, help="the opponent")

    @property
    def realizable(self) -> bool:
        return self.lies or not self.noise

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        size = 16 if self.learner is None else len(self.learner.concepts.domain)  # type: ignore[attr-defined]
        x = rng.integers(0, size, (games, self.rounds)).astype(float)
        y = (x >= rng.integers(0, size + 1, (games, 1))) ^ (rng.random(x.shape) < self.noise)
        if self.protocol == "Oblivious":
            yield Commit(x, y)
            return
        for t in range(self.rounds):
            yield Example(x[:, t], y[:, t])


@attrs.frozen
class Endless(Adversary):
    """Plays as long as it is asked: it has no setting `rounds`."""

    name = "endless"
    protocols = ("Adaptive",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        while True:
            yield Example(8.0, 1)


@attrs.frozen
class Gossip(Adversary):
    """Labels the points of a game by the replies in another game, which no adversary may do."""

    name = "gossip"
    protocols = ("Adaptive",)
    rounds: int = setting(100, help="T")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        y = np.ones(games, bool)
        for _ in range(self.rounds):
            reply = yield Example(8.0, y)
            y = np.roll(~reply.hypothesis(8.0), 1)
