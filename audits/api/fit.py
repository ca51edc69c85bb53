"""Fitting a learner to one-hot encoded data: the hypotheses it releases, and their accuracy."""

from __future__ import annotations

import math
from collections.abc import Sized
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from arena import Adversary, Hypothesis, InvalidArgument, Learner, Moves, Release, Sample, Train, play
from arena.concepts import DecisionLists
from arena.concepts.cube.decision_lists import NO_RULE
from arena.randomness import block_seed, generator
from arena.settings import at_least, check_value, less_than, whole
from audits.data.one_hot import OneHotData
from audits.registry.players import LEARNERS
from audits.registry.settings_text import build_player
from audits.statistics.estimates import clopper_pearson

CONFIDENCE = 0.95  # of the limits of the accuracy
PUBLIC_FRACTION = 0.02  # of the examples, as in section 5 of the paper of pate-psq and pate-asq
_SPLIT_BLOCK, _PUBLIC_BLOCK = 0, 1  # of the seed
_REMEDY = "For instance private-decision-list, rivest or logistic does."


@runtime_checkable
class UsesPublicPoints(Protocol):
    """A learner that asks about public points, its setting `public`."""

    @property
    def public(self) -> Sized | None:
        """The public points, if they are set."""

    def with_public_points(self, points: np.ndarray) -> Learner:
        """The same learner with these public points (m, ...)."""


def build_data_learner(name: str, settings: dict[str, str], data: OneHotData, *, features: str) -> Learner:
    """The learner called `name`, sized for points of the data.

    features: the features of rules, as in `lists:4:literals`.

    Raises: InvalidArgument if there is no such learner, or it does not learn from one-hot encoded data.
    """
    player: type[Learner] = LEARNERS.find(name)
    variables = len(data.names)
    sizes = {
        "teacher": f"LogisticRegression:{variables}",
        "concepts": f"{DecisionLists.name}:{variables}:{features}",
        "variables": str(variables),
    }
    own = {name: text for name, text in sizes.items() if name in attrs.fields_dict(player)}
    if not own or Release.name not in player.protocols:
        raise InvalidArgument(f"{player.name} does not learn from columns of data", remedy=_REMEDY)
    return build_player(player, {**own, **settings})


def set_public_points_aside(
    learner: Learner, data: OneHotData, fraction: float | None, seed: int
) -> tuple[Learner, OneHotData]:
    """Give the learner the points of a random fraction of the data as public points; and the other data.

    fraction: default 0.02 for a learner that has such a setting and no public points yet, otherwise 0.

    Raises: InvalidArgument if the fraction is not in [0, 1), or the learner uses no public points.
    """
    if fraction is None:
        needs_points = isinstance(learner, UsesPublicPoints) and learner.public is None
        fraction = PUBLIC_FRACTION if needs_points else 0.0
    check_value("public", fraction, at_least(0), less_than(1))
    if not fraction:
        return learner, data
    if not isinstance(learner, UsesPublicPoints):
        raise InvalidArgument(f"{learner.name} uses no public points", remedy="Leave out --public.")
    count = max(1, round(fraction * len(data.labels)))
    order = generator(block_seed(seed, _PUBLIC_BLOCK)).permutation(len(data.labels))
    rest = np.sort(order[count:])
    kept = attrs.evolve(data, points=data.points[rest], labels=data.labels[rest])
    return learner.with_public_points(data.points[order[:count]]), kept


@attrs.frozen(eq=False)
class FitResult:
    """Hypotheses of a learner on random splits of the data, and their accuracy.

    hypothesis: one concept for each split. trained, held_out: numbers of examples of a split. accuracies:
    (splits,), on the held-out examples; if there are none, on the training examples.
    """

    learner: Learner
    data: OneHotData
    hypothesis: Hypothesis
    trained: int
    held_out: int
    accuracies: np.ndarray

    @property
    def limits(self) -> tuple[float, float] | None:
        """Confidence limits of the accuracy at 95 %; None if no examples were held out.

        For one split, Clopper-Pearson limits of the accuracy on a new example. For several splits, limits by
        Student's t distribution of the mean over splits and random numbers on these data.
        """
        if not self.held_out:
            return None
        tail, splits = (1 - CONFIDENCE) / 2, len(self.accuracies)
        if splits == 1:
            low, high = clopper_pearson(np.rint(self.accuracies * self.held_out), self.held_out, tail)
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


def fit(learner: Learner, data: OneHotData, *, holdout: float, splits: int, seed: int) -> FitResult:
    """Train `learner` on a random part of the data, and test it on the rest, once for each split.

    holdout: the fraction of the examples to hold out, rounded to whole examples.

    Raises: InvalidArgument if a number is out of range, or the learner releases no hypothesis on such points.
    """
    check_value("splits", splits, whole, at_least(1))
    check_value("holdout", holdout, at_least(0), less_than(1))
    size = len(data.labels)
    held_out = min(round(holdout * size), size - 1)
    rng = generator(block_seed(seed, _SPLIT_BLOCK))
    orders = np.stack([rng.permutation(size) for _ in range(splits)])
    samples = [Sample(data.points[rows], data.labels[rows]) for rows in orders[:, held_out:]]
    trainer = _Trainer(samples)
    play(learner, trainer, Release(), games=splits, seed=seed)
    (hypothesis,) = trainer.released
    if not isinstance(hypothesis, Hypothesis):
        raise InvalidArgument(f"{learner.name} released no hypothesis", remedy=_REMEDY)
    tested = orders[:, :held_out] if held_out else orders
    accuracies = [
        (hypothesis.concept_class.labels(concept[None], data.points[rows])[0] == data.labels[rows]).mean()
        for concept, rows in zip(hypothesis.concepts, tested, strict=True)
    ]
    return FitResult(learner, data, hypothesis, size - held_out, held_out, np.array(accuracies))


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
