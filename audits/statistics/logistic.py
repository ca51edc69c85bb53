"""Logistic regression by Newton's method: scikit-learn would take longer to import than this takes."""

from __future__ import annotations

import numpy as np

_STEPS, _CONVERGED = 20, 1e-7


def fit_logistic(terms: np.ndarray, ones: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, float]:
    """The weights (T,) of terms (m, T) and a constant, with half the squares of the weights as a penalty.
    times: (m,), how often each row occurred; ones: (m,), and how often with outcome 1."""
    terms = np.column_stack([terms, np.ones(len(terms))])
    penalty = np.append(np.ones(terms.shape[1] - 1), 1e-9)
    weights, loss = np.zeros(terms.shape[1]), np.inf
    step = np.zeros_like(weights)
    for _ in range(_STEPS):
        tried = weights + step
        margins = terms @ tried
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
        curvature = (terms * (times * chances * (1 - chances))[:, None]).T @ terms + np.diag(penalty)
        step = np.linalg.solve(curvature, terms.T @ (ones - times * chances) - penalty * weights)
    return weights[:-1], float(weights[-1])


def expit(margins: np.ndarray) -> np.ndarray:
    """The probabilities of these log odds, without overflow."""
    return np.exp(-np.logaddexp(0.0, -margins))
