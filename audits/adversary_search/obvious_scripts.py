"""The obvious adversaries: small datasets of extreme records, which a search plays before it draws others."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from arena import InvalidArgument, Learner, PrivacyUnit, Sample
from arena.claims import REPLACING, Example, Neighbours
from arena.players import read_relation_of
from audits.adversary_search.point_strategies import constant_points_of, far_points_of, points_of
from audits.adversary_search.script import Point, Script

MOST = 12  # scripts
_SIZES = (1, 2, 3, 5)  # examples
_MOST_CONSTANTS = 4
_FAR = 1e6  # the largest number in a point far from the usual ones; larger ones swallow the others in a sum


def list_obvious_samples(learner: Learner, protocol: str) -> Iterator[Script]:
    """Up to 12 scripts for a learner that receives samples, the smallest first: all examples but one are
    equal, least or largest, and that one changes from the one extreme to the other, appears or disappears."""
    if PrivacyUnit.TRAINING_EXAMPLE in learner.claim.protects:
        scripts = (
            Script(protocol=protocol, world_0=worlds[0], world_1=worlds[1])
            for worlds in _list_worlds(learner)
            if worlds[0] != worlds[1]
        )
        yield from islice(dict.fromkeys(scripts), MOST)


def _list_worlds(learner: Learner) -> Iterator[tuple[Sample, Sample]]:
    relation = read_relation_of(learner)
    changed = relation.size if relation.kind is Neighbours.REPLACE_GROUP else 1
    sizes = _SIZES if learner.sample_size is None else (learner.sample_size,)
    for size in sizes:
        for first, second in _list_extremes(learner, one_way=relation.kind in REPLACING):
            for common in (first, second) if size > 1 else (first,):
                others = max(size - changed, 0)
                runs = [(common, others), (first, min(changed, size))] if others else [(first, size)]
                try:
                    worlds = relation.make_neighbours(
                        _make_sample(runs), len(runs) - 1, first, second, learner.users_of
                    )
                except InvalidArgument:  # the sample has one user only
                    continue
                yield worlds[0].divide(), worlds[1].divide()


def _list_extremes(learner: Learner, *, one_way: bool) -> Iterator[tuple[Example, Example]]:
    """Pairs of examples, as different as can be; both ways unless it makes no difference."""
    low, high = _find_ends(points_of(learner))
    if learner.reads == "labels":
        pairs = [((low, 0), (low, 1))]
    else:
        labelled = learner.reads == "both"
        pairs = [((low, 0), (high, int(labelled)))]
        if labelled:
            pairs += [((high, 0), (high, 1)), ((low, 1), (high, 0))]
        far = [point for point in far_points_of(learner) if np.abs(point).max() <= _FAR]
        if learner.domain is None and far:
            ends = _find_ends(tuple(far))
            pairs.append(((ends[0], 0), (ends[1], 0)))
        constants = constant_points_of(learner)[0][:_MOST_CONSTANTS]
        pairs += [((low, 0), (constant, 0)) for constant in constants]
    for first, second in pairs:
        yield first, second
        if not one_way:
            yield second, first


def _find_ends(points: tuple[Point, ...]) -> tuple[Point, Point]:
    """The points with the least and with the largest sum of their numbers."""
    sums = [float(np.sum(point)) for point in points]
    return points[int(np.argmin(sums))], points[int(np.argmax(sums))]


def _make_sample(runs: list[tuple[Example, int]]) -> Sample:
    points, labels = zip(*(example for example, _ in runs), strict=True)
    return Sample(np.array(points), labels, [count for _, count in runs])
