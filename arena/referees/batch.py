"""What all protocols share: the referee, a batch of its games, and the table of the moves it allows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.moves import Move
from arena.neighbours import Relation, UserFunction
from arena.referees.adversary_input import AdversaryInput
from arena.referees.learner_calls import LearnerCalls
from arena.referees.position import Position
from arena.referees.scorebook import MistakeCounts, Scorebook
from arena.referees.transcript import Entry
from arena.referees.worlds import Worlds
from arena.replies import Reply
from arena.sample import Reads

# Moves, each with a function of a batch and a move.
MoveTable = tuple[tuple[type[Move], Callable[[Any, Any], Reply]], ...]


@attrs.frozen
class Referee(ABC):
    """A protocol: which moves are legal when, what reaches the learner, and what the adversary may see.

    name: what the command line calls it.
    two_worlds: whether games come in pairs, one in each of two neighbouring worlds.
    one_run: whether all games share one run of the learner, and a fair coin of its own is each one's world.
    learner_protocol: what the learner must play, if it is another protocol than the adversary.
    """

    name: ClassVar[str] = ""
    two_worlds: ClassVar[bool] = True
    one_run: ClassVar[bool] = False
    learner_protocol: ClassVar[str] = ""

    @property
    def rounds(self) -> int | None:
        """The number of rounds of every game, if the protocol fixes it: T of the online protocols."""
        return None

    @abstractmethod
    def open(self, setup: BatchSetup) -> Batch:
        """Open a batch of games."""


@attrs.frozen(eq=False)
class BatchSetup:
    """What a batch of n games is opened with.

    learner: the running learner. learner_name, adversary_name: for messages. worlds: (n,) bool.
    runs: the learner's, n, or 1 that all games share.
    relation: between which training sets the worlds may differ. users_of: whose a point is, by the learner.
    reads: the parts of the examples that the learner reads.
    log: receives an entry for each step of the games, or None.
    faults: every exception of the learner is a failure of its own, even a refusal (ArenaError).
    scorebook: what to note of online games, or None.
    """

    learner: Any
    learner_name: str
    adversary_name: str
    point_shape: tuple[int, ...]
    worlds: np.ndarray
    runs: int
    relation: Relation
    users_of: UserFunction
    reads: Reads
    log: list[Entry] | None = None
    faults: bool = False
    scorebook: Scorebook | None = None


class Batch:
    """n games of one protocol in lockstep. Only the engine calls it.

    moves: the moves that the protocol allows, with one method for each. That method reads the move
    (`_adversary`), chooses what belongs to each game's world (`_worlds`), calls the learner (`_learner`) and
    returns the reply. rule_of_moves: what a move that is not in the table breaks.
    halted: (n,) bool where the protocol has halts, else None.
    mistakes: (n,) int where the protocol counts mistakes, else None.
    """

    moves: MoveTable
    rule_of_moves: str
    halted: np.ndarray | None = None
    mistakes: np.ndarray | None = None

    def __init__(self, setup: BatchSetup) -> None:
        self.games, self.runs = len(setup.worlds), setup.runs
        self._position = Position(setup.learner_name, setup.adversary_name)
        self._refuse = self._position.refuse_adversary
        self._adversary = AdversaryInput(self.runs, setup.point_shape, self._position)
        self._learner = LearnerCalls(setup.learner, self.runs, setup.faults, self._position)
        self._worlds = Worlds(
            setup.worlds,
            self._position,
            setup.relation,
            lambda points: self._learner.guard(lambda: setup.users_of(points)),
        )
        self._log, self._reads = setup.log, setup.reads

    def carry_out(self, move: Move) -> Reply:
        """Carry out the adversary's move, or refuse it."""
        for kind, handle in self.moves:
            if isinstance(move, kind):
                return handle(self, move)
        raise self._refuse(self.rule_of_moves, got=type(move).__name__)

    def close(self) -> None:
        """End the games after the adversary's last move. Most protocols let it stop at any time."""

    # --- the outcome of the games ---------------------------------------------------------------------------

    @property
    def round(self) -> int:
        """The round that is played, or was last; 0 is the training phase."""
        return self._position.round

    @property
    def flag(self) -> np.ndarray:
        """(n,) bool, the games in which the worlds have differed."""
        return self._worlds.flag

    @property
    def challenges(self) -> frozenset[PrivacyUnit]:
        """In what the worlds have differed."""
        return frozenset(self._worlds.challenges)

    @property
    def mistake_counts(self) -> MistakeCounts | None:
        """What the scorebook holds, if there is one."""
        return None
