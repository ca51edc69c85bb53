"""Learners that do not play the output distribution that they declare, each in a way of its own.

All counts are of labels 1 among the examples, with noise of scale `SCALE` where nothing else is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
from support.simple_players import NamedByClass

from arena import Claim, Density, Finite, Independent, Learner, Mixture, PrivacyUnit, ValueLaw, setting
from arena.concepts import Thresholds
from arena.messages import Hypothesis
from learners.mechanisms.noise import laplace, laplace_density
from learners.online.noisy_majority import NoisyMajority, NoisyMajorityState
from learners.predictors.vote_predictors import NoisyAnswers, NoisyVotes, VotePredictorState

SCALE = 6.0
Draw = Callable[[float, int, np.random.Generator], np.ndarray]


@attrs.frozen(eq=False)
class WrongValues(NamedByClass, Learner):
    """Releases `draw(count, games, rng)`, and declares `tell(count)`."""

    draw: Draw = setting(lambda count, games, rng: np.zeros(games), help="what is released")
    tell: Callable[[float], ValueLaw] = setting(
        lambda count: Finite([0], [1]), help="its distribution, it says"
    )

    protocols = ("Release",)
    theorem = "none: what it declares is false"
    claim = Claim(epsilon=1.0, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def law(self, sample: Any) -> ValueLaw:
        return self.tell(float(sample.labels @ sample.counts))

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return _State(self, rng)


@attrs.frozen(eq=False)
class _State:
    learner: WrongValues
    rng: np.random.Generator

    def release(self, training: Any) -> np.ndarray:
        values: Any = None
        for sample, games in training.groups():
            drawn = self.learner.draw(float(sample.labels @ sample.counts), len(games), self.rng)
            values = np.empty((training.games, *drawn.shape[1:])) if values is None else values
            values[games] = drawn
        return np.asarray(values)


def gaussian_density(location: float, scale: float) -> Density:
    """The normal distribution."""

    def log(x: np.ndarray) -> np.ndarray:
        return -(((x - location) / scale) ** 2) / 2 - math.log(scale * math.sqrt(2 * math.pi))

    return Density(log=log, kinks=(), low=location - 9 * scale, high=location + 9 * scale, scale=scale)


def _vector(count: float, size: int = 6, density: Any = laplace_density) -> Independent:
    return Independent(tuple(density(count, SCALE) for _ in range(size)))


def _noise(games: int, rng: np.random.Generator, size: int = 6) -> np.ndarray:
    return rng.laplace(scale=SCALE, size=(games, size))


def _share_noise(first: int, last: int, factor: float) -> Draw:
    def draw(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
        noise = _noise(games, rng)
        noise[:, last] = factor * noise[:, first]
        return count + noise

    return draw


def _uniform(count: float) -> Density:
    return Density(
        log=lambda x: np.where((x >= 0) & (x <= 1), 0.0, -np.inf), kinks=(0, 1), low=0, high=1, scale=1
    )


def _add_modulo_one(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    u = rng.random((games, 5))
    u[:, 4] = (u[:, 0] + u[:, 2]) % 1
    return u


def _share_magnitude(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    magnitude = rng.exponential(SCALE, size=(games, 1))
    return count + magnitude * rng.choice([-1, 1], size=(games, 5))


def _correlate(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    common, own = rng.standard_normal((games, 1)), rng.standard_normal((games, 8))
    return count + SCALE * (math.sqrt(0.06) * common + math.sqrt(0.94) * own)


def _sort(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    values = count + _noise(games, rng, 3)
    values[:, 1:] = np.sort(values[:, 1:], axis=1)
    return values


_COUNTS = np.arange(20)


def _tell_twenty(count: float) -> Finite:
    return Finite(_COUNTS, np.full(20, 0.05))


def _favour(value: int, factor: float) -> Draw:
    chances = np.full(20, (1 - 0.05 * factor) / 19)
    chances[value] = 0.05 * factor
    return lambda count, games, rng: rng.choice(20, games, p=chances).astype(float)


_BITS = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T


def _draw_even_bits(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    bits = rng.integers(2, size=(games, 5))
    odd = bits.sum(axis=1) % 2 == 1
    swap = odd & (rng.random(games) < 0.2)
    bits[swap, 4] ^= 1
    return bits.astype(float)


def _tell_atom(count: float) -> Mixture:
    return Mixture([0.02, 0.98], [Finite([0.5], [1.0]), laplace_density(count, SCALE)])


def _draw_atom(chance: float) -> Draw:
    def draw(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(games) < chance, 0.5, count + rng.laplace(scale=SCALE, size=games))

    return draw


def _tell_mixture(count: float) -> Mixture:
    return Mixture([0.9, 0.1], [_vector(count, 3), _vector(count + 4, 3)])


def _draw_mixture(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """The right weights, but each coordinate chooses by itself."""
    return count + 4.0 * (rng.random((games, 3)) < 0.1) + _noise(games, rng, 3)


@attrs.frozen(eq=False)
class _DensityAlone(ValueLaw):
    """A distribution of a vector of which only the density is known: two Gaussians, by its scale."""

    count: float
    scale: float

    def log_density(self, values: np.ndarray) -> np.ndarray:
        apart = (np.asarray(values).reshape(len(values), 2) - self.count) / self.scale
        return np.asarray(-(apart**2).sum(axis=1) / 2 - 2 * math.log(self.scale))


def _scalar(law: Callable[..., Any] = laplace_density, **change: Any) -> Callable[[float], ValueLaw]:
    return lambda count: law(count, SCALE)


VALUES: dict[str, WrongValues] = {
    name: WrongValues(draw=draw, tell=tell)
    for name, draw, tell in [
        ("the first and the last coordinate share their noise", _share_noise(0, 5, 1.0), _vector),
        ("two coordinates have opposite noise", _share_noise(1, 4, -1.0), _vector),
        (
            "a coordinate is the sum of two others modulo 1",
            _add_modulo_one,
            lambda count: Independent(tuple(_uniform(count) for _ in range(5))),
        ),
        ("noise of one magnitude with signs of its own", _share_magnitude, partial(_vector, size=5)),
        (
            "a correlation of 0.06 of eight coordinates",
            _correlate,
            partial(_vector, size=8, density=gaussian_density),
        ),
        ("two coordinates are sorted", _sort, partial(_vector, size=3)),
        ("a probability of 0.05 is off by 15 %", _favour(7, 1.15), _tell_twenty),
        ("a probability of 0.05 is too small by 15 %", _favour(19, 0.85), _tell_twenty),
        (
            "bits whose parity is even too often",
            _draw_even_bits,
            lambda count: Finite(_BITS, np.full(32, 1 / 32)),
        ),
        ("an atom of 0.02 has 0.025", _draw_atom(0.025), _tell_atom),
        (
            "5 % less noise",
            lambda count, games, rng: count + rng.laplace(scale=0.95 * SCALE, size=games),
            _scalar(),
        ),
        (
            "noise that is cut at four scales",
            lambda count, games, rng: (
                count + np.clip(rng.laplace(scale=SCALE, size=games), -4 * SCALE, 4 * SCALE)
            ),
            _scalar(),
        ),
        (
            "Laplace noise for Gaussian noise",
            lambda count, games, rng: count + rng.laplace(scale=SCALE / math.sqrt(2), size=games),
            _scalar(gaussian_density),
        ),
        (
            "no noise in one game of a thousand",
            lambda count, games, rng: (
                count + rng.laplace(scale=SCALE, size=games) * (rng.random(games) > 1e-3)
            ),
            _scalar(),
        ),
        (
            "multiples of a half",
            lambda count, games, rng: np.round(2 * (count + rng.laplace(scale=SCALE, size=games))) / 2,
            lambda count: laplace_density(count, 0.6),
        ),
        (
            "a shift in one world",
            lambda count, games, rng: 1.2 * count + rng.laplace(scale=SCALE, size=games),
            _scalar(),
        ),
    ]
}

# Of kinds that have no exact loss, but likelihood ratios.
RATIOS = {
    "less noise than a density says": WrongValues(
        draw=lambda count, games, rng: count + 3.0 * rng.standard_normal((games, 2)),
        tell=lambda count: _DensityAlone(count, 6.0),
    ),
    "coordinates choose a part of a mixture by themselves": WrongValues(
        draw=_draw_mixture, tell=_tell_mixture
    ),
}

# --- answers and hypotheses ---------------------------------------------------------------------------------


class _RuledVotes(VotePredictorState):
    """Noisy votes whose noise is made by the learner's rule from the rounds before."""

    def __init__(self, learner: Any, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games, NoisyAnswers(learner, games, rng))
        self._rule, self._past, self._asked = learner.rule, [], []
        self._labels: list[np.ndarray] = []

    def predict(self, x: np.ndarray) -> np.ndarray:
        answers: Any = self._mechanism
        if answers._left == 0:
            return np.zeros(self._games, bool)
        answers._left -= 1
        fresh = laplace(answers._rng, np.empty(self._games), answers._scale).copy()
        noise = self._rule(fresh, self._past, self._labels, [np.asarray(x), *self._asked])
        self._past.append(noise)
        self._asked.insert(0, np.asarray(x))
        if answers._left == 0:
            answers.halted = np.ones(self._games, bool)
        self._labels.append(self._teachers.votes(x) + noise >= 0.5)
        return self._labels[-1]


@attrs.frozen(eq=False)
class RuledVotes(NamedByClass, NoisyVotes):
    """rule: (fresh noise, noise before, labels before, queries from the last on) -> the noise."""

    size: int = 11
    epsilon: float = 1.0
    answers: int = 4
    rule: Callable[..., np.ndarray] = setting(lambda fresh, *past: fresh, help="of the noise")

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return _RuledVotes(self, games, rng)


def _remember_query(
    fresh: np.ndarray, past: list[np.ndarray], labels: list[np.ndarray], asked: list[np.ndarray]
) -> np.ndarray:
    noise = fresh
    for before, x in zip(past, reversed(asked[1:]), strict=True):
        noise = np.where(x == asked[0], before, noise)
    return noise


ANSWERS: dict[str, RuledVotes] = {
    "less noise by a factor of 1.4": RuledVotes(rule=lambda fresh, *_: fresh / 1.4),
    "noise that returns after three answers": RuledVotes(
        answers=6, rule=lambda fresh, past, *_: past[-3] if len(past) >= 3 else fresh
    ),
    "no noise after eight answers": RuledVotes(
        answers=10, rule=lambda fresh, past, *_: fresh if len(past) < 8 else 0 * fresh
    ),
    "the same noise for the same query": RuledVotes(rule=_remember_query),
    "less noise after the answer 1": RuledVotes(
        rule=lambda fresh, past, labels, *_: np.where(labels[-1], 0.7, 1.0) * fresh if labels else fresh
    ),
    "less noise after three answers that agree": RuledVotes(
        answers=5,
        rule=lambda fresh, past, labels, *_: (
            np.where((labels[-1] == labels[-2]) & (labels[-2] == labels[-3]), 0.4, 1.0) * fresh
            if len(labels) >= 3
            else fresh
        ),
    ),
    "the sign of the noise alternates": RuledVotes(
        rule=lambda fresh, past, *_: -np.abs(fresh) * np.sign(past[-1]) if past else fresh
    ),
}


class _RuledMajority(NoisyMajorityState):
    def __init__(self, learner: Any, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games, rng)
        self._past: list[np.ndarray] = []

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        fresh = laplace(self._rng, self._noise, 2.0 * self._spec.rounds / self._spec.epsilon).copy()
        self._past.append(self._spec.rule(fresh, self._past))
        return Hypothesis(Thresholds(), np.where(self._difference + self._past[-1] >= 0, -np.inf, np.inf))


@attrs.frozen(eq=False)
class RuledMajority(NamedByClass, NoisyMajority):
    """rule: (fresh noise, noise before) -> the noise."""

    rounds: int = 6
    epsilon: float = 6.0
    rule: Callable[..., np.ndarray] = setting(lambda fresh, past: fresh, help="of the noise")

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return _RuledMajority(self, games, rng)


HYPOTHESES: dict[str, RuledMajority] = {
    "noise that returns after two rounds": RuledMajority(
        rule=lambda fresh, past: past[-2] if len(past) >= 2 else fresh
    ),
    "less noise from the fourth round on": RuledMajority(
        rule=lambda fresh, past: fresh / (1.4 if len(past) >= 3 else 1.0)
    ),
    "one draw for all rounds": RuledMajority(rule=lambda fresh, past: past[0] if past else fresh),
}
