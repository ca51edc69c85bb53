"""`arena attack`: attacks on utility or on secrecy, whose outcome is a figure and no certificate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from arena import Adversary, InvalidArgument, Learner, Sample
from audits.attacks import extraction, poisoning
from audits.attacks.attack_text import attack_json, attack_text
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
from audits.cli.race import labelled, labels_of
from audits.races.predictor_race import PROTOCOL, ROUNDS
from audits.races.predictor_setup import setup_predictor
from audits.registry.match import Settings
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build, nearest, parsed
from audits.reports.plots import check_plot
from audits.runs.workers import Workers

POISON, HYPOTHESIS = "poison", "hypothesis-learner"
AIMS = ("crowd", "repeat", "shift")

_LEARNERS = click.argument("learners", metavar="LEARNER...", nargs=-1, required=True)
_AS_SET = click.option(
    "--as-set", is_flag=True, help="Keep what is not set as the learners have it, not at practical constants."
)
_CONFIDENCE = click.option(
    "--confidence", type=REAL, default=0.95, show_default=True, help="Of all limits together."
)


@click.group("attack", context_settings={"help_option_names": ["-h", "--help"]})
def attack() -> None:
    """Attack learners, and tell what comes of it: a figure with limits, and no certificate.

    `arena audit` is for claims of privacy. Here the question is how far an enemy gets who may choose queries.
    """


@attack.command("poison")
@_LEARNERS
@click.option(
    "--fraction",
    "fractions",
    metavar="P",
    multiple=True,
    help="Part of the queries that is chosen, between 0 and 1; again, or separated by commas, for more. "
    f"Default: {', '.join(f'{p:g}' for p in poisoning.FRACTIONS)}.",
)
@click.option(
    "--aim",
    "aims",
    metavar="NAME",
    multiple=True,
    help=f"What the chosen queries are: {', '.join(AIMS)}; again for more. Default: crowd and repeat.",
)
@click.option("--rounds", type=WHOLE, default=ROUNDS, show_default=True, help="Rounds of the learners.")
@click.option(
    "--games", type=WHOLE, default=poisoning.GAMES, show_default=True, help="Games of each row of the table."
)
@SET_OF_EACH
@_AS_SET
@takes_data
@_CONFIDENCE
@SEED
@takes_workers
@JSON
@click.option("--plot", metavar="FILE", help="Also draw a chart: FILE.png or FILE.svg.")
@QUIET
def poison(
    learners: tuple[str, ...],
    *,
    fractions: tuple[str, ...],
    aims: tuple[str, ...],
    rounds: int,
    games: int,
    settings: tuple[str, ...],
    as_set: bool,
    data: str | None,
    x: tuple[str, ...],
    y: str | None,
    positive: str | None,
    confidence: float,
    seed: int,
    jobs: Workers,
    as_json: bool,
    plot: str | None,
    quiet: bool,
) -> None:
    """Choose a part of each LEARNER's queries, and see how far its hypotheses move.

    All other queries, and the training set, are drawn from one law D: uniform on the class's domain, or your
    data. LEARNER is a predictor that answers in rounds, or LABEL=LEARNER so that one can run with several
    settings. Exit status: 0 done, 2 bad use, 130 interrupted.

    \b
    Examples:
      arena attack poison everlasting-v2 everlasting-fresh --fraction 0,0.3,0.9 --games 20
      arena attack poison everlasting-v2 --aim repeat --fraction 0.5 --rounds 2 --plot poison.svg
      arena attack poison everlasting-v2 --data adult.csv --x age --y income --set agnostic=true
    """
    if plot is not None:
        check_plot(plot)
    sample = None if (brought := data_of(data, x, y, positive)) is None else brought.load()
    found, texts = _found(learners, settings, taken=("fraction", "aim", "queries"))
    ready = [(label, _ready(label, player, texts, rounds, as_set, quiet, sample)) for label, player in found]
    kind = ADVERSARIES.find(POISON)

    def made(learner: Learner, aim: str, fraction: float) -> Adversary:
        own = {**texts["adversary"], "aim": aim, "fraction": repr(fraction)}
        return build(kind, own, sample=sample, learner=learner)

    plan = poisoning.plan_poisoning(
        ready,
        made,
        aims=_aims(aims),
        fractions=_fractions(fractions),
        rounds=rounds,
        games=games,
        confidence=confidence,
        seed=seed,
    )
    result = _played(
        poisoning.run_poisoning, plan, len(plan.entrants) * games, jobs, as_json=as_json, quiet=quiet
    )
    if plot is not None:
        from audits.attacks.poisoning_chart import draw_poisoning  # needs an extra

        draw_poisoning(result, plot)


@attack.command("hypothesis")
@_LEARNERS
@click.option(
    "--games",
    type=WHOLE,
    default=extraction.GAMES,
    show_default=True,
    help="Games of each learner, a multiple of --boost.",
)
@click.option(
    "--boost",
    type=WHOLE,
    default=extraction.BOOST,
    show_default=True,
    help="Games whose hypotheses are put to one vote: R of AccuracyBoost.",
)
@SET_OF_EACH
@_AS_SET
@_CONFIDENCE
@SEED
@takes_workers
@JSON
@QUIET
def learn_hypothesis(
    learners: tuple[str, ...],
    *,
    games: int,
    boost: int,
    settings: tuple[str, ...],
    as_set: bool,
    confidence: float,
    seed: int,
    jobs: Workers,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a hypothesis from the answers of each LEARNER, as Theorem 3.3 of Private Everlasting Prediction.

    Points of a finite domain are asked at random, and the hypothesis takes one answer at each. For predictors
    that learn nothing from queries its error is at most 8α with probability 3/4 (Claim B.1), and that of the
    majority of many is measured beside 24α (Claim B.2). Exit status: 0 done, 3 Claim B.1 refuted, 2 bad use.

    \b
    Examples:
      arena attack hypothesis static-erm noisy-votes --set concepts=thresholds:1..16
      arena attack hypothesis everlasting-v2 --set concepts=thresholds:1..16 --set rounds=1
      arena attack hypothesis static-erm --set concepts=thresholds:1..64 --set adversary.as_printed=true
    """
    found, texts = _found(learners, settings, taken=())
    ready = [(label, _ready(label, player, texts, 1, as_set, quiet)) for label, player in found]
    kind = ADVERSARIES.find(HYPOTHESIS)
    plan = extraction.plan_extraction(
        ready,
        lambda learner: build(kind, texts["adversary"], learner=learner),
        games=games,
        boost=boost,
        confidence=confidence,
        seed=seed,
    )
    result = _played(extraction.run_extraction, plan, len(ready) * games, jobs, as_json=as_json, quiet=quiet)
    click.get_current_context().exit(REFUTED if result.broken else 0)


def _found(
    learners: tuple[str, ...], settings: tuple[str, ...], *, taken: tuple[str, ...]
) -> tuple[list[tuple[str, type[Learner]]], Settings]:
    """The labels and classes of the learners, and all settings. taken: the adversary's that options set."""
    found = [labelled(text) for text in learners]
    texts = settings_of(settings, others=labels_of(found))
    for name in taken:
        if name in texts["adversary"]:
            raise click.UsageError(f"{name} of the adversary is set by the options of the attack.")
    for _, player in found:
        if PROTOCOL not in player.protocols:
            raise InvalidArgument(
                f"{player.name} does not play {PROTOCOL}",
                value=", ".join(player.protocols),
                remedy="Attack a predictor; `arena list` shows who plays what.",
            )
    return found, texts


def _ready(
    label: str,
    player: type[Learner],
    texts: Settings,
    rounds: int,
    as_set: bool,
    quiet: bool,
    sample: Sample | None = None,
) -> Any:
    """The learner with its settings, with practical constants where it may have them."""
    own = {**texts["learner"], **texts[label]}
    learner, notes = setup_predictor(label, player, own, rounds, as_set=as_set, sample=sample)
    for note in () if quiet else notes:
        click.echo(f"arena: note: {note}", err=True)
    return learner


def _fractions(texts: tuple[str, ...]) -> tuple[float, ...]:
    parts = [part for text in texts for part in text.split(",")]
    return tuple(parsed("fraction", part, float) for part in parts) or poisoning.FRACTIONS


def _aims(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in AIMS:
            raise InvalidArgument(
                f"an aim is one of {', '.join(AIMS)}", value=name, remedy=nearest(name, AIMS).strip()
            )
    return names or AIMS[:2]


def _played(
    run: Callable[..., Any], plan: Any, total: int, jobs: Workers, *, as_json: bool, quiet: bool
) -> Any:
    """Play a plan, with a progress bar, and print its result."""
    with counted(total, "games", hidden=quiet or as_json) as watch:
        result = run(plan, jobs=jobs, watch=watch)
    click.echo(attack_json(result) if as_json else attack_text(result))
    return result


COMMANDS = {"attack": attack}
