"""`arena search`: find an adversary that refutes a learner's claim, and print it."""

from __future__ import annotations

import os
import shlex
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import click
from tabulate import tabulate

from arena import InvalidArgument, Learner
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.option_groups import argument, option, option_groups, option_record
from audits.cli.options import INTEGER, REAL, ClaimOptions, SeedOption, WorkerOptions, parse_settings
from audits.cli.output import Output
from audits.registry.players import LEARNERS, resolve_learner
from audits.registry.settings_text import build_player, summarize_player
from audits.registry.tested_claim import read_claim, resolve_claim
from audits.runs.example_games import write_example_games

# Hypothesis caches what it knows about modules; by default in the current folder, which is the user's.
os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(Path(tempfile.gettempdir(), "arena-hypothesis")))

from audits.search.explore import BAR
from audits.search.printing import CLASS, source
from audits.search.search import ERROR, EXAMPLES, Progress, SearchResult
from audits.search.search import search as search_adversary

_WIDTH = 100


@option_record
class SearchOptions(SeedOption, ClaimOptions):
    """The learner and the extent of the search."""

    learner: str = argument(metavar="LEARNER")
    settings: tuple[str, ...] = option(
        "--set", metavar="NAME=VALUE", multiple=True, help="Set a field of the learner. May be repeated."
    )
    protocol: str | None = option(
        "--protocol", metavar="NAME", help="Figure1, Release, Voting or SpecialRound. Default: the learner's."
    )
    error: float = option(
        "--error",
        type=REAL,
        default=ERROR,
        show_default=True,
        help="Maximum probability that the search refutes a true claim.",
    )
    examples: int = option(
        "--examples",
        type=INTEGER,
        metavar="N",
        default=EXAMPLES,
        show_default=True,
        help="Number of adversaries to try.",
    )
    games: int | None = option(
        "--games",
        type=INTEGER,
        metavar="N",
        help="Maximum number of games in each world to confirm an adversary. Default: 20,000, more for a "
        "large ε.",
    )
    file: str | None = option(
        "-o",
        "--output",
        metavar="FILE.py",
        help="Write the adversary to this file, as a player for arena audit.",
    )

    def build_learner(self) -> Learner:
        """The configured learner."""
        settings = parse_settings(self.settings)
        if settings["adversary"]:
            raise click.UsageError("A search makes its own adversary, which has no settings.")
        name, own_settings = resolve_learner(self.learner)
        return build_player(LEARNERS.find(name), own_settings | settings["learner"])

    def check_file(self) -> None:
        """Refuse an output file that could not be written, or not be used as a player."""
        if self.file is None:
            return
        if not self.file.endswith(".py"):
            raise InvalidArgument(
                "the adversary is written as Python source", value=self.file, remedy="Name a file FILE.py."
            )
        if not Path(self.file).resolve().parent.is_dir() or Path(self.file).is_dir():
            raise InvalidArgument("the adversary's file must be in an existing folder", value=self.file)


@click.command("search")
@option_groups(asked=SearchOptions, workers=WorkerOptions, output=Output)
def search(asked: SearchOptions, workers: WorkerOptions, output: Output) -> None:
    """Search for an adversary that refutes LEARNER's claim of privacy.

    Adversaries are generated at random. The first whose games are evidence against the claim is simplified
    as far as possible, and then confirmed on fresh games. The whole search refutes a true claim with
    probability at most --error. Printed are the verdict, the smallest game side by side in both worlds, and
    its adversary as source. Exit status: 0 nothing found, 3 refuted, 2 invalid usage, 130 interrupted.

    \b
    Examples:
      arena search everlasting-v1
      arena search static-erm --epsilon 1 -o found.py
      arena search everlasting-v1 --set halts=4 --seed 7 --jobs 2
      arena search my_learner.py:Mine --examples 5_000 --json
    """
    learner = asked.build_learner()
    epsilon, delta = resolve_claim(learner, asked.epsilon, asked.delta, purpose="refute")
    asked.check_file()
    with _show_progress(output) as watch:
        result = search_adversary(
            learner,
            protocol=asked.protocol,
            claim=attrs.evolve(read_claim(learner), epsilon=epsilon, delta=delta),
            error=asked.error,
            examples=asked.examples,
            confirm_games=asked.games,
            seed=asked.seed,
            jobs=workers.build(),
            watch=watch,
        )
    name = shlex.join([asked.learner, *(word for pair in asked.settings for word in ("--set", pair))])
    code = source(result, learner=name, file=asked.file or "found.py") if result.refuted else None
    if asked.file is not None and code is not None:
        Path(asked.file).write_text(code, encoding="utf-8")
    if output.as_json:
        output.print_result({**result.as_json(), "source": code}, str)
    else:
        click.echo(_format_text(result, code, asked.file))
    click.get_current_context().exit(REFUTED if result.refuted else INTERRUPTED if result.interrupted else 0)


def _format_text(result: SearchResult, code: str | None, file: str | None) -> str:
    sections = [tabulate(_format_rows(result), tablefmt="plain", disable_numparse=True)]
    sections.append(textwrap.fill(_explain(result), _WIDTH))
    if code is not None:
        plan = result.plan
        assert plan is not None
        game = write_example_games(
            plan.learner, plan.adversary, plan.referee, seed=plan.seed, faults=plan.faults
        )
        sections.append(f"The smallest game found that shows it:\n\n{game}")
        sections.append(
            f"The adversary is in {file}, class {CLASS}." if file else f"The adversary:\n\n{code.rstrip()}"
        )
    return "\n\n".join(sections)


def _format_rows(result: SearchResult) -> list[tuple[str, str]]:
    rows = [
        ("learner", summarize_player(result.learner)),
        ("protocol", result.protocol),
        ("claim under test", str(result.claim)),
        ("tried", f"{result.examples:,} adversaries, {result.games:,} games in each world"),
        ("confirmations", f"{result.confirmations}, all of them together at an error of {result.error:g}"),
        ("seed", str(result.seed)),
    ]
    if result.verdict is not None:
        bound = f"ε ≥ {result.verdict.epsilon_lower:.4g} nats at δ = {result.claim.delta:.3g}"
        rows.insert(3, ("certified", f"{bound}, on {result.verdict.games:,} fresh games in each world"))
    if result.rejected:
        rows.insert(-1, ("declined", f"{result.rejected:,} adversaries that the learner would not play"))
    return rows


def _explain(result: SearchResult) -> str:
    if result.verdict is not None:
        return (
            f"Refuted: except with probability {result.error:g} the claim is false, and so is every claim "
            f"below ε = {result.verdict.epsilon_lower:.4g} at δ = {result.claim.delta:.3g}."
        )
    reason = f"the best gave {result.best:.2g} nats of evidence, fewer than the {BAR:g} to be confirmed"
    if result.confirmations:
        reason = f"{result.confirmations} seemed to refute the claim, and fresh games did not confirm it"
    text = f"Nothing found: of {result.examples:,} adversaries {reason}. This is no proof of privacy."
    return f"Interrupted. {text}" if result.interrupted else text


@contextmanager
def _show_progress(output: Output) -> Iterator[Callable[[Progress], None]]:
    """A progress bar of the adversaries tried, with the best evidence so far."""
    with output.progress_bar("adversaries") as bar:

        def update(progress: Progress) -> None:
            bar.total = progress.of
            bar.set_postfix_str(f"{progress.best:.1f} nats", refresh=False)
            bar.update(progress.examples - bar.n)

        yield update
