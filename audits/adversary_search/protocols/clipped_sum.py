"""A simple score of a stream: the sum of what was published in some rounds, each clipped to the stretch
between its medians in the two worlds. For independent Laplace noise it is the log likelihood ratio."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from audits.adversary_search.score import TOTAL, Score
from audits.distinguishers.view_features import INFINITE, ViewCounts, ViewFeatures

_MOST_ROUNDS = 64  # of a stream
_MOST_TERMS = 6  # of a sum, below all of them
_LEAST_SHIFT = 0.05  # of a term, relative to the mean deviation of what was published
_DIGITS = 3


@attrs.frozen
class ClippedSum(Score):
    """A score: Σ clip((x_t − low_t)/unit_t), where x_t is the number of round t or, with `differences`, what
    it adds to the round before. Terms are clipped to 0 at low_t and to (high_t − low_t)/unit_t at high_t.

    rounds: of the terms, from 0. low, high: their medians in world 0 and in world 1. unit: mean deviations.
    """

    feature: str = "value"
    form: str = TOTAL
    rounds: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    unit: tuple[float, ...] = ()
    differences: bool = False

    def describe(self) -> str:
        numbers = "increments" if self.differences else "numbers"
        return f"a sum of the {numbers} of rounds {', '.join(str(t + 1) for t in self.rounds)}, clipped"

    def column(self, views: ViewCounts | ViewFeatures) -> np.ndarray:
        numbers = read_rounds(views, max(self.rounds) + 1, self.differences)[:, list(self.rounds)]
        low, high, unit = np.array(self.low), np.array(self.high), np.array(self.unit)
        terms = np.clip(numbers, np.minimum(low, high), np.maximum(low, high))
        terms = np.sign(high - low) * (np.where(np.isnan(numbers), low, terms) - low) / unit
        return np.asarray(self.sign * terms.sum(axis=1))


def read_rounds(views: ViewCounts | ViewFeatures, rounds: int, differences: bool) -> np.ndarray:
    """(m, rounds): what was published as a number in each round, or what it adds; NaN if it was none."""
    numbers = views.columns(tuple(f"value[{t}]" for t in range(rounds)))
    numbers = np.where(np.abs(numbers) < INFINITE, numbers, np.nan)
    return np.diff(numbers, axis=1, prepend=0.0) if differences else numbers


def list_clipped_sums(views: ViewCounts) -> Iterator[ClippedSum]:
    """Sums of the rounds that differ most between the worlds, of numbers and then of their differences."""
    rounds = sum(f"value[{t}]" in views.names for t in range(_MOST_ROUNDS))
    for differences in (False, True) if rounds > 1 else ():
        numbers = read_rounds(views, rounds, differences)
        worlds = [np.repeat(numbers[which], views.counts, axis=0) for which in views.which.T]
        with np.errstate(all="ignore"):
            known = ~np.isnan(worlds[0]).any(axis=0) & ~np.isnan(worlds[1]).any(axis=0)
            low, high = (np.median(world[:, known], axis=0) for world in worlds)
            centred = (np.abs(world[:, known] - m) for world, m in zip(worlds, (low, high), strict=True))
            unit = np.mean([each.mean(axis=0) for each in centred], axis=0)
            shift = np.abs(high - low) / unit
        places = np.flatnonzero(known)
        order = np.argsort(-np.nan_to_num(shift), kind="stable")
        order = order[(shift[order] > _LEAST_SHIFT) & np.isfinite(shift[order])]
        for terms in sorted({*range(2, min(_MOST_TERMS, len(order)) + 1), len(order)} - {0, 1}):
            chosen = np.sort(order[:terms])
            yield ClippedSum(
                rounds=tuple(places[chosen].tolist()),
                low=_round(low[chosen]),
                high=_round(high[chosen]),
                unit=_round(unit[chosen]),
                differences=differences,
            )


def _round(numbers: np.ndarray) -> tuple[float, ...]:
    return tuple(float(f"{number:.{_DIGITS}g}") for number in numbers)
