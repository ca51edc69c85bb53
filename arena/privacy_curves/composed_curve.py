"""The privacy curve of several mechanisms on the same data, by convolution of their privacy losses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.gaussian_curve import GaussianCurve
from arena.privacy_curves.loss_distribution import LossDistribution, refine_grid
from arena.privacy_curves.pure_curve import PureCurve
from arena.privacy_curves.renyi_curves import ConcentratedCurve, RenyiCurve

_SMALL_DELTA = 1e-6  # at which it is seen whether a grid is fine enough
_TOLERANCE = 1e-4  # relative change of ε at which a finer grid is no longer tried
_FIRST_CELLS = 16  # of the grid in a standard deviation of the composed loss


def compose_curves(curves: Iterable[PrivacyCurve]) -> PrivacyCurve:
    """The claim of mechanisms with these claims on the same data, each chosen after the results before it.

    Gaussian curves give a Gaussian curve; so do claims of zero-concentrated privacy, of Rényi privacy of one
    order, and of pure privacy with one ε. Anything else is composed by its privacy losses, which is tight if
    the claims are. Proof: docs/proofs/loss_distribution.md.

    Raises: InvalidArgument if there are none.
    """
    parts = list(curves)
    if not parts:
        raise InvalidArgument("a composition has one curve at least", value=parts)
    gaussian = [part for part in parts if isinstance(part, GaussianCurve)]
    concentrated = [part for part in parts if isinstance(part, ConcentratedCurve)]
    if len(gaussian) == len(parts):
        slack = -math.expm1(sum(math.log1p(-part.slack) for part in gaussian))
        return GaussianCurve(math.hypot(*(part.mu for part in gaussian)), slack)
    if len(concentrated) == len(parts):
        return ConcentratedCurve(sum(part.rho for part in concentrated))
    renyi = [part for part in parts if isinstance(part, RenyiCurve)]
    if len(renyi) == len(parts) and len({part.order for part in renyi}) == 1:
        return RenyiCurve(renyi[0].order, sum(part.bound for part in renyi))
    pure = [part for part in parts if isinstance(part, PureCurve)]
    if len(pure) == len(parts) and len({part.bound for part in pure}) == 1:
        return PureCurve(pure[0].bound, sum(part.times for part in pure))
    distinct = list(dict.fromkeys(parts))
    return ComposedCurve(tuple(distinct), tuple(parts.count(part) for part in distinct))


@attrs.frozen
class ComposedCurve(PrivacyCurve):
    """Mechanisms on the same data: parts[i] is used times[i] times. See `compose_curves`.

    Its family has the members of the parts' families with one scale for all.
    """

    name = "composition"

    parts: tuple[PrivacyCurve, ...] = attrs.field()
    times: tuple[int, ...] = attrs.field()

    @parts.validator
    def _check_parts(self, attribute: object, parts: object) -> None:
        curves = isinstance(parts, tuple) and all(isinstance(part, PrivacyCurve) for part in parts)
        if not parts or not curves:
            raise InvalidArgument("the parts of a composition must be privacy curves", value=parts)

    @times.validator
    def _check_times(self, attribute: object, times: object) -> None:
        whole = isinstance(times, tuple) and all(type(number) is int and number >= 1 for number in times)
        if not whole or len(self.times) != len(self.parts):
            raise InvalidArgument("each part of a composition is used once at least", value=times)

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        directions = _compose(self)
        return np.array([max(loss.delta(float(epsilon)) for loss in directions) for epsilon in epsilons])

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        composed: tuple[LossDistribution, ...] = ()
        for part, times in zip(self.parts, self.times, strict=True):
            added = tuple(loss.compose(times) for loss in part.loss_distributions(step))
            composed = _add(composed, added) if composed else added
        return composed

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, parts=tuple(part.rescale(scale) for part in self.parts))

    def __str__(self) -> str:
        texts = [f"{n:,} times {part}" for part, n in zip(self.parts, self.times, strict=True)]
        return " and ".join(texts)


def _add(
    first: Sequence[LossDistribution], second: Sequence[LossDistribution]
) -> tuple[LossDistribution, ...]:
    """Convolve the losses of each direction; a single one stands for both."""
    both = max(len(first), len(second))
    ends = (list(losses) * (both // len(losses)) for losses in (first, second))
    return tuple(one.convolve(other) for one, other in zip(*ends, strict=True))


@lru_cache(maxsize=512)
def _compose(curve: ComposedCurve) -> tuple[LossDistribution, ...]:
    """The composed privacy losses on a grid fine enough for a whole curve."""
    step = _find_spread(curve) / _FIRST_CELLS
    return refine_grid(curve.loss_distributions, step, lambda loss: loss.epsilon(_SMALL_DELTA), _TOLERANCE)[1]


def _find_spread(curve: ComposedCurve) -> float:
    """The standard deviation of the composed loss in nats, from a coarse table of each part."""
    variance = 0.0
    for part, times in zip(curve.parts, curve.times, strict=True):
        step = 1.0
        while True:  # until the grid resolves the part
            loss = part.loss_distributions(step)[0]
            mean = float(loss.masses @ loss.losses)
            own = float(loss.masses @ (loss.losses - mean) ** 2)
            if own > step**2 or step < 1e-6:
                break
            step /= 4
        variance += times * own
    return math.sqrt(variance)
