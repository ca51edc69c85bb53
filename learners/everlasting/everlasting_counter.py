"""everlasting-counter: GenericBBL with the answers of section 6.1, few of which are paid for, and a private
count of these that stops it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, exp

import attrs
import numpy as np

from arena.bounds import Bound
from arena.errors import InvalidArgument
from arena.settings import at_least, less_than, more_than, one_of, setting, whole
from learners.everlasting.generic_bbl import BBLRound, GenericBBL
from learners.everlasting.generic_bbl_state import HaltingBBLState
from learners.mechanisms.accounting.composition import Guarantee, advanced_composition, best_composition
from learners.mechanisms.accounting.monotone_search import largest_affordable
from learners.mechanisms.counters.binary_counter import BinaryCounter, binary_counter_lag
from learners.mechanisms.sparse_vector.running_sum import RunningSum, running_sum_lag
from learners.mechanisms.sparse_vector.steady_thresholds import (
    TOGETHER,
    SteadyThresholds,
    steady_thresholds_cost,
)

CROSSING, BINARY = "crossing", "binary"
_OF_HARD_STOP = 0.01  # the share of δ that is the chance of the hard stop


@attrs.frozen
class EverlastingCounter(GenericBBL):
    """Section 6.1 of Private Everlasting Prediction, v2: a round's queries are answered as in v2, but only
    those whose noisy votes lie within `gap` of 1/2 (⊤) are paid for; when a private count of them crosses a
    threshold the learner stops for good.

    Deviations. BetweenThresholds draws new thresholds after each ⊤, and so lets a query that causes one
    change the law of later answers: no private counter hides that (`adversaries.figure1.stale_thresholds`). Here
    thresholds stay, and need no noise (`learners.mechanisms.sparse_vector.steady_thresholds`); ⊤ is answered by the noisy
    majority. c_i = `halts`·2^{i−1}, the paper's order α_i·R_i.

    Votes. For one changed teacher the answers of a round cost what `steady_thresholds_cost` says of c_i ⊤s, or v2's
    composition of all R_i answers, if that is less. It rests on a hard stop at the c_i-th ⊤. The counter is
    told nothing but which answers were ⊤, so it costs the votes nothing.

    Queries. The count has noise for ε_c = `counter_epsilon`, and the learner stops when it reaches θ_i, less
    than c_i by what the count may lag behind. A query that differs changes one bit of what is counted, since
    noise of answers is independent: by Claim E.6 other labels follow the same law. So a learner without the
    hard stop shows ε_c of the query. The hard stop comes before the other with probability β_c = δ/100 at
    most, whatever is asked: until either comes, the asker hears nothing of the counter's noise, so the time
    of the c_i-th ⊤ is as if chosen before that noise; and then the count is at least c_i − θ_i too low. Two
    learners whose views are at most β_c apart lose (e^{ε_c} + 1)·β_c more in δ. To that the query's part in
    the next round is added, which is that of v2.

    counter: "binary", of Dwork, Naor, Pitassi, Rothblum (2010), as the paper has it, tells every count and
    may lag thousands behind: it takes halts of about 6,000, six times the noise on votes and games of as many
    queries. The default, "crossing", tells one thing only, when a threshold is crossed, and lags 35 behind.
    """

    name = "everlasting-counter"
    theorem = "section 6.1 of Private Everlasting Prediction, v2 (a sketch), with the proof of steady_cost"

    halts: int = setting(
        128,
        help="c_1, the ⊤s of a round on which privacy rests, doubled every round",
        check=[whole, at_least(1)],
    )
    gap: float = setting(
        0.25,
        unit="fraction",
        help="an answer is paid for where the noisy vote is so near to 1/2",
        check=[more_than(0), less_than(0.5)],
    )
    counter: str = setting(
        CROSSING, help="how ⊤s are counted: crossing or binary", check=one_of(CROSSING, BINARY)
    )
    counter_epsilon: float | None = setting(
        None, unit="nats", help="ε_c, what the count shows of a query; default: ε/2", check=more_than(0)
    )

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        for index in range(1, min(self.rounds or 3, 3) + 1):  # from then on halts grow faster than the lag
            self.stops_at(index)

    def bound(self, rounds: int) -> Bound | None:
        """That of v2, whose answers these are until it stops; section 6.1 promises nothing."""
        found = super().bound(rounds)
        return None if found is None else attrs.evolve(found, promised=False)

    def start(self, games: int, rng: np.random.Generator) -> CounterState:
        return CounterState(self, games, rng)

    # --- what is run ------------------------------------------------------------------------------

    @property
    def counter_epsilon_run(self) -> float:
        """ε_c."""
        return self.epsilon / 2 if self.counter_epsilon is None else self.counter_epsilon

    def halts_in(self, index: int) -> int:
        """c of a round."""
        return self.halts * 2 ** (index - 1)

    def stops_at(self, index: int) -> float:
        """θ of a round: the private count with which it stops.

        Raises: InvalidArgument if the hard stop leaves no room for it.
        """
        behind = self._lag(index)
        if self.halts_in(index) - behind < 1:
            crossing = "" if self.counter == CROSSING else f", or set counter to {CROSSING}"
            raise InvalidArgument(
                f"the {self.counter} counter may lag {behind:,.1f} ⊤s behind, so that round {index} takes "
                f"halts of at least {ceil((behind + 1) / 2 ** (index - 1)):,}",
                value=self.halts,
                remedy=f"Raise halts or counter_epsilon{crossing}.",
            )
        return self.halts_in(index) - behind

    def _lag(self, index: int) -> float:
        beta = _OF_HARD_STOP * self.delta
        if self.counter == CROSSING:
            return running_sum_lag(beta, epsilon=self.counter_epsilon_run)
        return binary_counter_lag(self._answers(index), beta, epsilon=self.counter_epsilon_run)

    def _noise(self, index: int, answers: int) -> float:
        """The largest ε′ with which a round's answers cost ε; half as much every round if it is set."""
        if self.noise is not None:
            return self.noise / 2.0 ** (index - 1)
        teachers = self._teachers(index)
        return largest_affordable(
            lambda noise: self._cost(index, answers, teachers, noise).epsilon, self.epsilon
        )

    # --- privacy ----------------------------------------------------------------------------------

    def _answering(self, round: BBLRound) -> tuple[float, float]:
        cost = self._cost(round.index, round.answers, round.teachers, round.noise)
        if self.noise is None and round.index > 1:  # what the noise of all later rounds is chosen for
            return max(cost.epsilon, self.epsilon), cost.delta
        return cost

    def _cost(self, index: int, answers: int, teachers: int, noise: float) -> Guarantee:
        """Of one teacher, by the ⊤s or by all answers. Later rounds have more answers: there only a bound
        that does not grow with the rounds will do, when noise is set. `steady_thresholds_cost` has one: its s is
        convex in h and 0 at 0, so with twice the ⊤s at half of h the λ of round 2 costs no more later on.
        """
        slack = self.delta / 2
        each = best_composition if index == 1 else advanced_composition
        by_tops = steady_thresholds_cost(
            self.halts_in(index), noise, gap=2 * self.gap * teachers * noise, slack=slack
        )
        return min(by_tops, each(answers, noise, slack=slack), key=lambda cost: cost.epsilon)

    def _cost_of_query(self) -> Guarantee:
        """Through the count, and through the next round."""
        through = super()._cost_of_query()
        count = self.counter_epsilon_run
        return Guarantee(
            through.epsilon + count, through.delta + (exp(count) + 1) * _OF_HARD_STOP * self.delta
        )


class CounterState(HaltingBBLState):
    """everlasting-counter at a table."""

    _spec: EverlastingCounter
    _mechanism: SteadyThresholds
    _cuts: np.ndarray

    together = TOGETHER  # votes of more would be worked out in vain

    def _mechanism_of(self, round: BBLRound) -> SteadyThresholds:
        return SteadyThresholds(
            self._games,
            self._rng,
            lower=0.5 - self._spec.gap,
            upper=0.5 + self._spec.gap,
            epsilon=round.noise,
            size=round.teachers,
            halts=self._spec.halts_in(round.index),
            watch=self._counter(round),
        )

    def _counter(self, round: BBLRound) -> Callable[[np.ndarray], np.ndarray]:
        """A private count of this round's ⊤s: (n, k) bool -> the games that it stops with them, (n, j)."""
        stop, epsilon = self._spec.stops_at(round.index), self._spec.counter_epsilon_run
        if self._spec.counter == CROSSING:
            return RunningSum(self._games, self._rng, thresholds=stop, epsilon=epsilon).observe_many
        return _Told(self._games, self._rng, stop=stop, horizon=round.answers, epsilon=epsilon)

    @property
    def cuts(self) -> np.ndarray:
        return self._cuts

    def _answer(self, votes: np.ndarray) -> np.ndarray:
        labels = self._answer_many(votes[:, None])[:, 0]
        self._cuts = self._cuts[:, 0]
        return labels

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        labels = self._mechanism.respond(votes)
        self._cuts = self._mechanism.cuts
        return labels


class _Told:
    """The first time at which a count that is told after every answer reaches `stop`."""

    def __init__(
        self, games: int, rng: np.random.Generator, *, stop: float, horizon: int, epsilon: float
    ) -> None:
        self._counter = BinaryCounter((games,), rng, horizon=horizon, epsilon=epsilon)
        self._stop = np.full(games, stop)

    def __call__(self, top: np.ndarray) -> np.ndarray:
        """(n, k) bool -> (n, j) bool: True where it is reached, up to the first answer at which it is."""
        reached = np.zeros(top.shape, bool)
        for i in range(top.shape[1]):
            reached[:, i] = self._counter.add(top[:, i]) >= self._stop
            if reached[:, i].any():
                np.putmask(self._stop, reached[:, i], np.inf)
                return reached[:, : i + 1]
        return reached
