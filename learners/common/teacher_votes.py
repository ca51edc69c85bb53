"""The votes of teachers in a batch of games, and output distributions of predictors that answer from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import Unsupported
from arena.laws import AnswerLaw
from arena.sample import Sample, is_shared
from learners.mechanisms.noise import laplace_between, laplace_cdf, laplace_nodes
from learners.mechanisms.steady_thresholds import log_answer_laws

_CACHE_SIZE = 32  # points whose votes are cached
_SLAB = 2_000_000  # labels computed at a time


class TeacherEnsembles:
    """The teachers of n games, T each: `counts` (n, C) of `concepts` (C, ...), or None and (n, T, ...). size:
    T."""

    def __init__(
        self, concept_class: ConceptClass, concepts: np.ndarray, counts: np.ndarray | None, size: int
    ):
        self._class = concept_class
        self._concepts = concepts
        self._counts = counts
        self.size = size
        self._cache: dict[tuple[str, bytes], np.ndarray] = {}

    def votes(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n,) in [0, 1], read-only, at one point per game, x (n, ...)."""
        if is_shared(x):
            return self._votes_at(x[0])
        points, which = np.unique(x, axis=0, return_inverse=True)
        if not 0 < len(points) <= _CACHE_SIZE:
            return self._votes_one_by_one(x)
        table = np.stack([self._votes_at(point) for point in points])
        return table[which.ravel(), np.arange(len(x))]

    def votes_in_a_row(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n, k) at k points per game, x (n, k, ...)."""
        if not len(x):
            return np.zeros(x.shape[:2])
        if self._counts is None:
            return np.stack([self._class.vote(*game) for game in zip(self._concepts, x, strict=True)])
        if is_shared(x):
            ones = self._class.labels(self._concepts, x[0])
            return self._counts @ ones.astype(np.float64) / self.size
        return np.stack([self._votes_of_game(*game) for game in zip(self._counts, x, strict=True)])

    def _votes_of_game(self, counts: np.ndarray, points: np.ndarray) -> np.ndarray:
        present = counts > 0
        concepts, counts = self._concepts[present], counts[present]
        step = max(1, _SLAB // max(1, len(concepts)))
        slabs = (points[start : start + step] for start in range(0, len(points), step))
        ones = [counts @ self._class.labels(concepts, slab).astype(float) for slab in slabs]
        return np.concatenate(ones) / self.size

    def _votes_at(self, point: np.ndarray) -> np.ndarray:
        key = point.dtype.str, point.tobytes()  # the same bytes are another number in another type
        if key not in self._cache:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            self._cache[key] = self._count_votes(np.asarray(point))
            self._cache[key].flags.writeable = False
        return self._cache[key]

    def _count_votes(self, point: np.ndarray) -> np.ndarray:
        if self._counts is not None:
            ones = self._class.labels(self._concepts, point[None])[:, 0]
            return (self._counts @ ones.astype(np.float64)) / self.size
        return self._mean_labels(point)

    def _votes_one_by_one(self, x: np.ndarray) -> np.ndarray:
        if self._counts is not None:
            ones = self._class.labels(self._concepts, x)  # (C, n)
            return np.einsum("nc,cn->n", self._counts, ones.astype(np.float64)) / self.size
        return self._mean_labels(np.repeat(x, self.size, axis=0))

    def _mean_labels(self, x: np.ndarray) -> np.ndarray:
        """The votes (n,) of teachers that are stored one by one, at x (n·T, ...) or one point."""
        concepts = self._concepts.reshape(-1, *self._concepts.shape[2:])
        return np.asarray(self._class.label(concepts, x).reshape(-1, self.size).mean(axis=1))


_MOST_DOMAIN = 1_024  # of a larger domain only the points of the sample and their neighbours are used
_MOST_REMEMBERED = 4  # points whose answers are a part of the hidden state
_MOST_VOTES = 64  # votes at which the quadrature of a hidden threshold has kinks

# From votes (u, 1) and hidden numbers (q,), the probabilities of 0, of 1 and of firing, each (u, q).
AnswerProbabilities = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@attrs.frozen(eq=False)
class Electorate:
    """Teachers trained on a sample: distinct concepts (C, ...), and how many hold each, counts (C,)."""

    concept_class: ConceptClass
    sample: Sample
    concepts: np.ndarray
    counts: np.ndarray

    @classmethod
    def train(cls, sample: Sample, concept_class: ConceptClass) -> Electorate:
        """Train an empirical risk minimiser on each example. Raises: as `ConceptClass.check`."""
        concept_class.check(sample.points)
        minimisers = concept_class.erm(sample.points[:, None], sample.labels[:, None])
        concepts, place = np.unique(minimisers, axis=0, return_inverse=True)
        counts = np.bincount(place.ravel(), weights=sample.counts, minlength=len(concepts))
        return cls(concept_class, sample, concepts, counts)

    def votes(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n,) in [0, 1] at points x (n, ...), or (1,) if x is one point for all games."""
        if is_shared(x):
            return self._votes_at(x[:1])
        points, which = np.unique(x, axis=0, return_inverse=True)
        return self._votes_at(points)[which.ravel()]

    def possible_votes(self) -> np.ndarray:
        """The distinct mean votes that can occur, in order; of more than 64, 64 evenly spaced ones."""
        votes = np.unique(np.concatenate([self._votes_at(points) for points in self._points_of_change()]))
        places = np.linspace(0, len(votes) - 1, min(len(votes), _MOST_VOTES))
        return votes[np.round(places).astype(int)]

    def _votes_at(self, points: np.ndarray) -> np.ndarray:
        ones = self.concept_class.labels(self.concepts, points)
        return (self.counts @ ones.astype(np.float64)) / self.counts.sum()

    def _points_of_change(self) -> Iterator[np.ndarray]:
        """Points at which all votes occur; of vectors, those of the sample only."""
        points = self.sample.points
        domain = self.concept_class.domain
        if domain is not None and len(domain) <= _MOST_DOMAIN:
            yield np.array(domain)
        elif domain is not None:
            place = np.searchsorted(domain, points)
            for offset in (-1, 0, 1):
                yield np.array(domain)[np.clip(place + offset, 0, len(domain) - 1)]
        else:
            yield points
            if points.ndim == 1:
                yield np.nextafter(points.astype(np.float64), -np.inf)
                yield np.nextafter(points.astype(np.float64), np.inf)


class NoisyVotesLaw(AnswerLaw):
    """Independent answers: 1 if the mean vote plus Laplace noise is at least 1/2; `answers` in all."""

    def __init__(self, electorate: Electorate, *, scale: float, answers: int) -> None:
        self._electorate = electorate
        self._scale = scale
        self.last = answers

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        distance = (0.5 - self._electorate.votes(x)[:, None]) / self._scale
        return np.stack([measure * laplace_cdf(distance), measure * laplace_cdf(-distance)])


class SteadyThresholdsLaw(AnswerLaw):
    """The answers of SteadyThresholds with thresholds 1/2 ± alpha on the mean vote of `size` teachers.

    States: the number of outcomes "between" so far (c) × the nodes of a hidden number of the rule that also
    halts games, if there is one (q), flattened.
    """

    outcomes = ((0, False), (1, False), (0, True), (1, True))

    def __init__(
        self,
        electorate: Electorate,
        *,
        alpha: float,
        epsilon: float,
        size: int,
        halts: int,
        weights: np.ndarray | None = None,
        stops: np.ndarray | None = None,
    ) -> None:
        """weights: (q,) of the hidden number. stops: (c, q), the chance of a halt after an answer."""
        self._electorate = electorate
        self._alpha, self._unit, self._halts = alpha, 1 / (epsilon * size), halts
        self._weights = np.ones(1) if weights is None else weights
        self._stops = np.zeros((halts, 1)) if stops is None else stops

    def start(self) -> np.ndarray:
        return np.outer(np.eye(self._halts)[0], self._weights).ravel()

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        clear, between = self._probabilities(self._electorate.votes(x)[:, None, None])
        states = measure.reshape(len(measure), self._halts, len(self._weights))
        after = np.zeros((4, *states.shape))
        for label in (0, 1):
            answered = states * clear[label]
            answered[:, 1:] += states[:, :-1] * between[label]
            after[label] = answered * (1 - self._stops)
            after[2 + label] = answered * self._stops
            after[2 + label, :, -1] += states[:, -1] * between[label][:, 0]
        return after.reshape(4, *measure.shape)

    def _probabilities(self, votes: np.ndarray) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
        """The probabilities of labels 0 and 1 at mean votes, for clear answers and for those "between"."""
        low, middle, high = ((0.5 + a - votes) / self._unit for a in (-self._alpha, 0, self._alpha))
        clear = laplace_cdf(low), laplace_cdf(-high)
        return clear, (laplace_between(low, middle), laplace_between(middle, high))


class MarkedVotesLaw(SteadyThresholdsLaw):
    """The answers of MarkedVotes, whose marks are the outcomes "between", on a domain of at most 4 points.

    States: what each point of the domain was answered (3^points) × those of `SteadyThresholdsLaw`. Units:
    sigma and gap in votes. Raises: Unsupported for other domains.
    """

    def __init__(self, electorate: Electorate, *, sigma: float, gap: float, size: int, **rule: Any) -> None:
        super().__init__(electorate, alpha=0.25, epsilon=1 / sigma, size=size, **rule)
        self._size, self._sigma, self._gap = size, sigma, gap
        domain = electorate.concept_class.domain
        if domain is None or len(domain) > _MOST_REMEMBERED:
            raise Unsupported(
                f"the distribution of remembered answers is listed for at most {_MOST_REMEMBERED} points",
                value=str(electorate.concept_class),
                remedy="Set such a class, as thresholds:1..3, or audit it by playing.",
            )
        self._points = len(domain)

    def start(self) -> np.ndarray:
        return np.outer(np.eye(3**self._points)[0], super().start()).ravel()

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        votes = np.broadcast_to(self._electorate.votes(x), len(x))
        place = np.broadcast_to(self._electorate.concept_class.domain_indices(x), len(x))
        after = np.empty((4, *measure.shape))
        for point in np.unique(place).tolist():
            games = np.flatnonzero(place == point)
            rest = 3**point, 3, 3 ** (self._points - 1 - point), self._halts
            states = measure[games].reshape(len(games), *rest, -1)
            parts = self._step_at_one_point(states, votes[games])
            after[:, games] = parts.reshape(4, len(games), -1)
        return after

    def _step_at_one_point(self, states: np.ndarray, votes: np.ndarray) -> np.ndarray:
        """(4, n, a, 3, b, c, q) from states (n, a, 3, b, c, q); axis 2 is what the point was answered."""
        clear, between = self._probabilities(votes[:, None, None, None, None])
        after = np.zeros((4, *states.shape))
        fresh = states[:, :, 0]
        for label in (0, 1):
            answered = fresh * clear[label]
            answered[..., 1:, :] += fresh[..., :-1, :] * between[label]
            answered += states[:, :, 1 + label]
            after[label, :, :, 1 + label] = answered * (1 - self._stops)
            after[2 + label, :, :, 1 + label] = answered * self._stops
            last = fresh[..., -1, :] * between[label][..., 0]
            after[2 + label, :, :, 1 + label, :, -1] += last
        return after

    def _probabilities(self, votes: np.ndarray) -> tuple[Sequence[np.ndarray], Sequence[np.ndarray]]:
        laws = log_answer_laws(votes * self._size, size=self._size, sigma=self._sigma, gap=self._gap)
        zero, one, mark, none = (np.exp(law) for law in laws)
        return (zero * none, one * none), (zero * mark, one * mark)


class SparseVotesLaw(AnswerLaw):
    """The answers of a predictor that compares noisy votes with thresholds behind one hidden Laplace number.

    It answers 0 or 1, or *fires*: it answers 1 and draws a new hidden number, or halts the c-th time. States:
    how often it has fired (c) × the nodes of the hidden number (q), flattened.
    """

    outcomes = ((0, False), (1, False), (1, True))

    def __init__(
        self,
        electorate: Electorate,
        probabilities: AnswerProbabilities,
        *,
        scale: float,
        kinks: Callable[[np.ndarray], np.ndarray],
        halts: int,
    ) -> None:
        """scale: of the hidden number. kinks: where, from votes (v,), probabilities have kinks. halts: c."""
        self._electorate = electorate
        self._probabilities = probabilities
        self._halts = halts
        self._nodes, self._weights = laplace_nodes(scale, kinks(electorate.possible_votes()))

    def start(self) -> np.ndarray:
        return np.outer(np.eye(self._halts)[0], self._weights).ravel()

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        votes, which = np.unique(self._electorate.votes(x), return_inverse=True)
        zero, one, fire = (
            probability[which.ravel(), None]
            for probability in self._probabilities(votes[:, None], self._nodes)
        )
        states = measure.reshape(len(measure), self._halts, len(self._nodes))
        after = np.zeros((3, *states.shape))
        np.multiply(states, zero, out=after[0])
        np.multiply(states, one, out=after[1])
        fired = states * fire
        after[1, :, 1:] += fired[:, :-1].sum(axis=2, keepdims=True) * self._weights
        after[2, :, -1] = fired[:, -1]
        return after.reshape(3, *measure.shape)


def between_thresholds_law(
    electorate: Electorate, *, alpha: float, epsilon: float, size: int, halts: int
) -> SparseVotesLaw:
    """The answers by BetweenThresholds with thresholds 1/2 ± alpha on `size` votes; μ is hidden."""
    lower, upper = 0.5 - alpha, 0.5 + alpha
    unit = 6 / (epsilon * size)

    def probabilities(votes: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        low, high = (lower + mu - votes) / unit, (upper - mu - votes) / unit
        return laplace_cdf(low), laplace_cdf(-np.maximum(low, high)), laplace_between(low, high)

    return SparseVotesLaw(
        electorate,
        probabilities,
        scale=unit / 3,
        kinks=lambda votes: np.concatenate([[alpha], votes - lower, upper - votes]),
        halts=halts,
    )
