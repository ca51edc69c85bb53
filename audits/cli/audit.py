"""`arena audit`: many games, and what they say about a privacy claim."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from audits import reports as report
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.options import DELTA, EPSILON, PART, REAL, WHOLE, WORKERS, takes_match, takes_workers
from audits.cli.progress import bar, counted
from audits.registry.match import Match
from audits.registry.settings_text import under_test
from audits.runs.blocks import choose_distinguisher
from audits.runs.estimation import Progress
from audits.runs.plan import DISTINGUISHERS, LEARNED, LIKELIHOOD, SCORE, Plan
from audits.runs.run import run
from audits.runs.shards import Part, play_part
from audits.runs.stopped import Stopped
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers

# Options on which no figure hangs.
BESIDE = ("quiet", "estimators", *WORKERS, "ledger", "part", "as_json", "html")
GAMES = 100_000
MOST_GAMES = 10_000_000
_WITHOUT_SCORE = {
    LEARNED: "{} returns no score, so a distinguisher is learned from the games",
    LIKELIHOOD: "{} returns no score, so the worlds are told apart by the likelihood ratio",
}


@click.command()
@takes_match
@EPSILON
@DELTA
@click.option(
    "--games",
    type=WHOLE,
    metavar="N",
    help="Games in each world. Default: 100,000; with --until-refuted at most 10 million.",
)
@click.option(
    "--until-refuted",
    is_flag=True,
    help="Stop as soon as the claim is refuted; the confidence stays what it is.",
)
@click.option(
    "--confidence",
    type=REAL,
    default=0.95,
    show_default=True,
    help="The audit errs with a chance of at most 1 - this.",
)
@click.option(
    "--distinguisher",
    type=click.Choice(DISTINGUISHERS),
    help="What tells the worlds apart: the adversary's score, a distinguisher learned from the games as they are "
    "played, or the likelihood ratio. Default: the score if there is one, else the best of the others.",
)
@click.option(
    "--faults",
    is_flag=True,
    help="The adversary sees it when the learner raises or declines; else that ends the audit.",
)
@click.option("--estimators", is_flag=True, help="Print every estimator beside the test, on the same games.")
@takes_workers
@click.option(
    "--ledger",
    metavar="FILE",
    help="Keep every block of games here; the same command again, or arena resume FILE, goes on from there.",
)
@PART
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object; null stands for a figure that is not finite."
)
@click.option("--html", metavar="FILE", help="Also write the page that arena report writes.")
def audit(
    found: Match,
    *,
    quiet: bool,
    estimators: bool,
    jobs: Workers,
    ledger: str | None,
    part: Part | None,
    as_json: bool,
    html: str | None,
    **asked: Any,
) -> None:
    """Play LEARNER in two neighbouring worlds and certify a lower bound on the ε that it loses.

    The bound, in nats, may be looked at and the audit stopped at any time. Exit status: 0 not refuted,
    3 refuted, 2 bad use, or a disk that failed, 130 interrupted (of both, the figures so far are printed).

    \b
    Examples:
      arena audit laplace-count --against count-swap --epsilon 0.5
      arena audit everlasting-v1 --against halt-counter --until-refuted --jobs 4
      arena audit static-erm --against reconstruct --epsilon 1 --json
      arena audit everlasting-v2 --against query-swap --set teachers=2_001 \\
          --set adversary.probes=20 --ledger run.ledger --html report.html
      arena audit everlasting-v1 --against halt-counter \\
          --data people.csv.gz --x age --y income --positive '>50K'
      arena audit static-erm --against reconstruct --epsilon 1 --games 1e8 \\
          --ledger second.ledger --part 2/5
    """
    plan = planned(found, quiet=quiet, **asked)
    carry_out(
        plan,
        command=_command(),
        quiet=quiet,
        estimators=estimators,
        jobs=jobs,
        ledger=ledger,
        part=part,
        as_json=as_json,
        html=html,
    )


def planned(
    found: Match,
    *,
    seed: int,
    quiet: bool,
    epsilon: float | None,
    delta: float | None,
    games: int | None,
    until_refuted: bool,
    confidence: float,
    distinguisher: str | None,
    faults: bool,
) -> Plan:
    """The plan that the options of `arena audit` ask for."""
    if distinguisher is None:
        distinguisher = choose_distinguisher(found.learner, found.adversary, found.referee)
        if distinguisher != SCORE and not quiet:
            click.echo(f"arena: note: {_WITHOUT_SCORE[distinguisher].format(found.adversary.name)}", err=True)
    epsilon, delta = under_test(found.learner, epsilon, delta)
    return Plan(
        learner=found.learner,
        adversary=found.adversary,
        referee=found.referee,
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        games=(MOST_GAMES if until_refuted else GAMES) if games is None else games,
        until_refuted=until_refuted,
        seed=seed,
        distinguisher=distinguisher,
        faults=faults,
    )


def carry_out(
    plan: Plan,
    *,
    command: str,
    quiet: bool,
    estimators: bool,
    jobs: Workers,
    ledger: str | None,
    part: Part | None,
    as_json: bool,
    html: str | None,
) -> NoReturn:
    """Play a plan, print what comes of it, and end with the status of the verdict.

    command: the command line that asks for the plan, for the notes of a new ledger.
    """
    if part is not None:
        _check_part(ledger, estimators=estimators, html=html)
        _play_part(plan, part, command=command, quiet=quiet, jobs=jobs, ledger=str(ledger), as_json=as_json)
    if html is not None:
        report.check_html(html, ledger)
    with TemporaryDirectory() as folder:
        if html is not None and ledger is None:
            ledger = str(Path(folder, "run.ledger"))  # from which the page is written
        try:
            with _bar(plan, hidden=quiet or as_json) as watch:
                verdict = run(plan, jobs=jobs, ledger=ledger, watch=watch, command=command, every=estimators)
        except Stopped as stopped:
            if stopped.verdict is not None and stopped.verdict.games:
                _print(stopped.verdict, plan, as_json=as_json)
            raise
        _print(verdict, plan, as_json=as_json)
        if html is not None and ledger is not None:
            if verdict.games:
                report.write_html(ledger, html)
            else:
                click.echo("arena: note: no block of games was finished, so there is no page", err=True)
    click.get_current_context().exit(status_of(verdict))


def status_of(verdict: Verdict) -> int:
    """The exit status that tells a verdict."""
    return INTERRUPTED if verdict.interrupted else REFUTED if verdict.refuted else 0


def _print(verdict: Verdict, plan: Plan, *, as_json: bool) -> None:
    click.echo(report.verdict_json(verdict) if as_json else report.verdict_text(verdict, plan=plan))


def _check_part(ledger: str | None, *, estimators: bool, html: str | None) -> None:
    if ledger is None:
        raise click.UsageError("--part needs --ledger FILE, in which it leaves its games.")
    if estimators or html is not None:
        raise click.UsageError(
            "A part has no verdict, so --part goes without --estimators and --html: merge the parts first."
        )


def _play_part(
    plan: Plan, part: Part, *, command: str, quiet: bool, jobs: Workers, ledger: str, as_json: bool
) -> NoReturn:
    of = sum(plan.pairs(index) for index in part.blocks(plan))
    with counted(of, "games", hidden=quiet or as_json, scaled=True) as watch:
        played = play_part(plan, part, ledger=ledger, jobs=jobs, watch=watch, command=command)
    if as_json:
        click.echo(json.dumps(played.as_json()))
    else:
        click.echo(
            f"Part {part}: {played.blocks:,} of {played.of_blocks:,} blocks, {played.games:,} of "
            f"{played.of_games:,} games in each world, are in {ledger}.\n"
            "A part has no verdict: arena merge the ledgers of all parts, then arena resume the whole."
        )
    click.get_current_context().exit(INTERRUPTED if played.interrupted else 0)


def _command() -> str:
    """The command line, as far as figures hang on it, in the order of --help."""
    context = click.get_current_context()
    words = ["arena", "audit"]
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in BESIDE or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        values = context.params[name] if parameter.multiple else [context.params[name]]
        for value in values:
            words += [] if isinstance(parameter, click.Argument) else [parameter.opts[0]]
            words += [] if value is True else [str(value)]
    return shlex.join(words)


@contextmanager
def _bar(plan: Plan, *, hidden: bool) -> Iterator[Callable[[Progress], None]]:
    """A progress bar on a terminal: games played in each world, and the bound so far."""
    with bar(unit="games", total=plan.games, hidden=hidden, scaled=True) as shown:

        def show(now: Progress) -> None:
            shown.set_postfix_str(f"ε ≥ {now.epsilon_lower:.2f}", refresh=False)
            shown.update(now.games - shown.n)

        yield show


COMMANDS = {"audit": audit}
