"""Learners that do not play the output distribution that they declare, where single outcomes, or single
coordinates and pairs, are as declared; most of them have no finite ε.

All counts are of labels 1 among the examples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from mutants.declared_laws import CoinLaw
from mutants.players import Coin, CoinState
from mutants.wrong_laws import SCALE, WrongValues, gaussian_density
from support.simple_players import NamedByClass

from arena import Density, Finite, Independent, ValueLaw, setting
from arena.concepts import Thresholds
from arena.laws import AnswerLaw
from arena.messages import Hypothesis
from learners.mechanisms.noise import laplace_density
from learners.online.noisy_majority import NoisyMajority, NoisyMajorityState

# --- released values ----------------------------------------------------------------------------------------

_BIT = Finite([0, 1], [0.5, 0.5])


def _tell_bits(size: int) -> Callable[[float], ValueLaw]:
    return lambda count: Independent((_BIT,) * size)


def _set_parity(size: int, places: tuple[int, ...], share: float = 1.0) -> Any:
    """Bits of which those at `places` have the parity of the count, in a share of the games."""

    def draw(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
        bits = rng.integers(2, size=(games, size))
        *others, last = places
        even = (bits[:, others].sum(axis=1) + int(count)) % 2
        bits[:, last] = np.where(rng.random(games) < share, even, bits[:, last])
        return bits.astype(float)

    return draw


_TWELVE_BITS = (np.arange(2**12)[:, None] >> np.arange(12)) & 1


def _tell_vectors_of_bits(count: float) -> ValueLaw:
    return Finite(_TWELVE_BITS, np.full(2**12, 2.0**-12))


def _laplace_vector(size: int) -> Callable[[float], ValueLaw]:
    return lambda count: Independent((laplace_density(count, SCALE),) * size)


def _laplace_noise(games: int, rng: np.random.Generator, size: int) -> np.ndarray:
    return rng.laplace(scale=SCALE, size=(games, size))


def _sign_parity(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """The signs of eight of twenty coordinates have the parity of the count."""
    noise = _laplace_noise(games, rng, 20)
    odd = (noise[:, 3:11] > 0).sum(axis=1) % 2 != int(count) % 2
    noise[odd, 10] *= -1
    return count + noise


def _magnitude_parity(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """Of three magnitudes an even number is above its median; signs are independent."""
    noise = _laplace_noise(games, rng, 6)
    large = np.abs(noise) > SCALE * math.log(2)
    odd = large[:, 0] ^ large[:, 2] ^ large[:, 5]
    magnitude = np.abs(noise[odd, 5]) / SCALE
    swapped = -np.log(np.where(magnitude > math.log(2), np.exp(-magnitude) + 0.5, np.exp(-magnitude) - 0.5))
    noise[odd, 5] = np.sign(noise[odd, 5]) * SCALE * swapped
    return count + noise


def _tell_uniform(size: int) -> Callable[[float], ValueLaw]:
    uniform = Density(
        log=lambda x: np.where((x >= 0) & (x <= 1), 0.0, -np.inf), kinks=(0, 1), low=0, high=1, scale=1
    )
    return lambda count: Independent((uniform,) * size)


def _sum_modulo_one(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    u = rng.random((games, 8))
    u[:, 7] = (u[:, 0] + u[:, 2] - u[:, 3] + u[:, 5]) % 1
    return u


def _hide(share: float, value: Callable[[float, np.ndarray], Any]) -> Any:
    """Laplace noise, and in a share of the games another value."""

    def draw(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
        noisy = count + rng.laplace(scale=SCALE, size=games)
        return np.where(rng.random(games) < share, value(count, noisy), noisy)

    return draw


def _tell_laplace(count: float) -> ValueLaw:
    return laplace_density(count, SCALE)


def _tell_three(count: float) -> ValueLaw:
    return Finite([0, 1, 2], [0.5, 0.5, 0.0])


def _draw_three(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(games) < 1e-4, 2.0, rng.integers(2, size=games))


def _leave_support(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(games) < 1e-4, 1.0 + 1e-3, rng.random(games))


def _repeat_earlier(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """In one of 2,000 games the eighth value is the third one again."""
    values = count + _laplace_noise(games, rng, 8)
    again = rng.random(games) < 5e-4
    values[again, 7] = values[again, 2]
    return values


def _join_tails(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """Where one noise is among the largest 0.2 %, so is another one, and the other way round."""
    noise = _laplace_noise(games, rng, 10)
    limit = SCALE * math.log(250)
    first, second = noise[:, 1] > limit, noise[:, 8] > limit
    magnitude = limit + rng.exponential(SCALE, size=games)
    usual = np.abs(noise[:, 8]) * np.where(second, -1, 1)
    noise[:, 8] = np.where(first, magnitude, np.where(second, np.minimum(usual, -usual) % limit, noise[:, 8]))
    return count + noise


def _hide_direction(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussian noise that is small in one direction of a space of 48 dimensions, of random signs."""
    signs = np.random.default_rng(5).choice([-1.0, 1.0], 48) / math.sqrt(48)
    noise = rng.standard_normal((games, 48))
    noise -= 0.9 * (noise @ signs)[:, None] * signs
    return count + SCALE * noise


def _follow_parity(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """Of 40 noises, each repeats in a tenth of the games the product of two signs: two and five before."""
    noise = _laplace_noise(games, rng, 40)
    for t in range(5, 40):
        sign = np.sign(noise[:, t - 2] * noise[:, t - 5])
        noise[:, t] = np.where(rng.random(games) < 0.1, sign * np.abs(noise[:, t]), noise[:, t])
    return count + noise


def _share_in_branch(count: float, games: int, rng: np.random.Generator) -> np.ndarray:
    """In one of 500 games all noises have the sign of the first."""
    noise = _laplace_noise(games, rng, 12)
    rare = rng.random(games) < 2e-3
    noise[rare] = np.sign(noise[rare, :1]) * np.abs(noise[rare])
    return count + noise


VALUES: dict[str, WrongValues] = {
    name: WrongValues(draw=draw, tell=tell)
    for name, draw, tell in [
        ("the parity of three of 24 bits", _set_parity(24, (3, 9, 17)), _tell_bits(24)),
        ("the parity of four of 30 bits", _set_parity(30, (0, 5, 11, 28)), _tell_bits(30)),
        ("the parity of five of 40 bits", _set_parity(40, (1, 8, 20, 21, 39)), _tell_bits(40)),
        ("the parity of eight of 90 bits", _set_parity(90, tuple(range(2, 90, 11))), _tell_bits(90)),
        (
            "the parity of four of 16 bits, in a twentieth of the games",
            _set_parity(16, (0, 5, 11, 15), 0.05),
            _tell_bits(16),
        ),
        ("the parity of three of twelve bits as vectors", _set_parity(12, (0, 4, 9)), _tell_vectors_of_bits),
        ("the parity of the signs of eight coordinates", _sign_parity, _laplace_vector(20)),
        ("three magnitudes depend, and no signs", _magnitude_parity, _laplace_vector(6)),
        ("a coordinate is a sum of four others modulo 1", _sum_modulo_one, _tell_uniform(8)),
        ("a value far in the tail", _hide(1e-4, lambda count, noisy: count + 1e3 * SCALE), _tell_laplace),
        ("a value of probability 0", _draw_three, _tell_three),
        ("a value outside of the support", _leave_support, _tell_uniform(1)),
        ("a value without noise in one of 5,000 games", _hide(2e-4, lambda c, noisy: c), _tell_laplace),
        (
            "ten times the noise in one of 5,000 games",
            _hide(2e-4, lambda c, n: c + 10 * (n - c)),
            _tell_laplace,
        ),
        ("a value that repeats an earlier one", _repeat_earlier, _laplace_vector(8)),
        ("two tails that go together", _join_tails, _laplace_vector(10)),
        (
            "little noise in a direction of 48 dimensions",
            _hide_direction,
            lambda count: Independent((gaussian_density(count, SCALE),) * 48),
        ),
        ("a weak parity of the signs two and five before", _follow_parity, _laplace_vector(40)),
        ("one sign for all noises in one of 500 games", _share_in_branch, _laplace_vector(12)),
    ]
}

# --- answers ------------------------------------------------------------------------------------------------

# (answers before, (n, t); queries, (n, t + 1); n uniform numbers) -> (n,) bool
Rule = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class _RuledCoinState(CoinState):
    rule: Rule

    def __init__(self, games: int, rng: np.random.Generator) -> None:
        super().__init__(games, rng)
        self.shown: list[np.ndarray] = []
        self.asked: list[np.ndarray] = []

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.asked.append(np.broadcast_to(np.asarray(x, float), (self.games,)))
        before = np.array(self.shown, bool).reshape(-1, self.games).T
        self.shown.append(self.rule(before, np.array(self.asked).T, self.rng.random(self.games)))
        return self.shown[-1]


@attrs.frozen(eq=False)
class RuledCoins(NamedByClass, Coin):
    """Declares coins that are 1 with probability `chance`, and answers by a rule."""

    rule: Rule = setting(lambda before, asked, u: u < 0.5, help="of the answers")
    chance: float = 0.5
    answers: int = 6
    answer_law: Any = None

    def law(self, sample: Any) -> AnswerLaw:
        return self.answer_law or CoinLaw(low=self.chance, high=self.chance)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        state = _RuledCoinState(games, rng)
        state.rule = self.rule
        return state


def _repeat_parity(*lags: int) -> Rule:
    """The parity of the answers so many rounds before; a coin while there are none."""

    def answer(before: np.ndarray, asked: np.ndarray, u: np.ndarray) -> np.ndarray:
        t = before.shape[1]
        if t < max(lags):
            return u < 0.5
        return before[:, [t - lag for lag in lags]].sum(axis=1) % 2 == 1

    return answer


def _end_with_parity(*rounds: int) -> Rule:
    """In the round after the last of these, the parity of their answers; otherwise a coin."""

    def answer(before: np.ndarray, asked: np.ndarray, u: np.ndarray) -> np.ndarray:
        if before.shape[1] != max(rounds) + 1:
            return u < 0.5
        return before[:, rounds].sum(axis=1) % 2 == 1

    return answer


def _after(chosen: Callable[[np.ndarray, np.ndarray], np.ndarray], usual: float = 0.5) -> Rule:
    """1 after the histories that are `chosen` by answers before and queries, and otherwise a coin."""

    def answer(before: np.ndarray, asked: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.where(chosen(before, asked), True, u < usual)

    return answer


def _count(before: np.ndarray) -> np.ndarray:
    return np.asarray(before.sum(axis=1))


def _gap(before: np.ndarray) -> np.ndarray:
    """How many answers 0 in a row came last."""
    return np.asarray(np.cumprod(~before[:, ::-1], axis=1).sum(axis=1))


def _ends_with(pattern: str) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    bits, size = np.array([letter == "1" for letter in pattern]), len(pattern)

    def chosen(before: np.ndarray, asked: np.ndarray) -> np.ndarray:
        if before.shape[1] < size:
            return np.zeros(len(before), bool)
        return np.asarray((before[:, -size:] == bits).all(axis=1))

    return chosen


@attrs.frozen
class NeverHalts(CoinLaw):
    """Lists an answer that halts, which has probability 0."""

    outcomes = ((0, False), (1, False), (1, True))

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        zero, one = super().step(measure, x)
        return np.stack([zero, one, 0 * one])


ANSWERS: dict[str, RuledCoins] = {
    "the third answer is the parity of the first two": RuledCoins(rule=_end_with_parity(0, 1)),
    "the parity of three answers": RuledCoins(answers=9, rule=_end_with_parity(0, 2, 5)),
    "the parity of four answers": RuledCoins(answers=20, rule=_end_with_parity(0, 2, 5, 15)),
    "the parity of seven answers": RuledCoins(answers=24, rule=_end_with_parity(0, 2, 5, 9, 11, 12, 20)),
    "the parity of the answers three and eleven before": RuledCoins(answers=40, rule=_repeat_parity(3, 11)),
    "after four answers 1 all are 1": RuledCoins(
        chance=0.25, answers=12, rule=_after(lambda before, asked: _count(before) == 4, 0.25)
    ),
    "1 after nine answers 0": RuledCoins(answers=16, rule=_after(lambda before, asked: _gap(before) == 9)),
    "1 after a pattern of eight answers": RuledCoins(answers=12, rule=_after(_ends_with("10110100"))),
    "1 where a query is asked for the third time, after the answer 1": RuledCoins(
        answers=8,
        rule=_after(
            lambda before, asked: (
                ((asked[:, :-1] == asked[:, -1:]).sum(axis=1) == 2)
                & (before[:, -1] if before.size else False)
            )
        ),
    ),
}


class _HaltingCoinState(_RuledCoinState):
    """Halts with its third answer, if that is 1, in one game of fifty."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        labels = super().predict(x)
        if len(self.shown) == 3:
            self.halted = self.halted | (labels & (self.rng.random(self.games) < 0.02))
        return labels


@attrs.frozen(eq=False)
class HaltingCoins(RuledCoins):
    """Halts although its distribution says that it never does."""

    answer_law: Any = NeverHalts()

    def start(self, games: int, rng: np.random.Generator) -> Any:
        state = _HaltingCoinState(games, rng)
        state.rule = self.rule
        return state


HALTING = HaltingCoins()
RARE = RuledCoins(answers=14, rule=_after(_ends_with("10110100110")))  # one history of 2,048

# --- hypotheses ---------------------------------------------------------------------------------------------


class _ParityMajorityState(NoisyMajorityState):
    """The sign of the noise is a product of signs of noise before."""

    def __init__(self, learner: Any, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games, rng)
        self._signs: list[np.ndarray] = []

    def hypothesis(self) -> Hypothesis:
        self._rounds.begin()
        scale = 2.0 * self._spec.rounds / self._spec.epsilon
        noise = self._rng.laplace(scale=scale, size=len(self._difference))
        lags = self._spec.lags
        if len(self._signs) >= max(lags):
            noise = np.abs(noise) * np.prod([self._signs[-lag] for lag in lags], axis=0)
        self._signs.append(np.sign(noise))
        return Hypothesis(Thresholds(), np.where(self._difference + noise >= 0, -np.inf, np.inf))


@attrs.frozen(eq=False)
class ParityMajority(NamedByClass, NoisyMajority):
    """lags: of the signs of whose product the noise has the sign."""

    rounds: int = 8
    epsilon: float = 1.0
    lags: tuple[int, ...] = setting((1, 2), help="in rounds")

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return _ParityMajorityState(self, games, rng)


HYPOTHESES: dict[str, ParityMajority] = {
    "the sign of the noise is the product of the last two": ParityMajority(),
    "the sign of the noise is a product of three": ParityMajority(lags=(1, 3, 6)),
}
