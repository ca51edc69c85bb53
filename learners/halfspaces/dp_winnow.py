"""dp-winnow: a private online learner of halfspaces with margin, by multiplicative weights drawn anew."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound, Claim, PrivacyUnit
from arena.errors import InvalidArgument, Unsupported
from arena.points import freeze
from arena.replies import Hypothesis
from arena.settings import at_least, less_than, more_than, setting, whole
from learners.common.round_budget import RoundBudget
from learners.halfspaces.base import HalfspaceLearner, Multiplicative, add_signed, most_updates, says_one
from learners.halfspaces.constants import winnow_constants
from learners.mechanisms.accounting.bounded_range import largest_width, renyi_composition
from learners.mechanisms.accounting.composition import Guarantee, advanced_composition, basic_composition
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.sparse_vector.running_sum import RunningSum, running_sum_error

MOST_DRAWS = 2**53  # counts are doubles
MOST_NUMBERS = 2**28  # of a table, 8 bytes each
_SINGLE = 2**24  # counts up to here are exact in single precision


@attrs.frozen(kw_only=True)
class Sizes:
    """What dp-winnow runs with: η, K updates at most, m draws an update, means of b mistakes."""

    eta: float
    updates: int
    draws: int
    batch: int


@attrs.frozen
class DpWinnow(HalfspaceLearner):
    """Algorithm 4.2 of Bun and Fang: hidden multiplicative weights w, of which independent draws are shown.

    What is shown, ŵ, counts how often m draws from w hit each coordinate; at first it is uniform, as w is.
    AboveThreshold counts the mistakes of ŵ. When it fires, and fewer than K updates were made, w is updated
    with the mean z of y'·x over the first b mistakes since the last update (the paper's b is 1), as
    w_i ← w_i·exp(η·z_i)/Z, and ŵ is drawn anew. Missing mistakes count as 0, so that without any ŵ is drawn
    from the same w. After K updates nothing changes any more.

    **Privacy** before adaptive adversaries (Definition 2.4 of Li, Wang, Ye). Fix an adversary and two streams
    that differ in the example of round s. Take the transcript in order, asking for each step's law given all
    before it, which fixes the examples but that of round s, each ŵ and so each mistake but that of round s.
    1. AboveThreshold. Its sum is compared with the threshold in *every* round, mistaken or not. The bit of
       round s feeds one instance, so all instances together cost ε₀ (`RunningSum`), and not K of them.
    2. Draws. The scores from which w comes are η/b times the sum of the signed points in all caches so far.
       Round s lies in one stretch; given the transcript, the mistakes of this stretch differ in round s
       alone, and so their first b in one vector, whose place another takes: y'·x of round s gives way to that
       of the other world, to the next mistake in line, or to 0. So the sum moves by a vector Δ with
       coordinates in [-2, 2], the same for all later draws, and the log ratios of a draw, η/b·Δ_i less the
       logarithm of a mean, lie in an interval of length η/b·(max Δ − min Δ), so 4η/b. This is reached where
       the examples (1, −1) and (−1, 1) meet the uniform ŵ of d = 2, which labels them 1, and have label 0.
    K·m draws cost `renyi_composition`. The claim is ε₀ and that; `paper_epsilon` is what the paper's
    composition, of K instances and K·m draws that are (4η/b, 0)-DP each, makes of the same numbers.

    **Mistakes** in realizable games before oblivious adversaries. `bound` is Theorem 4.5 with explicit
    constants: with (1 − c)ρ = lead and β/2 for each of two events that may fail,
    - no ŵ labels against w where |w·x| ≥ cρ: Lemma 4.6 gives one point and one ŵ the chance exp(−m·c²ρ²/2),
      and K·T pairs of them K·T times that. (The paper takes T pairs. But which ŵ is in force in a round
      depends on ŵ, since one that errs is replaced.)
    - AboveThreshold errs by α = (ln T + 2·ln(4/β) + ln(K + 1))/ε₀ at most, in T rounds and K + 1 instances.
    Then an instance fires after L − α ≥ b mistakes at least, all b in the mean have y'(w·x) ≤ cρ, and
    `most_updates` (Lemma 4.2) bounds the updates by K = 2·ln d/(η·(2·lead − η)). An instance that fires sees
    L + α + 1 mistakes at most, the last one L + α: K·(L + α + 1) + L + α in all.

    **Settings.** None of `updates`, `draws` and `rate` serves a theorem by default. With them and `cached`
    unset, η = (1 − c)ρ, K and m are what the bound needs, and b follows from ε. With `cached` = 1 it is the
    paper's algorithm, and η is the largest that both ε and (1 − c)ρ allow: of the order of 1e-5 for T = 1,000
    at ε = 1, too little to learn by. At the defaults means of many mistakes pay for a rate of 2, a few dozen
    updates, and ŵ of 16 draws. See docs/lists_and_halfspaces.md for what was measured.

    Shapes: points (n, d); hypotheses are counts (n, d), of sum m but for the first, which are ones.
    Units: ε in nats; L in mistakes. Memory: 24 bytes a game and coordinate.
    Raises: Unsupported if the class is another; InvalidArgument if settings do not fit each other.
    """

    name = "dp-winnow"
    theorem = "Theorems 4.4 and 4.5 of Bun and Fang; privacy by bounded ranges"

    rounds: int = setting(100_000, help="T, the most rounds it plays", check=[whole, at_least(1)])
    epsilon: float = setting(1.0, unit="nats", help="ε of a game", check=[more_than(0), less_than(math.inf)])
    delta: float = setting(1e-6, unit="probability", help="δ of a game", check=[at_least(0), less_than(1)])
    beta: float = setting(
        0.05,
        unit="probability",
        help="of a game with more mistakes than the theorem allows",
        check=[more_than(0), less_than(1)],
    )
    c: float = setting(
        1 / 3, unit="margins", help="c: products below c·ρ are unsure", check=[more_than(0), less_than(1)]
    )
    watching: float = setting(
        0.25, help="AboveThreshold's part of ε; 1/2 in the paper", check=[more_than(0), less_than(1)]
    )
    updates: int | None = setting(
        32, help="K, the most updates; none: all that the theorem may need", check=[whole, at_least(1)]
    )
    draws: int | None = setting(
        16, help="m, the draws of one update; none: by Lemma 4.6", check=[whole, at_least(1)]
    )
    rate: float | None = setting(
        2.0,
        unit="nats",
        help="η of an update; none: (1 - c)ρ, or with `cached` less if ε asks for it",
        check=[more_than(0), less_than(math.inf)],
    )
    cached: int | None = setting(
        None,
        help="b, the mistakes that an update averages; 1 in the paper; derived: what ε asks for at η",
        check=[whole, at_least(1)],
    )
    threshold: float | None = setting(
        None,
        unit="mistakes",
        help="L, the mistakes before an update; derived: b, and what noise may take away",
        check=[more_than(-math.inf), less_than(math.inf)],
    )

    def __attrs_post_init__(self) -> None:
        if self.draws_each > MOST_DRAWS:
            cost = self._cost(self.eta, self.batch).epsilon
            raise InvalidArgument(
                f"counts of draws are exact up to {MOST_DRAWS:,} draws an update",
                value=self.draws_each,
                remedy=f"Set draws, or take a larger margin; all draws would cost {cost:.3g} nats.",
            )

    # --- what is run ----------------------------------------------------------------------------------------

    @property
    def eta(self) -> float:
        """η, the rate of an update."""
        return self._sizes.eta

    @property
    def most_updates(self) -> int:
        """K, the most updates; never more than rounds."""
        return self._sizes.updates

    @property
    def draws_each(self) -> int:
        """m, the draws of an update."""
        return self._sizes.draws

    @property
    def batch(self) -> int:
        """b, the mistakes that an update averages."""
        return self._sizes.batch

    @property
    def fires_at(self) -> float:
        """L, the mistakes at which AboveThreshold fires, but for noise."""
        if self.threshold is not None:
            return self.threshold
        return self.batch + self._accuracy(self.rounds, self.most_updates)

    @property
    def watch_epsilon(self) -> float:
        """ε₀ of every instance of AboveThreshold, and of all together."""
        return self.watching * self.epsilon

    @property
    def lead(self) -> float:
        """By how much the target's product exceeds that of w at an update, in the proof: (1 − c)ρ."""
        return (1 - self.c) * self.concepts.margin

    @cached_property
    def _sizes(self) -> Sizes:
        if self.rate is None and self.cached is not None:
            batch = self.cached
            eta = largest_affordable(lambda rate: self._cost_within_lead(rate, batch), self._draws_epsilon)
        else:
            eta = self.lead if self.rate is None else self.rate
            batch = self.cached or self._cheap_batch(eta)
        updates = self._updates(eta)
        return Sizes(eta=eta, updates=updates, draws=self._draws(updates), batch=batch)

    def _updates(self, eta: float) -> int:
        if self.updates is not None:
            return min(self.updates, self.rounds)
        most = most_updates(self.concepts.dimension, eta, self.lead)
        if math.isinf(most):
            raise InvalidArgument(
                "no theorem tells K for a rate of 2(1 - c) margins or more",
                value=eta,
                remedy=f"Set updates, or a rate below {2 * self.lead:.4g}.",
            )
        return min(max(1, math.floor(most)), self.rounds)

    def _draws(self, updates: int) -> int:
        """m, the least at which K·T pairs of ŵ and a point go wrong with probability β/2 at most."""
        if self.draws is not None:
            return self.draws
        pairs = updates * self.rounds
        return math.ceil(2 * math.log(2 * pairs / self.beta) / (self.c * self.concepts.margin) ** 2)

    def _cheap_batch(self, eta: float) -> int:
        updates = self._updates(eta)
        total = updates * self._draws(updates)
        return math.ceil(4 * eta / largest_width(total, epsilon=self._draws_epsilon, slack=self.delta))

    # --- what it promises -----------------------------------------------------------------------------------

    @property
    def claim(self) -> Claim:
        draws = self._cost(self.eta, self.batch)
        return Claim(
            epsilon=self.watch_epsilon + draws.epsilon,
            delta=draws.delta,
            protects=(PrivacyUnit.STREAM_EXAMPLE,),
        )

    @property
    def paper_epsilon(self) -> float:
        """ε of the same run by the composition in the proof of Theorem 4.4, at the same δ."""
        updates, draws, width = (
            self.most_updates,
            self.most_updates * self.draws_each,
            4 * self.eta / self.batch,
        )
        if not self.delta:
            return (
                basic_composition(updates, self.watch_epsilon).epsilon
                + basic_composition(draws, width).epsilon
            )
        watched = advanced_composition(updates, self.watch_epsilon, slack=self.delta / 2)
        return watched.epsilon + advanced_composition(draws, width, slack=self.delta / 2).epsilon

    @property
    def printed(self) -> str:
        """The constants of Theorem 4.5, rebuilt from its proof, and the mistakes that it then bounds."""
        if not self.delta:
            return "Theorem 4.4 takes a positive δ"
        constants = winnow_constants(
            self.concepts.dimension,
            self.concepts.margin,
            c=self.c,
            epsilon=self.epsilon,
            delta=self.delta,
            beta=self.beta,
            rounds=self.rounds,
        )
        return str(constants)

    @property
    def _draws_epsilon(self) -> float:
        return self.epsilon - self.watch_epsilon

    def _cost(self, eta: float, batch: int) -> Guarantee:
        """What all draws cost."""
        updates = self._updates(eta)
        return renyi_composition(updates * self._draws(updates), 4 * eta / batch, slack=self.delta)

    def _cost_within_lead(self, eta: float, batch: int) -> float:
        return self._cost(eta, batch).epsilon if eta <= self.lead else math.inf

    def _accuracy(self, rounds: int, updates: int) -> float:
        """α: with probability 1 − β/2 no instance errs by more, of which there is one more than updates."""
        alone = running_sum_error(rounds, self.beta / 2, epsilon=self.watch_epsilon)
        return alone + math.log(updates + 1) / self.watch_epsilon

    def bound(self, rounds: int) -> Bound | None:
        """Theorem 4.5 with explicit constants, where the settings meet it and it says something."""
        updates = most_updates(self.concepts.dimension, self.eta, self.lead)
        if rounds > self.rounds or math.isinf(updates):
            return None
        updates = math.floor(updates)
        error = self._accuracy(rounds, updates)
        flips = updates * rounds * math.exp(-self.draws_each * (self.c * self.concepts.margin) ** 2 / 2)
        mistakes = updates * (self.fires_at + error + 1) + self.fires_at + error
        full = self.fires_at - error >= self.batch * (1 - 1e-12)
        proved = updates <= self.most_updates and full and flips <= self.beta / 2 * (1 + 1e-12)
        if not proved or mistakes >= rounds:
            return None
        return Bound(mistakes, MISTAKES, self.beta, "Theorem 4.5 of Bun and Fang", oblivious=True)

    def start(self, games: int, rng: np.random.Generator) -> DpWinnowState:
        """Raises: Unsupported if so many games need too much memory."""
        numbers = 3 * self.concepts.dimension
        if games * numbers > MOST_NUMBERS:
            raise Unsupported(
                f"{games:,} games of {numbers:,} numbers each are over {MOST_NUMBERS:,} numbers",
                remedy=f"Play {MOST_NUMBERS // numbers:,} games at a time.",
            )
        return DpWinnowState(self, games, rng)


class DpWinnowState:
    """dp-winnow at a table."""

    def __init__(self, spec: DpWinnow, games: int, rng: np.random.Generator) -> None:
        self._class = spec.concepts
        self._rng = rng
        self._rounds = RoundBudget(spec.name, spec.rounds)
        self._draws, self._batch, self._threshold = spec.draws_each, spec.batch, spec.fires_at
        dimension = self._class.dimension
        self._scores = Multiplicative(games, dimension, rate=spec.eta / spec.batch)
        self._cache = np.zeros((games, dimension))
        self._cached = np.zeros(games, np.int64)
        self._left = np.full(games, spec.most_updates)
        kind = np.float32 if self._draws <= _SINGLE else np.float64
        self._shown = freeze(np.ones((games, dimension), kind))
        self._watch = RunningSum(games, rng, thresholds=self._threshold, epsilon=spec.watch_epsilon)

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        return Hypothesis(self._class, self._shown)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        points = self._class.check(x)
        wrong = says_one(self._shown, points) != y
        rows = np.flatnonzero(wrong & (self._cached < self._batch) & (self._left > 0))
        if rows.size:
            add_signed(self._cache, rows, points, y)
            self._cached[rows] += 1
        fired = self._watch.observe(wrong)
        if fired.any():
            self._update(np.flatnonzero(fired))

    def _update(self, rows: np.ndarray) -> None:
        self._scores.sums[rows] += self._cache[rows]
        self._cache[rows] = 0
        self._cached[rows] = 0
        shown = self._shown.copy()
        shown[rows] = self._rng.multinomial(self._draws, self._scores.weights(rows))
        self._shown = freeze(shown)
        self._left[rows] -= 1
        again = rows[self._left[rows] > 0]
        if again.size:
            self._watch.restart(again, self._threshold)
