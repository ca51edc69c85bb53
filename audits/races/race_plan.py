"""The plan of a race: seeded games of several learners, what is measured in them, and the test of bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs
import numpy as np

from arena import Adversary, Bound, InvalidArgument, Learner, Referee
from arena.concepts import ConceptClass
from arena.engine import check_protocol
from arena.settings import at_least, less_than, more_than, whole
from audits.registry.settings_text import blame_player
from audits.reports.report import Table
from audits.runs.workers import Workers, map_missing
from audits.statistics.quantiles import Quantile, lower_limit_of_mean, quantile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEDIAN, HIGH = QUANTILES = (0.5, 0.95)
_ROUNDING = 1e-9  # relative; bounds are floats, often logarithms
Watch = Callable[[int], None]
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
        """The bound that the learner states for so many rounds; None if it states none.

        Raises: InvalidArgument if it is not a Bound, or the learner raises an error.
        """
        name = self.learner.name
        with blame_player(name, "asked for its bound"):
            bound = self.learner.bound(rounds)
        if bound is not None and not isinstance(bound, Bound):
            raise InvalidArgument(f"the bound of {name} must be a Bound or None", value=bound)
        return bound


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
class Measure(ABC):
    """What a race records in its games, one subclass for each kind of protocol.

    quantity: MISTAKES, REGRET or ERROR. marks: the k rounds after which it is recorded, of which the last is
    the end of the game. least_height: the axis of a chart reaches at least so high.
    """

    least_height: ClassVar[float]

    quantity: str
    marks: tuple[int, ...]

    @property
    def least_figure(self) -> float:
        """A number below which no figure of a game can be."""
        return 0

    def check(self, entrant: Entrant) -> None:
        """Refuse, before any game, an entrant whose games or bounds would be refused."""
        for mark in self.marks:
            entrant.read_bound(mark)

    @abstractmethod
    def explain_inapplicable(self, bound: Bound, protocol: str) -> str:
        """Why a bound does not cover what is measured; empty if it does."""

    @abstractmethod
    def play(self, entrant: Entrant, games: int, seed: np.random.SeedSequence) -> np.ndarray:
        """Play n games and return their figures, (..., k, n)."""

    @abstractmethod
    def make_standing(self, race: Race, entrant: Entrant, figures: np.ndarray) -> Standing:
        """The standing of a learner, from the figures of its games."""

    @abstractmethod
    def describe(self, race: Race, standings: Sequence[Any]) -> tuple[str, Table, list[str]]:
        """How the games are played, the table of the figures, and sentences that explain them."""

    @abstractmethod
    def label_axes(self, axes: Axes) -> None:
        """Set the labels and scales of a chart of medians by marks."""


@attrs.frozen(kw_only=True)
class Race:
    """Everything on which the figures of a race depend.

    entrants: the learners. games: the number of games of each. confidence: of all confidence limits together,
    and of all tests of bounds together. seed: random seed. block: games that are played in one batch.
    """

    derived: ClassVar[tuple[str, ...]] = ("adversary", "protocol", "rounds")  # what JSON shows, too

    entrants: tuple[Entrant, ...] = attrs.field(repr=False)
    measure: Measure = attrs.field(repr=False)
    games: int = attrs.field(validator=[whole, at_least(1)])
    confidence: float = attrs.field(
        default=0.95, validator=[more_than(0), less_than(1, "Write 0.95 for 95 %.")]
    )
    seed: int = attrs.field(default=0, validator=[whole, at_least(0)])
    block: int = attrs.field(repr=False, validator=[whole, at_least(1)])

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
        return self.measure.marks[-1]

    @property
    def limit_level(self) -> float:
        """The error probability of each limit: Bonferroni over sides, quantiles, marks and learners."""
        return (1 - self.confidence) / (2 * len(QUANTILES) * len(self.measure.marks) * len(self.entrants))

    def games_in(self, block: int) -> int:
        """The number of games in a block; the last block may be smaller."""
        return min(self.block, self.games - block * self.block)

    def play_block(self, number: int, block: int) -> np.ndarray:
        """The figures (..., k, n) of a block of learner `number`, whose seed depends on nothing else."""
        seed = np.random.SeedSequence(self.seed, spawn_key=(number, block))
        return self.measure.play(self.entrants[number], self.games_in(block), seed)

    def summarise(self, entrant: Entrant, figures: np.ndarray, final: np.ndarray) -> dict[str, Any]:
        """The fields of a standing that are order statistics of figures (k, n), and its bounds.

        final: (n,), the figure of each game on which the bound is tested.
        """
        ordered, level = np.sort(figures, axis=1), self.limit_level
        bounds = [entrant.read_bound(mark) for mark in self.measure.marks]
        explain = self.measure.explain_inapplicable
        promises = [
            np.inf if bound is None or explain(bound, self.protocol) else bound.at_most for bound in bounds
        ]
        return {
            "entrant": entrant,
            "median": quantile(ordered, MEDIAN, level),
            "quantile_95": quantile(ordered, HIGH, level),
            "worst": ordered[:, -1],
            "bound_test": None if bounds[-1] is None else self._test_bound(bounds[-1], final),
            "bounds": np.array(promises, np.float64),
        }

    def _test_bound(self, bound: Bound, figures: np.ndarray) -> BoundTest:
        """Test a bound on the figures (n,) of a learner's games.

        A bound on the expectation is tested by Anderson's lower limit on the mean, any other by the number of
        games that exceed it. All learners' tests together err with probability at most 1 - confidence.
        """
        reason = self.measure.explain_inapplicable(bound, self.protocol)
        if reason:
            return BoundTest(bound=bound, inapplicable=reason)
        limit = bound.at_most + _ROUNDING * max(1.0, abs(bound.at_most))
        exceeding = int(np.count_nonzero(figures > limit))
        level = (1 - self.confidence) / len(self.entrants)
        if bound.beta is None:
            lower = lower_limit_of_mean(figures, self.measure.least_figure, level)
            return BoundTest(bound=bound, exceeding=exceeding, mean_lower=lower, broken=lower > limit)
        allowed = 0
        if bound.beta > 0:
            from scipy.stats import binom  # slow to import

            allowed = int(binom.isf(level, self.games, bound.beta))
        return BoundTest(bound=bound, exceeding=exceeding, allowed=allowed, broken=exceeding > allowed)


def play_games(
    race: Race, *, jobs: int | Workers = 1, watch: Watch | None = None
) -> tuple[Race, list[np.ndarray], str]:
    """Play all games; return the race, the figures (..., k, n) of each learner's n games, and an empty text.

    A keyboard interrupt ends them early. Then it is the race of the games that were finished, equally many of
    every learner that has any, and the text says which are missing. If none were, the interrupt is raised.

    jobs: number of processes, or `Workers`. watch: called with the number of games so far.
    Raises: whatever a referee or a player raises in a game; WorkersFailed if workers fail.
    """
    blocks, learners = range(ceil(race.games / race.block)), range(len(race.entrants))
    tasks = [(number, block) for block in blocks for number in learners]
    played = [0, *accumulate(race.games_in(block) for _, block in tasks)]  # after so many tasks
    results, interrupted = map_missing(
        lambda task: race.play_block(*task),
        tasks,
        {},
        jobs,
        watch=None if watch is None else lambda done: watch(played[done]),
    )
    finished = [[results[n, block] for block in blocks if (n, block) in results] for n in learners]
    figures = [np.concatenate(arrays, axis=-1) for arrays in finished if arrays]
    if not interrupted:
        return race, figures, ""
    if not figures:
        raise KeyboardInterrupt
    games = min(array.shape[-1] for array in figures)  # the first learners may be a block ahead
    text = f"Interrupted: figures rest on the first {games:,} of {race.games:,} games."
    unplayed = [entrant.label for entrant in race.entrants[len(figures) :]]
    text += f" No games of {', '.join(unplayed)} were finished." if unplayed else ""
    shorter = attrs.evolve(race, entrants=race.entrants[: len(figures)], games=games)
    return shorter, [array[..., :games] for array in figures], text


def concepts_of(learner: Learner) -> ConceptClass:
    """The learner's setting `concepts`. Raises: InvalidArgument if it has no such setting."""
    concepts = getattr(learner, "concepts", None)
    if not isinstance(concepts, ConceptClass):
        raise InvalidArgument(
            f"{learner.name} has no setting `concepts`, so there is no class to measure it against",
            remedy="Race learners of a concept class.",
        )
    return concepts


def set_fields(player: Player, **values: object) -> Player:
    """The player with those of the values that it has fields for."""
    fields = attrs.fields_dict(type(player))
    return attrs.evolve(player, **{name: value for name, value in values.items() if name in fields})
