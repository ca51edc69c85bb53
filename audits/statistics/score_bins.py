"""Bins of scores, chosen from the first blocks of a run, in which all later blocks count theirs.

A score is replaced by the lower edge of its bin. This is a monotone function that is chosen before the games
that it is applied to, so tests remain valid: docs/proofs/betting.md.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs
import numpy as np

from audits.statistics.score_histogram import choose_landmarks
from audits.statistics.score_pairs import PairCounts, check_scores, join_blocks

_MAX_EXACT = 768  # different scores that are counted exactly
_MAX_BINS = 448  # of more; with them a ledger takes less than a byte for a pair of games
_MAX_POINT_MASSES = 256
_TAIL_STEPS = 2.0 ** np.arange(-6, 7)  # of the range of all scores, beyond it


@attrs.frozen(eq=False)
class ScoreBins:
    """Bins of scores. A score below all edges belongs to the lowest bin.

    Shapes: edges (k,) float64, increasing; bin i reaches from edge i up to the next edge, which it excludes.
        None: every score is counted exactly.
    """

    edges: np.ndarray | None

    @classmethod
    def of(cls, blocks: Iterable[PairCounts]) -> ScoreBins:
        """Bins for scores like those of `blocks`; no edges if few different scores occur.

        In both worlds bins are even in rank, and finer towards both ends. A score that occurs several times
        in one world is a bin by itself.
        """
        scores = join_blocks(blocks)
        levels, mass = scores.levels, scores.by_level[:2]
        if len(levels) <= _MAX_EXACT:
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
    """Edges that separate the same levels as the edges `levels[places]`, but have few binary digits.

    Ledgers compress them to a third. A level that is alone in its bin is the edge of that bin.
    """
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
