"""Privacy loss of a vector of independent parts: the sum of the parts' losses, in not too many cells."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from audits.exact_loss.loss_cells import LossCells, concatenate_cells

_BINS = 3_000  # of the range of losses, into which light cells are merged
_MAX_EXACT_PAIRS = 2**16  # pairs of cells that are kept one by one
_CHUNK = 2**20  # pairs of cells in memory at a time
_SAME = 1e-13  # nats; a part that differs by less does not count


def product_cells(parts: Sequence[LossCells]) -> LossCells:
    """The cells of a vector of independent parts, of which those with equal distributions do not count.

    If there are too many, cells of nearly equal loss are merged; their bounds contain those of the members.
    """
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
