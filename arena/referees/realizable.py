"""The realizable setting: section 2.1 of Li, Wang, Ye."""

from __future__ import annotations

from typing import ClassVar

import attrs

from arena.concepts.base import ConceptClass
from arena.concepts.consistency import check_consistency
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
        batch.restrict(self.concepts)
        return batch
