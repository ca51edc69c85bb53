"""The exponential mechanism for a batch of games, and covers that it chooses.

A cover's privacy loss hardly depends on the number of rounds: Lemma A.1 of Bun and Fang;
docs/proofs/em_cover.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, at_most, check_value, less_than, whole
from learners.mechanisms.accounting import (
    Guarantee,
    compose_advanced,
    hoeffding_composition,
    largest_affordable,
)
from learners.mechanisms.parameter_checks import check_positive

# Below this, doubles are at most 2^-20 apart: rounding changes no probability by a factor beyond 1 ± 1e-6.
_LARGEST = 2.0**32


def exponential_mechanism(
    rng: np.random.Generator,
    scores: np.ndarray,
    *,
    epsilon: float,
    sensitivity: float,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """Choose in each game option j with probability proportional to exp(epsilon·score_j / (2·sensitivity)).

    (epsilon, 0)-DP if scores of neighbours differ by at most `sensitivity` and `allowed` does not depend on
    data. Shapes: scores (n, m), m ≥ 1, ignored where not allowed (n, m); the result is (n,). Raises:
    InvalidArgument also if a game has no allowed option, or if an allowed score is not finite or exceeds
    2^32·2·sensitivity/epsilon.
    """
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise InvalidArgument("scores must have shape (games, options), options ≥ 1", value=scores.shape)
    mask = True if allowed is None else _mask(allowed, scores.shape)
    with np.errstate(all="ignore"):  # ignored scores may be anything
        utilities = scores * (epsilon / (2 * sensitivity))
        if not (np.abs(utilities) <= _LARGEST).all(where=mask):
            raise InvalidArgument(
                "allowed scores must be finite and at most 2^32 in units of 2·sensitivity/epsilon",
                remedy="Exclude options with allowed=, or subtract the largest score of each game.",
            )
        noise = rng.standard_exponential(scores.shape)
        utilities -= np.log(noise, out=noise)  # minus the logarithm of an exponential number is Gumbel
    if allowed is not None:
        np.putmask(utilities, ~allowed, -math.inf)
    choices: np.ndarray = utilities.argmax(axis=1)
    return choices


def _mask(allowed: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if allowed.dtype != np.bool_ or allowed.shape != shape:
        raise InvalidArgument(
            "allowed must hold one bool per score", value=f"{allowed.dtype} array of shape {allowed.shape}"
        )
    empty = np.flatnonzero(~allowed.any(axis=1))
    if empty.size:
        raise InvalidArgument(
            "every game needs an allowed option", value=f"none in {empty.size} games, the first {empty[0]}"
        )
    return allowed


LEMMA = "Lemma A.1, twice"
RANGE = "bounded range"
ADVANCED = "advanced"
SUM = "sum"


class EMCover:
    """Covers of one sample in n games, chosen in at most `rounds` rounds; each set at most once.

    Games that have chosen the same sets, in any order, share one of m *states*, which change every round.

    Shapes: covers (U, G) bool, which of U examples each of G sets covers; weights (U, O) numbers, one per
    example and option; uniforms (n, rounds) in [0, 1), the only random numbers.

    rate: ε₀, nats. universal_set: a set that covers every possible example, if there is one. A game that has
    chosen it is finished, and its later choices are -1. An empty remaining sample stops no game.

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
        self.which = np.zeros(len(uniforms), np.intp)  # (n,) the state of each game, -1 if it is finished
        self.left = np.ones((1, len(covers)), bool)  # (m, U) the examples that are not covered yet
        self.used = np.zeros((1, covers.shape[1]), bool)  # (m, G) the sets that have been chosen
        # (m, G, O): the total weight of the remaining examples that each set covers
        self.sums = (self._covers.T @ self._weights)[None]

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
        covered = self.left[parents] & (self._covers.T[sets] > 0)
        rows = np.flatnonzero(covered.any(axis=0))
        lost = covered[:, None, rows] * self._weights[rows].T
        self.left = self.left[parents] & ~covered
        self.sums = self.sums[parents] - (lost @ self._covers[rows]).transpose(0, 2, 1)


def choice_weights(scores: np.ndarray, used: np.ndarray, *, rate: float) -> np.ndarray:
    """(m, G·O): relative probabilities by scores (m, G, O), 0 for the candidates of used sets (m, G)."""
    usable = np.where(used[..., None], -np.inf, scores).reshape(len(scores), -1)
    return np.exp(rate / 2 * (usable - usable.max(axis=1, keepdims=True, initial=-np.inf)))


def _draw_columns(weights: np.ndarray, which: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """(n,): for each i a column of row which[i], with probability proportional to its weight."""
    cumulative = np.cumsum(weights, axis=1)
    columns = np.empty(len(which), np.intp)
    step = max(1, 2**20 // max(1, weights.shape[1]))
    for start in range(0, len(which), step):
        rows = cumulative[which[start : start + step]]
        part = uniforms[start : start + step, None] * rows[:, -1:]
        columns[start : start + step] = (rows > part).argmax(axis=1)
    return columns


def cover_epsilon(delta: float, rate: float, *, rounds: int, replaced: bool = True) -> float:
    """The least ε at this δ; at δ = 0, (k + 1)·ε₀/2 for a replaced example and k·ε₀/2 for an added one."""
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
    """The ε at the same δ by simpler arguments, in nats; every round has bounded range ε₀."""
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
