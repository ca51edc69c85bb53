"""`arena tournament`: every learner against every adversary that it can meet."""

from __future__ import annotations

import click

from arena import REFEREES
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.completion import complete_learners
from audits.cli.options import (
    LedgerOption,
    SeedOption,
    WorkerOptions,
    adversary_option,
    argument,
    option,
    option_groups,
    option_record,
    protocol_option,
)
from audits.cli.output import Output, format_command
from audits.data.output_files import check_output_file
from audits.tournaments.tournament_plan import CONFIDENCE, plan_tournament
from audits.tournaments.tournament_result import run_tournament

_GAMES = ", ".join(f"{kind.usual_games:,} under {name}" for name, kind in REFEREES.items())


@option_record
class TournamentOptions(SeedOption):
    learners: tuple[str, ...] = argument(metavar="[LEARNER]...", nargs=-1, shell_complete=complete_learners)
    against: tuple[str, ...] = adversary_option(
        "An adversary; may be repeated. If all are from files, they join those of arena list. Default: "
        "all of arena list."
    )
    protocols: tuple[str, ...] = protocol_option("Play this protocol only; may be repeated. Default: all.")
    games: int | None = option(
        "--games", metavar="N", help=f"Games of each pair, in each world. Default: {_GAMES}."
    )
    confidence: float = option(
        "--confidence", default=CONFIDENCE, help="Confidence of the bound of each pair, by itself."
    )


@option_record
class TournamentFiles(LedgerOption):
    html: str | None = option(
        "--html", metavar="FILE", help="Also write a page with heat maps and the line that repeats each pair."
    )
    csv_file: str | None = option("--csv", metavar="FILE", help="Also write every pair as a row of a table.")

    def __attrs_post_init__(self) -> None:
        if self.html is not None:
            check_output_file("HTML report", self.html, packages=("jinja2",), ledger=self.ledger)
        if self.csv_file is not None:
            check_output_file("CSV file", self.csv_file, ledger=self.ledger)


@click.command("tournament")
@option_groups
def tournament(
    asked: TournamentOptions, files: TournamentFiles, workers: WorkerOptions, output: Output
) -> int:
    """Audit every LEARNER against every ADVERSARY that it can meet, and rank the adversaries.

    Default: all players of arena list, in minutes. Under protocols of two worlds each pair is a small audit,
    with the exact ε where it is quickly computed. In games of one world mistakes or regret are counted as in
    races. Each pair has a seed of its own, which depends on --seed and the names of its players only, and a
    line that plays it again. Pairs that cannot be played are listed with the reason, and a player that
    raises ends its pair only. The figures depend neither on --jobs nor on interruptions. Exit status: 0 done
    and no claim refuted, 3 a learner's own claim or a promised bound is refuted, 2 invalid usage, 130
    interrupted (the pairs so far are printed).

    \b
    Examples:
      arena tournament --jobs 2 --ledger all.ledger --html tournament.html
      arena tournament --against my_adversary.py:Mine --protocol Release
      arena tournament laplace-count svt-1 svt-2 --csv pairs.csv
      arena tournament everlasting-v1 everlasting-v2 --against halt-counter --against query-swap --games 500
    """
    plan = plan_tournament(
        asked.learners,
        asked.against,
        protocols=asked.protocols,
        games=asked.games,
        confidence=asked.confidence,
        seed=asked.seed,
    )
    with output.count_progress("pairs", len(plan.cells)) as watch:
        result = run_tournament(
            plan, jobs=workers.build(), ledger=files.ledger, watch=watch, command=format_command()
        )
    played = sum(cell is not None for cell in result.results)
    if result.interrupted:
        if not played:
            raise KeyboardInterrupt
        fate = "are lost; --ledger FILE would have kept them"
        if files.ledger is not None:
            fate = f"{files.ledger} keeps; the same command continues from there"
        click.echo(f"arena: interrupted after {played} of {len(plan.cells)} pairs, which {fate}", err=True)
    if played:
        output.print_result(result)
        if files.csv_file is not None:
            result.write_csv(files.csv_file)
        if files.html is not None:
            result.to_html(files.html)
    return INTERRUPTED if result.interrupted else REFUTED if result.refuted else 0
