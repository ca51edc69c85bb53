"""Point functions on the real line."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.dichotomies import Ordered, Solutions, signs_of
from arena.concepts.line.domain import as_floats
from arena.errors import InvalidArgument
from arena.points import as_points


@attrs.frozen
class RealPoints(ConceptClass):
    """The concepts c_z(x) = 1[x = z]; a concept is its z, a float, and z = +inf labels everything 0.

    ERM picks +inf unless a point gains, then the smallest of the points that gain most. m points have as many
    labellings as distinct ones among them, and one more.

    >>> RealPoints().erm([3, 1, 2, 2], [1, 0, 1, 1])
    array(2.)
    """

    name: ClassVar[str] = "points"

    @property
    def vc_dimension(self) -> int:
        """1: no concept labels two points 1."""
        return 1

    def check(self, x: Any) -> np.ndarray:
        """The points as floats.

        Raises: InvalidArgument for a value that is not finite, or a whole number beyond ±2^53.
        """
        return as_floats(as_points(x)).astype(np.float64, copy=False)

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """Values of z as floats: any number, or +inf."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "biuf":
            raise InvalidArgument("point functions are named by numbers", value=array.dtype.name)
        array = as_floats(array)
        if not (array > -np.inf).all():
            raise InvalidArgument(
                "a point function has a number, or +inf", value=array[~(array > -np.inf)].flat[0].item()
            )
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labelling of +inf, all 0, and then one for each distinct point, ordered by z."""
        array = self._check_row(points)
        concepts = np.append(np.inf, np.unique(array) + 0.0)
        return Dichotomies(array == concepts[:, None], concepts)

    def most_dichotomies(self, points: int) -> int:
        """Exactly: m points that differ have m + 1 labellings."""
        return points + 1

    def points_at_random(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Half of the points are 1/2, the others uniform between 0 and 1: of uniform points alone no concept
        would label two 1.
        """
        points = rng.random(size)
        points[rng.random(size) < 0.5] = 0.5
        return points

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """That of 1/2, always."""
        return np.array(0.5)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(points == concepts)

    def _solutions(self, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> Solutions:
        self.check_solutions(points.shape[1])
        ordered = Ordered.of(points, signs, present)
        return ordered.or_none(ordered.of_equals)

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        if points.shape[1] == 0:
            return np.full(len(points), np.inf)
        signs = signs_of(labels, weights)
        ordered = Ordered.of(points, signs, signs != 0)
        gains = np.where(ordered.first, ordered.of_equals, 0)
        best = gains.argmax(axis=1)[:, None]
        found = np.take_along_axis(ordered.points, best, axis=1)
        return np.where(np.take_along_axis(gains, best, axis=1) > 0, found, np.inf)[:, 0]
