"""Sequential test of a privacy claim by betting against it, and the ceiling of what it can certify.

Validity: docs/proofs/betting.md.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.privacy_curves import PrivacyCurve
from arena.sample import freeze
from arena.settings import at_least, at_most, check_value, less_than, more_than
from audits.statistics.bets import Bets, Hypotheses, MomentBets, choose_bets, choose_moment_bets, next_choice
from audits.statistics.score_histogram import ScoreHistogram
from audits.statistics.score_pairs import PairCounts, join_blocks

RECENT_PAIRS = 32_768  # kept pair by pair, to estimate how the two games of a pair depend on each other
_MAX_RECENT_BLOCKS = 16  # in which these pairs are kept
_SEPARATED = np.array([-100.0, 100.0])  # scores that separate the worlds, also as log-likelihood ratios

EPSILON_MAX = 20.0  # nats: a billion pairs certify at most about that much
_FINEST_STEP = 1e-3  # nats; the smallest positive ε of the grid
_STEP = 1e-3  # by which an ε of the grid exceeds the one before it, relative to it
_PROBE_SPACING = 100  # of the ε of the grid at which it is seen whether any event pays
_MAX_POINTS = 256  # values of ε for which stakes are set

_SCALE_STEP = 0.01  # by which a scale exceeds the one before it, relative to it
_SCALES_BELOW, _SCALES_ABOVE = 448, 160  # numbers of scales: down to a hundredth, up to five times
_CURVE_SPACING = 32  # as `_PROBE_SPACING`, for scales
_MAX_CURVES = 16  # scales for which stakes are set, since each needs its curve
_CONDITIONS = 16  # points of a curve
_SMALLEST_DELTA = 1e-9  # of these points
_EVERY_ORDER = 16
_LARGEST_ORDER = 32.0


@attrs.frozen(eq=False)
class EpsilonGrid:
    """(ε, δ)-DP for each ε of a grid (G,), in nats, and one δ."""

    epsilons: np.ndarray
    delta: float
    claim: int | None = None
    orders: tuple[float, ...] = attrs.field(default=(), init=False)

    @classmethod
    def make(cls, delta: float, epsilon_max: float = EPSILON_MAX, claim: float | None = None) -> EpsilonGrid:
        """The grid from 0 to epsilon_max, with the ε of the claim."""
        grid = _epsilon_grid(epsilon_max)
        if claim is None:
            return cls(grid, delta)
        grid = np.union1d(grid, [claim])
        return cls(grid, delta, int(np.searchsorted(grid, claim)))

    def __len__(self) -> int:
        return len(self.epsilons)

    def read_bound(self, index: int) -> float:
        return float(self.epsilons[index])

    def read_curve(self, index: int) -> None:
        return None

    def choose_probes(self, rejected: int) -> np.ndarray:
        return np.arange(rejected, len(self), _PROBE_SPACING)

    def choose_points(self, start: int, stop: int) -> np.ndarray:
        step = -(-(stop - start) // _MAX_POINTS)
        points = np.arange(stop - 1, start - 1, -step)
        if self.claim is not None and start <= self.claim < stop:
            points = np.append(points, self.claim)
        return np.unique(points)

    def list_conditions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        epsilons = self.epsilons[indices][:, None]
        return epsilons, np.full_like(epsilons, self.delta)

    def list_log_moments(self, indices: np.ndarray) -> np.ndarray:
        return np.empty((len(indices), 0))


@attrs.frozen(eq=False)
class CurveFamily:
    """The family of a privacy curve, by increasing scale; the claim is the curve itself, with scale 1.
    delta: at which bounds are expressed. claim_only: leave out what the claim does not depend on."""

    curve: PrivacyCurve
    delta: float
    claim_only: bool = False
    claim: int = attrs.field(default=_SCALES_BELOW, init=False)

    def __len__(self) -> int:
        return _SCALES_BELOW + 1 + (0 if self.claim_only else _SCALES_ABOVE)

    def read_bound(self, index: int) -> float:
        return self.read_curve(index).epsilon(self.delta)

    def choose_probes(self, rejected: int) -> np.ndarray:
        if self.claim_only:
            return np.array([self.claim])
        aligned = np.arange(-(-rejected // _CURVE_SPACING) * _CURVE_SPACING, len(self), _CURVE_SPACING)
        return np.union1d([rejected], aligned)

    def choose_points(self, start: int, stop: int) -> np.ndarray:
        if self.claim_only:
            return np.array([self.claim])
        # Multiples of a power of two, so that the same curves are used again when the span has shrunk.
        step = 2 ** math.ceil(math.log2(max(1.0, (stop - start) / _MAX_CURVES)))
        points = np.append(np.arange(-(-start // step) * step, stop, step), stop - 1)
        if start <= self.claim < stop:
            points = np.append(points, self.claim)
        return np.unique(points)

    def list_conditions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        listed = [list_curve_points(self.read_curve(int(index))) for index in indices]
        return np.array([epsilons for epsilons, _ in listed]), np.array([deltas for _, deltas in listed])

    @property
    def orders(self) -> tuple[float, ...]:
        orders = self.curve.orders
        # Those of a claim for all orders that bets can use: large ones depend on too rare scores.
        return orders if len(orders) == 1 else tuple(a for a in orders[::_EVERY_ORDER] if a <= _LARGEST_ORDER)

    def list_log_moments(self, indices: np.ndarray) -> np.ndarray:
        members = [self.read_curve(int(index)) for index in indices]
        return np.array([[(a - 1) * member.divergence(a) for a in self.orders] for member in members])

    def read_curve(self, index: int) -> PrivacyCurve:
        scale = (1 + _SCALE_STEP) ** (index - _SCALES_BELOW)
        return self.curve.rescale(scale) if index != self.claim else self.curve


@lru_cache(maxsize=1_024)
def list_curve_points(curve: PrivacyCurve) -> tuple[np.ndarray, np.ndarray]:
    """Points of a curve, ε and δ (M,) each; δ = 1, which says nothing, where they are not known."""
    try:
        last = 1.0
        while last < EPSILON_MAX and curve.deltas(np.array([last]))[0] > _SMALLEST_DELTA:
            last *= 2
        epsilons = last * np.linspace(0, 1, _CONDITIONS) ** 2
        return freeze(epsilons), freeze(np.minimum(curve.deltas(epsilons), 1.0))
    except Unsupported:
        return freeze(np.zeros(_CONDITIONS)), freeze(np.ones(_CONDITIONS))


@lru_cache(maxsize=8)
def _epsilon_grid(epsilon_max: float) -> np.ndarray:
    """The grid of ε in nats: 0, then steps of 0.1 %."""
    steps = math.ceil(math.log(max(epsilon_max, _FINEST_STEP) / _FINEST_STEP) / math.log1p(_STEP))
    grid = np.append(0.0, np.geomspace(_FINEST_STEP, max(epsilon_max, _FINEST_STEP), steps + 1))
    return freeze(grid[grid <= epsilon_max])


class Betting:
    """An anytime-valid lower confidence bound on ε, computed from blocks of score pairs.

    With probability at least `confidence`, `epsilon_lower` never exceeds the true ε and a true claim is never
    refuted, whenever one looks. The pairs of a block must be independent given the earlier blocks.

    epsilon_claim: the ε under test in nats; None computes the bound only.
    epsilon_max: the end of the grid of ε in nats, at most 100.
    curve: tests a privacy curve in place of one ε; the bound is then the ε at δ of the largest curve of its
        family that is false. claim_only: bet against the claim alone, and faster.
    log_ratios: whether scores are log-likelihood ratios of world 1 to world 0, which saves games. If they are
        not, bets lose more, and the bound holds. estimated: whether they are estimates of such ratios, which
        are calibrated by earlier scores.

    Attributes: hypotheses, G of them; threshold, the log wealth log(1/a) that rejects one.
    Raises: InvalidArgument.
    """

    def __init__(
        self,
        *,
        delta: float,
        confidence: float,
        epsilon_claim: float | None = None,
        epsilon_max: float = EPSILON_MAX,
        curve: PrivacyCurve | None = None,
        claim_only: bool = False,
        log_ratios: bool = False,
        estimated: bool = False,
    ) -> None:
        check_value("delta", delta, at_least(0), at_most(1))
        check_value("confidence", confidence, more_than(0), less_than(1))
        if epsilon_claim is not None:
            check_value("epsilon_claim", epsilon_claim, at_least(0))
        check_value("epsilon_max", epsilon_max, at_least(0), at_most(100))
        self.threshold = -math.log(1.0 - confidence)
        self.hypotheses: Hypotheses = (
            EpsilonGrid.make(delta, epsilon_max, epsilon_claim)
            if curve is None
            else CurveFamily(curve, delta, claim_only)
        )
        self._claim = self.hypotheses.claim
        self._histogram = ScoreHistogram(log_ratios=log_ratios, estimated=estimated)
        self._recent: deque[PairCounts] = deque()
        self._log_ratios, self._estimated = log_ratios, estimated
        self._bets: list[tuple[int, Bets | MomentBets]] = []  # with the index of their bettor
        self._bets_from = 0
        # A bettor on events, perhaps one who takes scores for log-likelihood ratios, and perhaps one on Rényi
        # divergences.
        self._bettors = 1 + log_ratios + bool(self.hypotheses.orders)
        self._log_wealth = np.zeros((self._bettors, len(self.hypotheses)))
        self._peak = np.zeros(len(self.hypotheses))

    def update(self, block: PairCounts) -> None:
        """Play the current bets on a block, then learn from the block."""
        if not block.pairs:
            return
        self._play_bets(block)
        self._remember(block)
        if self.pairs >= next_choice(self._bets_from):
            self._choose_bets()

    def _play_bets(self, block: PairCounts) -> None:
        for bettor, bets in self._bets:
            self._log_wealth[bettor, bets.span] += bets.log_growth(block)
        spans = [bets.span for _, bets in self._bets]
        if spans:
            span = slice(min(span.start for span in spans), max(span.stop for span in spans))
            self._peak[span] = np.maximum(self._peak[span], _log_mean(self._log_wealth[:, span]))

    def start_again(self, blocks: Iterable[PairCounts]) -> None:
        """Continue with another distinguisher and the same wealth; blocks: its scores of earlier blocks."""
        self._histogram = ScoreHistogram(log_ratios=self._log_ratios, estimated=self._estimated)
        self._recent.clear()
        for block in blocks:
            self._remember(block)
        self._choose_bets()

    def _remember(self, block: PairCounts) -> None:
        self._histogram.add(block)
        self._recent.append(block)
        pairs = sum(recent.pairs for recent in self._recent)
        while len(self._recent) > 1 and pairs - self._recent[0].pairs >= RECENT_PAIRS:
            pairs -= self._recent.popleft().pairs
        if len(self._recent) == _MAX_RECENT_BLOCKS:
            self._recent = deque([join_blocks(self._recent)])

    def _choose_bets(self) -> None:
        # Where a null hypothesis has been rejected there is nothing left to win.
        rejected = self._count_rejected()
        choose = partial(choose_bets, self.hypotheses, self._histogram, self._recent, rejected=rejected)
        chosen: list[tuple[int, Bets | MomentBets | None]] = [(0, choose())]
        if self._log_ratios:
            chosen.append((1, choose(log_ratios=True)))
        if self.hypotheses.orders:
            moments = choose_moment_bets(self.hypotheses, self._histogram, rejected=rejected)
            chosen.append((self._bettors - 1, moments))
        self._bets = [(bettor, bets) for bettor, bets in chosen if bets is not None]
        self._bets_from = self.pairs

    @property
    def pairs(self) -> int:
        """The number of pairs from which bets are chosen."""
        return self._histogram.pairs

    @property
    def log_wealth(self) -> np.ndarray:
        """(G,): the logarithm of the current average wealth (an e-value) against each hypothesis."""
        return _log_mean(self._log_wealth)

    @property
    def epsilon_lower(self) -> float:
        """The certified bound in nats: every claim, or curve of the family, of a smaller ε at δ is false."""
        rejected = self._count_rejected()
        return self.hypotheses.read_bound(rejected - 1) if rejected else 0.0

    @property
    def curve_lower(self) -> PrivacyCurve | None:
        """The largest curve of the family that is false, with all smaller ones; None if none is."""
        rejected = self._count_rejected()
        return self.hypotheses.read_curve(rejected - 1) if rejected else None

    @property
    def log_wealth_now(self) -> float:
        """The current log wealth against the claim; 0 without a claim."""
        return 0.0 if self._claim is None else float(_log_mean(self._log_wealth[:, self._claim]))

    @property
    def log_evidence(self) -> float:
        """The evidence against the claim in nats; 0 without a claim. The claim is refuted at `threshold`.
        That is the highest log wealth so far against the claim or, if less, a hypothesis that implies it."""
        return 0.0 if self._claim is None else float(self._peak[: self._claim + 1].min())

    @property
    def refuted(self) -> bool:
        """Whether the claim is certified to be false: it and all hypotheses that imply it are rejected."""
        return self._claim is not None and self.log_evidence >= self.threshold

    def _count_rejected(self) -> int:
        stands = ~(self._peak >= self.threshold)  # what is no number rejects nothing
        return int(stands.argmax()) if stands.any() else len(stands)


def _log_mean(log_wealth: np.ndarray) -> np.ndarray:
    """The logarithm of the average wealth of the bettors, who are on axis 0."""
    largest = log_wealth.max(axis=0)
    return np.asarray(largest + np.log(np.exp(log_wealth - largest).mean(axis=0)))


def ceiling(block_sizes: Iterable[int], **settings: Any) -> float:
    """The bound in nats that `Betting(**settings)` certifies from perfectly separated scores in these
    blocks."""
    bounds = ceilings(block_sizes, **settings)
    return bounds[-1][1] if bounds else 0.0


def ceilings(block_sizes: Iterable[int], *, points: int = 0, **settings: Any) -> list[tuple[int, float]]:
    """Growth of the ceiling, as (pairs, bound in nats): after the blocks at which bets are chosen, `points`
    other blocks and the last. Blocks between choices are joined, which may move a bound by a grid step."""
    betting = Betting(**settings)
    return [(pairs, betting.epsilon_lower) for pairs in _separate_worlds(betting, block_sizes, points=points)]


def is_refutable(block_sizes: Iterable[int], curve: PrivacyCurve, **settings: Any) -> bool:
    """Whether perfectly separated scores in blocks of these sizes refute the claim of a privacy curve."""
    betting = Betting(curve=curve, claim_only=True, **settings)
    return any(betting.refuted for _ in _separate_worlds(betting, block_sizes, points=0))


def _separate_worlds(betting: Betting, block_sizes: Iterable[int], *, points: int) -> Iterator[int]:
    """Update the test with perfectly separated scores; the pairs after each block that is reported."""
    ends = np.cumsum(np.fromiter(block_sizes, dtype=np.int64))
    stops = np.cumsum(np.fromiter(_pairs_between_choices(ends), dtype=np.int64))
    # The fewest blocks to each choice that hold the recent pairs begin here.
    starts = np.concatenate([[0], ends])
    recent = starts[np.searchsorted(starts, np.maximum(stops - RECENT_PAIRS, 0), side="right") - 1]
    if len(ends):
        stops = np.union1d(stops, ends[np.linspace(0, len(ends) - 1, points).round().astype(int)])
    reported = set(stops.tolist())
    for pairs in np.diff(np.union1d(stops, recent), prepend=0):
        betting.update(PairCounts(_SEPARATED, np.array([[0, 1]]), np.array([pairs])))
        if betting.pairs in reported:
            yield betting.pairs


def _pairs_between_choices(ends: np.ndarray) -> Iterator[int]:
    """The number of pairs between consecutive choices of bets; ends: the pairs seen after each block."""
    pairs, total = 0, int(ends[-1]) if len(ends) else 0
    while pairs < total:
        due = max(next_choice(pairs), pairs + 1)
        end = int(ends[min(int(np.searchsorted(ends, due)), len(ends) - 1)])
        yield end - pairs
        pairs = end
