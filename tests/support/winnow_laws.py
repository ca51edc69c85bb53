"""dp-winnow by enumeration: the exact law of all that it shows, and the adversary that learns most from it.

A view is, for each round, what the learner did at its end: nothing (None), or a new count of draws. It is
finer than what adversaries see, to whom a count drawn again may look like the old one. Only AboveThreshold's
noise is not enumerated; that of its threshold is integrated out over nodes, that of its sums by distribution
functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import attrs
import numpy as np
from scipy import stats
from support.mechanism_laws import _laplace_nodes

from learners.halfspaces.dp_winnow import DpWinnow

Example = tuple[tuple[float, ...], int]
Count = tuple[int, ...]
View = tuple[Count | None, ...]
Adversary = Callable[[View], Example]


@attrs.frozen
class Hidden:
    """What one world's learner knows: scores, the first mistakes of the stretch, the sum of all of them, and
    how likely each threshold is together with all that was shown."""

    scores: tuple[float, ...]
    cache: tuple[tuple[float, ...], ...]
    mistakes: int
    mass: np.ndarray = attrs.field(eq=False)


class Enumerated:
    """The learner, step by step: written from the listing, with none of its code."""

    def __init__(self, spec: DpWinnow) -> None:
        self.spec = spec
        self.dimension = spec.concepts.dimension
        kinks = [k - spec.fires_at for k in range(spec.rounds + 1)]
        self.noise, self.weights = _laplace_nodes(1 / spec.watch_epsilon, kinks)
        # For each sum of mistakes, the chance to fire at each node.
        self.fires = [
            stats.laplace.sf((spec.fires_at + self.noise - k) * spec.watch_epsilon)
            for k in range(spec.rounds + 1)
        ]

    def start(self) -> Hidden:
        return Hidden((0.0,) * self.dimension, (), 0, self.weights)

    def shown(self, view: View) -> Count:
        return next((count for count in reversed(view) if count is not None), (1,) * self.dimension)

    def spent(self, view: View) -> bool:
        return sum(count is not None for count in view) >= self.spec.most_updates

    def told(self, hidden: Hidden, view: View, example: Example) -> Hidden:
        """After the example, and before the sum is compared."""
        x, y = example
        said = sum(w * c for w, c in zip(self.shown(view), x, strict=True)) >= 0
        if said == (y == 1):
            return hidden
        signed = tuple(c if y == 1 else -c for c in x)
        cache = (*hidden.cache, signed)[: self.spec.batch]
        return attrs.evolve(hidden, cache=cache, mistakes=hidden.mistakes + 1)

    def after(self, hidden: Hidden, spent: bool) -> Iterator[tuple[Count | None, Hidden]]:
        """All that may be shown at the end of a round."""
        if spent:
            yield None, hidden
            return
        fires = self.fires[hidden.mistakes]
        yield None, attrs.evolve(hidden, mass=hidden.mass * (1 - fires))
        scores = tuple(
            s + sum(z[i] for z in hidden.cache) / self.spec.batch for i, s in enumerate(hidden.scores)
        )
        mass = float((hidden.mass * fires).sum())
        for count, chance in self.counts(scores):
            yield count, Hidden(scores, (), 0, self.weights * (mass * chance))

    @lru_cache(maxsize=10_000)  # noqa: B019 - one instance a test
    def counts(self, scores: tuple[float, ...]) -> list[tuple[Count, float]]:
        weights = np.exp(self.spec.eta * np.array(scores))
        weights /= weights.sum()
        draws = self.spec.draws_each
        return [
            (count, float(stats.multinomial.pmf(count, draws, weights)))
            for count in compositions(draws, self.dimension)
        ]

    def law(self, adversary: Adversary) -> dict[View, float]:
        """Every view before an adversary that chooses each example by what it has seen."""
        states: dict[View, Hidden] = {(): self.start()}
        for _ in range(self.spec.rounds):
            states = {
                (*view, said): then
                for view, hidden in states.items()
                for said, then in self.after(self.told(hidden, view, adversary(view)), self.spent(view))
            }
        return {view: float(hidden.mass.sum()) for view, hidden in states.items()}

    def worst(self, epsilon: float, examples: Sequence[Example], *, before: int = 0) -> float:
        """The largest δ that an adaptive adversary reaches at this ε with these examples.

        After so many rounds comes the pair of special examples. What is best after a view depends on no other
        view, so the best adversary is the best choice at every view.
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
                told = self.told(one, view, first), self.told(other, view, second)
                if told in pairs:  # another example that comes to the same
                    continue
                pairs.add(told)
                nexts = zip(
                    self.after(told[0], self.spent(view)), self.after(told[1], self.spent(view)), strict=True
                )
                best = max(
                    best,
                    sum(
                        self._worst(epsilon, examples, before, (*view, said), then, other_then)
                        for (said, then), (_, other_then) in nexts
                    ),
                )
        return best


def compositions(total: int, parts: int) -> Iterator[Count]:
    """All ways to write a number as a sum of so many numbers of at least 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def loss(law: dict[View, float], other: dict[View, float], epsilon: float) -> float:
    """The δ at which ε holds between two laws, in this direction."""
    return sum(max(0.0, law[view] - math.exp(epsilon) * other[view]) for view in law)
