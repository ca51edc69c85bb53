"""The privacy curve of a mechanism between data sets that several steps between neighbours connect."""

from __future__ import annotations

from functools import lru_cache
from typing import Self

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import freeze
from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.gaussian_curve import GaussianCurve
from arena.privacy_curves.pure_curve import PureCurve
from arena.privacy_curves.renyi_curves import ConcentratedCurve
from arena.settings import at_least, whole

_LINES = 1_024  # points of the curve of one step
_CHAINS = 4_096  # points of the curve of all steps, one for each probability from which a chain starts
_NEGLIGIBLE = 1e-300  # δ beyond which the curve of one step is not followed
_LARGEST = 500.0  # nats: the largest ε at which the curve of one step is used
_BISECTIONS = 60  # after which the end of a curve is known to the last digits


def extend_to_group(curve: PrivacyCurve, steps: int) -> PrivacyCurve:
    """The claim for data sets that so many steps connect, from the curve of a step between neighbours.

    Gaussian curves, pure privacy and zero-concentrated privacy give claims of their kind; of any other curve
    the best bound is computed. Proof: docs/proofs/neighbours.md.
    """
    if steps == 1:
        return curve
    if isinstance(curve, GaussianCurve) and not curve.slack:
        return GaussianCurve(steps * curve.mu)
    if isinstance(curve, PureCurve):
        return PureCurve(steps * curve.bound, curve.times)
    if isinstance(curve, ConcentratedCurve):
        return ConcentratedCurve(steps**2 * curve.rho)
    return GroupCurve(curve, steps)


@attrs.frozen
class GroupCurve(PrivacyCurve):
    """Data sets that `steps` steps connect, where `curve` holds for each step; see `extend_to_group`.

    Its family is that of the curve of a step.
    """

    name = "group"

    curve: PrivacyCurve = attrs.field()
    steps: int = attrs.field(validator=[whole, at_least(1)])

    @curve.validator
    def _check_curve(self, attribute: object, curve: object) -> None:
        if not isinstance(curve, PrivacyCurve):
            raise InvalidArgument("the claim of one step must be a privacy curve", value=curve)

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        at = np.asarray(epsilons, float)
        ends, values = _list_points(self.curve, self.steps)
        place = np.searchsorted(ends, at, side="right") - 1
        low = np.clip(place, 0, len(ends) - 2)
        left, right = ends[low], ends[low + 1]
        inside = np.clip(at, left, right)
        # Chords over e^ε, which lie above a convex function.
        share = np.exp(inside - right) * np.expm1(left - inside) / np.expm1(left - right)
        between = values[low] + share * (values[low + 1] - values[low])
        before = 1 - (1 - values[0]) * np.exp(np.minimum(at - ends[0], 0))
        return np.asarray(np.where(place < 0, before, between))

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, curve=self.curve.rescale(scale))

    def __str__(self) -> str:
        return f"{self.steps:,} steps between neighbours, each with {self.curve}"


def _find_end(curve: PrivacyCurve) -> float:
    """The least ε from which on δ is negligible, or no longer falls."""
    last = max(_NEGLIGIBLE, float(curve.deltas(np.array([_LARGEST]))[0]))
    low, high = 0.0, _LARGEST
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        arrived = float(curve.deltas(np.array([middle]))[0]) <= last
        low, high = (low, middle) if arrived else (middle, high)
    return high


@lru_cache(maxsize=256)
def _list_points(curve: PrivacyCurve, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Increasing ε and at each a δ, never below the true value, of all steps together.

    An event of probability x has at most the probability e^ε·x + δ(ε) one step further, for every ε of
    either sign. From each of many x, a chain of the best such bounds ends in a bound for all steps.
    """
    half = _find_end(curve) * np.linspace(0, 1, _LINES) ** 2
    deltas = np.minimum(curve.deltas(half), 1.0)
    missing = np.exp(-half) * (1 - deltas)  # from 1, of δ(−ε)
    slopes = np.concatenate([-half[:0:-1], half])  # logarithms
    bounds = np.concatenate([1 - missing[:0:-1], deltas])
    falls = np.concatenate([-np.diff(missing)[::-1], -np.diff(deltas)])
    with np.errstate(divide="ignore"):
        turns = np.log(np.maximum(falls, 0.0)) - slopes[:-1] - np.log(np.expm1(np.diff(slopes)))
    turns = np.minimum.accumulate(turns)  # of log x, from which on the bound before is the better one
    finite = turns[np.isfinite(turns)]
    start = float(finite.min(initial=0.0)) - steps * float(half[-1])  # so small that the last bounds are best
    log_x = start * np.linspace(0, 1, _CHAINS) ** 2
    slope, bound = np.zeros(_CHAINS), np.zeros(_CHAINS)
    with np.errstate(over="ignore", divide="ignore"):
        for _ in range(steps):
            line = np.searchsorted(-turns, -log_x)
            slope += slopes[line]
            bound = np.exp(slopes[line]) * bound + bounds[line]
            log_x = np.minimum(np.logaddexp(log_x + slopes[line], np.log(bounds[line])), 0.0)
    order = np.argsort(slope, kind="stable")
    ends, values = slope[order], np.minimum.accumulate(np.minimum(bound[order], 1.0))
    ends, last = np.unique(ends[::-1], return_index=True)  # of equal ε, that with the least δ
    values = values[::-1][last]
    return freeze(np.append(ends, ends[-1] + 1)), freeze(np.append(values, values[-1]))
