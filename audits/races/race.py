"""Races: seeded games of several learners, what is measured in them, and the tests of bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs
import numpy as np

from arena import Adversary, Bound, InvalidArgument, Learner, Referee
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.settings import at_least, less_than, more_than, whole
from audits.registry.settings_text import blame_player
from audits.reports.report import Table
from audits.statistics.quantiles import Quantile, lower_limit_of_mean, quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_QUANTILES = {"median": 0.5, "quantile_95": 0.95}
_ROUNDING = 1e-9  # relative; bounds are floats, often logarithms
Player = TypeVar("Player", Learner, Adversary)


@attrs.frozen(kw_only=True)
class Entrant:
    """A learner, the label that names it in reports, its adversary and its referee."""

    label: str
    learner: Learner
    adversary: Adversary
    referee: Referee

    def __attrs_post_init__(self) -> None:
        check_protocol(self.learner, self.adversary, self.referee)

    @property
    def concepts(self) -> ConceptClass:
        """The learner's concept class, against which it is measured."""
        return concepts_of(self.learner)

    def read_bound(self, rounds: int) -> Bound | None:
        """The bound that the learner states for so many rounds, if any. Raises: InvalidArgument."""
        name = self.learner.own_name
        with blame_player(name, "asked for its bound"):
            bound = self.learner.bound(rounds)
        if bound is not None and not isinstance(bound, Bound):
            raise InvalidArgument(f"the bound of {name} must be a Bound or None", value=bound)
        return bound


@attrs.frozen(kw_only=True)
class BoundTest:
    """A bound from a learner's theorem, and its test on the games.

    inapplicable: why the bound does not cover these games, so that it is not tested.
    exceeding: the number of games above it. allowed: the largest such number that does not refute it; None
    for a bound on the expectation, of which mean_lower is a lower confidence limit. broken: it is refuted.
    """

    bound: Bound
    inapplicable: str = ""
    exceeding: int = 0
    allowed: int | None = None
    mean_lower: float | None = None
    broken: bool = False

    def describe_bound(self) -> str:
        """The bound, and the sense in which it holds."""
        bound = self.bound
        sense = "on the expectation" if bound.beta is None else f"β = {bound.beta:.3g}"
        return f"{bound.at_most:,.4g} ({sense})"

    def describe(self, games: int) -> str:
        """Whether it holds."""
        if self.inapplicable:
            return f"not tested: {self.inapplicable}"
        if self.bound.beta is None:
            observed = f"the mean is at least {self.mean_lower:,.4g}"
        elif self.bound.beta > 0:
            observed = f"{self.exceeding:,} of {games:,} games exceed it, up to {self.allowed:,} may"
        else:
            observed = f"{self.exceeding:,} games exceed it" if self.broken else "in every game"
        if self.bound.beta != 0 or self.broken:
            observed = f"{'no' if self.broken else 'not refuted'}: {observed}"
        return observed + ("" if self.bound.promised else " (not promised)")


@attrs.frozen(eq=False, kw_only=True)
class Standing:
    """The figures of one learner. Arrays are (k,), one entry for each mark of the race.

    mean, worst, and with confidence limits median, quantile_95: over games. bound_test: None if the learner's
    theorem states no bound. bounds: what it promises at each mark; infinite where it promises nothing.
    """

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


@attrs.frozen(kw_only=True)
class Race(ABC):
    """Everything on which the figures of a race depend, with one subclass for each kind of protocol.

    games: of each entrant. quantity: MISTAKES, REGRET or ERROR, recorded after the k rounds `marks`, of which
    the last is the end. confidence: of all confidence limits together, and of all tests of bounds together.
    """

    derived: ClassVar[tuple[str, ...]] = ("adversary", "protocol", "rounds")  # what JSON shows, too
    least_height: ClassVar[float]  # the axis of a chart reaches at least so high

    entrants: tuple[Entrant, ...] = attrs.field(repr=False)
    games: int = attrs.field(validator=[whole, at_least(1)])
    confidence: float = attrs.field(
        default=0.95, validator=[more_than(0), less_than(1, "Write 0.95 for 95 %.")]
    )
    seed: int = attrs.field(default=0, validator=[whole, at_least(0)])
    block: int = attrs.field(repr=False, validator=[whole, at_least(1)])
    quantity: str = attrs.field(repr=False)
    marks: tuple[int, ...] = attrs.field(repr=False)

    @property
    def adversary(self) -> Adversary:
        """The adversary of the first learner. Those of the others differ from it in their opponent only."""
        return self.entrants[0].adversary

    @property
    def protocol(self) -> str:
        return self.entrants[0].referee.name

    @property
    def rounds(self) -> int:
        """The number of rounds of a game; of predictors, the number of their own rounds."""
        return self.marks[-1]

    @property
    def limit_level(self) -> float:
        """The error probability of each limit: Bonferroni over sides, quantiles, marks and learners."""
        return (1 - self.confidence) / (2 * len(_QUANTILES) * len(self.marks) * len(self.entrants))

    @property
    def least_figure(self) -> float:
        """A number below which no figure of a game can be."""
        return 0

    @abstractmethod
    def explain_inapplicable(self, bound: Bound) -> str:
        """Why a bound does not cover what is measured; empty if it does."""

    @abstractmethod
    def play(self, entrant: Entrant, games: int, seed: np.random.SeedSequence) -> np.ndarray:
        """Play n games and return their figures, (..., k, n)."""

    @abstractmethod
    def make_standing(self, entrant: Entrant, figures: np.ndarray) -> Standing:
        """The standing of a learner, from the figures of its games."""

    @abstractmethod
    def describe(self, standings: Sequence[Any]) -> tuple[str, Table, list[str]]:
        """How the games are played, the table of the figures, and sentences that explain them."""

    @abstractmethod
    def label_axes(self, axes: Axes) -> None:
        """Set the labels and scales of a chart of medians by marks."""

    def check(self, entrant: Entrant) -> None:
        """Refuse, before any game, an entrant whose games or bounds would be refused."""
        for mark in self.marks:
            entrant.read_bound(mark)

    def games_in(self, block: int) -> int:
        return min(self.block, self.games - block * self.block)

    def play_block(self, number: int, block: int) -> np.ndarray:
        """The figures (..., k, n) of a block of learner `number`, whose seed depends on nothing else."""
        seed = np.random.SeedSequence(self.seed, spawn_key=(number, block))
        return self.play(self.entrants[number], self.games_in(block), seed)

    def summarise(self, entrant: Entrant, figures: np.ndarray, final: np.ndarray) -> dict[str, Any]:
        """The fields of a standing that follow from figures (k, n); final (n,): those for the bound."""
        ordered = np.sort(figures, axis=1)
        bounds = [entrant.read_bound(mark) for mark in self.marks]
        promises = [
            np.inf if bound is None or self.explain_inapplicable(bound) else bound.at_most for bound in bounds
        ]
        return {
            "entrant": entrant,
            **{name: quantile(ordered, share, self.limit_level) for name, share in _QUANTILES.items()},
            "worst": ordered[:, -1],
            "bound_test": None if bounds[-1] is None else self._test_bound(bounds[-1], final),
            "bounds": np.array(promises, np.float64),
        }

    def _test_bound(self, bound: Bound, figures: np.ndarray) -> BoundTest:
        """Test a bound on figures (n,), by their number above it or by Anderson's lower limit on the mean."""
        reason = self.explain_inapplicable(bound)
        if reason:
            return BoundTest(bound=bound, inapplicable=reason)
        limit = bound.at_most + _ROUNDING * max(1.0, abs(bound.at_most))
        exceeding = int(np.count_nonzero(figures > limit))
        level = (1 - self.confidence) / len(self.entrants)
        if bound.beta is None:
            lower = lower_limit_of_mean(figures, self.least_figure, level)
            return BoundTest(bound=bound, exceeding=exceeding, mean_lower=lower, broken=lower > limit)
        allowed = 0
        if bound.beta > 0:
            from scipy.stats import binom  # slow to import

            allowed = int(binom.isf(level, self.games, bound.beta))
        return BoundTest(bound=bound, exceeding=exceeding, allowed=allowed, broken=exceeding > allowed)

    def __str__(self) -> str:
        learners = f"{len(self.entrants)} learners" if len(self.entrants) > 1 else self.entrants[0].label
        return f"{learners} against {self.adversary.name}, {self.games:,} games each"


def concepts_of(learner: Learner) -> ConceptClass:
    """The learner's setting `concepts`. Raises: InvalidArgument if it has no such setting."""
    concepts = getattr(learner, "concepts", None)
    if not isinstance(concepts, ConceptClass):
        raise InvalidArgument(
            f"{learner.own_name} has no setting `concepts`, so there is no class to measure it against",
            remedy="Race learners of a concept class.",
        )
    return concepts


def set_fields(player: Player, **values: object) -> Player:
    """The player with those of the values that it has fields for."""
    fields = attrs.fields_dict(type(player))
    return attrs.evolve(player, **{name: value for name, value in values.items() if name in fields})
