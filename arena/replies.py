"""Replies: all that an adversary ever sees. Arrays are read-only, axis 0 = games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

if TYPE_CHECKING:
    from arena.concepts import ConceptClass

NO_LABEL = -1  # withheld, or the learner had halted


@attrs.frozen(eq=False)
class Reply:
    """Base of every reply."""


@attrs.frozen(eq=False)
class Trained(Reply):
    """The training phase is over. Nothing of h_0 is shown."""


@attrs.frozen(eq=False)
class Answer(Reply):
    """The reply to a query.

    label: (n,) int8: 0, 1, or `NO_LABEL` where it was withheld or the learner has halted.
    halted: (n,) bool: the learner has stopped. Where the round was withheld, as it stood before the round.
    """

    label: np.ndarray
    halted: np.ndarray


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


@attrs.frozen(eq=False)
class Released(Reply):
    """What the learner released under `Release`: a value (n, ...) or a hypothesis a game."""

    value: np.ndarray | Hypothesis


@attrs.frozen(eq=False)
class Shown(Reply):
    """The hypothesis of the round (`Adaptive`, `SpecialRound`); None after the last round of `SpecialRound`."""

    hypothesis: Hypothesis | None


@attrs.frozen(eq=False)
class Stream(Reply):
    """All hypotheses h_1 ... h_T of `Oblivious`, in order."""

    hypotheses: tuple[Hypothesis, ...]
