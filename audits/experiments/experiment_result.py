"""The result of an experiment: means over its repetitions, with their standard errors."""

from __future__ import annotations

import math
import struct

import attrs
import numpy as np

from arena import InvalidArgument
from audits.experiments.experiment_plan import ExperimentRow, PateExperiment
from audits.experiments.paper_table import PaperRow, find_paper_row

NORMAL_95 = 1.96  # the 97.5 % quantile of the normal distribution
_MAGIC = b"pate"  # the first bytes of a tally
_HEAD = struct.Struct("<q")


@attrs.frozen(eq=False)
class RepetitionTally:
    """The counts of a repetition, from which every figure follows.

    Shapes, for k rows: answers (k,) int64, the number of answers to each row's student; confusions
    (k + 1, 2, 2) int64, at [r, y, l] the test examples with label y that row r labels l, the last for the
    vote of all teachers without noise.
    """

    answers: np.ndarray
    confusions: np.ndarray

    @property
    def pairs(self) -> int:
        """The number of repetitions, as a ledger counts."""
        return 1

    def to_bytes(self) -> bytes:
        """A canonical encoding."""
        numbers = np.concatenate([self.answers, self.confusions.ravel()]).astype("<i8")
        return _MAGIC + _HEAD.pack(len(self.answers)) + numbers.tobytes()

    @classmethod
    def from_bytes(cls, blob: bytes) -> RepetitionTally:
        """The inverse of `to_bytes`; raises InvalidArgument for any other bytes."""
        try:
            (rows,) = _HEAD.unpack_from(blob, len(_MAGIC))
            numbers = np.frombuffer(blob, "<i8", offset=len(_MAGIC) + _HEAD.size).astype(np.int64)
            if not blob.startswith(_MAGIC) or rows < 0 or len(numbers) != 5 * rows + 4:
                raise ValueError("length")
        except (struct.error, ValueError) as error:
            raise InvalidArgument("the bytes are not the figures of a repetition") from error
        return cls(numbers[:rows], numbers[rows:].reshape(rows + 1, 2, 2))


@attrs.frozen
class MeanOverSplits:
    """The mean of a figure over repetitions, and 1.96 standard errors; None for a single repetition."""

    value: float
    half_width: float | None

    @classmethod
    def of(cls, figures: np.ndarray) -> MeanOverSplits:
        """figures: (n,), of n repetitions."""
        n = len(figures)
        half_width = float(NORMAL_95 * figures.std(ddof=1) / math.sqrt(n)) if n > 1 else None
        return cls(float(figures.mean()), half_width)


@attrs.frozen(kw_only=True)
class RowFigures(ExperimentRow):
    """The figures of a row of the table.

    answers: the number of answers to the student. epsilon_ex_post: the mean over repetitions of what they
    would cost at δ if their number had been fixed (nats; infinite without noise). This is no guarantee, since
    the number follows from noisy answers. paper: the row of the paper's Table 4, if it has one.
    """

    derived = ("difference",)  # what JSON shows beside the fields

    answers: MeanOverSplits
    epsilon_ex_post: float
    accuracy: MeanOverSplits
    balanced_accuracy: MeanOverSplits
    f1: MeanOverSplits
    paper: PaperRow | None

    @property
    def difference(self) -> float | None:
        """The accuracy minus the paper's."""
        return None if self.paper is None else self.accuracy.value - self.paper.accuracy


@attrs.frozen(eq=False)
class ExperimentResult:
    """The figures of the finished repetitions, in their order. interrupted: some are missing."""

    experiment: PateExperiment
    tallies: tuple[RepetitionTally, ...]
    interrupted: bool = False

    @property
    def rows(self) -> list[RowFigures]:
        """The rows of the table; none before the first repetition."""
        if not self.tallies:
            return []
        return [self._summarise(place, row) for place, row in enumerate(self.experiment.rows)]

    @property
    def vote(self) -> MeanOverSplits | None:
        """The accuracy of the vote of all teachers, without noise and without a student."""
        return MeanOverSplits.of(measure_accuracy(self._confusions(-1))) if self.tallies else None

    @property
    def majority(self) -> float:
        """The share of the examples with the more frequent label: the accuracy of always predicting it."""
        ones = float(self.experiment.data.labels.mean())
        return max(ones, 1 - ones)

    def _confusions(self, place: int) -> np.ndarray:
        return np.stack([tally.confusions[place] for tally in self.tallies])

    def _summarise(self, place: int, row: ExperimentRow) -> RowFigures:
        confusions = self._confusions(place)
        answers = np.array([tally.answers[place] for tally in self.tallies])
        return RowFigures(
            method=row.method,
            epsilon=row.epsilon,
            answers=MeanOverSplits.of(answers),
            epsilon_ex_post=float(np.mean([self._cost(count, row) for count in answers.tolist()])),
            accuracy=MeanOverSplits.of(measure_accuracy(confusions)),
            balanced_accuracy=MeanOverSplits.of(measure_balanced_accuracy(confusions)),
            f1=MeanOverSplits.of(measure_f1(confusions)),
            paper=find_paper_row(self.experiment.examples, row.method, row.epsilon),
        )

    def _cost(self, answers: int, row: ExperimentRow) -> float:
        plan = self.experiment
        if math.isinf(row.epsilon):
            return math.inf
        if row.screened:  # its cost depends on the answers ⊥ and labels of a whole run
            return row.epsilon
        limit = plan.count_answers(row.method)
        return plan.players.cost(answers, of=limit, epsilon=row.epsilon, delta=plan.delta_run)


# Measures (n,) of confusions (n, 2, 2), by label and prediction. A share of no examples counts as 0.


def measure_accuracy(confusions: np.ndarray) -> np.ndarray:
    return np.asarray(np.trace(confusions, axis1=1, axis2=2) / confusions.sum(axis=(1, 2)))


def measure_balanced_accuracy(confusions: np.ndarray) -> np.ndarray:
    """The mean over both labels of the share of their examples that are labelled correctly."""
    correct = np.diagonal(confusions, axis1=1, axis2=2)
    return np.asarray((correct / np.maximum(confusions.sum(axis=2), 1)).mean(axis=1))


def measure_f1(confusions: np.ndarray) -> np.ndarray:
    """The F1 score of label 1."""
    total = confusions[:, 1].sum(axis=1) + confusions[:, :, 1].sum(axis=1)
    return np.asarray(2 * confusions[:, 1, 1] / np.maximum(total, 1))
