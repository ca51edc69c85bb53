"""How far votes are from a tie: realised and expected margins, and Definition 17 from a sample of points.

Section 4.2 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. None of it is private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.sample import Sample
from learners.pate.ensemble.teacher import Teacher


def realised_margin(ones: np.ndarray, teachers: int) -> np.ndarray:
    """Equation 1: |2·Σ_k h_k(x) − K|, from the votes for 1, in votes: 0 at a tie, K where all agree."""
    return np.abs(2 * np.asarray(ones) - teachers)


def vote_error(wrong: float, teachers: int) -> float:
    """The chance that half of K independent teachers or more are wrong, each with chance `wrong`.

    At most exp(−2Kξ²) where `wrong` is at most 1/2 − ξ (Hoeffding's inequality, Example 2 of the paper).

    >>> vote_error(0.25, 1), round(vote_error(0.25, 101), 8)
    (0.25, 3e-08)
    """
    from scipy.stats import binom  # slow to import

    return float(binom.sf(math.ceil(teachers / 2) - 1, teachers, wrong))


def fresh_parts(sample: Sample, size: int, count: int, rng: np.random.Generator) -> Iterable[Sample]:
    """`count` independent samples of `size` examples each, drawn from a sample with replacement: as fresh as
    its empirical distribution gives them."""
    points, labels = sample.rows()
    for _ in range(count):
        drawn = rng.integers(0, sample.size, size)
        yield Sample(points[drawn], labels[drawn]).distinct()


@attrs.frozen(eq=False)
class Margins:
    """Expected margins at points, estimated from independent teachers.

    Shapes: mean (m,), the share of teachers that say 1. teachers: how many there were.
    """

    mean: np.ndarray
    teachers: int

    @property
    def expected(self) -> np.ndarray:
        """(m,): equation 4 with the share in place of the chance, |share − 1/2|; on average a bit too large
        near 0."""
        return np.abs(self.mean - 0.5)

    @property
    def limit(self) -> np.ndarray:
        """(m,) bool: the votes of infinitely many teachers, h_∞^agg, as estimated."""
        return self.mean >= 0.5

    def off(self, miss: float) -> float:
        """By how much an expected margin may be off, at all points together but for a chance `miss`:
        Hoeffding's inequality and a union bound."""
        return math.sqrt(math.log(2 * len(self.mean) / miss) / (2 * self.teachers))

    def high_margin(self, xi: np.ndarray | float, *, miss: float = 0.05) -> HighMargin:
        """ν as a function of ξ, P[Δ(x) ≤ ξ] ≤ ν, if the points are independent draws.

        The band holds for all ξ together but for a chance `miss`: half of it for the expected margins
        (`off`), half for their distribution (Dvoretzky, Kiefer, Wolfowitz, with Massart's constant).

        Shapes: xi (k,), of at least 0.
        """
        if not 0 < miss < 1:
            raise InvalidArgument("miss must be between 0 and 1", value=miss)
        xi = np.atleast_1d(np.asarray(xi, float))
        ordered = np.sort(self.expected)
        off, wide = self.off(miss / 2), math.sqrt(math.log(4 / miss) / (2 * len(ordered)))

        def share(at: np.ndarray) -> np.ndarray:
            return np.searchsorted(ordered, at + 1e-12, side="right") / len(ordered)

        lower = np.maximum(share(xi - off) - wide, 0.0)
        return HighMargin(xi, share(xi), lower, np.minimum(share(xi + off) + wide, 1.0), miss)


@attrs.frozen(eq=False)
class HighMargin:
    """Definition 17 from data: a learning problem is (ν, ξ)-approximately high-margin if P[Δ(x) ≤ ξ] ≤ ν. (It
    is printed with > for ≤, which its own explanation turns round.)

    Shapes: xi, nu, lower, upper (k,): the share of points with Δ ≤ ξ, and its band.
    miss: the chance that the band misses P[Δ ≤ ξ] at any ξ.
    """

    xi: np.ndarray
    nu: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    miss: float


def expected_margins(teacher: Teacher, samples: Iterable[Sample], points: np.ndarray) -> Margins:
    """Train a teacher on each sample and count how they label points (m, ...).

    The samples are to be independent draws of n/K examples: fresh ones, or `fresh_parts`.

    Raises: InvalidArgument if there are none, or as `Teacher.train` does.
    """
    ones, count = np.zeros(len(points), np.int64), 0
    for sample in samples:
        ones += teacher.train(sample)(points)
        count += 1
    if not count:
        raise InvalidArgument("margins need at least one sample to train on", value=count)
    return Margins(ones / count, count)
