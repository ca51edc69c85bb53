"""A lower bound on ε at a number of games fixed beforehand, from guesses of the worlds of games.

Validity: docs/proofs/guess_counts.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena.randomness import generator
from arena.settings import at_least, at_most, check_value, less_than, more_than
from audits.statistics.estimates import (
    FIXED_SIZE,
    Estimate,
    Estimator,
    EstimatorContext,
    clopper_pearson,
    estimate_epsilon,
)
from audits.statistics.score_histogram import EXACT, ScoreBins
from audits.statistics.score_pairs import PairCounts, join_blocks

_CHOOSING_SHARE = 10  # one pair in ten divides the error among the rules
_MAX_CHOOSING = 8_192  # pairs
_TAILS = 0.5 ** np.arange(1, 15)  # shares of the scores that a rule guesses at either end
_PRIORS = (0.48, 0.16, 0.16)  # of the error, for guesses at both ends, at the upper and at the lower one
_REVERSED = 0.25  # as much for the opposite guesses, since scores should be higher in world 1
_SHARPNESS = 4.0  # a rule that seems worse by s standard deviations gets e^(-4 s²) of its share
_SMALLEST_SHARE = 0.003  # of the error; rules that would get less get none
_DELTA_SHARE = 0.1  # of the error of a rule, at most, that δ explains more right guesses than are left out
_SPARE = 2.0  # standard deviations of the coins that name one world, for which there are games
_EPSILON_MAX = 50.0  # nats
_COINS = 1 << 31  # the part of a seed that the coins have for themselves
_HALVINGS = 26  # to less than a millionth of a nat
_Thin = Callable[[np.ndarray], np.ndarray]


@attrs.frozen(eq=False)
class Tally:
    """How often each of K rules guessed right and wrong, (K,), among games that coins named.

    both: of pairs whose games may depend on each other, those of which the rule guessed both games. Each
    counts as a wrong guess with probability 1 − e^−ε.
    """

    right: np.ndarray
    wrong: np.ndarray
    both: np.ndarray | None = None

    def bound(self, level: np.ndarray | float, thin: _Thin | None = None) -> np.ndarray:
        """The bounds (K,) in nats, each at one-sided `level`; those below 0 say nothing.
        thin: how many of `both` count as wrong, by that probability (K,); default: their mean."""
        if self.both is None:
            return _log_odds(self.right, self.wrong, level)
        low, high = np.zeros(len(self.both)), np.full(len(self.both), _EPSILON_MAX)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            chance = -np.expm1(-middle)
            more = self.both * chance if thin is None else thin(chance)
            is_false = _log_odds(self.right, self.wrong + more, level) > middle
            low, high = np.where(is_false, middle, low), np.where(is_false, high, middle)
        return low

    def excuse(self, guesses: np.ndarray) -> Tally:
        """The tally with so many fewer right guesses."""
        return attrs.evolve(self, right=np.maximum(self.right - guesses, 0.0))

    def expect(self, times: float) -> Tally:
        """The tally to expect of so many times as many games, with half a game added to each count."""
        both = None if self.both is None else self.both * times
        return Tally((self.right + 0.5) * times, (self.wrong + 0.5) * times, both)


@attrs.frozen(eq=False)
class GuessRules:
    """K rules that guess the world of a game by the cell of its score, or say nothing.

    Shapes: edges (C,), the lower edges of the cells; guesses (K, C): 1, -1 for world 0, 0 for nothing;
    shares (K,) of the error, which add up to 1.
    """

    edges: np.ndarray
    guesses: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, block: PairCounts) -> GuessRules:
        """The rules that guess at one end or at both, by each of `_TAILS` of the scores of a block, whose
        worlds are not looked at, and their opposites."""
        rank = block.by_level[:2].sum(axis=0).cumsum()
        total = int(rank[-1])
        tails = _TAILS[_TAILS * total >= 1]
        above = np.minimum(np.ceil(total * (1 - tails)), total - 1)
        below = np.maximum(np.floor(total * tails) - 1, 0)
        upper, lower = (block.levels[np.searchsorted(rank, at, side="right")] for at in (above, below))
        lower = np.minimum(np.nextafter(lower, np.inf), upper)
        edges = np.unique(np.concatenate([[-np.inf], upper, lower]))
        ones, zeros = (edges >= upper[:, None]).astype(int), (edges < lower[:, None]).astype(int)
        guesses = np.concatenate([ones - zeros, ones, -zeros])
        priors = np.repeat(_PRIORS, len(tails))
        guesses, place = np.unique(np.concatenate([guesses, -guesses]), axis=0, return_inverse=True)
        shares = np.bincount(place.ravel(), np.concatenate([priors, _REVERSED * priors]))
        return cls(edges, guesses, shares).keep((guesses != 0).any(axis=1))

    def keep(self, which: np.ndarray) -> GuessRules:
        """Some of the rules (K,), which divide the error of all."""
        shares = self.shares[which]
        return GuessRules(self.edges, self.guesses[which], shares / shares.sum())

    def count(self, block: PairCounts) -> np.ndarray:
        """(C, C): the pairs of the block by the cells of their scores in world 0 and in world 1."""
        size = len(self.edges)
        cells = np.searchsorted(self.edges, block.levels, side="right")[block.which] - 1
        table = np.bincount(cells @ np.array([size, 1]), block.counts, minlength=size**2)
        return table.astype(np.int64).reshape(size, size)

    def judge(self, games: np.ndarray) -> Tally:
        """The guesses of independent games (2, C), counted by world and cell."""
        ones, zeros = self.guesses > 0, self.guesses < 0
        return Tally(ones @ games[1] + zeros @ games[0], ones @ games[0] + zeros @ games[1])

    def judge_pairs(self, table: np.ndarray) -> Tally:
        """The guesses of pairs (C, C), by rules each of which names one world only."""
        some, names_zero = (self.guesses != 0).astype(int), (self.guesses < 0).any(axis=1)
        only0 = np.einsum("ka,ab,kb->k", some, table, 1 - some)
        only1 = np.einsum("ka,ab,kb->k", 1 - some, table, some)
        both = np.einsum("ka,ab,kb->k", some, table, some)
        right, wrong = np.where(names_zero, (only0, only1), (only1, only0))
        return Tally(right, wrong, both)

    def divide_error(self, tally: Tally, times: float, excused: np.ndarray, error: float) -> GuessRules:
        """The rules that seem good by a tally of some games, with their shares of the error for so many times
        as many games that are to come. excused: (K,), of the right guesses among these."""
        expected = tally.expect(times)
        promise = np.maximum(expected.excuse(excused).bound(error), -_EPSILON_MAX)
        games = tally.expect(1.0)
        deviation = np.sqrt(1 / games.right + 1 / games.wrong)
        best = int(promise.argmax())
        gap = (promise[best] - promise) / np.hypot(deviation, deviation[best])
        shares = self.shares * np.exp(-_SHARPNESS * gap**2)
        return attrs.evolve(self, shares=shares).keep(shares >= _SMALLEST_SHARE * shares.sum())


class GuessCounter:
    """A lower confidence bound on ε from blocks of score pairs, at a number of pairs fixed beforehand.

    games: pairs in all; the first blocks that hold a tenth of them divide the error among rules, and the
        others count. seed: an integer ≥ 0, of the coins that say from which world a game is taken.
    paired: whether the two games of a pair may depend on each other.
    Raises: InvalidArgument.
    """

    def __init__(
        self, *, delta: float, confidence: float, games: int, seed: int, paired: bool = False
    ) -> None:
        check_value("delta", delta, at_least(0), at_most(1))
        check_value("confidence", confidence, more_than(0), less_than(1))
        check_value("games", games, at_least(1))
        self._delta, self._error, self._games, self._paired = delta, 1.0 - confidence, games, paired
        self._seed = seed
        self._first: list[PairCounts] = []
        self._chosen = 0  # pairs that chose
        self._table = np.zeros((0, 0), np.int64)
        self.rules: GuessRules | None = None

    def update(self, block: PairCounts) -> None:
        """Choose by a block, or count it."""
        if self.rules is not None:
            self._table = self._table + self.rules.count(block)
            return
        self._first.append(block)
        self._chosen += block.pairs
        if self._chosen >= count_choosing(self._games):
            first, self._first = join_blocks(self._first), []
            self.rules = self._choose(first, self._games - self._chosen)
            self._table = np.zeros((len(self.rules.edges),) * 2, np.int64)

    @property
    def bins(self) -> ScoreBins:
        """Bins in which the next scores can be counted without any loss."""
        return EXACT if self.rules is None else ScoreBins(self.rules.edges)

    @property
    def epsilon_lower(self) -> float | None:
        """The certified bound in nats; None if no block was counted."""
        pairs = int(self._table.sum())
        if self.rules is None or not pairs:
            return None
        rng = generator(np.random.SeedSequence(self._seed, spawn_key=(_COINS,)))
        thin: _Thin | None = None
        if self._paired:
            draws, tally = pairs, self.rules.judge_pairs(self._table)
            thin = _thin_by(tally, rng)
        else:
            draws = count_coins(pairs)
            games, missing = _toss_coins(self._table, draws, rng)
            tally = self.rules.judge(games)
            tally = attrs.evolve(tally, wrong=tally.wrong + missing)
        excused, levels = _excuse(draws, self._delta, self._error * self.rules.shares)
        return max(0.0, float(tally.excuse(excused).bound(levels, thin).max()))

    @property
    def ceiling(self) -> float:
        """The bound in nats from as many pairs of scores that always tell the worlds apart."""
        settings: dict[str, Any] = {"delta": self._delta, "confidence": 1.0 - self._error, "seed": self._seed}
        separated = GuessCounter(**settings, games=self._games, paired=self._paired)
        for pairs in (self._chosen, int(self._table.sum())):
            separated.update(PairCounts(np.array([0.0, 1.0]), np.array([[0, 1]]), np.array([pairs])))
        return separated.epsilon_lower or 0.0

    def _choose(self, first: PairCounts, pairs: int) -> GuessRules:
        """The rules for so many further pairs."""
        rules = GuessRules.of(first)
        if self._paired:
            rules = rules.keep(abs(rules.guesses.sum(axis=1)) == abs(rules.guesses).sum(axis=1))
            tally, draws, times = rules.judge_pairs(rules.count(first)), pairs, pairs / first.pairs
        else:
            games = np.stack([rules.count(first).sum(axis=1 - world) for world in (0, 1)])
            tally, draws = rules.judge(games), count_coins(pairs)
            times = draws / (2 * first.pairs)
        excused, _ = _excuse(draws, self._delta, self._error * rules.shares)
        return rules.divide_error(tally, times, excused, self._error)


def count_choosing(games: int) -> int:
    """How many of so many pairs choose, or a few more where a block ends."""
    return max(1, min(games // _CHOOSING_SHARE, _MAX_CHOOSING))


class Guesses(Estimator):
    """The bound of `GuessCounter`."""

    def __init__(self, context: EstimatorContext) -> None:
        super().__init__(context)
        names = ("delta", "confidence", "games", "seed", "paired")
        self._counter = GuessCounter(**{name: getattr(context, name) for name in names})

    def add(self, block: PairCounts) -> None:
        self._counter.update(block)

    @property
    def epsilon_lower(self) -> float | None:
        """The certified ε in nats, if all games were seen and there were enough blocks."""
        return self._counter.epsilon_lower if self.complete else None

    @property
    def ceiling(self) -> float:
        """The bound in nats from as many games that always tell the worlds apart."""
        return self._counter.ceiling

    def rows(self) -> list[Estimate]:
        row: dict[str, Any] = {"title": "guesses", "assumes": f"{FIXED_SIZE}; independent games of a world"}
        return [estimate_epsilon("guesses", self.epsilon_lower, **row)]


def count_coins(pairs: int) -> int:
    """How many coins are tossed for so many pairs: as many as there are hardly ever too few games for."""
    return int(((np.sqrt(_SPARE**2 + 8 * pairs) - _SPARE) / 2) ** 2)


def _toss_coins(table: np.ndarray, coins: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Of pairs (C, C), by cell (2, C) the games that coins name, and how many more they name than exist."""
    pairs, ones = int(table.sum()), int(rng.binomial(coins, 0.5))
    named = [min(coins - ones, pairs), min(ones, pairs)]
    games = [
        rng.multivariate_hypergeometric(table.sum(axis=1 - world), named[world], method="marginals")
        for world in (0, 1)
    ]
    return np.stack(games), coins - sum(named)


def _thin_by(tally: Tally, rng: np.random.Generator) -> _Thin:
    """Binomial numbers that grow with their probability, by one uniform number for each rule."""
    from scipy.stats import binom  # slow to import

    uniform = rng.random(len(tally.right))
    return lambda chance: np.asarray(binom.ppf(uniform, tally.both, chance))


def _excuse(games: int, delta: float, errors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many right guesses of each rule (K,) δ may explain, and what that leaves of its error."""
    from scipy.stats import binom  # slow to import

    excused = binom.isf(_DELTA_SHARE * errors, games, delta)
    return excused, errors - binom.sf(excused, games, delta)


def _log_odds(right: np.ndarray, wrong: np.ndarray, level: np.ndarray | float) -> np.ndarray:
    """The logarithms of the odds at the lower Clopper–Pearson limits on the probability of a right guess."""
    limit, _ = clopper_pearson(right, right + wrong, level)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(limit) - np.log1p(-limit))
