"""Online games of T rounds: section 2 of Li, Wang, Ye, Private Online Learning against an Adaptive
Adversary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.concepts.base import ConceptClass
from arena.concepts.consistency import VersionSpaces, version_spaces
from arena.errors import RAISED, ArenaError, InvalidArgument, PlayerError
from arena.moves import Commit, Example, Move, Ready
from arena.points import format_point, points_differ
from arena.referees.base import LearnerStates, Referee, Table
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

    def open(self, states: LearnerStates) -> OnlineBatch:
        return _ObliviousBatch(states, self.T)


@attrs.frozen
class Adaptive(Referee):
    """At round t the adversary, having seen h_1 … h_{t−1}, picks (x_t, y_t) while the learner picks h_t."""

    name: ClassVar[str] = "Adaptive"
    two_worlds: ClassVar[bool] = False
    T: int = attrs.field(default=100, validator=_rounds)

    def open(self, states: LearnerStates) -> OnlineBatch:
        return _AdaptiveBatch(states, self.T)


@attrs.frozen
class SpecialRound(Referee):
    """Definition 2.4: each round the learner presents h_t and receives an example; at one round of the
    adversary's choice there are two examples, one a world. The view is h_1 … h_T."""

    name: ClassVar[str] = "SpecialRound"
    T: int = attrs.field(default=100, validator=_rounds)

    def open(self, states: LearnerStates) -> Table:
        return _SpecialRoundBatch(states, self.T)


class Allowed:
    """The examples that a realizable game allows: those after which some concept of a class agrees with all
    of the game's, or those with which the target agrees that the adversary has named."""

    def __init__(self, concepts: ConceptClass, games: int) -> None:
        self.concepts = concepts
        self._games = games
        self._spaces: VersionSpaces | None = None
        self._named: Any = None
        self._agreement: Callable[[Any, np.ndarray], np.ndarray] | None = None

    def add(self, x: np.ndarray, y: np.ndarray, target: Any) -> np.ndarray:
        """(n,) bool: the games in which the example is allowed.

        Raises: InvalidArgument if the point or the target is none, or another target was named before.
        """
        if target is None and self._agreement is None:
            self._spaces = self._spaces or version_spaces(self.concepts, self._games)
            return self._spaces.add(x, y)
        return self._of_target(target)(x, y)

    def _of_target(self, target: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        """Which examples the target agrees with."""
        if self._agreement is None and self._spaces is None:
            # A copy, so that a player who changes what it has handed over changes no target.
            given = self.concepts.check_concepts(target).copy()
            if given.ndim == self.concepts.concept_ndim:
                given = np.broadcast_to(given, (self._games, *given.shape))
            if given.ndim != self.concepts.concept_ndim + 1 or len(given) != self._games:
                raise InvalidArgument(
                    "a target is named once for all games or once for each", value=given.shape
                )
            self._agreement, self._named = self.concepts.agreement(given), target
        elif self._agreement is None or (
            target is not self._named and not np.array_equal(target, self._named)
        ):
            raise InvalidArgument("the same target is named in every round, or none in any")
        return self._agreement


class OnlineBatch(Table):
    """What the online protocols share: rounds, mistakes, and what is noted of them."""

    def __init__(self, states: LearnerStates, rounds: int) -> None:
        super().__init__(states)
        self._T = rounds
        self._mistakes = np.zeros(self.games, np.int64)
        self._scores = None if states.scorebook is None else states.scorebook.open(self.games)
        self._allowed: Allowed | None = None

    def restrict(self, concepts: ConceptClass) -> None:
        """From now on refuse examples after which no concept agrees with all of a game's."""
        self._allowed = Allowed(concepts, self.games)

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

    def _example(self, move: Example) -> tuple[np.ndarray, np.ndarray]:
        """The example that the adversary hands over, if it may."""
        points, labels = self._points(move.x), self._labels(move.y)
        if self._allowed is not None:
            self._check_realizable(self._allowed, points, labels, move.target)
        return points, labels

    def _check_realizable(self, allowed: Allowed, x: np.ndarray, y: np.ndarray, target: Any) -> None:
        agreeing = self._of_domain(lambda: allowed.add(x, y, target))
        if not agreeing.all():
            games = np.flatnonzero(~agreeing)
            some = "some concept" if target is None else "the target, a concept"
            raise self._refuse(
                f"in a realizable game {some} of {allowed.concepts} agrees with all examples",
                games=games,
                got=f"the point {format_point(x[games[0]])} with the label {y[games[0]]}",
                remedy="Label it as some concept does that agrees with the examples before it.",
            )

    def _of_domain(self, call: Callable[[], V]) -> V:
        """What takes a point of the adversary's, which may lie outside the class."""
        try:
            return call()
        except ArenaError as error:
            raise self._refuse(str(error)) from error

    def _step(self, hypothesis: Hypothesis, x: np.ndarray, y: np.ndarray, update: Any = None) -> None:
        """Count the mistake of h_t on (x_t, y_t), then let the learner observe it."""
        predicted = self._guard(lambda: hypothesis(x))
        self._mistakes += predicted != y
        scores = self._scores
        if scores is not None:
            self._of_domain(lambda: scores.note(self.round, x, y, self._mistakes))
        if update is not None and hasattr(self._learner, "instruct"):
            self._ask("instruct", self._labels(update).astype(bool))
        self._ask("observe", x, y)
        if self._log is not None:
            self._log.append(Observed(round=self.round, x=x, y=y, predicted=predicted))


class _ObliviousBatch(OnlineBatch):
    def take(self, move: Move) -> Reply:
        if not isinstance(move, Commit):
            raise self._refuse(
                "an oblivious adversary makes one move, Commit, before the first hypothesis",
                got=type(move).__name__,
            )
        if self.round:
            raise self._refuse("an oblivious adversary commits once")
        released = []
        examples = self._committed(move)
        for example in self._one_by_one(examples):
            self._next_round()
            x, y = self._example(example)
            hypothesis = self._hypothesis()
            if move.look:
                released.append(hypothesis)
            self._step(hypothesis, x, y, example.update)
        return Stream(tuple(released))

    def _committed(self, move: Commit) -> Iterator[Example]:
        """The examples, one by one."""
        if move.examples is not None:
            if move.x is not None or move.y is not None or move.target is not None:
                raise self._refuse(
                    "a sequence is committed as x, y and target, or as examples that name theirs, not as both"
                )
            if not isinstance(move.examples, Iterator):
                raise self._refuse(
                    "the examples of a Commit are an iterator",
                    got=type(move.examples).__name__,
                    remedy="Call iter() on them.",
                )
            return move.examples
        x, y = np.asarray(move.x), np.asarray(move.y)
        if y.ndim == 0 or y.shape[-1] != self._T or x.shape[: y.ndim] != y.shape:
            raise self._refuse(
                f"the committed sequence has T = {self._T} examples",
                expected=f"y of shape ({self._T},) or ({self.games}, {self._T}), x to match",
                got=f"x of shape {x.shape}, y of shape {y.shape}",
            )
        return (
            Example(x[..., t] if y.ndim == x.ndim else _at(x, y, t), y[..., t], target=move.target)
            for t in range(self._T)
        )

    def _one_by_one(self, examples: Iterator[Example]) -> Iterator[Example]:
        """The same examples; what their maker raises, and what is no example, is the adversary's fault."""
        while True:
            try:
                example = next(examples)
            except StopIteration:
                return
            except ArenaError:
                raise
            except RAISED as error:
                raise PlayerError.of(
                    error, player="adversary", name=self._adversary, round=self.round
                ) from error
            if not _plain(example):
                raise self._refuse("what is committed are Examples of one world", got=type(example).__name__)
            yield example


class _AdaptiveBatch(OnlineBatch):
    def take(self, move: Move) -> Reply:
        if not isinstance(move, Example):
            raise self._refuse("the adversary's move is an Example", got=type(move).__name__)
        if not _plain(move):
            raise self._refuse("only SpecialRound has a second world")
        self._next_round()
        x, y = self._example(move)
        hypothesis = self._hypothesis()
        self._step(hypothesis, x, y, move.update)
        return Shown(hypothesis)


class _SpecialRoundBatch(OnlineBatch):
    def __init__(self, states: LearnerStates, rounds: int) -> None:
        super().__init__(states, rounds)
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
        self._step(self._presented, *self._own_example(move), move.update)
        self._presented = self._hypothesis() if self.round < self._T else self._presented
        return Shown(self._presented if self.round < self._T else None)

    def _own_example(self, move: Example) -> tuple[np.ndarray, np.ndarray]:
        x, y = self._example(move)
        if move.other_x is None and move.other_y is None:
            return x, y
        other_x = self._points(move.x if move.other_x is None else move.other_x)
        other_y = self._labels(move.y if move.other_y is None else move.other_y)
        differ = points_differ(x, other_x) | (y != other_y)
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
            self.challenges.add(PrivacyUnit.STREAM_EXAMPLE)
        return self._own(x, other_x), self._own(y, other_y)


def _plain(move: object) -> bool:
    """Whether it is an Example, the same in both worlds."""
    return isinstance(move, Example) and move.other_x is None and move.other_y is None


def _at(x: np.ndarray, y: np.ndarray, t: int) -> np.ndarray:
    """Round t of a committed sequence of vector points: the round axis is the last of y's."""
    taken: np.ndarray = np.take(x, t, axis=y.ndim - 1)
    return taken
