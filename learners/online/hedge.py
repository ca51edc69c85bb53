"""Hedge: a weight for every expert, multiplied by exp(-η) after each mistake; experts are drawn by weight.

With N experts of equal initial weight, every sequence of T examples satisfies

    Σ_t p_t·loss_t - min over experts of its loss  ≤  ln N / η + η T / 8,

where p_t are the normalised weights in round t: Theorem 2.2 of Cesa-Bianchi and Lugosi (2006), after
Littlestone and Warmuth (1994). For η = sqrt(8 ln N / T) the bound is sqrt(T ln N / 2).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator

import attrs
import numpy as np

from arena.claims import REGRET, Bound
from arena.errors import Unsupported
from arena.settings import at_most, count_setting, more_than, setting
from learners.online.conservative import WithoutPrivacy

MOST_WEIGHTS = 2**28  # in the state of a batch of games, eight bytes each
LARGEST_RATE = 10.0  # nats
_SLAB = 2**16  # weights updated at a time: they fit into a core's cache
# Weights stay between 2^-1000 and 2^1000. After rescaling, the largest of a game is near 2^400.
_RESCALED_EXPONENT, _SMALLEST = 400, 2.0**-1000
_MOST_BITS = 500  # of the number of experts
_DECAY = 14.0  # nats by which a weight may fall between two rescalings: a factor above 2^-21


def best_rate(log_experts: float, rounds: int) -> float:
    """The η that minimises the bound on the regret after `rounds` rounds; 0 for one expert."""
    return min(math.sqrt(8 * log_experts / rounds), LARGEST_RATE)


def regret_bound(log_experts: float, rate: float, rounds: int) -> float:
    """The bound on the expected regret after `rounds` rounds."""
    return log_experts / rate + rate * rounds / 8 if log_experts else 0.0


@attrs.frozen
class HedgeLearner(WithoutPrivacy):
    """Base of the learners without privacy that draw one of N experts by weight in every round."""

    rounds: int = count_setting(100, help="T, the largest number of rounds")
    rate: float | None = setting(
        None,
        help="η, the decrease of the logarithm of a weight after a mistake; default: sqrt(8 ln N / T) for N "
        "experts",
        unit="nats",
        check=[more_than(0), at_most(LARGEST_RATE)],
    )

    @property
    @abstractmethod
    def log_experts(self) -> float:
        """ln N."""

    @property
    def eta(self) -> float:
        """The rate in use, in nats; 0 if there is only one expert."""
        return self.rate or best_rate(self.log_experts, self.rounds)

    def bound(self, rounds: int) -> Bound | None:
        if rounds > self.rounds:
            return None
        return Bound(regret_bound(self.log_experts, self.eta, rounds), REGRET, None, self.theorem)


class HedgeWeights:
    """The weights of m experts, or of groups of experts, in each of n games.

    Doubles represent weights whose ratio is up to 2^1400; smaller weights are raised to that. The probability
    of drawing such an expert is at most 2^-800, and the bound on the regret grows by less than its last
    digit.
    """

    def __init__(self, games: int, start: np.ndarray, rate: float, log_experts: float) -> None:
        """start: the initial weights of every game, (m,). log_experts: ln of the number of experts they
        represent.

        Raises: Unsupported if there are too many.
        """
        if games * len(start) > MOST_WEIGHTS:
            raise Unsupported(
                f"{games:,} games with {len(start):,} weights each exceed {MOST_WEIGHTS:,} weights",
                remedy="Play fewer games in a batch, or choose a smaller domain.",
            )
        bits = (log_experts + math.log(len(start))) / math.log(2)
        if bits > _MOST_BITS:
            raise Unsupported(
                f"2^{bits:.0f} experts exceed 2^{_MOST_BITS}",
                remedy="Choose fewer rounds or a smaller class.",
            )
        self.values = np.empty((games, len(start)))
        self.values[:] = start
        self._period = max(1, int(_DECAY / rate)) if rate else 2**31
        self._rounds = 0

    def slabs(self) -> Iterator[slice]:
        """The games in portions that fit into a core's cache."""
        games, size = self.values.shape
        step = max(1, _SLAB // size)
        return (slice(start, start + step) for start in range(0, games, step))

    def end_round(self) -> None:
        """Count a round, and from time to time rescale the weights of each game by a power of two."""
        self._rounds += 1
        if self._rounds % self._period:
            return
        for slab in self.slabs():
            values = self.values[slab]
            exponents = np.frexp(values.max(axis=1))[1]
            values *= np.ldexp(1.0, _RESCALED_EXPONENT - exponents)[:, None]
            np.maximum(values, _SMALLEST, out=values, where=values > 0)


def draw_experts(weights: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An expert for each game, drawn by its weight, and a number that is uniform given the expert.

    Shapes: weights (n, m), u (n,) uniform in [0, 1); results (n,) and (n,) in [0, 1).
    """
    sums = weights.cumsum(axis=1)
    target = u * sums[:, -1]
    experts = (sums > target[:, None]).argmax(axis=1)
    games = np.arange(len(u))
    weight = weights[games, experts]
    rest = (target - (sums[games, experts] - weight)) / weight
    return experts, np.clip(rest, 0.0, np.nextafter(1.0, 0.0))
