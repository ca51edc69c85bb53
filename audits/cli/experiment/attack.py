"""`arena experiment poison` and `arena experiment hypothesis`: attacks on utility or confidentiality.

Their results are figures with confidence limits, and no certificates.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from arena import Adversary, InvalidArgument, Learner, Sample
from audits.attacks import extraction, poisoning
from audits.attacks.attack_text import attack_json, attack_text
from audits.cli import INTERRUPTED, REFUTED
from audits.cli.common.option_groups import option, option_groups, option_record
from audits.cli.common.options import DataOptions, EntrantOptions, PlotOption, WorkerOptions
from audits.cli.common.output import Output
from audits.races.predictor_games import PROTOCOL, ROUNDS
from audits.races.race_setup import setup_predictor
from audits.registry.match import PlayerSettings
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build_player, parse_value
from audits.registry.suggestions import unknown_name

POISON, HYPOTHESIS = "poison", "hypothesis-learner"
AIMS = ("crowd", "repeat", "shift")


@option_record
class AttackOptions(EntrantOptions):
    """The learners to attack."""

    def build_learners(
        self, output: Output, *, rounds: int, reserved: Sequence[str] = (), sample: Sample | None = None
    ) -> tuple[list[tuple[str, Learner]], PlayerSettings]:
        """The labelled learners, with practical constants if they have them; and the settings of all players.

        reserved: settings of the adversary that must not be given. sample: the user's data.
        Raises: UsageError if one is; InvalidArgument if a learner is no predictor.
        """
        entrants, settings = self.find()
        for name in reserved:
            if name in settings["adversary"]:
                raise click.UsageError(f"{name} of the adversary is set by the options of the attack.")
        for _, player in entrants:
            if PROTOCOL not in player.protocols:
                raise InvalidArgument(
                    f"{player.name} does not play {PROTOCOL}, but {', '.join(player.protocols)}",
                    remedy=f"Name a learner that `arena list --protocol {PROTOCOL}` shows.",
                )
        learners = []
        for label, player in entrants:
            texts = {**settings["learner"], **settings[label]}
            learner, notes = setup_predictor(label, player, texts, rounds, as_set=self.as_set, sample=sample)
            output.print_notes(notes)
            learners.append((label, learner))
        return learners, settings


@option_record
class PoisonOptions(DataOptions, AttackOptions):
    fraction_texts: tuple[str, ...] = option(
        "--fraction",
        metavar="P",
        help="Fraction of the queries that is chosen, between 0 and 1. Repeat it, or separate several by "
        f"commas. Default: {', '.join(f'{p:g}' for p in poisoning.FRACTIONS)}.",
    )
    aim_names: tuple[str, ...] = option(
        "--aim",
        metavar="NAME",
        help="What the chosen queries are. crowd: points on which the target and a concept near it disagree. "
        "repeat: one point, which teaches least. shift: points outside the support of D. May be repeated. "
        "Default: crowd and repeat.",
    )
    rounds: int = option("--rounds", default=ROUNDS, help="Rounds of the learners.")
    games: int = option("--games", default=poisoning.GAMES, help="Games for each row of the table.")

    @property
    def fractions(self) -> tuple[float, ...]:
        parts = [part for text in self.fraction_texts for part in text.split(",")]
        return tuple(parse_value("fraction", part, float) for part in parts) or poisoning.FRACTIONS

    @property
    def aims(self) -> tuple[str, ...]:
        for name in self.aim_names:
            if name not in AIMS:
                raise unknown_name("aim", name, AIMS)
        return self.aim_names or AIMS[:2]


@option_record
class HypothesisOptions(AttackOptions):
    games: int = option(
        "--games", default=extraction.GAMES, help="Games of each learner, a multiple of --boost."
    )
    boost: int = option(
        "--boost",
        default=extraction.BOOST,
        help="Number of games whose hypotheses are combined by majority vote: R of AccuracyBoost.",
    )


@click.command("poison")
@option_groups
def poison(asked: PoisonOptions, chart: PlotOption, workers: WorkerOptions, output: Output) -> None:
    """Choose a fraction of each LEARNER's queries, and measure how far its hypotheses move.

    All other queries and the training set are drawn from one distribution D: uniform on the class's domain,
    or your data. LEARNER is a predictor that answers in rounds, or LABEL=LEARNER so that one can run with
    several settings. Exit status: 0 done, 2 invalid usage, 130 interrupted (the
    figures so far are printed).

    \b
    Examples:
      arena experiment poison everlasting-v2 everlasting-fresh --fraction 0,0.3,0.9 --games 20
      arena experiment poison everlasting-v2 --aim repeat --fraction 0.5 --rounds 2 --plot poison.svg
      arena experiment poison everlasting-v2 --data adult.csv --x age --y income --set agnostic=true
    """
    sample = asked.load_sample()
    learners, settings = asked.build_learners(
        output, rounds=asked.rounds, reserved=("fraction", "aim", "queries"), sample=sample
    )
    poisoner = ADVERSARIES.find(POISON)

    def build_poisoner(learner: Learner, aim: str, fraction: float) -> Adversary:
        texts = {**settings["adversary"], "aim": aim, "fraction": repr(fraction)}
        return build_player(poisoner, texts, sample=sample, learner=learner)

    plan = poisoning.plan_poisoning(
        learners,
        build_poisoner,
        aims=asked.aims,
        fractions=asked.fractions,
        rounds=asked.rounds,
        games=asked.games,
        confidence=asked.confidence,
        seed=asked.seed,
    )
    with output.count_progress("games", len(plan.entrants) * asked.games) as watch:
        result = poisoning.run_poisoning(plan, jobs=workers.build(), watch=watch)
    output.print_result(result, attack_text, attack_json)
    if chart.plot is not None:
        from audits.attacks.poisoning_chart import draw_poisoning  # needs an extra

        draw_poisoning(result, chart.plot)
    click.get_current_context().exit(INTERRUPTED if result.interrupted else 0)


@click.command("hypothesis")
@option_groups
def hypothesis(asked: HypothesisOptions, workers: WorkerOptions, output: Output) -> None:
    """Learn a hypothesis from the answers of each LEARNER, as in Theorem 3.3 of Private Everlasting
    Prediction.

    Queries are drawn at random from a finite domain, and the hypothesis uses one answer at each point. For
    predictors that do not learn from queries its error is at most 8α with probability 3/4 (Claim B.1). The
    error of the majority of many hypotheses is compared with 24α (Claim B.2). Here α is the share of wrong
    answers, which is estimated. Exit status: 0 done, 3 Claim
    B.1 refuted, 2 invalid usage, 130 interrupted (the figures so far are printed).

    \b
    Examples:
      arena experiment hypothesis static-erm noisy-votes --set concepts=thresholds:1..16
      arena experiment hypothesis everlasting-v2 --set concepts=thresholds:1..16 --set rounds=1
      arena experiment hypothesis static-erm --set concepts=thresholds:1..64 --set adversary.as_printed=true
    """
    learners, settings = asked.build_learners(output, rounds=1)
    adversary = ADVERSARIES.find(HYPOTHESIS)
    plan = extraction.plan_extraction(
        learners,
        lambda learner: build_player(adversary, settings["adversary"], learner=learner),
        games=asked.games,
        boost=asked.boost,
        confidence=asked.confidence,
        seed=asked.seed,
    )
    with output.count_progress("games", len(learners) * asked.games) as watch:
        result = extraction.run_extraction(plan, jobs=workers.build(), watch=watch)
    output.print_result(result, attack_text, attack_json)
    click.get_current_context().exit(INTERRUPTED if result.interrupted else REFUTED if result.broken else 0)
