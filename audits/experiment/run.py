"""Running an experiment: the repetitions that are missing, anywhere; remembered one by one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

from arena import InvalidArgument
from audits.experiment.plan import Experiment
from audits.experiment.repetition import repetition
from audits.experiment.result import Result
from audits.experiment.tally import Book, Tally
from audits.parallel import in_order


def run(
    experiment: Experiment,
    *,
    jobs: int = 1,
    ledger: str | Path | None = None,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Play the repetitions, or what a ledger says is left of them.

    jobs: processes. ledger: a file that keeps every repetition; a run that is killed and run again ends with
    the figures of an undisturbed one. watch: called with the repetitions that are there, as they come.

    Figures do not depend on jobs, on interruptions, or on the ledger. A keyboard interrupt ends the run early
    with what it has, marked `interrupted`.

    Raises: InvalidArgument and `LedgerFailed` of the ledger; whatever the players raise.
    """
    if jobs < 1:
        raise InvalidArgument("jobs must be at least 1", value=jobs)
    with nullcontext() if ledger is None else closing(Book.open(ledger, experiment.describe())) as book:
        found: dict[int, Tally] = {} if book is None else dict(book.blocks())
        missing = [index for index in range(experiment.repeats) if index not in found]
        interrupted = False
        with closing(in_order(partial(repetition, experiment), missing, jobs)) as played:
            try:
                if watch is not None:
                    watch(len(found))
                for index, tally in zip(missing, played, strict=True):
                    if book is not None:
                        book.add(index, tally)
                    found[index] = tally
                    if watch is not None:
                        watch(len(found))
            except KeyboardInterrupt:
                interrupted = True
    return Result(experiment, tuple(found[index] for index in sorted(found)), interrupted)
