"""Bets on Rényi divergences, for claims that bound them: see docs/proofs/renyi_curves.md."""

from __future__ import annotations

import attrs
import numpy as np

from audits.statistics.bets import Hypotheses
from audits.statistics.score_histogram import ScoreHistogram
from audits.statistics.score_pairs import PairCounts

_FEWEST_BINS, _MOST_BINS = 4, 64
_LARGEST_STAKE = 0.9  # of the wealth, so that no pair of games ends the test
_LARGEST_LOG_COST = 100.0  # no bet pays that much, and its square is a number


@attrs.frozen(eq=False)
class MomentBets:
    """For each of P hypotheses a bet on a moment of the likelihood ratio, as estimated from earlier games.

    The score of one world falls into a bin that gains, the score of the other into a bin that loses, and each
    pair costs something. span and parts are as in `Bets`.

    Shapes: thresholds (K − 1,), between the bins; gains and losses (P, K); costs (P,); world (P,), the one
        that gains.
    """

    span: slice
    parts: np.ndarray
    thresholds: np.ndarray
    gains: np.ndarray
    losses: np.ndarray
    costs: np.ndarray
    world: np.ndarray

    def log_growth(self, block: PairCounts) -> np.ndarray:
        """(1, S): the increase of the log wealth against the span by a block."""
        size = len(self.thresholds) + 1
        bins = np.searchsorted(self.thresholds, block.levels, side="right")[block.which]
        counts = np.bincount(bins @ np.array([size, 1]), block.counts, minlength=size**2)
        cells = np.flatnonzero(counts)
        in_0, in_1 = np.divmod(cells, size)
        up = self.world[:, None] == 1
        gain = np.where(up, self.gains[:, in_1], self.gains[:, in_0])
        loss = np.where(up, self.losses[:, in_0], self.losses[:, in_1])
        growth = np.log1p(gain - loss - self.costs[:, None]) @ counts[cells]
        return np.repeat(growth, self.parts)[None]


def choose_moment_bets(
    hypotheses: Hypotheses, histogram: ScoreHistogram, *, rejected: int
) -> MomentBets | None:
    """The bets of the largest expected growth, if games stay as they were; None if nothing can be won.

    The growth is estimated by the square of the mean return over its mean square. The mean is lowered by one
    standard error, as the likelihood ratio is estimated from the same games.
    """
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
    """Thresholds (K − 1,) between bins of about equally many scores, and the scores (2, K) in each by world.
    More bins show more of the likelihood ratio, and estimate it less precisely."""
    events, upper = histogram.events()
    above = upper[:, : len(events.thresholds)]
    number = int(np.clip(round(histogram.pairs ** (1 / 3)), _FEWEST_BINS, _MOST_BINS))
    below = 2 * histogram.pairs - above.sum(axis=0)
    marks = np.searchsorted(below, 2 * histogram.pairs * np.arange(1, number) / number)
    kept = np.unique(marks[marks < len(below)])
    ends = np.concatenate([np.full((2, 1), histogram.pairs), above[:, kept], np.zeros((2, 1))], axis=1)
    return events.thresholds[kept], -np.diff(ends, axis=1)
