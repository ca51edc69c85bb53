"""Moves: what an adversary may yield. The referee of the game says which of them are legal, and when.

Wherever a move gives something "in world 0" and "in world 1", the second may be left out: the same in
both worlds. A point is one number (or one vector) for all games of the table, or an array (n, ...) with
one for each game.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from arena.sample import Sample


@attrs.frozen(eq=False)
class Move:
    """Base of every move."""


@attrs.frozen(eq=False)
class Train(Move):
    """The training phase (`Figure1`, `Voting`), or the one sample of `Release`.

    sample, other: the training set in world 0 and in world 1: one `Sample` for all games, or a
    sequence of n of them.
    """

    sample: Sample | Sequence[Sample]
    other: Sample | Sequence[Sample] | None = None


@attrs.frozen(eq=False)
class Query(Move):
    """A prediction query: the point in world 0, and in world 1 (`Figure1`; `Voting` wants them equal)."""

    x: Any
    other: Any = None


@attrs.frozen(eq=False)
class Queries(Move):
    """k queries in a row, all chosen before the first of them is answered: k rounds of `Figure1` or `Voting`,
    the points equal in both worlds.

    For players that need not hear each answer before the next query: a learner may answer them together.

    x: (k, ...), the same for all games, or (n, k, ...).
    """

    x: Any


@attrs.frozen(eq=False)
class Unlabelled(Move):
    """Unlabelled points that are handed to the learner between queries, for it to learn from (`Figure1`).

    Both worlds have as many, and they differ in at most one place. It is no round, and nothing is shown but
    whether the learner has halted.

    x, other: the points in world 0 and in world 1, (k, ...), the same for all games, or (n, k, ...).
    """

    x: Any
    other: Any = None


@attrs.frozen(eq=False)
class Example(Move):
    """One round of `Adaptive` or `SpecialRound`: the labelled example, and at the special round its rival.

    x, y: the example (in world 0); other_x, other_y: the one in world 1, both or neither.
    target: in a realizable game, a concept of its class that agrees with all its examples, one for all games
    or one for each. It is named in every round, the same, or in none; the learner is not told. It spares the
    referee the search for one.
    update: for learners that ask for it, (n,) bool: ConfidentWinnow's b_t.
    """

    x: Any
    y: Any
    other_x: Any = None
    other_y: Any = None
    target: Any = None
    update: Any = None


@attrs.frozen(eq=False)
class Commit(Move):
    """The whole sequence of `Oblivious`.

    x, y: x (T, ...) or (n, T, ...), y (T,) or (n, T). Or else
    examples: an iterator of T `Example`, which is run to its end without hearing of the learner: a sequence
    that is made as it is needed, and takes no memory. Whoever makes one must draw from no generator that is
    used elsewhere meanwhile.
    target: as in `Example`, of x and y; `examples` name theirs.
    look: False where the reply is of no use; it then holds no hypotheses.
    """

    x: Any = None
    y: Any = None
    examples: Iterator[Example] | None = None
    target: Any = None
    look: bool = True


@attrs.frozen(eq=False)
class Ready(Move):
    """Opens `SpecialRound`: the adversary asks to see h_1."""
