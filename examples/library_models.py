"""Audits of models of diffprivlib, fitted to pairs of samples that differ in one example.

    pip install 'dp-arena[diffprivlib]'
    python examples/library_models.py

Takes about ten minutes on one core. docs/foreign.md says what the figures mean.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import attrs
import numpy as np
from tabulate import tabulate

from adversaries.release.point_swap import PointSwap
from arena import Release, Sample
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.foreign.diffprivlib import DiffprivlibModel

GAMES, CONFIDENCE = 2_000, 0.99
HEADERS = ("model", "the example that differs", "claim", "certified", "ceiling", "the claim")
Entry = tuple[str, str, DiffprivlibModel, PointSwap]

_FAR = 6.0  # a weight of this size separates the two places of the intercept
_NEAR = 4.0  # the scale on which logistic losses bend


def find_intercept(model: Any) -> float:
    """Near which of -w and w the intercept of a logistic regression with the weight w lies: 1, -1 or 0."""
    weight, intercept = model.coef_[0, 0], model.intercept_[0]
    is_near = abs(weight) > _FAR and abs(abs(intercept) - abs(weight)) < _NEAR
    return float(-np.sign(weight * intercept)) if is_near else 0.0


def swap_points(low: float, high: float) -> PointSwap:
    """Nine examples at `low`, and one there or at `high`, all labelled 0."""
    return PointSwap(sample=Sample([low], [0], [10]), neighbour=Sample([low, high], [0, 0], [9, 1]))


def swap_labels(point: float) -> PointSwap:
    """Ten examples at one point, of which five or six are labelled 1."""
    points = [point] * 3
    return PointSwap(
        sample=Sample(points, [0, 1, 0], [4, 5, 1]), neighbour=Sample(points, [0, 1, 1], [4, 5, 1])
    )


def list_models() -> Iterator[Entry]:
    """Raises: ImportError without diffprivlib."""
    from diffprivlib import models

    def make(kind: type, **settings: Any) -> DiffprivlibModel:
        return DiffprivlibModel(make=partial(kind, epsilon=1, **settings))

    naive, logistic = models.GaussianNB, models.LogisticRegression
    opposite = PointSwap(sample=Sample([0.0, -1.0], [1, 0]), neighbour=Sample([0.0, 1.0], [1, 0]))
    close = PointSwap(sample=Sample([0.0, 0.01], [0, 0], [9, 1]), neighbour=swap_points(0, 1).neighbour)
    corner = Sample([[0.0, 0.0], [1.0, 1.0]], [0, 0], [9, 1])
    diagonal = PointSwap(sample=Sample([[0.0, 0.0]], [0], [10]), neighbour=corner)

    yield "GaussianNB, bounds (0, 1)", "point 0 or 1", make(naive, bounds=(0, 1)), swap_points(0, 1)
    yield "GaussianNB, bounds (0, 1)", "label, at 1", make(naive, bounds=(0, 1)), swap_labels(1)
    yield "GaussianNB, bounds (10, 11)", "label, at 10", make(naive, bounds=(10, 11)), swap_labels(10)
    regression = make(models.LinearRegression, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False)
    yield "LinearRegression without intercept", "point 0.01 or 1", regression, close
    with_intercept = attrs.evolve(make(logistic, data_norm=1), release_of=find_intercept)
    yield "LogisticRegression", "point -1 or 1, of two", with_intercept, opposite
    without = make(logistic, data_norm=1, fit_intercept=False)
    yield "LogisticRegression without intercept", "point -1 or 1, of two", without, opposite
    yield "StandardScaler", "point 0 or 1", make(models.StandardScaler, bounds=(0, 1)), swap_points(0, 1)
    yield "KMeans", "point 0 or 1", make(models.KMeans, n_clusters=2, bounds=(0, 1)), swap_points(0, 1)
    analysis = make(models.PCA, n_components=1, bounds=(0, 1), data_norm=2)
    yield "PCA", "point (0, 0) or (1, 1)", attrs.evolve(analysis, dimension=2), diagonal


def audit_model(name: str, change: str, learner: DiffprivlibModel, adversary: PointSwap) -> list[str]:
    """Run one audit and report its result."""
    claim = learner.claim
    plan = Plan(
        learner=learner,
        adversary=attrs.evolve(adversary, learner=learner),
        referee=Release(),
        epsilon=claim.epsilon,
        delta=claim.delta,
        confidence=CONFIDENCE,
        games=GAMES,
        seed=1,
        distinguisher="learned" if learner.release_of is None else "score",
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="lbfgs failed to converge")
        verdict = run(plan)
    return [
        name,
        change,
        f"({claim.epsilon:.3g}, {claim.delta:g})",
        f"ε ≥ {verdict.epsilon_lower:.2f}",
        f"{verdict.ceiling:.2f}",
        "is REFUTED" if verdict.refuted else "stands",
    ]


def main() -> None:
    started = time.perf_counter()
    print(tabulate([audit_model(*entry) for entry in list_models()], HEADERS, disable_numparse=True))
    print(f"\n{GAMES:,} games in each world, confidence {CONFIDENCE:.0%}.", end=" ")
    print(f"{time.perf_counter() - started:.0f} s in all.")


if __name__ == "__main__":
    main()
