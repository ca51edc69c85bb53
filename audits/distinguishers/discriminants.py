"""Weighted sums of the numbers of views whose means, or variances, differ most between the worlds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh

from audits.distinguishers.view_features import INFINITE

_RIDGE = 1e-6  # relative to the variance; makes the covariance matrix of numbers with common noise invertible
_MIN_WEIGHT = 0.05  # relative to the largest weight; smaller ones are set to 0
_MIN_CONTRAST = 2.0  # ratio of variances from which a sum is worth a score


def scale_columns(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sizes (F,) of columns, and the numbers (m, F) divided by them; 0 in columns that are not finite."""
    finite = (np.abs(numbers) < INFINITE).all(axis=0)
    numbers = numbers * finite
    sizes = np.maximum(np.abs(numbers).max(axis=0, initial=0.0), np.finfo(float).tiny)
    return sizes, numbers / sizes


def find_contrasts(
    worlds: np.ndarray, counts: np.ndarray, sizes: np.ndarray
) -> Iterator[tuple[np.ndarray, float]]:
    """The sums, with centres, whose variances in the worlds differ most; shapes: see `find_discriminant`."""
    share = counts / counts.sum()
    means = np.einsum("k,wkf->wf", share, worlds)
    within = (worlds - means[:, None]) * np.sqrt(share)[:, None]
    scale = np.sqrt((within**2).sum(axis=(0, 1)))
    varies = scale > 0
    if varies.sum() < 2:
        return
    within = within[:, :, varies] / scale[varies]
    spreads = [each.T @ each + _RIDGE * np.eye(int(varies.sum())) for each in within]
    ratios, directions = eigh(spreads[1], spreads[0])
    for place in (0, -1):
        if not 1 / _MIN_CONTRAST < ratios[place] < _MIN_CONTRAST:
            weights = np.zeros(len(scale))
            weights[varies] = directions[:, place] / scale[varies]
            weights = _round_weights(weights / sizes)
            narrow = 1 if place == 0 else 0
            if np.count_nonzero(weights) > 1:
                yield weights, float(f"{means[narrow] @ (weights * sizes):.2g}")


def find_discriminant(worlds: np.ndarray, counts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """(F,): rounded weights, the largest 1, from worlds (2, k, F) of numbers divided by their sizes (F,)."""
    share = (counts / counts.sum())[:, None]
    means = (worlds * share).sum(axis=1, keepdims=True)
    within = np.concatenate((worlds - means) * np.sqrt(share / 2))
    deviation = np.sqrt((within**2).sum(axis=0))
    scale = np.where(deviation > 0, deviation, 1.0)
    spread = (within / scale).T @ (within / scale) + _RIDGE * np.eye(len(scale))
    weights = np.linalg.solve(spread, (means[1] - means[0])[0] / scale) * (deviation > 0)
    heavy = np.abs(weights) > _MIN_WEIGHT * np.abs(weights).max()
    return _round_weights(np.where(heavy, weights / scale, 0.0) / sizes)


def _round_weights(weights: np.ndarray) -> np.ndarray:
    """The same direction, with the largest weight 1, rounded."""
    return np.array([float(f"{weight:.2g}") for weight in weights / max(np.abs(weights).max(), 1e-300)])
