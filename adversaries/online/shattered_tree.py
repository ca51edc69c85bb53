"""shattered-tree: walks down a shattered tree of the learner's class, so that every node costs a mistake."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.online.base import class_for, domain_of, on_domain
from arena import Adversary, Example, Learner, Moves, setting
from arena.concepts import ConceptClass
from arena.littlestone import shattered_tree
from arena.littlestone.concept_sets import concept_sets
from arena.settings import at_least, whole


@attrs.frozen(eq=False)
class Tree:
    """A shattered tree as arrays; the root is node 0.

    depth: of its leaves, which is the Littlestone dimension.
    Shapes: K nodes; column (K,), the place in the domain of the point asked there, -1 at a leaf;
    child (K, 2), the next node for each label; concept (K, points) bool, at a leaf the labelling that takes
    the way to it.
    """

    depth: int
    column: np.ndarray
    child: np.ndarray
    concept: np.ndarray

    @classmethod
    def of(cls, concept_class: ConceptClass) -> Tree:
        """The tree of `arena.littlestone.shattered_tree`; raises Unsupported as that does."""
        graph = shattered_tree(concept_class)
        ways = sorted(graph.nodes, key=len)
        number = {way: i for i, way in enumerate(ways)}
        labels = concept_sets(concept_class).labels
        nodes = [graph.nodes[way] for way in ways]
        return cls(
            depth=len(ways[-1]),
            column=np.array([node.get("column", -1) for node in nodes]),
            child=np.array([[number.get((*way, y), -1) for y in (0, 1)] for way in ways]),
            concept=np.array([labels[node.get("concept", 0)] for node in nodes]),
        )


@attrs.frozen
class ShatteredTree(Adversary):
    """Asks the points on one way down a shattered tree, each labelled against the hypothesis.

    The label of a node's point must be chosen before the hypothesis of that round is seen. The way is
    therefore tried out on a copy of the learner, with fixed coins, and a game keeps to it as long as its
    hypotheses are those of the copy: a deterministic learner errs in each of the first Ldim rounds, which no
    realizable game can do more often to SOA (Littlestone 1988). Where a game leaves the way that was tried,
    it goes by the hypothesis of the round before: as long as that errs on an example of the way so far, the
    last such example is repeated, else the next node is asked, labelled against it. A learner that changes
    only when it errs then errs at every node.

    After the leaf, examples of the leaf's concept follow: a point on which the hypothesis of the round before
    errs, or else the last example again.
    """

    name = "shattered-tree"
    protocols = ("Adaptive",)
    returns_score = False
    realizable = True

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    concepts: ConceptClass | None = setting(None, help="the concept class; default: the learner's")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        concept_class = class_for(self.learner, self.concepts)
        points, tree = domain_of(concept_class), Tree.of(concept_class)
        planned = [] if self.learner is None else _tried(self.learner, tree, points, self.rounds)
        walk, on_plan = _Walk(tree, games), np.ones(games, bool)
        said = np.zeros((games, len(points)), bool)
        for t in range(self.rounds):
            if t < len(planned):
                column, y = walk.next(np.where(on_plan[:, None], planned[t], said))
            else:
                column, y = walk.next(said)
            reply = yield Example(points[column], y)
            said = on_domain(reply.hypothesis, points)
            if t < len(planned):
                on_plan &= (said == planned[t]).all(axis=1)
        return None


def _tried(learner: Learner, tree: Tree, points: np.ndarray, rounds: int) -> list[np.ndarray]:
    """What a copy of the learner says of every point, round by round on the way down the tree."""
    state, walk = learner.start(1, np.random.default_rng(0)), _Walk(tree, 1)
    said = []
    for _ in range(min(tree.depth, rounds)):
        said.append(on_domain(state.hypothesis(), points))
        column, y = walk.next(said[-1])
        state.observe(points[column], y.astype(np.int8))
    return [one[0] for one in said]


class _Walk:
    """Where each game of a table is on its way down the tree."""

    def __init__(self, tree: Tree, games: int) -> None:
        self._tree = tree
        self._row = np.arange(games)
        self._node = np.zeros(games, np.intp)
        self._column = np.zeros(games, np.intp)  # of the last example
        # When each point was asked, from 1, and how it was labelled; 0 where its label is still open.
        self._asked = np.zeros((games, tree.concept.shape[1]), np.int64)
        self._label = np.zeros((games, tree.concept.shape[1]), bool)
        self._settle(self._row)

    def next(self, said: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The column and the label of the next example, for games in which the hypotheses are `said`."""
        wrong = np.where(said != self._label, self._asked, 0)
        last = wrong.argmax(axis=1)
        errs = wrong[self._row, last] > 0
        new = np.flatnonzero(~errs & (self._tree.column[self._node] >= 0))
        self._column = np.where(errs, last, self._column)
        self._descend(new, said)
        return self._column, self._label[self._row, self._column]

    def _descend(self, games: np.ndarray, said: np.ndarray) -> None:
        """Ask these games' nodes, against what is said there."""
        column = self._tree.column[self._node[games]]
        y = ~said[games, column]
        self._asked[games, column] = 1 + self._asked[games].max(axis=1, initial=0)
        self._label[games, column] = y
        self._column[games] = column
        self._node[games] = self._tree.child[self._node[games], y.astype(np.intp)]
        self._settle(games)

    def _settle(self, games: np.ndarray) -> None:
        """At a leaf, one concept labels all points."""
        there = games[self._tree.column[self._node[games]] < 0]
        self._label[there] = self._tree.concept[self._node[there]]
        self._asked[there] = np.maximum(self._asked[there], 1)
