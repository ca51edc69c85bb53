"""Hedge: a weight for every expert, lowered by a factor at each mistake; experts are drawn by weight.

With N experts of equal weight at first and the factor exp(-η), any sequence of T examples whatever has

    Σ_t p_t·loss_t - min over experts of its loss  ≤  ln N / η + η T / 8,

where p_t are the shares of the weights in round t: Theorem 2.2 of Cesa-Bianchi and Lugosi (2006), after
Littlestone and Warmuth (1994), by Hoeffding's lemma. η = sqrt(8 ln N / T) makes it sqrt(T ln N / 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from arena.errors import Unsupported

MOST_WEIGHTS = 2**28  # of a table, eight bytes each
LARGEST_RATE = 10.0
_SLAB = 2**16
# Weights are kept between 2^-1000 and 2^1000, the largest near 2^400 after a refresh.
_USUAL, _LEAST = 400, 2.0**-1000
_MOST_BITS = 500


def best_rate(log_experts: float, rounds: int) -> float:
    """The η that makes the bound of so many rounds least; 0 for one expert."""
    return min(math.sqrt(8 * log_experts / rounds), LARGEST_RATE)


def regret(log_experts: float, rate: float, rounds: int) -> float:
    """The bound on regret after so many rounds."""
    return log_experts / rate + rate * rounds / 8 if log_experts else 0.0


class Weights:
    """Weights of m experts, or of groups of them, in each of n games.

    Doubles hold weights 2^1400 apart, and what falls behind further is raised to that. It may thus be drawn
    with a chance of at most 2^-800, and the bound on regret rises by less than its last digit.
    """

    def __init__(self, games: int, start: np.ndarray, rate: float, log_experts: float) -> None:
        """start: the weights in every game, (m,). log_experts: ln of how many experts they stand for.

        Raises: Unsupported if there are too many.
        """
        if games * len(start) > MOST_WEIGHTS:
            raise Unsupported(
                f"{games:,} games with {len(start):,} weights each are over {MOST_WEIGHTS:,}",
                remedy="Play fewer games at a table, or choose a smaller domain.",
            )
        bits = (log_experts + math.log(len(start))) / math.log(2)
        if bits > _MOST_BITS:
            raise Unsupported(
                f"2^{bits:.0f} experts are over 2^{_MOST_BITS}",
                remedy="Choose fewer rounds or a smaller class.",
            )
        self.values = np.empty((games, len(start)))
        self.values[:] = start
        # So many rounds lower a weight by less than 2^-21.
        self._period = max(1, int(14 / rate)) if rate else 2**31
        self._rounds = 0

    def slabs(self) -> Iterator[slice]:
        """The games in portions that fit a core's cache."""
        games, size = self.values.shape
        step = max(1, _SLAB // size)
        return (slice(start, start + step) for start in range(0, games, step))

    def age(self) -> None:
        """A round has ended: from time to time, scale the weights of each game by a power of two."""
        self._rounds += 1
        if self._rounds % self._period:
            return
        for slab in self.slabs():
            values = self.values[slab]
            exponents = np.frexp(values.max(axis=1))[1]
            values *= np.ldexp(1.0, _USUAL - exponents)[:, None]
            np.maximum(values, _LEAST, out=values, where=values > 0)


def drawn(weights: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An expert for each game by its share of the weights, and a number that is uniform given the expert.

    Shapes: weights (n, m), u (n,) uniform in [0, 1); results (n,) and (n,) in [0, 1).
    """
    sums = weights.cumsum(axis=1)
    at = u * sums[:, -1]
    chosen = (sums > at[:, None]).argmax(axis=1)
    games = np.arange(len(u))
    weight = weights[games, chosen]
    rest = (at - (sums[games, chosen] - weight)) / weight
    return chosen, np.clip(rest, 0.0, np.nextafter(1.0, 0.0))
