"""Teachers: the classifiers f_1 … f_T that GenericBBL trains on disjoint chunks, and their votes.

Steps 2, 3(a) and 3(b) of GenericBBL on a whole table: a random subset of the sample, cut at random into T
chunks of λ examples, an empirical risk minimiser for each. Two routes with the same law
(docs/architecture.md says why):

compositions: where the sample has few distinct examples, chunks are told apart only by how many of each
    example they hold. T compositions are drawn at once from a multinomial, and accepted with the right
    probability.
rows: otherwise the chosen examples of a game are laid out in random order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, lgamma

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import InternalError
from arena.points import shared
from arena.sample import Sample, Training

# Costs in nanoseconds, measured; they only decide between routes of equal law.
_COMPOSITION_COST = 45.0  # a game and composition
_ROW_COST = 30.0  # a game and example
_PLACES_A_KIND = 4  # from which on counting the chosen examples beats choosing places
_MOST_COUNTS = 1_000_000_000  # that numpy draws subsets of
_MOST_COMPOSITIONS = 20_000
_MOST_WEIGHTS = 16_000_000  # numbers tabulated for the acceptance of compositions
_MOST_COUNTED = 256  # teachers are counted by concept where there are at most so many concepts
_MOST_VOTES_KEPT = 32
_MOST_IN_A_ROW = 4  # samples whose examples stand in one row for all games
ROWS, COMPOSITIONS = "rows", "compositions"

# Given S_1 as points (k, ...), labels (k,) and counts (n, k): its labels, (n, k).
Relabel = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
_SLAB = 2_000_000  # examples laid out at a time


class TeacherEnsembles:
    """The teachers of n games, counted by concept or one by one.

    counts: (n, C), how many teachers of a game hold each of `concepts` (C, ...); or, with `counts` None,
    concepts (n, T, ...).
    """

    def __init__(
        self, concept_class: ConceptClass, concepts: np.ndarray, counts: np.ndarray | None, size: int
    ):
        self._class = concept_class
        self._concepts = concepts
        self._counts = counts
        self.size = size
        self._kept: dict[tuple[str, bytes], np.ndarray] = {}

    def votes(self, x: np.ndarray) -> np.ndarray:
        """The mean vote at each game's point: x (n, ...) gives (n,) in [0, 1]. Read-only."""
        if shared(x):
            return self._votes_at(x[0])
        points, which = np.unique(x, axis=0, return_inverse=True)
        if not 0 < len(points) <= _MOST_VOTES_KEPT:
            return self._votes_of_each(x)
        table = np.stack([self._votes_at(point) for point in points])
        return table[which.ravel(), np.arange(len(x))]

    def votes_in_a_row(self, x: np.ndarray) -> np.ndarray:
        """The mean votes at several points of each game: x (n, k, ...) gives (n, k)."""
        if not len(x):
            return np.zeros(x.shape[:2])
        if self._counts is None:
            return np.stack(
                [self._class.vote(held, points) for held, points in zip(self._concepts, x, strict=True)]
            )
        if shared(x):
            ones = self._class.labels(self._concepts, x[0])
            return self._counts @ ones.astype(np.float64) / self.size
        return np.stack([self._votes_of_game(*game) for game in zip(self._counts, x, strict=True)])

    def _votes_of_game(self, counts: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The mean votes (k,) of one game's teachers, counted (C,), at points (k, ...)."""
        held = counts > 0
        step = max(1, _SLAB // max(1, int(held.sum())))
        slabs = (points[start : start + step] for start in range(0, len(points), step))
        ones = [counts[held] @ self._class.labels(self._concepts[held], some).astype(float) for some in slabs]
        return np.concatenate(ones) / self.size

    def _votes_at(self, point: np.ndarray) -> np.ndarray:
        key = point.dtype.str, point.tobytes()  # one number's bytes are another's in another type
        if key not in self._kept:
            if len(self._kept) >= _MOST_VOTES_KEPT:
                self._kept.clear()
            self._kept[key] = self._tally(np.asarray(point))
            self._kept[key].flags.writeable = False
        return self._kept[key]

    def _tally(self, point: np.ndarray) -> np.ndarray:
        if self._counts is not None:
            ones = self._class.labels(self._concepts, point[None])[:, 0]
            return (self._counts @ ones.astype(np.float64)) / self.size
        return self._shares(self._class.label(self._each_concept, point))

    def _votes_of_each(self, x: np.ndarray) -> np.ndarray:
        if self._counts is not None:
            ones = self._class.labels(self._concepts, x)  # (C, n)
            return np.einsum("nc,cn->n", self._counts, ones.astype(np.float64)) / self.size
        return self._shares(self._class.label(self._each_concept, np.repeat(x, self.size, axis=0)))

    @property
    def _each_concept(self) -> np.ndarray:
        """(n * T, ...)."""
        return self._concepts.reshape(-1, *self._concepts.shape[2:])

    def _shares(self, ones: np.ndarray) -> np.ndarray:
        return np.asarray(ones.reshape(-1, self.size).mean(axis=1))


@attrs.frozen(eq=False)
class TrainedEnsembles:
    """The outcome of the training step: the teachers, and the subset S_1 that they were trained on.

    Shapes: points (n or 1, k, ...), labels (n or 1, k), counts (n, k): how often S_1 holds each example.
    """

    teachers: TeacherEnsembles
    points: np.ndarray
    labels: np.ndarray
    counts: np.ndarray


def train_teachers(
    training: Training,
    concept_class: ConceptClass,
    *,
    teachers: int,
    chunk: int,
    rng: np.random.Generator,
    route: str | None = None,
    relabel: Relabel | None = None,
) -> TrainedEnsembles:
    """Train `teachers` teachers on disjoint random chunks of `chunk` examples in every game of the table.

    Every sample must hold at least teachers · chunk examples. `route` is "compositions" or "rows", and
    by default whichever costs less. relabel: the labels to train on in place of those of S_1; it takes rows.
    """
    parts = []
    for sample, games in training.groups():
        plan = _plan(sample.distinct(), concept_class, teachers, chunk)
        use = ROWS if relabel is not None else route or plan.cheaper
        if use == ROWS:
            parts.append((games, plan, _draw_rows(plan, len(games), rng, relabel)))
        else:
            parts.append((games, plan, _draw_compositions(plan, len(games), rng)))
    if len(parts) == 1:
        _, plan, drawn = parts[0]
        held = TeacherEnsembles(concept_class, drawn.concepts, drawn.counts, teachers)
        return TrainedEnsembles(held, plan.points[None], drawn.labels, drawn.totals)
    return _joined(parts, concept_class, training.games, teachers)


@attrs.frozen(eq=False)
class _Drawn:
    """The teachers of some games, and their S_1.

    concepts, counts: as of `TeacherEnsembles`. totals: (games, k), how often S_1 holds each example. labels: (games
    or 1, k), what it labels them.
    """

    concepts: np.ndarray
    counts: np.ndarray | None
    totals: np.ndarray
    labels: np.ndarray


@attrs.frozen(eq=False)
class _Compositions:
    """The M compositions of a chunk: how many of each of the k distinct examples it holds."""

    held: np.ndarray  # (M, k)
    chances: np.ndarray  # (M,) of a chunk drawn with replacement
    concepts: np.ndarray  # (C, ...) the distinct minimisers
    concept_of: np.ndarray  # (M, C) 0/1
    weights: tuple[np.ndarray, ...]  # per example: log n!/((n−K)! n^K) for K = 0, 1, …
    most: float  # an upper bound of the summed weights


@attrs.frozen(eq=False)
class _Plan:
    """What the draws for one sample need, the same for every game. k distinct examples."""

    concept_class: ConceptClass
    points: np.ndarray  # (k, ...)
    labels: np.ndarray  # (k,)
    available: np.ndarray  # (k,) how often the sample holds each
    teachers: int
    chunk: int
    compositions: _Compositions | None  # None where they would be too many

    @property
    def size(self) -> int:
        return self.teachers * self.chunk

    @property
    def cheaper(self) -> str:
        if self.compositions is None:
            return ROWS
        # The chance of acceptance, to leading order: one factor a degree of freedom.
        unused = max(1.0 - self.size / int(self.available.sum()), 1e-9)
        accepted = unused ** ((len(self.available) - 1) / 2)
        by_compositions = len(self.compositions.chances) * _COMPOSITION_COST / accepted
        return COMPOSITIONS if by_compositions < self.size * _ROW_COST else ROWS


@lru_cache(maxsize=16)
def _plan(sample: Sample, concept_class: ConceptClass, teachers: int, chunk: int) -> _Plan:
    kinds = len(sample.counts)
    few = comb(chunk + kinds - 1, chunk) <= _MOST_COMPOSITIONS and kinds * teachers * chunk <= _MOST_WEIGHTS
    return _Plan(
        concept_class,
        sample.points,
        sample.labels,
        sample.counts,
        teachers,
        chunk,
        _compositions(sample, concept_class, chunk, teachers * chunk) if few else None,
    )


def _compositions(sample: Sample, concept_class: ConceptClass, chunk: int, size: int) -> _Compositions:
    kinds = range(len(sample.counts))
    places = np.array(list(combinations_with_replacement(kinds, chunk)))
    held = np.stack([(places == a).sum(axis=1) for a in kinds], axis=1)
    minimisers = concept_class.erm(sample.points[places], sample.labels[places])
    concepts, index = np.unique(minimisers, axis=0, return_inverse=True)
    weights, most = _weights(sample.counts, size)
    chances = _chances(held, sample.counts / sample.size)
    return _Compositions(held, chances, concepts, np.eye(len(concepts))[index.ravel()], weights, most)


def _chances(compositions: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The chance of each composition when a chunk's examples are drawn independently from p."""
    factorials = np.array([lgamma(c + 1) for c in range(int(compositions.max()) + 1)])
    chunk = int(compositions[0].sum())
    logs = lgamma(chunk + 1) - factorials[compositions].sum(axis=1) + compositions @ np.log(p)
    chances = np.exp(logs)
    return chances / chances.sum()


def _weights(available: np.ndarray, size: int) -> tuple[tuple[np.ndarray, ...], float]:
    """log of n!/((n−K)! n^K) for each example and K, and a bound on their sum over all K with ΣK = size.

    For any multiplier m, the sum is at most Σ max_K (weight(K) − mK) + m·size; m = log(1 − rate) is near
    the best.
    """
    total = int(available.sum())
    multiplier = np.log1p(-size / total) if size < total else -np.inf
    weights, most = [], 0.0
    for n in available.tolist():
        last = min(n, size)
        weight = np.zeros(size + 2)
        weight[1 : last + 1] = np.cumsum(np.log1p(-np.arange(last) / n))
        weight[last + 1 :] = -np.inf
        weights.append(weight)
        if np.isfinite(multiplier):
            most += float((weight - multiplier * np.arange(size + 2)).max())
        else:
            most += float(weight[last])
    if np.isfinite(multiplier):
        most += multiplier * size
    return tuple(weights), most


def _draw_compositions(plan: _Plan, games: int, rng: np.random.Generator) -> _Drawn:
    table = plan.compositions
    if table is None:
        raise InternalError("there are too many compositions to draw from")
    drawn = np.empty((games, len(table.chances)), np.int64)
    totals = np.empty((games, len(plan.available)), np.int64)
    wanting = np.arange(games)
    while len(wanting):
        tried = rng.multinomial(plan.teachers, table.chances, size=len(wanting))
        held = tried @ table.held
        log_chance = sum(weight[held[:, a]] for a, weight in enumerate(table.weights)) - table.most
        accepted = -rng.standard_exponential(len(wanting)) < log_chance
        drawn[wanting[accepted]] = tried[accepted]
        totals[wanting[accepted]] = held[accepted]
        wanting = wanting[~accepted]
    return _Drawn(table.concepts, drawn @ table.concept_of, totals, plan.labels[None])


def _draw_rows(plan: _Plan, games: int, rng: np.random.Generator, relabel: Relabel | None) -> _Drawn:
    """Where concepts are many they come one by one, (games, T, ...), with None as their counts."""
    kinds, size = len(plan.available), plan.size
    totals = np.empty((games, kinds), np.int32)
    candidates = _candidates(plan)
    held, labels = [], []
    step = max(1, _SLAB // size)
    for start in range(0, max(games, 1), step):
        codes = _lay_out(plan.available, size, min(step, games - start), rng)
        counts = totals[start : start + step]
        for count, code in zip(counts, codes, strict=True):
            count[:] = np.bincount(code, minlength=kinds)
        said = plan.labels[codes]
        if relabel is not None:
            labels.append(relabel(plan.points, plan.labels, counts))
            said = np.take_along_axis(labels[-1], codes.astype(np.intp), axis=1)
        chunks = (-1, plan.teachers, plan.chunk)
        concepts = plan.concept_class.erm(plan.points[codes.reshape(chunks)], said.reshape(chunks))
        held.append(_count(concepts, candidates) if candidates is not None else concepts)
    told = np.concatenate(labels) if labels else plan.labels[None]
    if candidates is not None:
        return _Drawn(candidates, np.concatenate(held), totals, told)
    return _Drawn(np.concatenate(held), None, totals, told)


def _candidates(plan: _Plan) -> np.ndarray | None:
    """Every concept a teacher may hold, if they are few; `ConceptClass.erm` stays among the dichotomies'."""
    if len(plan.points) > _MOST_COUNTED or plan.concept_class.concept_ndim:
        return None
    concepts = np.unique(plan.concept_class.dichotomies(np.unique(plan.points, axis=0)).concepts)
    return concepts if len(concepts) <= _MOST_COUNTED else None


def _count(concepts: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """(g, T) concepts as (g, C) counts."""
    index = np.searchsorted(candidates, concepts)
    if (candidates[np.minimum(index, len(candidates) - 1)] != concepts).any():
        raise InternalError("a concept class's erm returned a concept that its dichotomies do not list")
    index += np.arange(len(concepts))[:, None] * len(candidates)
    return np.bincount(index.ravel(), minlength=concepts.shape[0] * len(candidates)).reshape(
        len(concepts), len(candidates)
    )


def _lay_out(available: np.ndarray, size: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """(games, size) int: the examples of a random subset, in random order."""
    if _PLACES_A_KIND * len(available) <= size and available.sum() < _MOST_COUNTS:  # counts, then their order
        counts = rng.multivariate_hypergeometric(available, size, size=games, method="marginals")
        kinds = np.arange(len(available), dtype=np.min_scalar_type(len(available)))
        codes = np.repeat(np.tile(kinds, games), counts.ravel())
        return rng.permuted(codes.reshape(games, size), axis=1)
    ends = np.cumsum(available)
    places = [rng.choice(int(ends[-1]), size, replace=False) for _ in range(games)]
    rows = np.array(places, np.intp).reshape(games, size)
    return rows if available.max() == 1 else np.searchsorted(ends, rows, side="right")


_Parts = list[tuple[np.ndarray, _Plan, _Drawn]]


def _joined(parts: _Parts, concept_class: ConceptClass, games: int, size: int) -> TrainedEnsembles:
    """The groups of a table, put back in the order of its games."""
    points, labels, totals = (_in_a_row if len(parts) <= _MOST_IN_A_ROW else _apart)(parts, games)
    if len(parts) > _MOST_IN_A_ROW or any(drawn.counts is None for _, _, drawn in parts):
        held = [_one_by_one(drawn, size) for _, _, drawn in parts]
        each = np.empty((games, *held[0].shape[1:]))
        for (rows, _, _), concepts in zip(parts, held, strict=True):
            each[rows] = concepts
        return TrainedEnsembles(TeacherEnsembles(concept_class, each, None, size), points, labels, totals)
    every = np.concatenate([drawn.concepts for _, _, drawn in parts])
    concepts, place = np.unique(every, axis=0, return_inverse=True)
    places = np.split(place.ravel(), np.cumsum([len(drawn.concepts) for _, _, drawn in parts])[:-1])
    counts_of = np.zeros((games, len(concepts)))
    for (rows, _, drawn), theirs in zip(parts, places, strict=True):
        counts_of[np.ix_(rows, theirs)] = drawn.counts
    return TrainedEnsembles(
        TeacherEnsembles(concept_class, concepts, counts_of, size), points, labels, totals
    )


def _in_a_row(parts: _Parts, games: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S_1 of every game, among the examples of all samples: points (1, k, ...), labels and counts (n, k)."""
    points = np.concatenate([plan.points for _, plan, _ in parts])[None]
    labels = np.zeros((games, points.shape[1]), np.int8)
    totals = np.zeros((games, points.shape[1]), np.int64)
    at = 0
    for rows, _, drawn in parts:
        here = slice(at, at + drawn.totals.shape[1])
        labels[:, here] = drawn.labels[0]
        labels[rows, here], totals[rows, here] = drawn.labels, drawn.totals
        at = here.stop
    return points, labels, totals


def _apart(parts: _Parts, games: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same where there are many samples, each game with points of its own, (n, k, ...): of those that are
    too many for its sample there are none."""
    first = parts[0][1].points
    most = max(len(plan.points) for _, plan, _ in parts)
    points = np.empty((games, most, *first.shape[1:]), np.result_type(*(plan.points for _, plan, _ in parts)))
    points[:] = first[0]
    labels = np.zeros((games, most), np.int8)
    totals = np.zeros((games, most), np.int64)
    for rows, plan, drawn in parts:
        size = len(plan.points)
        points[rows, :size] = plan.points
        labels[rows, :size], totals[rows, :size] = drawn.labels, drawn.totals
    return points, labels, totals


def _one_by_one(drawn: _Drawn, size: int) -> np.ndarray:
    """The concepts (games, T, ...) of teachers that may be counted."""
    if drawn.counts is None:
        return drawn.concepts
    concepts, games = drawn.concepts, len(drawn.counts)
    which = np.repeat(np.tile(np.arange(len(concepts)), games), drawn.counts.astype(np.int64).ravel())
    return concepts[which].reshape(games, size, *concepts.shape[1:])
