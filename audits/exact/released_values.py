"""From the laws of one released value in both worlds to the privacy loss between them."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from arena import Branches, Density, Finite, Independent, InvalidArgument, ValueLaw
from audits.exact.independent_parts import product
from audits.exact.loss_cells import HIDDEN, LossCells, density_cells, united
from audits.exact.privacy_loss import PrivacyLoss

Text = Callable[[int], str]


@attrs.frozen(eq=False)
class LabelledLoss:
    """A privacy loss, and what its cell i holds, for people."""

    loss: PrivacyLoss
    text: Text


@attrs.frozen(eq=False)
class ValueLosses:
    """All that two laws of a value tell: in cells as fine as figures need, and in few, for people."""

    fine: LabelledLoss
    coarse: LabelledLoss


def loss_of_values(world_0: ValueLaw, world_1: ValueLaw) -> PrivacyLoss:
    """The privacy loss between two laws of one released value.

    Raises: InvalidArgument if the laws are not of one kind and shape, or tell what is no density.
    """
    return views_of_values(world_0, world_1).fine.loss


def pure_epsilon(world_0: ValueLaw, world_1: ValueLaw) -> float:
    """The pure ε between two laws of one released value, in nats: `loss_of_values(...).epsilon`, and in much
    less time, since no δ is asked for.

    Raises: InvalidArgument as `loss_of_values` does.
    """
    return views_of_values(world_0, world_1, hidden=np.inf).fine.loss.epsilon


def views_of_values(world_0: ValueLaw, world_1: ValueLaw, *, hidden: float = HIDDEN) -> ValueLosses:
    """The same, with what the cells hold; hidden: how much of δ a cell may hide."""
    pair = (world_0, world_1)
    if isinstance(world_0, Branches) and isinstance(world_1, Branches):
        branches = _branches(world_0, world_1, hidden)
        return ValueLosses(_listed_branches(branches), _listed_branches([part.banded() for part in branches]))
    if isinstance(world_0, Finite) and isinstance(world_1, Finite):
        cells, values = _finite(world_0, world_1)
        listed = LabelledLoss(cells.loss(), lambda cell: f"value {_value_text(values[cell])}")
        return ValueLosses(listed, listed)
    if isinstance(world_0, Density) and isinstance(world_1, Density):
        cells = density_cells(world_0, world_1, hidden=hidden)
        return ValueLosses(_listed_line(cells), _listed_line(cells.banded()))
    if isinstance(world_0, Independent) and isinstance(world_1, Independent):
        listed = _listed_losses(_independent(world_0, world_1, hidden))
        return ValueLosses(listed, listed)
    raise InvalidArgument(
        "the laws of both worlds are of one kind: Finite, Density, Independent or Branches",
        value=[type(law).__name__ for law in pair],
    )


def _finite(world_0: Finite, world_1: Finite) -> tuple[LossCells, np.ndarray]:
    """The cells of values possible in some world, and the values (k, ...)."""
    if world_0.values.shape[1:] != world_1.values.shape[1:]:
        raise InvalidArgument(
            "the values of both worlds have one shape",
            value=[law.values.shape[1:] for law in (world_0, world_1)],
        )
    both = np.concatenate([world_0.values, world_1.values])
    _, first, place = np.unique(both.reshape(len(both), -1), axis=0, return_index=True, return_inverse=True)
    masses = np.zeros((2, len(first)))
    place, count = place.ravel(), len(world_0.values)
    masses[0, place[:count]] = world_0.probabilities
    masses[1, place[count:]] = world_1.probabilities
    held = masses.any(axis=0)
    return LossCells.of_views(*masses), both[first][held]


def _independent(world_0: Independent, world_1: Independent, hidden: float) -> LossCells:
    if len(world_0.parts) != len(world_1.parts):
        raise InvalidArgument(
            "the vectors of both worlds have one length", value=[len(law.parts) for law in (world_0, world_1)]
        )
    return product([_part(*pair, hidden) for pair in zip(world_0.parts, world_1.parts, strict=True)])


def _part(one: Finite | Density, other: Finite | Density, hidden: float) -> LossCells:
    if isinstance(one, Finite) and isinstance(other, Finite):
        return _finite(one, other)[0]
    if isinstance(one, Density) and isinstance(other, Density):
        return density_cells(one, other, hidden=hidden)
    raise InvalidArgument("a part is Finite in both worlds or has a density in both")


def _branches(world_0: Branches, world_1: Branches, hidden: float) -> list[LossCells]:
    if len(world_0.parts) != len(world_1.parts):
        raise InvalidArgument(
            "both worlds have the same branches", value=[len(law.parts) for law in (world_0, world_1)]
        )
    return [_branch(*pair, hidden) for pair in zip(world_0.parts, world_1.parts, strict=True)]


def _branch(one: float | Density, other: float | Density, hidden: float) -> LossCells:
    """A branch in both worlds. A number that it shows in one world only tells the worlds apart for sure."""
    if isinstance(one, Density) and isinstance(other, Density):
        return density_cells(one, other, hidden=hidden)
    if not isinstance(one, Density) and not isinstance(other, Density):
        return LossCells.of_views(np.array([one], float), np.array([other], float))
    told = one if isinstance(one, Density) else other
    assert isinstance(told, Density)
    none = attrs.evolve(told, log=lambda x: np.full(np.shape(x), -np.inf))
    shown = density_cells(*(law if isinstance(law, Density) else none for law in (one, other)), hidden=hidden)
    bare = (np.array([0.0 if isinstance(law, Density) else law]) for law in (one, other))
    return united([shown, LossCells.of_views(*bare)])


def _listed_line(cells: LossCells) -> LabelledLoss:
    return LabelledLoss(cells.loss(), lambda cell: f"value {_place(cells, cell)}")


def _listed_losses(cells: LossCells) -> LabelledLoss:
    return LabelledLoss(cells.loss(), lambda cell: f"all values of a privacy loss {_losses(cells, cell)}")


def _listed_branches(parts: list[LossCells]) -> LabelledLoss:
    cells = united(parts)
    branch = np.repeat(np.arange(len(parts)), [len(part) for part in parts])

    def text(cell: int) -> str:
        where = "" if np.isnan(cells.left[cell]) else f", number {_place(cells, cell)}"
        return f"branch {branch[cell]}{where}"

    return LabelledLoss(cells.loss(), text)


def _value_text(value: np.ndarray) -> str:
    return np.array2string(np.asarray(value), precision=6, threshold=64, max_line_width=1_000)


def _place(cells: LossCells, cell: int) -> str:
    return f"from {cells.left[cell]:.6g} to {cells.right[cell]:.6g}"


def _losses(cells: LossCells, cell: int) -> str:
    low, high = cells.low[cell], cells.high[cell]
    return f"of {low:.6g}" if low == high else f"from {low:.6g} to {high:.6g}"


__all__ = ["LabelledLoss", "ValueLosses", "loss_of_values", "views_of_values"]
