"""Learners with known output distributions, and states that follow them, for tests of exact audits."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np
from scipy import stats

from arena import AnswerLaw, Claim, Density, Finite, Learner, PrivacyUnit, Sample, Training, ValueLaw
from learners.mechanisms.noise import laplace_nodes
from learners.mechanisms.sparse_vector import BetweenThresholds

BOTH = (PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY)
ZEROS = Sample([0.5], [0], [10])
ONE_MORE = ZEROS.replace_one(0, 0.5, 1)  # its neighbour: one label is 1


def ones(sample: Sample) -> float:
    return float(sample.counts @ sample.labels)


# --- laws of one value --------------------------------------------------------------------------------------


def laplace(location: float, scale: float = 1.0, share: float = 1.0) -> Density:
    return Density(
        log=lambda x: np.log(share) + stats.laplace.logpdf(x, location, scale),
        kinks=(location,),
        low=location - 40 * scale,
        high=location + 40 * scale,
        scale=scale,
    )


def gaussian(location: float, sigma: float = 1.0) -> Density:
    return Density(
        log=lambda x: stats.norm.logpdf(x, location, sigma),
        kinks=(),
        low=location - 9 * sigma,
        high=location + 9 * sigma,
        scale=sigma,
    )


def uniform(location: float) -> Density:
    return Density(
        log=lambda x: np.where(np.abs(x - location) <= 0.5, 0.0, -np.inf),
        kinks=(location - 0.5, location + 0.5),
        low=location - 0.5,
        high=location + 0.5,
        scale=1.0,
    )


# --- learners before Release --------------------------------------------------------------------------------


@attrs.frozen
class Releasing(Learner):
    """Releases a value whose `distribution` depends on the number of labels 1; it claims (epsilon, delta)."""

    name = "releasing"
    protocols = ("Release",)
    distribution: Callable[[float], ValueLaw] = laplace
    epsilon: float = 1.0
    delta: float = 0.0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=self.delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def law(self, sample: Sample) -> ValueLaw:
        return self.distribution(ones(sample))

    def start(self, games: int, rng: np.random.Generator) -> ReleasingState:
        return ReleasingState(self, rng)


@attrs.frozen
class ReleasingState:
    """Draws from the distribution."""

    learner: Releasing
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        values = [self._draw(self.learner.law(sample), len(training.which)) for sample in training.samples]
        return np.array(values)[training.which, np.arange(len(training.which))]

    def _draw(self, law: ValueLaw, games: int) -> np.ndarray:
        if isinstance(law, Finite):
            return law.values[self.rng.choice(len(law.values), games, p=law.probabilities)]
        if not isinstance(law, Density):  # a learner that declares a law of the wrong kind
            return np.zeros(games)
        x = np.linspace(law.low, law.high, 20_001)
        below = np.cumsum(np.exp(law.log((x[1:] + x[:-1]) / 2)))
        return np.interp(self.rng.random(games), np.append(0.0, below / below[-1]), x)


@attrs.frozen
class LaplaceCounter(Releasing):
    """The number of labels 1, with Laplace noise of scale 1/noise."""

    name = "laplace-counter"
    noise: float = 1.0

    def law(self, sample: Sample) -> ValueLaw:
        return laplace(ones(sample), 1 / self.noise)


def response(count: float) -> Finite:
    """Randomised response at ε = log 3."""
    return Finite([0, 1], [0.25, 0.75] if count else [0.75, 0.25])


# --- learners before Figure1 --------------------------------------------------------------------------------


@attrs.frozen
class Predicting(Learner):
    """Answers with the `distribution` for the number of labels 1."""

    name = "predicting"
    protocols = ("Figure1",)
    distribution: Callable[[float], AnswerLaw] = attrs.field(default=lambda count: Coin(0.5))
    epsilon: float = 1.0
    delta: float = 0.0
    protects: tuple[PrivacyUnit, ...] = BOTH

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=self.delta, protects=self.protects)

    def law(self, sample: Sample) -> AnswerLaw:
        return self.distribution(ones(sample))

    def start(self, games: int, rng: np.random.Generator) -> PredictingState:
        return PredictingState(self, games, rng)


class PredictingState:
    """Follows the hidden Markov chain of the distribution."""

    def __init__(self, learner: Predicting, games: int, rng: np.random.Generator) -> None:
        self.learner, self.rng = learner, rng
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        self.laws = [self.learner.law(training.samples[which]) for which in training.which]
        self.measures = [law.start() for law in self.laws]

    def predict(self, x: np.ndarray) -> np.ndarray:
        labels, halted = np.zeros(len(x), int), self.halted.copy()
        for game in np.flatnonzero(~halted):
            law = self.laws[game]
            after = law.step(self.measures[game][None], x[game : game + 1])[:, 0]
            masses = after.sum(axis=1)
            outcome = self.rng.choice(len(masses), p=masses / masses.sum())
            self.measures[game] = after[outcome] / masses[outcome]
            labels[game], halted[game] = law.outcomes[outcome]
        self.halted = halted
        return labels


class Coin(AnswerLaw):
    """Answers 1 with this probability, independently of all queries."""

    def __init__(self, chance: float) -> None:
        self.chance = chance

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.stack([measure * (1 - self.chance), measure * self.chance])


def telling_coin(count: float) -> Coin:
    """Probabilities 0.4 and 0.6: a loss of log 1.5 per answer."""
    return Coin(0.6 if count else 0.4)


class Budget(AnswerLaw):
    """Halts with certainty at the c-th query at 0.5, as the first version of GenericBBL did; answers are
    uniform."""

    outcomes = ((0, False), (1, False), (0, True), (1, True))

    def __init__(self, halts: int) -> None:
        self.halts = halts

    def start(self) -> np.ndarray:
        return np.eye(self.halts)[0]

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        spent = np.zeros_like(measure)
        spent[:, 1:] = measure[:, :-1]
        ends = np.zeros_like(measure)
        ends[:, -1] = measure[:, -1]
        ask = (x == 0.5)[:, None]
        goes_on, stops = np.where(ask, spent, measure), np.where(ask, ends, 0.0)
        return np.stack([goes_on, goes_on, stops, stops]) / 2


class Chain(AnswerLaw):
    """A hidden Markov chain: first (m,), table (queries, k, m, m); a point is the index of a transition
    table."""

    def __init__(self, first: np.ndarray, table: np.ndarray, outcomes: tuple[tuple[int, bool], ...]) -> None:
        self.first = first
        self.table = table
        self.outcomes = outcomes  # type: ignore[misc]

    def start(self) -> np.ndarray:
        return self.first

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.einsum("gm,gkmn->kgn", measure, self.table[x.astype(int)])


BETWEEN = {"lower": 0.4, "upper": 0.6, "epsilon": 0.5, "size": 40}


@attrs.frozen
class TableOfVotes(Learner):
    """BetweenThresholds on the votes x at point x, plus 1/40 if an odd number of labels is 1."""

    name = "table-of-votes"
    protocols = ("Figure1",)
    halts: int = 1

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=0.5 * self.halts, delta=0, protects=BOTH)

    def law(self, sample: Sample) -> BetweenLaw:
        return BetweenLaw(ones(sample) % 2 / 40, self.halts)

    def start(self, games: int, rng: np.random.Generator) -> VotesState:
        return VotesState(BetweenThresholds(games, rng, **BETWEEN, halts=self.halts))


class VotesState:
    def __init__(self, mechanism: BetweenThresholds) -> None:
        self.mechanism = mechanism

    @property
    def halted(self) -> np.ndarray:
        return self.mechanism.halted

    def train(self, training: Training) -> None:
        self.more = np.array([ones(sample) % 2 / 40 for sample in training.samples])[training.which]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.mechanism.respond(x + self.more)


class BetweenLaw(AnswerLaw):
    """States: halts spent times nodes of the hidden noise. It supports only votes at the points 0.1, 0.2,
    …"""

    outcomes = ((0, False), (1, False), (1, True))

    def __init__(self, more: float, halts: int) -> None:
        self.more, self.halts = more, halts
        votes = np.arange(1, 10) / 10 + more
        self.nodes, self.weights = laplace_nodes(2 / 20, [0.1, *(votes - 0.4), *(0.6 - votes)])

    def start(self) -> np.ndarray:
        return np.outer(np.eye(self.halts)[0], self.weights).ravel()

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        votes, scale = (x + self.more)[:, None], 6 / 20
        below = stats.laplace.cdf((0.4 + self.nodes - votes) / scale)
        above = stats.laplace.sf((np.maximum(0.6 - self.nodes, 0.4 + self.nodes) - votes) / scale)
        states = measure.reshape(len(x), self.halts, -1)
        top = states * (1 - below - above)[:, None]
        after = np.stack([states * below[:, None], states * above[:, None], np.zeros_like(states)])
        after[1, :, 1:] += top[:, :-1].sum(axis=2, keepdims=True) * self.weights
        after[2, :, -1] = top[:, -1]
        return after.reshape(3, *measure.shape)
