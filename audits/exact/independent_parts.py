"""The privacy loss of independent parts: the sum of the parts' losses, in a bounded number of cells."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from audits.exact.loss_cells import LossCells, united

_BINS = 3_000
_EXACT_PAIRS = 2**16  # so many pairs of cells are kept one by one
_CHUNK = 2**20
_SAME = 1e-13  # nats; a part that differs by less does not count


def product(parts: Sequence[LossCells]) -> LossCells:
    """The cells of a vector of independent parts.

    Parts that are the same in both worlds drop out. LossCells of nearly equal loss are merged where there would
    be too many; the bounds of the merged cell hold those of its members.
    """
    telling = [part for part in parts if max(-part.reach[0], part.reach[1]) > _SAME]
    found = LossCells.of_views(np.ones(1), np.ones(1))
    for part in telling:
        found = _summed(found, part)
    return attrs.evolve(
        found,
        unlisted=sum(part.unlisted for part in parts),
        reach=(sum(part.reach[0] for part in telling), sum(part.reach[1] for part in telling)),
    )


def _summed(one: LossCells, other: LossCells) -> LossCells:
    """The cells of pairs. A loss of ∞ and one of −∞ do not meet: that pair is impossible in both worlds."""
    if len(one) * len(other) > _EXACT_PAIRS:
        span = _span(one), _span(other)
        one, other = _binned(one, span[0]), _binned(other, span[1])
    ends = _span(one)[0] + _span(other)[0], _span(one)[1] + _span(other)[1]
    rows = max(1, _CHUNK // max(len(other), 1))
    chunks = []
    for start in range(0, len(one), rows):
        pairs = _pairs(one.taken(np.arange(start, min(start + rows, len(one)))), other)
        chunks.append(pairs if len(one) * len(other) <= _EXACT_PAIRS else _binned(pairs, ends))
    found = united(chunks)
    found = found.taken(np.argsort(found.low, kind="stable")).flat_merged()
    return found if len(found) <= _EXACT_PAIRS else _binned(found, ends)


def _pairs(one: LossCells, other: LossCells) -> LossCells:
    def outer(name: str, ufunc: np.ufunc) -> np.ndarray:
        return np.asarray(ufunc.outer(getattr(one, name), getattr(other, name)).ravel())

    with np.errstate(invalid="ignore"):
        low, high = outer("low", np.add), outer("high", np.add)
    p0, p1 = outer("p0", np.multiply), outer("p1", np.multiply)
    nowhere = np.full(len(p0), np.nan)
    pairs = LossCells(p0=p0, p1=p1, low=low, high=high, left=nowhere, right=nowhere)
    return pairs.taken(((p0 > 0) | (p1 > 0)) & ~np.isnan(low) & ~np.isnan(high))


def _span(cells: LossCells) -> tuple[float, float]:
    """The least and the greatest finite loss."""
    bounds = np.concatenate([cells.low, cells.high])
    bounds = bounds[np.isfinite(bounds)]
    return (float(bounds.min()), float(bounds.max())) if len(bounds) else (0.0, 0.0)


def _binned(cells: LossCells, span: tuple[float, float]) -> LossCells:
    """Cells of nearly equal loss merged; heavy ones stay as they are, since they would hide the most."""
    heavy = (cells.p0 + cells.p1 > 4 / _BINS) | ~np.isfinite(cells.low) | ~np.isfinite(cells.high)
    kept, rest = cells.taken(heavy), cells.taken(~heavy)
    width = (span[1] - span[0]) / _BINS or 1.0
    place = np.floor(((rest.low + rest.high) / 2 - span[0]) / width)
    # Wide cells are light, but would widen the bounds of heavy bins: they have bins of their own.
    spread = np.ceil(np.log2(np.maximum((rest.high - rest.low) / width, 1.0)))
    order = np.lexsort((place, spread))
    rest, place, spread = rest.taken(order), place[order], spread[order]
    new = np.ones(len(rest), bool)
    new[1:] = (place[1:] != place[:-1]) | (spread[1:] != spread[:-1])
    starts = np.flatnonzero(new)
    kept = kept.taken(np.argsort(kept.low, kind="stable")).flat_merged()
    return united([kept, rest.merged(starts)])
