"""Theorem 3.3 of Private Everlasting Prediction as an attack: a hypothesis is learned from answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import Adversary, Figure1, InvalidArgument, Learner, Moves, play
from arena.settings import at_least, check_value, whole
from audits.races.game_plan import Entrant, GamePlan, Watch, play_games
from audits.runs.workers import Workers
from audits.statistics.quantiles import MedianAndMean, Proportion

GAMES = 400
BOOST = 40
LEARNER_FACTOR, BOOST_FACTOR = 8, 24  # Claims B.1 and B.2 bound errors by 8α and 24α
_CLAIM_B1_SHARE = 0.25  # of games that may exceed 8α
_BOOST_FACTOR_PRINTED = 104  # R of AccuracyBoost is 104 ln(1/β)
_BETA = 0.125  # where the adversary has no β


@attrs.frozen(kw_only=True)
class ExtractionPlan(GamePlan):
    """The plan. Each block is one run of AccuracyBoost, whose games have one target but samples of their own.

    beta: β, the share of games that may have more wrong answers than α says.
    """

    derived: ClassVar[tuple[str, ...]] = ("adversary", "boost")

    beta: float

    @property
    def boost(self) -> int:
        """R of AccuracyBoost."""
        return self.block

    def play_block(self, number: int, block: int) -> np.ndarray:
        """(4, n): the error of the learned hypothesis, the share of wrong answers, whether the game failed,
        and the error of the majority vote of the block's hypotheses.
        """
        entrant = self.entrants[number]
        recorder = _RecordingAdversary(entrant.adversary)
        games, seed = self.games_in(block), self.block_seed(number, block)
        play(entrant.learner, recorder, entrant.referee, games=games, seed=seed)
        (learned,) = recorder.records
        boosted = np.full(len(learned.failed), learned.boosted)
        return np.stack([learned.errors, learned.wrong, learned.failed.astype(float), boosted])


@attrs.frozen(kw_only=True)
class ExtractionFigures:
    """The figures of one learner.

    points: |X|. queries: R of HypothesisLearner. alpha: α, which the mean error of a game's hypotheses
    exceeds in at most a share β of games. error: of the learned hypothesis. exceeding: the share of games in
    which it is above 8α, at most 1/4 by Claim B.1. failed: the share of games that failed. boosted: the error
    of the majority vote of a block's hypotheses, at most 24α by Claim B.2.
    """

    derived = ("bound", "boosted_bound", "broken")

    label: str
    learner: Learner
    points: int
    queries: int
    alpha: float
    error: MedianAndMean
    exceeding: Proportion
    failed: float
    boosted: MedianAndMean

    @property
    def bound(self) -> float:
        return LEARNER_FACTOR * self.alpha

    @property
    def boosted_bound(self) -> float:
        return BOOST_FACTOR * self.alpha

    @property
    def broken(self) -> bool:
        """Whether Claim B.1 is refuted."""
        return self.exceeding.lower > _CLAIM_B1_SHARE


@attrs.frozen(kw_only=True)
class ExtractionResult:
    """The figures of all learners, in the order of the plan, which has the games that were finished.

    interruption: what is missing, as text.
    """

    plan: ExtractionPlan
    learners: tuple[ExtractionFigures, ...]
    interruption: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether games are missing."""
        return bool(self.interruption)

    @property
    def broken(self) -> bool:
        """Whether Claim B.1 is refuted for some learner."""
        return any(figures.broken for figures in self.learners)


@attrs.frozen
class _RecordingAdversary(Adversary):
    protocols = ("Figure1",)

    adversary: Adversary
    records: list[Any] = attrs.field(factory=list, eq=False)

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.adversary.name

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learned = yield from self.adversary.learn(games, rng)  # type: ignore[attr-defined]
        self.records.append(learned)
        return np.asarray(learned.errors)


def plan_extraction(
    learners: Sequence[tuple[str, Learner]],
    make_adversary: Callable[[Learner], Adversary],
    *,
    games: int = GAMES,
    boost: int = BOOST,
    **settings: Any,
) -> ExtractionPlan:
    """Plan the attack on learners, each given with its label.

    make_adversary: makes the adversary of a learner. boost: R of AccuracyBoost, of which `games` is a
    multiple. settings: confidence and seed, as in `GamePlan`.

    Raises: InvalidArgument if there are no such games, or a learner has no class with a finite domain.
    """
    entrants = [
        Entrant(label=label, learner=learner, adversary=make_adversary(learner), referee=Figure1())
        for label, learner in learners
    ]
    for entrant in entrants:
        if _count_points(entrant) == 0:
            raise InvalidArgument(
                f"{entrant.label} has no class with a finite domain, all of whose points must be asked",
                value=getattr(entrant.learner, "concepts", None),
                remedy="Give it one, as in --set concepts=thresholds:1..16.",
            )
    check_value("boost", boost, whole, at_least(1))
    if games % boost:
        raise InvalidArgument(
            "games must be a multiple of boost, since the hypotheses of so many games are put to one vote",
            value=f"{games} games, boost {boost}",
            remedy=f"Give --games {ceil(games / boost) * boost}.",
        )
    beta = getattr(entrants[0].adversary, "beta", _BETA)
    return ExtractionPlan(entrants=tuple(entrants), games=games, block=boost, beta=beta, **settings)


def run_extraction(
    plan: ExtractionPlan, *, jobs: int | Workers = 1, watch: Watch | None = None
) -> ExtractionResult:
    """Play the plan; jobs, watch, interrupts and errors as in `play_games`."""
    plan, figures, interruption = play_games(plan, jobs=jobs, watch=watch)
    learners = tuple(_summarise(plan, *pair) for pair in zip(plan.entrants, figures, strict=True))
    return ExtractionResult(plan=plan, learners=learners, interruption=interruption)


def boost_in_paper(beta: float) -> int:
    """R of AccuracyBoost as printed: 104 ln(1/β)."""
    return ceil(_BOOST_FACTOR_PRINTED * log(1 / beta))


def _count_points(entrant: Entrant) -> int:
    """|X|, or 0 if it is not finite."""
    concepts = getattr(entrant.adversary, "concepts", None) or getattr(entrant.learner, "concepts", None)
    return len(getattr(concepts, "domain", None) or ())


def _summarise(plan: ExtractionPlan, entrant: Entrant, figures: np.ndarray) -> ExtractionFigures:
    errors, wrong, failed, boosted = figures
    alpha = float(np.quantile(wrong, 1 - plan.beta, method="higher"))
    level = (1 - plan.confidence) / (3 * len(plan.entrants))
    points = _count_points(entrant)
    return ExtractionFigures(
        label=entrant.label,
        learner=entrant.learner,
        points=points,
        queries=entrant.adversary.rounds(points),  # type: ignore[attr-defined]
        alpha=alpha,
        error=MedianAndMean.of(errors, level),
        exceeding=Proportion.of(errors > LEARNER_FACTOR * alpha, level),
        failed=float(failed.mean()),
        boosted=MedianAndMean.of(boosted[:: plan.block], level),
    )
