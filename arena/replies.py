"""Replies: all that an adversary ever sees. Arrays are read-only; axis 0 is the game."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from arena.concepts import ConceptClass

NO_LABEL = -1  # the label is withheld, or the learner had halted
UNSTABLE = 2  # the label ⊥ of Voting: the votes were too close


@attrs.frozen(eq=False)
class Reply:
    """Base of every reply."""

    def select_game(self, game: int) -> Any:
        """The reply as one game sees it: scalars in place of arrays."""
        return self

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        """All that it shows to n games, arrays (n, ...); a hypothesis is shown as its concepts."""
        return ()


@attrs.frozen(eq=False)
class Trained(Reply):
    """The training phase is over. Nothing of h_0 is shown."""


@attrs.frozen(eq=False)
class Received(Reply):
    """The reply to unlabelled points, which the learner has received.

    halted: (n,) bool, whether the learner has halted.
    """

    halted: np.ndarray

    def select_game(self, game: int) -> Received:
        return Received(self.halted[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return (self.halted,)


@attrs.frozen(eq=False)
class Answer(Reply):
    """The reply to a query.

    label: (n,) int8, 0, 1 or under Voting `UNSTABLE`; `NO_LABEL` if it is withheld or the learner had halted.
    halted: (n,) bool, whether the learner has halted; in a withheld round, whether it had before.
    """

    label: np.ndarray
    halted: np.ndarray

    def select_game(self, game: int) -> Answer:
        return Answer(self.label[game], self.halted[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return self.label, self.halted


@attrs.frozen(eq=False)
class Answers(Reply):
    """The reply to k queries in a row: the k replies to the queries, as columns.

    label: (n, k) int8. halted: (n, k) bool.
    """

    label: np.ndarray
    halted: np.ndarray

    def select_game(self, game: int) -> Answers:
        return Answers(self.label[game], self.halted[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return self.label, self.halted


def list_answers(replies: Iterable[Reply]) -> list[Answer]:
    """The answers among the replies, one for each query."""
    answers: list[Answer] = []
    for reply in replies:
        if isinstance(reply, Answer):
            answers.append(reply)
        elif isinstance(reply, Answers):
            answers += [
                Answer(label, halted) for label, halted in zip(reply.label.T, reply.halted.T, strict=True)
            ]
    return answers


@attrs.frozen(eq=False)
class Hypothesis:
    """The released hypotheses of n games: `h(x)` labels points.

    concepts: (n, ...), one concept of `concept_class` for each game.
    """

    concept_class: ConceptClass
    concepts: np.ndarray

    def __call__(self, x: Any) -> np.ndarray:
        """(n,) bool: the labels of x, one point for all games or one for each game (n, ...)."""
        return self.concept_class.label(self.concepts, x)

    def select_game(self, game: int) -> Callable[[Any], bool]:
        """The hypothesis of one game, a function from a point to its label."""
        single = Hypothesis(self.concept_class, self.concepts[game : game + 1])
        return lambda x: bool(single(x)[0])


@attrs.frozen(eq=False)
class Released(Reply):
    """What the learner released under `Release`: values (n, ...) or hypotheses."""

    value: Any

    def select_game(self, game: int) -> Released:
        if isinstance(self.value, Hypothesis):
            return Released(self.value.select_game(game))
        return Released(self.value[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return (np.asarray(self.value.concepts if isinstance(self.value, Hypothesis) else self.value),)


@attrs.frozen(eq=False)
class Shown(Reply):
    """The hypothesis of the round of `Adaptive` or `SpecialRound`; None after the last of `SpecialRound`."""

    hypothesis: Any

    def select_game(self, game: int) -> Shown:
        return Shown(None if self.hypothesis is None else self.hypothesis.select_game(game))

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return () if self.hypothesis is None else (np.asarray(self.hypothesis.concepts),)


@attrs.frozen(eq=False)
class Stream(Reply):
    """The hypotheses h_1 … h_T of `Oblivious`, in order."""

    hypotheses: tuple[Any, ...]

    def select_game(self, game: int) -> Stream:
        return Stream(tuple(h.select_game(game) for h in self.hypotheses))

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return tuple(np.asarray(h.concepts) for h in self.hypotheses)
