"""Moves: what an adversary may yield. The referee of the game says which of them are legal, and when.

A value for world 1 that is left out is the same in both worlds. A point is one number or vector for all games
of the batch, or an array (n, ...) with one for each game.
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
    """The training phase of `Figure1`, `Voting` and `TrainingRun`, or the one sample of `Release`.

    sample, other: the training set in world 0 and in world 1, one `Sample` for all games or a sequence of n.
    """

    sample: Sample | Sequence[Sample]
    other: Sample | Sequence[Sample] | None = None


@attrs.frozen(eq=False)
class TrainWithCanaries(Move):
    """The training phase of `OneRun`.

    sample: the examples that are in the data in any case. canaries: one example for each game, in the data
        if its coin says so.
    """

    sample: Sample
    canaries: Sample


@attrs.frozen(eq=False)
class Query(Move):
    """A query: the point in world 0 and in world 1. `Voting` requires that they are equal."""

    x: Any
    other: Any = None


@attrs.frozen(eq=False)
class Queries(Move):
    """k queries in a row, the same in both worlds, all chosen before the first of them is answered.

    They are k rounds of `Figure1` or `Voting`. A learner may answer them together, which is faster.

    x: (k, ...), the same for all games, or (n, k, ...).
    """

    x: Any


@attrs.frozen(eq=False)
class Unlabelled(Move):
    """Unlabelled points that the learner of `Figure1` is given between queries, to learn from.

    Both worlds have the same number of points, which differ in at most one place. The move is not a round;
    the reply shows only whether the learner has halted.

    x, other: the points in world 0 and in world 1, (k, ...), the same for all games, or (n, k, ...).
    """

    x: Any
    other: Any = None


@attrs.frozen(eq=False)
class Example(Move):
    """One round of `Adaptive` or `SpecialRound`: a labelled example.

    x, y: the example, in world 0 at the special round.
    other_x, other_y: the example in world 1 at the special round; one that is left out is the same in both.
    target: in a realizable game, a concept that agrees with all examples, one for all games or one for each
        game. It is named in every round or in none, and spares the referee the search for one. The learner is
        not shown it.
    update: for learners that take instructions, (n,) bool: the b_t of ConfidentWinnow.
    """

    x: Any
    y: Any
    other_x: Any = None
    other_y: Any = None
    target: Any = None
    update: Any = None


@attrs.frozen(eq=False)
class Commit(Move):
    """The whole sequence of `Oblivious`, as arrays or as an iterator.

    x, y: x (T, ...) or (n, T, ...), y (T,) or (n, T).
    examples: an iterator of T `Example`. It is run to its end without seeing the learner, so that a sequence
        is generated as it is needed and takes no memory. It must not share a generator of random numbers.
    target: as in `Example`, for x and y; the Examples of an iterator name theirs.
    show_hypotheses: if False, the reply holds no hypotheses.
    """

    x: Any = None
    y: Any = None
    examples: Iterator[Example] | None = None
    target: Any = None
    show_hypotheses: bool = True


@attrs.frozen(eq=False)
class Ready(Move):
    """Opens `SpecialRound`: the adversary asks to see h_1."""


@attrs.frozen(eq=False)
class GradientCanary:
    """An example whose gradient the adversary chooses, in place of that of the loss.

    x, label: the example. Every equal example of a training set is such a canary; a training set without one
        is not affected. gradient: (P,) for P parameters, the same for all games, or (n, P). The learner clips
        it as it clips other gradients.
    """

    x: Any
    label: int
    gradient: Any


@attrs.frozen(eq=False)
class Advance(Move):
    """Steps of `TrainingRun` or `OneRun`.

    steps: how many; None: all that are left. canaries: of these steps.
    """

    steps: int | None = None
    canaries: Sequence[GradientCanary] = ()
