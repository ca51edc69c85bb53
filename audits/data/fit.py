"""One learner on your data: what it releases, and how often that is right on examples held out."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Hypothesis, InvalidArgument, Learner, Moves, Release, Sample, Train, play
from arena.concepts import DecisionLists
from arena.concepts.cube.decision_lists import NO_RULE
from arena.randomness import block_seed, generator
from audits.data.one_hot import OneHot
from audits.statistics.confidence_limits import clopper_pearson

CONFIDENCE = 0.95


@attrs.frozen(eq=False)
class Fitted:
    """What came of it.

    hypothesis: a concept for each split. trained, held_out: examples of a split; with none held out
    accuracy is that on the training examples.
    correct: (splits,), how many of the examples held out each labels rightly.
    """

    learner: Learner
    data: OneHot
    hypothesis: Hypothesis
    trained: int
    held_out: int
    correct: np.ndarray

    @property
    def accuracies(self) -> np.ndarray:
        """(splits,)."""
        return self.correct / (self.held_out or self.trained)

    @property
    def limits(self) -> tuple[float, float] | None:
        """Of the accuracy, at 95 %; None where nothing was held out.

        Of one split, those of Clopper and Pearson, for a fresh example. Of several, those of Student for the
        mean over splits and coins on these data.
        """
        if not self.held_out:
            return None
        tail, splits = (1 - CONFIDENCE) / 2, len(self.correct)
        if splits == 1:
            low, high = clopper_pearson(self.correct, self.held_out, tail)
            return float(low[0]), float(high[0])
        from scipy.special import stdtrit  # slow to import

        off = stdtrit(splits - 1, 1 - tail) * self.accuracies.std(ddof=1) / math.sqrt(splits)
        mean = self.accuracies.mean()
        return max(0.0, float(mean - off)), min(1.0, float(mean + off))

    def rules(self) -> list[str]:
        """What the first split released, for people."""
        kind: Any = self.hypothesis.concept_class
        concept = self.hypothesis.concepts[0]
        if isinstance(kind, DecisionLists):
            concept = without_dead_rules(concept, self.data.column_of, kind.features.count)
        elif not hasattr(kind, "rules"):
            return [f"{kind}: {concept}"]
        said: list[str] = kind.rules(concept, self.data.names, self.data.values)
        return said


def fit(learner: Learner, data: OneHot, *, holdout: float, splits: int, seed: int) -> Fitted:
    """Train `learner` on random parts of the data, once for each split, and try it on the rest.

    holdout: the part that is held out, rounded to whole examples.

    Raises: InvalidArgument if it does not release hypotheses about such points, or a number is out of range.
    """
    held_out = _held_out(len(data.labels), holdout)
    if splits < 1:
        raise InvalidArgument("there is at least one split", value=splits)
    if "Release" not in learner.protocols or learner.point_shape != data.points.shape[1:]:
        raise InvalidArgument(
            f"{learner.name} does not learn from points of shape {data.points.shape[1:]} in one sample",
            remedy="For instance private-decision-list, rivest or logistic.",
        )
    rng = generator(block_seed(seed, 0))
    orders = np.stack([rng.permutation(len(data.labels)) for _ in range(splits)])
    samples = [Sample(data.points[rows], data.labels[rows]) for rows in orders[:, held_out:]]
    value = _released(learner, samples, seed)
    if not isinstance(value, Hypothesis):
        raise InvalidArgument(
            f"{learner.name} released no hypothesis",
            remedy="For instance private-decision-list releases one.",
        )
    tried = orders[:, :held_out] if held_out else orders
    correct = [
        int(
            (
                value.concept_class.labels(value.concepts[i : i + 1], data.points[rows])[0]
                == data.labels[rows]
            ).sum()
        )
        for i, rows in enumerate(tried)
    ]
    return Fitted(learner, data, value, len(data.labels) - held_out, held_out, np.array(correct))


def without_dead_rules(concept: np.ndarray, column_of: np.ndarray, features: int) -> np.ndarray:
    """A list that labels encoded examples alike, cut where every value of some column has been asked.

    A column has one of its values, so the last one to be asked stands for "true". No data are looked at.

    Shapes: concept (L,), features below len(column_of) being the coordinates in order; result (L,).
    """
    left = np.bincount(column_of)
    asked = set()
    for place, code in enumerate(concept):
        feature = int(code) // 2
        if 0 <= feature < len(column_of) and feature not in asked:
            asked.add(feature)
            left[column_of[feature]] -= 1
            if not left[column_of[feature]]:
                cut = np.full(len(concept), NO_RULE)
                cut[:place] = concept[:place]
                cut[place] = 2 * features + code % 2
                return cut
    return concept


@attrs.frozen
class _Trainer(Adversary):
    """Hands each game its sample, and keeps what is released."""

    samples: list[Sample] = attrs.field(eq=False)
    kept: list[Any] = attrs.field(factory=list, eq=False)

    name = "trainer"
    protocols = ("Release",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(self.samples)
        self.kept.append(reply.value)
        return None


def _released(learner: Learner, samples: list[Sample], seed: int) -> Any:
    trainer = _Trainer(samples)
    play(learner, trainer, Release(), games=len(samples), seed=seed)
    return trainer.kept[0]


def _held_out(examples: int, holdout: float) -> int:
    if not 0 <= holdout < 1:
        raise InvalidArgument("the part that is held out is at least 0 and less than 1", value=holdout)
    held_out = round(holdout * examples)
    if held_out == examples:
        raise InvalidArgument("an example must be left to train on", value=holdout, remedy="Hold out less.")
    return held_out
