"""LabelBoost: Beimel, Nissim, Stemmer, Learning Privately with Labeled and Unlabeled Examples (2021).

As told in appendix C.1 of Private Everlasting Prediction: label an unlabelled sample with one concept
that fits a small labelled one, chosen by the exponential mechanism among the dichotomies of both.
"""

from __future__ import annotations

import numpy as np

from arena.concepts import ConceptClass, Thresholds
from learners.mechanisms.exponential import exponential_mechanism

SELECTION_EPSILON = 1.0  # step 4; Lemma 5.1's "+3" is proved for this value
_SLAB = 1_000_000


def label_boost(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    *,
    points: np.ndarray,
    zeros: np.ndarray,
    ones: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    """Choose the concept h of every game; relabelling S∘T with it is `concept_class.label(h, ...)`.

    Steps 1 to 4: the solution set H holds one concept for each dichotomy of the class on the points that
    occur in S∘T; h is chosen from H by the exponential mechanism with ε = 1 and score −(errors on S).

    Shapes: points (n, p); zeros, ones (n, p): how often S holds the point with each label (0 for the points
    of T); present (n, p) bool: whether the point occurs in S∘T at all. Returns concepts (n,).

    For thresholds a game has at most p + 1 dichotomies, and the table is done at once. For other classes
    games are grouped by the set of points present.
    """
    games, width = points.shape[:2]
    choose = _thresholds if isinstance(concept_class, Thresholds) else _any_class
    step = max(1, _SLAB // max(1, width))
    parts = [
        choose(rng, concept_class, points[s], zeros[s], ones[s], present[s])
        for s in (slice(start, start + step) for start in range(0, games, step))
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


def _thresholds(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    points: np.ndarray,
    zeros: np.ndarray,
    ones: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    """c_t errs on the ones left of t and on the zeros from t on; t runs over the points present and +∞."""
    order = np.argsort(points, axis=1, kind="stable")
    x, zeros, ones, present = (np.take_along_axis(a, order, axis=1) for a in (points, zeros, ones, present))
    ones_left = np.cumsum(ones, axis=1) - ones
    zeros_left = np.cumsum(zeros, axis=1) - zeros
    errors = ones_left + zeros.sum(axis=1, keepdims=True) - zeros_left
    errors = np.column_stack([errors, ones.sum(axis=1)])
    candidates = np.column_stack([x, np.full(len(x), np.inf)])
    # Of equal points the first has all of them to its right; it may be one that is not present itself.
    first = np.ones(x.shape, bool)
    first[:, 1:] = x[:, 1:] != x[:, :-1]
    run = np.cumsum(first, axis=1) + np.arange(len(x))[:, None] * (x.shape[1] + 1)
    occurs = np.bincount(run.ravel(), weights=present.ravel(), minlength=len(x) * (x.shape[1] + 1) + 1) > 0
    allowed = np.column_stack([first & occurs[run], np.ones(len(x), bool)])
    chosen = exponential_mechanism(
        rng, -errors.astype(np.float64), epsilon=SELECTION_EPSILON, sensitivity=1.0, allowed=allowed
    )
    return candidates[np.arange(len(x)), chosen]


def _any_class(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    points: np.ndarray,
    zeros: np.ndarray,
    ones: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    domain, index = np.unique(points, axis=0 if points.ndim > 2 else None, return_inverse=True)
    rows = np.arange(len(points))[:, None]
    index = index.reshape(points.shape[:2])
    tally = np.zeros((3, len(points), len(domain)))
    for into, weights in zip(tally, (zeros, ones, present), strict=True):
        np.add.at(into, (rows, index), weights)
    occurs, kind = np.unique(tally[2] > 0, axis=0, return_inverse=True)
    chosen: list[np.ndarray] = [np.zeros(0)] * len(occurs)
    for i, there in enumerate(occurs):
        games = np.flatnonzero(kind.ravel() == i)
        options = concept_class.dichotomies(domain[there])
        says = options.labels.astype(np.float64)
        errors = tally[0][games][:, there] @ says.T + tally[1][games][:, there] @ (1.0 - says).T
        pick = exponential_mechanism(rng, -errors, epsilon=SELECTION_EPSILON, sensitivity=1.0)
        chosen[i] = options.concepts[pick]
    concepts = np.empty(len(points), np.concatenate(chosen).dtype)
    for i, picked in enumerate(chosen):
        concepts[kind.ravel() == i] = picked
    return concepts
