"""forest-breaker: contradicts what a forest of sequences shows by examples that change few sequences."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.online.base import ClassAdversary, ValuedVersionSpaces, expect_first_labels, label_points
from arena import Example, Moves, count_setting
from arena.littlestone import START, Automaton, soa

# The low bits of a game's random number guess labels, one for each level of a tree; the others choose a node.
_GUESS_BITS = 24


@attrs.frozen
class ForestBreaker(ClassAdversary):
    """Made for the learner of Golowich and Livni (2021), after section 3 of Li, Wang, Ye.

    That learner learns from a mistake only if the example meets a sequence of its forest on which the SOA
    errs as well. This adversary contradicts the function shown until that is gone, at the points that keep
    the largest Littlestone dimension, so that many functions must become frequent and be given up. Among
    these it chooses the point that changes the fewest sequences, in a forest that it simulates for each game,
    with the same examples at random nodes of its own; in a large forest the share of sequences with a
    function hardly depends on these. Against other learners it is `adaptive` with another choice among ties.
    """

    name = "forest-breaker"
    protocols = ("Adaptive",)
    realizable = True

    leaves: int = count_setting(512, help="of the simulated forest of each game")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        concept_class = self._concept_class
        spaces = ValuedVersionSpaces(concept_class, games)
        forests = SimulatedForests(soa(concept_class), self.leaves, games)
        row = np.arange(games)
        labels = expect_first_labels(self.learner, spaces, games)
        for _ in range(self.rounds):
            values = spaces.contradict(labels)
            changed = np.where(labels, forests.ones, forests.alive[:, None] - forests.ones)
            dimension, number = np.divmod(values, spaces.unit)
            order = (dimension * (forests.size + 1) + forests.size - changed) * spaces.unit + number
            column = np.where(values >= 0, order, -1).argmax(axis=1)
            y = labels[row, column] ^ (values[row, column] >= 0)
            spaces.add(column, y)
            forests.insert(column, y, rng.integers(0, 2**62, games))
            reply = yield Example(spaces.points[column], y)
            labels = label_points(reply.hypothesis, spaces.points)
        return None


class SimulatedForests:
    """A forest for each game. In a tree, node 1 is the root, and node i has the children 2i and 2i + 1.

    size: the leaves of a forest. alive: (games,), the pertinent nodes with a sequence that some concept
    explains. ones: (games, points), how many of these label a point 1.
    """

    def __init__(self, automaton: Automaton, leaves: int, games: int) -> None:
        self._automaton = automaton
        self._columns = np.arange(len(automaton.concept_class.domain or ()))
        width = 2**automaton.mistakes
        trees = -(-leaves // width)
        self.size = trees * width
        self._stride = 2 * width
        first = (np.arange(trees)[:, None] * self._stride + width + np.arange(width)).ravel()
        self._pertinent = np.tile(first, (games, 1))
        self._count = np.full(games, self.size)
        # For each node its state, or -1 if it is not pertinent, and its place among the pertinent nodes.
        self._state = np.full((games, trees * self._stride), -1)
        self._place = np.zeros((games, trees * self._stride), np.intp)
        self._state[:, first] = START
        self._place[:, first] = np.arange(self.size)
        self.alive = np.full(games, self.size)
        self.ones = self.size * self._labels(np.full(games, START)).astype(np.int64)

    def insert(self, columns: np.ndarray, y: np.ndarray, random: np.ndarray) -> None:
        """Add each game's example to the sequence of a random pertinent node, and merge colliding nodes.

        random: (games,) integers, uniform below 2^62.
        """
        row = np.arange(len(columns))
        nodes = self._pertinent[row, (random >> _GUESS_BITS) % self._count]
        before = self._state[row, nodes]
        after = self._automaton.step(before, columns, y)
        games = np.flatnonzero(after != before)
        nodes = nodes[games]
        self._set_states(games, nodes, after[games])
        level = 0
        while len(games):
            games, nodes = self._merge(games, nodes, (random[games] >> level) & 1 == 1)
            level += 1

    def _merge(
        self, games: np.ndarray, nodes: np.ndarray, guess: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Play the tournaments of nodes with siblings that collide. Returns their games and parents."""
        # The "sibling" of a root is node 0, which is never pertinent.
        pair = np.stack([self._state[games, nodes], self._state[games, nodes ^ 1]])
        both = ((pair >= 0) & (pair != self._automaton.dead)).all(axis=0)
        labels = self._labels(np.where(both, pair, START))
        differ = labels[0] != labels[1]
        collide = np.flatnonzero(both & differ.any(axis=1))
        games, nodes, guess = games[collide], nodes[collide], guess[collide]
        column = differ[collide].argmax(axis=1)
        second = labels[0, collide, column] == guess
        state = self._automaton.after_mistake(pair[second.astype(np.intp), collide], column)
        parents = nodes - nodes % self._stride + nodes % self._stride // 2
        for children in (nodes, nodes ^ 1):
            self._remove(games, children)
        self._pertinent[games, self._count[games]] = parents
        self._place[games, parents] = self._count[games]
        self._count[games] += 1
        self._set_states(games, parents, state)
        return games, parents

    def _remove(self, games: np.ndarray, nodes: np.ndarray) -> None:
        """Remove nodes from the pertinent ones; the last of these takes their place in the list."""
        self._set_states(games, nodes, np.full(len(games), -1))
        self._count[games] -= 1
        last = self._pertinent[games, self._count[games]]
        place = self._place[games, nodes]
        self._pertinent[games, place] = last
        self._place[games, last] = place

    def _set_states(self, games: np.ndarray, nodes: np.ndarray, state: np.ndarray) -> None:
        for sign, states in ((-1, self._state[games, nodes]), (1, state)):
            counts = (states >= 0) & (states != self._automaton.dead)
            self.alive[games] += sign * counts
            self.ones[games] += sign * (counts[:, None] & self._labels(np.where(counts, states, START)))
        self._state[games, nodes] = state

    def _labels(self, states: np.ndarray) -> np.ndarray:
        return self._automaton.labels(states[..., None], self._columns)
