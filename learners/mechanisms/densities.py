"""Densities of noise that are accurate in the tails, and quadrature over Laplace noise."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from typing import Any

import attrs
import numpy as np

from arena.laws import Density
from learners.mechanisms.parameter_checks import check_positive

REACH = 40.0  # in scales; the mass beyond is exp(-40), less than 1e-17
_ORDER = 12  # nodes per panel
_PANELS = 80  # on each side of 0, half a scale wide


def laplace_nodes(scale: float, kinks: Iterable[float] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Nodes t (m,) and weights w (m,) such that the sum of w·f(t) is E f(Lap(scale)), to about 1e-15.

    Gauss-Legendre rules on panels of at most half a scale, which end at 0 and at the kinks.
    kinks: where f or one of its derivatives jumps. Between kinks f must vary no faster than exp(t / scale).

    >>> t, w = laplace_nodes(2.0, [1.0])
    >>> round(float(w @ (t >= 1.0)), 12), round(float(np.exp(-0.5)) / 2, 12)
    (0.303265329856, 0.303265329856)
    """
    check_positive(scale=scale)
    even = scale * np.linspace(-REACH, REACH, 2 * _PANELS + 1)
    cuts = np.unique(np.concatenate([even, np.fromiter(kinks, float)]))
    cuts = cuts[np.abs(cuts) <= REACH * scale]
    points, masses = np.polynomial.legendre.leggauss(_ORDER)
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    nodes = middle[:, None] + half[:, None] * points
    weights = half[:, None] * masses * np.exp(-np.abs(nodes) / scale) / (2 * scale)
    return nodes.ravel(), weights.ravel()


_PER_PANEL = 12.0  # growth rate per scale at which a panel's Gauss rule has an error below 1e-17
_DEGREE = 12  # of a spline's pieces
_RISE = 1.5  # log growth of the function over one piece, at which the spline's error is below 1e-15


def laplace_log_pdf(u: np.ndarray) -> np.ndarray:
    """log f(u) of Lap(1)."""
    return -np.abs(u) - np.log(2)


def laplace_log_cdf(u: np.ndarray) -> np.ndarray:
    """log F(u) of Lap(1), finite everywhere."""
    tail = np.exp(-np.abs(u)) / 2
    return np.where(u < 0, u - np.log(2), np.log1p(-tail))


def exponential_log_pdf(u: np.ndarray) -> np.ndarray:
    """log f(u) of Exp(1) for u > 0."""
    return -u


def exponential_log_cdf(u: np.ndarray) -> np.ndarray:
    """log F(u) of Exp(1) for u > 0."""
    return np.log(-np.expm1(-u))


def laplace_density(location: float, scale: float) -> Density:
    """The distribution of location + Lap(scale)."""

    def log(x: np.ndarray) -> np.ndarray:
        return laplace_log_pdf((x - location) / scale) - np.log(scale)

    reach = REACH * scale
    return Density(log=log, kinks=(location,), low=location - reach, high=location + reach, scale=scale)


def fine_laplace_nodes(scale: float, kinks: Iterable[float], rate: float) -> tuple[np.ndarray, np.ndarray]:
    """As `laplace_nodes`, for integrands that vary as fast as exp(rate · t) between kinks."""
    parts = ceil(scale * rate / _PER_PANEL)
    even = scale * np.linspace(-REACH, REACH, 4 * int(REACH) * parts + 1)
    return laplace_nodes(scale, np.concatenate([even, np.fromiter(kinks, float)]))


@attrs.frozen(eq=False)
class HiddenBelow:
    """G(x) = P(ρ ≤ x and v_j + Lap(b) < ρ for all j), with ρ ~ Lap(h): all hidden noisy values are below ρ.

    Left of its first kink G is proportional to exp(rate · x); right of it a spline approximates it to 1e-14.

    first, least: the first kink, and G there. rate: 1/h + i/b for i values v_j. rise: the spline of G - least
    from `first` on. total: G(∞).
    """

    first: float
    least: float
    rate: float
    rise: Any
    total: float

    @classmethod
    def of(cls, hidden: float, values: np.ndarray, scale: float) -> HiddenBelow:
        """hidden: h. scale: b. values (i,): the v_j."""
        from scipy.interpolate import PPoly  # slow to import, and games do not need it

        def density(t: np.ndarray) -> np.ndarray:
            logs = laplace_log_cdf((t - np.reshape(values, (-1, *[1] * t.ndim))) / scale).sum(axis=0)
            return np.exp(logs + laplace_log_pdf(t / hidden)) / hidden

        rate = 1 / hidden + len(values) / scale
        kinks = np.append(values, 0.0)
        first, last = kinks.min(), kinks.max() + REACH * hidden
        panels = ceil((last - first) * rate / _RISE)
        cuts = np.unique(np.concatenate([np.linspace(first, last, panels + 1), kinks]))
        widths = np.diff(cuts)
        at = (1 - np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))) / 2
        powers = np.linalg.solve(np.vander(at), density(cuts[:-1] + widths * at[:, None]))
        powers /= widths ** np.arange(_DEGREE, -1, -1)[:, None]
        rise = PPoly(powers, cuts).antiderivative()
        least = float(density(first)) / rate
        return cls(first, least, rate, rise, least + float(rise(last)))

    def log(self, x: np.ndarray) -> np.ndarray:
        """log G(x), finite everywhere."""
        inside = np.clip(x, self.first, self.rise.x[-1])
        return np.log(self.least + self.rise(inside)) + self.rate * np.minimum(x - self.first, 0)
