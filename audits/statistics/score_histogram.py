"""Histograms of the scores of both worlds, bins that are chosen first, and the scatter between blocks."""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from arena.testing.batches import BatchScatter
from audits.statistics.logistic import expit, fit_ordered
from audits.statistics.score_pairs import Events, PairCounts, add_up, check_scores, join_blocks

MAX_CANDIDATES = 128  # thresholds offered to a choice of events
MAX_EXACT_EDGES = 256  # distinct scores up to which each of them is an edge
_MAX_BIN_WEIGHT = 1 / 32
_MAX_EXACT_SCORES = 768  # different scores that are counted exactly
_MAX_BINS = 448  # of more; with them a ledger takes less than a byte for a pair of games
_MAX_POINT_MASSES = 256
_TAIL_STEPS = 2.0 ** np.arange(-6, 7)  # of the range of all scores, beyond it
RATE = 1e-6  # the probability with which independent pairs are suspected, in the whole of an audit
_CHOOSING_BLOCKS = 32  # blocks from which events are chosen; they are kept until then
_MOST_EDGES = 512  # to which scores are rounded to say which is the larger one
_TAILS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)  # shares of the scores above a threshold


class ScoreHistogram:
    """A histogram that remembers the scores of earlier blocks, from which events are chosen.

    While few distinct scores occur, every score is an edge and the counts are exact. Afterwards the weight of
    a bin is limited: its share of all scores at least as far out, summed over both worlds. Edges change
    seldom, since a new edge counts the earlier scores of its bin as below it.
    """

    def __init__(self, *, log_ratios: bool = False, estimated: bool = False) -> None:
        self._log_ratios, self._estimated = log_ratios, estimated
        self._edges = np.empty(0)
        self._mass = np.empty((2, 0), dtype=np.int64)
        # Of scores that are log-likelihood ratios, how many of a bin are expected to be of world 1; of
        # estimated ratios, their sum.
        self._ratios = np.empty(0)

    def __len__(self) -> int:
        return len(self._edges)

    @property
    def pairs(self) -> int:
        """The number of pairs seen."""
        return int(self._mass[0].sum())

    def add(self, block: PairCounts) -> None:
        """Count the scores of a block."""
        edges, place = np.unique(np.concatenate([self._edges, block.levels]), return_inverse=True)
        old, new = np.split(place, [len(self)])
        mass = np.zeros((2, len(edges)), dtype=np.int64)
        mass[:, old] = self._mass
        mass[:, new] += block.by_level[:2]
        ratios = np.zeros(len(edges))
        ratios[old] = self._ratios
        if self._log_ratios:
            of_one = block.levels if self._estimated else expit(block.levels)
            ratios[new] += block.by_level[:2].sum(axis=0) * of_one
        if len(edges) > MAX_EXACT_EDGES:
            kept = choose_edges(mass, old)
            edges, mass = edges[kept], np.add.reduceat(mass, kept, axis=1)
            ratios = np.add.reduceat(ratios, kept)
        self._edges, self._mass, self._ratios = edges, mass, ratios

    def events(
        self, *, candidates: int = MAX_CANDIDATES, log_ratios: bool = False
    ) -> tuple[Events, np.ndarray]:
        """The events of at most `candidates` thresholds, and the games (2, 2k) of each world in them; with
        log_ratios, those to expect of scores that are log-likelihood ratios of world 1 to world 0, or of
        estimates, by their calibration."""
        kept = np.arange(1, len(self))
        if len(kept) > candidates:
            kept = choose_landmarks(self._mass, candidates)
        mass = self._mass
        if log_ratios:
            likely = self._calibrate() if self._estimated else self._ratios
            mass = np.array([mass.sum(axis=0) - likely, likely])
            mass = mass * self.pairs / np.maximum(mass.sum(axis=1, keepdims=True), 1e-300)
        below = np.cumsum(mass, axis=1)[:, kept - 1]
        return Events(self._edges[kept]), np.concatenate([self.pairs - below, below], axis=1)

    def _calibrate(self) -> np.ndarray:
        """How many scores of each bin are expected to be of world 1, by a regression on their rank and mean
        score."""
        total = self._mass.sum(axis=0)
        if len(total) < 2:
            return total / 2
        return np.asarray(total * expit(fit_ordered(self._mass[1], total, self._ratios / total)))

    def predict_counts(self, pairs: int) -> tuple[Events, np.ndarray]:
        """The events, and the games (2, 2k) of each world to expect in them among `pairs` further pairs.
        Half a game is added to each count, since an event that never occurred need not be impossible."""
        events, counts = self.events()
        return events, pairs * (counts + 0.5) / (self.pairs + 1)


def choose_edges(mass: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Indices of the edges to keep, existing or new; `old` are the indices of the existing ones."""
    below = np.cumsum(mass, axis=1)
    above = below[:, -1:] - below + mass
    weight = (mass / (np.minimum(above, below) + 1)).sum(axis=0)
    so_far = np.cumsum(weight)
    kept = np.zeros(len(weight), dtype=bool)
    kept[old] = True
    gathered = so_far - np.maximum.accumulate(np.where(kept, so_far, 0.0))
    kept |= np.diff(np.floor(gathered / _MAX_BIN_WEIGHT), prepend=0.0) > 0
    kept[0] = True
    bins = np.flatnonzero(kept)
    weights = np.add.reduceat(weight, bins)
    light = np.concatenate([[False], weights[:-1] + weights[1:] < _MAX_BIN_WEIGHT])
    light[::2] = False  # so that no two neighbouring edges are removed at once
    return bins[~light]


def choose_landmarks(mass: np.ndarray, limit: int) -> np.ndarray:
    """Indices (at most `limit`, sorted, never 0) of the edges that are most useful as thresholds.
    In each world they cut off geometrically growing numbers of scores from an end, or are even in rank."""
    each = limit // (3 * len(mass))
    last = mass.shape[1] - 1
    marks = []
    for row in mass:
        total = int(row.sum())
        below = np.cumsum(row)
        above = total - below + row
        tail = np.unique(np.geomspace(1, total, each).round())
        even = np.linspace(0, total, each + 2)[1:-1]
        marks.append(np.searchsorted(below, np.concatenate([tail, even]), side="left") + 1)
        marks.append(last - np.searchsorted(above[::-1], tail, side="left"))
    places = np.unique(np.concatenate(marks))
    return np.asarray(places[(places >= 1) & (places <= last)])


@attrs.frozen(eq=False)
class ScoreBins:
    """Bins of scores, chosen from the first blocks of a run, in which all later blocks count theirs.

    A score is replaced by the lower edge of its bin, the lowest if it is below all. Tests remain valid:
    docs/proofs/betting.md. edges: (k,) increasing; None: every score is counted exactly.
    """

    edges: np.ndarray | None

    @classmethod
    def of(cls, blocks: Iterable[PairCounts]) -> ScoreBins:
        """Bins for scores like those of `blocks`, even in rank in both worlds and finer towards both ends; a
        score that occurs several times in one world is a bin by itself."""
        scores = join_blocks(blocks)
        levels, mass = scores.levels, scores.by_level[:2]
        if len(levels) <= _MAX_EXACT_SCORES:
            return cls(None)
        edges = [_shorten(levels, choose_landmarks(mass, _MAX_BINS))]
        often = mass.max(axis=0)
        masses = np.sort(np.argsort(-often, kind="stable")[:_MAX_POINT_MASSES])
        points = levels[masses[often[masses] > 1]]
        edges += [points, np.nextafter(points, np.inf)]
        finite = levels[np.isfinite(levels)]
        if len(finite):
            tails = (finite[-1] - finite[0]) * _TAIL_STEPS
            edges += [finite[:1], finite[0] - tails, finite[-1] + tails]
        edges.append(levels[np.isinf(levels)])
        if levels[0] == -np.inf:
            edges.append(np.array([np.finfo(float).min]))
        return cls(np.unique(np.concatenate(edges)))

    def count(self, world0: np.ndarray, world1: np.ndarray) -> PairCounts:
        """Count the pairs (world0[j], world1[j]) by their bins. Raises: InvalidArgument if a score is NaN."""
        if self.edges is None:
            return PairCounts.of(world0, world1)
        bins = (_find_bins(self.edges, check_scores(scores)) for scores in (world0, world1))
        return PairCounts.of_levels(self.edges, *bins)


EXACT = ScoreBins(None)


def _shorten(levels: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Edges that separate the same levels as `levels[places]` with fewer digits, which ledgers compress."""
    upper, lower = levels[places], levels[np.maximum(places - 1, 0)]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        step = np.ldexp(0.5, np.frexp(upper - lower)[1])  # the largest power of two that is no larger
        short = np.floor(upper / step) * step
    alone = np.diff(places, append=len(levels)) == 1
    return np.where(~alone & (short > lower) & (short <= upper), short, upper)


def _find_bins(edges: np.ndarray, scores: np.ndarray) -> np.ndarray:
    # Finding the edges among sorted scores takes a tenth of the time of finding scores among the edges.
    order = np.argsort(scores)
    starts = np.searchsorted(scores[order], edges[1:])
    bins = np.empty(len(scores), np.int64)
    bins[order] = np.repeat(np.arange(len(edges)), np.diff(starts, prepend=0, append=len(scores)))
    return bins


class BlockScatter:
    """Suspects blocks whose scores vary more than those of independent pairs could, by half-lines in either
    world and whether the score of world 1 is the larger one. See docs/proofs/batch_scatter.md."""

    def __init__(self) -> None:
        self._blocks: list[PairCounts] = []
        self._number = 0
        self._events: _ScatterEvents | None = None
        self._scatters: list[BatchScatter] = []

    def update(self, block: PairCounts) -> None:
        """Add the next block."""
        if not block.pairs:
            return
        self._number += 1
        if self._events is not None:
            self._scatters[1].update(self._events.count(block), block.pairs)
            return
        self._blocks.append(block)
        if len(self._blocks) == _CHOOSING_BLOCKS:
            self._events, first = self._compare_blocks()
            self._scatters = [first, BatchScatter(len(self._events))]
            self._blocks = []

    def start_again(self, blocks: list[PairCounts]) -> None:
        """Go on with the scores of another distinguisher; blocks: its scores of earlier blocks."""
        self._blocks, self._events, self._scatters = [], None, []
        for block in blocks:
            self.update(block)

    @property
    def suspected(self) -> bool:
        """Whether the blocks so far scatter more than those of independent pairs could."""
        scatters = self._scatters
        if self._events is None:
            if len(self._blocks) < 2:
                return False
            scatters = [self._compare_blocks()[1]]
        p_value = len(scatters) * min(scatter.p_value() for scatter in scatters)
        return p_value * self._number * (self._number + 1) <= RATE  # whenever one looks

    @property
    def unclear(self) -> bool:
        """Whether the blocks are few and no event varies within any of them, so that a random number that is
        common to a block may have been the same in all of them by chance."""
        if self._events is not None or not self._blocks:
            return False
        events = _ScatterEvents.choose(self._blocks)
        counts = ((events.count(block), block.pairs) for block in self._blocks)
        return not any(((hits > 0) & (hits < pairs)).any() for hits, pairs in counts)

    def _compare_blocks(self) -> tuple[_ScatterEvents, BatchScatter]:
        events = _ScatterEvents.choose(self._blocks)
        scatter = BatchScatter(len(events))
        for block in self._blocks:
            scatter.update(events.count(block), block.pairs)
        return events, scatter


@attrs.frozen(eq=False)
class _ScatterEvents:
    """Events of a pair that are counted in blocks: each score is at least each of `thresholds` (k,), and the
    score of world 1 is the larger one, if both are rounded down to `edges` (e,)."""

    thresholds: np.ndarray
    edges: np.ndarray

    @classmethod
    def choose(cls, blocks: list[PairCounts]) -> _ScatterEvents:
        """Thresholds above which about `_TAILS` of all scores lie; it does not matter in which block each is.
        The first blocks of a run count scores exactly and later ones in bins. In both, a score is rounded
        down to the same one of the last block's scores."""
        scores = np.concatenate([np.repeat(block.scores, block.counts, axis=0).ravel() for block in blocks])
        levels = blocks[-1].levels
        edges = levels[:: -(-len(levels) // _MOST_EDGES)]
        above_least = scores[scores > scores.min()]
        if not len(above_least):
            return cls(above_least, edges)
        ranks = [int((1.0 - tail) * (len(scores) - 1)) for tail in _TAILS]
        quantiles = np.partition(scores, ranks)[ranks]
        return cls(np.unique(np.maximum(quantiles, above_least.min())), edges)

    def __len__(self) -> int:
        return 2 * len(self.thresholds) + 1

    def count(self, block: PairCounts) -> np.ndarray:
        """(events,): the number of pairs in each event."""
        below = add_up(block.by_level[:2])
        above = block.pairs - below[:, np.searchsorted(block.levels, self.thresholds)]
        rounded = np.searchsorted(self.edges, block.levels, side="right")[block.which]
        larger = block.counts[rounded[:, 1] > rounded[:, 0]].sum()
        return np.concatenate([*above, [larger]]).astype(float)
