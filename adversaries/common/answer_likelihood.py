"""The log-likelihood ratio of the answers of a batch of games, from a learner's known output distribution."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from arena import NO_LABEL, Answer, AnswerLaw, Learner, Sample, Unsupported

_CLAMP = 50.0  # nats; larger ratios belong to answers that one world never gives
_DECIMALS = 9  # to which scores are rounded; beyond are the rounding errors of sums
_MEASURE_DECIMALS = 14  # to which measures must agree to count as equal
_SLAB_NUMBERS = 2**20  # numbers of measures that are updated at a time
_LABELS = 3
_CODES = 2 * _LABELS  # distinguishable answers: see `_encode_answers`
_MAX_CACHED = 2**25  # numbers of measures


class AnswerLikelihood:
    """The log-likelihood ratio of each game's answers, world 1 over world 0, from the learner's output
    distributions.

    If they are not known, the score is the number of answers 1. With a single hidden state the ratios of the
    answers add up; otherwise games with equal posteriors of the hidden state share one, even in different
    batches.

    points: (m, ...), all points that may be queried. A query is given by its index among them.
    """

    def __init__(
        self, learner: Learner | None, samples: tuple[Sample, Sample], points: np.ndarray, games: int
    ) -> None:
        self._points = len(points)
        self._ones = np.zeros(games)
        self._ratio = np.zeros(games)
        self._queries = 0
        self._laws = answer_laws(learner, samples)
        self._gains: np.ndarray | None = None
        if self._laws is None:
            return
        if all(law.start().shape == (1,) for law in self._laws):
            self._gains = _gains_of_labels(self._laws, points)
        else:
            self._posteriors = _share_posteriors(self._laws, points)
            self._posterior = np.zeros(games, np.int64)

    @property
    def is_known(self) -> bool:
        return self._laws is not None

    @property
    def score(self) -> np.ndarray:
        """(n,): the log-likelihood ratio so far, or the number of answers 1."""
        if self._laws is None:
            return self._ones
        return np.round(np.clip(self._ratio, -_CLAMP, _CLAMP), _DECIMALS)

    def add(self, column: np.ndarray | int, reply: Answer) -> None:
        """Add the answers to the queries at these indices: one for all games, or (n,)."""
        self._queries += 1
        self._ones += reply.label == 1
        if self._gains is not None:
            self._ratio += np.where(reply.label != NO_LABEL, self._gains[reply.label, column], 0.0)
        elif self._laws is not None:
            self._update_posteriors(np.broadcast_to(column, self._posterior.shape), reply)

    def _update_posteriors(self, column: np.ndarray, reply: Answer) -> None:
        answered = np.flatnonzero(reply.label != NO_LABEL)  # a game that has halted does not answer
        at_end = self._queries == self._posteriors.last
        code = _encode_answers(reply, at_end=at_end)[answered]
        keys = ((self._posterior[answered] * self._points + column[answered]) * _CODES + code) * 2 + at_end
        keys, which = np.unique(keys, return_inverse=True)
        gains, posteriors = self._posteriors.update(keys)
        self._ratio[answered] += gains[which]
        self._posterior[answered] = posteriors[which]


class _Posteriors:
    """The posteriors of the hidden states given the answers, a measure for the law of each world, and each
    step from one to the next, computed once.

    The likelihood of earlier answers is in a game's ratio, so games with different pasts may share a
    posterior. A step is the number ((posterior · points + column) · codes + code) · 2 + (1 at the last
    query).
    """

    def __init__(self, laws: tuple[AnswerLaw, AnswerLaw], points: np.ndarray) -> None:
        self._laws = laws
        self._points = points
        self.last = laws[0].last
        self._sizes = [len(law.start()) for law in laws]
        self._measures: list[np.ndarray] = []  # of both laws, concatenated
        self._index: dict[bytes, int] = {}
        self._steps: dict[int, tuple[float, int]] = {}
        self._intern(np.concatenate([law.start() for law in laws])[None])

    @property
    def size(self) -> int:
        return len(self._measures) * sum(self._sizes)

    def update(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(k,), (k,): what each of these steps adds to the ratio, and the posterior to which it leads."""
        new = np.array([key for key in keys.tolist() if key not in self._steps], np.int64)
        if len(new):
            gains, posteriors = self._compute_steps(new)
            self._steps.update(zip(new.tolist(), zip(gains.tolist(), posteriors, strict=True), strict=True))
        steps = [self._steps[key] for key in keys.tolist()]
        return np.array([gain for gain, _ in steps]), np.array([index for _, index in steps], np.int64)

    def _compute_steps(self, keys: np.ndarray) -> tuple[np.ndarray, list[int]]:
        rest, at_end = np.divmod(keys, 2)
        rest, codes = np.divmod(rest, _CODES)
        posteriors, columns = np.divmod(rest, len(self._points))
        before = np.stack([self._measures[index] for index in posteriors.tolist()])
        halves = np.split(before, [self._sizes[0]], axis=1)
        masses = np.empty((2, len(keys)))
        points = self._points_at(columns)
        for world, law in enumerate(self._laws):
            measure = _condition(law, halves[world], points, codes, at_end=bool(at_end[0]))
            masses[world] = measure.sum(axis=1)
            halves[world] = measure / np.where(masses[world] > 0, masses[world], 1.0)[:, None]
        return log_ratio(*masses), self._intern(np.concatenate(halves, axis=1))

    def _intern(self, measures: np.ndarray) -> list[int]:
        indices = []
        for measure, rounded in zip(measures, np.round(measures, _MEASURE_DECIMALS) + 0.0, strict=True):
            index = self._index.setdefault(rounded.tobytes(), len(self._measures))
            if index == len(self._measures):
                self._measures.append(measure)
            indices.append(index)
        return indices

    def _points_at(self, columns: np.ndarray) -> np.ndarray:
        """(g, ...): the points at these indices (g,). One point is broadcast, which laws handle faster."""
        if (columns == columns[0]).all():
            return np.broadcast_to(self._points[columns[0]], (len(columns), *self._points.shape[1:]))
        return self._points[columns]


def _share_posteriors(laws: tuple[AnswerLaw, AnswerLaw], points: np.ndarray) -> _Posteriors:
    key = laws, points.tobytes(), points.dtype.str, points.shape
    if _build_posteriors(*key).size > _MAX_CACHED:
        _build_posteriors.cache_clear()
    return _build_posteriors(*key)


@lru_cache(maxsize=4)
def _build_posteriors(
    laws: tuple[AnswerLaw, AnswerLaw], points: bytes, kind: str, shape: tuple[int, ...]
) -> _Posteriors:
    return _Posteriors(laws, np.frombuffer(points, kind).reshape(shape))


@lru_cache(maxsize=8)
def answer_laws(
    learner: Learner | None, samples: tuple[Sample, Sample]
) -> tuple[AnswerLaw, AnswerLaw] | None:
    """The distributions of a learner's answers in both worlds; None if they are not known."""
    if learner is None:
        return None
    try:
        first, second = (learner.law(sample) for sample in samples)
    except Unsupported:
        return None
    return (first, second) if isinstance(first, AnswerLaw) and isinstance(second, AnswerLaw) else None


def outcome_probabilities(law: AnswerLaw, points: np.ndarray) -> np.ndarray:
    """(k, m): the probability of each outcome of the first answer, at points (m, ...)."""
    return law.step(np.tile(law.start(), (len(points), 1)), points).sum(axis=2)


def _gains_of_labels(laws: tuple[AnswerLaw, AnswerLaw], points: np.ndarray) -> np.ndarray:
    of_outcome = [outcome_probabilities(law, points) for law in laws]
    of_label = np.zeros((2, _LABELS, len(points)))
    for world, law in enumerate(laws):
        np.add.at(of_label[world], [label for label, _ in law.outcomes], of_outcome[world])
    return log_ratio(*of_label)


def _encode_answers(reply: Answer, *, at_end: bool) -> np.ndarray:
    """(n,): the label and whether the game visibly halted, as one number. At the end all games halt."""
    return 2 * reply.label.astype(np.int64) + (reply.halted & (not at_end))


def _condition(
    law: AnswerLaw, measure: np.ndarray, points: np.ndarray, codes: np.ndarray, *, at_end: bool
) -> np.ndarray:
    """(g, m): the parts of measures (g, m) in which the points were answered as encoded (g,)."""
    after = np.empty_like(measure)
    matches = _match_outcomes(law, at_end=at_end)
    rows = max(1, _SLAB_NUMBERS // (measure.shape[1] * len(law.outcomes)))
    for start in range(0, len(measure), rows):
        slab = slice(start, start + rows)
        parts = law.step(measure[slab], points[slab])
        after[slab] = np.where(matches[:, codes[slab], None], parts, 0.0).sum(axis=0)
    return after


def _match_outcomes(law: AnswerLaw, *, at_end: bool) -> np.ndarray:
    """(k, codes) bool: which outcomes appear as which code. If all games halt at once, nothing shows whether
    one would have anyway."""
    code = np.arange(_CODES)
    label, halts = (np.array(column)[:, None] for column in zip(*law.outcomes, strict=True))
    same_label = label == code // 2
    same_halt = same_label & (halts == code % 2)
    return np.where(same_halt.any(axis=0) & (not at_end), same_halt, same_label)


def log_ratio(world_0: np.ndarray, world_1: np.ndarray) -> np.ndarray:
    """ln world_1 - ln world_0; 0 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(
            np.log(world_1) - np.log(world_0), nan=0.0, posinf=2 * _CLAMP, neginf=-2 * _CLAMP
        )
