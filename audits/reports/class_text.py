"""A concept class as text: its dimensions, and a tree that it shatters."""

from __future__ import annotations

from math import floor, log
from typing import Any

from arena import InvalidArgument
from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.consistency import labellings
from audits.reports.formatting import name_table

LEVELS = 6  # of a tree that fits on a page
_POINT_COUNTS = (10, 100, 1_000)  # for which the number of labellings of an infinite domain is shown


def class_text(concepts: ConceptClass, depth: int | None = None) -> str:
    """The VC and Littlestone dimensions of a class and of its dual, and the first levels of a shattered tree.
    For a class without a finite domain, in how many ways it labels some numbers of points.

    depth: the number of levels; by default all, if they are few.

    Raises: InvalidArgument if there are too many levels, `depth` is below 1, or there is no tree; Unsupported
    if the class is too large.
    """
    if concepts.domain is None:
        return _describe_infinite(concepts, depth)
    # Slow to import, and only this command needs it.
    from arena.littlestone import (
        build_shattered_tree,
        dual_littlestone_dimension,
        dual_vc_dimension,
        format_tree,
        littlestone_dimension,
    )

    if depth is not None and depth < 1:
        raise InvalidArgument("a tree has at least 1 level", value=depth)
    labellings(concepts)  # refuses a class that is too large
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
    if depth is not None and depth < levels:
        tree, extent = _truncate_tree(tree, depth), f"{depth} of its {levels} levels"
    else:
        extent = f"{levels} level{'' if levels == 1 else 's'}"
    heading = f"A shattered tree, {extent}; every node is a point, every edge its label:"
    return f"{name_table(rows)}\n\n{heading}\n\n{format_tree(tree)}"


def _describe_infinite(concepts: ConceptClass, depth: int | None) -> str:
    if depth is not None:
        raise InvalidArgument(f"{concepts} has no finite domain, so no tree of it can be shown")
    rows = [
        ("class", str(concepts)),
        ("domain", "not finite, so no tree is shown"),
        ("VC dimension", str(concepts.vc_dimension)),
    ]
    if isinstance(concepts, Halfspaces):
        mistakes = floor(2 * log(concepts.dimension) / concepts.margin**2)
        variables = min(concepts.dimension - 1, floor((1 / concepts.margin - 1) / 2 + 1e-6))
        rows += [
            ("mistakes of an optimal learner", f"at most {mistakes:,}: Winnow's bound, 2 ln d/ρ²"),
            ("disjunctions, of points (x, -1)", f"of at most {variables} variables" if variables else "none"),
        ]
    else:
        rows += [
            (f"labellings of {points:,} points", f"at most {concepts.growth_bound(points):,}")
            for points in _POINT_COUNTS
        ]
    return name_table(rows)


def _truncate_tree(tree: Any, depth: int) -> Any:
    """The first levels of a tree, which the class shatters too."""
    top = tree.subgraph([node for node in tree if len(node) <= depth]).copy()
    for node in top:
        if len(node) == depth:
            top.nodes[node].pop("point", None)
    return top
