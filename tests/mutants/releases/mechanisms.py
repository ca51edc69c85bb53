"""Broken mechanisms, each wrong in one small way, and the check that must catch each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from support.laws.mechanism_laws import OF_ABOVE, OF_BETWEEN, check_laplace_law, check_selection

from learners.mechanisms.noise import laplace
from learners.mechanisms.selection import exponential_mechanism
from learners.mechanisms.sparse_vector import AboveThreshold, BetweenThresholds, RestartBudget


@attrs.frozen
class Mutant:
    """A broken mechanism, the check that catches it, and a part of what that check then says."""

    broken: Any
    check: Callable[..., None]
    says: str

    @property
    def name(self) -> str:
        return str(self.broken.__name__)


# --- Laplace noise ------------------------------------------------------------------------------------------


def scale_5_percent_large(rng: np.random.Generator, out: np.ndarray, scale: float = 1.0) -> np.ndarray:
    return laplace(rng, out, 1.05 * scale)


def variance_for_scale(rng: np.random.Generator, out: np.ndarray, scale: float = 1.0) -> np.ndarray:
    return laplace(rng, out, scale / np.sqrt(2))


def never_negative(rng: np.random.Generator, out: np.ndarray, scale: float = 1.0) -> np.ndarray:
    return np.abs(laplace(rng, out, scale), out=out)


def signs_of_short_words(rng: np.random.Generator, out: np.ndarray, scale: float = 1.0) -> np.ndarray:
    laplace(rng, out, scale)
    out.reshape(-1, 8)[:, 4:] = np.abs(out.reshape(-1, 8)[:, 4:])
    return out


def one_sign_for_eight(rng: np.random.Generator, out: np.ndarray, scale: float = 1.0) -> np.ndarray:
    laplace(rng, out, scale)
    octets = out.reshape(-1, 8)
    np.copysign(octets, octets[:, :1], out=octets)
    return out


# --- the exponential mechanism ------------------------------------------------------------------------------


def score_without_sensitivity(rng: np.random.Generator, scores: np.ndarray, **options: Any) -> np.ndarray:
    return exponential_mechanism(rng, scores, **{**options, "sensitivity": 1.0})


def score_without_the_two(rng: np.random.Generator, scores: np.ndarray, **options: Any) -> np.ndarray:
    return exponential_mechanism(rng, 2 * scores, **options)


def score_10_percent_large(rng: np.random.Generator, scores: np.ndarray, **options: Any) -> np.ndarray:
    return exponential_mechanism(rng, 1.1 * scores, **options)


def everything_allowed(rng: np.random.Generator, scores: np.ndarray, **options: Any) -> np.ndarray:
    return exponential_mechanism(rng, scores, **{**options, "allowed": None})


def laplace_for_gumbel(
    rng: np.random.Generator, scores: np.ndarray, *, epsilon: float, sensitivity: float, allowed: np.ndarray
) -> np.ndarray:
    noisy = scores * (epsilon / (2 * sensitivity)) + laplace(rng, np.empty(scores.shape))
    return np.where(allowed, noisy, -np.inf).argmax(axis=1)


def scores_of_the_game_before(rng: np.random.Generator, scores: np.ndarray, **options: Any) -> np.ndarray:
    return exponential_mechanism(rng, np.roll(scores, 1, axis=0), **options)


# --- BetweenThresholds --------------------------------------------------------------------------------------


class BetweenSameSign(BetweenThresholds):
    """μ moves both thresholds the same way."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start(rows)
        self._uppers[rows] = self._lowers[rows] + (self._upper - self._lower)


class NotRedrawn:
    """An instance after a halt keeps the noise of the thresholds of the one before."""

    _started = False

    def _start(self, rows: np.ndarray) -> None:
        if not self._started:
            super()._start(rows)  # type: ignore[misc]
        self._started = True


class BetweenNotRedrawn(NotRedrawn, BetweenThresholds):
    pass


class BetweenRedrawnForAll(BetweenThresholds):
    """An outcome "between" in any game starts a fresh instance in every game."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start(np.arange(len(self._lowers)))


class BetweenRedrawnForTheNext(BetweenThresholds):
    """The fresh μ goes to the game after the one that answered "between"."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start((rows + 1) % len(self._lowers))


class BetweenMuOfHalfTheScale(BetweenThresholds):
    """μ has the noise of AboveThreshold's threshold, half of that of a query, not a third."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start(rows)
        self._lowers[rows] += (self._lowers[rows] - self._lower) / 2
        self._uppers[rows] += (self._uppers[rows] - self._upper) / 2


class BetweenNoiseTooSmall(BetweenThresholds):
    """All noise is a tenth too small."""

    def __init__(self, games: int, rng: np.random.Generator, *, epsilon: float, **options: Any) -> None:
        super().__init__(games, rng, epsilon=epsilon / 0.9, **options)


class BetweenCrossedIsTop(BetweenThresholds):
    """Crossed thresholds still have an outcome "between"."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start(rows)
        lowers, uppers = self._lowers[rows], self._uppers[rows]
        self._lowers[rows], self._uppers[rows] = np.minimum(lowers, uppers), np.maximum(lowers, uppers)


class OneHaltMore:
    """It halts one outcome "between" or "above" too late."""

    def __init__(self, games: int, rng: np.random.Generator, *, halts: int = 1, **options: Any) -> None:
        super().__init__(games, rng, halts=halts + 1, **options)  # type: ignore[call-arg]


class BetweenOneHaltMore(OneHaltMore, BetweenThresholds):
    pass


class BetweenNoiseOfPairs(BetweenThresholds):
    """Games 2j and 2j + 1 share the noise of their thresholds."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start(rows)
        self._lowers[1::2], self._uppers[1::2] = self._lowers[::2], self._uppers[::2]


class BetweenHaltsTogether(BetweenThresholds):
    """Where game 2j halts, 2j + 1 halts too."""

    def __init__(self, games: int, rng: np.random.Generator, **options: Any) -> None:
        super().__init__(games, rng, **options)
        self._budget = PairedHalts(games, options.get("halts", 1))


class PairedHalts(RestartBudget):
    def spend(self, fired: np.ndarray) -> np.ndarray:
        again = super().spend(fired)
        self._halted[1::2] |= self._halted[::2]
        return again


# --- AboveThreshold -----------------------------------------------------------------------------------------


class AboveNotRedrawn(NotRedrawn, AboveThreshold):
    pass


class AboveNoiseOnlyOnValues(AboveThreshold):
    """The threshold has no noise."""

    def _start(self, rows: np.ndarray) -> None:
        self._thresholds[rows] = self._threshold


class AboveWithoutSensitivity(AboveThreshold):
    """Noise for sensitivity 1, whatever the sensitivity."""

    def __init__(self, games: int, rng: np.random.Generator, *, sensitivity: float, **options: Any) -> None:
        super().__init__(games, rng, sensitivity=1.0, **options)


class AboveEqualNoise(AboveThreshold):
    """The threshold's noise has the scale of a value's."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start(rows)
        self._thresholds[rows] += self._thresholds[rows] - self._threshold


class AboveNoiseOfPairs(AboveThreshold):
    """Games 2j and 2j + 1 share the noise of their threshold."""

    def _start(self, rows: np.ndarray) -> None:
        super()._start(rows)
        self._thresholds[1::2] = self._thresholds[::2]


class AboveOneHaltMore(OneHaltMore, AboveThreshold):
    pass


MUTANTS = [
    Mutant(scale_5_percent_large, check_laplace_law, "the distribution of"),
    Mutant(variance_for_scale, check_laplace_law, "the distribution of"),
    Mutant(never_negative, check_laplace_law, "the distribution of 1,400,832 samples is 0.5 from"),
    Mutant(signs_of_short_words, check_laplace_law, "the distribution of"),
    Mutant(one_sign_for_eight, check_laplace_law, "the mean of 700,416 samples is 1,"),
    Mutant(score_without_sensitivity, check_selection, "cell 1 occurred"),
    Mutant(score_without_the_two, check_selection, "cell 1 occurred"),
    Mutant(score_10_percent_large, check_selection, "cell 1 occurred"),
    Mutant(everything_allowed, check_selection, "cell 3 occurred"),
    Mutant(laplace_for_gumbel, check_selection, "cell 1 occurred"),
    Mutant(scores_of_the_game_before, check_selection, "cell 1 occurred"),
    Mutant(BetweenSameSign, OF_BETWEEN.check, "RRR occurred"),
    Mutant(BetweenNotRedrawn, OF_BETWEEN.check, "TT occurred"),
    Mutant(BetweenNotRedrawn, OF_BETWEEN.check_halting, "on occurred"),
    Mutant(BetweenRedrawnForAll, OF_BETWEEN.check, "LLT occurred"),
    Mutant(BetweenRedrawnForTheNext, OF_BETWEEN.check, "TT occurred"),
    Mutant(BetweenMuOfHalfTheScale, OF_BETWEEN.check, "LLL occurred"),
    Mutant(BetweenNoiseTooSmall, OF_BETWEEN.check, "TT occurred"),
    Mutant(BetweenCrossedIsTop, OF_BETWEEN.check, "LLL occurred"),
    Mutant(BetweenOneHaltMore, OF_BETWEEN.check, "TTL occurred"),
    Mutant(BetweenOneHaltMore, OF_BETWEEN.check_halting, "8 occurred"),
    Mutant(BetweenNoiseOfPairs, OF_BETWEEN.check_neighbours, "T|T occurred"),
    Mutant(BetweenHaltsTogether, OF_BETWEEN.check_neighbours, "T|L occurred"),
    Mutant(AboveNotRedrawn, OF_ABOVE.check, "T... occurred"),
    Mutant(AboveNotRedrawn, OF_ABOVE.check_halting, "3 occurred"),
    Mutant(AboveNoiseOnlyOnValues, OF_ABOVE.check, ".... occurred"),
    Mutant(AboveWithoutSensitivity, OF_ABOVE.check, "..T. occurred"),
    Mutant(AboveEqualNoise, OF_ABOVE.check, ".... occurred"),
    Mutant(AboveOneHaltMore, OF_ABOVE.check, "T.T. occurred"),
    Mutant(AboveOneHaltMore, OF_ABOVE.check_halting, "on occurred"),
    Mutant(AboveNoiseOfPairs, OF_ABOVE.check_neighbours, "..|.. occurred"),
]
