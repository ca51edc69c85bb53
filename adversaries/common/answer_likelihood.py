"""What the answers of a table's games say of the worlds: by the laws that the learner tells, if it does."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arena import NO_LABEL, Answer, AnswerLaw, Learner, Sample, Unsupported

_CLAMP = 50.0  # nats: ratios beyond are of answers that one world never gives
_DECIMALS = 9  # beyond lie the last bits of sums
_ALIKE = 14  # decimals to which measures must agree to be one
_SLAB = 2**20  # numbers of measures that are stepped at a time
_LABELS = 3
_CODES = 2 * _LABELS  # what an answer may show: see _seen
_MOST_KEPT = 2**25  # numbers of measures


class Judge:
    """ln of how much likelier the answers of each game are in world 1, by the laws that the learner tells for
    both samples; if it tells none, the number of answers 1.

    points: (m, ...) all that will be asked; a query is told by its place among them.

    Where the laws have one state each, answers are independent, and each adds what it tells by itself. Else a
    game is in a state of mind (`_Minds`), which it shares with others, also those of other tables.
    """

    def __init__(
        self, learner: Learner | None, samples: tuple[Sample, Sample], points: np.ndarray, games: int
    ) -> None:
        self._places = len(points)
        self._ones = np.zeros(games)
        self._ratio = np.zeros(games)
        self._asked = 0
        self._laws = laws_of(learner, samples)
        self._gains: np.ndarray | None = None
        if self._laws is None:
            return
        if all(law.start().shape == (1,) for law in self._laws):
            self._gains = _gains(self._laws, points)
        else:
            self._minds = _minds_of(self._laws, points.tobytes(), points.dtype.str, points.shape)
            self._mind = np.zeros(games, np.int64)

    @property
    def knows(self) -> bool:
        """Whether the learner tells its law."""
        return self._laws is not None

    @property
    def score(self) -> np.ndarray:
        """(n,)"""
        if self._laws is None:
            return self._ones
        return np.round(np.clip(self._ratio, -_CLAMP, _CLAMP), _DECIMALS)

    def take(self, place: np.ndarray | int, reply: Answer) -> None:
        """Hear the answers to the points at these places: one for all games, or (n,)."""
        self._asked += 1
        self._ones += reply.label == 1
        if self._gains is not None:
            told = reply.label != NO_LABEL
            self._ratio += np.where(told, self._gains[reply.label, place], 0.0)
        elif self._laws is not None:
            self._follow(np.broadcast_to(place, self._mind.shape), reply)

    def _follow(self, place: np.ndarray, reply: Answer) -> None:
        heard = np.flatnonzero(reply.label != NO_LABEL)  # what a halted game is asked goes unheard
        at_end = self._asked == self._minds.last
        seen = _seen(reply, at_end=at_end)[heard]
        keys = ((self._mind[heard] * self._places + place[heard]) * _CODES + seen) * 2 + at_end
        keys, which = np.unique(keys, return_inverse=True)
        gains, minds = self._minds.after(keys)
        self._ratio[heard] += gains[which]
        self._mind[heard] = minds[which]


class _Minds:
    """States of mind: what may be known of the hidden states, a measure over those of each law.

    What a game was told before it came to one is in its ratio, and need not be the same: a threshold that is
    drawn afresh leaves nothing of the answers before. Each step from one to the next is worked out once.

    A step is a number, ((mind · points + place) · codes + seen) · 2 + at the end.
    """

    def __init__(self, laws: tuple[AnswerLaw, AnswerLaw], points: np.ndarray) -> None:
        self._laws = laws
        self._points = points
        self.last = laws[0].last
        self._sizes = [len(law.start()) for law in laws]
        self._measures: list[np.ndarray] = []  # of both laws, one after the other
        self._place: dict[bytes, int] = {}
        self._steps: dict[int, tuple[float, int]] = {}
        self._added(np.concatenate([law.start() for law in laws])[None])

    @property
    def size(self) -> int:
        """The numbers that are kept."""
        return len(self._measures) * sum(self._sizes)

    def after(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k,), (k,): what each of these steps adds to the ratio, and the state of mind that it leads to."""
        new = np.array([key for key in keys.tolist() if key not in self._steps], np.int64)
        if len(new):
            gains, minds = self._worked_out(new)
            self._steps.update(zip(new.tolist(), zip(gains.tolist(), minds, strict=True), strict=True))
        steps = [self._steps[key] for key in keys.tolist()]
        return np.array([gain for gain, _ in steps]), np.array([mind for _, mind in steps], np.int64)

    def _worked_out(self, keys: np.ndarray) -> tuple[np.ndarray, list[int]]:
        rest, at_end = np.divmod(keys, 2)
        rest, seen = np.divmod(rest, _CODES)
        minds, places = np.divmod(rest, len(self._points))
        before = np.stack([self._measures[mind] for mind in minds.tolist()])
        halves = np.split(before, [self._sizes[0]], axis=1)
        masses = np.empty((2, len(keys)))
        for world, law in enumerate(self._laws):
            measure = _stepped(law, halves[world], self._at(places), seen, at_end=bool(at_end[0]))
            masses[world] = measure.sum(axis=1)
            halves[world] = measure / np.where(masses[world] > 0, masses[world], 1.0)[:, None]
        return _log_ratio(*masses), self._added(np.concatenate(halves, axis=1))

    def _added(self, measures: np.ndarray) -> list[int]:
        """(k,): the places of measures, which are kept unless one like it is."""
        found = []
        for measure, rounded in zip(measures, np.round(measures, _ALIKE) + 0.0, strict=True):
            place = self._place.setdefault(rounded.tobytes(), len(self._measures))
            if place == len(self._measures):
                self._measures.append(measure)
            found.append(place)
        return found

    def _at(self, places: np.ndarray) -> np.ndarray:
        """(g, ...): the points at places (g,); one point for all where it is one, which laws are quick at."""
        if (places == places[0]).all():
            return np.broadcast_to(self._points[places[0]], (len(places), *self._points.shape[1:]))
        return self._points[places]


def _minds_of(laws: tuple[AnswerLaw, AnswerLaw], points: bytes, kind: str, shape: tuple[int, ...]) -> _Minds:
    """The states of mind of all tables at which these points are asked, anew where they have become many."""
    minds = _kept_minds(laws, points, kind, shape)
    if minds.size > _MOST_KEPT:
        _kept_minds.cache_clear()
        minds = _kept_minds(laws, points, kind, shape)
    return minds


@lru_cache(maxsize=4)
def _kept_minds(
    laws: tuple[AnswerLaw, AnswerLaw], points: bytes, kind: str, shape: tuple[int, ...]
) -> _Minds:
    return _Minds(laws, np.frombuffer(points, kind).reshape(shape))


@lru_cache(maxsize=8)
def laws_of(learner: Learner | None, samples: tuple[Sample, Sample]) -> tuple[AnswerLaw, AnswerLaw] | None:
    """The laws of a learner's answers in both worlds, for all tables the same; None if it tells none."""
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
    law: AnswerLaw, measure: np.ndarray, points: np.ndarray, seen: np.ndarray, *, at_end: bool
) -> np.ndarray:
    """(g, m): the parts of measures (g, m) in which the points were answered as seen (g,)."""
    after = np.empty_like(measure)
    fits = _fitting(law, at_end=at_end)
    rows = max(1, _SLAB // (measure.shape[1] * len(law.outcomes)))
    for start in range(0, len(measure), rows):
        some = slice(start, start + rows)
        parts = law.step(measure[some], points[some])
        after[some] = np.where(fits[:, seen[some], None], parts, 0.0).sum(axis=0)
    return after


def _fitting(law: AnswerLaw, *, at_end: bool) -> np.ndarray:
    """(k, codes) bool: which outcomes show as each number of `_seen`. Where all games halt at once, whether
    one would have halted anyway does not show."""
    code = np.arange(_CODES)
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
