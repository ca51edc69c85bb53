"""Broken relatives of everlasting predictors and steady-thresholds, and the correct ones."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from support.simple_players import NamedByClass

from adversaries.common.training_samples import build_tied_sample
from adversaries.figure1.base import find_vote_points
from arena import Adversary, Learner, Moves, Queries, Query, Sample, Train
from learners.everlasting.bbl_round import BBLRound
from learners.everlasting.everlasting_counter import CounterState, EverlastingCounter
from learners.everlasting.everlasting_gaussian import EverlastingGaussian, GaussianState
from learners.everlasting.generic_bbl_state import StreamingSubset
from learners.everlasting.paper_versions import EverlastingFresh, FreshState
from learners.mechanisms.accounting import Guarantee
from learners.mechanisms.sparse_vector import BetweenThresholds
from learners.mechanisms.steady_thresholds import CHANCE, MarkedVotes, SteadyThresholds, marked_votes_cost
from learners.predictors.vote_predictors import SteadyThresholdsPredictor, SteadyThresholdsState

# One round behind a small subset: what it claims is what the count of ⊤s shows of a query.
ROUND = EverlastingCounter(teachers=20_001, chunk=1, training_rate=0.02, answers=2_000, rounds=1)
MARKED = EverlastingGaussian(teachers=2_001, chunk=1, answers=3_000, rounds=1, halts=300, counter_epsilon=0.9)
# Its votes may show much, and so the votes of a tie that is asked for ever.
LOOSE = attrs.evolve(MARKED, delta=0.01, halts=18, counter_epsilon=3.0, noise=0.08, answers=20_000)
# Its votes show hardly anything, so that it claims what the count shows of a query.
QUIET = attrs.evolve(MARKED, halts=1_000, counter_epsilon=0.05, noise=1e-4)
STEADY = SteadyThresholdsPredictor(size=200, epsilon=0.1, alpha=0.4)


# --- queries ------------------------------------------------------------------------------------------------


class RefreshesState(CounterState):
    """counter-refreshes in a batch of games."""

    mechanism = BetweenThresholds

    def _open_round(self, round: BBLRound) -> None:
        self._between = self.mechanism(
            self._games,
            self._rng,
            lower=0.5 - self._learner.gap,
            upper=0.5 + self._learner.gap,
            epsilon=0.03,
            size=round.teachers,
            halts=self._learner.halts_in_round(round.index),
        )
        self._count = self._build_counter(round)

    @property
    def halted(self) -> np.ndarray:
        return self._stopped | self._between.halted

    def _answer_many(self, votes: np.ndarray) -> np.ndarray:
        labels = self._between.respond(votes[:, 0])
        self._cuts = self._between.cuts[:, None]
        self._stopped = self._stopped | self._count(self._between.between[:, None])[:, 0]
        return labels[:, None]


@attrs.frozen
class CounterRefreshes(NamedByClass, EverlastingCounter):
    """The slip: section 6.1 to the letter, a private count of the outcomes ⊤ of BetweenThresholds as printed.

    Its thresholds are drawn anew after each ⊤, so a query that causes one makes usual thresholds of unusual
    ones. By the law of known votes it loses 3.8 at δ = 1e-5 where 64 ⊤s are spent on runs of 8, and more
    where more may be spent on longer ones.
    """

    State = RefreshesState


class EverySecond(BetweenThresholds):
    """BetweenThresholds whose thresholds are drawn anew at every second outcome "between"."""

    def __init__(self, games: int, rng: np.random.Generator, **settings: float) -> None:
        self._starts = np.zeros(games, int)
        super().__init__(games, rng, **settings)  # type: ignore[arg-type]

    def _start(self, rows: np.ndarray) -> None:
        due = rows[self._starts[rows] % 2 == 0]
        self._starts[rows] += 1
        super()._start(due)


@attrs.frozen
class CounterRefreshesLate(CounterRefreshes):
    """The slip: that of counter-refreshes, with thresholds that are drawn anew after every second ⊤.

    A query that causes a ⊤ makes usual thresholds of unusual ones if it is the second one.
    """

    class State(RefreshesState):
        mechanism = EverySecond


@attrs.frozen
class CountsHalf(NamedByClass, EverlastingCounter):
    """The slip: the count has the noise of one that a query changes by 1/2. Loses 2ε_c."""

    @property
    def counter_epsilon_run(self) -> float:
        return 2 * super().counter_epsilon_run

    claim = ROUND.claim

    def stopping_count(self, index: int) -> float:
        return ROUND.stopping_count(index)


# --- training examples --------------------------------------------------------------------------------------


@attrs.frozen
class PaysForOneMark(NamedByClass, EverlastingGaussian):
    """The slip: the noise is that of a game which halts with its first mark. It halts with the 300th."""

    def _cost(self, index: int, answers: int, teachers: int, noise: float) -> Guarantee:
        sigma = 1 / noise
        return marked_votes_cost(1, size=teachers, sigma=sigma, gap=self.gap * sigma, slack=self.delta)


class DrawsAgainVotes(MarkedVotes):
    """Draws the noise of every answer anew, and charges none: few points are asked, and each but once."""

    def _draw(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._sigma * self._rng.standard_normal(values.shape), np.zeros(values.shape, bool)


class KeyedByVotes(MarkedVotes):
    """Takes the votes at a point for the point."""

    def respond(self, values: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        return super().respond(values, values)


class RemembersMarkedVotes(DrawsAgainVotes):
    """Draws anew until an answer is marked, and gives that one from then on."""

    def __init__(self, games: int, rng: np.random.Generator, **settings: Any) -> None:
        super().__init__(games, rng, **settings)
        self._noises: dict[tuple[int, float], float] = {}

    def respond(self, values: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        answers = []
        for k in range(values.shape[1]):
            fresh = values[:, k : k + 1] + self._sigma * self._rng.standard_normal((len(values), 1))
            marked = self._rng.random(len(values)) < CHANCE
            for game, x in enumerate(points[:, k].tolist()):
                if (game, x) in self._noises:
                    fresh[game] = self._noises[game, x]
                elif marked[game]:
                    self._noises[game, x] = fresh[game, 0]
            answers.append(fresh >= 0.5)
        self.cuts = np.full(values.shape, 0.5)
        return np.concatenate(answers, axis=1)


@attrs.frozen
class DrawsAgain(NamedByClass, EverlastingGaussian):
    """The slip: a point is charged once, but its noise is drawn anew whenever it is asked."""

    class State(GaussianState):
        _learner: DrawsAgain

        def _build_mechanism(self, round: BBLRound) -> MarkedVotes:
            usual = super()._build_mechanism(round)
            settings = {
                "sigma": 1 / round.noise,
                "gap": self._learner.gap / round.noise,
                "size": round.teachers,
            }
            return self._learner.mechanism(
                self._games, self._rng, halts=usual._halts, watch=usual._watch, **settings
            )

    mechanism: ClassVar[type[MarkedVotes]] = DrawsAgainVotes


@attrs.frozen
class NoiseByVotes(DrawsAgain):
    """The slip: points with equal votes are answered alike, so that answers show which votes are equal."""

    mechanism = KeyedByVotes


@attrs.frozen
class RemembersMarked(DrawsAgain):
    """The slip: an answer is remembered from its mark on, so that a query changes those of later ones."""

    mechanism = RemembersMarkedVotes


@attrs.frozen
class NeverHalts(NamedByClass, SteadyThresholdsPredictor):
    """The slip: it goes on after the last ⊤ that is paid for. No ε holds for all numbers of queries."""

    def law(self, sample):  # type: ignore[no-untyped-def]  # its author never told one
        return super(SteadyThresholdsPredictor, self).law(sample)

    def start(self, games: int, rng: np.random.Generator) -> SteadyThresholdsState:
        return super(NeverHalts, attrs.evolve(self, halts=10**9)).start(games, rng)


class TrueTops(SteadyThresholds):
    """Decides by the exact values which answers are "between"."""

    def respond(self, values: np.ndarray) -> np.ndarray:
        answers = super().respond(values)
        near = (values >= self._lower) & (values <= self._upper)
        self.halted = self.halted | near[:, 0]
        return answers


@attrs.frozen
class TrueTopsPredictor(NeverHalts):
    """The slip: noise is added to the answer, but what is paid for is decided without. No ε holds."""

    name = "true-tops"

    halts: int = 1

    def start(self, games: int, rng: np.random.Generator) -> SteadyThresholdsState:
        lower, upper = 0.5 - self.alpha, 0.5 + self.alpha
        mechanism = TrueTops(
            games, rng, lower=lower, upper=upper, epsilon=self.epsilon, size=self.size, halts=1
        )
        return SteadyThresholdsState(self, games, mechanism)


# --- adversaries --------------------------------------------------------------------------------------------


@attrs.frozen
class AsksOnePoint(NamedByClass, Adversary):
    """One of 2,001 examples has another label, and its point is asked so often. The score: the answers 1."""

    protocols = ("Figure1",)

    times: int
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = Sample([0.5, 0.5], [0, 1], [1_001, 1_000])
        yield Train(sample, sample.replace_one(0, 0.5, 1))
        reply = yield Queries([0.5] * self.times)
        return reply.label.sum(axis=1)


@attrs.frozen
class AsksTheChallengeAgain(NamedByClass, Adversary):
    """The challenge is one of two points, and the first is asked again. The score: all answers are equal."""

    protocols = ("Figure1",)

    times: int
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(build_tied_sample(self.learner))
        yield Query(0.25, 0.75)
        reply = yield Queries([0.25] * self.times)
        return (reply.label == reply.label[:, :1]).all(axis=1)


@attrs.frozen
class WaitsForTheHalt(NamedByClass, Adversary):
    """Asks a tie `before` times, then the challenge, clear or a tie, then `after` clear queries.

    The score is whether the learner has halted.
    """

    protocols = ("Figure1",)

    before: int
    after: int
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = build_tied_sample(self.learner)
        found = find_vote_points(self.learner, sample)
        yield Train(sample)
        yield Queries([found.split] * self.before)
        yield Query(found.clear, found.split)
        reply = yield Queries([found.clear] * self.after)
        return reply.halted[:, -1]


# A thousandth of the points is learned from, by one teacher, whose 32 answers tell it apart.
RARE = EverlastingFresh(
    teachers=40_000,
    chunk=1,
    training_rate=0.02,
    rate=0.001,
    answers=8,
    noise=0.4,
    delta=0.5,
    pool=2_000,
    rounds=2,
)
# Every point is learned from, and answers tell of it.
EVERY = EverlastingFresh(teachers=4, chunk=1, training_rate=0.1, rate=1.0, answers=2, noise=1.0, pool=2)
QUIET_FRESH = attrs.evolve(EVERY, rate=0.2, noise=0.01, pool=10)  # nothing but a halt tells much


class FirstOnes(StreamingSubset):
    """Keeps the first points of the stream."""

    def offer(self, x: np.ndarray) -> None:
        here = x[:, : self._choose - self._segment]
        self._chosen_points.append(here)
        self._segment += here.shape[1]

    def collect(self) -> np.ndarray:
        return np.concatenate(self._chosen_points, axis=1)


@attrs.frozen
class FirstShare(NamedByClass, EverlastingFresh):
    """The slip: D̂_i are the first points of D_i, and no random part of them, so that no chance of being left
    out protects a point. Whoever comes first is learned from for certain.
    """

    class State(FreshState):
        def _new_pool(self, index: int) -> StreamingSubset:
            usual = super()._new_pool(index)
            return FirstOnes(self._games, of=usual._to_come, choose=usual._choose, rng=self._rng)


@attrs.frozen
class CountsKinds(NamedByClass, EverlastingFresh):
    """The slip: what came before is not counted again, so that a world may have too few points to go on and
    stop, where the other does not. No ε holds.
    """

    class State(FreshState):
        def receive_unlabelled(self, x: np.ndarray) -> None:
            super().receive_unlabelled(x)
            self.came = np.concatenate([getattr(self, "came", x[:, :0]), x], axis=1)
            if self._ready:
                kinds = np.array([len(np.unique(row)) for row in self.came])
                self._stopped = self._stopped | (kinds < 2)


@attrs.frozen
class LeaksQueries(NamedByClass, EverlastingFresh):
    """The slip: queries are points like others, so they are learned from too, and cost (0, 0) no longer."""

    class State(FreshState):
        def _add_queries(self, x: np.ndarray) -> None:
            self.receive_unlabelled(x)
