"""Cells of views: their probabilities in both worlds, and bounds on the privacy loss within each.

Derivations: docs/proofs/exact_privacy_loss.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from arena import Density, InvalidArgument
from audits.exact_loss.privacy_loss import ROUNDING, PrivacyLoss, log_ratio

HIDDEN = 1e-10  # of δ, that one cell may hide; few cells contain any one ε between their bounds
_QUADRATURE_ORDER = 12
_CELLS_PER_SCALE = 4  # initially
_MAX_GRID = 50_000  # initial cells of a density
_MAX_CELLS = 300_000
_MAX_PIECES = 64  # into which a cell is cut at a time
_MAX_REFINEMENTS = 40
_BANDS = 20  # of losses, in reports
_EQUAL = 1e-12  # nats; closer losses count as equal
_OUTSIDE = 2e-15  # probability of a density below its `low` and above its `high`
_MOVING = 1e-6  # nats; smaller differences of far losses are rounding
_FAR = 2.0 ** np.arange(10)  # scales beyond the ends at which the tails are inspected
_BINS = 3_000  # of the range of losses, into which light cells are merged
_MAX_EXACT_PAIRS = 2**16  # pairs of cells that are kept one by one
_CHUNK = 2**20  # pairs of cells in memory at a time
_SAME = 1e-13  # nats; a part that differs by less does not count


@attrs.frozen(eq=False, kw_only=True)
class LossCells:
    """Cells from which a `PrivacyLoss` is made, with its attributes.
    left, right: (k,), the interval of values of a cell, NaN if it has none."""

    p0: np.ndarray
    p1: np.ndarray
    low: np.ndarray
    high: np.ndarray
    left: np.ndarray
    right: np.ndarray
    unlisted: float = 0.0
    reach: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def of_views(cls, p0: np.ndarray, p1: np.ndarray) -> LossCells:
        """Single views with these probabilities; views impossible in both worlds are left out."""
        possible = (p0 > 0) | (p1 > 0)
        p0, p1 = p0[possible], p1[possible]
        loss = log_ratio(p0, p1)
        nowhere = np.full(len(loss), np.nan)
        reach = _extremes(loss)
        return cls(p0=p0, p1=p1, low=loss, high=loss, left=nowhere, right=nowhere, reach=reach)

    def __len__(self) -> int:
        return len(self.p0)

    def select(self, which: np.ndarray) -> LossCells:
        return attrs.evolve(self, **{name: getattr(self, name)[which] for name in _ARRAYS})

    def merge(self, starts: np.ndarray) -> LossCells:
        """Merge neighbouring cells: those from each of `starts` up to the next."""
        if not len(starts):
            return self
        arrays: Any = {name: join.reduceat(getattr(self, name), starts) for name, join in _ARRAYS.items()}
        return attrs.evolve(self, **arrays)

    def merge_equal(self) -> LossCells:
        """Merge neighbouring cells of equal loss."""
        slack = _EQUAL * np.maximum(1.0, np.abs(np.where(np.isfinite(self.low), self.low, 0.0)))
        flat = _distance(self.low, self.high) <= slack
        new = np.ones(len(self), bool)
        new[1:] = ~(flat[1:] & flat[:-1])
        for bound in (self.low, self.high):
            new[1:] |= ~(_distance(bound[1:], bound[:-1]) <= slack[1:])
        return self.merge(np.flatnonzero(new))

    def merge_bands(self) -> LossCells:
        """Merge neighbouring cells of similar loss, for reports; a cell with a single loss is kept."""
        bounds = np.concatenate([self.low, self.high])
        bounds = bounds[np.isfinite(bounds)]
        width = (bounds.max(initial=0.0) - bounds.min(initial=0.0)) / _BANDS or 1.0
        band = np.floor((self.low + self.high) / 2 / width)
        flat = _distance(self.low, self.high) <= _EQUAL
        starts = np.ones(len(self), bool)
        starts[1:] = (band[1:] != band[:-1]) | flat[1:] | flat[:-1]
        return self.merge(np.flatnonzero(starts))

    def loss(self) -> PrivacyLoss:
        """The privacy loss of cells that hold all of both distributions."""
        off = max(abs(float(mass.sum()) - 1) for mass in (self.p0, self.p1))
        error = off if off > ROUNDING + self.unlisted else 0.0
        cells = {name: getattr(self, name) for name in ("p0", "p1", "low", "high")}
        return PrivacyLoss(**cells, unlisted=self.unlisted, error=error, reach=self.reach)


# The arrays, with what joins neighbouring cells.
_ARRAYS: dict[str, np.ufunc] = {"p0": np.add, "p1": np.add, "low": np.minimum, "high": np.maximum}
_ARRAYS |= {"left": np.minimum, "right": np.maximum}


def concatenate_cells(parts: Sequence[LossCells]) -> LossCells:
    """The cells of all parts of one distribution."""
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    reach = (min(part.reach[0] for part in parts), max(part.reach[1] for part in parts))
    return LossCells(**arrays, unlisted=sum(part.unlisted for part in parts), reach=reach)


def _extremes(losses: np.ndarray) -> tuple[float, float]:
    return float(losses.min(initial=np.inf)), float(losses.max(initial=-np.inf))


def density_cells(first: Density, second: Density, *, hidden: float = HIDDEN) -> LossCells:
    """Cells of the real line, each of which hides at most `hidden` of δ if 300,000 cells are enough for that.

    Masses are computed by Gauss-Legendre quadrature. Bounds on the loss are its extremes at the nodes and
    both ends, exact where it is monotone within the cell.
    """
    pair = (first, second)
    cuts = _choose_cuts(pair)
    cells, turns = _evaluate_cells(pair, cuts[:-1], cuts[1:])
    done: list[LossCells] = []
    for _ in range(_MAX_REFINEMENTS):
        pieces = _count_pieces(cells, turns, done, hidden)
        if (pieces == 1).all() or pieces.sum() + sum(len(part) for part in done) > _MAX_CELLS:
            break
        done.append(cells.select(pieces == 1))
        cells, turns = _evaluate_cells(pair, *_divide_cells(cells.select(pieces > 1), pieces[pieces > 1]))
    cells = concatenate_cells([*done, cells])
    cells = cells.select(np.argsort(cells.left, kind="stable")).merge_equal()
    tails = [_tail_losses(pair, side) for side in (-1, 1)]
    reach = _extremes(np.concatenate([cells.low, cells.high, *tails]))
    return attrs.evolve(cells, unlisted=_OUTSIDE, reach=reach)


def _choose_cuts(pair: tuple[Density, Density]) -> np.ndarray:
    cuts = []
    for law in pair:
        count = min(int(np.ceil((law.high - law.low) / law.scale * _CELLS_PER_SCALE)), _MAX_GRID)
        cuts.append(np.linspace(law.low, law.high, max(count, 1) + 1))
    low, high = min(law.low for law in pair), max(law.high for law in pair)
    kinks = np.array([kink for law in pair for kink in law.kinks], float)
    return np.unique(np.concatenate([*cuts, kinks[(kinks > low) & (kinks < high)]]))


def _evaluate_cells(
    pair: tuple[Density, Density], left: np.ndarray, right: np.ndarray
) -> tuple[LossCells, np.ndarray]:
    """The cells between left and right (k,) where a density is positive, and whether the loss turns there."""
    points, weights = np.polynomial.legendre.leggauss(_QUADRATURE_ORDER)
    middle, half = (left + right) / 2, (right - left) / 2
    # A density may jump at an end, so it is evaluated just inside.
    inside = np.maximum(1e-12 * half, np.spacing(np.maximum(np.abs(left), np.abs(right))))
    ends = np.minimum(inside, half)
    nodes = np.column_stack([left + ends, middle[:, None] + half[:, None] * points, right - ends])
    logs = [_log_density(law, nodes) for law in pair]
    p0, p1 = (half * (np.exp(log[:, 1:-1]) @ weights) for log in logs)
    possible = np.isfinite(logs[0]).any(axis=1) | np.isfinite(logs[1]).any(axis=1)
    with np.errstate(invalid="ignore"):
        loss = (logs[1] - logs[0])[possible]  # NaN where both vanish
        steps = np.diff(loss, axis=1)
    p0, p1, left, right = (array[possible] for array in (p0, p1, left, right))
    low, high = np.fmin.reduce(loss, axis=1), np.fmax.reduce(loss, axis=1)
    slack = _EQUAL * np.maximum(1.0, np.abs(np.where(np.isfinite(loss), loss, 0.0)).max(axis=1, initial=0.0))
    turns = (steps > slack[:, None]).any(axis=1) & (steps < -slack[:, None]).any(axis=1)
    return LossCells(p0=p0, p1=p1, low=low, high=high, left=left, right=right), turns


def _log_density(law: Density, nodes: np.ndarray) -> np.ndarray:
    log = np.asarray(law.log(nodes.ravel()), float).reshape(nodes.shape)
    if np.isnan(log).any() or (log == np.inf).any():
        raise InvalidArgument("a log density must be a number or -inf", value=float(log[~(log < np.inf)][0]))
    return log


def _count_pieces(cells: LossCells, turns: np.ndarray, done: Sequence[LossCells], most: float) -> np.ndarray:
    pieces = np.ones(len(cells), np.int64)
    hidden = _largest_hidden_delta(cells)
    wide = hidden > most
    # The pieces are lighter and narrower: what they hide decreases with the square of their number.
    pieces[wide] = np.minimum(np.ceil(np.sqrt(hidden[wide] / most)), _MAX_PIECES).astype(np.int64)
    least = min(float(part.low.min(initial=np.inf)) for part in (*done, cells))
    greatest = max(float(part.high.max(initial=-np.inf)) for part in (*done, cells))
    spread = _distance(cells.low, cells.high)
    extreme = (cells.high + spread >= greatest) | (cells.low - spread <= least)
    inner = (cells.right - cells.left) > 8 * np.spacing(np.maximum(np.abs(cells.left), np.abs(cells.right)))
    turning = turns & extreme & (spread > _EQUAL)
    pieces[turning] = np.maximum(pieces[turning], 4)
    return np.where(inner, pieces, 1)


def _largest_hidden_delta(cells: LossCells) -> np.ndarray:
    """(k,): how much δ each cell hides at the worst ε and in the worse direction."""
    wide = (cells.p0 > 0) & (cells.p1 > 0) & (cells.low < cells.high)
    hidden = np.zeros(len(cells))
    cells = cells.select(wide)
    mean = np.clip(log_ratio(cells.p0, cells.p1), cells.low, cells.high)
    below, above = mean - cells.low, cells.high - mean
    excess = _two_point_excess(below, above), _two_point_excess(above, below)
    hidden[wide] = np.maximum(cells.p1 * excess[0], cells.p0 * excess[1])
    return hidden


def _two_point_excess(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """(k,): the largest δ hidden by a unit mass whose loss may lie that far below and above its mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        down, up = -np.expm1(-below), np.expm1(above)
        return np.where(np.isinf(up), down, np.where(up + down > 0, down * up / (up + down), 0.0))


def _divide_cells(cells: LossCells, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    index = np.repeat(np.arange(len(cells)), pieces)
    place = np.arange(len(index)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    width = (cells.right - cells.left)[index] / pieces[index]
    left = cells.left[index] + place * width
    last = place == pieces[index] - 1
    right = np.where(last, cells.right[index], cells.left[index] + (place + 1) * width)
    return left, right


def _tail_losses(pair: tuple[Density, Density], side: int) -> np.ndarray:
    """The losses at up to 512 scales beyond the practical ends of a density, or infinity."""
    scale = max(law.scale for law in pair)
    end = min(law.low for law in pair) if side < 0 else max(law.high for law in pair)
    x = (end + side * scale * _FAR)[:, None]
    with np.errstate(invalid="ignore"):
        loss = (_log_density(pair[1], x) - _log_density(pair[0], x))[:, 0]
    # An infinite loss this far out may only mean that a density underflowed.
    loss = loss[np.isfinite(loss)]
    if len(loss) >= 3:
        before, after = np.diff(loss[-3:])  # unbounded if it changes no less each time the distance doubles
        if abs(after) > _MOVING and before * after > 0 and abs(after) >= 0.9 * abs(before):
            return np.append(loss, np.sign(after) * np.inf)
    return np.asarray(loss)


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(k,): |one − other|, 0 where they are equal and infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, np.abs(one - other))


def product_cells(parts: Sequence[LossCells]) -> LossCells:
    """The cells of a vector of independent parts, of which those with equal distributions do not count.
    If there are too many, cells of nearly equal loss are merged; their bounds contain the members'."""
    differing = [part for part in parts if max(-part.reach[0], part.reach[1]) > _SAME]
    total = LossCells.of_views(np.ones(1), np.ones(1))
    for part in differing:
        total = _add_losses(total, part)
    reach = (sum(part.reach[0] for part in differing), sum(part.reach[1] for part in differing))
    return attrs.evolve(total, unlisted=sum(part.unlisted for part in parts), reach=reach)


def _add_losses(one: LossCells, other: LossCells) -> LossCells:
    """The cells of all pairs. Pairs of losses ∞ and −∞ are impossible in both worlds and are left out."""
    if len(one) * len(other) > _MAX_EXACT_PAIRS:
        one, other = _merge_bins(one, _loss_range(one)), _merge_bins(other, _loss_range(other))
    ends = _loss_range(one)[0] + _loss_range(other)[0], _loss_range(one)[1] + _loss_range(other)[1]
    rows = max(1, _CHUNK // max(len(other), 1))
    chunks = []
    for start in range(0, len(one), rows):
        pairs = _pair_cells(one.select(np.arange(start, min(start + rows, len(one)))), other)
        chunks.append(pairs if len(one) * len(other) <= _MAX_EXACT_PAIRS else _merge_bins(pairs, ends))
    cells = concatenate_cells(chunks)
    cells = cells.select(np.argsort(cells.low, kind="stable")).merge_equal()
    return cells if len(cells) <= _MAX_EXACT_PAIRS else _merge_bins(cells, ends)


def _pair_cells(one: LossCells, other: LossCells) -> LossCells:
    def outer(name: str, ufunc: np.ufunc) -> np.ndarray:
        return np.asarray(ufunc.outer(getattr(one, name), getattr(other, name)).ravel())

    with np.errstate(invalid="ignore"):
        low, high = outer("low", np.add), outer("high", np.add)
    p0, p1 = outer("p0", np.multiply), outer("p1", np.multiply)
    nowhere = np.full(len(p0), np.nan)
    pairs = LossCells(p0=p0, p1=p1, low=low, high=high, left=nowhere, right=nowhere)
    return pairs.select(((p0 > 0) | (p1 > 0)) & ~np.isnan(low) & ~np.isnan(high))


def _loss_range(cells: LossCells) -> tuple[float, float]:
    bounds = np.concatenate([cells.low, cells.high])
    bounds = bounds[np.isfinite(bounds)]
    return (float(bounds.min()), float(bounds.max())) if len(bounds) else (0.0, 0.0)


def _merge_bins(cells: LossCells, losses: tuple[float, float]) -> LossCells:
    """Merge cells of nearly equal loss. Heavy cells are kept, since they would hide the most."""
    heavy = (cells.p0 + cells.p1 > 4 / _BINS) | ~np.isfinite(cells.low) | ~np.isfinite(cells.high)
    kept, rest = cells.select(heavy), cells.select(~heavy)
    width = (losses[1] - losses[0]) / _BINS or 1.0
    place = np.floor(((rest.low + rest.high) / 2 - losses[0]) / width)
    # Cells with wide bounds are light but would widen the bounds of heavy bins: they get their own bins.
    spread = np.ceil(np.log2(np.maximum((rest.high - rest.low) / width, 1.0)))
    order = np.lexsort((place, spread))
    rest, place, spread = rest.select(order), place[order], spread[order]
    new = np.ones(len(rest), bool)
    new[1:] = (place[1:] != place[:-1]) | (spread[1:] != spread[:-1])
    starts = np.flatnonzero(new)
    kept = kept.select(np.argsort(kept.low, kind="stable")).merge_equal()
    return concatenate_cells([kept, rest.merge(starts)])
