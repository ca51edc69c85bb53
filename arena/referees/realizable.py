"""The realizable setting: section 2.1 of Li, Wang, Ye."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.consistency import VersionSpaces, check_consistency, version_spaces
from arena.errors import InvalidArgument
from arena.referees.batch import BatchSetup, Referee
from arena.referees.online import Adaptive, Oblivious, OnlineBatch


@attrs.frozen
class Realizable(Referee):
    """The protocol of another referee, restricted to games whose examples agree with some concept of a class.

    The adversary need not choose that concept beforehand. If it does and names it (`Example.target`), the
    referee has less to do. An example that agrees with no concept left is refused before the learner presents
    its hypothesis of that round.

    Players, plans and reports know it by the name of the other referee, since it is the same protocol.

    referee: `Oblivious` or `Adaptive`. concepts: a class with a finite domain, thresholds on the line, or
    halfspaces with margin.

    Raises: InvalidArgument if they are none of these, Unsupported if the class has no finite domain or is too
    large.
    """

    two_worlds: ClassVar[bool] = False

    referee: Oblivious | Adaptive = attrs.field()
    concepts: ConceptClass = attrs.field()

    @referee.validator
    def _check_referee(self, attribute: object, referee: object) -> None:
        if not isinstance(referee, Oblivious | Adaptive):
            raise InvalidArgument("games are realizable under Oblivious or Adaptive", value=referee)

    @concepts.validator
    def _check_concepts(self, attribute: object, concepts: object) -> None:
        if not isinstance(concepts, ConceptClass):
            raise InvalidArgument("games are realizable by a ConceptClass", value=concepts)
        check_consistency(concepts)

    @property
    def name(self) -> str:  # type: ignore[override] # that of the wrapped referee, which a class cannot know
        """The name of the protocol."""
        return self.referee.name

    @property
    def T(self) -> int:  # noqa: N802 - as in the other referees
        """The rounds of a game."""
        return self.referee.T

    @property
    def rounds(self) -> int:
        return self.referee.T

    def open(self, setup: BatchSetup) -> OnlineBatch:
        batch = self.referee.open(setup)
        batch.allowed = AllowedExamples(self.concepts, batch.games)
        return batch


class AllowedExamples:
    """The examples that keep n games realizable by a class.

    If the adversary names a target, these are the examples that agree with it. Otherwise they are the
    examples after which some concept of the class agrees with all of the game's.
    """

    def __init__(self, concepts: ConceptClass, games: int) -> None:
        self.concepts = concepts
        self._games = games
        self._spaces: VersionSpaces | None = None
        self._target: Any = None
        self._agreement: Callable[[Any, np.ndarray], np.ndarray] | None = None

    def add(self, x: np.ndarray, y: np.ndarray, target: Any) -> np.ndarray:
        """(n,) bool: the games in which the example x (n, ...), y (n,) is allowed.

        Raises: InvalidArgument if x is outside the domain, the target is not a concept of the class, or
        another target was named before.
        """
        if target is None and self._agreement is None:
            self._spaces = self._spaces or version_spaces(self.concepts, self._games)
            return self._spaces.add(x, y)
        if self._agreement is None and self._spaces is None:
            self._agreement, self._target = self._read_target(target), target
        elif self._agreement is None or (
            target is not self._target and not np.array_equal(target, self._target)
        ):
            raise InvalidArgument("the same target is named in every round, or none in any")
        return self._agreement(x, y)

    def _read_target(self, target: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        """The test whether examples agree with the target, which is given once or once for each game."""
        # The copy is safe from later changes by the adversary.
        concepts = self.concepts.check_concepts(target).copy()
        if concepts.ndim == self.concepts.concept_ndim:
            concepts = np.broadcast_to(concepts, (self._games, *concepts.shape))
        if concepts.ndim != self.concepts.concept_ndim + 1 or len(concepts) != self._games:
            raise InvalidArgument(
                "a target is named once for all games or once for each", value=concepts.shape
            )
        return self.concepts.agreement(concepts)
