"""The errors of all hypotheses with which a predictor answers.

The error is error_D(c, h_r) of Definition 2.10 of NNSY; D is the distribution of examples. A hypothesis of a
predictor labels a point 1 if the teachers' vote at the point is at least a threshold; every answer may have a
threshold of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena import Claim, InvalidArgument, Learner
from arena.capabilities import ExposesHypotheses, Population
from arena.concepts import ConceptClass

TEST_POINTS = 10_000  # of each game, if D is not a finite list of examples


@attrs.frozen(eq=False)
class EvaluationSet:
    """Examples on which hypotheses are evaluated.

    Shapes: points (n, m, ...), labels (n, m) bool, weights (m,) with sum 1. best_error (n,): the error of the
    best concept of the class, which is subtracted from all errors.
    """

    points: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    best_error: np.ndarray

    @classmethod
    def of(
        cls,
        population: Population,
        concepts: ConceptClass,
        games: int,
        rng: np.random.Generator,
        size: int,
    ) -> EvaluationSet:
        """All of D if it is a finite list, else `size` examples of D, which some concept explains."""
        if not hasattr(population, "chances"):
            points, labels = population.draw(rng, size)
            return cls(points, labels == 1, np.full(size, 1 / size), np.zeros(games))
        listed: Any = population
        weights = listed.chances / listed.chances.sum()
        best = concepts.erm(listed.points, listed.labels.astype(np.int8), weights)
        best_error = (concepts.labels(best, listed.points) != (listed.labels == 1)) @ weights
        return cls(
            np.broadcast_to(listed.points, (games, *listed.points.shape)),
            np.broadcast_to(listed.labels == 1, (games, len(weights))),
            weights,
            np.broadcast_to(best_error, games),
        )

    def error_curves(self, votes: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The errors (n, j) of the hypotheses 1[vote >= threshold], as a function of thresholds (n, j).

        votes: (n, m), at the points.
        """
        order = np.argsort(votes, axis=1)
        ordered = np.take_along_axis(votes, order, axis=1)
        gains = np.where(np.take_along_axis(self.labels, order, axis=1), 1.0, -1.0) * self.weights[order]
        errors = np.zeros((len(votes), votes.shape[1] + 1))  # by the number of votes below the threshold
        np.cumsum(gains, axis=1, out=errors[:, 1:])
        # If no vote is below the threshold, all labels are 1, and the error is the weight of label 0.
        errors += (~self.labels @ self.weights - self.best_error)[:, None]

        def find_errors(thresholds: np.ndarray) -> np.ndarray:
            below = np.stack([np.searchsorted(*pair) for pair in zip(ordered, thresholds, strict=True)])
            return np.take_along_axis(errors, below, axis=1)

        return find_errors


@attrs.define(eq=False, slots=False)
class ErrorRecorder:
    """Stands for the running state of a predictor, and records the errors of its answers by its rounds.

    Each array is (rounds, n) and counts the games that had not halted. answers: number of answers. worst,
    total: the largest error of a hypothesis, and the sum over answers of their hypothesis' error.
    wrong: number of answers that differ from the correct label.
    """

    state: Any = attrs.field(init=False)
    _rounds: int
    _concepts: ConceptClass
    _population: Population
    evaluation: EvaluationSet
    _round: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        shape = (4, self._rounds, len(self.evaluation.best_error))
        self.answers, self.worst, self.total, self.wrong = np.zeros(shape)

    def predict(self, x: np.ndarray) -> np.ndarray:
        halted = self.state.halted.copy()
        labels = np.asarray(self.state.predict(x))
        self.observe(x[:, None], labels[:, None], halted)
        return labels

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        if not hasattr(self.state, "predict_many"):
            return self.predict(x[:, 0])[:, None]
        halted = self.state.halted.copy()
        labels = np.asarray(self.state.predict_many(x))
        self.observe(x[:, : labels.shape[1]], labels, halted)
        return labels

    def __getattr__(self, name: str) -> Any:
        if name == "state" or name.startswith("_"):  # it has no state yet
            raise AttributeError(name)
        return getattr(self.state, name)

    def observe(self, x: np.ndarray, labels: np.ndarray, halted: np.ndarray) -> None:
        """The state has just answered queries x (n, j, ...) with labels (n, j).

        halted: (n,), the games that had halted before the first of these queries.
        Raises: InvalidArgument if the state does not expose its hypotheses.
        """
        state = self.state
        if not isinstance(state, ExposesHypotheses):
            raise InvalidArgument(
                "a race of predictors needs their hypotheses, which this one does not expose",
                remedy="Its running state needs the attributes of arena.capabilities.ExposesHypotheses.",
            )
        index = state.round.index
        if halted.all() or index > self._rounds:
            return
        if index != self._round:
            self._curves = self.evaluation.error_curves(state.votes_in_a_row(self.evaluation.points))
            self._round = index
        errors = self._curves(np.reshape(state.cuts, labels.shape))
        wrong = np.count_nonzero((labels == 1) != (self._population.truth(x) == 1), axis=1)
        live, row = ~halted, index - 1
        self.answers[row] += live * labels.shape[1]
        self.worst[row] = np.maximum(self.worst[row], np.where(live, errors.max(axis=1), 0))
        self.total[row] += live * errors.sum(axis=1)
        self.wrong[row] += live * wrong

    def read_figures(self) -> np.ndarray:
        """(5, rounds, n): answers, worst, total, wrong, and the error of the best concept."""
        best = np.broadcast_to(self.evaluation.best_error, self.answers.shape)
        return np.stack([self.answers, self.worst, self.total, self.wrong, best])


@attrs.frozen
class ObservedLearner(Learner):
    """A learner whose answers a recorder observes. Random numbers and answers stay the same."""

    protocols = ("Figure1",)

    learner: Learner
    recorder: ErrorRecorder

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.learner.name

    @property
    def claim(self) -> Claim:
        return self.learner.claim

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.learner.point_shape

    def start(self, games: int, rng: np.random.Generator) -> ErrorRecorder:
        self.recorder.state = self.learner.start(games, rng)
        return self.recorder
