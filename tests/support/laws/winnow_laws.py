"""dp-winnow by enumeration: the exact distribution of its views, and the best adaptive adversary.

A view holds for each round what the learner did at its end: nothing (None), or a new count of draws. It is
finer than an adversary's view, in which a new count may equal the old one. AboveThreshold's noise is not
enumerated: that of its threshold is integrated over nodes, that of its sums by distribution functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import attrs
import numpy as np
from scipy import stats
from support.laws.mechanism_laws import _laplace_nodes

from learners.halfspaces.dp_winnow import DpWinnow

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


def loss(law: dict[View, float], other: dict[View, float], epsilon: float) -> float:
    """δ(ε) between two distributions, in this direction."""
    return sum(max(0.0, law[view] - math.exp(epsilon) * other[view]) for view in law)
