"""What an experiment found: means over its repetitions, with what they may be off by."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from audits.experiments.plan import Experiment, Row
from audits.experiments.printed import Printed, printed
from audits.experiments.tally import Tally

NORMAL_95 = 1.96
_MEASURES = ("accuracy", "balanced_accuracy", "f1")


@attrs.frozen
class Mean:
    """The mean of a figure over repetitions, and 1.96 standard errors; None of a single repetition."""

    value: float
    off: float | None

    @classmethod
    def of(cls, figures: np.ndarray) -> Mean:
        """figures: (n,), of n repetitions."""
        n = len(figures)
        off = float(NORMAL_95 * figures.std(ddof=1) / math.sqrt(n)) if n > 1 else None
        return cls(float(figures.mean()), off)


@attrs.frozen(kw_only=True)
class Outcome:
    """A row of the table.

    answers: those that the student was given. epsilon_ex_post: the mean over repetitions of what they would
    cost at δ if their number had been fixed (nats; infinite without noise): no guarantee, as the number
    follows from noisy answers. paper: the row of the paper's Table 4, where it has one.
    """

    row: Row
    answers: Mean
    epsilon_ex_post: float
    accuracy: Mean
    balanced_accuracy: Mean
    f1: Mean
    paper: Printed | None

    @property
    def difference(self) -> float | None:
        """The accuracy less the paper's."""
        return None if self.paper is None else self.accuracy.value - self.paper.accuracy

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for an infinite ε, and for what is not known."""
        means = {name: attrs.asdict(getattr(self, name)) for name in ("answers", *_MEASURES)}
        return {
            "method": self.row.method,
            "epsilon": _finite(self.row.epsilon),
            "epsilon_ex_post": _finite(self.epsilon_ex_post),
            **means,
            "paper": None if self.paper is None else attrs.asdict(self.paper),
            "difference": self.difference,
        }


@attrs.frozen(eq=False)
class Result:
    """The figures of the repetitions that are there, in their order.

    interrupted: not all of them are.
    """

    experiment: Experiment
    tallies: tuple[Tally, ...]
    interrupted: bool = False

    @property
    def outcomes(self) -> list[Outcome]:
        """One for each row; there must be a repetition."""
        return [self._outcome(place, row) for place, row in enumerate(self.experiment.rows)]

    @property
    def vote(self) -> Mean:
        """The accuracy of the vote of all teachers, without noise and without a student."""
        return Mean.of(_accuracy(self._told(-1)))

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for an infinite ε, and for what is not known."""
        plan = self.experiment
        sizes = ("examples", "private", "public", "tested", "teachers")
        return {
            **{name: getattr(plan, name) for name in sizes},
            "file": plan.data.path,
            "y": plan.data.y,
            "label_1": plan.data.values[1],
            "variables": len(plan.data.names),
            "delta": plan.delta_run,
            "players": plan.players.describe(),
            "repeats": plan.repeats,
            "repetitions": len(self.tallies),
            "interrupted": self.interrupted,
            "seed": plan.seed,
            "majority": self.majority,
            "vote": attrs.asdict(self.vote) if self.tallies else None,
            "rows": [one.as_json() for one in self.outcomes] if self.tallies else [],
        }

    @property
    def majority(self) -> float:
        """The share of the examples that have the commoner label: what always saying that label gets."""
        ones = float(self.experiment.data.labels.mean())
        return max(ones, 1 - ones)

    def _told(self, place: int) -> np.ndarray:
        """(n, 2, 2)."""
        return np.stack([tally.told[place] for tally in self.tallies])

    def _outcome(self, place: int, row: Row) -> Outcome:
        plan = self.experiment
        told = self._told(place)
        answers = np.array([tally.answers[place] for tally in self.tallies])
        spent = [self._spent(int(count), row) for count in answers]
        return Outcome(
            row=row,
            answers=Mean.of(answers),
            epsilon_ex_post=float(np.mean(spent)),
            accuracy=Mean.of(_accuracy(told)),
            balanced_accuracy=Mean.of(_balanced(told)),
            f1=Mean.of(_f1(told)),
            paper=printed(plan.examples, row.method, row.epsilon),
        )

    def _spent(self, answers: int, row: Row) -> float:
        plan = self.experiment
        if math.isinf(row.epsilon):
            return math.inf
        most = plan.answers_of(row.method)
        return plan.players.spent(answers, of=most, epsilon=row.epsilon, delta=plan.delta_run)


# Of confusions (n, 2, 2), by label and answer; a share of nothing counts as 0.


def _accuracy(told: np.ndarray) -> np.ndarray:
    return np.asarray(np.trace(told, axis1=1, axis2=2) / told.sum(axis=(1, 2)))


def _balanced(told: np.ndarray) -> np.ndarray:
    """The mean of the shares of either label that are right."""
    right = np.diagonal(told, axis1=1, axis2=2)
    return np.asarray((right / np.maximum(told.sum(axis=2), 1)).mean(axis=1))


def _f1(told: np.ndarray) -> np.ndarray:
    """Of label 1."""
    right = told[:, 1, 1]
    return np.asarray(2 * right / np.maximum(told[:, 1].sum(axis=1) + told[:, :, 1].sum(axis=1), 1))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
