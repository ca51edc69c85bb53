"""everlasting-counter: GenericBBL that charges only close votes, and halts by a private count of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import ceil, exp
from typing import Any

import attrs
import numpy as np

from arena.claims import Bound
from arena.errors import InvalidArgument, Unsupported
from arena.sample import Sample
from arena.settings import count_setting, less_than, more_than, one_of, setting
from learners.common.teacher_votes import Electorate, SteadyThresholdsLaw
from learners.everlasting.bbl_round import BBLRound
from learners.everlasting.first_round_law import FirstRoundLaw, first_round_law
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.generic_bbl_state import HaltingBBLState
from learners.mechanisms.accounting import Guarantee, best_composition, compose_advanced, largest_affordable
from learners.mechanisms.counters import BinaryCounter, binary_counter_lag
from learners.mechanisms.noise import laplace_cdf, laplace_nodes
from learners.mechanisms.sparse_vector import RunningSum, running_sum_lag
from learners.mechanisms.steady_thresholds import ANSWERS_AT_ONCE, SteadyThresholds, steady_thresholds_cost

CROSSING, BINARY = "crossing", "binary"
_HARD_STOP_SHARE = 0.01  # the probability of the hard stop, as a fraction of δ


@attrs.frozen
class EverlastingCounter(GenericBBL):
    """GenericBBL that charges only close votes: section 6.1 of Private Everlasting Prediction, v2.

    Only answers whose noisy vote lies within `gap` of 1/2 ("between", ⊤) are charged. When a private count of
    them crosses a threshold, the learner halts for good; a hard stop at the c_i-th ⊤ comes first with
    probability at most δ/100. Privacy: docs/proofs/everlasting_counter.md.

    Deviations: the thresholds are fixed (`SteadyThresholds`), since those of BetweenThresholds leak. ⊤ is
    answered by the noisy majority. c_i = `halts`·2^{i−1}. counter: "binary" is the paper's mechanism, which
    needs thousands of halts; "crossing" reveals only when the threshold is crossed.
    """

    name = "everlasting-counter"
    theorem = "section 6.1 of Private Everlasting Prediction, v2; docs/proofs/everlasting_counter.md"

    halts: int = count_setting(128, help="c_1, the most charged answers of round 1, doubled every round")
    gap: float = setting(
        0.25,
        unit="fraction",
        help="the largest distance from 1/2 of a noisy vote that is charged",
        check=[more_than(0), less_than(0.5)],
    )
    counter: str = setting(
        CROSSING, help="the count of charged answers: crossing or binary", check=one_of(CROSSING, BINARY)
    )
    counter_epsilon: float | None = setting(None, unit="nats", help="ε_c, for the count; default: ε/2")

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        for index in range(1, min(self.rounds or 3, 3) + 1):  # in later rounds halts grow faster than the lag
            self.stopping_count(index)

    def bound(self, rounds: int) -> Bound | None:
        """The bound of v2, whose answers these are until it halts; section 6.1 promises nothing."""
        bound = super().bound(rounds)
        return None if bound is None else attrs.evolve(bound, promised=False)

    def law(self, sample: Sample) -> FirstRoundLaw:
        """The distribution with rounds=1 and the counter "crossing", whose threshold is the hidden number.

        Raises: as `first_round_law`; Unsupported for the binary counter.
        """
        if self.counter != CROSSING:
            raise Unsupported(
                f"{self.name} does not declare the output distribution of its binary counter",
                remedy=f"Set counter={CROSSING}, or audit it by playing.",
            )

        @cache  # large in long rounds, and not needed if there is no distribution
        def list_hidden_numbers() -> tuple[np.ndarray, np.ndarray]:
            ahead = (np.arange(self.halts_in_round(1)) - self.stopping_count(1)) * self._bit_epsilon
            nodes, weights = laplace_nodes(1.0, ahead)
            return weights, laplace_cdf(ahead[:, None] - nodes)

        return first_round_law(
            self, sample, lambda teachers: self._vote_law(teachers, *list_hidden_numbers())
        )

    def _vote_law(self, teachers: Electorate, weights: np.ndarray, stops: np.ndarray) -> SteadyThresholdsLaw:
        run, halts = self.round(1), self.halts_in_round(1)
        size, epsilon = run.teachers, run.noise
        return SteadyThresholdsLaw(
            teachers, alpha=self.gap, epsilon=epsilon, size=size, halts=halts, weights=weights, stops=stops
        )

    def start(self, games: int, rng: np.random.Generator) -> CounterState:
        return CounterState(self, games, rng)

    @property
    def counter_epsilon_run(self) -> float:
        """ε_c."""
        return self.counter_epsilon or self.epsilon / 2

    @property
    def _bit_epsilon(self) -> float:
        """What the count costs if one answer is charged that would not be; a query changes one answer."""
        return self.counter_epsilon_run

    def halts_in_round(self, index: int) -> int:
        return self.halts * 2 ** (index - 1)

    def stopping_count(self, index: int) -> float:
        """θ of a round, at which it halts. Raises: InvalidArgument if the count lags behind the hard stop."""
        beta, epsilon = _HARD_STOP_SHARE * self.delta, self._bit_epsilon
        if self.counter == CROSSING:
            lag = running_sum_lag(beta, epsilon=epsilon)
        else:
            lag = binary_counter_lag(self._answers(index), beta, epsilon=epsilon)
        if self.halts_in_round(index) - lag < 1:
            crossing = "" if self.counter == CROSSING else f", or set counter to {CROSSING}"
            raise InvalidArgument(
                f"the {self.counter} counter may lag {lag:,.1f} answers behind, so that round {index} needs "
                f"halts of at least {ceil((lag + 1) / 2 ** (index - 1)):,}",
                value=self.halts,
                remedy=f"Raise halts or counter_epsilon{crossing}.",
            )
        return self.halts_in_round(index) - lag

    def _noise(self, index: int, answers: int) -> float:
        """The largest ε′ with which a round's answers cost ε; one that is set is halved every round."""
        if self.noise is not None:
            return self.noise / 2.0 ** (index - 1)
        teachers = self._teachers(index)
        return largest_affordable(
            lambda noise: self._cost(index, answers, teachers, noise).epsilon, self.epsilon
        )

    def _cost_of_answers(self, round: BBLRound) -> tuple[float, float]:
        cost = self._cost(round.index, round.answers, round.teachers, round.noise)
        if self.noise is None and round.index > 1:  # later rounds may cost ε, for which their noise is chosen
            return max(cost.epsilon, self.epsilon), cost.delta
        return cost

    def _cost(self, index: int, answers: int, teachers: int, noise: float) -> Guarantee:
        """The cost of changing one teacher, by the charged answers or by all."""
        slack = self.delta / 2
        compose = best_composition if index == 1 else compose_advanced
        gap = 2 * self.gap * teachers * noise
        charged = steady_thresholds_cost(self.halts_in_round(index), noise, gap=gap, slack=slack)
        return min(charged, compose(answers, noise, slack=slack), key=lambda cost: cost.epsilon)

    def _cost_of_query(self) -> Guarantee:
        next_round = super()._cost_of_query()
        count = self.counter_epsilon_run
        hard_stop = (exp(count) + 1) * _HARD_STOP_SHARE * self.delta
        return Guarantee(next_round.epsilon + count, next_round.delta + hard_stop)


class CounterState(HaltingBBLState):
    _learner: EverlastingCounter
    _mechanism: SteadyThresholds

    answers_at_once = ANSWERS_AT_ONCE

    def _build_mechanism(self, round: BBLRound) -> SteadyThresholds:
        lower, upper = 0.5 - self._learner.gap, 0.5 + self._learner.gap
        limits = self._limit_halts(round)
        return SteadyThresholds(
            self._games, self._rng, lower=lower, upper=upper, epsilon=round.noise, **limits
        )

    def _limit_halts(self, round: BBLRound) -> dict[str, Any]:
        halts = self._learner.halts_in_round(round.index)
        return {"size": round.teachers, "halts": halts, "watch": self._build_counter(round)}

    def _build_counter(self, round: BBLRound) -> Callable[[np.ndarray], np.ndarray]:
        """The private count of this round's ⊤s: from which answers are ⊤, which games halt."""
        stop, epsilon = self._learner.stopping_count(round.index), self._learner._bit_epsilon
        if self._learner.counter == CROSSING:
            return RunningSum(self._games, self._rng, thresholds=stop, epsilon=epsilon).observe_many
        counter = BinaryCounter((self._games,), self._rng, horizon=round.answers, epsilon=epsilon)
        stops = np.full(self._games, stop)

        def find_crossings(between: np.ndarray) -> np.ndarray:
            """(n, k) bool -> (n, j) bool: where the count reaches θ, up to the first time in any game."""
            reached = np.zeros(between.shape, bool)
            for i in range(between.shape[1]):
                reached[:, i] = counter.add(between[:, i]) >= stops
                if reached[:, i].any():
                    np.putmask(stops, reached[:, i], np.inf)
                    return reached[:, : i + 1]
            return reached

        return find_crossings

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        labels = self._mechanism.respond(votes)
        self._cuts = self._mechanism.cuts
        return labels
