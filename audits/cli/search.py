"""`arena search`: find an adversary that refutes a learner's claim, and print it."""

from __future__ import annotations

import shlex
from pathlib import Path

import attrs
import click

from arena import InvalidArgument
from arena.settings import check_value, less_than, more_than
from audits.adversary_search import SPACES
from audits.adversary_search.adversary_search import ERROR, SearchProgress
from audits.adversary_search.odometer_search import OdometerResult, reports_loss
from audits.api.search import search as search_adversary
from audits.cli import INTERRUPTED, REFUTED, UNDECIDED
from audits.cli.completion import complete_learners
from audits.cli.options import (
    DataOptions,
    LimitOptions,
    SeedOption,
    WorkerOptions,
    argument,
    option,
    option_groups,
    option_record,
    parse_settings,
    plan_option,
    protocol_option,
    settings_option,
)
from audits.cli.output import Output, ResultFiles
from audits.data.output_files import check_output_file
from audits.interrupts import Interrupted
from audits.registry.match import load_data, resolve_claim
from audits.registry.players import configure_learner
from audits.runs.other_relation import is_chosen


@option_record
class ClaimOptions:
    epsilon: float | None = plan_option("epsilon")
    delta: float | None = plan_option("delta")
    curve: str | None = plan_option("curve")


@option_record
class SearchOptions(SeedOption, LimitOptions, ClaimOptions, DataOptions):
    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    settings: tuple[str, ...] = settings_option(
        "A setting of the learner; `arena show LEARNER` lists them. May be repeated."
    )
    protocol: str | None = protocol_option(f"One of {', '.join(SPACES)}. Default: the learner's.")
    confidence: float = option(
        "--confidence",
        default=1 - ERROR,
        help="The probability that the search refutes a true claim is at most 1 minus this.",
    )
    error: float | None = option("--error", hidden=True)
    examples: int | None = option(
        "--examples",
        metavar="N",
        help="Number of adversaries to try. Default: with a limit in calls or seconds as many as it allows, "
        "otherwise that of the protocol, 250 or 1,000.",
    )
    games: int | None = option(
        "--games",
        metavar="N",
        help="Maximum number of games in each world to confirm an adversary. Default: 20,000 or more.",
    )
    bits: bool = option(
        "--bits",
        help="Let the last bits of released numbers count, which tell of floating point. Most claims are "
        "meant for real numbers.",
    )
    file: str | None = option(
        "--output",
        "-o",
        metavar="FILE.py",
        help="Write the adversary to this file, as a player for arena audit.",
    )


@click.command("search")
@option_groups
def search(asked: SearchOptions, files: ResultFiles, workers: WorkerOptions, output: Output) -> int:
    """Search for an adversary that refutes LEARNER's claim of privacy.

    Adversaries are generated at random. The first whose games are evidence against the claim is simplified
    as far as possible, and then confirmed on fresh games. The whole search refutes a true claim with
    probability at most 1 minus --confidence. Printed are the verdict, the smallest game side by side in both
    worlds, and its adversary as a file of Python. Exit status: 0 nothing found, 3 refuted, 4 undecided, since
    a limit left too few games, or nobody chose the neighbouring relation, 2 invalid usage, 130 interrupted.

    \b
    Examples:
      arena search everlasting-v1
      arena search static-erm --epsilon 1 -o found.py
      arena search everlasting-v1 --set halts=4 --seed 7 --jobs 2
      arena search my_learner.py:Mine --examples 5_000 --json
      arena search my_file.py:f --epsilon 1 --data people.csv --neighbours 'add or remove one'
      arena search my_file.py:f --set epsilon=1 --data people.csv --x age --y income
    """
    source, settings = asked.read(asked.learner, parse_settings(asked.settings))
    sample = load_data(source, None)
    if settings["adversary"]:
        raise click.UsageError("A search makes its own adversary, which has no settings.")
    learner = configure_learner(asked.learner, settings["learner"], sample)
    if asked.curve is None and not reports_loss(learner):  # refused before anything is written
        resolve_claim(learner, asked.epsilon, asked.delta, purpose="refute")
    error = asked.error
    if error is None:
        check_value("confidence", asked.confidence, more_than(0), less_than(1, "Write 0.95 for 95 %."))
        error = round(1 - asked.confidence, 15)
    if asked.file is not None:
        if not asked.file.endswith(".py"):
            raise InvalidArgument(
                "the adversary is written as a file of Python", value=asked.file, remedy="Name a FILE.py."
            )
        check_output_file("adversary's file", asked.file)
    output.print_notes(learner.shortcomings)
    with output.progress_bar("adversaries") as bar:

        def update(progress: SearchProgress) -> None:
            bar.total = progress.of
            bar.set_postfix_str(f"{progress.best:.1f} nats", refresh=False)
            bar.update(progress.examples - bar.n)

        try:
            result = search_adversary(
                learner,
                data=None if learner.receives_records else sample,
                protocol=asked.protocol,
                error=error,
                examples=asked.examples,
                games=asked.games,
                jobs=workers.build(),
                progress=update,
                epsilon=asked.epsilon,
                delta=asked.delta,
                curve=asked.curve,
                seed=asked.seed,
                max_calls=asked.max_calls,
                max_seconds=asked.max_seconds,
                announce=output.print_cost,
                bits=asked.bits,
                relation_chosen=is_chosen(asked.learner, settings["learner"]),
            )
        except Interrupted as interrupt:
            result = interrupt.result
    if isinstance(result, OdometerResult):
        output.print_result(result)
        files.write_files(result)
        return REFUTED if result.refuted else 0
    words = [asked.learner, *(word for pair in asked.settings for word in ("--set", pair))]
    name = shlex.join([*words, *asked.list_record_options(learner)])
    result = attrs.evolve(result, given=name, file=asked.file)
    if asked.file is not None and result.source:
        Path(asked.file).write_text(result.source, encoding="utf-8")
    output.print_result(result)
    files.write_files(result)
    if result.interrupted and not result.refuted:
        return INTERRUPTED
    return REFUTED if result.refuted else UNDECIDED if result.undecided else 0
