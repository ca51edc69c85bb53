"""The training of teachers on disjoint random chunks of a sample (GenericBBL, steps 2 to 3(b)).

There are two routes of the same distribution (docs/proofs/generic_bbl.md): all T *compositions* of chunks
(how often each holds each example) are drawn at once, or the *rows* of each game one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, lgamma, pi

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import InternalError
from arena.sample import Sample, Training
from learners.common.teacher_votes import TeacherEnsembles

# Measured costs in nanoseconds; they decide only between routes of equal distribution.
_COMPOSITION_COST = 45.0  # per game and composition
_ROW_COST = 30.0  # per game and example
_PLACES_A_KIND = 4  # examples per distinct example from which drawing counts is faster than drawing places
_MOST_COUNTS = 1_000_000_000  # the largest population that numpy's hypergeometric sampler accepts
_MOST_COMPOSITIONS = 20_000
_MOST_WEIGHTS = 16_000_000  # entries in the tables of acceptance weights
_MOST_COUNTED = 256  # concepts up to which teachers are stored as counts of concepts
_MOST_SHARED = 4  # samples up to which all games share the columns of all samples
_SLAB = 2_000_000  # examples drawn at a time
ROWS, COMPOSITIONS = "rows", "compositions"


@attrs.frozen(eq=False)
class CountedExamples:
    """The examples of every game: points (n or 1, k, ...), labels (n or 1, k) and copies (n, k)."""

    points: np.ndarray
    labels: np.ndarray
    counts: np.ndarray

    def draw_subset(self, size: int, rng: np.random.Generator) -> CountedExamples:
        """A uniformly random subset of `size` examples of each game."""
        if len(self.counts) < self.counts.shape[1]:  # few games: draw game by game
            rows = [rng.multivariate_hypergeometric(row, size, method="marginals") for row in self.counts]
            return CountedExamples(self.points, self.labels, np.array(rows).reshape(self.counts.shape))
        remaining = np.full(len(self.counts), size, np.int64)
        later = self.counts.sum(axis=1)
        subset = np.zeros_like(self.counts)
        for a in range(self.counts.shape[1]):
            column = self.counts[:, a]
            later = later - column
            subset[:, a] = rng.hypergeometric(column, later, remaining)
            remaining -= subset[:, a]
        return CountedExamples(self.points, self.labels, subset)


Relabel = Callable[[CountedExamples], np.ndarray]  # from S_1 of k distinct examples, new labels (n, k)


@attrs.frozen(eq=False)
class TrainedEnsembles(CountedExamples):
    """S_1 of every game, and the teachers that were trained on it."""

    teachers: TeacherEnsembles


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
    """Train teachers on disjoint random chunks; every sample must hold at least teachers·chunk examples.

    route: default: the cheaper one. relabel: computes labels to train on instead of those of S_1, by rows.
    """
    groups = []
    for sample, games in training.groups():
        plan = _make_plan(sample.distinct(), concept_class, teachers, chunk)
        if relabel is not None or (route or plan.cheaper_route) == ROWS:
            groups.append((games, plan, _draw_rows(plan, len(games), rng, relabel)))
        else:
            groups.append((games, plan, _draw_compositions(plan, len(games), rng)))
    if len(groups) == 1:
        _, plan, drawn = groups[0]
        ensembles = TeacherEnsembles(concept_class, drawn.concepts, drawn.counts, teachers)
        return TrainedEnsembles(plan.points[None], drawn.labels, drawn.totals, ensembles)
    return _join_groups(groups, concept_class, training.games, teachers)


@attrs.frozen(eq=False)
class _Drawn:
    """The teachers of some games, and their S_1; concepts and counts are as in `TeacherEnsembles`."""

    concepts: np.ndarray
    counts: np.ndarray | None
    totals: np.ndarray  # (games, k) how often S_1 holds each example
    labels: np.ndarray  # (games or 1, k)


@attrs.frozen(eq=False)
class _Compositions:
    """The M compositions of a chunk: how often it holds each of the k distinct examples."""

    counts: np.ndarray  # (M, k)
    probabilities: np.ndarray  # (M,) for a chunk drawn with replacement
    concepts: np.ndarray  # (C, ...) the distinct minimisers
    concept_of: np.ndarray  # (M, C) 0/1
    weights: tuple[np.ndarray, ...]  # per example: log n!/((n−K)! n^K) for K = 0, 1, …
    weight_bound: float  # an upper bound of the summed weights


@attrs.frozen(eq=False)
class _Plan:
    """What the draws for one sample of k distinct examples need, the same for every game."""

    concept_class: ConceptClass
    points: np.ndarray  # (k, ...)
    labels: np.ndarray  # (k,)
    available: np.ndarray  # (k,) how often the sample holds each example
    teachers: int
    chunk: int
    compositions: _Compositions | None  # None if there are too many

    @property
    def size(self) -> int:
        return self.teachers * self.chunk

    @property
    def cheaper_route(self) -> str:
        if self.compositions is None:
            return ROWS
        # The probability of acceptance to leading order: one factor per degree of freedom. If nothing is left
        # unused, all counts must be the available ones: about one factor √(k/(2πN)) per degree of freedom.
        kinds, total = len(self.available), int(self.available.sum())
        unused = max(1.0 - self.size / total, kinds / (2 * pi * total))
        accepted = unused ** ((kinds - 1) / 2)
        by_compositions = len(self.compositions.probabilities) * _COMPOSITION_COST / accepted
        return COMPOSITIONS if by_compositions < self.size * _ROW_COST else ROWS


@lru_cache(maxsize=16)
def _make_plan(sample: Sample, concept_class: ConceptClass, teachers: int, chunk: int) -> _Plan:
    kinds, size = len(sample.counts), teachers * chunk
    compositions = None
    if comb(chunk + kinds - 1, chunk) <= _MOST_COMPOSITIONS and kinds * size <= _MOST_WEIGHTS:
        compositions = _enumerate_compositions(sample, concept_class, chunk, size)
    return _Plan(concept_class, sample.points, sample.labels, sample.counts, teachers, chunk, compositions)


def _enumerate_compositions(
    sample: Sample, concept_class: ConceptClass, chunk: int, size: int
) -> _Compositions:
    kinds = range(len(sample.counts))
    places = np.array(list(combinations_with_replacement(kinds, chunk)))
    counts = np.stack([(places == a).sum(axis=1) for a in kinds], axis=1)
    minimisers = concept_class.erm(sample.points[places], sample.labels[places])
    concepts, index = np.unique(minimisers, axis=0, return_inverse=True)
    weights, bound = _acceptance_weights(sample.counts, size)
    probabilities = _multinomial_probabilities(counts, sample.counts / sample.size)
    return _Compositions(
        counts, probabilities, concepts, np.eye(len(concepts))[index.ravel()], weights, bound
    )


def _multinomial_probabilities(compositions: np.ndarray, p: np.ndarray) -> np.ndarray:
    factorials = np.array([lgamma(c + 1) for c in range(int(compositions.max()) + 1)])
    logs = lgamma(compositions[0].sum() + 1) - factorials[compositions].sum(axis=1) + compositions @ np.log(p)
    probabilities = np.exp(logs)
    return probabilities / probabilities.sum()


def _acceptance_weights(available: np.ndarray, size: int) -> tuple[tuple[np.ndarray, ...], float]:
    """log of n!/((n−K)! n^K) for each example and K, and an upper bound of their sum if ΣK = size: for any
    multiplier m, Σ max_K (weight(K) − mK) + m·size; m = log(1 − rate) is nearly the best."""
    total = int(available.sum())
    multiplier = np.log1p(-size / total) if size < total else -np.inf
    weights, bound = [], 0.0
    for n in available.tolist():
        last = min(n, size)
        weight = np.zeros(size + 2)
        weight[1 : last + 1] = np.cumsum(np.log1p(-np.arange(last) / n))
        weight[last + 1 :] = -np.inf
        weights.append(weight)
        if size < total:
            bound += float((weight - multiplier * np.arange(size + 2)).max())
        else:
            bound += float(weight[last])
    return tuple(weights), bound + (multiplier * size if size < total else 0.0)


def _draw_compositions(plan: _Plan, games: int, rng: np.random.Generator) -> _Drawn:
    """Draw compositions with replacement, and accept them so that they are those of draws without."""
    compositions = plan.compositions
    assert compositions is not None
    drawn = np.empty((games, len(compositions.probabilities)), np.int64)
    totals = np.empty((games, len(plan.available)), np.int64)
    pending = np.arange(games)
    while len(pending):
        proposed = rng.multinomial(plan.teachers, compositions.probabilities, size=len(pending))
        counts = proposed @ compositions.counts
        log_weight = sum(weight[counts[:, a]] for a, weight in enumerate(compositions.weights))
        accepted = -rng.standard_exponential(len(pending)) < log_weight - compositions.weight_bound
        drawn[pending[accepted]] = proposed[accepted]
        totals[pending[accepted]] = counts[accepted]
        pending = pending[~accepted]
    return _Drawn(compositions.concepts, drawn @ compositions.concept_of, totals, plan.labels[None])


def _draw_rows(plan: _Plan, games: int, rng: np.random.Generator, relabel: Relabel | None) -> _Drawn:
    """Draw S_1 example by example. Teachers with too many possible concepts are returned one by one."""
    kinds, size = len(plan.available), plan.size
    totals = np.empty((games, kinds), np.int32)
    candidates = _candidates(plan)
    teachers, relabelled = [], []
    step = max(1, _SLAB // size)
    for start in range(0, max(games, 1), step):
        codes = _draw_subsets(plan.available, size, min(step, games - start), rng)
        counts = totals[start : start + step]
        for count, code in zip(counts, codes, strict=True):
            count[:] = np.bincount(code, minlength=kinds)
        labels = plan.labels[codes]
        if relabel is not None:
            relabelled.append(relabel(CountedExamples(plan.points[None], plan.labels[None], counts)))
            labels = np.take_along_axis(relabelled[-1], codes.astype(np.intp), axis=1)
        chunks = (-1, plan.teachers, plan.chunk)
        concepts = plan.concept_class.erm(plan.points[codes.reshape(chunks)], labels.reshape(chunks))
        teachers.append(_count(concepts, candidates) if candidates is not None else concepts)
    final_labels = np.concatenate(relabelled) if relabelled else plan.labels[None]
    if candidates is not None:
        return _Drawn(candidates, np.concatenate(teachers), totals, final_labels)
    return _Drawn(np.concatenate(teachers), None, totals, final_labels)


def _candidates(plan: _Plan) -> np.ndarray | None:
    """All concepts that a teacher may hold, if they are few: those of the dichotomies, as `erm` promises."""
    if len(plan.points) > _MOST_COUNTED or plan.concept_class.concept_ndim:
        return None
    concepts = np.unique(plan.concept_class.dichotomies(np.unique(plan.points, axis=0)).concepts)
    return concepts if len(concepts) <= _MOST_COUNTED else None


def _count(concepts: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    index = np.searchsorted(candidates, concepts)
    if (candidates[np.minimum(index, len(candidates) - 1)] != concepts).any():
        raise InternalError("a concept class's erm returned a concept that its dichotomies do not list")
    index += np.arange(len(concepts))[:, None] * len(candidates)
    shape = len(concepts), len(candidates)
    return np.bincount(index.ravel(), minlength=shape[0] * shape[1]).reshape(shape)


def _draw_subsets(available: np.ndarray, size: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """(games, size) int: the examples of a random subset of each game, in random order."""
    if _PLACES_A_KIND * len(available) <= size and available.sum() < _MOST_COUNTS:
        # First draw counts, then their order.
        counts = rng.multivariate_hypergeometric(available, size, size=games, method="marginals")
        kinds = np.arange(len(available), dtype=np.min_scalar_type(len(available)))
        codes = np.repeat(np.tile(kinds, games), counts.ravel())
        return rng.permuted(codes.reshape(games, size), axis=1)
    ends = np.cumsum(available)
    places = [rng.choice(int(ends[-1]), size, replace=False) for _ in range(games)]
    rows = np.array(places, np.intp).reshape(games, size)
    return rows if available.max() == 1 else np.searchsorted(ends, rows, side="right")


_Groups = list[tuple[np.ndarray, _Plan, _Drawn]]  # the games of one sample each


def _join_groups(groups: _Groups, concept_class: ConceptClass, games: int, size: int) -> TrainedEnsembles:
    examples = _arrange(groups, games)
    if len(groups) > _MOST_SHARED or any(drawn.counts is None for _, _, drawn in groups):
        expanded = [_expand_counts(drawn, size) for _, _, drawn in groups]
        one_by_one = np.empty((games, *expanded[0].shape[1:]))
        for (rows, _, _), group_concepts in zip(groups, expanded, strict=True):
            one_by_one[rows] = group_concepts
        return TrainedEnsembles(*examples, TeacherEnsembles(concept_class, one_by_one, None, size))
    concepts, place = np.unique(
        np.concatenate([drawn.concepts for _, _, drawn in groups]), axis=0, return_inverse=True
    )
    places = np.split(place.ravel(), np.cumsum([len(drawn.concepts) for _, _, drawn in groups])[:-1])
    counts = np.zeros((games, len(concepts)))
    for (rows, _, drawn), columns in zip(groups, places, strict=True):
        counts[np.ix_(rows, columns)] = drawn.counts
    return TrainedEnsembles(*examples, TeacherEnsembles(concept_class, concepts, counts, size))


def _arrange(groups: _Groups, games: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S_1 of every game: points (1 or n, k, ...), labels and counts (n, k). The columns are the examples of
    all samples if these are few, otherwise the game's own and surplus ones of count 0."""
    shared = len(groups) <= _MOST_SHARED
    samples = [plan.points for _, plan, _ in groups]
    sizes = [len(sample) for sample in samples]
    if shared:
        points, starts = np.concatenate(samples)[None], np.cumsum([0, *sizes[:-1]])
    else:
        points = np.empty((games, max(sizes), *samples[0].shape[1:]), np.result_type(*samples))
        points[:], starts = samples[0][0], np.zeros(len(sizes), np.intp)
    labels = np.zeros((games, points.shape[1]), np.int8)
    totals = np.zeros((games, points.shape[1]), np.int64)
    for (rows, plan, drawn), start, size in zip(groups, starts, sizes, strict=True):
        columns = slice(start, start + size)
        if shared:
            labels[:, columns] = drawn.labels[0]
        else:
            points[rows, columns] = plan.points
        labels[rows, columns], totals[rows, columns] = drawn.labels, drawn.totals
    return points, labels, totals


def _expand_counts(drawn: _Drawn, size: int) -> np.ndarray:
    if drawn.counts is None:
        return drawn.concepts
    concepts, games = drawn.concepts, len(drawn.counts)
    which = np.repeat(np.tile(np.arange(len(concepts)), games), drawn.counts.astype(np.int64).ravel())
    return concepts[which].reshape(games, size, *concepts.shape[1:])
