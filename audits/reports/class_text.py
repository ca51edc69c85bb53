"""A concept class for people: its dimensions, and a tree that it shatters."""

from __future__ import annotations

from math import floor, log
from typing import Any

from tabulate import tabulate

from arena import InvalidArgument
from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.consistency import labellings

LEVELS = 6  # of a tree that fits on a page
_SOME_POINTS = (10, 100, 1_000)


def class_text(concepts: ConceptClass, depth: int | None = None) -> str:
    """The VC and Littlestone dimensions of a class and of its dual, and the first levels of a shattered tree;
    of classes without a finite domain, how many ways they label some points.

    depth: the levels; None: all of them, if these are few.

    Raises: InvalidArgument if there are too many levels, or `depth` is none or there is no tree; Unsupported
    if the class is too large.
    """
    if concepts.domain is None:
        return _infinite_text(concepts, depth)
    # An import that only this command needs, and slow.
    from arena.littlestone import (
        build_shattered_tree,
        dual_littlestone_dimension,
        dual_vc_dimension,
        format_tree,
        littlestone_dimension,
    )

    if depth is not None and depth < 1:
        raise InvalidArgument("a tree has at least 1 level", value=depth)
    labellings(concepts)  # which refuses a large class before it is made
    levels = littlestone_dimension(concepts)
    if depth is None and levels > LEVELS:
        raise InvalidArgument(
            f"a shattered tree of {concepts} has {levels} levels, too many to print",
            remedy=f"Say how many to show: --depth {LEVELS}.",
        )
    rows = [
        ("class", str(concepts)),
        ("VC dimension", str(concepts.vc_dimension)),
        ("Littlestone dimension", str(levels)),
        ("dual VC dimension", str(dual_vc_dimension(concepts))),
        ("dual Littlestone dimension", str(dual_littlestone_dimension(concepts))),
    ]
    tree = build_shattered_tree(concepts)
    cut = depth is not None and depth < levels
    said = f"{depth} of its {levels} levels" if cut else f"{levels} level{'' if levels == 1 else 's'}"
    drawn = format_tree(_cut(tree, depth) if depth is not None and cut else tree)
    figures = tabulate(rows, tablefmt="plain", disable_numparse=True)
    return f"{figures}\n\nA shattered tree, {said}; every node is a point, every edge its label:\n\n{drawn}"


def _infinite_text(concepts: ConceptClass, depth: int | None) -> str:
    if depth is not None:
        raise InvalidArgument(f"{concepts} has no finite domain, and no tree is shown of it")
    rows = [("class", str(concepts)), ("domain", "not finite, so that no tree is shown")]
    rows.append(("VC dimension", str(concepts.vc_dimension)))
    if isinstance(concepts, Halfspaces):
        rows += _of_margin(concepts)
    else:
        rows += [
            (f"labellings of {points:,} points", f"at most {concepts.growth_bound(points):,}")
            for points in _SOME_POINTS
        ]
    return str(tabulate(rows, tablefmt="plain", disable_numparse=True))


def _of_margin(concepts: Halfspaces) -> list[tuple[str, str]]:
    most = floor(2 * log(concepts.dimension) / concepts.margin**2)
    relevant = min(concepts.dimension - 1, floor((1 / concepts.margin - 1) / 2 + 1e-6))
    return [
        ("mistakes that its games allow", f"at most {most:,}, 2 ln d/ρ², as Winnow makes no more"),
        ("disjunctions, of points (x, -1)", f"of at most {relevant} variables" if relevant else "none"),
    ]


def _cut(tree: Any, depth: int) -> Any:
    """The first levels of a tree, which the class shatters too."""
    top = tree.subgraph([node for node in tree if len(node) <= depth]).copy()
    for node in top:
        if len(node) == depth:
            top.nodes[node].pop("point", None)
    return top
