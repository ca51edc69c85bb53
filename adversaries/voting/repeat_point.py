"""repeat-point: one point is asked until the learner halts, and when it does tells how close votes are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from adversaries.voting.base import Nature
from adversaries.voting.teacher_votes import Swap, narrowest_swap, teachers_of
from arena import (
    NO_LABEL,
    InvalidArgument,
    Learner,
    Moves,
    Query,
    Sample,
    Train,
    Training,
)

_REHEARSED = 1_024  # games in each world
_LEVELS = 12  # votes that are rehearsed


@attrs.frozen
class RepeatPoint(Nature):
    """One vote more or less for 1 at a point where most teachers say 1; the point is asked to the end.

    A learner that halts after so many answers ⊥ halts the later the clearer the votes are, hence later in
    world 1, where one teacher more says 1. By how much depends on thresholds that nature does not know; so it
    rehearses: it plays the spec at tables of its own with margins from a tie to unanimity, and takes the one
    at which the scores of the worlds are furthest apart, in standard deviations.

    The score is how many answers came before the halt, of any kind, and how many of them were 1.
    """

    name = "repeat-point"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        queries = self.questions
        swap = most_telling(self.learner, self.sample, queries)
        score = np.zeros(games)
        yield Train(*swap.samples)
        for _ in range(queries):
            reply = yield Query(swap.point)
            score += _worth(reply.label)
        return score


def _worth(label: np.ndarray) -> np.ndarray:
    """(n,): 1 for an answer, 1 more if it is 1."""
    return (label != NO_LABEL) + 1.0 * (label == 1)


@lru_cache(maxsize=32)
def most_telling(learner: Learner | None, sample: Sample | None, queries: int) -> Swap:
    """The swap whose rehearsal tells the worlds apart best.

    Raises: as `narrowest_swap` does for votes that tie.
    """
    return max(_swaps(learner, sample), key=lambda swap: _apart(learner, swap, queries))


def _swaps(learner: Learner | None, sample: Sample | None) -> Iterator[Swap]:
    """One for each of several margins: at the tie, and above it as far as votes go."""
    yield narrowest_swap(learner, sample)
    most = teachers_of(learner) / 2 - 1
    for above in np.unique(np.round(np.linspace(0, most, _LEVELS)))[1:]:
        try:
            yield narrowest_swap(learner, sample, below=-float(above))
        except InvalidArgument:  # no example turns a vote at this margin
            continue


def _apart(learner: Any, swap: Swap, queries: int) -> float:
    """By how many standard deviations world 1 scores higher in the mean, when both have the same coins."""
    scores = np.stack([_rehearsed(learner, sample, swap.point, queries) for sample in swap.samples])
    return float((scores[1].mean() - scores[0].mean()) / (scores.std(axis=1).mean() + 1e-9))


def _rehearsed(learner: Any, sample: Sample, point: np.ndarray, queries: int) -> np.ndarray:
    """(games,): the scores at a table of nature's own."""
    state = learner.start(_REHEARSED, np.random.default_rng(0))
    state.train(Training.of((sample,), np.zeros(_REHEARSED, np.intp)))
    asked = np.broadcast_to(point, (_REHEARSED, *point.shape))
    score = np.zeros(_REHEARSED)
    for _ in range(queries):
        silent = state.halted
        label = np.asarray(state.predict(asked))
        score += np.where(silent, 0.0, _worth(label))
    return score
