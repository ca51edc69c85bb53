"""What a race found."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from arena import ERROR, MISTAKES, REGRET, Bound, InvalidArgument, Oblivious
from audits.races.mistakes.plan import Contest, Entrant, Race
from audits.registry.settings_text import blame_player, format_settings, summarize_player
from audits.registry.tested_claim import read_claim
from audits.statistics.quantiles import Quantile, mean_limit, quantile

QUANTILES = (0.5, 0.95)
_ROUNDING = 1e-9  # a bound is a float, often a logarithm


@attrs.frozen(kw_only=True)
class Held:
    """A learner's bound on games of T rounds, and whether they kept it.

    unsaid: why it says nothing of these games, so that nothing else is known; empty where it does.
    exceeding: the games above it. allowed: the most games above it that a true bound is granted; None where
    it bounds the expectation. mean_lower: what the expectation is at least, where it bounds that; else None.
    broken: a game broke a bound that none does; or a test refuted it.
    """

    bound: Bound
    unsaid: str = ""
    exceeding: int = 0
    allowed: int | None = None
    mean_lower: float | None = None
    broken: bool = False


@attrs.frozen(eq=False, kw_only=True)
class Growth:
    """Least squares over the marks; None where fewer than two marks tell.

    power: the slope of ln(median) against ln t, over marks with a median above 0. log: the slope of the
    median against ln t.
    """

    power: float | None
    log: float | None


@attrs.frozen(eq=False, kw_only=True)
class Standing:
    """The figures of one learner; all arrays are (k,), by marks.

    bounds: what its theorem promises of games that end at each mark; infinite where nothing.
    """

    entrant: Entrant
    mean: np.ndarray
    median: Quantile
    high: Quantile
    worst: np.ndarray
    bounds: np.ndarray
    held: Held | None
    growth: Growth

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for what is not known or not finite."""
        entrant, held = self.entrant, self.held
        return {
            "label": entrant.label,
            "learner": entrant.learner.name,
            "settings": format_settings(entrant.learner),
            "claim": str(read_claim(entrant.learner)),
            "concepts": str(entrant.concepts),
            "mean": self.mean.tolist(),
            "median": self.median.as_json(),
            "quantile_95": self.high.as_json(),
            "worst": self.worst.tolist(),
            "bounds": [finite(x) for x in self.bounds.tolist()],
            "bound": None if held is None else plain_data(attrs.asdict(held)),
            "growth": attrs.asdict(self.growth),
        }


@attrs.frozen(eq=False, kw_only=True)
class RaceResult:
    """The figures of all learners, in the order of the race."""

    race: Race
    standings: tuple[Standing, ...]

    @property
    def broken(self) -> bool:
        """Whether some bound did not hold."""
        return any(one.held is not None and one.held.broken for one in self.standings)

    def as_json(self) -> dict[str, Any]:
        """Plain data; null stands for what is not known or not finite."""
        race = self.race
        return {
            "of": race.of,
            "adversary": summarize_player(race.entrants[0].adversary),
            "protocol": race.entrants[0].referee.name,
            "realizable": race.of == MISTAKES,
            "rounds": race.rounds,
            "games": race.games,
            "marks": list(race.marks),
            "confidence": race.confidence,
            "seed": race.seed,
            "broken": self.broken,
            "learners": [one.as_json() for one in self.standings],
        }


def result_of(race: Race, figures: list[np.ndarray]) -> RaceResult:
    """The result of the games. figures: for each entrant (k, n), its games' figures at the marks."""
    pairs = zip(race.entrants, figures, strict=True)
    return RaceResult(race=race, standings=tuple(_standing(race, one, found) for one, found in pairs))


def limit_level(race: Contest) -> float:
    """The one-sided level of each limit: Bonferroni over sides, quantiles, marks and learners."""
    return (1 - race.confidence) / (2 * len(QUANTILES) * len(race.at) * len(race.entrants))


def bounds_of(race: Race, entrant: Entrant) -> list[Bound | None]:
    """What the learner's theorem promises at each mark."""
    found = []
    for mark in race.marks:
        with blame_player(entrant.learner.name, "asked for its bound"):
            bound = entrant.learner.bound(mark)
        if bound is not None and not isinstance(bound, Bound):
            raise InvalidArgument(f"the bound of {entrant.learner.name} must be a Bound or None", value=bound)
        found.append(bound)
    return found


def _standing(race: Race, entrant: Entrant, figures: np.ndarray) -> Standing:
    ordered, level = np.sort(figures, axis=1), limit_level(race)
    median, high = (quantile(ordered, q, level) for q in QUANTILES)
    bounds = bounds_of(race, entrant)
    told = [np.inf if bound is None or unsaid(bound, race, entrant) else bound.at_most for bound in bounds]
    return Standing(
        entrant=entrant,
        mean=figures.mean(axis=1),
        median=median,
        high=high,
        worst=ordered[:, -1],
        bounds=np.array(told, np.float64),
        held=None if bounds[-1] is None else _held(race, entrant, bounds[-1], figures[-1]),
        growth=_growth(np.array(race.marks), median.values),
    )


def unsaid(bound: Bound, race: Race, entrant: Entrant) -> str:
    """Why the bound says nothing of these games; empty if it does.

    In realizable games the best concept makes no mistake, so that a bound on regret is one on mistakes;
    elsewhere one on mistakes says nothing.
    """
    if bound.of == ERROR:
        return "it is on the errors of predictors"
    if bound.of != REGRET and race.of != MISTAKES:
        return f"it is on {bound.of} in realizable games"
    if bound.oblivious and entrant.referee.name != Oblivious.name:
        return "it is proved before oblivious adversaries"
    return ""


def _held(race: Race, entrant: Entrant, bound: Bound, figures: np.ndarray) -> Held:
    silent = unsaid(bound, race, entrant)
    if silent:
        return Held(bound=bound, unsaid=silent)
    most = bound.at_most + _ROUNDING * max(1.0, abs(bound.at_most))
    exceeding = int(np.count_nonzero(figures > most))
    if bound.beta is None:
        lower = mean_limit(figures, 0 if race.of == MISTAKES else -race.rounds, level_of_test(race))
        return Held(bound=bound, exceeding=exceeding, mean_lower=lower, broken=lower > most)
    allowed = allowed_games(race, bound.beta)
    return Held(bound=bound, exceeding=exceeding, allowed=allowed, broken=exceeding > allowed)


def level_of_test(race: Contest) -> float:
    """That of the test of each bound: all of them together stay within 1 - confidence."""
    return (1 - race.confidence) / len(race.entrants)


def allowed_games(race: Contest, beta: float) -> int:
    """The most games that may exceed a bound which a game exceeds with probability `beta` at most."""
    if beta == 0:
        return 0
    from scipy.stats import binom  # slow to import

    return int(binom.isf(level_of_test(race), race.games, beta))


def _growth(marks: np.ndarray, medians: np.ndarray) -> Growth:
    log_t, positive = np.log(marks), medians > 0
    return Growth(
        power=_slope(log_t[positive], np.log(medians[positive])),
        log=_slope(log_t, medians),
    )


def _slope(x: np.ndarray, y: np.ndarray) -> float | None:
    if len(x) < 2:
        return None
    apart = x - x.mean()
    return float(apart @ y / (apart @ apart))


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def plain_data(record: dict[str, Any]) -> dict[str, Any]:
    """The record with null for what is not finite, in its records, too."""
    return {name: _plain(part) for name, part in record.items()}


def _plain(part: Any) -> Any:
    if isinstance(part, dict):
        return plain_data(part)
    return finite(part) if isinstance(part, float) else part
