"""cover-swap: the example that a covering learner fears most, one that it may err on round after round."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs
import numpy as np

from arena import (
    Adversary,
    Finite,
    Hypothesis,
    InvalidArgument,
    Learner,
    Moves,
    Sample,
    Train,
    Unsupported,
    setting,
)
from arena.settings import at_least, whole

MOST_DIMENSIONS = 4  # up to which the laws of some hundred samples are soon worked out
_CLAMP = 50.0  # nats: log ratios beyond are of lists that one world never releases
Labelled = tuple[tuple[float, ...], int]


@attrs.frozen
class CoverSwap(Adversary):
    """Two samples that differ in one example, chosen such that the learner's laws differ most.

    A cover loses privacy in every round in which it may choose what covers the example and errs on it, until
    it chooses what covers it (Lemma A.1 of Bun and Fang). How many features should hold at the example, by
    what it should be replaced, and what else should be in the sample so that choices take long, is looked
    for: among points that have 1 in their first coordinates only, and up to `background` copies of one of
    them. Pairs are compared by the exact ε of the learner's laws at the δ of its claim, and the score is the
    log ratio of the list that was released.

    Before a learner that tells no law, or takes points of more than 4 coordinates, an example with 1 in its
    first coordinate alone changes its label, and the score is the label that it gets.
    """

    name = "cover-swap"
    protocols = ("Release",)
    returns_score = True

    background: int = setting(
        4, help="the most copies of a point that both samples have", check=[whole, at_least(0)]
    )
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        dimension = self._dimension
        pair = worst_pair(self.learner, dimension, self.background) if self.learner is not None else None
        if pair is None:
            point = (1.0, *(0.0,) * (dimension - 1))
            reply = yield Train(Sample([point], [0]), Sample([point], [1]))
            if not isinstance(reply.value, Hypothesis):
                raise Unsupported(
                    "without a law, cover-swap asks what is released for the label of its example",
                    remedy="Let the learner release a Hypothesis.",
                )
            return reply.value(np.array(point)).astype(float)
        (released,) = (yield Train(*pair.samples)).parts
        place, known = pair.laws[0].place(released)
        return np.where(known, pair.log_ratios[place], 0.0)

    @property
    def _dimension(self) -> int:
        shape = (1,) if self.learner is None else self.learner.point_shape
        if len(shape) != 1:
            raise InvalidArgument(
                "cover-swap plays learners whose points are vectors of 0 and 1",
                value=f"shape {shape}",
                remedy="Try it on private-decision-list.",
            )
        return shape[0]


@attrs.frozen(eq=False)
class Pair:
    """Neighbouring samples, and the laws of what is released for them, over the same values."""

    samples: tuple[Sample, Sample]
    laws: tuple[Finite, Finite]

    @property
    def log_ratios(self) -> np.ndarray:
        """(k,): ln of how much likelier each value is for the second sample."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.laws[1].probabilities) - np.log(self.laws[0].probabilities)
        return np.clip(np.nan_to_num(ratio, posinf=_CLAMP, neginf=-_CLAMP), -_CLAMP, _CLAMP)

    def epsilon(self, delta: float) -> float:
        """The least ε at which δ is enough for the second law against the first, nats."""
        ratio = self.log_ratios
        order = np.argsort(-ratio)
        second, first = self.laws[1].probabilities[order], self.laws[0].probabilities[order]
        # Only values whose ratio is above ε count; ε is where what they have too much of is δ.
        above, below = np.cumsum(second), np.cumsum(first)
        with np.errstate(divide="ignore", invalid="ignore"):
            epsilons = np.log(np.maximum(above - delta, 0)) - np.log(below)
        return float(max(np.nan_to_num(epsilons, nan=0.0, posinf=_CLAMP, neginf=0.0).max(), 0.0))


@lru_cache(maxsize=32)
def worst_pair(learner: Learner, dimension: int, background: int) -> Pair | None:
    """The pair whose exact ε at the δ of the learner's claim is largest; None if laws are not told, or not
    soon."""
    if dimension > MOST_DIMENSIONS:
        return None
    laws: dict[Sample, Finite] = {}
    best: Pair | None = None
    most = -1.0
    for samples in _pairs(dimension, background):
        for sample in samples:
            law = laws.get(sample) or _law(learner, sample)
            if law is None:
                return None
            laws[sample] = law
        pair = Pair(samples, (laws[samples[0]], laws[samples[1]]))
        epsilon = pair.epsilon(learner.claim.delta)
        if epsilon > most + 1e-12:
            best, most = pair, epsilon
    return best


def _law(learner: Learner, sample: Sample) -> Finite | None:
    try:
        law = learner.law(sample)
    except Unsupported:
        return None
    return law if isinstance(law, Finite) else None


def _pairs(dimension: int, background: int) -> Iterator[tuple[Sample, Sample]]:
    points = [(1.0,) * ones + (0.0,) * (dimension - ones) for ones in range(dimension + 1)]
    examples: list[Labelled] = [(point, label) for point in points for label in (0, 1)]
    for copies in range(background + 1):
        for shared in examples if copies else examples[:1]:
            for one in examples:
                yield from (
                    (_sample(one, shared, copies), _sample(other, shared, copies))
                    for other in examples
                    if other != one
                )


def _sample(example: Labelled, shared: Labelled, copies: int) -> Sample:
    if not copies:
        return Sample([example[0]], [example[1]])
    return Sample([example[0], shared[0]], [example[1], shared[1]], [1, copies])
