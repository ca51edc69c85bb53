"""Moves: what an adversary may yield. The referee of the game says which of them are legal, and when.

Wherever a move gives something "in world 0" and "in world 1", the second may be left out: the same in
both worlds. A point is one number (or one vector) for all games of the table, or an array (n, ...) with
one for each game.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from arena.sample import Sample


@attrs.frozen(eq=False)
class Move:
    """Base of every move."""


@attrs.frozen(eq=False)
class Train(Move):
    """The training phase (`Figure1`), or the one sample of `Release`.

    sample, other: the training set in world 0 and in world 1: one `Sample` for all games, or a
    sequence of n of them.
    """

    sample: Sample | Sequence[Sample]
    other: Sample | Sequence[Sample] | None = None


@attrs.frozen(eq=False)
class Query(Move):
    """A prediction query of `Figure1`: the point in world 0, and in world 1."""

    x: Any
    other: Any = None


@attrs.frozen(eq=False)
class Commit(Move):
    """The whole sequence of `Oblivious`: x (T, ...) or (n, T, ...), y (T,) or (n, T)."""

    x: Any
    y: Any


@attrs.frozen(eq=False)
class Example(Move):
    """One round of `Adaptive` or `SpecialRound`: the labelled example, and at the special round its rival.

    x, y: the example (in world 0); other_x, other_y: the one in world 1, both or neither.
    """

    x: Any
    y: Any
    other_x: Any = None
    other_y: Any = None


@attrs.frozen(eq=False)
class Ready(Move):
    """Opens `SpecialRound`: the adversary asks to see h_1."""
