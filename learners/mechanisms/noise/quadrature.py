"""Quadrature over Laplace noise: how output distributions integrate over a hidden noisy threshold."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

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
