"""Races: what every kind of race has in common, from playing the games to the figures of each learner."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import Bound, InvalidArgument, Learner
from audits.races.game_plan import Entrant, GamePlan, Interruption, Watch, play_games
from audits.registry.settings_text import blame_player
from audits.runs.workers import Workers
from audits.statistics.quantiles import Quantile, lower_limit_of_mean, quantile

MEDIAN, HIGH = QUANTILES = (0.5, 0.95)
_ROUNDING = 1e-9  # relative; bounds are floats, often logarithms


@attrs.frozen(kw_only=True)
class BoundTest:
    """A bound from a learner's theorem, and its test on the games.

    inapplicable: why the bound does not cover these games, so that it is not tested; empty if it does.
    exceeding: the number of games above it. allowed: the largest such number that does not refute it; None
    for a bound on the expectation, of which mean_lower is a lower confidence limit. broken: it is refuted.
    """

    bound: Bound
    inapplicable: str = ""
    exceeding: int = 0
    allowed: int | None = None
    mean_lower: float | None = None
    broken: bool = False


@attrs.frozen(eq=False, kw_only=True)
class RaceStanding:
    """The figures of one learner. Arrays are (k,), one entry for each mark of the race.

    mean, worst: over games. median, quantile_95: quantiles over games, with confidence limits.
    bound_test: None if the learner's theorem states no bound.
    """

    derived = ("label", "learner", "claim", "concepts")  # what JSON shows beside the fields

    entrant: Entrant = attrs.field(repr=False)
    mean: np.ndarray
    median: Quantile
    quantile_95: Quantile
    worst: np.ndarray
    bound_test: BoundTest | None

    @property
    def label(self) -> str:
        return self.entrant.label

    @property
    def learner(self) -> Learner:
        return self.entrant.learner

    @property
    def claim(self) -> str:
        return self.entrant.claim

    @property
    def concepts(self) -> str:
        return str(self.entrant.concepts)


@attrs.frozen(kw_only=True)
class Race(GamePlan):
    """The plan of a race. A subclass says what is measured in a game, and what theorems promise about it."""

    @property
    @abstractmethod
    def quantity(self) -> str:
        """What is measured: mistakes, regret or error."""

    @property
    @abstractmethod
    def marks(self) -> tuple[int, ...]:
        """The k rounds at which figures are recorded."""

    @abstractmethod
    def check(self, entrant: Entrant) -> None:
        """Refuse, before any game, an entrant whose games or bounds would be refused."""

    @abstractmethod
    def make_standing(self, entrant: Entrant, figures: np.ndarray) -> RaceStanding:
        """The standing of a learner, from the figures (..., n) of its games."""


@attrs.frozen(eq=False, kw_only=True)
class RaceResult:
    """The standings of all learners, in the order of the race.

    race: with the games that were finished. interruption: None if those are all.
    """

    kind: ClassVar[str] = "race"

    race: Race
    standings: tuple[Any, ...]  # of the kind that `race.make_standing` returns
    interruption: Interruption | None = None

    @property
    def interrupted(self) -> bool:
        """Whether games are missing."""
        return self.interruption is not None

    @property
    def broken(self) -> bool:
        """Whether some promised bound does not hold."""
        tests = [standing.bound_test for standing in self.standings]
        return any(test is not None and test.broken and test.bound.promised for test in tests)


def run_race(race: Race, *, jobs: int | Workers = 1, watch: Watch | None = None) -> RaceResult:
    """Play a race; jobs, watch, interrupts and errors as in `play_games`.

    Raises: also InvalidArgument or NotConforming, before the games, if an entrant is unfit; see `Race.check`.
    """
    for entrant in race.entrants:
        race.check(entrant)
    return make_result(*play_games(race, jobs=jobs, watch=watch))


def make_result(
    race: Race, figures: list[np.ndarray], interruption: Interruption | None = None
) -> RaceResult:
    """The result of a race from what `play_games` returns."""
    pairs = zip(race.entrants, figures, strict=True)
    standings = tuple(race.make_standing(*pair) for pair in pairs)
    return RaceResult(race=race, standings=standings, interruption=interruption)


def summarise(race: Race, figures: np.ndarray) -> dict[str, Any]:
    """The fields of a `RaceStanding` that are order statistics of figures (k, n), at each of k marks."""
    ordered, level = np.sort(figures, axis=1), limit_level(race)
    return {
        "median": quantile(ordered, MEDIAN, level),
        "quantile_95": quantile(ordered, HIGH, level),
        "worst": ordered[:, -1],
    }


def limit_level(race: Race) -> float:
    """The one-sided error probability of each limit: Bonferroni over sides, quantiles, marks and learners."""
    return (1 - race.confidence) / (2 * len(QUANTILES) * len(race.marks) * len(race.entrants))


def read_bound(entrant: Entrant, rounds: int) -> Bound | None:
    """The bound that a learner states for so many rounds; None if it states none.

    Raises: InvalidArgument if it is not a Bound, or the learner raises an error.
    """
    with blame_player(entrant.learner.name, "asked for its bound"):
        bound = entrant.learner.bound(rounds)
    if bound is not None and not isinstance(bound, Bound):
        raise InvalidArgument(f"the bound of {entrant.learner.name} must be a Bound or None", value=bound)
    return bound


def compare_with_bound(race: Race, bound: Bound, figures: np.ndarray, *, minimum: float = 0) -> BoundTest:
    """Test a bound on the figures (n,) of a learner's games, none of which can be below `minimum`.

    A bound on the expectation is tested by Anderson's lower limit on the mean, any other by the number of
    games that exceed it. All learners' tests together err with a probability of at most 1 - confidence.
    """
    limit = bound.at_most + _ROUNDING * max(1.0, abs(bound.at_most))
    exceeding = int(np.count_nonzero(figures > limit))
    level = (1 - race.confidence) / len(race.entrants)
    if bound.beta is None:
        lower = lower_limit_of_mean(figures, minimum, level)
        return BoundTest(bound=bound, exceeding=exceeding, mean_lower=lower, broken=lower > limit)
    allowed = 0
    if bound.beta > 0:
        from scipy.stats import binom  # slow to import

        allowed = int(binom.isf(level, race.games, bound.beta))
    return BoundTest(bound=bound, exceeding=exceeding, allowed=allowed, broken=exceeding > allowed)
