"""Scores of training runs by noisy steps, which are computed from the models that are shown."""

from __future__ import annotations

from math import sqrt
from typing import Any

import attrs
import numpy as np

from arena.capabilities import TrainsByNoisySteps
from arena.claims import REPLACING
from arena.players import read_relation_of
from arena.settings import one_of

SUM, RATIO, SPREAD, LENGTH, LAST_BITS = STEP_SCORES = ("sum", "ratio", "spread", "length", "last bits")
_NO_LAST_BIT = 2_000.0  # the score of 0 and of infinities; larger than the exponent of any double
_LARGEST = 1e300  # stands for infinity


@attrs.frozen
class StepScore:
    """One number for each training run, from the steps that its models take against the gradients.

    kind: "sum", how far the models move along the coordinates; "ratio", the log likelihood ratio of the
    steps; "spread", the largest step less the smallest; "length", ln of the sum of the squares of all steps;
    "last bits", the place of the last bit of the first model. clip: how far one gradient of the largest
    length moves a model, the unit of steps. sign: 1, or −1 if small values indicate world 1.
    rate, noise, shift, centre, replaced: what the ratio assumes. Steps have the mean `centre` and Gaussian
    noise of standard deviation `noise`. In world 1, an example moves each step by `shift` with chance `rate`;
    in world 0 it moves them the other way if it is replaced, and not at all otherwise.
    """

    kind: str = attrs.field(default=SUM, validator=one_of(*STEP_SCORES))
    coordinates: tuple[int, ...] = (0,)
    clip: float = 1.0
    rate: float = 1.0
    noise: float = 1.0
    shift: float = 1.0
    centre: float = 0.0
    replaced: bool = False
    sign: int = 1

    @classmethod
    def for_canary(
        cls, kind: str, learner: TrainsByNoisySteps, *, coordinates: tuple[int, ...] = (0,), opposite: int = 0
    ) -> StepScore:
        """The score of steps against the gradient of a canary, where `opposite` examples pull against it in
        both worlds."""
        return cls(
            kind,
            coordinates,
            clip=learner.step_size * learner.clip,
            rate=learner.rate,
            noise=learner.noise_run,
            shift=2.0 if opposite else 1.0,
            centre=0.0 - learner.rate * opposite,  # on average
            replaced=read_relation_of(learner).kind in REPLACING,  # type: ignore[arg-type]  # it is a learner
        )

    def of(self, parameters: np.ndarray) -> np.ndarray:
        """(n,): the scores of n runs, from their models (n, j, P) in order, j ≥ 1."""
        scores = np.nan_to_num(self._measure(parameters), posinf=_LARGEST, neginf=-_LARGEST)
        return np.asarray(self.sign * scores)

    def _measure(self, parameters: np.ndarray) -> Any:
        if self.kind == LAST_BITS:
            return find_last_bits(parameters[:, 0, self.coordinates[0]])
        if self.kind == LENGTH:
            squares = (np.diff(parameters, axis=1, prepend=0.0) ** 2).sum(axis=(1, 2))
            return np.log(np.maximum(squares, 1 / _LARGEST))
        along = parameters[:, :, list(self.coordinates)].sum(axis=2) / sqrt(len(self.coordinates))
        steps = -np.diff(along, axis=1, prepend=0.0) / self.clip
        if self.kind == SPREAD:
            return np.ptp(steps, axis=1)
        if self.kind == SUM:
            return steps.sum(axis=1)
        ratio = self._log_ratio(steps, self.shift)
        if self.replaced:
            ratio = ratio - self._log_ratio(steps, -self.shift)
        return ratio.sum(axis=1)

    def _log_ratio(self, steps: np.ndarray, shift: float) -> np.ndarray:
        moved = (shift * (steps - self.centre) - shift**2 / 2) / self.noise**2
        unmoved = np.log1p(-self.rate) if self.rate < 1 else -np.inf
        return np.asarray(np.logaddexp(unmoved, np.log(self.rate) + moved))


def find_last_bits(y: np.ndarray) -> np.ndarray:
    """(n,): the z of y = odd·2^z, and 2000 where y is 0 or not finite.

    >>> find_last_bits(np.array([1.0, 0.5, 6.0, 1 + 2.0**-52, 0.0])).tolist()
    [0.0, -1.0, 1.0, -52.0, 2000.0]
    """
    y = np.asarray(y, dtype=np.float64)
    has_bits = np.isfinite(y) & (y != 0)
    fraction, exponent = np.frexp(np.where(has_bits, y, 1.0))
    digits = np.ldexp(fraction, 53).astype(np.int64)
    last = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(has_bits, exponent - 53.0 + last, _NO_LAST_BIT)
