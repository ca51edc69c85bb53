"""GenericBBL in a batch of games, the random subset of a round's points that it learns from, and
LabelBoost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import floor
from typing import Any, ClassVar

import numpy as np

from arena.concepts import ConceptClass
from arena.concepts.dichotomies import tally_signs
from arena.errors import Unsupported
from arena.sample import Training, is_shared
from learners.common.teacher_training import CountedExamples, train_teachers
from learners.common.teacher_votes import TeacherEnsembles
from learners.everlasting.bbl_round import BBLRound
from learners.everlasting.generic_bbl import GenericBBL
from learners.mechanisms.selection import exponential_mechanism

_SEGMENT = 256  # points of the stream whose selected positions are drawn together


class StreamingSubset:
    """Keeps `choose` of the next `of` points of each of n games, every subset equally likely.

    The positions of step 3(f) are drawn beforehand, one segment at a time, so that only chosen points are
    stored.
    """

    def __init__(self, games: int, *, of: int, choose: int, rng: np.random.Generator) -> None:
        self._games = games
        self._rng = rng
        self._to_come = of
        self._to_choose = np.full(games, choose, np.int64)
        self._segment = 0
        self._at = 0
        self._chosen_games: list[np.ndarray] = []
        self._chosen_points: list[np.ndarray] = []
        self._choose = choose

    def offer(self, x: np.ndarray) -> None:
        """Offer the next points of every game, (n, k, ...)."""
        done = 0
        while done < x.shape[1]:
            if self._at == self._segment:
                self._draw_segment()
            stop = min(self._segment, self._at + x.shape[1] - done)
            hits = slice(self._starts[self._at], self._starts[stop])
            if hits.start < hits.stop or not self._chosen_games:
                games, places = self._hit_games[hits], self._hit_places[hits]
                self._chosen_games.append(games)
                self._chosen_points.append(x[games, places - self._at + done])
            done += stop - self._at
            self._at = stop

    def collect(self) -> np.ndarray:
        """(n, choose, ...): the chosen points of each game in random order, once all have been offered."""
        games = np.concatenate(self._chosen_games)
        points = np.concatenate(self._chosen_points)
        order = np.lexsort((self._rng.random(len(games)), games))
        return points[order].reshape(self._games, self._choose, *points.shape[1:])

    def _draw_segment(self) -> None:
        length = min(_SEGMENT, self._to_come)
        hits = self._rng.hypergeometric(self._to_choose, self._to_come - self._to_choose, length)
        self._to_choose -= hits
        self._to_come -= length
        games, places = self._draw_places(hits, length)
        order = np.argsort(places, kind="stable")
        self._hit_games, self._hit_places = games[order], places[order]
        self._starts = np.searchsorted(places[order], np.arange(length + 1))
        self._segment, self._at = length, 0

    def _draw_places(self, number: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """`number[g]` distinct places below `length` for each game g: (game, place) of each."""
        many = number > length // 16  # independent draws would clash, so these games permute all places
        crowded = np.flatnonzero(many)
        ranks = np.argsort(self._rng.random((len(crowded), length)), axis=1)
        all_games = [np.repeat(crowded, number[crowded])]
        all_places = [ranks[np.arange(length) < number[crowded, None]]]
        pending = np.flatnonzero(~many & (number > 0))
        while len(pending):
            games = np.repeat(pending, number[pending])
            places = self._rng.integers(0, length, len(games))
            keys = np.sort(games * length + places)
            clashing = np.unique(keys[1:][keys[1:] == keys[:-1]] // length)
            valid = ~np.isin(games, clashing)
            all_games.append(games[valid])
            all_places.append(places[valid])
            pending = clashing
        return np.concatenate(all_games), np.concatenate(all_places)


class BBLState(ABC):
    """The running state of GenericBBL in n games. A version defines `_open_round` and `_answer_many`."""

    answers_at_once: ClassVar[int] = 65_536  # in all games together; a halt in one game wastes the rest
    _round: BBLRound
    _cuts: np.ndarray
    _queries: np.ndarray  # (n, k, ...), which are being answered

    def __init__(self, learner: GenericBBL, games: int, rng: np.random.Generator) -> None:
        self._learner = learner
        self._games = games
        self._rng = rng
        self._stopped = np.zeros(games, bool)
        self._labelling: np.ndarray | None = None

    @property
    def halted(self) -> np.ndarray:
        return self._stopped

    def train(self, training: Training) -> None:
        """Steps 1 and 2, and the beginning of round 1."""
        learner, first = self._learner, self._learner.round(1)
        for sample in training.samples:
            if sample.size < learner.sample_size:
                raise Unsupported(
                    f"{learner.name} with {first.teachers:,} teachers of {first.chunk} examples and rate "
                    f"{learner.training_rate_run:.4g} needs a sample of {learner.sample_size:,}",
                    value=sample.size,
                    remedy="Lower teachers or chunk, or raise training_rate; the claim changes accordingly.",
                )
            learner.concepts.check(sample.points)
        trained = train_teachers(
            training,
            learner.concepts,
            teachers=first.teachers,
            chunk=first.chunk,
            rng=self._rng,
            relabel=self._relabel if learner.agnostic else None,
        )
        self._begin_round(first, trained.teachers)
        self._labelled: CountedExamples = trained

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Step 3(d) for one query per game. A new round begins before its first query."""
        if not self._prepare_answers():
            return np.zeros(self._games, bool)
        self._learner.concepts.check(x[:1] if is_shared(x) else x)
        self._queries = x[:, None]
        label = self._answer(self._teachers.votes(x))
        self._count_answers(x[:, None])
        return label

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        """The labels (n, j) of the first j queries (n, k, ...), to the end of the round or a halt."""
        left = self._prepare_answers()
        if not left:
            return np.zeros(x.shape[:2], bool)
        x = x[:, : min(left, max(1, self.answers_at_once // max(1, self._games)))]
        self._learner.concepts.check(x[0] if is_shared(x) else x)
        self._queries = x
        labels = self._answer_many(self._teachers.votes_in_a_row(x))
        self._count_answers(x[:, : labels.shape[1]])
        return labels

    @property
    def cuts(self) -> np.ndarray:
        """h_{r-1}(x) = 1 if the mean vote at x is at least this: (n,) after `predict`, (n, j) after
        `predict_many`."""
        return self._cuts

    @property
    def labelling(self) -> np.ndarray | None:
        """The concepts (n, ...) chosen by LabelBoost to label S_i; None in round 1. For experiments only."""
        return self._labelling

    def votes(self, x: np.ndarray | float) -> np.ndarray:
        """The teachers' mean votes (n,) at x. For adversaries that simulate the learner."""
        return self._teachers.votes(np.broadcast_to(x, (self._games, *self._learner.point_shape)))

    def votes_in_a_row(self, x: np.ndarray) -> np.ndarray:
        """The current teachers' mean votes (n, k) at x (n, k, ...). For experiments only."""
        return self._teachers.votes_in_a_row(x)

    @property
    def round(self) -> BBLRound:
        """The round of the last answers; before any answer, round 1. For experiments only."""
        return self._round

    @property
    def _last_round(self) -> bool:
        return self._learner.rounds == self._round.index

    def _prepare_answers(self) -> int:
        """Begin the next round if this one is over; return the answers left in the round."""
        if self._asked == self._round.answers and not self._last_round:
            self._move_to_next_round()
        return self._round.answers - self._asked

    def _count_answers(self, x: np.ndarray) -> None:
        self._add_queries(x)
        self._asked += x.shape[1]
        if self._asked == self._round.answers and self._last_round:
            self._stopped = np.ones(self._games, bool)  # all games at once, whatever the queries

    def _begin_round(self, round: BBLRound, teachers: TeacherEnsembles) -> None:
        self._round = round
        self._teachers = teachers
        self._asked = 0
        self._open_pool(round)
        self._open_round(round)

    def _open_pool(self, round: BBLRound) -> None:
        self._pool = self._new_pool(round.index)

    def _add_queries(self, x: np.ndarray) -> None:
        self._pool.offer(x)

    def _draw_pool(self) -> np.ndarray:
        return self._pool.collect()

    def _new_pool(self, index: int) -> StreamingSubset:
        size = self._learner.pool_size(index)
        choose = floor(self._learner.rate_run * size)
        return StreamingSubset(self._games, of=size, choose=choose, rng=self._rng)

    def _move_to_next_round(self) -> None:
        concepts = self._learner.concepts
        pool = self._draw_pool()
        size = floor(self._learner.labelled_rate_run * self._round.examples)
        subset = self._labelled.draw_subset(size, self._rng)
        self._labelling = boost_labels(self._rng, concepts, subset, pool)
        following = self._learner.round(self._round.index + 1)
        points = pool[:, : following.examples]
        labels = label_points(concepts, self._labelling, points)
        chunks = (self._games, following.teachers, following.chunk)
        minimisers = concepts.erm(points.reshape(*chunks, *points.shape[2:]), labels.reshape(chunks))
        self._labelled = CountedExamples(points, labels, np.ones(labels.shape, np.int64))
        self._begin_round(following, TeacherEnsembles(concepts, minimisers, None, following.teachers))

    def _relabel(self, examples: CountedExamples) -> np.ndarray:
        """(n, k): S_1 labelled by one concept per game, chosen by LabelBoost without unlabelled points."""
        games, shape = len(examples.counts), examples.points.shape[1:]
        unlabelled = np.empty((games, 0, *shape[1:]))
        chosen = boost_labels(self._rng, self._learner.concepts, examples, unlabelled)
        return label_points(self._learner.concepts, chosen, np.broadcast_to(examples.points, (games, *shape)))

    @abstractmethod
    def _open_round(self, round: BBLRound) -> None:
        """Step 3(c)."""

    @abstractmethod
    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        """Steps 3(d)ii and iii for mean votes (n, k), up to the first halt; sets `_cuts`, or `cuts` is
        defined."""

    def _answer(self, votes: np.ndarray) -> np.ndarray:
        labels = self._answer_many(votes[:, None])[:, 0]
        self._cuts = self._cuts[:, 0]
        return labels


class HaltingBBLState(BBLState):
    """GenericBBL with a mechanism that answers and halts games, a new one for every round."""

    _mechanism: Any = None

    @property
    def halted(self) -> np.ndarray:
        return self._stopped if self._mechanism is None else self._stopped | self._mechanism.halted

    def _open_round(self, round: BBLRound) -> None:
        self._stopped = self.halted  # games that have halted stay halted under the new mechanism
        self._mechanism = self._build_mechanism(round)

    @abstractmethod
    def _build_mechanism(self, round: BBLRound) -> Any:
        """The mechanism that answers in this round, with a property `halted`."""


SELECTION_EPSILON = 1.0  # of step 4; the "+3" of Lemma 5.1 is proved for this value
_SLAB = 1_000_000  # dichotomies times points handled at a time


def boost_labels(
    rng: np.random.Generator, concept_class: ConceptClass, labelled: CountedExamples, unlabelled: np.ndarray
) -> np.ndarray:
    """Choose concepts (n, ...) for the examples and the unlabelled points (n, m, ...) of each game."""
    counts, zeros = labelled.counts, np.zeros(unlabelled.shape[:2])
    points = np.broadcast_to(labelled.points, (*counts.shape, *labelled.points.shape[2:]))
    labels = np.broadcast_to(labelled.labels, counts.shape)
    return label_boost(
        rng,
        concept_class,
        points=np.concatenate([points, unlabelled], axis=1),
        zeros=np.column_stack([counts * (labels == 0), zeros]),
        ones=np.column_stack([counts * (labels == 1), zeros]),
        present=np.column_stack([counts > 0, np.ones(zeros.shape, bool)]),
    )


def label_boost(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    *,
    points: np.ndarray,
    zeros: np.ndarray,
    ones: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    """Choose the concept h of every game, with which S∘T is relabelled.

    LabelBoost (Beimel, Nissim, Stemmer 2021; appendix C.1 of Private Everlasting Prediction): of one concept
    for each dichotomy on S∘T, by the exponential mechanism with ε = 1 and score −(errors on S). Shapes:
    points (n, p, ...); zeros, ones (n, p): how often S holds the point with each label; present (n, p) bool;
    result (n, ...). Raises: Unsupported for too many dichotomies (`ConceptClass.check_choice`).
    """
    points, signs, present = _merge_equal_points(points, ones - zeros, present)
    games, width = points.shape[:2]
    step = max(1, _SLAB // max(1, width, concept_class.growth_bound(width)))
    # There is one slab even for no games, so that the result has the dtype and the shape of the class.
    slabs = [slice(start, start + step) for start in range(0, max(games, 1), step)]
    return np.concatenate([_choose(rng, concept_class, points[s], signs[s], present[s]) for s in slabs])


def label_points(concept_class: ConceptClass, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, k) bool: the labels that each game's concept gives to its points (n, k, ...)."""
    games, each = points.shape[:2]
    flat = concept_class.label(np.repeat(concepts, each, axis=0), points.reshape(-1, *points.shape[2:]))
    return flat.reshape(games, each)


def _merge_equal_points(
    points: np.ndarray, signs: np.ndarray, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with each point once, if that is fewer columns: some classes need quadratic time."""
    if len(np.unique(points[present], axis=0)) >= points.shape[1]:
        return points, signs, present
    domain, tally, sets, kind = tally_signs(points, signs, present)
    return np.broadcast_to(domain, (len(points), *domain.shape)), tally, sets[kind]


def _choose(
    rng: np.random.Generator,
    concept_class: ConceptClass,
    points: np.ndarray,
    signs: np.ndarray,
    present: np.ndarray,
) -> np.ndarray:
    drawn = concept_class.draw_unlisted(rng, points, signs, present, rate=SELECTION_EPSILON / 2)
    if drawn is not None:
        return drawn
    solutions = concept_class.candidate_concepts(points, signs, present)
    gains, allowed = solutions.gains.astype(np.float64), solutions.counted
    chosen = exponential_mechanism(rng, gains, epsilon=SELECTION_EPSILON, sensitivity=1.0, allowed=allowed)
    return solutions.concepts(chosen)
