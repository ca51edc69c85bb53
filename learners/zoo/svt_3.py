"""svt-3: the sparse vector technique of Roth's lecture notes, which releases the noisy query."""

from __future__ import annotations

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.laws import Branches, Density
from arena.sample import Sample
from learners.mechanisms.noise.densities import HiddenBelow, laplace_density
from learners.zoo.base import Values
from learners.zoo.svt_base import HaltingSparseVector, halted_after, threshold_setting

_BELOW = -1000.0
_SILENT = -2000.0


@attrs.frozen
class Svt3(HaltingSparseVector):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(2c/ε); releases q_i + ν_i for ⊤, stops after
    c ⊤. Roth, lecture notes on The Algorithmic Foundations of Data Privacy (2011); Algorithm 3 of Lyu, Su,
    Li, Understanding the Sparse Vector Technique for Differential Privacy (2017).

    The slip: the number betrays the noisy threshold, below which it cannot be, and the proof counts the ⊥ as
    if it did not. It claims ε; with c = 1 the exact value is m·ε/2, where all queries move and the number is
    far below them: at ε = 0.1 and m = 10, 0.5.

    Releases (n, m) float64: the number for ⊤, -1000 for ⊥, -2000 for a query that is not answered any more.
    """

    name = "svt-3"
    theorem = "none: the released number betrays the threshold; exactly m·ε/2 for one halt"

    threshold: float = threshold_setting(1.0)

    @property
    def hidden(self) -> float:
        return 2 / self.epsilon

    @property
    def scale(self) -> float:
        return 2 * self.halts / self.epsilon

    def answer(self, values: Values, rng: np.random.Generator, out: np.ndarray) -> None:
        limits = self.thresholds(rng, np.empty(values.games))
        numbers = self.noisy(values, rng)
        answers = halted_after(self.halts, numbers >= limits)
        numbers *= self.scale
        np.copyto(numbers, _BELOW, where=answers == 0)
        np.copyto(numbers, _SILENT, where=answers == -1)
        out[:] = numbers.T

    def law(self, sample: Sample) -> Branches:
        """Branch i: it stopped at query i with a number. The last branch: it never stopped.

        Raises: Unsupported if it may go on after ⊤, for a law of several numbers is no `Branches`.
        """
        if self.halts > 1:
            raise Unsupported(
                "svt-3 tells its law for one halt alone", value=self.halts, remedy="Set halts=1."
            )
        values = self.counts(sample)
        never = self._below(values).total
        return Branches(
            parts=(*(self._stopped(values[: i + 1]) for i in range(len(values))), never), read=_read
        )

    def _below(self, values: np.ndarray) -> HiddenBelow:
        return HiddenBelow.of(self.hidden, values - self.threshold, self.scale)

    def _stopped(self, values: np.ndarray) -> Density:
        """The density of the number with which it stops at the last of `values`."""
        before, own = self._below(values[:-1]), laplace_density(values[-1], self.scale)
        return Density(
            log=lambda x: own.log(x) + before.log(x - self.threshold),
            kinks=tuple(np.unique([*values, self.threshold])),
            low=own.low,
            high=own.high,
            scale=1 / (before.rate + 1 / self.scale),
        )


def _read(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each of values (n, m) stopped, m if it never did, -1 if no game could end so; and the number."""
    games, queries = values.shape
    said = (values != _BELOW) & (values != _SILENT)
    stop = np.where(said.any(axis=1), said.argmax(axis=1), queries)
    after = np.arange(queries) - stop[:, None]
    possible = np.where(after < 0, values == _BELOW, (after == 0) | (values == _SILENT)).all(axis=1)
    number = values[np.arange(games), np.minimum(stop, queries - 1)]
    return np.where(possible, stop, -1), number
