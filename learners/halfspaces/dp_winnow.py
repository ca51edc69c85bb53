"""dp-winnow: a private online learner of halfspaces with a margin, by draws from multiplicative weights."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
from arena.errors import InvalidArgument
from arena.messages import Hypothesis
from arena.sample import freeze
from arena.settings import at_least, count_setting, less_than, more_than, setting
from learners.common.learner_bases import RoundBudget, check_memory
from learners.halfspaces.winnow import (
    HalfspaceLearner,
    MultiplicativeWeights,
    add_signed,
    label_points,
    update_bound,
)
from learners.mechanisms.accounting import Guarantee, largest_affordable, largest_width, renyi_composition
from learners.mechanisms.sparse_vector import RunningSum, running_sum_error

MOST_DRAWS = 2**53  # in an update: larger counts are not exact as doubles
_SINGLE = 2**24  # draws up to which counts are exact in single precision


@attrs.frozen
class DpWinnow(HalfspaceLearner):
    """Private online learner of halfspaces with a margin (Algorithm 4.2 of Bun and Fang).

    Keeps multiplicative weights w hidden and shows ŵ, the counts of m independent draws from w. When
    AboveThreshold reports enough mistakes of ŵ, w is updated with the mean of y'·x over the first b of them
    (b = 1 in the paper), and ŵ is drawn anew. After K updates w and ŵ are uniform again, at no cost, where
    the paper stops.

    Privacy: (ε, δ)-DP against adaptive adversaries. Mistakes: Theorem 4.5, see `bound`. Proofs, and how unset
    parameters are chosen: docs/proofs/dp_winnow.md. Memory: 24 bytes for each game and coordinate.
    """

    name = "dp-winnow"
    theorem = "Theorems 4.4 and 4.5 of Bun and Fang; privacy by bounded ranges"

    rounds: int = count_setting(100_000, help="T, the largest number of rounds")
    epsilon: float = setting(1.0, unit="nats", help="ε of a game", check=[more_than(0), less_than(math.inf)])
    delta: float = setting(1e-6, unit="probability", help="δ of a game", check=[at_least(0), less_than(1)])
    beta: float = setting(0.05, unit="probability", help="β, the probability of more mistakes than the bound")
    c: float = setting(
        1 / 3, unit="margins", help="c: y'(w·x) ≤ c·ρ is uncertain", check=[more_than(0), less_than(1)]
    )
    watching: float = setting(
        0.25, help="share of ε for AboveThreshold; 1/2 in the paper", check=[more_than(0), less_than(1)]
    )
    updates: int | None = count_setting(20, help="K, most updates before a restart; none: by the bound")
    draws: int | None = count_setting(8, help="m, the draws in an update; none: by Lemma 4.6")
    rate: float | None = setting(
        1.5, unit="nats", help="η; none: (1 - c)ρ, or by ε and b", check=[more_than(0), less_than(math.inf)]
    )
    cached: int | None = count_setting(None, help="b, mistakes averaged by an update; default: as ε needs")
    threshold: float | None = setting(
        None,
        unit="mistakes",
        help="L, the mistakes before an update; default: b, plus the error of AboveThreshold unless K "
        "is too small for the bound",
        check=[more_than(-math.inf), less_than(math.inf)],
    )

    def __attrs_post_init__(self) -> None:
        if self.draws_per_update > MOST_DRAWS:
            cost = self._cost_of_draws(self.eta, self.averaged_mistakes).epsilon
            raise InvalidArgument(
                f"an update may have at most {MOST_DRAWS:,} draws, so that counts are exact",
                value=self.draws_per_update,
                remedy=f"Set draws, or choose a larger margin; these draws would cost {cost:.3g} nats.",
            )

    @property
    def shortcomings(self) -> tuple[str, ...]:
        """Too few rounds for four updates, at a mistake every second round, or draws for weights that reach
        the margin."""
        notes = []
        if self.update_threshold >= self.rounds / 8:
            notes.append(
                f"dp-winnow updates its weights after about {self.update_threshold:,.0f} mistakes each time, "
                f"so that it learns hardly anything in {self.rounds:,} rounds"
            )
        if self.draws_per_update * self.concepts.margin < 1:
            notes.append(
                f"counts of {self.draws_per_update} draws seldom label all points correctly with a margin of "
                f"{self.concepts.margin:.3g}: set draws to more than {1 / self.concepts.margin:.0f}, and "
                "more updates"
            )
        return tuple(notes)

    @property
    def eta(self) -> float:
        """η, the rate of an update."""
        return self._rate_and_mean[0]

    @property
    def most_updates(self) -> int:
        """K, the largest number of updates before a restart; at most the number of rounds."""
        return self._choose_updates(self.eta)

    @property
    def draws_per_update(self) -> int:
        """m, the draws in an update."""
        return self._choose_draws(self.most_updates)

    @property
    def averaged_mistakes(self) -> int:
        """b, the mistakes that an update averages."""
        return self._rate_and_mean[1]

    @property
    def update_threshold(self) -> float:
        """L, the number of mistakes at which AboveThreshold fires, before noise."""
        if self.threshold is not None:
            return self.threshold
        if self.updates is not None and self.updates < self._needed_updates:
            return self.averaged_mistakes
        return self.averaged_mistakes + self._threshold_error(self.rounds, self.most_updates)

    @property
    def _needed_updates(self) -> float:
        """The largest number of updates by Lemma 4.2, or ∞ if the rate is too large for the lemma."""
        updates = update_bound(self.concepts.dimension, self.eta, self.lead)
        return updates if math.isinf(updates) else math.floor(updates)

    @property
    def watch_epsilon(self) -> float:
        """ε₀ of each instance of AboveThreshold, and of all of them together."""
        return self.watching * self.epsilon

    @property
    def lead(self) -> float:
        """The lower bound on v·z − w·z in an update that the proof uses: (1 − c)ρ."""
        return (1 - self.c) * self.concepts.margin

    @cached_property
    def _rate_and_mean(self) -> tuple[float, int]:
        if self.rate is not None or self.cached is None:
            eta = self.lead if self.rate is None else self.rate
            return eta, self.cached or self._affordable_mean(eta)
        averaged = self.cached

        def cost(rate: float) -> float:
            return self._cost_of_draws(rate, averaged).epsilon if rate <= self.lead else math.inf

        return largest_affordable(cost, self._draws_epsilon), averaged

    def _choose_updates(self, eta: float) -> int:
        if self.updates is not None:
            return min(self.updates, self.rounds)
        updates = update_bound(self.concepts.dimension, eta, self.lead)
        if math.isinf(updates):
            raise InvalidArgument(
                "the number of updates has no bound for a rate of 2(1 - c)ρ or more",
                value=eta,
                remedy=f"Set updates, or a rate below {2 * self.lead:.4g}.",
            )
        return min(max(1, math.floor(updates)), self.rounds)

    def _choose_draws(self, updates: int) -> int:
        """The least m at which signs of K·T pairs of a ŵ and a point fail with probability at most β/2."""
        if self.draws is not None:
            return self.draws
        pairs = updates * self.rounds
        return math.ceil(2 * math.log(2 * pairs / self.beta) / (self.c * self.concepts.margin) ** 2)

    def _affordable_mean(self, eta: float) -> int:
        """The least b at which the draws cost at most their share of ε."""
        updates = self._choose_updates(eta)
        total = updates * self._choose_draws(updates)
        return math.ceil(4 * eta / largest_width(total, epsilon=self._draws_epsilon, slack=self.delta))

    def _cost(self) -> Guarantee:
        draws = self._cost_of_draws(self.eta, self.averaged_mistakes)
        return Guarantee(self.watch_epsilon + draws.epsilon, draws.delta)

    @property
    def _draws_epsilon(self) -> float:
        return self.epsilon - self.watch_epsilon

    def _cost_of_draws(self, eta: float, averaged: int) -> Guarantee:
        updates = self._choose_updates(eta)
        return renyi_composition(updates * self._choose_draws(updates), 4 * eta / averaged, slack=self.delta)

    def _threshold_error(self, rounds: int, updates: float) -> float:
        """α: with probability 1 − β/2 none of the K + 1 instances of AboveThreshold errs by more."""
        single = running_sum_error(rounds, self.beta / 2, epsilon=self.watch_epsilon)
        return single + math.log(updates + 1) / self.watch_epsilon

    def bound(self, rounds: int) -> Bound | None:
        """Theorem 4.5 with explicit constants; None if the settings do not meet it or it is vacuous."""
        updates = self._needed_updates
        if rounds > self.rounds or math.isinf(updates):
            return None
        error = self._threshold_error(rounds, updates)
        exponent = -self.draws_per_update * (self.c * self.concepts.margin) ** 2 / 2
        sign_failures = updates * rounds * math.exp(exponent)
        mistakes = updates * (self.update_threshold + error + 1) + self.update_threshold + error
        full_means = self.update_threshold - error >= self.averaged_mistakes * (1 - 1e-12)
        proved = updates <= self.most_updates and full_means and sign_failures <= self.beta / 2 * (1 + 1e-12)
        if not proved or mistakes >= rounds:
            return None
        return Bound(mistakes, MISTAKES, self.beta, "Theorem 4.5 of Bun and Fang", oblivious=True)

    def start(self, games: int, rng: np.random.Generator) -> DpWinnowState:
        check_memory(games, 3 * self.concepts.dimension)
        return DpWinnowState(self, games, rng)


class DpWinnowState:
    def __init__(self, spec: DpWinnow, games: int, rng: np.random.Generator) -> None:
        self._class = spec.concepts
        self._rng = rng
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._draws, self._averaged = spec.draws_per_update, spec.averaged_mistakes
        self._threshold = spec.update_threshold
        dimension = self._class.dimension
        self._scores = MultiplicativeWeights(games, dimension, rate=spec.eta / self._averaged)
        self._cache = np.zeros((games, dimension))
        self._cached = np.zeros(games, np.int64)
        self._updates = spec.most_updates
        self._updates_left = np.full(games, self._updates)
        number = np.float32 if self._draws <= _SINGLE else np.float64
        self._shown = freeze(np.ones((games, dimension), number))
        self._watch = RunningSum(games, rng, thresholds=self._threshold, epsilon=spec.watch_epsilon)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        return Hypothesis(self._class, self._shown)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        points = self._class.check(x)
        wrong = label_points(self._shown, points) != y
        rows = np.flatnonzero(wrong & (self._cached < self._averaged) & (self._updates_left > 0))
        if rows.size:
            add_signed(self._cache, rows, points, y)
            self._cached[rows] += 1
        fired = self._watch.observe(wrong)
        if fired.any():
            self._update(np.flatnonzero(fired))

    def _update(self, rows: np.ndarray) -> None:
        spent = self._updates_left[rows] == 0
        updated, restarted = rows[~spent], rows[spent]
        self._scores.sums[updated] += self._cache[updated]
        self._scores.sums[restarted] = 0
        self._cache[rows] = 0
        self._cached[rows] = 0
        shown = self._shown.copy()
        shown[updated] = self._rng.multinomial(self._draws, self._scores.weights(updated))
        shown[restarted] = 1
        self._shown = freeze(shown)
        self._updates_left[updated] -= 1
        self._updates_left[restarted] = self._updates
        self._watch.restart(rows, self._threshold)
