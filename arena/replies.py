"""Replies: all that an adversary ever sees. Arrays are read-only, axis 0 = games."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from arena.concepts import ConceptClass

NO_LABEL = -1  # withheld, or the learner had halted
UNSTABLE = 2  # ⊥ before Voting: the votes were too close to be told


@attrs.frozen(eq=False)
class Reply:
    """Base of every reply."""

    def of_game(self, game: int) -> Any:
        """The reply as one game sees it: scalars where the table has arrays."""
        return self

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        """Everything that it says to a table, (n, ...) each; hypotheses by their concepts."""
        return ()


@attrs.frozen(eq=False)
class Trained(Reply):
    """The training phase is over. Nothing of h_0 is shown."""


@attrs.frozen(eq=False)
class Received(Reply):
    """The reply to unlabelled points: they have reached the learner.

    halted: (n,) bool: the learner has stopped.
    """

    halted: np.ndarray

    def of_game(self, game: int) -> Received:
        return Received(self.halted[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return (self.halted,)


@attrs.frozen(eq=False)
class Answer(Reply):
    """The reply to a query.

    label: (n,) int8: 0, 1, before Voting also `UNSTABLE`, or `NO_LABEL` where it was withheld or the learner
    has halted.
    halted: (n,) bool: the learner has stopped. Where the round was withheld, as it stood before the round.
    """

    label: np.ndarray
    halted: np.ndarray

    def of_game(self, game: int) -> Answer:
        return Answer(self.label[game], self.halted[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return self.label, self.halted


@attrs.frozen(eq=False)
class Answers(Reply):
    """The reply to k queries in a row: what k replies to a query each would say.

    label: (n, k) int8. halted: (n, k) bool.
    """

    label: np.ndarray
    halted: np.ndarray

    def of_game(self, game: int) -> Answers:
        return Answers(self.label[game], self.halted[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return self.label, self.halted


def list_answers(replies: Iterable[Reply]) -> list[Answer]:
    """The answers among the replies, query by query."""
    found: list[Answer] = []
    for reply in replies:
        if isinstance(reply, Answer):
            found.append(reply)
        elif isinstance(reply, Answers):
            found += [
                Answer(label, halted) for label, halted in zip(reply.label.T, reply.halted.T, strict=True)
            ]
    return found


@attrs.frozen(eq=False)
class Hypothesis:
    """A released hypothesis a game: `h(x)` labels points.

    concepts: (n,) or (n, ...): one concept a game, in the terms of `concept_class`.
    """

    concept_class: ConceptClass
    concepts: np.ndarray

    def __call__(self, x: Any) -> np.ndarray:
        """(n,) bool: the label of x, one point for all games or (n, ...) with one for each game."""
        return self.concept_class.label(self.concepts, x)

    def of_game(self, game: int) -> Callable[[Any], bool]:
        """The hypothesis of one game: a function from a point to its label."""
        alone = Hypothesis(self.concept_class, self.concepts[game : game + 1])
        return lambda x: bool(alone(x)[0])


@attrs.frozen(eq=False)
class Released(Reply):
    """What the learner released under `Release`: a value (n, ...) or a hypothesis a game."""

    value: Any

    def of_game(self, game: int) -> Released:
        if isinstance(self.value, Hypothesis):
            return Released(self.value.of_game(game))
        return Released(self.value[game])

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return (np.asarray(self.value.concepts if isinstance(self.value, Hypothesis) else self.value),)


@attrs.frozen(eq=False)
class Shown(Reply):
    """The hypothesis of the round (`Adaptive`, `SpecialRound`); None after the last round of
    `SpecialRound`.
    """

    hypothesis: Any

    def of_game(self, game: int) -> Shown:
        return Shown(None if self.hypothesis is None else self.hypothesis.of_game(game))

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return () if self.hypothesis is None else (np.asarray(self.hypothesis.concepts),)


@attrs.frozen(eq=False)
class Stream(Reply):
    """All hypotheses h_1 ... h_T of `Oblivious`, in order."""

    hypotheses: tuple[Any, ...]

    def of_game(self, game: int) -> Stream:
        return Stream(tuple(h.of_game(game) for h in self.hypotheses))

    @property
    def parts(self) -> tuple[np.ndarray, ...]:
        return tuple(np.asarray(h.concepts) for h in self.hypotheses)
