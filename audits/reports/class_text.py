"""A concept class, as text for a terminal and as JSON: its dimensions, and a tree that it shatters."""

from __future__ import annotations

from math import floor, log
from typing import Any, ClassVar

import attrs

from arena import InvalidArgument
from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.consistency import labellings
from audits.reports.document import Document, Facts, Listing, Part
from audits.reports.report import Report

LEVELS = 6  # of a tree that fits on a page
_POINT_COUNTS = (10, 100, 1_000)  # for which the number of labellings of an infinite domain is shown


@attrs.frozen(kw_only=True, repr=False)
class ClassFigures(Report):
    """The dimensions of a concept class; None stands for what is computed for finite domains only.

    tree: the first `levels` levels of a shattered tree, as text.
    Without a finite domain: labellings, an upper bound on the number of ways in which numbers of points are
    labelled. For halfspaces with margin instead: mistakes, Winnow's bound, which an optimal learner meets;
    and disjunction_variables, the largest number of variables of a disjunction of points (x, -1).
    """

    kind: ClassVar[str] = "show"

    concepts: str
    vc_dimension: int
    littlestone_dimension: int | None = None
    dual_vc_dimension: int | None = None
    dual_littlestone_dimension: int | None = None
    levels: int | None = None
    tree: str | None = None
    labellings: dict[int, int] | None = None
    mistakes: int | None = None
    disjunction_variables: int | None = None

    @property
    def headline(self) -> str:
        return f"{self.concepts}: VC dimension {self.vc_dimension}"

    def document(self) -> Document:
        most = self.disjunction_variables
        named = {
            "VC dimension": self.vc_dimension,
            "Littlestone dimension": self.littlestone_dimension,
            "dual VC dimension": self.dual_vc_dimension,
            "dual Littlestone dimension": self.dual_littlestone_dimension,
        }
        rows = [
            ("class", self.concepts),
            ("domain", "not finite, so no tree is shown" if self.tree is None else ""),
            *((name, "" if value is None else str(value)) for name, value in named.items()),
        ]
        if self.mistakes is not None:
            rows += [
                ("mistakes of an optimal learner", f"at most {self.mistakes:,}: Winnow's bound, 2 ln d/ρ²"),
                ("disjunctions, of points (x, -1)", f"of at most {most} variables" if most else "none"),
            ]
        for points, bound in (self.labellings or {}).items():
            rows.append((f"labellings of {points:,} points", f"at most {bound:,}"))
        parts: list[Part] = [Facts(rows)]
        if self.tree is not None:
            shown, levels = self.levels, self.littlestone_dimension
            plural = "" if levels == 1 else "s"
            extent = f"{levels} level{plural}" if shown == levels else f"{shown} of its {levels} levels"
            heading = f"A shattered tree, {extent}; every node is a point, every edge its label:"
            parts.append(Listing(self.tree, heading))
        return Document(parts=parts)


def describe_class(concepts: ConceptClass, depth: int | None = None) -> ClassFigures:
    """The VC and Littlestone dimensions of a class and of its dual, and the first levels of a shattered tree.

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
    tree = build_shattered_tree(concepts)
    if depth is not None and depth < levels:
        tree = _truncate_tree(tree, depth)
    return ClassFigures(
        concepts=str(concepts),
        vc_dimension=concepts.vc_dimension,
        littlestone_dimension=levels,
        dual_vc_dimension=dual_vc_dimension(concepts),
        dual_littlestone_dimension=dual_littlestone_dimension(concepts),
        levels=levels if depth is None else min(depth, levels),
        tree=format_tree(tree),
    )


def _describe_infinite(concepts: ConceptClass, depth: int | None) -> ClassFigures:
    if depth is not None:
        raise InvalidArgument(f"{concepts} has no finite domain, so no tree of it can be shown")
    if not isinstance(concepts, Halfspaces):
        bounds = {points: concepts.growth_bound(points) for points in _POINT_COUNTS}
        return ClassFigures(concepts=str(concepts), vc_dimension=concepts.vc_dimension, labellings=bounds)
    variables = floor((1 / concepts.margin - 1) / 2 + 1e-6)
    return ClassFigures(
        concepts=str(concepts),
        vc_dimension=concepts.vc_dimension,
        mistakes=floor(2 * log(concepts.dimension) / concepts.margin**2),
        disjunction_variables=min(concepts.dimension - 1, variables),
    )


def _truncate_tree(tree: Any, depth: int) -> Any:
    """The first levels of a tree, which the class shatters too."""
    top = tree.subgraph([node for node in tree if len(node) <= depth]).copy()
    for node in top:
        if len(node) == depth:
            top.nodes[node].pop("point", None)
    return top
