"""`arena race`: learners before one adversary, by mistakes or regret."""

from __future__ import annotations

import re

import attrs
import click

from arena import Adversary, Learner
from audits.cli import REFUTED
from audits.cli.options import JSON, QUIET, REAL, SEED, WHOLE, settings_of
from audits.cli.progress import counted
from audits.plots import check_plot
from audits.race import race_of, run
from audits.race.chart import draw
from audits.race.plan import MARKS
from audits.race.text import as_json as json_of
from audits.race.text import text
from audits.registry import ADVERSARIES, LEARNERS
from audits.settings import build

GAMES = 1_000
_LABELLED = re.compile(r"([\w-]+)=(.+)", re.DOTALL)
_TAKEN = ("learner", "adversary")


@click.command("race")
@click.argument("learners", metavar="LEARNER...", nargs=-1, required=True)
@click.option("--against", metavar="ADVERSARY", required=True, help="The adversary that each of them meets.")
@click.option(
    "--rounds",
    type=WHOLE,
    metavar="T",
    help="The rounds of a game. Default: as many as ADVERSARY plays by itself.",
)
@click.option(
    "--games", type=WHOLE, metavar="N", default=GAMES, show_default=True, help="Games of each learner."
)
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set a field of every learner, of one as LABEL.NAME=VALUE, or of the adversary as "
    "adversary.NAME=VALUE. May be given again.",
)
@click.option("--protocol", metavar="NAME", help="Adaptive or Oblivious. Default: the first that all play.")
@click.option(
    "--agnostic",
    is_flag=True,
    help="Hold no game to a concept, and count regret. Default: only if the adversary is not realizable.",
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
    default=MARKS,
    show_default=True,
    help="Rounds at which figures are noted, at most, evenly spaced on a log scale up to T.",
)
@SEED
@click.option(
    "--jobs", type=WHOLE, default=1, show_default=True, help="Processes; they do not change the figures."
)
@JSON
@click.option("--plot", metavar="FILE", help="Also draw a chart: FILE.png or FILE.svg.")
@QUIET
def race(
    learners: tuple[str, ...],
    *,
    against: str,
    rounds: int | None,
    games: int,
    settings: tuple[str, ...],
    protocol: str | None,
    agnostic: bool,
    confidence: float,
    marks: int,
    seed: int,
    jobs: int,
    as_json: bool,
    plot: str | None,
    quiet: bool,
) -> None:
    """Play each LEARNER many times against ADVERSARY, and count its mistakes, or its regret.

    Before a realizable adversary mistakes are counted, and every game is held to the learner's concept class;
    before others, regret against the best concept of that class. Beside them stands what the learner's
    theorem promises. A LEARNER is a player, or LABEL=PLAYER so that one player can run with several
    settings. Exit status: 0 no bound broken, 3 a bound broken or refuted, 2 bad use, 130 interrupted.

    \b
    Examples:
      arena race soa halving --against littlestone-tree --rounds 1_000
      arena race winnow confident-winnow dp-winnow --against sparse-disjunction
      arena race few=realizable many=realizable --against littlestone-tree --rounds 1e4 \\
          --set concepts=thresholds:1..16 --set few.nodes=64 --set many.nodes=1024 --plot race.svg
      arena race my_learner.py:Mine --against my_adversary.py:Noisy --rounds 500 --agnostic --json
    """
    if plot is not None:
        check_plot(plot)
    if rounds is None:
        rounds = _usual_rounds(against)
    planned = race_of(
        _players(learners, against, settings, rounds),
        rounds=rounds,
        games=games,
        protocol=protocol,
        agnostic=agnostic,
        marks=marks,
        confidence=confidence,
        seed=seed,
    )
    total = planned.games * len(planned.entrants)
    with counted(total, "games", hidden=quiet or as_json, scaled=True) as watch:
        result = run(planned, jobs=jobs, watch=watch)
    click.echo(json_of(result) if as_json else text(result))
    if plot is not None:
        draw(result, plot)
    click.get_current_context().exit(REFUTED if result.broken else 0)


def _usual_rounds(against: str) -> int:
    """The default of the adversary's setting `rounds`."""
    field = attrs.fields_dict(ADVERSARIES.find(against)).get("rounds")
    if field is None or not isinstance(field.default, int):
        raise click.UsageError("Missing option '--rounds'.")
    return field.default


def _players(
    learners: tuple[str, ...], against: str, settings: tuple[str, ...], rounds: int
) -> list[tuple[str, Learner, Adversary]]:
    """The label, the learner and its adversary of every entrant."""
    found = [_labelled(text) for text in learners]
    labels = [label for label, _ in found]
    for label in labels:
        if label in _TAKEN:
            raise click.UsageError(f"{label} cannot be a label: --set uses it otherwise.")
        if labels.count(label) > 1:
            raise click.UsageError(f"Two learners are called {label}; label one, as in other={label}.")
    texts = settings_of(settings, others=labels)
    opponent = ADVERSARIES.find(against)
    for label in ("adversary", "learner", *labels):
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


def _labelled(text: str) -> tuple[str, type[Learner]]:
    """The label and the class of a learner."""
    found = _LABELLED.fullmatch(text)
    player = LEARNERS.find(text if found is None else found[2])
    return (player.name if found is None else found[1]), player


def _with_rounds(player: type, texts: dict[str, str], rounds: int) -> dict[str, str]:
    """The settings with the rounds of the race, where the player has such a setting."""
    return {**texts, "rounds": str(rounds)} if "rounds" in attrs.fields_dict(player) else texts


COMMANDS = {"race": race}
