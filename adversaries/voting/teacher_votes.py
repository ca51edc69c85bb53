"""What nature works out before it asks: the votes of teachers in two worlds, and where these tell them apart.

Nature knows the algorithm, the samples of both worlds and the public split, but no coins. It seats the
learner's *spec* at tables of its own and asks for `votes(x)`. `adversaries.common.answer_likelihood` weighs what it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import attrs
import numpy as np

from arena import ArenaError, InvalidArgument, Learner, Sample, Training, Unsupported
from arena.points import finite_domain

_DEFAULT_QUERIES = 100
_DEFAULT_SIZE = 101
_MOST_POINTS = 256  # looked at for a small margin
_MOST_TRIED = 8  # points, and examples at each, that are tried for a swap
_RUNGS = 17

Samples = tuple[Sample, Sample]
Tried = tuple[Samples, np.ndarray]


@attrs.frozen(eq=False)
class Swap:
    """Neighbouring samples, and a point that tells them apart.

    samples: in world 0 and in world 1. votes: the mean votes at the point in both worlds.
    """

    samples: Samples
    point: np.ndarray
    votes: tuple[float, float]

    def margin(self, aim: float) -> float:
        """How far the mean votes of the worlds are, on average, from a share `aim` of the teachers."""
        return abs(sum(self.votes) / 2 - aim)


def queries_of(learner: Learner | None) -> int:
    """The answers that a learner gives before it halts, its setting `queries`; 100 if there is none."""
    return getattr(learner, "queries", None) or _DEFAULT_QUERIES


def size_of(learner: Learner | None) -> int:
    """How many examples a sample of nature's own has: as many as the learner needs."""
    return (learner.sample_size if learner is not None else None) or _DEFAULT_SIZE


def teachers_of(learner: Learner | None) -> int:
    """K of a learner, its setting `teachers`; else one for each example."""
    return getattr(learner, "teachers", None) or size_of(learner)


def votes_of(learner: Learner | None, samples: tuple[Sample, ...], points: np.ndarray) -> np.ndarray:
    """(samples, m): the mean votes of a learner trained on each of the samples, at points (m, ...).

    Raises: Unsupported if the learner is not known, or tells no votes.
    """
    table = len(samples) * len(points)
    state = learner.start(table, np.random.default_rng(0)) if learner is not None else None
    if state is None or not hasattr(state, "votes"):
        raise Unsupported(
            "this adversary looks at the votes of the learner's teachers",
            value="no learner" if learner is None else f"none told by {learner.name}",
            remedy="Let the learner's seat tell votes(x).",
        )
    state.train(Training.of(samples, np.repeat(np.arange(len(samples)), len(points))))
    each = np.tile(points, (len(samples),) + (1,) * (points.ndim - 1))
    return np.asarray(state.votes(each)).reshape(len(samples), len(points))


# --- samples and points of nature's own ---------------------------------------------------------------------


def ladder(learner: Learner | None) -> np.ndarray:
    """(m, ...): points in order, of a finite domain or of the line from 0 to 1; vectors: `some_points`."""
    domain = finite_domain(learner)
    if domain is not None:
        few = np.unique(np.linspace(0, len(domain) - 1, _RUNGS).astype(int))
        return np.asarray(domain, float)[few]
    if learner is None or not learner.point_shape:
        return np.linspace(0.0, 1.0, _RUNGS)
    return np.asarray(learner.some_points, float)


def on_ladder(learner: Learner | None) -> Sample:
    """As many examples as the learner needs, spread over a ladder of points, all labelled 1 on a line: of
    teachers with one example each, the votes then rise along it. Vectors are labelled 0 and 1 in turn."""
    points, size = ladder(learner), size_of(learner)
    counts = np.diff(size * np.arange(len(points) + 1) // len(points))
    labels = np.ones(len(points), int) if points.ndim == 1 else np.arange(len(points)) % 2
    held = counts > 0
    return Sample(points[held], labels[held], counts[held])


def two_labels(point: np.ndarray, size: int, ones: int) -> Sample:
    """`size` examples at one point, `ones` of them labelled 1, after the others. A teacher of one example
    says its label there."""
    counts = np.array([size - ones, ones])
    held = counts > 0
    return Sample(np.stack([point, point])[held], np.array([0, 1])[held], counts[held])


def planted(sample: Sample, run: int, point: np.ndarray) -> Samples:
    """The neighbours in which the last example of a run is (point, 0) and (point, 1) instead."""
    return sample.replace_one(run, point, 0), sample.replace_one(run, point, 1)


def candidates(learner: Learner | None, sample: Sample) -> np.ndarray:
    """(m, ...): distinct points of the sample, evenly spread if there are many, and of the ladder."""
    own = np.unique(sample.points.astype(float), axis=0)
    if len(own) > _MOST_POINTS:
        own = own[np.linspace(0, len(own) - 1, _MOST_POINTS).astype(int)]
    return np.unique(np.concatenate([own, ladder(learner)]), axis=0)


# --- the example to replace ---------------------------------------------------------------------------------


@lru_cache(maxsize=32)
def narrowest_swap(learner: Learner | None, sample: Sample | None, *, below: float = 0.0) -> Swap:
    """The example to replace, and the point to ask, with the smallest margin.

    sample: the user's, or None: one point that carries both labels, in the shares that fit. below: how many
    votes below the tie to aim at. Examples are planted at the points at which the votes are nearest to that,
    in place of those that lie there and of some others.

    Raises: as `best_swap`.
    """
    aim = 0.5 - below / teachers_of(learner)
    if sample is None:
        size = size_of(learner)
        ones = min(max(round(aim * size), 0), size)
        own = ((two_labels(point, size, ones), point) for point in ladder(learner))
        return best_swap(learner, (tried for one, point in own for tried in _plants(one, point)), aim)
    points = candidates(learner, sample)
    away = np.abs(votes_of(learner, (sample,), points)[0] - aim)
    nearest = points[np.argsort(away, kind="stable")[:_MOST_TRIED]]
    return best_swap(learner, (tried for point in nearest for tried in _plants(sample, point)), aim)


def best_swap(learner: Learner | None, tries: Iterable[Tried], aim: float = 0.5) -> Swap:
    """Of neighbours and points those whose votes differ and are nearest to a share `aim` of the teachers; the
    first between which the aim lies, if there are any. What the learner declines is passed over.

    Raises: InvalidArgument if no votes differ; as `votes_of` or the learner does, if that declines all.
    """
    best: Swap | None = None
    declined: ArenaError | None = None
    for samples, point in tries:
        try:
            in_0, in_1 = votes_of(learner, samples, point[None])[:, 0].tolist()
        except (InvalidArgument, Unsupported) as error:
            declined = error
            continue
        swap = Swap(samples, point, (in_0, in_1))
        if in_0 != in_1 and (best is None or swap.margin(aim) < best.margin(aim)):
            best = swap
        if min(in_0, in_1) < aim <= max(in_0, in_1):
            return swap
    if best is not None:
        return best
    raise declined or InvalidArgument(
        "none of the examples that were tried changes a vote where the votes are close",
        remedy="Give each teacher fewer examples (more teachers), or bring no data.",
    )


def _plants(sample: Sample, point: np.ndarray) -> Iterator[Tried]:
    """An example planted at the point, in place of some that lie there, the last first, and some others."""
    there = (sample.points == point).reshape(len(sample.points), -1).all(axis=1)
    some = np.linspace(0, len(sample.points) - 1, _MOST_TRIED // 2).astype(int)
    runs = [*np.flatnonzero(there)[::-1][: _MOST_TRIED // 2].tolist(), *some.tolist()]
    for run in dict.fromkeys(runs):
        yield planted(sample, run, point), point
