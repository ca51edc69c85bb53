"""Curves of several mechanisms on the same data, and of several steps between neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self, TypeAlias

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.privacy_curves.base import LossDistribution, PrivacyCurve, refine_grid
from arena.privacy_curves.gaussian_curves import GaussianCurve
from arena.privacy_curves.stated_curves import ConcentratedCurve, PureCurve, RenyiCurve
from arena.sample import freeze
from arena.settings import at_least, whole

_SMALL_DELTA = 1e-6  # at which it is seen whether a grid is fine enough
_TOLERANCE = 1e-4  # relative change of ε at which a finer grid is no longer tried
_FIRST_CELLS = 16  # of the grid in a standard deviation of the composed loss

_LINES = 1_024  # points of the curve of one step
_CHAINS = 4_096  # points of the curve of all steps, one for each probability from which a chain starts
_NEGLIGIBLE = 1e-300  # δ beyond which the curve of one step is not followed
_LARGEST = 500.0  # nats: the largest ε at which the curve of one step is used
_BISECTIONS = 60  # after which the end of a curve is known to the last digits


def compose_curves(curves: Iterable[PrivacyCurve]) -> PrivacyCurve:
    """The claim of mechanisms with these claims on the same data, each chosen after the results before it.

    Alike ones of Gaussian, zero-concentrated, Rényi (one order) or pure (one ε) privacy give one of that
    kind. Anything else is composed by its privacy losses, which is tight if the claims are:
    docs/proofs/loss_distribution.md. Raises: InvalidArgument if there are none.
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
    """Mechanisms on the same data, parts[i] used times[i] times. Its family has one scale for all."""

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
    both = max(len(first), len(second))
    ends = (list(losses) * (both // len(losses)) for losses in (first, second))
    return tuple(one.convolve(other) for one, other in zip(*ends, strict=True))


@lru_cache(maxsize=512)
def _compose(curve: ComposedCurve) -> tuple[LossDistribution, ...]:
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


Table: TypeAlias = tuple[np.ndarray, np.ndarray]  # increasing ε ≥ 0, and δ at each


def extend_to_group(curve: PrivacyCurve, steps: int) -> PrivacyCurve:
    """The claim for data sets that so many steps connect, from that of one step: of its kind for Gaussian,
    pure and zero-concentrated privacy, else the best bound. Proof: docs/proofs/neighbours.md."""
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
    """Data sets that `steps` steps connect, where `curve` holds for each step, and gives the family."""

    name = "group"

    curve: PrivacyCurve = attrs.field()
    steps: int = attrs.field(validator=[whole, at_least(1)])

    @curve.validator
    def _check_curve(self, attribute: object, curve: object) -> None:
        if not isinstance(curve, PrivacyCurve):
            raise InvalidArgument("the claim of one step must be a privacy curve", value=curve)

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        return _interpolate(*_tabulate(self.curve, self.steps), np.asarray(epsilons, float))

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
def _tabulate(curve: PrivacyCurve, steps: int) -> Table:
    """The curve of so many steps: increasing ε, the first of which is 0, and a δ never below the true one."""
    ends = _find_end(curve) * np.linspace(0, 1, _LINES) ** 2
    doubled: Table = ends, np.minimum(curve.deltas(ends), 1.0)
    table: Table | None = None
    while True:
        if steps % 2:
            table = doubled if table is None else _join(doubled, table)
        steps //= 2
        if table and not steps:
            return freeze(table[0]), freeze(table[1])
        doubled = _join(doubled, doubled)


def _join(first: Table, second: Table) -> Table:
    """The curve of two parts of the way, one after the other. An event of probability x has at most the
    probability e^ε·x + δ(ε) at the end of a part, for every ε of either sign; from each of many x, the best
    bounds of both parts give one for the whole way."""
    lines, turns = zip(*map(_list_lines, (first, second)), strict=True)
    last = [float(ends.min(initial=0.0, where=np.isfinite(ends))) for ends in turns]
    start = min(last[0], last[1] - float(first[0][-1])) - 1  # so small that the last lines of both are best
    log_x = start * np.linspace(0, 1, _CHAINS) ** 2
    slope, bound = np.zeros(_CHAINS), np.zeros(_CHAINS)
    with np.errstate(over="ignore", divide="ignore"):
        for (slopes, bounds), ends in zip(lines, turns, strict=True):
            line = np.searchsorted(-ends, -log_x)
            slope += slopes[line]
            bound = np.exp(slopes[line]) * bound + bounds[line]
            log_x = np.minimum(np.logaddexp(log_x + slopes[line], np.log(bounds[line])), 0.0)
    order = np.argsort(slope, kind="stable")
    ends, values = slope[order], np.minimum.accumulate(np.minimum(bound[order], 1.0))
    ends, least = np.unique(ends[::-1], return_index=True)  # of equal ε, that with the least δ
    values = values[::-1][least]
    positive = ends > 0
    at_zero = _interpolate(ends, values, np.zeros(1))
    return np.append(0.0, ends[positive]), np.append(at_zero, values[positive])


def _list_lines(table: Table) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """The bounds of a curve as lines, by logarithms of their slopes, which increase, and values at x = 0; and
    log x at each turn, up to which the line after it is the better one."""
    ends, deltas = table
    missing = np.exp(-ends) * (1 - deltas)  # from 1, of δ(−ε)
    slopes = np.concatenate([-ends[:0:-1], ends])
    bounds = np.concatenate([1 - missing[:0:-1], deltas])
    falls = np.concatenate([-np.diff(missing)[::-1], -np.diff(deltas)])
    with np.errstate(divide="ignore"):
        turns = np.log(np.maximum(falls, 0.0)) - slopes[:-1] - np.log(np.expm1(np.diff(slopes)))
    return (slopes, bounds), np.minimum.accumulate(turns)


def _interpolate(ends: np.ndarray, values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """δ at some ε by chords over e^ε, which lie above a convex function; constant after the last point."""
    ends, values = np.append(ends, ends[-1] + 1), np.append(values, values[-1])
    place = np.searchsorted(ends, at, side="right") - 1
    low = np.clip(place, 0, len(ends) - 2)
    left, right = ends[low], ends[low + 1]
    inside = np.clip(at, left, right)
    share = np.exp(inside - right) * np.expm1(left - inside) / np.expm1(left - right)
    between = values[low] + share * (values[low + 1] - values[low])
    before = 1 - (1 - values[0]) * np.exp(np.minimum(at - ends[0], 0))
    return np.asarray(np.where(place < 0, before, between))
