"""Covers chosen by the exponential mechanism, whose privacy hardly depends on the number of rounds.

Bun and Fang's Lemma A.1, after Gupta, Ligett, McSherry, Roth, Talwar (2010). There are sets of examples, and
*candidates*: a set with an option. Every round draws a candidate with probability proportional to
exp(ε₀·score/2), and what its set covers leaves the sample. Scores are any functions of what is left, chosen
adaptively, such that one example z more

    (1) moves the scores of candidates whose set covers z by 0 to 1, in all rounds down or in all rounds up,
    (2) and does not move those of others.

Our copy of the lemma has lost its formulas; this is what its proof uses. Two ways lead from ε₀ to (ε, δ).

As printed
----------
For z added or removed the loss exceeds (e^{ε₀/2} − 1)·ln(e/δ) with chance δ at most. A replaced example is a
removal and an addition: (2ε, δ(1 + e^ε)).

Here: exactly
-------------
Let a = ε₀/2, β = e^a − 1, and h_j(s) = ((e^a − e^{s/j})/β)^j for 0 ≤ s ≤ j·a, 0 beyond. With k rounds, ε ≥ 0,

    for z added or removed    δ(ε) = (1 − e^{−a})·h_{k+1}(a + ε),
    for z replaced            δ(ε) = tanh(a/2)·h_{k+1}(ε).

h_j(s) grows with j, to e^{−s/β}, which bounds any number of rounds. `cover_epsilon` solves for ε.

*The game.* Say that scores fall; rising ones exchange the two samples. They are R with z and R with z'. Until
a choice covers z or z', a round is told by r, the chance (with z) of a choice that z lowers, and r', that of
one that z' lowers. A choice that both lower tells nothing. Covering z without lowering only ends its part of
the game, which r = 0 from there on does as well. Where a score falls by s < 1 the payoff below is convex in
e^{as}, so a split into s = 0 and s = 1 gains no less. The ratio of normalisers is e^λ = 1 + βr − βe^{−a}r'; a
round's loss is λ, or λ − a where z lowered the choice, or λ + a where z' did. What is to come in k rounds
after losses of ℓ is E[(1 − e^{c − later losses})₊] with c = ε − ℓ. It is at most

    N(c) = (1 − e^c)₊  where both are covered,
    A_k(c) = (1 − e^{−a})·h_{k+1}(a + c) for c ≥ −a, else 1 − e^c,  where z is not,
    V_k(c) = 1 − e^c + e^c·A_k(−c)  where z' is not,
    B_k(c) = t·h_{k+1}(c) for c ≥ 0, else 1 − e^c + e^c·B_k(−c), with t = tanh(a/2),  where neither is.

V and B at c < 0 exchange the samples: E_P[(1 − e^c Q/P)₊] = 1 − e^c + e^c·E_Q[(1 − e^{−c} P/Q)₊]. It is
shown by induction on k, which starts with N ≤ A_0 and N ≤ B_0, that a round gains nothing: for c ≥ 0,

    (1 − r − r')·B_{k−1}(c − λ) + r·V_{k−1}(c − λ + a) + r'·A_{k−1}(c − λ − a) ≤ B_k(c).

*If λ ≤ c*, V is 0 and the left side is h_k(c − λ)·(t(1 − r − r') + (1 − e^{−a})r') = t·h_1(λ)·h_k(c − λ),
since 1 − e^{−a} = t(1 + e^{−a}) and 1 − r + e^{−a}r' = (e^a − e^λ)/β. As ln((e^a − e^x)/β) is concave in x,
that is at most t·h_{k+1}(c), which it is at λ = c/(k + 1). *If λ > c*, the terms without h add up to 1 − e^c,
and the left side is 1 − e^c + t·e^c·(e^a − e^{−λ})/β·h_k(λ − c). The logarithmic derivative in λ of that
product, e^{−λ}/(e^a − e^{−λ}) − e^{(λ−c)/k}/(e^a − e^{(λ−c)/k}), is at most 0, because x/(e^a − x) increases
in x and e^{−λ} ≤ 1. So the worst is λ = c, of which the first case speaks.

For A, (1 − r)·A_{k−1}(c − λ) + r·N(c − λ + a) ≤ A_k(c) is seen likewise with a + c for c: if λ > a + c the
left side is 1 − e^c = A_0(c) ≤ A_k(c). ∎

From k = 1 on, where t·h_2 is the δ of one choice of bounded range, all of this is reached with equal λ: no
smaller δ holds for every cover.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.bounded_range import hoeffding_composition
from learners.mechanisms.accounting.composition import Guarantee, advanced_composition
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.parameter_checks import check_positive

LEMMA = "Lemma A.1, twice"
RANGE = "bounded range"
ADVANCED = "advanced"
SUM = "sum"


class EMCover:
    """Covers of n games of one sample, chosen in at most `rounds` rounds each, once for each set.

    Games that have chosen the same sets, in whatever order, are in one *state*: what is left of the sample is
    kept once for all of them.

    Shapes: covers (U, G) bool, the examples that each set covers; weights (U, O) numbers; coins (n, rounds)
    uniform in [0, 1), all that is random; m states, which change with every round.

    rate: ε₀, nats. whole: a set that covers every example there could be, if there is one; a game that has
    chosen it is over, and its later choices are -1. That nothing is left of *this* sample would be no reason
    to stop: it depends on the data.

    For the largest cover by few sets the score is what a set covers of what is left:

    >>> sets = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]], bool)
    >>> cover = EMCover(sets.T, np.ones((5, 1)), np.full((2, 2), 0.5), rate=100.0)
    >>> cover.choose(cover.sums).tolist(), cover.choose(cover.sums).tolist()
    ([0, 0], [2, 2])
    """

    def __init__(
        self,
        covers: np.ndarray,
        weights: np.ndarray,
        coins: np.ndarray,
        *,
        rate: float,
        whole: int | None = None,
    ) -> None:
        """Raises: InvalidArgument if shapes do not fit, or the rate is not positive and finite."""
        check_positive(rate=rate)
        if covers.shape[0] != len(weights) or weights.ndim != 2 or coins.ndim != 2:
            raise InvalidArgument(
                "covers are (U, G), weights (U, O), and coins (n, rounds)",
                value=(covers.shape, weights.shape, coins.shape),
            )
        self._covers = covers.astype(np.float64)
        self._weights = weights.astype(np.float64)
        self._coins = coins
        self._rate = rate
        self._whole = whole
        self._round = 0
        self.which = np.zeros(len(coins), np.intp)
        """(n,): the state that each game is in, -1 if it is over."""
        self.left = np.ones((1, len(covers)), bool)
        """(m, U): the examples that are not covered."""
        self.used = np.zeros((1, covers.shape[1]), bool)
        """(m, G): the sets that were chosen."""
        self.sums = (self._covers.T @ self._weights)[None]
        """(m, G, O): the weights of the examples left that each set covers, added up."""

    @property
    def over(self) -> bool:
        """Whether all games are."""
        return not (self.which >= 0).any()

    def choose(self, scores: np.ndarray) -> np.ndarray:
        """Draw a candidate in every game, and remove what its set covers.

        Shapes: scores (m, G, O), not looked at for sets that were chosen; returns (n,), O·set + option.

        Raises: InvalidArgument if all rounds or all sets are used up, or scores have another shape.
        """
        if self._round == self._coins.shape[1] or self.used.all(axis=1).any():
            raise InvalidArgument("a cover has a round for each set at most", value=self._round)
        if scores.shape != self.sums.shape:
            raise InvalidArgument(f"scores have shape {self.sums.shape}", value=scores.shape)
        games = np.flatnonzero(self.which >= 0)
        chosen = np.full(len(self.which), -1)
        chances = choice_weights(scores, self.used, rate=self._rate)
        chosen[games] = _drawn(chances, self.which[games], self._coins[games, self._round])
        self._round += 1
        self._move(games, chosen[games] // scores.shape[2])
        return chosen

    def _move(self, games: np.ndarray, sets: np.ndarray) -> None:
        """Take `games` to the states that they reach by choosing `sets`, and forget the others."""
        going = sets != self._whole
        self.which[games[~going]] = -1
        games, sets = games[going], sets[going]
        used = self.used[self.which[games]]
        used[np.arange(len(games)), sets] = True
        _, first, state = np.unique(np.packbits(used, axis=1), axis=0, return_index=True, return_inverse=True)
        parents, sets = self.which[games][first], sets[first]
        self.which[games] = state.ravel()
        self.used = used[first]
        self._cover(parents, sets)

    def _cover(self, parents: np.ndarray, sets: np.ndarray) -> None:
        """The states that follow `parents` where `sets` are chosen."""
        covered = self.left[parents] & (self._covers.T[sets] > 0)
        rows = np.flatnonzero(covered.any(axis=0))
        lost = covered[:, None, rows] * self._weights[rows].T
        self.left = self.left[parents] & ~covered
        self.sums = self.sums[parents] - (lost @ self._covers[rows]).transpose(0, 2, 1)


def choice_weights(scores: np.ndarray, used: np.ndarray, *, rate: float) -> np.ndarray:
    """(m, G·O): in proportion to the chances of all candidates; 0 for those of sets that were used.

    Shapes: scores (m, G, O); used (m, G) bool.
    Units: rate in nats.
    """
    shown = np.where(used[..., None], -np.inf, scores).reshape(len(scores), -1)
    return np.exp(rate / 2 * (shown - shown.max(axis=1, keepdims=True, initial=-np.inf)))


def _drawn(weights: np.ndarray, which: np.ndarray, coins: np.ndarray) -> np.ndarray:
    """(n,): a column of row which[i] each, with chances in proportion to that row, by one coin in [0, 1).

    Coins have 53 bits, so no chance is off by more than about 2^-53.
    """
    below = np.cumsum(weights, axis=1)
    drawn = np.empty(len(which), np.intp)
    step = max(1, 2**20 // max(1, weights.shape[1]))
    for start in range(0, len(which), step):
        rows = below[which[start : start + step]]
        part = coins[start : start + step, None] * rows[:, -1:]
        drawn[start : start + step] = (rows > part).argmax(axis=1)
    return drawn


# --- what it costs ------------------------------------------------------------------------------------------


def cover_delta(epsilon: float, rate: float, *, rounds: int, replaced: bool = True) -> float:
    """The δ that `rounds` rounds need at ε, for an example replaced, or else added or removed.

    Units: epsilon and rate (ε₀) in nats.
    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(rounds, rate)
    if not epsilon >= 0:
        raise InvalidArgument("epsilon must be at least 0 nats", value=epsilon)
    a, j = rate / 2, rounds + 1
    most, spent = (math.tanh(a / 2), epsilon) if replaced else (-math.expm1(-a), epsilon + a)
    short = spent / j - a
    return most * (math.expm1(short) / math.expm1(-a)) ** j if short < 0 else 0.0


def cover_epsilon(delta: float, rate: float, *, rounds: int, replaced: bool = True) -> float:
    """The least ε at which δ is enough: (k + 1)·ln(e^a − β·(δ/tanh(a/2))^{1/(k + 1)}), or 0.

    At δ = 0 it is (k + 1)·ε₀/2 for an example replaced, and k·ε₀/2 for one added.

    Units: rate (ε₀) and the result in nats.
    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(rounds, rate)
    if not 0 <= delta <= 1:
        raise InvalidArgument("delta must be a probability", value=delta)
    a, j = rate / 2, rounds + 1
    most, spared = (math.tanh(a / 2), 0.0) if replaced else (-math.expm1(-a), a)
    if delta >= most:
        return 0.0
    return max(0.0, j * (a + math.log1p(math.expm1(-a) * (delta / most) ** (1 / j))) - spared)


def lemma_epsilon(delta: float, rate: float) -> float:
    """(e^{ε₀/2} − 1)·ln(e/δ): Lemma A.1 for an example added or removed, nats.

    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(1, rate)
    if not 0 <= delta <= 1:
        raise InvalidArgument("delta must be a probability", value=delta)
    return math.inf if delta == 0 or rate > 1_000 else math.expm1(rate / 2) * (1 - math.log(delta))


def cover_cost(rounds: int, rate: float, *, delta: float) -> Guarantee:
    """What `rounds` rounds cost for one replaced example: (`cover_epsilon`, delta).

    Raises: InvalidArgument if a parameter is out of range.
    """
    return Guarantee(cover_epsilon(delta, rate, rounds=rounds), delta)


def other_costs(rounds: int, rate: float, *, delta: float) -> dict[str, float]:
    """What other arguments would say, ε in nats at the same δ; `cover_cost` is never above any.

    Every round is one exponential mechanism, of bounded range ε₀ for a replaced example: z and z' may pull at
    different candidates.
    """
    _check(rounds, rate)
    many = advanced_composition(rounds, rate, slack=delta).epsilon if 0 < delta < 1 else math.inf
    return {
        LEMMA: _printed_twice(delta, rate),
        RANGE: hoeffding_composition(rounds, rate, slack=delta).epsilon,
        ADVANCED: many,
        SUM: rounds * rate,
    }


@lru_cache(maxsize=1_024)
def largest_cover_rate(rounds: int, *, epsilon: float, delta: float) -> float:
    """The largest ε₀ at which `rounds` rounds cost (epsilon, delta) at most for a replaced example.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(epsilon=epsilon)
    if not 0 <= delta < 1:
        raise InvalidArgument("delta must be at least 0 and less than 1", value=delta)
    return largest_affordable(lambda rate: cover_cost(rounds, rate, delta=delta).epsilon, epsilon)


def _printed_twice(delta: float, rate: float) -> float:
    """The least 2ε with δ₁·(1 + e^ε) ≤ δ, where ε is what Lemma A.1 says at δ₁; ∞ if δ₁ is no double."""
    growth = math.expm1(min(rate / 2, 700.0))

    def needed(once: float) -> float:
        return once + math.exp(growth) * once ** (1 - growth)

    if growth >= 1 or needed(5e-324) > delta:
        return math.inf
    return 2 * lemma_epsilon(largest_affordable(needed, delta), rate)


def _check(rounds: int, rate: float) -> None:
    check_positive(rate=rate)
    if isinstance(rounds, bool) or not isinstance(rounds, (int, np.integer)) or rounds < 1:
        raise InvalidArgument("a cover has at least one round", value=rounds)
