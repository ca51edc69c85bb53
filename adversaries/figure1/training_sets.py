"""Training sets that adversaries of Figure 1 choose when the user brings no data, and points worth asking
about.

An adversary knows the algorithm but not the coins: what is worked out here uses the learner's *spec*,
seated at a table of the adversary's own.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any

import attrs
import numpy as np

from arena import InvalidArgument, Learner, Sample, Training
from arena.points import finite_domain

_DEFAULT_SIZE = 1_000
_SIMULATED_GAMES = 64
_MOST_POINTS = 512


def tied_sample(learner: Learner | None) -> Sample:
    """One point of the domain, carrying both labels half the time, as many examples as the learner needs.

    Every teacher trained on a few of these is a coin: the mean of T teachers is 1/2 ± 1/(2√T) there.
    """
    half = (needed(learner) + 1) // 2
    middle = _three_points(learner)[1]
    return Sample([middle, middle], [0, 1], [half, half])


def divide_sample(learner: Learner | None) -> Sample:
    """Two points, the lower labelled 0 and the upper 1: consistent with a threshold, no vote in doubt. Of
    points that are vectors, two that a concept labels so.
    """
    half = (needed(learner) + 1) // 2
    low, _, high = _three_points(learner)
    return Sample([low, high], [0, 1], [half, half])


def swapped_label(sample: Sample, point: Any) -> tuple[Sample, Sample]:
    """Neighbours of which one example at (or nearest to) `point` is labelled 0 in the first, 1 in the second.

    It is an example labelled 1 if there is one, so that labels which tie in the second do not in the first.
    """
    distance = np.abs(sample.points - point).reshape(len(sample.points), -1).max(axis=1)
    run = int(np.lexsort((-sample.labels, distance))[0])
    at = sample.points[run]
    return sample.replace_one(run, at, 0), sample.replace_one(run, at, 1)


@attrs.frozen
class Points:
    """Two points worth asking about; vectors are arrays.

    clear: where the votes agree.
    split: where they tie best.
    votes: the mean vote at `split`, simulated.
    """

    clear: Any
    split: Any
    votes: float


@lru_cache(maxsize=32)
def telling_points(learner: Learner | None, sample: Sample) -> Points:
    """Where the learner's votes agree and where they tie, after training on `sample`.

    Works from the votes of the spec, trained at a table of its own, if its seat tells them (`votes(x)`);
    otherwise from the mean labels of the sample. Looks at the domain if it is finite, else at the
    sample's points and just below them, or of vectors at `some_points` too.
    """
    points = _candidates(learner, sample)
    votes = _simulated_votes(learner, sample, points)
    # A tie must hold in every simulated game: judge a point by the game in which it is worst.
    doubt = np.abs(votes - 0.5).max(axis=1)
    sure = np.abs(votes - 0.5).min(axis=1)
    split, clear = int(doubt.argmin()), int(sure.argmax())
    if split == clear:
        raise InvalidArgument(
            "the votes must be clear at one point and tie at another, but they are the same at all",
            remedy="Bring a sample with at least two points, or one whose labels disagree somewhere.",
        )
    return Points(plain(points[clear]), plain(points[split]), float(votes[split].mean()))


def _simulated_votes(learner: Learner | None, sample: Sample, points: np.ndarray) -> np.ndarray:
    """(points, games) mean votes."""
    if learner is not None and "Figure1" in learner.protocols:
        rng = np.random.default_rng(np.random.SeedSequence(0))
        state = learner.start(_SIMULATED_GAMES, rng)
        if hasattr(state, "votes"):
            state.train(Training.of((sample,), np.zeros(_SIMULATED_GAMES, np.intp)))
            return np.stack([state.votes(point) for point in points])
    return np.array([[_mean_label(sample, point)] for point in points])


def _mean_label(sample: Sample, point: np.ndarray) -> float:
    """The mean label at a point of the sample; 0 left of all of them, where a threshold has not been
    reached.
    """
    here = (sample.points == point).reshape(len(sample.points), -1).all(axis=1)
    return float(np.average(sample.labels[here], weights=sample.counts[here])) if here.any() else 0.0


def _candidates(learner: Learner | None, sample: Sample) -> np.ndarray:
    domain = finite_domain(learner)
    if domain is not None:
        return np.asarray(domain, float)
    found = np.unique(sample.points, axis=0)
    if len(found) > _MOST_POINTS:
        found = found[np.linspace(0, len(found) - 1, _MOST_POINTS).astype(int)]
    if found.ndim == 1:
        return np.append(found, found[0] - 1.0)
    return found if learner is None else np.concatenate([found, learner.some_points])


def _three_points(learner: Learner | None) -> tuple[Any, Any, Any]:
    """A low, a middle and a high point of the learner's domain; of vectors, one that is labelled 0 where the
    last is labelled 1, and the last twice.
    """
    if learner is not None and learner.point_shape:
        low, high = _labelled_apart(learner)
        return low, high, high
    domain = finite_domain(learner)
    if domain is None:
        return 0.0, 0.5, 1.0
    points = [float(p) for p in domain]
    if len(points) < 2:
        raise InvalidArgument("the domain must have at least two points", value=points)
    return points[0], points[len(points) // 2], points[-1]


def _labelled_apart(learner: Learner) -> tuple[np.ndarray, np.ndarray]:
    """Two of `some_points`, the first and the last as far as may be, that a concept labels 0 and 1."""
    some = learner.some_points
    concepts: Any = getattr(learner, "concepts", None)
    for low, high in product(some, some[::-1]):
        if np.array_equal(low, high):
            continue
        if concepts is None:
            return low, high
        labels = concepts.dichotomies(np.stack([low, high])).labels
        if (labels == [False, True]).all(axis=1).any():
            return low, high
    raise InvalidArgument(
        "two points must be labelled 0 and 1 by a concept, and none of some_points are",
        value=concepts,
        remedy="Bring a sample.",
    )


def plain(point: Any) -> Any:
    """A point as a float, or as an array if it is a vector."""
    return np.asarray(point) if np.ndim(point) else float(point)


def needed(learner: Learner | None) -> int:
    """The training examples that the learner needs, or a thousand."""
    return (learner.sample_size if learner is not None else None) or _DEFAULT_SIZE
