"""cover-swap: the pair of examples for which a covering learner loses most privacy."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

import attrs
import numpy as np

from adversaries.common.answer_likelihood import log_ratio
from adversaries.common.training_samples import change_example
from arena import Finite, Hypothesis, InvalidArgument, Sample, Train, Unsupported, count_setting, setting
from arena.claims import REPLACING
from arena.players import Adversary, Learner, Moves, read_relation_of

MAX_DIMENSIONS = 4  # up to which the output distributions of some hundred samples are computed quickly
_CLAMP = 50.0  # nats; larger ratios belong to lists that one world never releases
_MIN_GAIN = 1e-12  # nats by which a pair must be better than the best so far
LabelledPoint = tuple[tuple[float, ...], int]


@attrs.frozen
class CoverSwap(Adversary):
    """Two samples that differ in one example, chosen so that the learner's output distributions differ most.

    A cover loses privacy in every round in which it may choose what covers the example and errs on it (Lemma
    A.1 of Bun and Fang). The adversary searches for the two examples and for up to `background` copies of
    another, among points that are 1 in their first coordinates only, by the exact ε at the δ of the claim.
    The score is the log ratio of the released list.

    If the output distribution is not known, or points have more than 4 coordinates, an example only changes
    its label, and the score is the label that it receives.
    """

    name = "cover-swap"
    protocols = ("Release",)
    returns_score = True

    background: int = count_setting(4, help="the most copies of a point in both samples", least=0)
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        dimension = self._dimension
        pair = find_worst_pair(self.learner, dimension, self.background) if self.learner is not None else None
        if pair is None:
            point = (1.0, *(0.0,) * (dimension - 1))
            reply = yield Train(Sample([point], [0]), Sample([point], [1]))
            if not isinstance(reply.value, Hypothesis):
                raise Unsupported(
                    "without an output distribution, cover-swap needs a hypothesis that labels its example",
                    remedy="Let the learner release a Hypothesis.",
                )
            return reply.value(np.array(point)).astype(float)
        (released,) = (yield Train(*pair.samples)).parts
        place, is_known = pair.laws[0].place(released)
        return np.where(is_known, pair.log_ratios[place], 0.0)

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
class NeighbourPair:
    samples: tuple[Sample, Sample]
    laws: tuple[Finite, Finite]

    @property
    def log_ratios(self) -> np.ndarray:
        """(k,): the log ratio of the probabilities of each value, second over first."""
        ratios = log_ratio(*(law.probabilities for law in self.laws))
        return np.clip(ratios, -_CLAMP, _CLAMP)

    def epsilon(self, delta: float) -> float:
        """The least ε (nats) such that the second distribution is (ε, δ)-close to the first."""
        order = np.argsort(-self.log_ratios)
        second, first = self.laws[1].probabilities[order], self.laws[0].probabilities[order]
        # Only values with a ratio above ε count. ε is where their excess probability is δ.
        second_sum, first_sum = np.cumsum(second), np.cumsum(first)
        with np.errstate(divide="ignore", invalid="ignore"):
            epsilons = np.log(np.maximum(second_sum - delta, 0)) - np.log(first_sum)
        return float(max(np.nan_to_num(epsilons, nan=0.0, posinf=_CLAMP, neginf=0.0).max(), 0.0))


@lru_cache(maxsize=32)
def find_worst_pair(learner: Learner, dimension: int, background: int) -> NeighbourPair | None:
    """The pair with the largest exact ε at the δ of the claim; None if the distributions are not known, or
    not quickly."""
    if dimension > MAX_DIMENSIONS:
        return None
    laws: dict[Sample, Finite] = {}
    best: NeighbourPair | None = None
    best_epsilon = -1.0
    for samples in _list_pairs(learner, dimension, background):
        for sample in samples:
            law = laws.get(sample) or _finite_law(learner, sample)
            if law is None:
                return None
            laws[sample] = law
        pair = NeighbourPair(samples, (laws[samples[0]], laws[samples[1]]))
        epsilon = pair.epsilon(learner.claim.delta)
        if epsilon > best_epsilon + _MIN_GAIN:
            best, best_epsilon = pair, epsilon
    return best


def _finite_law(learner: Learner, sample: Sample) -> Finite | None:
    try:
        law = learner.law(sample)
    except Unsupported:
        return None
    return law if isinstance(law, Finite) else None


def _list_pairs(learner: Learner, dimension: int, background: int) -> Iterator[tuple[Sample, Sample]]:
    points = [(1.0,) * ones + (0.0,) * (dimension - ones) for ones in range(dimension + 1)]
    examples: list[LabelledPoint] = [(point, label) for point in points for label in (0, 1)]
    for copies in range(background + 1):
        for shared in examples if copies else examples[:1]:
            for first, second in permutations(examples, 2):
                pair = change_example(_build_sample(first, shared, copies), 0, first, second, learner)
                yield pair
                if read_relation_of(learner).kind not in REPLACING:
                    yield pair[::-1]


def _build_sample(example: LabelledPoint, shared: LabelledPoint, copies: int) -> Sample:
    if not copies:
        return Sample([example[0]], [example[1]])
    return Sample([example[0], shared[0]], [example[1], shared[1]], [1, copies])
