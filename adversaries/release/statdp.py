"""statdp: the inputs of StatDP, for learners that answer counting queries."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from adversaries.common.training_samples import change_example
from arena import Adversary, InvalidArgument, Learner, Moves, Sample, Train, count_setting, setting
from arena.claims import REPLACING
from arena.players import read_relation_of
from arena.settings import one_of

# From the vector of ones, and the indicators of the first query and of the first half: a₁ and a₂.
_PATTERNS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "one-above": lambda ones, head, half: (ones, ones - head),
    "one-below": lambda ones, head, half: (ones, ones + head),
    "one-above-rest-below": lambda ones, head, half: (ones, 2 * head),
    "one-below-rest-above": lambda ones, head, half: (ones, 2 * (ones - head)),
    "half-half": lambda ones, head, half: (ones, 2 * half),
    "all-above": lambda ones, head, half: (ones, 2 * ones),
    "all-below": lambda ones, head, half: (ones, 0 * ones),
    "x-shape": lambda ones, head, half: (half, ones - half),
}
ALL_DIFFER = tuple(_PATTERNS)


@attrs.frozen
class StatDP(Adversary):
    """Two samples that differ in one example, such that the m counting queries have the values of a pattern.

    The patterns are those of Table 2 of Ding, Wang, Wang, Zhang, Kifer, Detecting Violations of Differential
    Privacy (2018), as a₁ in world 0 and a₂ in world 1; the first half has ⌊m/2⌋ queries. The sample has m
    examples that are the same in both worlds, the i-th of which adds to query i only or to none, and one that
    differs. Where neighbours do not replace an example, it is missing or blank in one world. A distinguisher
    uses the whole reply.
    """

    name = "statdp"
    protocols = ("Release",)
    returns_score = False

    pattern: str = setting("one-above", help="the values of the queries by world", check=one_of(*ALL_DIFFER))
    swapped: bool = setting(False, help="whether the worlds are exchanged")
    queries: int | None = count_setting(None, help="m; default: the coordinates of the learner's points")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(*self.samples())
        return None

    def samples(self) -> tuple[Sample, Sample]:
        """The samples of world 0 and of world 1. Raises: InvalidArgument if m is not known."""
        first, second = pattern_values(self.pattern, self._count_queries())
        examples = (first > second).astype(float), (second > first).astype(float)
        shared = np.diag(first - examples[0])
        samples = [Sample(np.array([*shared, example]), np.zeros(len(shared) + 1)) for example in examples]
        if read_relation_of(self.learner).kind not in REPLACING:
            samples = self._leave_out(samples, examples)
        return (samples[1], samples[0]) if self.swapped else (samples[0], samples[1])

    def _leave_out(self, samples: list[Sample], examples: tuple[np.ndarray, np.ndarray]) -> list[Sample]:
        present = [bool(example.any()) for example in examples]
        if all(present):
            raise InvalidArgument(
                f"in the pattern {self.pattern} one example replaces another",
                value=f"neighbours that {read_relation_of(self.learner)}",
                remedy="Choose one-above, one-below, all-above or all-below.",
            )
        added = present.index(True)
        last = samples[added].points[-1]
        pair = change_example(
            samples[added], len(samples[added].counts) - 1, (0 * last, 0), (last, 0), self.learner
        )
        return [pair[present[0]], pair[present[1]]]

    def _count_queries(self) -> int:
        if self.queries is not None:
            return self.queries
        shape = () if self.learner is None else self.learner.point_shape
        if len(shape) != 1:
            raise InvalidArgument(
                "statdp needs the number of counting queries, which the learner's points do not determine",
                value=shape,
                remedy="Set queries, or choose a learner whose points are vectors.",
            )
        return shape[0]


def pattern_values(pattern: str, queries: int) -> tuple[np.ndarray, np.ndarray]:
    """The values a₁ (m,) and a₂ (m,) of the m queries in a pattern."""
    places = np.arange(queries)
    head, half = (places < 1).astype(float), (places < queries // 2).astype(float)
    return _PATTERNS[pattern](np.ones(queries), head, half)
