"""How far an adversary moves a predictor by choosing a fraction of its queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner
from audits.races.game_plan import Entrant, Watch, play_games
from audits.races.hypothesis_errors import ErrorRecorder
from audits.races.predictor_games import HypothesisErrors, plan_predictor_race, queries_by_round
from audits.races.race_plan import Race
from audits.runs.workers import Workers
from audits.statistics.quantiles import MedianAndMean

FRACTIONS = (0.0, 0.1, 0.3, 0.9)
GAMES = 50


@attrs.frozen(kw_only=True)
class Dose:
    """A learner's label, and the fraction of its queries that the adversary chooses with an aim.

    aim: None if the fraction is 0.
    """

    label: str
    aim: str | None
    fraction: float


class PoisonedErrors(HypothesisErrors):
    """Also measures the error of the concept that labels S_i."""

    def play(self, entrant: Entrant, games: int, seed: np.random.SeedSequence) -> np.ndarray:
        """(4, K, n): by rounds, the number of answers, the largest error of a hypothesis, the sum of the
        errors, and the error of the concept that labels S_i.
        """
        record = self.record(entrant, games, seed, PoisoningRecorder)
        return np.stack([record.answers, record.worst, record.total, record.moved])


@attrs.frozen(kw_only=True)
class PoisoningPlan(Race):
    """A race in which every dose of every learner is an entrant; doses: in the order of the entrants."""

    measure: PoisonedErrors = attrs.field(repr=False)
    doses: tuple[Dose, ...] = attrs.field(repr=False)

    def curtail(self, learners: int, games: int) -> Self:
        return attrs.evolve(super().curtail(learners, games), doses=self.doses[:learners])


@attrs.frozen(kw_only=True)
class PoisoningFigures(Dose):
    """The figures of one dose. Tuples are by rounds.

    mean: a game's mean error of hypotheses; unanswered queries have error 1. worst: its largest. moved: the
    error of the concept that labels S_i, from round 2 on. halted: games that halted before the round's end.
    """

    learner: Learner
    mean: tuple[MedianAndMean, ...]
    worst: tuple[MedianAndMean, ...]
    moved: tuple[MedianAndMean, ...]
    halted: tuple[int, ...]


@attrs.frozen(kw_only=True)
class PoisoningResult:
    """The figures of all doses, in the order of the plan, which has the games that were finished.

    interruption: what is missing, as text.
    """

    plan: PoisoningPlan
    doses: tuple[PoisoningFigures, ...]
    interruption: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether games are missing."""
        return bool(self.interruption)

    def find_worst(self) -> dict[str, PoisoningFigures]:
        """For each poisoned learner, the dose after which it has the largest error in the last round."""
        worst: dict[str, PoisoningFigures] = {}
        for figures in self.doses:
            best = worst.get(figures.label)
            if figures.fraction and (best is None or figures.mean[-1].median > best.mean[-1].median):
                worst[figures.label] = figures
        return worst


def plan_poisoning(
    learners: Sequence[tuple[str, Learner]],
    make_adversary: Callable[[Learner, str, float], Adversary],
    *,
    aims: Sequence[str],
    fractions: Sequence[float] = FRACTIONS,
    **settings: Any,
) -> PoisoningPlan:
    """Plan the attack on learners, each given with its label.

    make_adversary: takes a learner, an aim and a fraction. A fraction of 0 is played once, since the aim does
    not matter. settings: as in `plan_predictor_race`.

    Raises: InvalidArgument for fractions outside [0, 1] or given twice, and as `plan_predictor_race` does.
    """
    for fraction in fractions:
        if not 0 <= fraction <= 1:
            raise InvalidArgument("a fraction must be between 0 and 1", value=fraction)
    for name, values in (("aim", aims), ("fraction", fractions)):
        if not values or len(set(values)) < len(values):
            raise InvalidArgument(f"give at least one {name}, and each only once", value=tuple(values))
    doses, players = [], []
    for label, learner in learners:
        for fraction in sorted(fractions):
            for aim in aims if fraction else aims[:1]:
                doses.append(Dose(label=label, aim=aim if fraction else None, fraction=fraction))
                players.append(
                    (f"{label} {aim} {fraction:g}", learner, make_adversary(learner, aim, fraction))
                )
    race = plan_predictor_race(players, measure=PoisonedErrors, **settings)
    return PoisoningPlan(**attrs.asdict(race, recurse=False), doses=tuple(doses))


def run_poisoning(
    plan: PoisoningPlan, *, jobs: int | Workers = 1, watch: Watch | None = None
) -> PoisoningResult:
    """Play the plan; jobs, watch, interrupts and errors as in `play_games`."""
    plan, figures, interruption = play_games(plan, jobs=jobs, watch=watch)
    doses = tuple(_summarise(plan, number, arrays) for number, arrays in enumerate(figures))
    return PoisoningResult(plan=plan, doses=doses, interruption=interruption)


class PoisoningRecorder(ErrorRecorder):
    """Also records the error of the concept that labels S_i.

    moved: (rounds, n); NaN in round 1, which has no such concept, and in rounds that a game did not reach.
    """

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self.moved = np.full(self.answers.shape, np.nan)

    def observe(self, state: Any, x: np.ndarray, labels: np.ndarray, halted: np.ndarray) -> None:
        super().observe(state, x, labels, halted)
        index, concepts = state.round.index, state.labelling
        if concepts is None or index > self._rounds or not np.isnan(self.moved[index - 1]).all():
            return
        evaluation = self.evaluation
        pairs = zip(concepts, evaluation.points, strict=True)
        predicted = np.stack([self._concepts.labels(concept[None], points)[0] for concept, points in pairs])
        errors = (predicted != evaluation.labels) @ evaluation.weights - evaluation.best_error
        self.moved[index - 1] = np.where(halted, np.nan, errors)


def _summarise(plan: PoisoningPlan, number: int, figures: np.ndarray) -> PoisoningFigures:
    learner = plan.entrants[number].learner
    answers, worst, total, moved = figures
    asked = queries_by_round(learner, plan.rounds)[:, None]
    level = (1 - plan.confidence) / (3 * plan.rounds * len(plan.entrants))

    def limit(rows: Any) -> tuple[MedianAndMean, ...]:
        # The excess over the best concept's error may be below 0: votes are no concept of the class.
        return tuple(MedianAndMean.of(np.clip(row, 0, 1), level) for row in rows)

    return PoisoningFigures(
        **attrs.asdict(plan.doses[number]),
        learner=learner,
        mean=limit((total + (asked - answers)) / asked),  # unanswered queries have error 1
        worst=limit(np.where(answers < asked, 1.0, worst)),
        moved=limit([row[~np.isnan(row)] for row in moved]),
        halted=tuple((answers < asked).sum(axis=1).tolist()),
    )
