"""Shattered trees (Definition 2.1 of Li, Wang, Ye)."""

from __future__ import annotations

from typing import Any

import networkx as nx

from arena.concepts import ConceptClass
from arena.littlestone.concept_sets import concept_sets
from arena.points import format_point


def build_shattered_tree(concept_class: ConceptClass) -> nx.DiGraph[Any]:
    """A tree of depth Ldim that the class shatters.

    A node is the tuple of labels (y_1, ..., y_t) on the path to it; the root is (). Inner nodes have the
    attributes `point`, the point at this node, and `column`, its index in the domain. Leaves have `concept`,
    the index in `dichotomies(domain)` of a labelling that is consistent with the path. Edges have `label`, 0
    or 1.

    Raises: Unsupported if the domain is not finite or the class is too large.
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


def format_tree(tree: nx.DiGraph[Any]) -> str:
    """A tree as text, one line a node: the label that leads to it, then its point.

    >>> from arena.concepts import Thresholds
    >>> print(format_tree(build_shattered_tree(Thresholds(range(1, 4)))))
    2
    ├─0→ 3
    │    ├─0→ ·
    │    └─1→ ·
    └─1→ 1
         ├─0→ ·
         └─1→ ·
    """
    return "\n".join(_lines(tree, ()))


def _lines(tree: nx.DiGraph[Any], node: tuple[int, ...]) -> list[str]:
    if "point" not in tree.nodes[node]:
        return ["·"]
    lines = [format_point(tree.nodes[node]["point"])]
    for label, first, rest in ((0, "├─0→ ", "│    "), (1, "└─1→ ", "     ")):
        subtree = _lines(tree, (*node, label))
        lines += [first + subtree[0], *(rest + line for line in subtree[1:])]
    return lines
