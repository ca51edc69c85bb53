"""forest-breaker: contradicts what a forest of sequences shows by examples that change few of them."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.online.base import VersionSpaces, class_for, first_said, on_domain
from arena import Adversary, Example, Learner, Moves, setting
from arena.concepts import ConceptClass
from arena.littlestone import START, Automaton, soa
from arena.settings import at_least, whole

_COIN_BITS = 24


@attrs.frozen
class ForestBreaker(Adversary):
    """Made for the learner of Golowich and Livni (2021), as section 3 of Li, Wang, Ye tells of it.

    That learner keeps a forest of sequences, puts each example into a random one, merges siblings on which
    the SOA differs, and shows a function that is frequent. It learns from a mistake only where the example
    meets a sequence on which the SOA errs as well. Against an oblivious adversary examples and places are
    independent, so some function stays frequent, and a fixed target is guessed in a constant share of the
    trees. This adversary has no target, and sees what is frequent.

    It contradicts the function shown, so that every round may be a mistake, until the function is gone. Among
    the points where it can, it asks where that leaves the largest Littlestone dimension, so that many
    functions must become frequent and be given up, one after the other. Among those, it asks the point that
    changes the fewest sequences: where the function shown errs and those of others do not. A mistake then
    mostly teaches the forest nothing, and siblings that agree go on agreeing, so that the trees grow slowly.

    Where the examples went shows only in what is released. The adversary fills in the rest by forests of its
    own, one a game, to which it gives the same examples at places of its own drawing: in a large forest the
    share of sequences with a function hardly depends on the draws. Against learners of other kinds it is
    `adaptive` with another choice among equals; and where its forests rank points no better than the number
    of concepts does, it forces no more than `adaptive`.

    leaves: of a forest of its own, rounded up to whole trees. As many as the learner's is the best guess.
    """

    name = "forest-breaker"
    protocols = ("Adaptive",)
    returns_score = False
    realizable = True

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    leaves: int = setting(512, help="of its own forest in each game", check=[whole, at_least(1)])
    concepts: ConceptClass | None = setting(None, help="the concept class; default: the learner's")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        concept_class = class_for(self.learner, self.concepts)
        spaces, forest = VersionSpaces(concept_class, games), Forests(soa(concept_class), self.leaves, games)
        row = np.arange(games)
        said = first_said(self.learner, spaces, games)
        for _ in range(self.rounds):
            left = np.where(said, spaces.worth[:, 0], spaces.worth[:, 1])
            changed = np.where(said, forest.ones, forest.alive[:, None] - forest.ones)
            dimension, number = np.divmod(left, spaces.unit)
            order = (dimension * (forest.most + 1) + forest.most - changed) * spaces.unit + number
            column = np.where(left >= 0, order, -1).argmax(axis=1)
            y = said[row, column] ^ (left[row, column] >= 0)
            spaces.take(column, y)
            forest.insert(column, y, rng.integers(0, 2**62, games))
            reply = yield Example(spaces.points[column], y)
            said = on_domain(reply.hypothesis, spaces.points)
        return None


class Forests:
    """A forest for every game of a table. Node 1 of a tree is its root, 2i and 2i + 1 are the children of i.

    most: how many leaves a forest has. alive: (games,), how many of its pertinent nodes have a sequence that
    some concept explains. ones: (games, points), how many of those label a point 1.
    """

    def __init__(self, automaton: Automaton, leaves: int, games: int) -> None:
        self._automaton = automaton
        self._columns = np.arange(len(automaton.concept_class.domain or ()))
        width = 2**automaton.mistakes
        trees = -(-leaves // width)
        self.most = trees * width
        self._stride = 2 * width
        first = (np.arange(trees)[:, None] * self._stride + width + np.arange(width)).ravel()
        self._pertinent = np.tile(first, (games, 1))
        self._count = np.full(games, self.most)
        # By node: its state, or -1 where it is not pertinent; its place among the pertinent ones.
        self._state = np.full((games, trees * self._stride), -1)
        self._place = np.zeros((games, trees * self._stride), np.intp)
        self._state[:, first] = START
        self._place[:, first] = np.arange(self.most)
        self.alive = np.full(games, self.most)
        self.ones = self.most * self._labels(np.full(games, START)).astype(np.int64)

    def insert(self, columns: np.ndarray, y: np.ndarray, coins: np.ndarray) -> None:
        """Put each game's example into the sequence of a random pertinent node, and merge what collides.

        coins: (games,) whole numbers, uniform below 2^62.
        """
        row = np.arange(len(columns))
        nodes = self._pertinent[row, (coins >> _COIN_BITS) % self._count]
        before = self._state[row, nodes]
        after = self._automaton.step(before, columns, y)
        games = np.flatnonzero(after != before)
        nodes = nodes[games]
        self._set(games, nodes, after[games])
        level = 0
        while len(games):
            games, nodes = self._merge(games, nodes, (coins[games] >> level) & 1 == 1)
            level += 1

    def _merge(
        self, games: np.ndarray, nodes: np.ndarray, guess: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The tournaments of nodes with their siblings, where these collide: the games, and the parents."""
        # The "sibling" of a root is place 0, which is never pertinent.
        pair = np.stack([self._state[games, nodes], self._state[games, nodes ^ 1]])
        both = ((pair >= 0) & (pair != self._automaton.dead)).all(axis=0)
        labels = self._labels(np.where(both, pair, START))
        differ = labels[0] != labels[1]
        here = np.flatnonzero(both & differ.any(axis=1))
        games, nodes, guess = games[here], nodes[here], guess[here]
        column = differ[here].argmax(axis=1)
        second = labels[0, here, column] == guess
        state = self._automaton.after_mistake(pair[second.astype(np.intp), here], column)
        parents = nodes - nodes % self._stride + nodes % self._stride // 2
        for gone in (nodes, nodes ^ 1):
            self._drop(games, gone)
        self._pertinent[games, self._count[games]] = parents
        self._place[games, parents] = self._count[games]
        self._count[games] += 1
        self._set(games, parents, state)
        return games, parents

    def _drop(self, games: np.ndarray, nodes: np.ndarray) -> None:
        """Nodes are pertinent no longer; the last one takes their place in the list."""
        self._set(games, nodes, np.full(len(games), -1))
        self._count[games] -= 1
        last = self._pertinent[games, self._count[games]]
        place = self._place[games, nodes]
        self._pertinent[games, place] = last
        self._place[games, last] = place

    def _set(self, games: np.ndarray, nodes: np.ndarray, state: np.ndarray) -> None:
        for sign, states in ((-1, self._state[games, nodes]), (1, state)):
            counts = (states >= 0) & (states != self._automaton.dead)
            self.alive[games] += sign * counts
            self.ones[games] += sign * (counts[:, None] & self._labels(np.where(counts, states, START)))
        self._state[games, nodes] = state

    def _labels(self, states: np.ndarray) -> np.ndarray:
        return self._automaton.labels(states[..., None], self._columns)
