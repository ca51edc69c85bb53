"""Samples that adversaries build when the user brings no data, and pairs of neighbouring samples."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from arena import InvalidArgument, Learner, Sample
from arena.capabilities import HasUserColumn
from arena.claims import Example, Neighbours
from arena.players import finite_domain, read_concepts, read_relation_of

_DEFAULT_SIZE = 1_000  # examples, for a learner that needs no number of them
FEW = 10  # the same, where every example counts


def choose_sample_size(learner: Learner | None, default: int = _DEFAULT_SIZE) -> int:
    """The number of training examples that the learner needs, or `default`."""
    return (learner.sample_size if learner is not None else None) or default


def build_equal_sample(learner: Learner | None) -> Sample:
    point = 0.0 if learner is None else learner.some_points[0]
    return Sample([point], [0], [choose_sample_size(learner, FEW)])


def build_sample(points: np.ndarray, labels: np.ndarray, counts: np.ndarray) -> Sample:
    """The sample with these runs, except for those whose count is 0."""
    present = counts > 0
    return Sample(points[present], labels[present], counts[present])


def build_two_label_sample(point: Any, size: int, ones: int) -> Sample:
    """`size` examples at one point: first those labelled 0, then `ones` examples labelled 1."""
    return build_sample(np.stack([point, point]), np.array([0, 1]), np.array([size - ones, ones]))


def build_tied_sample(learner: Learner | None) -> Sample:
    """One point with as many labels 0 as 1, of the size that the learner needs."""
    half = (choose_sample_size(learner) + 1) // 2
    return build_two_label_sample(_choose_three_points(learner)[1], 2 * half, half)


def build_separable_sample(learner: Learner | None) -> Sample:
    """Two points, the lower labelled 0 and the upper 1; of vectors, two that some concept labels so."""
    half = (choose_sample_size(learner) + 1) // 2
    low, _, high = _choose_three_points(learner)
    return Sample([low, high], [0, 1], [half, half])


def change_example(
    sample: Sample, run: int, first: Example, second: Example, learner: Learner | None
) -> tuple[Sample, Sample]:
    """Neighbours of the kind that the learner's claim is for, by `Relation.make_neighbours`; a user who is
    added or removed is the one of `assign_new_user`. Raises: InvalidArgument for points of another shape than
    the learner's."""
    if learner is not None and sample.points.shape[1:] != learner.point_shape:
        users = " and one of users (--user)" if _find_user_column(learner) is not None else ""
        raise InvalidArgument(
            f"the points of {learner.own_name} must have the shape {learner.point_shape}",
            value=sample.points.shape[1:],
            remedy=f"Give as many columns of numbers{users}, or change the learner's settings.",
        )
    users_of = np.zeros_like if learner is None else learner.users_of
    second = assign_new_user(second[0], sample, learner), second[1]
    return read_relation_of(learner).make_neighbours(sample, run, first, second, users_of)


def assign_new_user(point: Any, sample: Sample, learner: Learner | None) -> Any:
    """The point as one of a user who is not in the sample, if the claim is about users."""
    column = _find_user_column(learner)
    if learner is None or column is None or not claims_for_users(learner):
        return point
    assigned = np.array(point, float)
    assigned.reshape(-1)[column] = 1 + np.floor(learner.users_of(sample.points).max())
    return assigned


def claims_for_users(learner: Learner | None) -> bool:
    return read_relation_of(learner).kind is Neighbours.ADD_OR_REMOVE_USER


def choose_feature(learner: Learner | None, sample: Sample | None = None) -> int:
    """The coordinate, not that of the user, in which a sample's points are shortest, so that they move its
    parameter of a linear model least. Without a sample: the first."""
    column = _find_user_column(learner)
    if sample is None:
        return int(learner is not None and column in (0, -prod(learner.point_shape)))
    squares = sample.counts @ sample.points.reshape(len(sample.points), -1) ** 2
    if column is not None:
        squares[column] = np.inf
    return int(squares.argmin())


def _find_user_column(learner: Learner | None) -> int | None:
    return learner.user_column if isinstance(learner, HasUserColumn) else None


def plant_example(
    sample: Sample, run: int, point: Any, learner: Learner | None = None
) -> tuple[Sample, Sample]:
    """Neighbours, by `change_example`: the last example of a run is (point, 0) or missing, or (point, 1)."""
    return change_example(sample, run, (point, 0), (point, 1), learner)


def swap_nearest_label(
    sample: Sample, point: Any, prefer: int = 1, learner: Learner | None = None
) -> tuple[Sample, Sample]:
    """Neighbours, by `plant_example`, at the example nearest to `point`, labelled `prefer` if there is one:
    of labels that tie, the second sample keeps the tie with 1, and the first with 0."""
    distance = np.abs(sample.points - point).reshape(len(sample.points), -1).max(axis=1)
    run = int(np.lexsort((-sample.labels if prefer else sample.labels, distance))[0])
    return plant_example(sample, run, sample.points[run], learner)


def thin_out(rows: np.ndarray, most: int) -> np.ndarray:
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(int)]


def find_runs_at(sample: Sample, point: Any) -> np.ndarray:
    """(runs,) bool: the runs of a sample whose examples are at the point."""
    return np.asarray((sample.points == point).reshape(len(sample.points), -1).all(axis=1))


def _choose_three_points(learner: Learner | None) -> tuple[Any, Any, Any]:
    if learner is not None and learner.point_shape:
        low, high = _choose_separable_vectors(learner)
        return low, high, high
    domain = finite_domain(learner)
    if domain is None:
        return 0.0, 0.5, 1.0
    points = [float(p) for p in domain]
    if len(points) < 2:
        raise InvalidArgument("the domain must have at least two points", value=points)
    return points[0], points[len(points) // 2], points[-1]


def _choose_separable_vectors(learner: Learner) -> tuple[np.ndarray, np.ndarray]:
    """The first pair of `some_points` that a concept labels 0 and 1, tried from both ends."""
    points = learner.some_points
    concepts = read_concepts(learner)
    for low, high in product(points, points[::-1]):
        if np.array_equal(low, high):
            continue
        if concepts is None:
            return low, high
        labels = concepts.dichotomies(np.stack([low, high])).labels
        if (labels == [False, True]).all(axis=1).any():
            return low, high
    raise InvalidArgument(
        "some concept must label two of the learner's some_points 0 and 1, and none does",
        value=concepts,
        remedy="Bring a sample.",
    )
