"""Logistic regression by Newton's method: scikit-learn would take longer to import than this takes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Protocol

import attrs
import numpy as np

_STEPS, _CONVERGED = 20, 1e-7
_PRODUCTS_PER_COUNT = 20  # that take as long as counting a row in a table of bins


def fit_logistic(terms: np.ndarray, ones: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights (T,) of terms (m, T) and a constant, with half the squares of the weights as a penalty.
    times: (m,), how often each row occurred; ones: (m,), and how often with outcome 1."""
    design = _Numbers(np.column_stack([terms, np.ones(len(terms))]))
    weights = _minimise_loss(design, np.append(np.ones(terms.shape[1]), 1e-9), ones, times)
    return weights[:-1], float(weights[-1])


def fit_ordered(ones: np.ndarray, times: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """(K,): the log odds of outcome 1 in ordered bins, as a smooth function of the rank.

    The terms of the regression are `rank_terms` and `more` (K,). ones, times: (K,), as of `fit_logistic`;
    times > 0.
    """
    below = (np.cumsum(times) - times / 2) / times.sum()
    terms = np.stack([*rank_terms(below), *more], axis=1)
    terms /= np.sqrt(times @ terms**2 / times.sum()) + np.finfo(float).tiny
    weights, constant = fit_logistic(terms, ones, times)
    return np.asarray(terms @ weights + constant)


def rank_terms(below: np.ndarray) -> np.ndarray:
    """(4, n): terms of a smooth function of the rank, which follow the tails far out. below: (n,), the share
    of all values that are smaller."""
    tails = np.log([below, 1 - below])
    return np.concatenate([tails, tails**2])


def fit_bins(
    bins: Sequence[np.ndarray], sizes: Sequence[int], ones: np.ndarray, times: np.ndarray
) -> list[np.ndarray]:
    """As `fit_logistic` without a constant, if the terms say of each of F columns in which of its bins it is;
    bins: F arrays (m,); sizes: how many bins there are. Returns the weights of the bins of each column."""
    starts = np.cumsum([0, *sizes])
    pairs = len(sizes) ** 2 / 2
    if starts[-1] ** 2 < _PRODUCTS_PER_COUNT * pairs:
        rows = np.concatenate([np.eye(size)[own] for size, own in zip(sizes, bins, strict=True)], axis=1)
        design: _Design = _Numbers(rows)
    else:
        design = _Bins([own.astype(np.int64) for own in bins], starts)
    weights = _minimise_loss(design, np.ones(starts[-1]), ones, times)
    return np.split(weights, starts[1:-1])


class _Design(Protocol):
    """A table (m, T) of terms."""

    def add_up(self, weights: np.ndarray) -> np.ndarray:
        """(m,): the sum of the terms of each row, times their weights (T,)."""

    def correlate(self, values: np.ndarray) -> np.ndarray:
        """(T,): the sums over the rows of each term, times the row's value."""

    def square(self, values: np.ndarray) -> np.ndarray:
        """(T, T): the sums over the rows of the products of two terms, times the row's value."""


@attrs.frozen(eq=False)
class _Numbers:
    terms: np.ndarray

    def add_up(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.terms @ weights)

    def correlate(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(values @ self.terms)

    def square(self, values: np.ndarray) -> np.ndarray:
        return np.asarray((self.terms * values[:, None]).T @ self.terms)


@attrs.frozen(eq=False)
class _Bins:
    """Of each of F columns, 1 for the bin (m,) that it is in; starts (F + 1,) of its bins among all T."""

    bins: list[np.ndarray]
    starts: np.ndarray

    def add_up(self, weights: np.ndarray) -> np.ndarray:
        parts = zip(self.bins, self.starts[:-1], strict=True)
        return np.asarray(sum(weights[start:][own] for own, start in parts))

    def correlate(self, values: np.ndarray) -> np.ndarray:
        sizes = np.diff(self.starts)
        counts = [np.bincount(own, values, size) for own, size in zip(self.bins, sizes, strict=True)]
        return np.concatenate(counts)

    def square(self, values: np.ndarray) -> np.ndarray:
        table = np.diag(self.correlate(values))
        spans = [slice(*ends) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]
        for i, j in combinations(range(len(spans)), 2):
            part = table[spans[i], spans[j]]
            part += np.bincount(self.bins[i] * part.shape[1] + self.bins[j], values, part.size).reshape(
                part.shape
            )
            table[spans[j], spans[i]] = part.T
        return table


def _minimise_loss(design: _Design, penalty: np.ndarray, ones: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The weights (T,) of the least loss; penalty: (T,), of half the square of each."""
    weights, loss = np.zeros(len(penalty)), np.inf
    step = np.zeros_like(weights)
    for _ in range(_STEPS):
        tried = weights + step
        margins = design.add_up(tried)
        losses = times @ np.logaddexp(0.0, margins) - ones @ margins
        next_loss = float(losses + penalty @ tried**2 / 2)
        if next_loss > loss:
            step /= 4
            continue
        weights = tried
        if loss - next_loss <= _CONVERGED * next_loss:
            break
        loss = next_loss
        chances = expit(margins)
        curvature = design.square(times * chances * (1 - chances)) + np.diag(penalty)
        step = np.linalg.solve(curvature, design.correlate(ones - times * chances) - penalty * weights)
    return weights


def expit(margins: np.ndarray) -> np.ndarray:
    """The probabilities of these log odds. That of `scipy.special` is slow to import."""
    return np.exp(-np.logaddexp(0.0, -margins))
