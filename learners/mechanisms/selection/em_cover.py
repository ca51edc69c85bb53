"""Covers chosen by the exponential mechanism, whose privacy loss hardly depends on the number of rounds.

Lemma A.1 of Bun and Fang, after Gupta, Ligett, McSherry, Roth, Talwar (2010). Each round draws a *candidate*,
a set of examples with an option, with probability proportional to exp(ε₀·score/2), and removes the examples
that its set covers. Conditions on the scores, the exact cost and its proof: docs/proofs/em_cover.md.

Functions raise InvalidArgument if a parameter is out of range.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, at_most, check_value, less_than, whole
from learners.mechanisms.accounting.bounded_range import hoeffding_composition
from learners.mechanisms.accounting.composition import Guarantee, compose_advanced
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.parameter_checks import check_positive

LEMMA = "Lemma A.1, twice"
RANGE = "bounded range"
ADVANCED = "advanced"
SUM = "sum"


class EMCover:
    """Covers of one sample in n games, chosen in at most `rounds` rounds; each set at most once.

    Games that have chosen the same sets, in any order, share a *state*, which stores their remaining sample
    once.

    Shapes: covers (U, G) bool, which of U examples each of G sets covers; weights (U, O) numbers, one per
    example and option; uniforms (n, rounds) in [0, 1), the only random numbers; m states, which change
    with every round.

    rate: ε₀, nats. universal_set: a set that covers every possible example, if there is one. A game that has
    chosen it is finished, and its later choices are -1. An empty remaining sample would be no reason to stop,
    since it depends on the data.

    To cover many examples with few sets, the score is the number of remaining examples that a set covers:

    >>> sets = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]], bool)
    >>> cover = EMCover(sets.T, np.ones((5, 1)), np.full((2, 2), 0.5), rate=100.0)
    >>> cover.choose(cover.sums).tolist(), cover.choose(cover.sums).tolist()
    ([0, 0], [2, 2])
    """

    def __init__(
        self,
        covers: np.ndarray,
        weights: np.ndarray,
        uniforms: np.ndarray,
        *,
        rate: float,
        universal_set: int | None = None,
    ) -> None:
        """Raises: InvalidArgument if the shapes do not match, or the rate is not positive and finite."""
        check_positive(rate=rate)
        if covers.shape[0] != len(weights) or weights.ndim != 2 or uniforms.ndim != 2:
            raise InvalidArgument(
                "shapes must be (U, G) for covers, (U, O) for weights and (n, rounds) for uniforms",
                value=(covers.shape, weights.shape, uniforms.shape),
            )
        self._covers = covers.astype(np.float64)
        self._weights = weights.astype(np.float64)
        self._uniforms = uniforms
        self._rate = rate
        self._universal_set = universal_set
        self._round = 0
        self.which = np.zeros(len(uniforms), np.intp)
        """(n,): the state of each game, -1 if the game is finished."""
        self.left = np.ones((1, len(covers)), bool)
        """(m, U): the examples that are not covered yet."""
        self.used = np.zeros((1, covers.shape[1]), bool)
        """(m, G): the sets that have been chosen."""
        self.sums = (self._covers.T @ self._weights)[None]
        """(m, G, O): the total weight of the remaining examples that each set covers."""

    @property
    def finished(self) -> bool:
        """Whether all games are finished."""
        return not (self.which >= 0).any()

    def choose(self, scores: np.ndarray) -> np.ndarray:
        """Draw a candidate in every game and remove the examples that its set covers.

        Shapes: scores (m, G, O), ignored for sets that have been chosen; returns (n,), O·set + option.

        Raises: InvalidArgument if all rounds or all sets are used up, or scores have another shape.
        """
        if self._round == self._uniforms.shape[1] or self.used.all(axis=1).any():
            raise InvalidArgument("all rounds or all sets of this cover are used up", value=self._round)
        if scores.shape != self.sums.shape:
            raise InvalidArgument(f"scores must have shape {self.sums.shape}", value=scores.shape)
        games = np.flatnonzero(self.which >= 0)
        chosen = np.full(len(self.which), -1)
        weights = choice_weights(scores, self.used, rate=self._rate)
        chosen[games] = _draw_columns(weights, self.which[games], self._uniforms[games, self._round])
        self._round += 1
        self._move(games, chosen[games] // scores.shape[2])
        return chosen

    def _move(self, games: np.ndarray, sets: np.ndarray) -> None:
        """Move `games` to the states that they reach by choosing `sets`, and drop all other states."""
        unfinished = sets != self._universal_set
        self.which[games[~unfinished]] = -1
        games, sets = games[unfinished], sets[unfinished]
        used = self.used[self.which[games]]
        used[np.arange(len(games)), sets] = True
        _, first, state = np.unique(np.packbits(used, axis=1), axis=0, return_index=True, return_inverse=True)
        parents, sets = self.which[games][first], sets[first]
        self.which[games] = state.ravel()
        self.used = used[first]
        self._cover(parents, sets)

    def _cover(self, parents: np.ndarray, sets: np.ndarray) -> None:
        """Compute the states that follow `parents` if `sets` are chosen."""
        covered = self.left[parents] & (self._covers.T[sets] > 0)
        rows = np.flatnonzero(covered.any(axis=0))
        lost = covered[:, None, rows] * self._weights[rows].T
        self.left = self.left[parents] & ~covered
        self.sums = self.sums[parents] - (lost @ self._covers[rows]).transpose(0, 2, 1)


def choice_weights(scores: np.ndarray, used: np.ndarray, *, rate: float) -> np.ndarray:
    """(m, G·O): numbers proportional to the probabilities of the candidates, 0 for those of used sets.

    Shapes: scores (m, G, O); used (m, G) bool.
    Units: rate in nats.
    """
    usable = np.where(used[..., None], -np.inf, scores).reshape(len(scores), -1)
    return np.exp(rate / 2 * (usable - usable.max(axis=1, keepdims=True, initial=-np.inf)))


def _draw_columns(weights: np.ndarray, which: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """(n,): for each i a column of row which[i], with probability proportional to its weight.

    uniforms: one number in [0, 1) each. They have 53 bits, so a probability is off by about 2^-53 at
    most.
    """
    cumulative = np.cumsum(weights, axis=1)
    columns = np.empty(len(which), np.intp)
    step = max(1, 2**20 // max(1, weights.shape[1]))
    for start in range(0, len(which), step):
        rows = cumulative[which[start : start + step]]
        part = uniforms[start : start + step, None] * rows[:, -1:]
        columns[start : start + step] = (rows > part).argmax(axis=1)
    return columns


# --- privacy ------------------------------------------------------------------------------------------------


def cover_delta(epsilon: float, rate: float, *, rounds: int, replaced: bool = True) -> float:
    """The exact δ of `rounds` rounds at ε, for a replaced example, or for an added or removed one.

    Units: epsilon and rate (ε₀) in nats.
    """
    _check(rounds, rate)
    check_value("epsilon", epsilon, at_least(0))
    a, j = rate / 2, rounds + 1
    factor, s = (math.tanh(a / 2), epsilon) if replaced else (-math.expm1(-a), epsilon + a)
    exponent = s / j - a
    return factor * (math.expm1(exponent) / math.expm1(-a)) ** j if exponent < 0 else 0.0


def cover_epsilon(delta: float, rate: float, *, rounds: int, replaced: bool = True) -> float:
    """The least ε at this δ: `cover_delta` solved for ε.

    (k + 1)·ln(e^a − (e^a − 1)·(δ/tanh(a/2))^{1/(k + 1)}) with a = ε₀/2, or 0 if that is negative. At δ = 0 it
    is (k + 1)·ε₀/2 for a replaced example, and k·ε₀/2 for an added one.

    Units: rate (ε₀) and the result in nats.
    """
    _check(rounds, rate)
    check_value("delta", delta, at_least(0), at_most(1))
    a, j = rate / 2, rounds + 1
    factor, shift = (math.tanh(a / 2), 0.0) if replaced else (-math.expm1(-a), a)
    if delta >= factor:
        return 0.0
    return max(0.0, j * (a + math.log1p(math.expm1(-a) * (delta / factor) ** (1 / j))) - shift)


def lemma_epsilon(delta: float, rate: float) -> float:
    """The ε of Lemma A.1 for an added or removed example: (e^{ε₀/2} − 1)·ln(e/δ), in nats."""
    _check(1, rate)
    check_value("delta", delta, at_least(0), at_most(1))
    return math.inf if delta == 0 or rate > 1_000 else math.expm1(rate / 2) * (1 - math.log(delta))


def cover_cost(rounds: int, rate: float, *, delta: float) -> Guarantee:
    """The cost of `rounds` rounds for one replaced example: (`cover_epsilon`, delta)."""
    return Guarantee(cover_epsilon(delta, rate, rounds=rounds), delta)


def other_costs(rounds: int, rate: float, *, delta: float) -> dict[str, float]:
    """The ε at the same δ by simpler arguments, in nats; `cover_cost` is never larger.

    For a replaced example every round is an exponential mechanism of bounded range ε₀, since the removed and
    the new example may move the scores of different candidates.
    """
    _check(rounds, rate)
    advanced = compose_advanced(rounds, rate, slack=delta).epsilon if 0 < delta < 1 else math.inf
    return {
        LEMMA: _lemma_epsilon_twice(delta, rate),
        RANGE: hoeffding_composition(rounds, rate, slack=delta).epsilon,
        ADVANCED: advanced,
        SUM: rounds * rate,
    }


@lru_cache(maxsize=1_024)
def largest_cover_rate(rounds: int, *, epsilon: float, delta: float) -> float:
    """The largest ε₀ at which `rounds` rounds cost at most (epsilon, delta) for a replaced example."""
    check_positive(epsilon=epsilon)
    check_value("delta", delta, at_least(0), less_than(1))
    return largest_affordable(lambda rate: cover_cost(rounds, rate, delta=delta).epsilon, epsilon)


def _lemma_epsilon_twice(delta: float, rate: float) -> float:
    """The least 2ε such that δ₁·(1 + e^ε) ≤ δ, where ε is that of Lemma A.1 at δ₁; ∞ if δ₁ underflows."""
    growth = math.expm1(min(rate / 2, 700.0))

    def total_delta(delta_1: float) -> float:
        return delta_1 + math.exp(growth) * delta_1 ** (1 - growth)

    if growth >= 1 or total_delta(5e-324) > delta:
        return math.inf
    return 2 * lemma_epsilon(largest_affordable(total_delta, delta), rate)


def _check(rounds: int, rate: float) -> None:
    check_positive(rate=rate)
    check_value("rounds", rounds, whole, at_least(1))
