"""statdp: the inputs of StatDP, for learners that answer counting queries."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, InvalidArgument, Learner, Moves, Sample, Train, setting
from arena.settings import at_least, one_of, whole

ONE_DIFFERS = ("one-above", "one-below")
ALL_DIFFER = (
    *ONE_DIFFERS,
    "one-above-rest-below",
    "one-below-rest-above",
    "half-half",
    "all-above",
    "all-below",
    "x-shape",
)


@attrs.frozen
class StatDP(Adversary):
    """Two samples that differ in one example, so that the m counting queries have the values of a pattern.

    The patterns are those of Ding, Wang, Wang, Zhang, Kifer, Detecting Violations of Differential Privacy
    (2018), Table 2, with values a₁ in world 0 and a₂ in world 1:

        one-above               a₁ = (1, 1, …, 1)         a₂ = (0, 1, …, 1)
        one-below               a₁ = (1, 1, …, 1)         a₂ = (2, 1, …, 1)
        one-above-rest-below    a₁ = (1, 1, …, 1)         a₂ = (2, 0, …, 0)
        one-below-rest-above    a₁ = (1, 1, …, 1)         a₂ = (0, 2, …, 2)
        half-half               a₁ = (1, 1, …, 1)         a₂ = (2, …, 2, 0, …, 0)
        all-above               a₁ = (1, 1, …, 1)         a₂ = (2, 2, …, 2)
        all-below               a₁ = (1, 1, …, 1)         a₂ = (0, 0, …, 0)
        x-shape                 a₁ = (1, …, 1, 0, …, 0)   a₂ = (0, …, 0, 1, …, 1)

    Where a pattern has halves, the first has ⌊m/2⌋ queries. The sample has m examples that the worlds share,
    the i-th of which adds to query i alone or to none, and one that varies. It gives no score: what a
    released value tells is left to whoever sees the whole reply.
    """

    name = "statdp"
    protocols = ("Release",)
    returns_score = False

    pattern: str = setting("one-above", help="which inputs", check=one_of(*ALL_DIFFER))
    swapped: bool = setting(False, help="whether the worlds change places")
    queries: int | None = setting(
        None, help="m; default: as many as the learner's points have entries", check=[whole, at_least(1)]
    )
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(*self.samples())
        return None

    def samples(self) -> tuple[Sample, Sample]:
        """The sample of world 0 and the one of world 1.

        Raises: InvalidArgument if the number of queries is not known.
        """
        first, second = values_of(self.pattern, self._number())
        own, other = (first > second).astype(float), (second > first).astype(float)
        shared = np.diag(first - own)
        one, two = (_sample([*shared, example]) for example in (own, other))
        return (two, one) if self.swapped else (one, two)

    def _number(self) -> int:
        if self.queries is not None:
            return self.queries
        shape = () if self.learner is None else self.learner.point_shape
        if len(shape) != 1:
            raise InvalidArgument(
                "statdp needs the number of counting queries, and the learner's points do not tell it",
                value=shape,
                remedy="Set queries, or play a learner whose points are vectors.",
            )
        return shape[0]


def values_of(pattern: str, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """The values a₁ (m,) and a₂ (m,) of the m queries in a pattern."""
    ones = np.ones(queries)
    head = np.arange(queries) < 1
    half = np.arange(queries) < queries // 2
    pairs = {
        "one-above": (ones, np.where(head, 0, 1)),
        "one-below": (ones, np.where(head, 2, 1)),
        "one-above-rest-below": (ones, np.where(head, 2, 0)),
        "one-below-rest-above": (ones, np.where(head, 0, 2)),
        "half-half": (ones, np.where(half, 2, 0)),
        "all-above": (ones, 2 * ones),
        "all-below": (ones, 0 * ones),
        "x-shape": (np.where(half, 1, 0), np.where(half, 0, 1)),
    }
    first, second = pairs[pattern]
    return first.astype(float), second.astype(float)


def inputs(queries: int, all_differ: bool) -> list[StatDP]:
    """The adversaries that the literature tries on m queries, each in both orders of the worlds.

    all_differ: whether one example may move every query, or one query alone.
    """
    return [
        StatDP(pattern=pattern, swapped=swapped, queries=queries)
        for pattern in (ALL_DIFFER if all_differ else ONE_DIFFERS)
        for swapped in (False, True)
    ]


def _sample(examples: list[np.ndarray]) -> Sample:
    return Sample(np.array(examples), np.zeros(len(examples)))
