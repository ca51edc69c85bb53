"""Online games of T rounds: section 2 of Li, Wang, Ye, Private Online Learning against an Adaptive
Adversary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import attrs
import numpy as np

from arena.claims import STREAM_EXAMPLE
from arena.concepts.base import ConceptClass
from arena.concepts.consistency import VersionSpaces
from arena.errors import ArenaError, InvalidArgument
from arena.moves import Commit, Example, Move, Ready
from arena.points import point_text, unlike
from arena.referees.base import Referee, Seats, Table
from arena.replies import Hypothesis, Reply, Shown, Stream
from arena.scorebook import Noted
from arena.transcript import Observed

V = TypeVar("V")


def _rounds(instance: object, attribute: object, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidArgument("an online game has T ≥ 1 rounds", value=value)


@attrs.frozen
class Oblivious(Referee):
    """The adversary commits to all T examples before the learner's first hypothesis (section 2.1)."""

    name: ClassVar[str] = "Oblivious"
    two_worlds: ClassVar[bool] = False
    T: int = attrs.field(default=100, validator=_rounds)

    def open(self, seats: Seats) -> OnlineTable:
        return _ObliviousTable(seats, self.T)


@attrs.frozen
class Adaptive(Referee):
    """At round t the adversary, having seen h_1 … h_{t−1}, picks (x_t, y_t) while the learner picks h_t."""

    name: ClassVar[str] = "Adaptive"
    two_worlds: ClassVar[bool] = False
    T: int = attrs.field(default=100, validator=_rounds)

    def open(self, seats: Seats) -> OnlineTable:
        return _AdaptiveTable(seats, self.T)


@attrs.frozen
class SpecialRound(Referee):
    """Definition 2.4: each round the learner presents h_t and receives an example; at one round of the
    adversary's choice there are two examples, one a world. The view is h_1 … h_T."""

    name: ClassVar[str] = "SpecialRound"
    T: int = attrs.field(default=100, validator=_rounds)

    def open(self, seats: Seats) -> Table:
        return _SpecialRoundTable(seats, self.T)


class OnlineTable(Table):
    """What the online protocols share: rounds, mistakes, and what is noted of them."""

    def __init__(self, seats: Seats, rounds: int) -> None:
        super().__init__(seats)
        self._T = rounds
        self._mistakes = np.zeros(self.games, np.int64)
        self._scores = None if seats.scorebook is None else seats.scorebook.open(self.games)
        self._allowed: tuple[ConceptClass, VersionSpaces] | None = None

    def restrict(self, concepts: ConceptClass, spaces: VersionSpaces) -> None:
        """From now on refuse examples after which no concept agrees with all of a game's."""
        self._allowed = concepts, spaces

    @property
    def mistakes(self) -> np.ndarray:
        return self._mistakes

    @property
    def noted(self) -> Noted | None:
        return None if self._scores is None else self._scores.noted

    def close(self) -> None:
        if self.round != self._T:
            raise self._refuse(
                f"a game of T = {self._T} rounds is played to its end", expected=self._T, got=self.round
            )

    def _next_round(self) -> None:
        self.round += 1
        if self.round > self._T:
            raise self._refuse(f"a game of T = {self._T} rounds has no round {self.round}")

    def _example(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """The example that the adversary hands over, if it may."""
        points, labels = self._points(x), self._labels(y)
        if self._allowed is not None:
            self._check_realizable(*self._allowed, points, labels)
        return points, labels

    def _check_realizable(
        self, concepts: ConceptClass, spaces: VersionSpaces, x: np.ndarray, y: np.ndarray
    ) -> None:
        agreeing = self._of_domain(lambda: spaces.add(x, y))
        if not agreeing.all():
            games = np.flatnonzero(~agreeing)
            raise self._refuse(
                f"in a realizable game some concept of {concepts} agrees with all examples",
                games=games,
                got=f"the point {point_text(x[games[0]])} with the label {y[games[0]]}",
                remedy="Label it as some concept does that agrees with the examples before it.",
            )

    def _of_domain(self, call: Callable[[], V]) -> V:
        """What takes a point of the adversary's, which may lie outside the class."""
        try:
            return call()
        except ArenaError as error:
            raise self._refuse(str(error)) from error

    def _step(self, hypothesis: Hypothesis, x: np.ndarray, y: np.ndarray) -> None:
        """Count the mistake of h_t on (x_t, y_t), then let the learner observe it."""
        predicted = self._guard(lambda: hypothesis(x))
        self._mistakes += predicted != y
        scores = self._scores
        if scores is not None:
            self._of_domain(lambda: scores.note(self.round, x, y, self._mistakes))
        self._ask("observe", x, y)
        if self._log is not None:
            self._log.append(Observed(round=self.round, x=x, y=y, predicted=predicted))


class _ObliviousTable(OnlineTable):
    def take(self, move: Move) -> Reply:
        if not isinstance(move, Commit):
            raise self._refuse(
                "an oblivious adversary makes one move, Commit, before the first hypothesis",
                got=type(move).__name__,
            )
        if self.round:
            raise self._refuse("an oblivious adversary commits once")
        x, y = np.asarray(move.x), np.asarray(move.y)
        if y.ndim == 0 or y.shape[-1] != self._T or x.shape[: y.ndim] != y.shape:
            raise self._refuse(
                f"the committed sequence has T = {self._T} examples",
                expected=f"y of shape ({self._T},) or ({self.games}, {self._T}), x to match",
                got=f"x of shape {x.shape}, y of shape {y.shape}",
            )
        released = []
        for t in range(self._T):
            self._next_round()
            x_t, y_t = self._example(x[..., t] if y.ndim == x.ndim else _at(x, y, t), y[..., t])
            hypothesis = self._hypothesis()
            released.append(hypothesis)
            self._step(hypothesis, x_t, y_t)
        return Stream(tuple(released))


class _AdaptiveTable(OnlineTable):
    def take(self, move: Move) -> Reply:
        if not isinstance(move, Example):
            raise self._refuse("the adversary's move is an Example", got=type(move).__name__)
        if move.other_x is not None or move.other_y is not None:
            raise self._refuse("only SpecialRound has a second world")
        self._next_round()
        x, y = self._example(move.x, move.y)
        hypothesis = self._hypothesis()
        self._step(hypothesis, x, y)
        return Shown(hypothesis)


class _SpecialRoundTable(OnlineTable):
    def __init__(self, seats: Seats, rounds: int) -> None:
        super().__init__(seats, rounds)
        self._presented: Hypothesis | None = None

    def take(self, move: Move) -> Reply:
        if isinstance(move, Ready):
            if self._presented is not None or self.round:
                raise self._refuse("Ready opens the game and is made once")
            self._presented = self._hypothesis()
            return Shown(self._presented)
        if not isinstance(move, Example):
            raise self._refuse("the adversary's moves are Ready, then Example", got=type(move).__name__)
        if self.round == 0 and self._presented is None:
            raise self._refuse("the game opens with Ready: the learner presents h_1 first")
        self._next_round()
        assert self._presented is not None
        self._step(self._presented, *self._own_example(move))
        self._presented = self._hypothesis() if self.round < self._T else self._presented
        return Shown(self._presented if self.round < self._T else None)

    def _own_example(self, move: Example) -> tuple[np.ndarray, np.ndarray]:
        x, y = self._example(move.x, move.y)
        if move.other_x is None and move.other_y is None:
            return x, y
        other_x = self._points(move.x if move.other_x is None else move.other_x)
        other_y = self._labels(move.y if move.other_y is None else move.other_y)
        differ = unlike(x, other_x) | (y != other_y)
        broken = differ & self.flag
        if broken.any():
            raise self._refuse(
                "a game has one special round",
                games=np.flatnonzero(broken),
                expected="the same example in both worlds",
                got="two different examples",
            )
        self.flag |= differ
        if differ.any():
            self.challenges.add(STREAM_EXAMPLE)
        return self._own(x, other_x), self._own(y, other_y)


def _at(x: np.ndarray, y: np.ndarray, t: int) -> np.ndarray:
    """Round t of a committed sequence of vector points: the round axis is the last of y's."""
    taken: np.ndarray = np.take(x, t, axis=y.ndim - 1)
    return taken
