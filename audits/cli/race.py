"""`arena race`: learners before one adversary, by mistakes or regret; predictors, by the errors of their
hypotheses."""

from __future__ import annotations

import re

import attrs
import click

from arena import Adversary, Learner
from audits.cli import REFUTED
from audits.cli.options import (
    JSON,
    QUIET,
    REAL,
    SEED,
    SET_OF_EACH,
    WHOLE,
    data_of,
    settings_of,
    takes_data,
    takes_workers,
)
from audits.cli.progress import counted
from audits.races import plan_online_race, run_race
from audits.races.online_race import MARKS
from audits.races.predictor_race import GAMES as PREDICTOR_GAMES
from audits.races.predictor_race import PROTOCOL, ROUNDS
from audits.races.predictor_setup import setup_predictor_race
from audits.races.race_chart import draw_race
from audits.races.race_result import Race
from audits.races.race_text import race_json, race_text
from audits.registry.match import Settings
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.registry.settings_text import build
from audits.reports.plots import check_plot
from audits.runs.workers import Workers

GAMES = 1_000
_LABELLED = re.compile(r"([\w-]+)=(.+)", re.DOTALL)
_TAKEN = ("learner", "adversary")


@click.command("race")
@click.argument("learners", metavar="LEARNER...", nargs=-1, required=True)
@click.option(
    "--against",
    metavar="ADVERSARY",
    help="The adversary that each of them meets. Default for predictors: honest.",
)
@click.option(
    "--rounds",
    type=WHOLE,
    metavar="T",
    help="The rounds of a game; of predictors, how many of their own. Default: as many as ADVERSARY plays by "
    f"itself; {ROUNDS} of predictors.",
)
@click.option(
    "--games",
    type=WHOLE,
    metavar="N",
    help=f"Games of each learner. Default: {GAMES:,}, of predictors {PREDICTOR_GAMES}.",
)
@SET_OF_EACH
@click.option("--protocol", metavar="NAME", help="Adaptive or Oblivious. Default: the first that all play.")
@click.option(
    "--agnostic",
    is_flag=True,
    help="Hold no game to a concept, and count regret. Default: only if the adversary is not realizable. Of "
    "predictors: let them label their sample anew first, for data that no concept explains.",
)
@click.option(
    "--confidence",
    type=REAL,
    default=0.95,
    show_default=True,
    help="Of all limits together, and of all tests of bounds together.",
)
@click.option(
    "--marks",
    type=WHOLE,
    metavar="K",
    help="Rounds at which figures are noted, at most, evenly spaced on a log scale up to T. Default: "
    f"{MARKS}.",
)
@click.option(
    "--as-set",
    is_flag=True,
    help="Keep the sizes that predictors have by default. Default: practical constants, for small errors, "
    "wherever --set names no others; the claim follows.",
)
@takes_data
@SEED
@takes_workers
@JSON
@click.option("--plot", metavar="FILE", help="Also draw a chart: FILE.png or FILE.svg.")
@QUIET
def race(
    learners: tuple[str, ...],
    *,
    against: str | None,
    rounds: int | None,
    games: int | None,
    settings: tuple[str, ...],
    protocol: str | None,
    agnostic: bool,
    confidence: float,
    marks: int | None,
    as_set: bool,
    data: str | None,
    x: tuple[str, ...],
    y: str | None,
    positive: str | None,
    seed: int,
    jobs: Workers,
    as_json: bool,
    plot: str | None,
    quiet: bool,
) -> None:
    """Play each LEARNER many times against ADVERSARY, and count its mistakes, its regret, or its errors.

    Before a realizable adversary mistakes are counted, and every game is held to the learner's concept class;
    before others, regret against the best concept of that class. Of predictors, which play Figure1, the error
    under D of every hypothesis is computed, round by round of the predictor; D is uniform, or your data.
    Beside them stands what the learner's theorem promises. A LEARNER is a player, or LABEL=PLAYER so that one
    player can run with several settings. Exit status: 0 no bound broken, 3 a bound broken or refuted that was
    promised, 2 bad use, 130 interrupted.

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
    if plot is not None:
        check_plot(plot)
    found = [labelled(text) for text in learners]
    texts = settings_of(settings, others=labels_of(found))
    brought = data_of(data, x, y, positive)
    planned: Race
    if _predictors(found):
        if protocol not in (None, PROTOCOL):
            raise click.UsageError(f"Predictors are raced under {PROTOCOL}, not {protocol}.")
        if marks is not None:
            raise click.UsageError("--marks is for online games; predictors are measured by their rounds.")
        planned, notes = setup_predictor_race(
            found,
            texts,
            against=against,
            rounds=rounds,
            games=games,
            data=brought,
            as_set=as_set,
            agnostic=agnostic,
            confidence=confidence,
            seed=seed,
        )
        for note in () if quiet else notes:
            click.echo(f"arena: note: {note}", err=True)
    else:
        if against is None:
            raise click.UsageError("Missing option '--against'.")
        if brought is not None or as_set:
            raise click.UsageError("--data and --as-set are for predictors, which play Figure1.")
        rounds = _usual_rounds(against) if rounds is None else rounds
        planned = plan_online_race(
            _players(found, texts, against, rounds),
            rounds=rounds,
            games=GAMES if games is None else games,
            protocol=protocol,
            agnostic=agnostic,
            marks=MARKS if marks is None else marks,
            confidence=confidence,
            seed=seed,
        )
    _show(planned, jobs=jobs, as_json=as_json, plot=plot, quiet=quiet)


def _show(race: Race, *, jobs: Workers, as_json: bool, plot: str | None, quiet: bool) -> None:
    """Play the race, print it, draw it, and end with its status."""
    total = race.games * len(race.entrants)
    with counted(total, "games", hidden=quiet or as_json, scaled=True) as watch:
        result = run_race(race, jobs=jobs, watch=watch)
    click.echo(race_json(result) if as_json else race_text(result))
    if plot is not None:
        draw_race(result, plot)
    click.get_current_context().exit(REFUTED if result.broken else 0)


def _predictors(players: list[tuple[str, type[Learner]]]) -> bool:
    """Whether the learners are predictors; none or all of them are."""
    kinds = {PROTOCOL in player.protocols for _, player in players}
    if len(kinds) > 1:
        names = ", ".join(label for label, player in players if PROTOCOL in player.protocols)
        raise click.UsageError(
            f"Predictors ({names}) and learners of online games are measured otherwise; race them apart."
        )
    return kinds.pop()


def _usual_rounds(against: str) -> int:
    """The default of the adversary's setting `rounds`."""
    field = attrs.fields_dict(ADVERSARIES.find(against)).get("rounds")
    if field is None or not isinstance(field.default, int):
        raise click.UsageError("Missing option '--rounds'.")
    return field.default


def labels_of(players: list[tuple[str, type[Learner]]]) -> list[str]:
    """The labels, checked."""
    labels = [label for label, _ in players]
    for label in labels:
        if label in _TAKEN:
            raise click.UsageError(f"{label} cannot be a label: --set uses it otherwise.")
        if labels.count(label) > 1:
            raise click.UsageError(f"Two learners are called {label}; label one, as in other={label}.")
    return labels


def _players(
    found: list[tuple[str, type[Learner]]], texts: Settings, against: str, rounds: int
) -> list[tuple[str, Learner, Adversary]]:
    """The label, the learner and its adversary of every entrant."""
    opponent = ADVERSARIES.find(against)
    for label in ("adversary", "learner", *(label for label, _ in found)):
        if "rounds" in texts[label]:
            raise click.UsageError(f"The rounds of the {label} are those of the race, --rounds.")
    players = []
    for label, player in found:
        learner: Learner = build(player, _with_rounds(player, {**texts["learner"], **texts[label]}, rounds))
        adversary: Adversary = build(
            opponent, _with_rounds(opponent, texts["adversary"], rounds), learner=learner
        )
        players.append((label, learner, adversary))
    return players


def labelled(text: str) -> tuple[str, type[Learner]]:
    """The label and the class of a learner."""
    found = _LABELLED.fullmatch(text)
    player = LEARNERS.find(text if found is None else found[2])
    return (player.name if found is None else found[1]), player


def _with_rounds(player: type, texts: dict[str, str], rounds: int) -> dict[str, str]:
    """The settings with the rounds of the race, where the player has such a setting."""
    return {**texts, "rounds": str(rounds)} if "rounds" in attrs.fields_dict(player) else texts


COMMANDS = {"race": race}
