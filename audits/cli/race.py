"""`arena race`: learners against one adversary, compared by mistakes, regret, or errors of hypotheses; and
`arena tournament`: every learner against every adversary that it can meet."""

from __future__ import annotations

import click

from arena import REFEREES
from audits.api.race import find_entrants, plan_race
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.completion import complete_learners
from audits.cli.options import (
    DataOptions,
    LedgerOption,
    SeedOption,
    WorkerOptions,
    adversary_option,
    argument,
    option,
    option_groups,
    option_record,
    parse_settings,
    protocol_option,
    settings_option,
)
from audits.cli.output import Output, ResultFiles, format_command
from audits.data.output_files import check_output_file
from audits.races.online_race import GAMES, MARKS, list_protocols
from audits.races.predictor_race import GAMES as PREDICTOR_GAMES
from audits.races.predictor_race import ROUNDS
from audits.races.race_result import run_race
from audits.tournaments.tournament_plan import CONFIDENCE, plan_tournament
from audits.tournaments.tournament_result import run_tournament

_GAMES = ", ".join(f"{kind.usual_games:,} under {name}" for name, kind in REFEREES.items())


@option_record
class EntrantOptions(SeedOption):
    """The learners, and what holds for all of them."""

    learners: tuple[str, ...] = argument(
        metavar="LEARNER...", nargs=-1, required=True, shell_complete=complete_learners
    )
    settings: tuple[str, ...] = settings_option(
        "A setting of every learner, of one as LABEL.NAME=VALUE, or of the adversary as "
        "adversary.NAME=VALUE. `arena show PLAYER` lists them. May be repeated."
    )
    as_set: bool = option(
        "--as-set",
        help="Keep the default settings of predictors. Default: practical constants for small errors, except "
        "where --set gives others; the claim is computed from them.",
    )
    confidence: float = option(
        "--confidence",
        default=0.95,
        help="Confidence of all limits together, and of all tests of bounds together.",
    )


@option_record
class RaceOptions(DataOptions, EntrantOptions):
    against: str | None = adversary_option(
        "The adversary of every learner. Default for predictors: honest, which draws queries from D."
    )
    rounds: int | None = option(
        "--rounds",
        metavar="T",
        help="Rounds of a game; for predictors, the number of their own rounds. Default: that of the "
        f"adversary; {ROUNDS} for predictors.",
    )
    games: int | None = option(
        "--games",
        metavar="N",
        help=f"Games of each learner. Default: {GAMES:,}, for predictors {PREDICTOR_GAMES}.",
    )
    protocol: str | None = protocol_option(
        f"{' or '.join(list_protocols())}. Default: the first that all players play."
    )
    agnostic: bool = option(
        "--agnostic",
        help="Count regret, and allow examples that no concept of the class agrees with. Default: only if "
        "the adversary is not realizable. Predictors then relabel their sample before they learn.",
    )
    marks: int | None = option(
        "--marks",
        metavar="K",
        help="Maximum number of rounds at which figures are recorded, evenly spaced on a log scale up to T. "
        f"Default: {MARKS}.",
    )


@click.command("race")
@option_groups
def race(asked: RaceOptions, files: ResultFiles, workers: WorkerOptions, output: Output) -> int:
    """Play each LEARNER many times against ADVERSARY, and count its mistakes, its regret, or its errors.

    An adversary is realizable if some concept of the learner's class agrees with all its examples. Against it
    mistakes are counted. Against others regret is counted: mistakes beyond those of the best concept. For
    predictors, which play Figure1, the errors of their hypotheses under a distribution D are computed, round
    by round; D is uniform, or your data. The bound of the learner's theorem is printed beside the figures.

    A LEARNER is a player, or LABEL=PLAYER so that one player can run with several settings. Exit status: 0 no
    bound violated, 3 a promised bound violated or refuted, 2 invalid usage, 130 interrupted (the figures so
    far are printed).

    \b
    Examples:
      arena race soa halving --against shattered-tree --rounds 1_000
      arena race winnow confident-winnow dp-winnow --against sparse-disjunction
      arena race few=realizable many=realizable --against shattered-tree --rounds 1e4 \\
          --set concepts=thresholds:1..16 --set few.nodes=64 --set many.nodes=1024 --plot race.svg
      arena race my_learner.py:Mine --against my_adversary.py:Noisy --rounds 500 --agnostic --json
      arena race everlasting-v1 everlasting-v2 --rounds 3 --games 20 --plot errors.svg
      arena race everlasting-v2 --data adult.csv --x age --y income --positive '>50K' --agnostic
    """
    entrants = find_entrants(asked.learners)
    settings = parse_settings(asked.settings, labels=[label for label, _ in entrants])
    names = ("against", "rounds", "games", "protocol", "agnostic", "marks", "as_set", "confidence", "seed")
    options = {name: getattr(asked, name) for name in names}
    plan, notes = plan_race(entrants, settings, data=asked.get_source(), **options)
    output.print_notes(notes)
    with output.count_progress("games", plan.games * len(plan.entrants), scaled=True) as watch:
        result = run_race(plan, jobs=workers.build(), watch=watch)
    output.print_result(result)
    files.write_files(result)
    return INTERRUPTED if result.interrupted else REFUTED if result.broken else 0


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

    Default: all players of arena list, in hours. Under protocols of two worlds each pair is a small audit,
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
