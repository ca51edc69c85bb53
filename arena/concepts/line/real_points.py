"""Point functions on the real line."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import CandidateConcepts, Dichotomies, SortedSamples, apply_signs
from arena.errors import InvalidArgument
from arena.points import as_floats


@attrs.frozen
class RealPoints(ConceptClass):
    """The concepts c_z(x) = 1[x = z]. A concept is its z, a float, and z = +inf labels everything 0.

    ERM returns +inf unless some point has more weight of label 1 than of label 0, and then the smallest of
    the points at which the difference is largest.

    >>> RealPoints().erm([3, 1, 2, 2], [1, 0, 1, 1])
    array(2.)
    """

    name: ClassVar[str] = "points"
    vc_dimension = 1  # no concept labels two points 1

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """Values of z as floats: any number, or +inf."""
        array = as_floats(as_numbers(concepts, "point functions must be numbers"))
        if not (array > -np.inf).all():
            raise InvalidArgument(
                "a point function must be a number or +inf", value=array[~(array > -np.inf)].flat[0].item()
            )
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labelling of +inf, all 0, and then one for each distinct point in the order of z."""
        array = self._check_row(points)
        concepts = np.append(np.inf, np.unique(array) + 0.0)
        return Dichotomies(array == concepts[:, None], concepts)

    def draw_points(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Each point is 1/2 with probability 1/2, and otherwise uniform between 0 and 1.

        Of uniform points alone, no concept would label two points 1.
        """
        points = rng.random(size)
        points[rng.random(size) < 0.5] = 0.5
        return points

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """Always z = 1/2."""
        return np.array(0.5)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(points == concepts)

    def _candidate_concepts(
        self, points: np.ndarray, signs: np.ndarray, present: np.ndarray
    ) -> CandidateConcepts:
        self.check_growth(points.shape[1])
        ordered = SortedSamples.sort(points, signs, present)
        return ordered.candidates(ordered.group_sums)

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        if points.shape[1] == 0:
            return np.full(len(points), np.inf)
        signs = apply_signs(labels, weights)
        ordered = SortedSamples.sort(points, signs, signs != 0)
        gains = np.where(ordered.first, ordered.group_sums, 0)
        best = gains.argmax(axis=1)[:, None]
        found = np.take_along_axis(ordered.points, best, axis=1)
        return np.where(np.take_along_axis(gains, best, axis=1) > 0, found, np.inf)[:, 0]
