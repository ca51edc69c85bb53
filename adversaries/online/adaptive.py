"""adaptive, contrarian, shattered-tree and forest-breaker: examples that contradict the last hypothesis."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.online.base import (
    DIMENSION,
    NUMBER,
    ClassAdversary,
    ValuedVersionSpaces,
    domain_points,
    expect_first_labels,
    label_points,
    middle_point,
)
from arena import Adversary, Example, Learner, Moves, count_setting, setting
from arena.concepts import ConceptClass
from arena.littlestone import START, Automaton, build_shattered_tree, soa
from arena.littlestone.concept_sets import concept_sets
from arena.settings import one_of


@attrs.frozen
class Contrarian(Adversary):
    """Labels one point against the hypothesis of the previous round, the last that an adversary has seen."""

    name = "contrarian"
    protocols = ("Adaptive",)
    returns_score = False

    rounds: int = count_setting(100, help="T, the number of rounds")
    point: float | None = setting(None, unit="point", help="of all examples; default: the domain's middle")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point: Any = middle_point(self.learner) if self.point is None else self.point
        label = np.ones(games, bool)
        for _ in range(self.rounds):
            reply = yield Example(point, label)
            label = ~reply.hypothesis(point)
        return None


@attrs.frozen
class AdaptiveConsistent(ClassAdversary):
    """Contradicts the hypothesis of the previous round at the point where that is cheapest.

    Where the hypothesis errs at a point whose label is determined by the version space, contradicting it is
    free. Otherwise the label against it that keeps the largest Littlestone dimension (or, with `keeps` =
    number, the most concepts) is given. So a learner that changes only when it errs, and keeps what it has
    learned, errs at least Ldim times if h_1 is that of the simulated game.
    """

    name = "adaptive"
    protocols = ("Adaptive",)
    realizable = True

    keeps: str = setting(DIMENSION, help="keep large: dimension or number", check=one_of(DIMENSION, NUMBER))

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        spaces = ValuedVersionSpaces(self._concept_class, games, self.keeps)
        row = np.arange(games)
        labels = expect_first_labels(self.learner, spaces, games)
        for _ in range(self.rounds):
            values = spaces.contradict(labels)
            column = values.argmax(axis=1)
            y = labels[row, column] ^ (values[row, column] >= 0)
            spaces.add(column, y)
            reply = yield Example(spaces.points[column], y)
            labels = label_points(reply.hypothesis, spaces.points)
        return None


@attrs.frozen(eq=False)
class TreeArrays:
    """A shattered tree with K nodes as arrays; the root is node 0.

    depth: of its leaves. column (K,): the domain index of the node's point, -1 at a leaf. child (K, 2): the
    next node for each label. concept (K, points) bool: at a leaf, a labelling consistent with the path to it.
    """

    depth: int
    column: np.ndarray
    child: np.ndarray
    concept: np.ndarray

    @classmethod
    def build(cls, concept_class: ConceptClass) -> TreeArrays:
        graph = build_shattered_tree(concept_class)
        paths = sorted(graph.nodes, key=len)
        number = {path: i for i, path in enumerate(paths)}
        labels = concept_sets(concept_class).labels
        nodes = [graph.nodes[path] for path in paths]
        return cls(
            depth=len(paths[-1]),
            column=np.array([node.get("column", -1) for node in nodes]),
            child=np.array([[number.get((*path, y), -1) for y in (0, 1)] for path in paths]),
            concept=np.array([labels[node.get("concept", 0)] for node in nodes]),
        )


@attrs.frozen
class ShatteredTree(ClassAdversary):
    """Chooses the points on a path down a shattered tree, each labelled against the hypothesis.

    The path is planned by a simulated game and followed as long as hypotheses agree with it, so a
    deterministic learner errs in each of the first Ldim rounds (Littlestone 1988). A game that leaves the
    plan uses the hypothesis of the previous round: while that errs on an example of the path, the last such
    example is repeated. After the leaf come examples of its concept.
    """

    name = "shattered-tree"
    protocols = ("Adaptive",)
    realizable = True

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        concept_class = self._concept_class
        points, tree = domain_points(concept_class), TreeArrays.build(concept_class)
        plan = [] if self.learner is None else _simulate_path(self.learner, tree, points, self.rounds)
        walk, on_plan = _Walk(tree, games), np.ones(games, bool)
        labels = np.zeros((games, len(points)), bool)
        for t in range(self.rounds):
            expected = np.where(on_plan[:, None], plan[t], labels) if t < len(plan) else labels
            column, y = walk.next_example(expected)
            reply = yield Example(points[column], y)
            labels = label_points(reply.hypothesis, points)
            if t < len(plan):
                on_plan &= (labels == plan[t]).all(axis=1)
        return None


def _simulate_path(learner: Learner, tree: TreeArrays, points: np.ndarray, rounds: int) -> list[np.ndarray]:
    state, walk = learner.start(1, np.random.default_rng(0)), _Walk(tree, 1)
    plan = []
    for _ in range(min(tree.depth, rounds)):
        labels = label_points(state.hypothesis(), points)
        column, y = walk.next_example(labels)
        state.observe(points[column], y.astype(np.int8))
        plan.append(labels[0])
    return plan


class _Walk:
    def __init__(self, tree: TreeArrays, games: int) -> None:
        self._tree = tree
        self._games = np.arange(games)
        self._node = np.zeros(games, np.intp)
        self._column = np.zeros(games, np.intp)  # of the last example
        # When each point was chosen, from 1, and its label; 0 where the label is still open.
        self._time = np.zeros((games, tree.concept.shape[1]), np.int64)
        self._label = np.zeros((games, tree.concept.shape[1]), bool)
        self._settle_leaves(self._games)

    def next_example(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The column and the label of the next example, against hypotheses with these labels (n, points)."""
        wrong = np.where(labels != self._label, self._time, 0)
        last = wrong.argmax(axis=1)
        errs = wrong[self._games, last] > 0
        descends = np.flatnonzero(~errs & (self._tree.column[self._node] >= 0))
        self._column = np.where(errs, last, self._column)
        self._descend(descends, labels)
        return self._column, self._label[self._games, self._column]

    def _descend(self, games: np.ndarray, labels: np.ndarray) -> None:
        column = self._tree.column[self._node[games]]
        y = ~labels[games, column]
        self._time[games, column] = 1 + self._time[games].max(axis=1, initial=0)
        self._label[games, column] = y
        self._column[games] = column
        self._node[games] = self._tree.child[self._node[games], y.astype(np.intp)]
        self._settle_leaves(games)

    def _settle_leaves(self, games: np.ndarray) -> None:
        at_leaf = games[self._tree.column[self._node[games]] < 0]
        self._label[at_leaf] = self._tree.concept[self._node[at_leaf]]
        self._time[at_leaf] = np.maximum(self._time[at_leaf], 1)


# The low bits of a game's random number guess labels, one for each level of a tree; the others choose a node.
_GUESS_BITS = 24


@attrs.frozen
class ForestBreaker(ClassAdversary):
    """Made for the learner of Golowich and Livni (2021), after section 3 of Li, Wang, Ye.

    That learner learns from a mistake only if the example meets a sequence of its forest on which the SOA
    errs as well. This is `adaptive` with another choice among ties: the point that changes the fewest
    sequences in a forest that it simulates for each game, so that many functions must become frequent and be
    given up.
    """

    name = "forest-breaker"
    protocols = ("Adaptive",)
    realizable = True

    leaves: int = count_setting(512, help="leaves of the simulated forest of each game")

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
        """Add each game's example to a random pertinent node's sequence, and merge; random: (games,), below
        2^62."""
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
        """Remove nodes from the pertinent ones; the last of the list takes their place."""
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
