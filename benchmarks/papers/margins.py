"""The distance of votes from a tie: expected margins, and Definition 17, estimated from points.

Section 4.2 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. Nothing here is private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.sample import Sample
from arena.settings import check_value, less_than, more_than
from learners.pate.teacher import Teacher


def fresh_parts(sample: Sample, size: int, count: int, rng: np.random.Generator) -> Iterable[Sample]:
    """`count` independent samples of `size` examples each, from the empirical distribution of a sample."""
    points, labels = sample.rows()
    for _ in range(count):
        drawn = rng.integers(0, sample.size, size)
        yield Sample(points[drawn], labels[drawn]).distinct()


@attrs.frozen(eq=False)
class Margins:
    """Expected margins at points, estimated from independent teachers.

    Shapes: mean (m,), the share of teachers with label 1. teachers: their number.
    """

    mean: np.ndarray
    teachers: int

    @property
    def expected(self) -> np.ndarray:
        """(m,): equation 4 with the share for the probability, |share − 1/2|; slightly biased upwards near
        0."""
        return np.abs(self.mean - 0.5)

    @property
    def majority_limit(self) -> np.ndarray:
        """(m,) bool: an estimate of the vote of infinitely many teachers, h_∞^agg."""
        return self.mean >= 0.5

    def error(self, miss: float) -> float:
        """A bound on the errors of all expected margins together, except with probability `miss`.

        By Hoeffding's inequality and a union bound.
        """
        return math.sqrt(math.log(2 * len(self.mean) / miss) / (2 * self.teachers))

    def high_margin(self, xi: np.ndarray | float, *, miss: float = 0.05) -> HighMarginBand:
        """ν as a function of ξ, P[Δ(x) ≤ ξ] ≤ ν, if the points are independent draws.

        The band holds for all ξ together, except with probability `miss`: half of it for the expected margins
        (`error`), half for their distribution (Dvoretzky, Kiefer, Wolfowitz, with Massart's constant).

        Shapes: xi (k,), at least 0.
        """
        check_value("miss", miss, more_than(0), less_than(1))
        xi = np.atleast_1d(np.asarray(xi, float))
        ordered = np.sort(self.expected)
        error, width = self.error(miss / 2), math.sqrt(math.log(4 / miss) / (2 * len(ordered)))

        def share(at: np.ndarray) -> np.ndarray:
            return np.searchsorted(ordered, at + 1e-12, side="right") / len(ordered)

        lower = np.maximum(share(xi - error) - width, 0.0)
        return HighMarginBand(xi, share(xi), lower, np.minimum(share(xi + error) + width, 1.0), miss)


@attrs.frozen(eq=False)
class HighMarginBand:
    """Definition 17 from data: a learning problem is (ν, ξ)-approximately high-margin if P[Δ(x) ≤ ξ] ≤ ν.

    (The paper prints > for ≤, which its own explanation corrects.)

    Shapes: xi, nu, lower, upper (k,): the share of points with Δ ≤ ξ, and its band.
    miss: the probability that the band does not contain P[Δ ≤ ξ] at some ξ.
    """

    xi: np.ndarray
    nu: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    miss: float


def estimate_margins(teacher: Teacher, samples: Iterable[Sample], points: np.ndarray) -> Margins:
    """Train a teacher on each sample and count their labels for points (m, ...).

    The samples must be independent draws of n/K examples, for instance `fresh_parts`.

    Raises: InvalidArgument if there are none, or as `Teacher.train` does.
    """
    ones, count = np.zeros(len(points), np.int64), 0
    for sample in samples:
        ones += teacher.train(sample)(points)
        count += 1
    if not count:
        raise InvalidArgument("margins need at least one sample to train on", value=count)
    return Margins(ones / count, count)
