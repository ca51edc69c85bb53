"""everlasting-gaussian: GenericBBL with constants at which it is both private and accurate."""

from __future__ import annotations

from collections.abc import Collection
from math import ceil, expm1, log, sqrt
from typing import ClassVar, Self

import attrs
import numpy as np

from arena.errors import InvalidArgument, Unsupported
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, count_setting, more_than, setting
from learners.common.teacher_votes import Electorate, MarkedVotesLaw
from learners.everlasting.bbl_round import PRACTICAL_ROUNDS, BBLRound
from learners.everlasting.everlasting_counter import CounterState, EverlastingCounter
from learners.mechanisms.accounting import Guarantee, label_boost_exact_guarantee
from learners.mechanisms.steady_thresholds import MarkedVotes, all_answers_cost, find_sigma, marked_votes_cost

_COUNT_SHARE = 0.05  # of ε, for the count of marks
_ANY_NUMBER = 2**50  # of points: a stand-in for sizes that grow without end


@attrs.frozen
class EverlastingGaussian(EverlastingCounter):
    """everlasting-counter with Gaussian noise on votes, a slower schedule, and costs that are computed.

    The default claims (1, 10^-6), and with probability 0.95 all its hypotheses of thresholds err on at most
    0.1 of any distribution: docs/everlasting.md. Privacy: docs/proofs/everlasting_gaussian.md.

    Deviations: answers and ⊤s are those of `MarkedVotes`. The noise of a round is the least with which its
    answers cost what ε leaves beside the next round's labels. λ, T and c grow by `growth` a round, and R by
    its square. S_1 is the whole sample, Ŝ_i has a rate of its own, and D̂_i the largest at which a query
    costs ε.
    """

    name = "everlasting-gaussian"
    remembers_answers: ClassVar[bool] = True
    theorem = "docs/proofs/everlasting_gaussian.md, after section 6.1 of Private Everlasting Prediction, v2"

    delta: float = setting(1e-6, unit="probability", help="δ for which noise is chosen")
    alpha_1: float = setting(0.1, unit="error rate", help="α_1, divided by `growth` a round")
    teachers: int = count_setting(23_000, help="T_1, multiplied by `growth` every round")
    chunk: int = count_setting(15, help="λ_1, examples per teacher, multiplied by `growth` every round")
    answers: int | None = count_setting(None, help="R_1, times `growth`² a round; default: for round 2")
    training_rate: float = setting(1.0, unit="fraction", help="of the sample, in S_1")
    rate: float | None = setting(
        None, unit="fraction", help="of queries, that LabelBoost sees; default: as 0.95·ε allows"
    )
    halts: int = count_setting(9_900, help="c_1, the most charged answers, multiplied by `growth` a round")
    gap: float = setting(
        1.2, unit="σ", help="distance from a tie over which charges fall by a factor e", check=more_than(0)
    )
    counter_epsilon: float | None = setting(None, unit="nats", help="ε_c, for the count; default: ε/20")
    growth: float = setting(1.06, help="the growth of a round", check=[at_least(1), at_most(2)])
    labelled_rate: float = setting(0.005, unit="fraction", help="of S_i, that LabelBoost sees")

    def __attrs_post_init__(self) -> None:
        if self.noise is None and self._budget <= 0:
            raise InvalidArgument(
                f"{self.name} can spend no more than ε on the labels of the next round, which cost "
                f"{self.epsilon - self._budget:.3g} nats",
                value=self.epsilon,
                remedy="Lower labelled_rate, or raise epsilon.",
            )
        super().__attrs_post_init__()

    def start(self, games: int, rng: np.random.Generator) -> GaussianState:
        return GaussianState(self, games, rng)

    @property
    def counter_epsilon_run(self) -> float:
        return self.counter_epsilon or _COUNT_SHARE * self.epsilon

    @property
    def _bit_epsilon(self) -> float:
        """Half of ε_c: a point that a query asks first is not charged later, so two answers change."""
        return self.counter_epsilon_run / 2

    @property
    def rate_run(self) -> float:
        if self.rate is not None:
            return self.rate
        through, _ = label_boost_exact_guarantee(self.epsilon, labelled=False)
        return expm1((1 - _COUNT_SHARE) * self.epsilon) / expm1(through)

    @property
    def labelled_rate_run(self) -> float:
        return self.labelled_rate

    @property
    def _growth(self) -> float:
        return self.growth

    @property
    def _small_sample_rate(self) -> float:
        return 1.0

    def adapt_to(self, sample_size: int) -> Self:
        """This learner, or for a smaller sample one with fewer teachers and charged answers."""
        adapted = super().adapt_to(sample_size)
        if adapted is self:
            return self
        least = 2 * ceil(self.halts - self.stopping_count(1))
        halts = max(least, ceil(self.halts * adapted.teachers / self.teachers))
        return attrs.evolve(adapted, halts=min(self.halts, halts))

    def with_practical_constants(self, *, rounds: int = PRACTICAL_ROUNDS, keep: Collection[str] = ()) -> Self:
        learner = super().with_practical_constants(rounds=rounds, keep=keep)
        return learner if learner.noise is None else learner._replace(keep, labelled_rate=1.0)

    def check_labellings(self, rounds: int | None, sample: Sample | None = None) -> None:
        """Raises: Unsupported unless LabelBoost can choose labellings in all rounds (None: without end),
        whatever the points, so that no answer is refused in a game that has begun."""
        points = self.round(1).examples if self.agnostic else 0
        if rounds is None:
            points = _ANY_NUMBER
        elif rounds > 1:
            run = self.round(rounds - 1)
            points = int(self.labelled_rate_run * run.examples + self.rate_run * run.answers)
        try:
            self.concepts.check_choice(points)
        except Unsupported as error:
            raise Unsupported(
                f"{self.name} relabels the points of each round with a concept, and {self.concepts} may have "
                "too many labellings of them to choose from, more in every round",
                value=f"rounds={'none' if rounds is None else rounds}",
                remedy="Set a class on a finite domain, thresholds, point functions, intervals or stumps, or "
                "rounds=1.",
            ) from error

    def halts_in_round(self, index: int) -> int:
        return ceil(self.halts * self.growth ** (index - 1))

    @property
    def _budget(self) -> float:
        """What the answers of a round may cost: that of round 1 if its noise is set."""
        if self.noise is not None:
            return self._cost(1, self._answers(1), self._teachers(1), self.noise).epsilon
        through_labels, _ = self._add_label_cost(0.0, 0.0)
        return self.epsilon - through_labels

    def _noise(self, index: int, answers: int) -> float:
        """1/σ; ε′ of the base is one over the scale of the noise in votes, too."""
        if self.noise is not None and index == 1:
            return self.noise
        teachers, budget = self._teachers(index), self._budget
        guess = sqrt(self.halts_in_round(index) * log(1 / self.delta)) / budget
        return 1 / find_sigma(
            lambda sigma: self._cost(index, answers, teachers, 1 / sigma).epsilon, budget, guess=guess
        )

    def _cost_of_answers(self, round: BBLRound) -> tuple[float, float]:
        cost = self._cost(round.index, round.answers, round.teachers, round.noise)
        if round.index > 1:  # later rounds may cost the budget, for which their noise is chosen
            return max(cost.epsilon, self._budget), cost.delta
        return cost

    def _cost(self, index: int, answers: int, teachers: int, noise: float) -> Guarantee:
        sigma, slack = 1 / noise, self.delta
        gap, halts = self.gap * sigma, self.halts_in_round(index)
        charged = marked_votes_cost(halts, size=teachers, sigma=sigma, gap=gap, slack=slack)
        each = all_answers_cost(answers, sigma=sigma, gap=gap, slack=slack)
        return min(charged, each, key=lambda cost: cost.epsilon)

    def _cost_of_new_labels(self, epsilon: float, delta: float, *, labelled: bool) -> Guarantee:
        return label_boost_exact_guarantee(epsilon, delta, labelled=labelled)

    def _has_small_noise(self, run: BBLRound) -> bool:
        return run.teachers * run.noise >= _noise_product(run.answers, run.beta)

    def _least_noise_product(self, rounds: int) -> float:
        betas = {index: self.beta_1 / self.growth ** (index - 1) for index in range(1, rounds + 1)}
        return max(_noise_product(self._answers(index), beta) for index, beta in betas.items())

    def _vote_law(self, teachers: Electorate, weights: np.ndarray, stops: np.ndarray) -> MarkedVotesLaw:
        size, sigma, halts = self.round(1).teachers, 1 / self.round(1).noise, self.halts_in_round(1)
        gap = self.gap * sigma
        return MarkedVotesLaw(
            teachers, sigma=sigma, gap=gap, size=size, halts=halts, weights=weights, stops=stops
        )


class GaussianState(CounterState):
    _learner: EverlastingGaussian
    _mechanism: MarkedVotes  # its answers depend on the points, too

    def train(self, training: Training) -> None:
        self._learner.check_labellings(self._learner.rounds)
        super().train(training)

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        labels = self._mechanism.respond(votes, self._queries)
        self._cuts = self._mechanism.cuts
        return labels

    def _build_mechanism(self, round: BBLRound) -> MarkedVotes:
        sigma, limits = 1 / round.noise, self._limit_halts(round)
        return MarkedVotes(self._games, self._rng, sigma=sigma, gap=self._learner.gap * sigma, **limits)


def _noise_product(answers: int, beta: float) -> float:
    """T/σ at which no noise of so many answers exceeds 1/16 except with probability beta."""
    return 16 * sqrt(2 * log(answers / beta))
