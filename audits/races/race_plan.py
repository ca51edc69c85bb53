"""The plan of a race: the games of several learners, what is measured in them, and the test of bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from arena import Bound, InvalidArgument, Learner
from audits.races.game_plan import Entrant, GamePlan
from audits.registry.settings_text import blame_player
from audits.reports.formatting import Table
from audits.statistics.quantiles import Quantile, lower_limit_of_mean, quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
class Standing:
    """The figures of one learner. Arrays are (k,), one entry for each mark of the race.

    mean, worst: over games. median, quantile_95: quantiles over games, with confidence limits.
    bound_test: None if the learner's theorem states no bound. bounds: what it promises at each mark; infinite
    where it promises nothing. A measure adds figures of its own.
    """

    derived = ("label", "learner", "claim", "concepts")  # what JSON shows beside the fields

    entrant: Entrant = attrs.field(repr=False)
    mean: np.ndarray
    median: Quantile
    quantile_95: Quantile
    worst: np.ndarray
    bound_test: BoundTest | None
    bounds: np.ndarray

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
class Measure(ABC):
    """What a race records in its games, one subclass for each kind of protocol.

    quantity: MISTAKES, REGRET or ERROR. marks: the k rounds after which it is recorded, of which the last is
    the end of the game. least_height: the axis of a chart reaches at least so high.
    """

    least_height: ClassVar[float]

    quantity: str
    marks: tuple[int, ...]

    @property
    def rounds(self) -> int:
        """The number of rounds of a game."""
        return self.marks[-1]

    @abstractmethod
    def check(self, entrant: Entrant) -> None:
        """Refuse, before any game, an entrant whose games or bounds would be refused."""

    @abstractmethod
    def play(self, entrant: Entrant, games: int, seed: np.random.SeedSequence) -> np.ndarray:
        """Play games and return their figures, (..., k, n)."""

    @abstractmethod
    def make_standing(self, race: Race, entrant: Entrant, figures: np.ndarray) -> Standing:
        """The standing of a learner, from the figures of its games."""

    @abstractmethod
    def describe(self, race: Race, standings: Sequence[Any]) -> tuple[str, list[Table], list[str]]:
        """How the games are played, tables of the figures, and sentences that explain them."""

    @abstractmethod
    def label_axes(self, axes: Axes) -> None:
        """Set the labels and scales of a chart of medians by marks."""


@attrs.frozen(kw_only=True)
class Race(GamePlan):
    """Games of several learners, and what is measured in them."""

    derived: ClassVar[tuple[str, ...]] = ("adversary", "protocol", "rounds")

    measure: Measure = attrs.field(repr=False)

    @property
    def protocol(self) -> str:
        return self.entrants[0].referee.name

    @property
    def rounds(self) -> int:
        """The number of rounds of a game; of predictors, the number of their own rounds."""
        return self.measure.rounds

    @property
    def limit_level(self) -> float:
        """The error probability of each limit: Bonferroni over sides, quantiles, marks and learners."""
        return (1 - self.confidence) / (2 * len(QUANTILES) * len(self.measure.marks) * len(self.entrants))

    def play_block(self, number: int, block: int) -> np.ndarray:
        return self.measure.play(self.entrants[number], self.games_in(block), self.block_seed(number, block))

    def summarise(self, figures: np.ndarray) -> dict[str, Any]:
        """The fields of a standing that are order statistics of figures (k, n)."""
        ordered, level = np.sort(figures, axis=1), self.limit_level
        return {
            "median": quantile(ordered, MEDIAN, level),
            "quantile_95": quantile(ordered, HIGH, level),
            "worst": ordered[:, -1],
        }

    def test_bound(self, bound: Bound, figures: np.ndarray, *, minimum: float = 0) -> BoundTest:
        """Test a bound on the figures (n,) of a learner's games, none of which can be below `minimum`.

        A bound on the expectation is tested by Anderson's lower limit on the mean, any other by the number of
        games that exceed it. All learners' tests together err with probability at most 1 - confidence.
        """
        limit = bound.at_most + _ROUNDING * max(1.0, abs(bound.at_most))
        exceeding = int(np.count_nonzero(figures > limit))
        level = (1 - self.confidence) / len(self.entrants)
        if bound.beta is None:
            lower = lower_limit_of_mean(figures, minimum, level)
            return BoundTest(bound=bound, exceeding=exceeding, mean_lower=lower, broken=lower > limit)
        allowed = 0
        if bound.beta > 0:
            from scipy.stats import binom  # slow to import

            allowed = int(binom.isf(level, self.games, bound.beta))
        return BoundTest(bound=bound, exceeding=exceeding, allowed=allowed, broken=exceeding > allowed)


def read_bound(entrant: Entrant, rounds: int) -> Bound | None:
    """The bound that a learner states for so many rounds; None if it states none.

    Raises: InvalidArgument if it is not a Bound, or the learner raises an error.
    """
    with blame_player(entrant.learner.name, "asked for its bound"):
        bound = entrant.learner.bound(rounds)
    if bound is not None and not isinstance(bound, Bound):
        raise InvalidArgument(f"the bound of {entrant.learner.name} must be a Bound or None", value=bound)
    return bound
