"""logistic: logistic regression by scikit-learn, without privacy."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.dichotomies import Dichotomies
from arena.errors import InvalidArgument, MissingPackage, Unsupported
from arena.sample import Sample, as_points
from arena.settings import count_setting, more_than, setting
from learners.common.learner_bases import FittedLearner, RunningRelease


@attrs.frozen
class LinearRules(ConceptClass):
    """1[w·x + b > 0] for real weights. A concept is a row (w, b)."""

    name: ClassVar[str] = "linear"
    concept_ndim: ClassVar[int] = 1

    d: int

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.d,)

    @property
    def vc_dimension(self) -> int:
        return self.d + 1

    def check(self, x: Any) -> np.ndarray:
        points = as_points(x)
        if points.shape[-1:] != (self.d,):
            raise InvalidArgument(f"a point must have shape {(self.d,)}", value=points.shape)
        return points

    def check_concepts(self, concepts: Any) -> np.ndarray:
        rows = as_points(concepts).astype(float)
        if rows.shape[-1:] != (self.d + 1,):
            raise InvalidArgument(f"a linear rule must have {self.d} weights and an offset", value=rows.shape)
        return rows

    def rules(self, concept: np.ndarray, names: Sequence[str], labels: tuple[str, str]) -> list[str]:
        order = np.argsort(-np.abs(concept[:-1]), kind="stable")
        terms = [f"{concept[i]:+.3g} if {names[i]}" for i in order]
        return [f"{labels[1]} if this is above 0, else {labels[0]}:", *terms, f"{concept[-1]:+.3g}"]

    def dichotomies(self, points: Any) -> Dichotomies:
        raise self._refusal("its dichotomies")

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("...d,...d->...", concepts[..., :-1], points) + concepts[..., -1] > 0)

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        raise self._refusal("its best rule for a sample")

    def _refusal(self, operation: str) -> Unsupported:
        return Unsupported(f"{self} cannot compute {operation}", remedy="Use a class with a finite domain.")


@attrs.frozen
class Logistic(FittedLearner):
    """Logistic regression with an L2 penalty, a baseline without privacy (ε = ∞) for private decision lists.

    On a sample with one label it releases that. Raises: InvalidArgument at `start` without scikit-learn.
    """

    name = "logistic"
    packages = ("sklearn",)

    variables: int = count_setting(3, help="d, the number of coordinates of a point")
    strength: float = setting(1.0, help="C, the inverse of the strength of the penalty", check=more_than(0))

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.variables,)

    @property
    def _hypotheses(self) -> ConceptClass:
        return LinearRules(self.variables)

    def fit(self, sample: Sample) -> np.ndarray:
        from sklearn.linear_model import LogisticRegression  # an optional dependency, and slow to import

        if sample.labels.min() == sample.labels.max():
            return np.append(np.zeros(self.variables), 2.0 * sample.labels[0] - 1.0)
        model = LogisticRegression(C=self.strength, max_iter=1_000)
        model.fit(sample.points, sample.labels, sample_weight=sample.counts)
        return np.append(model.coef_[0], model.intercept_)

    def start(self, games: int, rng: np.random.Generator) -> RunningRelease:
        if importlib.util.find_spec("sklearn") is None:
            raise MissingPackage("logistic needs scikit-learn, which is not installed", extra="learning")
        return super().start(games, rng)
