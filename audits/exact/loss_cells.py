"""Cells of a view: their masses in both worlds, and bounds on the privacy loss within each."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from arena import Density, InvalidArgument
from audits.exact.privacy_loss import ROUNDING, PrivacyLoss, log_ratio

_ORDER = 12
_PER_SCALE = 4  # cells a scale, to begin with
_MOST_GRID = 50_000
_MOST_CELLS = 300_000
_MOST_PIECES = 64
HIDDEN = 1e-10  # of δ, by one cell: few cells straddle any one ε
_ROUNDS = 40
_BANDS = 20
_FLAT = 1e-12  # nats; losses that are nearer count as equal
_BEYOND = 2e-15  # of a density, below its `low` and above its `high`
_MOVING = 1e-6  # nats; less is rounding
_FAR = 2.0 ** np.arange(10)  # scales beyond these, where the tails are looked at


@attrs.frozen(eq=False, kw_only=True)
class LossCells:
    """Cells before they are a `PrivacyLoss`. Shapes, all (k,): masses p0, p1; bounds low, high (nats) on the
    loss; left, right: where in the line a cell lies, NaN if nowhere.

    unlisted, reach: as `PrivacyLoss` has them.
    """

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
        """Single views of these probabilities; those impossible in both worlds are left out."""
        held = (p0 > 0) | (p1 > 0)
        loss = log_ratio(p0[held], p1[held])
        nowhere = np.full(len(loss), np.nan)
        return cls(
            p0=p0[held],
            p1=p1[held],
            low=loss,
            high=loss,
            left=nowhere,
            right=nowhere,
            reach=(float(loss.min(initial=np.inf)), float(loss.max(initial=-np.inf))),
        )

    def __len__(self) -> int:
        return len(self.p0)

    def taken(self, which: np.ndarray) -> LossCells:
        """Some of the cells."""
        arrays = {name: getattr(self, name)[which] for name in _ARRAYS}
        return attrs.evolve(self, **arrays)

    def merged(self, starts: np.ndarray) -> LossCells:
        """Cells of neighbours: those from each start up to the next are one."""
        if not len(starts):
            return self
        return attrs.evolve(
            self,
            p0=np.add.reduceat(self.p0, starts),
            p1=np.add.reduceat(self.p1, starts),
            low=np.minimum.reduceat(self.low, starts),
            high=np.maximum.reduceat(self.high, starts),
            left=np.minimum.reduceat(self.left, starts),
            right=np.maximum.reduceat(self.right, starts),
        )

    def flat_merged(self) -> LossCells:
        """Neighbours of equal loss made one."""
        return self.merged(np.flatnonzero(~self._like_before()))

    def banded(self) -> LossCells:
        """Neighbours of nearly equal loss made one, for people; a cell of one loss stays by itself."""
        bounds = np.concatenate([self.low, self.high])
        bounds = bounds[np.isfinite(bounds)]
        width = (bounds.max(initial=0.0) - bounds.min(initial=0.0)) / _BANDS or 1.0
        band = np.floor((self.low + self.high) / 2 / width)
        flat = _apart(self.low, self.high) <= _FLAT
        starts = np.ones(len(self), bool)
        starts[1:] = (band[1:] != band[:-1]) | flat[1:] | flat[:-1]
        return self.merged(np.flatnonzero(starts))

    def loss(self) -> PrivacyLoss:
        """The privacy loss of cells that hold all of both laws."""
        off = max(abs(float(mass.sum()) - 1) for mass in (self.p0, self.p1))
        return PrivacyLoss(
            p0=self.p0,
            p1=self.p1,
            low=self.low,
            high=self.high,
            unlisted=self.unlisted,
            error=off if off > ROUNDING + self.unlisted else 0.0,
            reach=self.reach,
        )

    def _like_before(self) -> np.ndarray:
        slack = _FLAT * np.maximum(1.0, np.abs(np.where(np.isfinite(self.low), self.low, 0.0)))
        flat = _apart(self.low, self.high) <= slack
        like = np.zeros(len(self), bool)
        like[1:] = flat[1:] & flat[:-1]
        for bound in (self.low, self.high):
            like[1:] &= _apart(bound[1:], bound[:-1]) <= slack[1:]
        return like


_ARRAYS = ("p0", "p1", "low", "high", "left", "right")


def united(parts: Sequence[LossCells]) -> LossCells:
    """The cells of all parts of one law."""
    arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS}
    return LossCells(
        **arrays,
        unlisted=sum(part.unlisted for part in parts),
        reach=(min(part.reach[0] for part in parts), max(part.reach[1] for part in parts)),
    )


# --- densities --------------------------------------------------------------------------------------------


def density_cells(first: Density, second: Density, *, hidden: float = HIDDEN) -> LossCells:
    """The line, cut so finely that each cell hides at most `hidden` of δ, unless that took 300,000 cells.

    Cuts are at the kinks of both densities and at every quarter of a scale. Masses are by Gauss-Legendre
    rules. The bounds on the loss are its extremes at the nodes and at both ends: exact where it is monotone
    within the cell. Where it is not, and the cell may hold the greatest or least loss of all, the cell is cut
    until its losses agree to 1e-12. Neighbours of equal loss are one cell.
    """
    pair = (first, second)
    cuts = _cuts(pair)
    cells, turns = _evaluated(pair, cuts[:-1], cuts[1:])
    done: list[LossCells] = []
    for _ in range(_ROUNDS):
        pieces = _pieces(cells, turns, done, hidden)
        if (pieces == 1).all() or pieces.sum() + sum(len(part) for part in done) > _MOST_CELLS:
            break
        done.append(cells.taken(pieces == 1))
        cells, turns = _evaluated(pair, *_split(cells.taken(pieces > 1), pieces[pieces > 1]))
    found = united([*done, cells])
    found = found.taken(np.argsort(found.left, kind="stable")).flat_merged()
    tails = [_tail(pair, side) for side in (-1, 1)]
    losses = np.concatenate([found.low, found.high, *tails])
    return attrs.evolve(
        found,
        unlisted=_BEYOND,
        reach=(float(losses.min(initial=np.inf)), float(losses.max(initial=-np.inf))),
    )


def _cuts(pair: tuple[Density, Density]) -> np.ndarray:
    cuts = []
    for law in pair:
        count = min(int(np.ceil((law.high - law.low) / law.scale * _PER_SCALE)), _MOST_GRID)
        cuts.append(np.linspace(law.low, law.high, max(count, 1) + 1))
    low, high = min(law.low for law in pair), max(law.high for law in pair)
    kinks = np.array([kink for law in pair for kink in law.kinks], float)
    return np.unique(np.concatenate([*cuts, kinks[(kinks > low) & (kinks < high)]]))


def _evaluated(
    pair: tuple[Density, Density], left: np.ndarray, right: np.ndarray
) -> tuple[LossCells, np.ndarray]:
    """The cells between left and right (k,) of which some density is positive; where the loss turns."""
    points, weights = np.polynomial.legendre.leggauss(_ORDER)
    middle, half = (left + right) / 2, (right - left) / 2
    # A density may jump at an end, so the ends are looked at from just inside.
    inside = np.maximum(1e-12 * half, np.spacing(np.maximum(np.abs(left), np.abs(right))))
    ends = np.minimum(inside, half)
    nodes = np.column_stack([left + ends, middle[:, None] + half[:, None] * points, right - ends])
    logs = [_log_density(law, nodes) for law in pair]
    p0, p1 = (half * (np.exp(log[:, 1:-1]) @ weights) for log in logs)
    held = np.isfinite(logs[0]).any(axis=1) | np.isfinite(logs[1]).any(axis=1)
    with np.errstate(invalid="ignore"):
        loss = (logs[1] - logs[0])[held]  # NaN where both vanish
    low, high = np.fmin.reduce(loss, axis=1), np.fmax.reduce(loss, axis=1)
    cells = LossCells(p0=p0[held], p1=p1[held], low=low, high=high, left=left[held], right=right[held])
    return cells, _turns(loss)


def _log_density(law: Density, nodes: np.ndarray) -> np.ndarray:
    log = np.asarray(law.log(nodes.ravel()), float).reshape(nodes.shape)
    if np.isnan(log).any() or (log == np.inf).any():
        raise InvalidArgument("a log density is a number or -inf", value=float(log[~(log < np.inf)][0]))
    return log


def _turns(loss: np.ndarray) -> np.ndarray:
    """(k,) bool: where losses at successive nodes (k, nodes) both rise and fall."""
    with np.errstate(invalid="ignore"):
        steps = np.diff(loss, axis=1)
    slack = _FLAT * np.maximum(1.0, np.abs(np.where(np.isfinite(loss), loss, 0.0)).max(axis=1, initial=0.0))
    return np.asarray((steps > slack[:, None]).any(axis=1) & (steps < -slack[:, None]).any(axis=1))


def _pieces(cells: LossCells, turns: np.ndarray, done: Sequence[LossCells], most: float) -> np.ndarray:
    """(k,): into how many pieces each cell is to be cut."""
    pieces = np.ones(len(cells), np.int64)
    hidden = _most_hidden(cells)
    wide = hidden > most
    # The pieces of a cell are lighter and narrower: what they hide falls with the square of their number.
    pieces[wide] = np.minimum(np.ceil(np.sqrt(hidden[wide] / most)), _MOST_PIECES).astype(np.int64)
    least = min(float(part.low.min(initial=np.inf)) for part in (*done, cells))
    greatest = max(float(part.high.max(initial=-np.inf)) for part in (*done, cells))
    spread = _apart(cells.low, cells.high)
    telling = (cells.high + spread >= greatest) | (cells.low - spread <= least)
    inner = (cells.right - cells.left) > 8 * np.spacing(np.maximum(np.abs(cells.left), np.abs(cells.right)))
    turning = turns & telling & (spread > _FLAT)
    pieces[turning] = np.maximum(pieces[turning], 4)
    return np.where(inner, pieces, 1)


def _most_hidden(cells: LossCells) -> np.ndarray:
    """(k,): of δ, at the ε where that is most, in the direction where it is."""
    mean = log_ratio(cells.p0, cells.p1)
    told = (cells.p0 > 0) & (cells.p1 > 0) & (cells.low < cells.high)
    found = np.zeros(len(cells))
    mean, low, high = mean[told], cells.low[told], cells.high[told]
    mean = np.clip(mean, low, high)
    found[told] = np.maximum(
        cells.p1[told] * _two_point(mean - low, high - mean),
        cells.p0[told] * _two_point(high - mean, mean - low),
    )
    return found


def _two_point(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """(k,): the greatest excess over its mean of a mass 1 that may lie at losses so far below and above."""
    with np.errstate(over="ignore", invalid="ignore"):
        down, up = -np.expm1(-below), np.expm1(above)
        return np.where(np.isinf(up), down, np.where(up + down > 0, down * up / (up + down), 0.0))


def _split(cells: LossCells, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The left and right ends of the pieces."""
    index = np.repeat(np.arange(len(cells)), pieces)
    place = np.arange(len(index)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    width = (cells.right - cells.left)[index] / pieces[index]
    left = cells.left[index] + place * width
    last = place == pieces[index] - 1
    right = np.where(last, cells.right[index], cells.left[index] + (place + 1) * width)
    return left, right


def _tail(pair: tuple[Density, Density], side: int) -> np.ndarray:
    """The losses far beyond where the law ends for practical purposes: up to 512 scales, or infinity.

    The loss counts as unbounded where, as the distance doubles, it moves on by no less than before.
    """
    scale = max(law.scale for law in pair)
    end = min(law.low for law in pair) if side < 0 else max(law.high for law in pair)
    x = (end + side * scale * _FAR)[:, None]
    with np.errstate(invalid="ignore"):
        loss = (_log_density(pair[1], x) - _log_density(pair[0], x))[:, 0]
    # An infinite loss out here would rest on a density that may only have underflowed.
    loss = loss[np.isfinite(loss)]
    if len(loss) >= 3:
        before, after = np.diff(loss[-3:])
        if abs(after) > _MOVING and before * after > 0 and abs(after) >= 0.9 * abs(before):
            return np.append(loss, np.sign(after) * np.inf)
    return np.asarray(loss)


def _apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(k,): |one − other|, 0 where they are equal and infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, np.abs(one - other))
