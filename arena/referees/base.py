"""What all referees share: the order of a game, and checks of what the players hand over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.errors import RAISED, ArenaError, PlayerError, ProtocolViolation
from arena.moves import Move, Train
from arena.points import as_points, freeze
from arena.replies import Hypothesis, Reply
from arena.sample import Sample, Training
from arena.scorebook import Noted, Scorebook
from arena.transcript import Entry

T = TypeVar("T")


@attrs.frozen
class Referee(ABC):
    """A protocol: which moves are legal now, what reaches the learner, what the adversary may see.

    name: what the command line calls it. two_worlds: whether it plays neighbouring worlds.
    """

    name: ClassVar[str] = ""
    two_worlds: ClassVar[bool] = True

    @abstractmethod
    def open(self, states: LearnerStates) -> Table:
        """Open a table for the players in `seats`."""


@attrs.frozen(eq=False)
class LearnerStates:
    """Who sits at a table: the seated learner, names for messages, and the games' worlds (n,) bool.

    log: where the table notes each step, or None.
    faults: whatever the learner raises is its failure, even a refusal in the arena's own words.
    scorebook: what an online table notes of its rounds, or None.
    """

    learner: Any
    learner_name: str
    adversary_name: str
    point_shape: tuple[int, ...]
    worlds: np.ndarray
    log: list[Entry] | None = None
    faults: bool = False
    scorebook: Scorebook | None = None


class Table(ABC):
    """n games of one protocol in lockstep. Only the engine calls it."""

    def __init__(self, states: LearnerStates) -> None:
        self._learner = states.learner
        self._name = states.learner_name
        self._adversary = states.adversary_name
        self._point_shape = states.point_shape
        self._worlds = states.worlds
        self._log = states.log
        self._faults = states.faults
        self.games = len(states.worlds)
        self.round = 0
        self.flag = np.zeros(self.games, bool)
        self.challenges: set[PrivacyUnit] = set()

    @abstractmethod
    def take(self, move: Move) -> Reply:
        """Carry out the adversary's move, or refuse it."""

    def close(self) -> None:  # noqa: B027 - most protocols let the adversary stop at any time
        """The adversary has made its last move."""

    @property
    def halted(self) -> np.ndarray | None:
        """(n,) bool where the protocol knows halts, else None."""
        return None

    @property
    def mistakes(self) -> np.ndarray | None:
        """(n,) int where the protocol counts mistakes, else None."""
        return None

    @property
    def noted(self) -> Noted | None:
        """What the scorebook holds, if there is one."""
        return None

    # --- refusals ---------------------------------------------------------------------------------

    def _refuse(self, rule: str, **details: Any) -> ProtocolViolation:
        return ProtocolViolation(rule, player=f"adversary {self._adversary}", round=self.round, **details)

    def _learner_broke(self, rule: str, **details: Any) -> ProtocolViolation:
        return ProtocolViolation(rule, player=f"learner {self._name}", round=self.round, **details)

    # --- what the adversary hands over ------------------------------------------------------------

    def _points(self, x: Any) -> np.ndarray:
        """One point for all games, or one for each: (n, ...), read-only; shared points keep stride 0."""
        try:
            points = as_points(x)
        except ArenaError as error:
            raise self._refuse(str(error)) from error
        full = (self.games, *self._point_shape)
        if points.shape == self._point_shape:
            return np.broadcast_to(points, full)
        if points.shape != full:
            raise self._refuse(
                "a point is given once for all games or once for each",
                expected=f"shape {self._point_shape} or {full}",
                got=f"shape {points.shape}",
            )
        return freeze(points.view())

    def _many_points(self, x: Any) -> np.ndarray:
        """k points for all games, or k for each: (n, k, ...), read-only; shared points keep stride 0."""
        try:
            points = as_points(x)
        except ArenaError as error:
            raise self._refuse(str(error)) from error
        many = points.shape[: points.ndim - len(self._point_shape)]
        if points.shape[len(many) :] == self._point_shape and 0 not in many[-1:]:
            if len(many) == 1:
                return np.broadcast_to(points, (self.games, *points.shape))
            if len(many) == 2 and many[0] == self.games:
                return freeze(points.view())
        raise self._refuse(
            "points in a row are given once for all games or once for each",
            expected=f"shape {('k', *self._point_shape)} or {(self.games, 'k', *self._point_shape)}, k ≥ 1",
            got=f"shape {points.shape}",
        )

    def _labels(self, y: Any) -> np.ndarray:
        """One label for all games, or one for each: (n,) int8, read-only."""
        labels = np.asarray(y)
        if labels.shape not in ((), (self.games,)):
            raise self._refuse(
                "a label is given once for all games or once for each",
                expected=f"shape () or ({self.games},)",
                got=f"shape {labels.shape}",
            )
        if labels.dtype.kind not in "biuf" or not ((labels == 0) | (labels == 1)).all():
            raise self._refuse("labels must be 0 or 1", got=np.unique(labels)[:5].tolist())
        return np.broadcast_to(labels.astype(np.int8), (self.games,))

    def _own(self, in_world_0: np.ndarray, in_world_1: np.ndarray) -> np.ndarray:
        """Each game's own of two arrays (n, ...), read-only."""
        worlds = self._worlds.reshape((-1,) + (1,) * (in_world_0.ndim - 1))
        return freeze(np.where(worlds, in_world_1, in_world_0))

    def _training(self, move: Train) -> Training:
        """The training sets of the games' worlds; raises the flag where the worlds differ."""
        first = self._samples(move.sample)
        second = first if move.other is None else self._samples(move.other)
        if second is not first:
            self._raise_flag(first, second)
        if len(first) == len(second) == 1:
            return Training.of((first[0], second[0]), self._worlds.astype(np.intp))
        every = range(self.games)
        chosen = [(second if self._worlds[g] else first)[g % len(first)] for g in every]
        return Training.of(chosen, np.arange(self.games))

    def _samples(self, given: Sample | Sequence[Sample]) -> list[Sample]:
        samples = [given] if isinstance(given, Sample) else list(given)
        if not all(isinstance(s, Sample) for s in samples):
            raise self._refuse("training sets are given as Sample", got=type(given).__name__)
        if len(samples) not in (1, self.games):
            raise self._refuse(
                "training sets are given once for all games or once for each",
                expected=f"1 or {self.games}",
                got=len(samples),
            )
        for sample in samples:
            if sample.points.shape[1:] != self._point_shape:
                raise self._refuse(
                    "the points of a sample have the learner's shape",
                    expected=self._point_shape,
                    got=sample.points.shape[1:],
                )
        return samples

    def _raise_flag(self, first: list[Sample], second: list[Sample]) -> None:
        if len(first) != len(second):
            raise self._refuse("both worlds give one training set for all games, or both one for each")
        unlike = np.array([a.differences(b) for a, b in zip(first, second, strict=True)])
        unlike = np.broadcast_to(unlike, (self.games,))
        if (unlike < 0).any():
            raise self._refuse(
                "the training sets of the two worlds have equal length",
                games=np.flatnonzero(unlike < 0),
                expected=first[0].size,
                got=second[0].size,
            )
        if (unlike > 1).any():
            raise self._refuse(
                "the training sets of the two worlds differ in at most one place",
                games=np.flatnonzero(unlike > 1),
                expected="0 or 1 places",
                got=f"{int(unlike.max())} places",
            )
        self.flag |= unlike == 1

    # --- what the learner hands over --------------------------------------------------------------

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Call a method of the learner; what it raises becomes a `PlayerError`, but for its refusals where
        failures are not shown."""
        return self._guard(lambda: getattr(self._learner, method)(*arguments))

    def _guard(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except RAISED as error:
            if isinstance(error, ArenaError) and not self._faults:
                raise
            raise PlayerError.of(error, player="learner", name=self._name, round=self.round) from error

    def _hypothesis(self) -> Hypothesis:
        released = self._ask("hypothesis")
        self._check_hypothesis(released)
        return released  # type: ignore[no-any-return]

    def _check_hypothesis(self, released: object) -> None:
        if not isinstance(released, Hypothesis):
            raise self._learner_broke("a released hypothesis is a Hypothesis", got=type(released).__name__)
        if np.shape(released.concepts)[:1] != (self.games,):
            raise self._learner_broke(
                "a hypothesis holds one concept a game",
                expected=f"{self.games} concepts",
                got=f"shape {np.shape(released.concepts)}",
            )
