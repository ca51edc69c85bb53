"""`arena audit`: many games, and what they say about a privacy claim."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.core import ParameterSource

from audits import report
from audits.blocks import usual_witness
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.match import Match
from audits.cli.options import DELTA, EPSILON, REAL, WHOLE, takes_match
from audits.cli.progress import bar
from audits.course import Progress
from audits.plan import LEARNT, LIKELIHOOD, SCORE, WITNESSES, Plan
from audits.run import run
from audits.settings import under_test

_BESIDE = ("quiet", "estimators", "jobs", "ledger", "as_json", "html")  # options on which no figure hangs
GAMES = 100_000
MOST_GAMES = 10_000_000
_WITHOUT_SCORE = {
    LEARNT: "{} returns no score, so a witness is learnt from the games",
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
    "--witness",
    type=click.Choice(WITNESSES),
    help="What tells the worlds apart: the adversary's score, a witness learnt from the games as they are "
    "played, or the likelihood ratio. Default: the score if there is one, else the best of the others.",
)
@click.option(
    "--faults",
    is_flag=True,
    help="The adversary sees it when the learner raises or declines; else that ends the audit.",
)
@click.option("--estimators", is_flag=True, help="Print every estimator beside the test, on the same games.")
@click.option(
    "--jobs", type=WHOLE, default=1, show_default=True, help="Processes; they do not change the figures."
)
@click.option(
    "--ledger",
    metavar="FILE",
    help="Keep every block of games here; the same command again goes on from there.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="One JSON object; null stands for a figure that is not finite."
)
@click.option("--html", metavar="FILE", help="Also write the page that arena report writes.")
def audit(
    found: Match,
    *,
    seed: int,
    quiet: bool,
    epsilon: float | None,
    delta: float | None,
    games: int | None,
    until_refuted: bool,
    confidence: float,
    witness: str | None,
    faults: bool,
    estimators: bool,
    jobs: int,
    ledger: str | None,
    as_json: bool,
    html: str | None,
) -> None:
    """Play LEARNER in two neighbouring worlds and certify a lower bound on the ε that it loses.

    The bound, in nats, may be looked at and the audit stopped at any time. Exit status: 0 not refuted,
    3 refuted, 2 bad use, 130 interrupted (the figures so far are printed).

    \b
    Examples:
      arena audit laplace-count --against count-swap --epsilon 0.5
      arena audit everlasting-v1 --against halt-counter --until-refuted --jobs 4
      arena audit static-erm --against reconstruct --epsilon 1 --json
      arena audit everlasting-v2 --against query-swap --set teachers=2_001 \\
          --set adversary.probes=20 --ledger run.ledger --html report.html
      arena audit everlasting-v1 --against halt-counter \\
          --data people.csv.gz --x age --y income --positive '>50K'
    """
    if witness is None:
        witness = usual_witness(found.learner, found.adversary, found.referee)
        if witness != SCORE and not quiet:
            click.echo(f"arena: note: {_WITHOUT_SCORE[witness].format(found.adversary.name)}", err=True)
    plan = _plan(
        found,
        epsilon,
        delta,
        confidence=confidence,
        games=games,
        until_refuted=until_refuted,
        seed=seed,
        witness=witness,
        faults=faults,
    )
    if html is not None:
        report.check_html(html, ledger)
    with TemporaryDirectory() as folder:
        if html is not None and ledger is None:
            ledger = str(Path(folder, "run.ledger"))  # from which the page is written
        with _bar(plan, hidden=quiet or as_json) as watch:
            verdict = run(plan, jobs=jobs, ledger=ledger, watch=watch, command=_command(), every=estimators)
        click.echo(report.as_json(verdict) if as_json else report.text(verdict, plan=plan))
        if html is not None and ledger is not None:
            if verdict.games:
                report.html(ledger, html)
            else:
                click.echo("arena: note: no block of games was finished, so there is no page", err=True)
    click.get_current_context().exit(
        INTERRUPTED if verdict.interrupted else REFUTED if verdict.refuted else 0
    )


def _plan(found: Match, epsilon: float | None, delta: float | None, **rest: Any) -> Plan:
    """The plan for the claim under test: the learner's, as far as no other was given."""
    epsilon, delta = under_test(found.learner, epsilon, delta)
    usual = MOST_GAMES if rest["until_refuted"] else GAMES
    rest["games"] = usual if rest["games"] is None else rest["games"]
    return Plan(
        learner=found.learner,
        adversary=found.adversary,
        referee=found.referee,
        epsilon=epsilon,
        delta=delta,
        **rest,
    )


def _command() -> str:
    """The command line, as far as figures hang on it, in the order of --help."""
    context = click.get_current_context()
    words = ["arena", "audit"]
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in _BESIDE or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
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
