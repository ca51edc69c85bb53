"""Choice of the bets of the sequential test: on events, and on moments of the likelihood ratio.

Notation and derivation: docs/proofs/betting.md; moments: docs/proofs/renyi_curves.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import attrs
import numpy as np

from arena.privacy_curves import PrivacyCurve
from audits.statistics.score_histogram import ScoreHistogram
from audits.statistics.score_pairs import Events, PairCounts

_MAX_NODES = 16  # hypotheses at which events are compared
_NEWTON_STEPS = 20
_BISECTION_STEPS = 25  # enough for a stake to within 3e-8
_RAKING_STEPS = 8
_STAKES = 0.5 ** np.arange(13)  # of the largest, in a mixture of stakes
_FEWEST_BINS, _MOST_BINS = 4, 64
_LARGEST_STAKE = 0.9  # of the wealth, so that no pair of games ends the test
_LARGEST_LOG_COST = 100.0  # no bet pays that much, and its square is a number


class Hypotheses(Protocol):
    """Null hypotheses, each of which implies the next: P₁(E) ≤ e^ε·P₀(E) + δ and the same with the worlds
    exchanged, for every event E and all conditions (ε, δ), and bounds on the Rényi divergences of A orders.
    claim: the index of the claim under test, if it is among them."""

    @property
    def claim(self) -> int | None: ...

    @property
    def orders(self) -> tuple[float, ...]: ...

    def __len__(self) -> int: ...

    def read_bound(self, index: int) -> float:
        """The ε in nats that is certified if the hypotheses up to this one are rejected."""

    def read_curve(self, index: int) -> PrivacyCurve | None:
        """The privacy curve that a hypothesis is, if it is one."""

    def choose_probes(self, rejected: int) -> np.ndarray:
        """Increasing indices from `rejected` on, at which it is seen whether any event pays."""

    def choose_points(self, start: int, stop: int) -> np.ndarray:
        """Indices in [start, stop), increasing and with the last one, for which stakes are set."""

    def list_conditions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ε and δ of M conditions of each hypothesis: (p, M) and (p, M)."""

    def list_log_moments(self, indices: np.ndarray) -> np.ndarray:
        """(p, A): the largest (α − 1)·D_α in nats that each hypothesis allows."""


def next_choice(pairs: int) -> int:
    """The number of pairs at which bets are chosen again, if they were last chosen at `pairs`."""
    return -(-6 * pairs // 5)  # a fifth more data hardly improves a bet


def single_returns(epsilon: np.ndarray, delta: np.ndarray | float) -> np.ndarray:
    """Return r (4, ...) of a pair per unit of stake x = λ (e^ε + δ) in one direction: wealth times 1 + x r.
    Cells: only the game of the world that gains is in the event; only the other; both; neither."""
    shrink = np.exp(-epsilon)
    unit = shrink / (1.0 + delta * shrink)
    return np.stack([(1.0 - delta) * unit, np.full_like(unit, -1.0), unit - 1.0, -delta * unit])


# Of two events, of which the first gains in world 1 and the second in world 0, by the 16 cells of
# `Events.count_cells`: gains and losses, and the cells of `single_returns` of the first and of the second.
_IN_0, _IN_1 = np.divmod(np.arange(16), 4)
_GAINS, _LOSSES = (_IN_1 & 1) + (_IN_0 >> 1), (_IN_0 & 1) + (_IN_1 >> 1)
_SINGLE_CELLS = np.array([[3, 1], [0, 2]])
_FIRST, _SECOND = _SINGLE_CELLS[_IN_1 & 1, _IN_0 & 1], _SINGLE_CELLS[_IN_0 >> 1, _IN_1 >> 1]


def double_returns(epsilon: np.ndarray, delta: np.ndarray | float) -> np.ndarray:
    """Return (16, G), at least −1, of a pair per unit of stake x = 2 λ (e^ε + δ) on both directions at once.
    Cells are those of `Events.count_cells`: the first event gains in world 1, the second in world 0."""
    shrink = np.exp(-epsilon)
    net = (_GAINS[:, None] - 2 * delta) * shrink - _LOSSES[:, None]
    return np.asarray(net / (2.0 * (1.0 + delta * shrink)))


@attrs.frozen(eq=False)
class Bets:
    """For each of P hypotheses a stake on an event in one direction, or on one in each direction at once.

    Each bet also serves the hypotheses after the previous of the P: `span` (a slice) has P parts of the sizes
    `parts`. Shapes: couples (C, 2), distinct pairs of `events`; couple (P,), an index; log_factors (16, P),
    by cell.
    """

    span: slice
    parts: np.ndarray
    events: Events
    couples: np.ndarray
    couple: np.ndarray
    log_factors: np.ndarray

    def log_growth(self, block: PairCounts) -> np.ndarray:
        """(S,): the increase of the log wealth against the span by a block."""
        counts = self.events.count_cells(block, self.couples)[self.couple].T
        return np.repeat((counts * self.log_factors).sum(axis=0), self.parts)


def choose_bets(
    hypotheses: Hypotheses,
    histogram: ScoreHistogram,
    recent: Iterable[PairCounts],
    *,
    rejected: int,
    log_ratios: bool = False,
) -> Bets | None:
    """Bets on the events of the largest expected log growth if games stay as they were; None if nothing can
    be won. The stake is the mean of a mixture, each weighed by what it would have won in the games so far,
    which loses little while it is unclear whether an event pays.

    Half a game is added to every count, and no stake risks more than that. recent: blocks that show how the
    games of a pair depend. log_ratios: take scores for log-likelihood ratios, and stake what wins most.
    """
    events, counts = histogram.events(log_ratios=log_ratios)
    if not len(events) or rejected == len(hypotheses):
        return None
    pairs = histogram.pairs
    max_stake = 1.0 - 0.5 / (pairs + 1)
    loss = (counts + 0.5) / (pairs + 1)
    cells = high = single_cells(loss, overlap_chances(events, recent, loss))
    if not log_ratios:
        cells, high = (_shift_expectations(cells, pairs, errors) for errors in (-1, 1))
    probes = hypotheses.choose_probes(rejected)
    odds = single_returns(*(part.ravel() for part in hypotheses.list_conditions(probes)))
    slopes = np.einsum("cdk,cn->dkn", high, odds).reshape(2, -1, len(probes), odds.shape[1] // len(probes))
    pays = np.flatnonzero(slopes.max(axis=(0, 1, 3)) > 0)
    if not len(pays):
        return None
    stop = int(np.append(probes, len(hypotheses))[pays[-1] + 1])
    points = hypotheses.choose_points(rejected, stop)
    epsilons, deltas = hypotheses.list_conditions(points)
    returns = single_returns(epsilons, deltas)  # (4, P, M)
    nodes = np.unique(np.linspace(0, len(points) - 1, _MAX_NODES).astype(int))
    at_nodes = _take_best(cells[:, :, :, None], returns[:, None, None, nodes])[0]
    _, growth = kelly_stakes(cells[:, :, :, None], at_nodes, max_stake)
    event = growth.argmax(axis=1)[:, np.searchsorted(nodes, np.arange(len(points)), side="right") - 1]
    own = np.take_along_axis(cells, event[None], axis=2)
    singles, condition = _take_best(own, returns[:, None])
    singles = np.broadcast_to(singles, own.shape)
    stakes, growth = kelly_stakes(own, singles, max_stake)
    couples, couple = np.unique(event.T, axis=0, return_inverse=True)
    chances = double_cells(events, couples, counts, pairs, recent)[couple.ravel()].T  # (16, P)
    # Both directions at once use the condition of the one that pays more.
    place = np.arange(len(points)), condition[growth.argmax(axis=0), np.arange(len(points))]
    double = double_returns(epsilons[place], deltas[place])
    # The counts of all games determine the mean return, and the table of recent pairs does not.
    returned = single_returns(epsilons[place], deltas[place])[:, None]
    missing = (own * returned).sum(axis=(0, 1)) / 2 - (chances * double).sum(axis=0)
    if log_ratios:
        both = best_stake(chances, double, max_stake, missing)
        won_by_both = _count_winnings(chances, double, both, missing)
    else:
        # Where no game has been lost yet, Kelly's stakes are the larger ones.
        both, won_by_both = mix_stakes(chances, double, pairs, max_stake, missing)
        both = np.maximum(both, stakes.min(axis=0))
        mixed, growth = mix_stakes(own, singles, pairs, max_stake)
        stakes = np.maximum(stakes, mixed)
    choices = np.stack([singles[_FIRST, 0], singles[_SECOND, 1], double], axis=1)  # (16, 3, P)
    best = np.vstack([growth, won_by_both]).argmax(axis=0), np.arange(len(points))
    return Bets(
        span=slice(rejected, stop),
        parts=np.diff(points, prepend=rejected - 1),
        events=events,
        couples=couples,
        couple=couple.ravel(),
        log_factors=np.log1p(np.vstack([stakes, both])[best] * choices[:, *best]),
    )


def _count_winnings(
    chances: np.ndarray, returns: np.ndarray, stake: np.ndarray | float, missing: np.ndarray | float
) -> np.ndarray:
    """The expected log growth of a stake, if the mean return is more by `missing` than the chances say."""
    return np.asarray((chances * np.log1p(stake * returns)).sum(axis=0) + stake * missing)


def mix_stakes(
    chances: np.ndarray, returns: np.ndarray, pairs: int, max_stake: float, missing: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of stakes, each weighed by what it would have won in so many pairs, and the logarithm of what
    all would have won, up to a constant. Shapes as of `best_stake`."""
    stakes = max_stake * _STAKES
    won = pairs * np.stack([_count_winnings(chances, returns, stake, missing) for stake in stakes])
    largest = won.max(axis=0)
    weights = np.exp(won - largest)
    total = weights.sum(axis=0)
    return np.tensordot(stakes, weights, 1) / total, largest + np.log(total)


def _take_best(chances: np.ndarray, returns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The returns (4, ...) under the condition of the largest growth, which is estimated by the square of the
    mean return over its mean square, and its index (...). Shapes: chances (4, ...), returns (4, ..., M)."""
    if returns.shape[-1] == 1:
        return returns[..., 0], np.zeros(np.broadcast_shapes(chances.shape, returns.shape[:-1])[1:], np.intp)
    mean = (chances[..., None] * returns).sum(axis=0)
    square = (chances[..., None] * returns**2).sum(axis=0)
    best = np.argmax(mean * np.abs(mean) / square, axis=-1)
    returns, index = np.broadcast_arrays(returns, best[None, ..., None])
    return np.take_along_axis(returns, index[..., :1], axis=-1)[..., 0], best


def _shift_expectations(cells: np.ndarray, pairs: int, errors: float) -> np.ndarray:
    """Cell probabilities (4, 2, K), better by so many standard errors, or worse if negative: the best of many
    events looks too good."""
    gain, loss, both, _ = cells
    error = errors * np.sqrt(np.clip(cells[:2] * (1 - cells[:2]), 0, None) / pairs)
    gain, loss = (
        np.maximum(gain + error[0], gain / (pairs + 1)),
        np.maximum(loss - error[1], loss / (pairs + 1)),
    )
    return np.stack([gain, loss, both, np.maximum(1 - gain - loss - both, 0)])


def single_cells(loss: np.ndarray, both: np.ndarray, pairs: int = 1) -> np.ndarray:
    """Cell counts (4, 2, K) of `single_returns` in both directions; with pairs=1, cell probabilities. Shapes:
    loss (2, K), the pairs in each event in the world that loses by it; both (K,), with both games in it."""
    gain = loss[::-1]
    return np.stack([gain - both, loss - both, np.broadcast_to(both, loss.shape), pairs - gain - loss + both])


def overlap_chances(events: Events, recent: Iterable[PairCounts], chances: np.ndarray) -> np.ndarray:
    """(K,): the estimated probability that both games of a pair are in an event of probabilities (2, K): the
    share of the rarer one that meets the other among recent pairs and one pair of independent games."""
    counts = [events.count(block) for block in recent]
    each = np.sum([count.world for count in counts], axis=0).min(axis=0)
    both = np.sum([count.both for count in counts], axis=0)
    rare, common = chances.min(axis=0), chances.max(axis=0)
    # The least possible overlap of two events of these probabilities.
    least = np.maximum(rare + common - 1, 0.0)
    return np.asarray(np.maximum(rare * (both + common) / (each + 1), least + (rare - least) / (each + 2)))


def double_cells(
    events: Events, couples: np.ndarray, counts: np.ndarray, pairs: int, recent: Iterable[PairCounts]
) -> np.ndarray:
    """(C, 16): the estimated probability of each cell of `Events.count_cells`: the table of recent pairs and
    one of independent games, raked to the margins of all games. Shapes: couples (C, 2); counts (2, K)."""
    margins = (events.count_kinds(couples, counts, pairs) + 0.5) / (pairs + 2)  # (2, C, 4)
    table = (margins[0][:, :, None] * margins[1][:, None, :]).copy()
    for block in recent:
        table += events.count_cells(block, couples).reshape(-1, 4, 4)
    for _ in range(_RAKING_STEPS):
        table *= (margins[0] / table.sum(axis=2))[:, :, None]
        table *= (margins[1] / table.sum(axis=1))[:, None, :]
    return table.reshape(-1, 16)


def best_stake(
    chances: np.ndarray, returns: np.ndarray, max_stake: float, missing: np.ndarray | float = 0.0
) -> np.ndarray:
    """The stake x in [0, max_stake] that maximises Σ_c p_c log(1 + x r_c) + x · missing, by bisection of the
    slope. Shapes: chances and returns (c, ...); missing and result (...)."""
    gains = chances * returns
    low = np.zeros(gains.shape[1:])
    high = np.full_like(low, max_stake)
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        rising = (gains / (1.0 + middle * returns)).sum(axis=0) + missing > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return low


def kelly_stakes(chances: np.ndarray, returns: np.ndarray, max_stake: float) -> tuple[np.ndarray, np.ndarray]:
    """As `best_stake`, by Newton's method, and the growth; only the first of four cells may have a positive
    return. Where no stake grows, the slope at 0 stands for it: the largest is closest to paying."""
    chances, returns = np.broadcast_arrays(chances, returns)
    growth = np.asarray((chances * returns).sum(axis=0))
    stake = np.zeros_like(growth)
    paying = growth > 0
    chance, odds = chances[:, paying], returns[:, paying]
    gain, gives, takes = chance[0], odds[0], -odds[1:]
    loses = chance[1:] * takes
    # A starting point above the optimal stake: the least of those for one loss, two, and all losses.
    lost, others = np.cumsum(loses, axis=0), np.cumsum(chance[1:], axis=0)
    above = ((gain * gives - lost) * others / (lost * gives * (gain + others))).min(axis=0)
    x = np.minimum(above, max_stake)
    for _ in range(_NEWTON_STEPS):
        rest = 1.0 - takes * x
        terms = loses / rest
        total, stretch = terms.sum(axis=0), 1.0 + gives * x
        slope = gives * total + stretch * (terms * takes / rest).sum(axis=0)
        before, x = x, np.clip(x - (stretch * total - gain * gives) / slope, 0.0, max_stake)
        if (before - x <= 1e-12).all():
            break
    stake[paying] = x
    growth[paying] = (chance * np.log1p(x * odds)).sum(axis=0)
    return stake, growth


@attrs.frozen(eq=False)
class MomentBets:
    """For each of P hypotheses a bet on a moment of the likelihood ratio, as estimated from earlier games.

    The score of one world gains by its bin, that of the other loses, and each pair costs something; span and
    parts as in `Bets`. Shapes: thresholds (K − 1,) between bins; gains, losses (P, K); costs (P,); world
    (P,), the one that gains.
    """

    span: slice
    parts: np.ndarray
    thresholds: np.ndarray
    gains: np.ndarray
    losses: np.ndarray
    costs: np.ndarray
    world: np.ndarray

    def log_growth(self, block: PairCounts) -> np.ndarray:
        """(S,): the increase of the log wealth against the span by a block."""
        size = len(self.thresholds) + 1
        bins = np.searchsorted(self.thresholds, block.levels, side="right")[block.which]
        counts = np.bincount(bins @ np.array([size, 1]), block.counts, minlength=size**2)
        cells = np.flatnonzero(counts)
        in_0, in_1 = np.divmod(cells, size)
        up = self.world[:, None] == 1
        gain = np.where(up, self.gains[:, in_1], self.gains[:, in_0])
        loss = np.where(up, self.losses[:, in_0], self.losses[:, in_1])
        growth = np.log1p(gain - loss - self.costs[:, None]) @ counts[cells]
        return np.repeat(growth, self.parts)


def choose_moment_bets(
    hypotheses: Hypotheses, histogram: ScoreHistogram, *, rejected: int
) -> MomentBets | None:
    """As `choose_bets`, with the growth estimated as in `_take_best`. The mean is lowered by one standard
    error, as the likelihood ratio is estimated from the same games."""
    if rejected == len(hypotheses) or not hypotheses.orders or not histogram.pairs:
        return None
    thresholds, counts = _count_bins(histogram)
    pairs, size = histogram.pairs, counts.shape[1]
    if size == 1:
        return None
    chances = (counts + 0.5) / (pairs + size / 2)
    orders = np.array(hypotheses.orders)[:, None]
    ratio = np.log(chances[1] / chances[0]) * np.array([[-1.0], [1.0]])[:, None]  # (2, 1, K) by world
    # Logarithms of α·r^(α − 1) and (α − 1)·r^α.
    gains, losses = np.log(orders) + (orders - 1) * ratio, np.log(orders - 1) + orders * ratio
    peak = losses.max(axis=2)  # (2, A)
    scaled = np.exp(gains - peak[..., None]), np.exp(losses - peak[..., None])
    means, squares = (
        [
            np.einsum("wak,wk->wa", part**power, of)
            for part, of in zip(scaled, (chances, chances[::-1]), strict=True)
        ]
        for power in (1, 2)
    )
    spread = sum(square - mean**2 for square, mean in zip(squares, means, strict=True))

    def weigh(indices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cost, lowered mean and mean square (p, 2, A), in units of the largest loss."""
        cost = np.exp(np.minimum(hypotheses.list_log_moments(indices)[:, None] - peak, _LARGEST_LOG_COST))
        mean = means[0] - means[1] - cost
        square = spread + mean**2
        return cost, mean - np.sqrt(square / pairs), square

    probes = hypotheses.choose_probes(rejected)
    pays = np.flatnonzero((weigh(probes)[1] > 0).any(axis=(1, 2)))
    if not len(pays):
        return None
    stop = int(np.append(probes, len(hypotheses))[pays[-1] + 1])
    points = hypotheses.choose_points(rejected, stop)
    cost, mean, square = weigh(points)
    growth = (mean * np.abs(mean) / square).reshape(len(points), -1)
    best = growth.argmax(axis=1)
    world, order = np.divmod(best, len(orders))
    at = np.arange(len(points)), world, order
    # At most the loss in the worst bin and the cost are lost.
    stake = np.minimum(np.maximum(mean[at] / square[at], 0.0), _LARGEST_STAKE / (1 + cost[at]))
    return MomentBets(
        span=slice(rejected, stop),
        parts=np.diff(points, prepend=rejected - 1),
        thresholds=thresholds,
        gains=stake[:, None] * scaled[0][world, order],
        losses=stake[:, None] * scaled[1][world, order],
        costs=stake * cost[at],
        world=world,
    )


def _count_bins(histogram: ScoreHistogram) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds (K − 1,) between bins of about equally many scores, and the scores (2, K) in each."""
    events, upper = histogram.events()
    above = upper[:, : len(events.thresholds)]
    number = int(np.clip(round(histogram.pairs ** (1 / 3)), _FEWEST_BINS, _MOST_BINS))
    below = 2 * histogram.pairs - above.sum(axis=0)
    marks = np.searchsorted(below, 2 * histogram.pairs * np.arange(1, number) / number)
    kept = np.unique(marks[marks < len(below)])
    ends = np.concatenate([np.full((2, 1), histogram.pairs), above[:, kept], np.zeros((2, 1))], axis=1)
    return events.thresholds[kept], -np.diff(ends, axis=1)
