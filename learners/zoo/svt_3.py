"""svt-3: the sparse vector technique of Roth's lecture notes, which releases the noisy query."""

from __future__ import annotations

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.laws import Branches, Density
from arena.sample import Sample
from learners.mechanisms.noise.densities import HiddenBelow, laplace_density
from learners.zoo.base import QueryValues
from learners.zoo.svt_base import HaltingSvtLearner, answer_until_halt

_BELOW = -1000.0  # released for "below"
_UNANSWERED = -2000.0  # released for a query after the last halt


@attrs.frozen
class Svt3(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε) and ν ~ Lap(2c/ε) that releases q_i + ν_i for "above"; stops after c of
    these.

    Roth, lecture notes on The Algorithmic Foundations of Data Privacy (2011); Algorithm 3 of Lyu, Su, Li
    (2017). The error: a released value cannot be below the noisy threshold and so reveals it, while the proof
    counts the answers "below" as if the threshold were hidden. It claims ε. With c = 1 the exact value is
    m·ε/2, where all queries change and the value is far below them.

    Releases (n, m) float64: the value for "above", -1000 for "below", -2000 for a query that is not answered.
    """

    name = "svt-3"
    theorem = "none: the released value reveals the threshold; exactly m·ε/2 for one halt"

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 2 * self.halts / self.epsilon

    def allocate(self, games: int) -> np.ndarray:
        return np.empty((games, self.queries))

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = self.draw_thresholds(rng, np.empty(values.games))
        noisy = self.add_noise(values, rng)
        answers = answer_until_halt(self.halts, noisy >= thresholds)
        noisy *= self.noise_scale
        np.copyto(noisy, _BELOW, where=answers == 0)
        np.copyto(noisy, _UNANSWERED, where=answers == -1)
        out[:] = noisy.T

    def law(self, sample: Sample) -> Branches:
        """The output distribution. Branch i: it stopped at query i and released a value. Last branch: it
        never stopped.

        Raises: Unsupported if halts > 1, since `Branches` holds one released value only.
        """
        if self.halts > 1:
            raise Unsupported(
                "svt-3 has an exact output distribution only for one halt",
                value=self.halts,
                remedy="Set halts=1.",
            )
        values = self.counts(sample)
        stops = (self._stop_density(values[: i + 1]) for i in range(len(values)))
        return Branches(parts=(*stops, self._all_below(values).total), read=_read)

    def _all_below(self, values: np.ndarray) -> HiddenBelow:
        return HiddenBelow.of(self.threshold_scale, values - self.threshold, self.noise_scale)

    def _stop_density(self, values: np.ndarray) -> Density:
        """The density of the value with which it stops at the last of `values`."""
        before, last = self._all_below(values[:-1]), laplace_density(values[-1], self.noise_scale)
        return Density(
            log=lambda x: last.log(x) + before.log(x - self.threshold),
            kinks=tuple(np.unique([*values, self.threshold])),
            low=last.low,
            high=last.high,
            scale=1 / (before.rate + 1 / self.noise_scale),
        )


def _read(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The query at which each of values (n, m) stopped, m if it never did, -1 if no game can end so; and the
    value."""
    games, queries = values.shape
    above = (values != _BELOW) & (values != _UNANSWERED)
    stop = np.where(above.any(axis=1), above.argmax(axis=1), queries)
    after = np.arange(queries) - stop[:, None]
    possible = np.where(after < 0, values == _BELOW, (after == 0) | (values == _UNANSWERED)).all(axis=1)
    released = values[np.arange(games), np.minimum(stop, queries - 1)]
    return np.where(possible, stop, -1), released
