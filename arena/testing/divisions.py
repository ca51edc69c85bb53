"""Check that a learner depends on the list of its examples, and not on how that is divided into runs.

Equality of samples, and so the neighbouring relation, is that of lists. The division is the caller's choice:
an adversary may divide the lists of its two worlds differently, and data read from a file have single
examples. A learner that overlooks `Sample.counts` answers differently.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import starmap

import attrs
import numpy as np

from arena.engine import Played, play
from arena.errors import NotConforming
from arena.players import Learner
from arena.referees import Probe
from arena.released import ABSENT, align_columns
from arena.sample import Sample
from arena.testing.independence import compute_p_value, summarise_views

_PIECES = 250  # of a run, so that samples of the usual size consist of single examples
_FEW = 64  # games
_CLOSE = 1e-9  # relative difference of numbers that are equal but for rounding
_RULE = "its output depends on the list of examples, however that is divided into runs"


def check_divisions(learner: Learner, probe: Probe, *, games: int, rate: float) -> None:
    """Check that games on one list, divided into runs in several ways, have the same distribution.

    With the same random numbers, most learners show the same, and one with common random numbers must. The
    numbers of a view may differ by rounding, since sums over other runs are rounded differently. Games of
    other learners are compared in distribution; sound ones are refused with probability at most `rate`.

    games: in each division.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    merged = probe.sample.divide()
    divisions = list(_divide(merged))
    samples = [merged, *divisions]

    @cache
    def play_on(place: int, number: int, seed: int) -> Played:
        other = attrs.evolve(probe, sample=samples[place])
        return play(learner, other, probe.referee, games=number, seed=seed, record=True)

    def shows_same(place: int) -> bool:
        # A few games suffice to see that a learner does not draw the same random numbers.
        batches = ((play_on(0, number, 21), play_on(place, number, 21)) for number in (_FEW, games))
        return all(starmap(_shows_same, batches))

    for place, sample in enumerate(divisions, start=1):
        text = f"{len(merged.counts)} runs and {len(sample.counts)} runs of the same {sample.size}"
        if not learner.own_coins and shows_same(place):
            continue
        if learner.common_random_numbers:
            raise NotConforming(
                learner.name, _RULE, f"with the same random numbers, {text} examples show something else"
            )
        if _find_p_value(play_on(0, games, 22), play_on(place, games, 23)) <= rate / len(divisions):
            raise NotConforming(
                learner.name, _RULE, f"{text} examples differ in distribution: a run i has `counts[i]` copies"
            )


def _divide(merged: Sample) -> Iterator[Sample]:
    """The sample in single examples or many runs; and with the longest run cut only, into an even number of
    pieces, so that shares among the runs change, and the parity of their number."""
    yield merged.divide(_PIECES)
    longest = int(merged.counts.argmax())
    pieces = np.ones_like(merged.counts)
    pieces[longest] = min(_PIECES, merged.counts[longest]) // 2 * 2
    if pieces[longest]:
        yield merged.divide(pieces)


def _shows_same(first: Played, second: Played) -> bool:
    """Whether two batches of games show the same, but for the rounding of numbers."""
    parts = [_list_parts(played) for played in (first, second)]
    return len(parts[0]) == len(parts[1]) and all(map(_is_close, *parts))


def _is_close(part: np.ndarray, other: np.ndarray) -> bool:
    if part.shape != other.shape or part.dtype.kind != "f" or other.dtype.kind != "f":
        return np.array_equal(part, other)
    finite = np.abs(part[np.isfinite(part)])
    return np.allclose(part, other, rtol=_CLOSE, atol=_CLOSE * finite.max(initial=0.0), equal_nan=True)


def _list_parts(played: Played) -> list[np.ndarray]:
    return played.shown if played.halted is None else [*played.shown, played.halted]


def _find_p_value(first: Played, second: Played) -> float:
    """A p-value of the hypothesis that all games of both batches are independent and alike."""
    features = align_columns([summarise_views(first), summarise_views(second)], fill=ABSENT)
    return compute_p_value(np.stack(features).transpose(0, 2, 1))
