"""Halfspaces with margin: targets and points, Winnow and kin, and dp-winnow by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import ClassVar

import attrs
import numpy as np
from scipy import stats
from support.laws.mechanism_laws import _laplace_nodes

from arena import Claim, Hypothesis, Learner, PrivacyUnit
from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.halfspaces import products
from learners.halfspaces.dp_winnow import DpWinnow

KINDS = ("signs", "cube", "trits")


def target(rng: np.random.Generator, dimension: int, *, relevant: int) -> np.ndarray:
    """(d,): weights of sum 1 on `relevant` coordinates, in unequal parts."""
    weights = np.zeros(dimension)
    weights[rng.choice(dimension, min(relevant, dimension), replace=False)] = 1
    weights *= rng.uniform(0.3, 1, dimension)
    return weights / weights.sum()


def pool(
    rng: np.random.Generator, v: np.ndarray, margin: float, *, kind: str = "signs", size: int = 400
) -> tuple[np.ndarray, np.ndarray]:
    """Points of which v has the margin, with its labels: (k, d), (k,) of 0 and 1, k at most `size`."""
    shape = (4 * size, len(v))
    if kind == "signs":
        points = rng.integers(0, 2, shape) * 2.0 - 1
    elif kind == "trits":
        points = rng.integers(-1, 2, shape).astype(float)
    else:
        points = rng.uniform(-1, 1, shape)
        # Two relevant coordinates of uniform points seldom have much of a product together.
        points[:size] = np.sign(points[:size])
    product = points @ v
    clear = np.flatnonzero(np.abs(product) >= margin)[:size]
    return points[clear], (product[clear] > 0).astype(int)


def products_with(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(k,): the products of one game's weights (d,) with points (k, d), rounded as at a table."""
    return products(np.broadcast_to(weights, points.shape), points)


class OneWinnow:
    """ConfidentWinnow for one game, as it is printed: products, exponentials, a division."""

    def __init__(self, dimension: int, *, rate: float, unsure: float = 0.0) -> None:
        self.weights = [1 / dimension] * dimension
        self.rate, self.unsure, self.updates = rate, unsure, 0

    def product(self, x: np.ndarray) -> float:
        return math.fsum(w * float(c) for w, c in zip(self.weights, x, strict=True))

    def generic(self, rng: np.random.Generator, points: np.ndarray) -> np.ndarray:
        """One of the points, (d,), at which rounding decides nothing."""
        while True:
            x: np.ndarray = points[rng.integers(len(points))]
            product = abs(self.product(x))
            if product > 1e-9 and abs(product - self.unsure) > 1e-9:
                return x

    def observe(self, x: np.ndarray, y: int, bit: bool = False) -> None:
        sign = 1 if y == 1 else -1
        product = self.product(x)
        mistake = (product >= 0) != (y == 1)
        if mistake or (bit and sign * product <= self.unsure):
            self.update(sign * np.asarray(x, float))

    def update(self, z: np.ndarray) -> None:
        grown = [w * math.exp(self.rate * c) for w, c in zip(self.weights, z, strict=True)]
        total = math.fsum(grown)
        self.weights = [w / total for w in grown]
        self.updates += 1


@attrs.frozen
class PlainWinnow(Learner):
    """Weights are multiplied by exp(margin·y'x) on a mistake; and also, if `confidence` is more than 0, where
    y'(w·x) is at most confidence·margin and the adversary says so."""

    name = "plain-winnow"
    protocols: ClassVar[tuple[str, ...]] = ("Oblivious", "Adaptive", "SpecialRound")

    concepts: ConceptClass = Halfspaces(16, 0.2)
    confidence: float = 0.0

    claim = Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> WinnowState:
        assert isinstance(self.concepts, Halfspaces)
        return WinnowState(self.concepts, games, self.confidence)


class WinnowState:
    """updates: (n,), how many there were."""

    def __init__(self, concepts: Halfspaces, games: int, confidence: float) -> None:
        self.concepts, self.confidence = concepts, confidence
        self.weights = np.full((games, concepts.dimension), 1 / concepts.dimension)
        self.told = np.zeros(games, bool)
        self.updates = np.zeros(games, np.int64)

    def hypothesis(self) -> Hypothesis:
        self.told[:] = False
        return Hypothesis(self.concepts, self.weights.copy())

    def instruct(self, update: np.ndarray) -> None:
        self.told = update.copy()

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        product = np.vecdot(self.weights, x.astype(float))
        sign = np.where(y == 1, 1, -1)
        wrong = (product >= 0) != (y == 1)
        unsure = self.told & (sign * product <= self.confidence * self.concepts.margin)
        update = wrong | (unsure if self.confidence else False)
        self.updates += update
        steps = self.concepts.margin * sign * update
        self.weights = self.weights * np.exp(steps[:, None] * x)
        self.weights /= self.weights.sum(axis=1, keepdims=True)


Example = tuple[tuple[float, ...], int]
Count = tuple[int, ...]
View = tuple[Count | None, ...]
Adversary = Callable[[View], Example]


@attrs.frozen
class Hidden:
    """The hidden state in one world: scores, the first mistakes since the last update, the number of all of
    them, and the joint probability of each threshold and the view."""

    scores: tuple[float, ...]
    cache: tuple[tuple[float, ...], ...]
    mistakes: int
    mass: np.ndarray = attrs.field(eq=False)


class Enumerated:
    """The learner step by step, written from the paper's listing and without the learner's code."""

    def __init__(self, spec: DpWinnow) -> None:
        self.spec = spec
        self.dimension = spec.concepts.dimension
        kinks = [k - spec.update_threshold for k in range(spec.rounds + 1)]
        self.noise, self.weights = _laplace_nodes(1 / spec.watch_epsilon, kinks)
        # For each number of mistakes, the probability to fire at each node.
        self.fires = [
            stats.laplace.sf((spec.update_threshold + self.noise - k) * spec.watch_epsilon)
            for k in range(spec.rounds + 1)
        ]

    def start(self) -> Hidden:
        return Hidden((0.0,) * self.dimension, (), 0, self.weights)

    def last_count(self, view: View) -> Count:
        return next((count for count in reversed(view) if count is not None), (1,) * self.dimension)

    def exhausts_updates(self, view: View) -> bool:
        """Whether K updates were made since the last restart, so that what comes next is a restart."""
        changes = sum(count is not None for count in view)
        return changes % (self.spec.most_updates + 1) == self.spec.most_updates

    def add_example(self, hidden: Hidden, view: View, example: Example) -> Hidden:
        """The state after the example, before the sum is compared."""
        x, y = example
        prediction = sum(w * c for w, c in zip(self.last_count(view), x, strict=True)) >= 0
        if prediction == (y == 1):
            return hidden
        signed = tuple(c if y == 1 else -c for c in x)
        cache = (*hidden.cache, signed)[: self.spec.averaged_mistakes]
        return attrs.evolve(hidden, cache=cache, mistakes=hidden.mistakes + 1)

    def after(self, hidden: Hidden, exhausted: bool) -> Iterator[tuple[Count | None, Hidden]]:
        """The possible ends of a round, with the states that follow."""
        fires = self.fires[hidden.mistakes]
        yield None, attrs.evolve(hidden, mass=hidden.mass * (1 - fires))
        if exhausted:
            mass = float((hidden.mass * fires).sum())
            yield (1,) * self.dimension, attrs.evolve(self.start(), mass=self.weights * mass)
            return
        scores = tuple(
            s + sum(z[i] for z in hidden.cache) / self.spec.averaged_mistakes
            for i, s in enumerate(hidden.scores)
        )
        mass = float((hidden.mass * fires).sum())
        for count, probability in self.counts(scores):
            yield count, Hidden(scores, (), 0, self.weights * (mass * probability))

    @lru_cache(maxsize=10_000)  # noqa: B019 - one instance in a test
    def counts(self, scores: tuple[float, ...]) -> list[tuple[Count, float]]:
        weights = np.exp(self.spec.eta * np.array(scores))
        weights /= weights.sum()
        draws = self.spec.draws_per_update
        return [
            (count, float(stats.multinomial.pmf(count, draws, weights)))
            for count in compositions(draws, self.dimension)
        ]

    def law(self, adversary: Adversary) -> dict[View, float]:
        """The probability of every view against an adaptive adversary."""
        states: dict[View, Hidden] = {(): self.start()}
        for _ in range(self.spec.rounds):
            states = {
                (*view, end): following
                for view, hidden in states.items()
                for end, following in self.after(
                    self.add_example(hidden, view, adversary(view)), self.exhausts_updates(view)
                )
            }
        return {view: float(hidden.mass.sum()) for view, hidden in states.items()}

    def worst(self, epsilon: float, examples: Sequence[Example], *, before: int = 0) -> float:
        """The largest δ that an adaptive adversary reaches at this ε with these examples.

        The special examples come after `before` rounds. The best choice after a view depends on no other
        view, so the best adversary makes the best choice after every view.
        """
        return self._worst(epsilon, examples, before, (), self.start(), self.start())

    def _worst(
        self,
        epsilon: float,
        examples: Sequence[Example],
        before: int,
        view: View,
        one: Hidden,
        other: Hidden,
    ) -> float:
        if len(view) == self.spec.rounds:
            return max(0.0, float(one.mass.sum()) - math.exp(epsilon) * float(other.mass.sum()))
        pairs: set[tuple[Hidden, Hidden]] = set()
        best = 0.0
        for first in examples:
            for second in examples if len(view) == before else (first,):
                states = self.add_example(one, view, first), self.add_example(other, view, second)
                if states in pairs:  # equivalent to an earlier example
                    continue
                pairs.add(states)
                nexts = zip(
                    self.after(states[0], self.exhausts_updates(view)),
                    self.after(states[1], self.exhausts_updates(view)),
                    strict=True,
                )
                best = max(
                    best,
                    sum(
                        self._worst(epsilon, examples, before, (*view, end), following, other_following)
                        for (end, following), (_, other_following) in nexts
                    ),
                )
        return best


def compositions(total: int, parts: int) -> Iterator[Count]:
    """All ways to write `total` as an ordered sum of `parts` numbers ≥ 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)
