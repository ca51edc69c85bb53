"""What a race of predictors found."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import ERROR, Bound, InvalidArgument
from audits.races.errors.plan import PredictorRace, asked
from audits.races.mistakes.plan import Entrant
from audits.races.mistakes.result import QUANTILES, Held, allowed_games, limit_level, plain_data
from audits.registry.settings_text import blame_player, format_settings, summarize_player
from audits.registry.tested_claim import read_claim
from audits.statistics.quantiles import Quantile, quantile

_ROUNDING = 1e-9
_HALTED = 1.0  # the error of a game that has halted: it labels nothing any more


@attrs.frozen(kw_only=True)
class RoundRun:
    """The sizes of a round that was run: of GenericBBL's parameters those that all its versions have.

    asked: the queries that it was asked, of the `answers` that it would give.
    """

    index: int
    chunk: int
    teachers: int
    answers: int
    noise: float
    asked: int


@attrs.frozen(eq=False, kw_only=True)
class PredictorStanding:
    """The figures of one learner; all arrays are (K,), by rounds.

    median, high: quantiles over games of the largest error of a hypothesis of the round. worst: the largest
    of all. mean: the mean error, over hypotheses and then games. wrong: the share of wrong answers. halted:
    the games that had halted before the round's end; from there on their error is 1 in median, high and
    worst, and they do not count in mean and wrong, which are NaN where all have halted.
    least: the error of the best concept, mean over games; errors are told beyond it.
    """

    entrant: Entrant
    rounds: tuple[RoundRun, ...]
    median: Quantile
    high: Quantile
    worst: np.ndarray
    mean: np.ndarray
    wrong: np.ndarray
    halted: np.ndarray
    least: float
    held: Held | None

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for what is not known or not finite."""
        learner = self.entrant.learner
        return plain_data(
            {
                "label": self.entrant.label,
                "learner": learner.name,
                "settings": format_settings(learner),
                "claim": str(read_claim(learner)),
                "concepts": str(self.entrant.concepts),
                "median": self.median.as_json(),
                "quantile_95": self.high.as_json(),
                "least": self.least,
                "bound": None if self.held is None else attrs.asdict(self.held),
            }
        ) | {
            "rounds": [attrs.asdict(one) for one in self.rounds],
            "worst": self.worst.tolist(),
            "mean": _known(self.mean),
            "wrong": _known(self.wrong),
            "halted": self.halted.tolist(),
        }


@attrs.frozen(eq=False, kw_only=True)
class PredictorResult:
    """The figures of all learners, in the order of the race."""

    race: PredictorRace
    standings: tuple[PredictorStanding, ...]

    @property
    def broken(self) -> bool:
        """Whether some bound that was promised did not hold."""
        held = [one.held for one in self.standings if one.held is not None]
        return any(one.broken and one.bound.promised for one in held)

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for what is not known or not finite."""
        race = self.race
        return {
            "of": ERROR,
            "adversary": summarize_player(race.entrants[0].adversary),
            "protocol": race.entrants[0].referee.name,
            "rounds": race.rounds,
            "games": race.games,
            "tested": race.tested,
            "confidence": race.confidence,
            "seed": race.seed,
            "broken": self.broken,
            "learners": [one.as_json() for one in self.standings],
        }


def result_of(race: PredictorRace, figures: list[np.ndarray]) -> PredictorResult:
    """The result of the games. figures: for each entrant (5, K, n), as `play_block` returns them."""
    pairs = zip(race.entrants, figures, strict=True)
    return PredictorResult(race=race, standings=tuple(_standing(race, one, found) for one, found in pairs))


def bound_of(race: PredictorRace, entrant: Entrant) -> Bound | None:
    """What the learner's theorem says of the errors of all rounds together."""
    with blame_player(entrant.learner.name, "asked for its bound"):
        bound = entrant.learner.bound(race.rounds)
    if bound is not None and (not isinstance(bound, Bound) or bound.of != ERROR or bound.beta is None):
        raise InvalidArgument(
            f"the bound of {entrant.learner.name} must be a Bound on {ERROR} with a probability, or None",
            value=bound,
        )
    return bound


def _standing(race: PredictorRace, entrant: Entrant, figures: np.ndarray) -> PredictorStanding:
    answers, largest, total, wrong, least = figures
    wanted = asked(entrant.learner, race.rounds)
    halted = answers < wanted[:, None]
    largest = np.where(halted, _HALTED, largest)
    ordered, level = np.sort(largest, axis=1), limit_level(race)
    median, high = (quantile(ordered, q, level) for q in QUANTILES)
    some = answers > 0
    beyond = np.where(some, total / np.maximum(answers, 1), 0)
    shares = np.where(some, wrong / np.maximum(answers, 1), 0)
    with np.errstate(invalid="ignore"):
        mean, share = beyond.sum(axis=1) / some.sum(axis=1), shares.sum(axis=1) / some.sum(axis=1)
    return PredictorStanding(
        entrant=entrant,
        rounds=_rounds(entrant, wanted),
        median=median,
        high=high,
        worst=ordered[:, -1],
        mean=mean,
        wrong=share,
        halted=halted.sum(axis=1),
        least=float(least[0].mean()),
        held=_held(race, bound_of(race, entrant), largest.max(axis=0)),
    )


def _rounds(entrant: Entrant, wanted: np.ndarray) -> tuple[RoundRun, ...]:
    learner: Any = entrant.learner
    found = []
    for index, queries in enumerate(wanted.tolist(), start=1):
        run = learner.round(index)
        told = {name: getattr(run, name) for name in ("chunk", "teachers", "answers", "noise")}
        found.append(RoundRun(index=index, asked=queries, **told))
    return tuple(found)


def _held(race: PredictorRace, bound: Bound | None, worst: np.ndarray) -> Held | None:
    """worst: (n,), the largest error of a hypothesis of all rounds."""
    if bound is None or bound.beta is None:
        return None
    exceeding = int(np.count_nonzero(worst > bound.at_most + _ROUNDING))
    allowed = allowed_games(race, bound.beta)
    return Held(bound=bound, exceeding=exceeding, allowed=allowed, broken=exceeding > allowed)


def _known(figures: np.ndarray) -> list[float | None]:
    return [x if np.isfinite(x) else None for x in figures.tolist()]
