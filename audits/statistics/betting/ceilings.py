"""Ceiling of an audit: the bound that the betting test certifies if every score separates the worlds.

Derivation: docs/proofs/betting.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from arena.privacy_curves import PrivacyCurve
from audits.statistics.betting import LATE_START, RECENT_PAIRS, Betting
from audits.statistics.betting.bets import next_choice
from audits.statistics.score_pairs import PairCounts

_SEPARATED = np.array([-100.0, 100.0])  # scores that separate the worlds, also as log-likelihood ratios


def ceiling(block_sizes: Iterable[int], **settings: Any) -> float:
    """The bound in nats that `Betting` certifies from perfectly separated scores in blocks of these sizes.

    settings: of `Betting`.
    """
    bounds = ceilings(block_sizes, **settings)
    return bounds[-1][1] if bounds else 0.0


def ceilings(block_sizes: Iterable[int], *, points: int = 0, **settings: Any) -> list[tuple[int, float]]:
    """Growth of the ceiling with the number of pairs, as a list of (pairs, bound in nats).

    It is reported after the blocks at which bets are chosen, after `points` other blocks evenly spaced, and
    after the last. Blocks between two choices are joined, which may move a bound by one step of the grid.
    """
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
    parts = np.union1d(stops, _recent_starts(ends, stops))
    parts = np.union1d(parts, ends[ends >= LATE_START][:1])
    if len(ends):
        stops = np.union1d(stops, ends[np.linspace(0, len(ends) - 1, points).round().astype(int)])
    reported = set(stops.tolist())
    for pairs in np.diff(np.union1d(stops, parts), prepend=0):
        betting.update(PairCounts(_SEPARATED, np.array([[0, 1]]), np.array([pairs])))
        if betting.pairs in reported:
            yield betting.pairs


def _pairs_between_choices(ends: np.ndarray) -> Iterator[int]:
    """The number of pairs between consecutive choices of bets; `ends` are the pairs seen after each block."""
    pairs, total = 0, int(ends[-1]) if len(ends) else 0
    while pairs < total:
        due = max(next_choice(pairs), pairs + 1)
        end = int(ends[min(int(np.searchsorted(ends, due)), len(ends) - 1)])
        yield end - pairs
        pairs = end


def _recent_starts(ends: np.ndarray, choices: np.ndarray) -> np.ndarray:
    """For each of `choices`, the start of the fewest blocks to it that hold `RECENT_PAIRS` pairs, or 0."""
    starts = np.concatenate([[0], ends])
    return starts[np.searchsorted(starts, np.maximum(choices - RECENT_PAIRS, 0), side="right") - 1]
