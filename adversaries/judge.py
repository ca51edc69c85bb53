"""What the answers of a table's games say of the worlds: by the laws that the learner tells, if it does."""

from __future__ import annotations

import numpy as np

from arena import NO_LABEL, Answer, AnswerLaw, Learner, Sample, Unsupported

_CLAMP = 50.0  # nats: ratios beyond are of answers that one world never gives
_DECIMALS = 9  # beyond lie the last bits of sums
_SLAB = 2**20  # numbers of measures that are stepped at a time
_LABELS = 3


class Judge:
    """ln of how much likelier the answers of each game are in world 1, by the laws that the learner tells for
    both samples; if it tells none, the number of answers 1.

    points: (m, ...) all that will be asked; a query is told by its place among them.

    Where the laws have one state each, answers are independent, and each adds what it tells by itself. Else
    games that were asked and told the same share one measure over the hidden states of each law.
    """

    def __init__(
        self, learner: Learner | None, samples: tuple[Sample, Sample], points: np.ndarray, games: int
    ) -> None:
        self._points = points
        self._laws = laws_of(learner, samples)
        self._ones = np.zeros(games)
        self._asked = 0
        self._ratio = np.zeros(games)  # of each history, and at first every game has one of its own
        self._history = np.arange(games)
        self._gains: np.ndarray | None = None
        if self._laws is None:
            return
        self._measures = [law.start()[None] for law in self._laws]
        if all(measure.shape == (1, 1) for measure in self._measures):
            self._gains = _gains(self._laws, points)
        else:
            self._ratio, self._history = np.zeros(1), np.zeros(games, np.int64)

    @property
    def knows(self) -> bool:
        """Whether the learner tells its law."""
        return self._laws is not None

    @property
    def score(self) -> np.ndarray:
        """(n,)"""
        if self._laws is None:
            return self._ones
        return np.round(np.clip(self._ratio, -_CLAMP, _CLAMP), _DECIMALS)[self._history]

    def take(self, place: np.ndarray | int, reply: Answer) -> None:
        """Hear the answers to the points at these places: one for all games, or (n,)."""
        self._asked += 1
        self._ones += reply.label == 1
        if self._gains is not None:
            told = reply.label != NO_LABEL
            self._ratio += np.where(told, self._gains[reply.label, place], 0.0)
        elif self._laws is not None:
            self._follow(self._laws, np.broadcast_to(place, self._history.shape), reply)

    def _follow(self, laws: tuple[AnswerLaw, AnswerLaw], place: np.ndarray, reply: Answer) -> None:
        seen = _seen(reply, at_end=self._asked == laws[0].last)
        codes = 2 * _LABELS
        keys = (self._history * len(self._points) + place) * codes + seen
        # What a halted game is asked goes unheard: it keeps the history that it has, apart from all others.
        silent = reply.label == NO_LABEL
        keys[silent] = -1 - self._history[silent]
        keys, self._history = np.unique(keys, return_inverse=True)
        told = keys >= 0
        before = np.where(told, keys // codes // len(self._points), -1 - keys)
        asked, seen = keys[told] // codes % len(self._points), keys[told] % codes
        masses = np.ones((2, len(keys)))
        for world, law in enumerate(laws):
            measure = self._measures[world][before]
            measure[told] = _stepped(law, measure[told], self._at(asked), seen, self._asked)
            masses[world] = measure.sum(axis=1)
            self._measures[world] = measure / np.where(masses[world] > 0, masses[world], 1.0)[:, None]
        self._ratio = self._ratio[before] + np.where(told, _log_ratio(*masses), 0.0)

    def _at(self, places: np.ndarray) -> np.ndarray:
        """(g, ...): the points at places (g,); one point for all where it is one, which laws are quick at."""
        if len(places) and (places == places[0]).all():
            return np.broadcast_to(self._points[places[0]], (len(places), *self._points.shape[1:]))
        return self._points[places]


def laws_of(learner: Learner | None, samples: tuple[Sample, Sample]) -> tuple[AnswerLaw, AnswerLaw] | None:
    """The laws of a learner's answers in both worlds; None if it does not tell them."""
    if learner is None:
        return None
    try:
        first, second = (learner.law(sample) for sample in samples)
    except Unsupported:
        return None
    return (first, second) if isinstance(first, AnswerLaw) and isinstance(second, AnswerLaw) else None


def chances(law: AnswerLaw, points: np.ndarray) -> np.ndarray:
    """(k, m): the chance of each outcome of the first answer, at points (m, ...)."""
    return law.step(np.tile(law.start(), (len(points), 1)), points).sum(axis=2)


def _gains(laws: tuple[AnswerLaw, AnswerLaw], points: np.ndarray) -> np.ndarray:
    """(labels, m): what an answer at each of points (m, ...) tells where answers are independent."""
    of_outcome = [chances(law, points) for law in laws]
    of_label = np.zeros((2, _LABELS, len(points)))
    for world, law in enumerate(laws):
        np.add.at(of_label[world], [label for label, _ in law.outcomes], of_outcome[world])
    return _log_ratio(*of_label)


def _seen(reply: Answer, *, at_end: bool) -> np.ndarray:
    """(n,): the label and whether the game is seen to halt, as one number. At the end all do."""
    return 2 * reply.label.astype(np.int64) + (reply.halted & (not at_end))


def _stepped(
    law: AnswerLaw, measure: np.ndarray, points: np.ndarray, seen: np.ndarray, asked: int
) -> np.ndarray:
    """(g, m): the parts of measures (g, m) in which the points were answered as seen (g,)."""
    after = np.empty_like(measure)
    fits = _fitting(law, at_end=asked == law.last)
    rows = max(1, _SLAB // (measure.shape[1] * len(law.outcomes)))
    for start in range(0, len(measure), rows):
        some = slice(start, start + rows)
        parts = law.step(measure[some], points[some])
        after[some] = np.where(fits[:, seen[some], None], parts, 0.0).sum(axis=0)
    return after


def _fitting(law: AnswerLaw, *, at_end: bool) -> np.ndarray:
    """(k, codes) bool: which outcomes show as each number of `_seen`. Where all games halt at once, whether
    one would have halted anyway does not show."""
    code = np.arange(2 * _LABELS)
    label, halts = (np.array(column)[:, None] for column in zip(*law.outcomes, strict=True))
    alike = label == code // 2
    exactly = alike & (halts == code % 2)
    return np.where(exactly.any(axis=0) & (not at_end), exactly, alike)


def _log_ratio(world_0: np.ndarray, world_1: np.ndarray) -> np.ndarray:
    """ln world_1 - ln world_0; 0 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(
            np.log(world_1) - np.log(world_0), nan=0.0, posinf=2 * _CLAMP, neginf=-2 * _CLAMP
        )
