"""Fitting a learner to data: the hypotheses it releases, and their accuracy on held-out examples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Hypothesis, InvalidArgument, Learner, Moves, Release, Sample, Train, play
from arena.concepts import DecisionLists
from arena.concepts.cube.decision_lists import NO_RULE
from arena.randomness import block_seed, generator
from arena.settings import at_least, check_value, less_than, whole
from audits.data.one_hot import OneHotData
from audits.statistics.confidence_limits import clopper_pearson

CONFIDENCE = 0.95  # of the limits of the accuracy


@attrs.frozen(eq=False)
class FitResult:
    """Hypotheses of a learner on random splits of the data, and their accuracy.

    hypothesis: one concept for each split. trained, held_out: numbers of examples of a split. correct:
    (splits,), how many held-out examples each labels correctly; if there are none, of training examples.
    """

    learner: Learner
    data: OneHotData
    hypothesis: Hypothesis
    trained: int
    held_out: int
    correct: np.ndarray

    @property
    def accuracies(self) -> np.ndarray:
        """The accuracy of each split, (splits,)."""
        return self.correct / (self.held_out or self.trained)

    @property
    def limits(self) -> tuple[float, float] | None:
        """Confidence limits of the accuracy at 95 %; None if no examples were held out.

        For one split, Clopper-Pearson limits of the accuracy on a new example. For several splits, limits by
        Student's t distribution of the mean over splits and random numbers on these data.
        """
        if not self.held_out:
            return None
        tail, splits = (1 - CONFIDENCE) / 2, len(self.correct)
        if splits == 1:
            low, high = clopper_pearson(self.correct, self.held_out, tail)
            return float(low[0]), float(high[0])
        from scipy.special import stdtrit  # slow to import

        margin = stdtrit(splits - 1, 1 - tail) * self.accuracies.std(ddof=1) / math.sqrt(splits)
        mean = self.accuracies.mean()
        return max(0.0, float(mean - margin)), min(1.0, float(mean + margin))

    def describe_rules(self) -> list[str]:
        """The hypothesis of the first split, one rule a line."""
        kind: Any = self.hypothesis.concept_class
        concept = self.hypothesis.concepts[0]
        if isinstance(kind, DecisionLists):
            concept = drop_dead_rules(concept, self.data.column_of, kind.features.count)
        elif not hasattr(kind, "rules"):
            return [f"{kind}: {concept}"]
        rules: list[str] = kind.rules(concept, self.data.names, self.data.values)
        return rules


def fit(
    learner: Learner,
    data: OneHotData,
    *,
    holdout: float,
    splits: int,
    seed: int,
    watch: Callable[[int], object] | None = None,
) -> FitResult:
    """Train `learner` on a random part of the data, and test it on the rest, once for each split.

    holdout: the fraction of the examples to hold out, rounded to whole examples. watch: called with the
        number of splits that are tested.

    Raises: InvalidArgument if a number is out of range, or the learner releases no hypothesis on such points.
    """
    check_value("splits", splits, whole, at_least(1))
    check_value("holdout", holdout, at_least(0), less_than(1))
    held_out = round(holdout * len(data.labels))
    if held_out == len(data.labels):
        raise InvalidArgument(
            "at least one example must be left to train on", value=holdout, remedy="Hold out less."
        )
    if Release.name not in learner.protocols or learner.point_shape != data.points.shape[1:]:
        raise InvalidArgument(
            f"{learner.name} does not learn from one sample of points of shape {data.points.shape[1:]}",
            remedy="For instance private-decision-list, rivest or logistic does.",
        )
    rng = generator(block_seed(seed, 0))
    orders = np.stack([rng.permutation(len(data.labels)) for _ in range(splits)])
    samples = [Sample(data.points[rows], data.labels[rows]) for rows in orders[:, held_out:]]
    trainer = _Trainer(samples)
    play(learner, trainer, Release(), games=splits, seed=seed)
    (hypothesis,) = trainer.released
    if not isinstance(hypothesis, Hypothesis):
        raise InvalidArgument(
            f"{learner.name} released no hypothesis",
            remedy="For instance private-decision-list releases one.",
        )
    tested = orders[:, :held_out] if held_out else orders
    correct = []
    for index, rows in enumerate(tested):
        concept = hypothesis.concepts[index : index + 1]
        labels = hypothesis.concept_class.labels(concept, data.points[rows])[0]
        correct.append(int((labels == data.labels[rows]).sum()))
        if watch is not None:
            watch(index + 1)
    return FitResult(learner, data, hypothesis, len(data.labels) - held_out, held_out, np.array(correct))


def drop_dead_rules(concept: np.ndarray, column_of: np.ndarray, features: int) -> np.ndarray:
    """The same function on encoded examples, without rules that no example reaches.

    An example has exactly one value in each column. Once rules have asked for every value of some column, the
    last of them therefore always applies: it becomes "true" and ends the list. No data are used.

    Shapes: concept (L,), whose features below len(column_of) are the coordinates in order; result (L,).
    """
    remaining = np.bincount(column_of)
    asked = set()
    for place, code in enumerate(concept):
        feature = int(code) // 2
        if 0 <= feature < len(column_of) and feature not in asked:
            asked.add(feature)
            remaining[column_of[feature]] -= 1
            if not remaining[column_of[feature]]:
                shortened = np.full(len(concept), NO_RULE)
                shortened[:place] = concept[:place]
                shortened[place] = 2 * features + code % 2
                return shortened
    return concept


@attrs.frozen
class _Trainer(Adversary):
    """Gives each game its own sample, and collects what the learner releases."""

    samples: list[Sample] = attrs.field(eq=False)
    released: list[Any] = attrs.field(factory=list, eq=False)

    name = "trainer"
    protocols = (Release.name,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(self.samples)
        self.released.append(reply.value)
        return None
