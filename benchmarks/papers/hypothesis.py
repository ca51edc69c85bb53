"""Theorem 3.3 of Private Everlasting Prediction as an attack: a hypothesis is learned from answers."""

from __future__ import annotations

from typing import Any

import attrs
import click
import numpy as np

from adversaries.figure1.hypothesis_learner import HypothesisLearner, LearnedHypotheses
from arena import Adversary, Figure1, InvalidArgument, Learner, Moves, play
from audits.registry.entrants import find_entrants
from audits.registry.settings_text import build_player
from audits.reports.formatting import column_table
from benchmarks.papers.limits import MedianAndMean, Proportion

LEARNER_FACTOR, BOOST_FACTOR = 8, 24  # Claims B.1 and B.2 bound errors by 8α and 24α
CONFIDENCE = 0.95  # of the limits of a learner
_CLAIM_B1_SHARE = 0.25  # of games that may exceed 8α


@attrs.frozen(kw_only=True)
class ExtractionFigures:
    """The figures of one learner.

    points: |X|. queries: R of HypothesisLearner. alpha: α, which the mean error of a game's hypotheses
    exceeds in at most a share β of games. error: of the learned hypothesis. exceeding: the share of games in
    which it is above 8α, at most 1/4 by Claim B.1. failed: the share of games that failed. boosted: the error
    of the majority vote of a block's hypotheses, at most 24α by Claim B.2.
    """

    points: int
    queries: int
    alpha: float
    error: MedianAndMean
    exceeding: Proportion
    failed: float
    boosted: MedianAndMean

    @property
    def broken(self) -> bool:
        """Whether Claim B.1 is refuted."""
        return self.exceeding.lower > _CLAIM_B1_SHARE


@attrs.frozen
class _RecordingAdversary(Adversary):
    protocols = ("Figure1",)

    adversary: HypothesisLearner
    records: list[LearnedHypotheses] = attrs.field(factory=list, eq=False)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.adversary.name

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learned = yield from self.adversary.learn(games, rng)
        self.records.append(learned)
        return np.asarray(learned.errors)


def extract_hypotheses(
    learner: Learner,
    adversary: HypothesisLearner,
    *,
    games: int,
    boost: int,
    seed: int,
    number: int = 0,
    level: float = 1 - CONFIDENCE,
) -> ExtractionFigures:
    """Play the games, in blocks of `boost`; each block is one run of AccuracyBoost with R = boost.

    The games of a block have one target but samples of their own. number: of the learner, for its seeds.
    level: the probability that a limit is wrong.

    Raises: InvalidArgument unless the learner has a class with a finite domain, and boost divides games.
    """
    concepts: Any = adversary.concepts or getattr(learner, "concepts", None)
    points = len(getattr(concepts, "domain", None) or ())
    if not points:
        raise InvalidArgument(f"{learner.name} has no class with a finite domain", value=concepts)
    if games % boost:
        raise InvalidArgument("games must be a multiple of boost", value=f"{games} games, boost {boost}")
    recorder = _RecordingAdversary(adversary)
    for block in range(games // boost):
        block_seed = np.random.SeedSequence(seed, spawn_key=(number, block))
        play(learner, recorder, Figure1(), games=boost, seed=block_seed)
    errors, wrong, failed = (
        np.concatenate([getattr(learned, name) for learned in recorder.records])
        for name in ("errors", "wrong", "failed")
    )
    alpha = float(np.quantile(wrong, 1 - adversary.beta, method="higher"))
    return ExtractionFigures(
        points=points,
        queries=adversary.rounds(points),
        alpha=alpha,
        error=MedianAndMean.of(errors, level / 3),
        exceeding=Proportion.of(errors > LEARNER_FACTOR * alpha, level / 3),
        failed=float(failed.mean()),
        boosted=MedianAndMean.of(np.array([learned.boosted for learned in recorder.records]), level / 3),
    )


@click.command()
@click.argument("learners", nargs=-1, required=True)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the learners.")
@click.option("--asked", type=int, help="R of HypothesisLearner. Default: |X| log(|X|/β).")
@click.option("--as-printed", is_flag=True, help="Keep the printed R, and L_x as a set.")
@click.option("--games", default=400, show_default=True, help="Games of each learner.")
@click.option("--boost", default=40, show_default=True, help="R of AccuracyBoost; printed: 104 ln(1/β).")
@click.option("--seed", default=0, show_default=True)
def hypothesis(
    learners: tuple[str, ...], settings: tuple[str, ...], asked: int, as_printed: bool, **others: Any
) -> None:
    """Learn a hypothesis from the answers of each of LEARNERS, or LABEL=LEARNER.

    A setting of one learner is LABEL.NAME=VALUE. The claims are about predictors that learn nothing from
    queries; other predictors answer R queries anyway, and their privacy claim covers these.
    """
    entrants, rows = find_entrants(learners), []
    texts = dict(pair.split("=", 1) for pair in settings)
    for number, (label, player) in enumerate(entrants):
        shared = {name: text for name, text in texts.items() if "." not in name}
        own = {name.removeprefix(f"{label}."): texts[name] for name in texts if name.startswith(f"{label}.")}
        learner = build_player(player, {**shared, **own})
        adversary = HypothesisLearner(learner=learner, asked=asked, as_printed=as_printed)
        level = (1 - CONFIDENCE) / len(entrants)
        figures = extract_hypotheses(learner, adversary, number=number, level=level, **others)
        rows.append(
            (
                *(label, f"{figures.points:,}", f"{figures.queries:,}", f"{figures.failed:.3f}"),
                *(f"{figures.alpha:.4f}", str(figures.error), f"{LEARNER_FACTOR * figures.alpha:.4f}"),
                str(figures.exceeding) + (", refuted" if figures.broken else ""),
                *(str(figures.boosted), f"{BOOST_FACTOR * figures.alpha:.4f}"),
            )
        )
    headers = ("learner", "|X|", "R", "failed", "α", "error of h", "8α", "games above (at most 1/4)")
    click.echo(column_table(rows, (*headers, "majority's error", "24α")))
