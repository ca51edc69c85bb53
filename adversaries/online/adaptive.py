"""adaptive, contrarian and shattered-tree: examples that contradict the last hypothesis."""

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
from arena.littlestone import build_shattered_tree
from arena.littlestone.concept_sets import concept_sets
from arena.settings import one_of


@attrs.frozen
class Contrarian(Adversary):
    """Labels one point against the hypothesis of the previous round, the last that an adversary has seen."""

    name = "contrarian"
    protocols = ("Adaptive",)
    returns_score = False

    rounds: int = count_setting(100, help="T")
    point: float | None = setting(
        None, unit="point", help="the point of every example; default: the middle of the domain, or 0.5"
    )
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

    For every game it tracks the version space, the concepts that agree with all labels so far. Where the
    hypothesis errs at a point whose label is already determined, contradicting it is free, and is repeated
    until the learner has learned that label. Otherwise the label against the hypothesis is the one that keeps
    the largest Littlestone dimension (or, with `keeps` = number, the most concepts). Each new label costs at
    most one dimension, so a learner that changes only when it errs, and keeps what it has learned, errs at
    least Ldim times if h_1 is that of the simulated game. Where the hypothesis is the only consistent
    concept, an example is repeated.
    """

    name = "adaptive"
    protocols = ("Adaptive",)
    realizable = True

    keeps: str = setting(
        DIMENSION, help="what it keeps large: dimension or number", check=one_of(DIMENSION, NUMBER)
    )

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

    depth: of its leaves, the Littlestone dimension. column (K,): the domain index of the node's point, -1 at
    a leaf. child (K, 2): the next node for each label. concept (K, points) bool: at a leaf, a labelling that
    is consistent with the path to it.
    """

    depth: int
    column: np.ndarray
    child: np.ndarray
    concept: np.ndarray

    @classmethod
    def build(cls, concept_class: ConceptClass) -> TreeArrays:
        """The tree of `arena.littlestone.build_shattered_tree`. Raises: Unsupported as that."""
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

    A label must be chosen before the hypothesis of its round is seen, so the path is planned by a simulated
    game with a fixed seed. A game follows the plan as long as its hypotheses are those of the simulation. So
    a deterministic learner errs in each of the first Ldim rounds, and no realizable game can make SOA err
    more often (Littlestone 1988). A game that leaves the plan uses the hypothesis of the previous round:
    while that errs on an example of the path so far, the last such example is repeated, and otherwise the
    next node follows, labelled against it. A learner that changes only when it errs then errs at every node.

    After the leaf come examples of the leaf's concept: a point at which the hypothesis of the previous round
    errs, or else the last example again.
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
    """The labels that a simulated learner gives every point, round by round on the way down the tree."""
    state, walk = learner.start(1, np.random.default_rng(0)), _Walk(tree, 1)
    plan = []
    for _ in range(min(tree.depth, rounds)):
        labels = label_points(state.hypothesis(), points)
        column, y = walk.next_example(labels)
        state.observe(points[column], y.astype(np.int8))
        plan.append(labels[0])
    return plan


class _Walk:
    """The position of each game of a batch in the tree."""

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
        """Label the points of these games' nodes against the hypotheses, and move to the children."""
        column = self._tree.column[self._node[games]]
        y = ~labels[games, column]
        self._time[games, column] = 1 + self._time[games].max(axis=1, initial=0)
        self._label[games, column] = y
        self._column[games] = column
        self._node[games] = self._tree.child[self._node[games], y.astype(np.intp)]
        self._settle_leaves(games)

    def _settle_leaves(self, games: np.ndarray) -> None:
        """At a leaf, one concept labels all points."""
        at_leaf = games[self._tree.column[self._node[games]] < 0]
        self._label[at_leaf] = self._tree.concept[self._node[at_leaf]]
        self._time[at_leaf] = np.maximum(self._time[at_leaf], 1)
