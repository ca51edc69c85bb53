"""Running an experiment: repetitions, played by workers in any order and kept in a ledger."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from arena import Sample
from arena.randomness import block_seed, generator
from audits.experiments.experiment_plan import PateExperiment
from audits.experiments.experiment_players import StudentTask
from audits.experiments.experiment_result import ExperimentResult, RepetitionTally
from audits.runs.ledger import Store
from audits.runs.workers import Workers, map_missing

_SPLIT_SEEDS = 2**32  # the seed of the teachers' partition is below


class ExperimentLedger(Store[RepetitionTally]):
    """The ledger of an experiment, with a block for each repetition."""

    decode = staticmethod(RepetitionTally.from_bytes)

    @cached_property
    def sizes(self) -> list[int]:
        return [1] * self.plan["repeats"]

    def find_fault(self, result: RepetitionTally) -> str:
        rows = self.plan.get("methods")
        sizes = result.confusions.sum(axis=(1, 2))
        counted = result.confusions.min() >= 0 and sizes.min() == sizes.max() > 0
        if not isinstance(rows, list) or len(result.answers) != len(rows) or not counted:
            return "its counts are those of no repetition"
        return "an answer counts less than nothing" if (result.answers < 0).any() else ""


def run_experiment(
    experiment: PateExperiment,
    *,
    jobs: int | Workers = 1,
    ledger: str | Path | None = None,
    watch: Callable[[int], None] | None = None,
) -> ExperimentResult:
    """Play the repetitions, or those that a ledger does not hold yet.

    jobs, ledger, interrupts: as in `audits.runs.run.run`. watch: called with the repetitions so far.

    Raises: InvalidArgument and `LedgerFailed` of the ledger; WorkersFailed; whatever the players raise.
    """
    play = partial(play_repetition, experiment)
    store = nullcontext() if ledger is None else closing(ExperimentLedger.open(ledger, experiment.describe()))
    with store as book:
        tallies, interrupted = map_missing(
            play,
            range(experiment.repeats),
            {} if book is None else dict(book.blocks()),
            jobs,
            keep=None if book is None else book.add,
            watch=watch,
            unit="repetition",
        )
    return ExperimentResult(experiment, tuple(tallies[index] for index in sorted(tallies)), interrupted)


def play_repetition(experiment: PateExperiment, index: int) -> RepetitionTally:
    """Play repetition `index`: a split of the data, teachers, and a student for every row of the table.

    It depends only on the plan and the index. There are three streams of random numbers: the split of the
    data, the teachers' partition of the private part, and the noise. The students of all rows draw the same
    noise from its beginning, so that rows are compared on common random numbers and no row depends on others.
    """
    data, teachers = experiment.data, experiment.teachers
    seeds = block_seed(experiment.seed, index).spawn(3)
    order = generator(seeds[0]).permutation(experiment.examples)
    private, public, tested = np.split(order, np.cumsum([experiment.private, experiment.public]))
    public_points, test_points = (data.points[part].astype(np.float64) for part in (public, tested))
    ones = experiment.players.count_ones(
        Sample(data.points[private], data.labels[private]),
        teachers,
        int(generator(seeds[1]).integers(_SPLIT_SEEDS)),
        np.concatenate([public_points, test_points]),
    )
    answers, predictions = [], []
    for row in experiment.rows:
        student = experiment.players.train(
            StudentTask(
                active=row.active,
                epsilon=row.epsilon,
                delta=experiment.delta_run,
                answers=experiment.count_answers(row.method),
                teachers=teachers,
                points=public_points,
                ones=ones[: len(public_points)],
                noise=generator(seeds[2]),
                screened=row.screened,
            )
        )
        answers.append(student.answers)
        predictions.append(student.label(test_points))
    predictions.append(2 * ones[len(public_points) :] >= teachers)
    confusions = [count_confusion(data.labels[tested], predicted) for predicted in predictions]
    return RepetitionTally(np.array(answers, np.int64), np.array(confusions, np.int64))


def count_confusion(labels: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """(2, 2): at [y, l] the number of examples with label y that are labelled l; labels, predicted: (m,)."""
    counts = np.bincount(2 * labels.astype(np.int64) + predicted.astype(np.int64), minlength=4)
    return counts.reshape(2, 2)
