"""Sets of concepts as bits, dimensions of a class and of its dual, and shattered trees."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np

from arena.concepts import ConceptClass, FiniteClass
from arena.concepts.consistency import labellings
from arena.concepts.finite import pack_set
from arena.errors import Unsupported
from arena.sample import format_point

MAX_SETS = 2**20  # sets with a cached dimension, about 200 bytes each


class ConceptSets:
    """The distinct labellings (concepts, points) bool of a finite domain by a class. A set of them is an int,
    with a bit for each: `ones` for each point, those that label it 1; `all`."""

    def __init__(self, name: str, labels: np.ndarray) -> None:
        self.name = name
        self.labels = labels
        self.ones = [pack_set(column) for column in labels.T]
        self.all = (1 << len(labels)) - 1
        self._bounds: dict[int, tuple[int, int]] = {}

    def dimension(self, concepts: int) -> int:
        """The Littlestone dimension of a set of concepts (Definition 2.2 of Li, Wang, Ye); -1 if it is empty.
        Raises: Unsupported if too many sets must be visited."""
        if not concepts:
            return -1
        low, high = self._bounds_of(concepts)
        while low < high and self.shatters(concepts, low + 1):
            low += 1
        self._remember(concepts, low, low)
        return low

    def shatters(self, concepts: int, depth: int) -> bool:
        if depth <= 0:
            return bool(concepts)
        low, high = self._bounds_of(concepts)
        if depth <= low or depth > high:
            return depth <= low
        shatters = self.root(concepts, depth) is not None
        self._remember(concepts, depth if shatters else low, high if shatters else depth - 1)
        return shatters

    def root(self, concepts: int, depth: int) -> int | None:
        """The column at the root of a shattered tree of this depth, or None if there is no such tree."""
        least = 1 << (depth - 1)
        parts = []
        for point, ones in enumerate(self.ones):
            part = concepts & ones
            size = min(part.bit_count(), (concepts ^ part).bit_count())
            if size >= least:
                parts.append((-size, point, part))
        # Even splits come first: both halves are more likely to shatter the rest of the tree.
        for _, point, part in sorted(parts):
            small, large = sorted((part, concepts ^ part), key=int.bit_count)
            if self.shatters(small, depth - 1) and self.shatters(large, depth - 1):
                return point
        return None

    def _bounds_of(self, concepts: int) -> tuple[int, int]:
        return self._bounds.get(concepts) or (0, concepts.bit_count().bit_length() - 1)

    def _remember(self, concepts: int, low: int, high: int) -> None:
        if len(self._bounds) >= MAX_SETS:
            raise Unsupported(
                f"the Littlestone dimension of {self.name} needs more than {MAX_SETS:,} sets of concepts",
                remedy="Choose a smaller domain.",
            )
        self._bounds[concepts] = low, high


@lru_cache(maxsize=32)
def concept_sets(concept_class: ConceptClass) -> ConceptSets:
    """The sets of concepts of a class. Raises: Unsupported if it has no finite domain or is too large."""
    if concept_class.domain is None:
        raise Unsupported(
            f"{concept_class} has no finite domain, and its Littlestone dimension is infinite",
            remedy="Give it one, as in thresholds:1..16.",
        )
    return ConceptSets(str(concept_class), labellings(concept_class))


def littlestone_dimension(concept_class: ConceptClass) -> int:
    """Ldim: the depth of the deepest tree that the class shatters. Raises: as `concept_sets`."""
    sets = concept_sets(concept_class)
    return sets.dimension(sets.all)


def dual_littlestone_dimension(concept_class: ConceptClass) -> int:
    """Ldim* of the dual class, whose concepts are the points. Raises: as `concept_sets`."""
    sets = ConceptSets(f"the dual of {concept_class}", _dual(concept_class))
    return sets.dimension(sets.all)


def dual_vc_dimension(concept_class: ConceptClass) -> int:
    """VC*: the VC dimension of the dual class. Raises: Unsupported if the domain is not finite."""
    return FiniteClass(_dual(concept_class)).vc_dimension


def _dual(concept_class: ConceptClass) -> np.ndarray:
    """(points, concepts) bool, with one of several points that all concepts label alike."""
    return np.asarray(np.unique(labellings(concept_class).T, axis=0))


def build_shattered_tree(concept_class: ConceptClass) -> nx.DiGraph[Any]:
    """A tree of depth Ldim that the class shatters (Definition 2.1 of Li, Wang, Ye). Raises: as
    `concept_sets`.

    A node is the tuple of labels on the path to it; the root is (). Inner nodes have a `point` and its
    `column` in the domain; leaves have `concept`, the index in `dichotomies(domain)` of a labelling that is
    consistent with the path. Edges have `label`, 0 or 1.
    """
    sets = concept_sets(concept_class)
    domain = concept_class.domain
    assert domain is not None
    tree: nx.DiGraph[Any] = nx.DiGraph()
    open_nodes: list[tuple[tuple[int, ...], int, int]] = [((), sets.all, sets.dimension(sets.all))]
    while open_nodes:
        node, concepts, depth = open_nodes.pop()
        if depth == 0:
            tree.add_node(node, concept=(concepts & -concepts).bit_length() - 1)
            continue
        column = sets.root(concepts, depth)
        assert column is not None
        tree.add_node(node, point=domain[column], column=column)
        ones = concepts & sets.ones[column]
        for label, part in ((0, concepts ^ ones), (1, ones)):
            tree.add_edge(node, (*node, label), label=label)
            open_nodes.append(((*node, label), part, depth - 1))
    return tree


def format_tree(tree: nx.DiGraph[Any], node: tuple[int, ...] = ()) -> str:
    """A tree as text, one line a node: the label that leads to it, then its point.

    >>> from arena.concepts import Thresholds
    >>> print(format_tree(build_shattered_tree(Thresholds(range(1, 3)))))
    1
    ├─0→ ·
    └─1→ ·
    """
    if "point" not in tree.nodes[node]:
        return "·"
    text = format_point(tree.nodes[node]["point"])
    for label, first, rest in ((0, "├─0→ ", "│    "), (1, "└─1→ ", "     ")):
        text += f"\n{first}" + format_tree(tree, (*node, label)).replace("\n", f"\n{rest}")
    return text
