"""Running an experiment: the repetitions that are missing, anywhere; remembered one by one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

from audits.experiments.plan import Experiment
from audits.experiments.repetition import repetition
from audits.experiments.result import Result
from audits.experiments.tally import Book, Tally
from audits.runs.workers import Workers, map_in_order


def run(
    experiment: Experiment,
    *,
    jobs: int | Workers = 1,
    ledger: str | Path | None = None,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Play the repetitions, or what a ledger says is left of them.

    jobs: processes, or `Workers`. ledger: a file that keeps every repetition; a run that is killed and run
    again ends with the figures of an undisturbed one. watch: called with the repetitions that are there, as
    they come.

    Figures do not depend on jobs, on interruptions, or on the ledger. A keyboard interrupt ends the run early
    with what it has, marked `interrupted`.

    Raises: InvalidArgument and `LedgerFailed` of the ledger; WorkersFailed of the workers; whatever the
    players raise.
    """
    workers = Workers.from_jobs(jobs)
    with nullcontext() if ledger is None else closing(Book.open(ledger, experiment.describe())) as book:
        found: dict[int, Tally] = {} if book is None else dict(book.blocks())
        missing = [index for index in range(experiment.repeats) if index not in found]
        interrupted = False
        with closing(_played(experiment, missing, workers, book)) as played:
            try:
                if watch is not None:
                    watch(len(found))
                for index, tally in zip(missing, played, strict=True):
                    found[index] = tally
                    if watch is not None:
                        watch(len(found))
            except KeyboardInterrupt:
                interrupted = True
    return Result(experiment, tuple(found[index] for index in sorted(found)), interrupted)


def _played(
    experiment: Experiment, missing: list[int], workers: Workers, book: Book | None
) -> Generator[Tally, None, None]:
    """The missing repetitions in order, remembered as they come."""
    keep = None if book is None else book.add
    return map_in_order(partial(repetition, experiment), missing, workers, keep=keep, unit="repetition")
