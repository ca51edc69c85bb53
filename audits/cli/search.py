"""`arena search`: find an adversary that refutes a learner's claim, and print it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import click

from arena import InvalidArgument, Learner, Sample
from arena.settings import check_value, less_than, more_than
from audits.adversary_search import SPACES
from audits.adversary_search.adversary_search import ERROR, EXAMPLES, SearchProgress
from audits.api.search import search as search_adversary
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.common.command import Output, argument, option, option_groups, option_record
from audits.cli.common.completion import complete_learners, complete_protocols, complete_settings
from audits.cli.common.options import ClaimOptions, DataOptions, SeedOption, WorkerOptions, parse_settings
from audits.data.output_files import check_output_file
from audits.registry.players import LEARNERS, resolve_learner
from audits.registry.settings_text import build_player
from audits.registry.tested_claim import resolve_claim


@option_record
class SearchOptions(SeedOption, ClaimOptions, DataOptions):
    learner: str = argument(metavar="LEARNER", shell_complete=complete_learners)
    settings: tuple[str, ...] = option(
        "--set",
        metavar="NAME=VALUE",
        shell_complete=complete_settings,
        help="A setting of the learner; `arena show LEARNER` lists them. May be repeated.",
    )
    protocol: str | None = option(
        "--protocol",
        metavar="NAME",
        shell_complete=complete_protocols,
        help=f"One of {', '.join(SPACES)}. Default: the learner's.",
    )
    confidence: float = option(
        "--confidence",
        default=1 - ERROR,
        help="The probability that the search refutes a true claim is at most 1 minus this.",
    )
    error: float | None = option("--error", hidden=True)
    examples: int = option("--examples", metavar="N", default=EXAMPLES, help="Number of adversaries to try.")
    games: int | None = option(
        "--games",
        metavar="N",
        help="Maximum number of games in each world to confirm an adversary. Default: 20,000, more for a "
        "large ε.",
    )
    file: str | None = option(
        "--output",
        "-o",
        metavar="FILE.py",
        help="Write the adversary to this file, as a player for arena audit.",
    )

    def build_learner(self, sample: Sample | None) -> Learner:
        """The configured learner, for data of the size of the user's."""
        settings = parse_settings(self.settings)
        if settings["adversary"]:
            raise click.UsageError("A search makes its own adversary, which has no settings.")
        name, own_settings = resolve_learner(self.learner)
        return build_player(LEARNERS.find(name), own_settings | settings["learner"], sample=sample)

    def get_error(self) -> float:
        """The probability of refuting a true claim, as --error or as --confidence gives it."""
        if self.error is not None:
            return self.error
        check_value("confidence", self.confidence, more_than(0), less_than(1, "Write 0.95 for 95 %."))
        return round(1 - self.confidence, 15)

    def check_file(self) -> None:
        """Refuse an output file that could not be written, or not be used as a player."""
        if self.file is None:
            return
        if not self.file.endswith(".py"):
            raise InvalidArgument(
                "the adversary is written as a file of Python", value=self.file, remedy="Name a file FILE.py."
            )
        check_output_file("adversary's file", self.file)


@click.command("search")
@option_groups
def search(asked: SearchOptions, workers: WorkerOptions, output: Output) -> None:
    """Search for an adversary that refutes LEARNER's claim of privacy.

    Adversaries are generated at random. The first whose games are evidence against the claim is simplified
    as far as possible, and then confirmed on fresh games. The whole search refutes a true claim with
    probability at most 1 minus --confidence. Printed are the verdict, the smallest game side by side in both
    worlds, and its adversary as a file of Python. Exit status: 0 nothing found, 3 refuted, 2 invalid usage,
    130 interrupted.

    \b
    Examples:
      arena search everlasting-v1
      arena search static-erm --epsilon 1 -o found.py
      arena search everlasting-v1 --set halts=4 --seed 7 --jobs 2
      arena search my_learner.py:Mine --examples 5_000 --json
      arena search my_file.py:f --set epsilon=1 --set receives=points --data people.csv --x age --y income
    """
    sample = asked.load_sample()
    learner = asked.build_learner(sample)
    claim = asked.arguments()
    if claim["curve"] is None:
        resolve_claim(
            learner, claim["epsilon"], claim["delta"], purpose="refute"
        )  # before anything is written
    asked.check_file()
    output.print_notes(learner.shortcomings)
    with _show_progress(output) as watch:
        result = search_adversary(
            learner,
            data=sample,
            protocol=asked.protocol,
            error=asked.get_error(),
            examples=asked.examples,
            games=asked.games,
            seed=asked.seed,
            jobs=workers.build(),
            progress=watch,
            **claim,
        )
    name = shlex.join([asked.learner, *(word for pair in asked.settings for word in ("--set", pair))])
    result = attrs.evolve(result, given=name, file=asked.file)
    if asked.file is not None and result.source:
        Path(asked.file).write_text(result.source, encoding="utf-8")
    output.print_result(result)
    click.get_current_context().exit(REFUTED if result.refuted else INTERRUPTED if result.interrupted else 0)


@contextmanager
def _show_progress(output: Output) -> Iterator[Callable[[SearchProgress], None]]:
    with output.progress_bar("adversaries") as bar:

        def update(progress: SearchProgress) -> None:
            bar.total = progress.of
            bar.set_postfix_str(f"{progress.best:.1f} nats", refresh=False)
            bar.update(progress.examples - bar.n)

        yield update
