"""Scripts: adversaries that are plain data, which a search can draw, shrink, compare and print."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs
import numpy as np

from arena import (
    REFEREES,
    Adversary,
    InvalidArgument,
    Learner,
    Move,
    Moves,
    PrivacyUnit,
    Referee,
    Reply,
    Sample,
    Train,
)
from arena.records import Records
from arena.released.encoding import name_suffix
from arena.settings import one_of
from arena.step_scores import StepScore
from audits.adversary_search.score import LAST_BIT, Score
from audits.distinguishers.view_features import ViewCounts

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Point = float | tuple[Any, ...]

_MAX_BITS = 16  # numbers of a release whose last bits are read
ENDS, SEEN, ODD = MEMORIES = ("ends", "seen", "odd")


def as_point(value: Any) -> Point:
    """A point as plain data: a float, or nested tuples of floats."""

    def plain(value: Any) -> Point:
        return tuple(plain(part) for part in value) if isinstance(value, list | tuple) else float(value)

    return plain(np.asarray(value).tolist())


@attrs.frozen
class Memory:
    """A condition on the answers so far; online, on the predictions at the points shown. kind: "ends" with
    `pattern`, a string of 0 and 1; has "seen" it; or has an "odd" number of answers 1."""

    kind: str = attrs.field(default=ENDS, validator=one_of(*MEMORIES))
    pattern: str = "1"


LAST_IS_1 = Memory()


class AnswerHistory:
    """The answers of n games so far, for conditions on them. memories: those that will be asked for."""

    def __init__(self, games: int, memories: Iterable[Memory]) -> None:
        self._games = games
        self._answers: list[np.ndarray] = []
        self._odd = np.zeros(games, bool)
        self._seen = {memory.pattern: np.zeros(games, bool) for memory in memories if memory.kind == SEEN}

    def add(self, answered_1: np.ndarray) -> None:
        """Add one answer of each game, (n,) bool."""
        self._answers.append(answered_1)
        self._odd = self._odd ^ answered_1
        for pattern in self._seen:
            self._seen[pattern] = self._seen[pattern] | self._ends_with(pattern)

    def holds(self, memory: Memory) -> np.ndarray:
        """(n,) bool: the games in which the condition holds."""
        if memory.kind == ODD:
            return self._odd
        return self._seen[memory.pattern] if memory.kind == SEEN else self._ends_with(memory.pattern)

    def _ends_with(self, pattern: str) -> np.ndarray:
        if len(self._answers) < len(pattern):
            return np.zeros(self._games, bool)
        last = self._answers[len(self._answers) - len(pattern) :]
        return np.all([a == (bit == "1") for a, bit in zip(last, pattern, strict=True)], axis=0)


@attrs.frozen
class Step(ABC):
    """A part of a game that takes one or more rounds. challenges: whether the worlds differ in one of them;
    with a setting `when`, in the first at which this condition holds, or else the last."""

    challenges: ClassVar[bool] = False

    @property
    def rounds(self) -> int:
        """The number of rounds that the step takes."""
        return getattr(self, "times", 1)

    @property
    def moves(self) -> int:
        """The number of moves, each of one round unless the step says otherwise."""
        return self.rounds

    def shorten(self, rounds: int) -> Self:
        """The same step with fewer repetitions."""
        return attrs.evolve(self, times=rounds)  # type: ignore[call-arg]  # only repeated steps are shortened

    @abstractmethod
    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        """The move of a round. last: the reply before it. now: (n,) bool, where the worlds differ."""

    @abstractmethod
    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        """(n,) bool: the answer of a round for conditions, from the reply before it and its own."""


@attrs.frozen(kw_only=True)
class SearchBudget:
    """How much a search under a protocol plays, unless its caller says otherwise.

    examples: adversaries. pairs: of games at least, with which adversaries are weighed. calls: games that one
    may cost on average, in both worlds, where each is a call. doublings: of the games of one that is obvious,
    at most.
    """

    examples: int = 1_000
    pairs: int = 256
    calls: int = 256
    doublings: int = 4


INTERACTIVE = SearchBudget(examples=250, pairs=2_048, calls=1_536, doublings=6)  # of views of many replies


@attrs.frozen(kw_only=True)
class SearchSpace:
    """What a search may draw for a protocol.

    draw: of a learner, a protocol, the most rounds and the user's data, the kinds of scripts.
    opening: the moves before the first step, after the training sets.
    rounds: of a game at most, unless a setting of the learner is larger; 0: a game has none.
    obvious: of a learner and a protocol, scripts that are played before others, the simplest first.
    leads: of a learner and a protocol, scripts that a few games suggest, which it plays.
    simplify: of a learner and a script, simpler ones that may show the same.
    scores: of views, further simple scores that may distinguish the worlds.
    untested: of a learner and a protocol, what it failed to do in every game, although games asked for it.
    """

    draw: Callable[[Learner, str, int, Sample | None], Sequence[SearchStrategy[Script]]]
    steps: tuple[type[Step], ...] = ()
    opening: tuple[type[Move], ...] = ()
    rounds: int = 0
    budget: SearchBudget = SearchBudget()
    obvious: Callable[[Learner, str], Iterator[Script]] = lambda learner, protocol: iter(())
    leads: Callable[[Learner, str], Iterator[Script]] = lambda learner, protocol: iter(())
    simplify: Callable[[Learner, Script], Iterator[Script]] = lambda learner, script: iter(())
    scores: Callable[[ViewCounts], Iterable[Score]] = lambda views: ()
    untested: Callable[[Learner, str], Iterator[str]] = lambda learner, protocol: iter(())

    def list_scores(self, views: ViewCounts, *, bits: bool = False) -> list[Score]:
        """The further simple scores. bits: also the last bits of the first numbers of a release, which tell
        of floating point only."""
        names = (name for name in views.names if name.startswith("value") and not name_suffix(name))
        by_bits = [Score(name, LAST_BIT).explain() for name in islice(names, _MAX_BITS)]
        return [*self.scores(views), *(by_bits if bits else [])]


SPACES: dict[str, SearchSpace] = {}  # by protocol; a file that defines one adds its own


@attrs.frozen(kw_only=True)
class Script(Adversary):
    """An adversary that is plain data, for a protocol with a `SearchSpace`.

    world_0, world_1: the training set in each world, if the protocol has any; world_1=None: the same.
    pieces: into how many the runs of world 0 are cut (`Sample.divide`), which changes no example.
    handed: unlabelled points, handed over before the steps. score: None leaves it to a learned distinguisher.
    Raises: InvalidArgument.
    """

    name = "script"

    protocol: str
    world_0: Sample | Records | None = None
    world_1: Sample | Records | None = None
    pieces: int | None = None
    handed: tuple[Any, ...] = ()
    steps: tuple[Step, ...] = ()
    score: Score | StepScore | Any = None

    def __attrs_post_init__(self) -> None:
        if self.protocol not in SPACES:
            raise InvalidArgument(
                f"protocol must be one of {', '.join(SPACES)}",
                value=self.protocol,
                remedy="Only these have two worlds.",
            )
        for step in self.steps:
            if not isinstance(step, SPACES[self.protocol].steps):
                raise InvalidArgument(f"{self.protocol} has no such step", value=type(step).__name__)
        if (self.world_0 is None) == (PrivacyUnit.TRAINING_EXAMPLE in REFEREES[self.protocol].challenges):
            rule = "a script has a training set if and only if games of its protocol begin with one"
            raise InvalidArgument(rule, value=self.world_0)

    @property
    def protocols(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.protocol,)

    @property
    def returns_score(self) -> bool:
        return self.score is not None

    @property
    def rounds(self) -> int:
        """The number of rounds of a game."""
        return sum(step.rounds for step in self.steps)

    @property
    def referee(self) -> Referee:
        return REFEREES[self.protocol].with_rounds(self.rounds)

    def list_parts(self) -> list[object]:
        """What it does after the training sets, for reports."""
        return list(self.steps)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        replies: list[Reply] = []
        for move in self._open():
            replies.append((yield move))
        memories = memories_of(self.steps)
        history = AnswerHistory(games, memories)
        for step in self.steps:
            when = getattr(step, "when", None) if step.challenges else None
            challenged = np.zeros(games, bool)
            for left in reversed(range(step.moves)):
                now = ~challenged & (history.holds(when) if when is not None and left else True)
                reply = yield step.move(replies[-1] if replies else None, now, history)
                if memories:
                    history.add(step.read_answer(replies[-1] if replies else None, reply))
                replies.append(reply)
                challenged |= now
        return self._apply_score(replies, games)

    def _open(self) -> Iterator[Move]:
        """The moves before the first step."""
        if self.world_0 is not None:
            sample = self.world_0
            if self.pieces is not None and isinstance(sample, Sample):
                sample = sample.divide(self.pieces)
            yield Train(sample, self.world_1)
        for hand in self.handed:
            yield hand.move()
        for kind in SPACES[self.protocol].opening:
            yield kind()

    def _apply_score(self, replies: Sequence[Reply], games: int) -> Any:
        return self.score.of(replies, games) if isinstance(self.score, Score) else None


def memories_of(steps: Iterable[Step]) -> list[Memory]:
    """The conditions on answers that steps depend on."""
    memories = [getattr(step, "when", None) for step in steps]
    return list(dict.fromkeys(memory for memory in memories if memory is not None))


def select_points(use_one: np.ndarray, one: Point, zero: Point) -> np.ndarray:
    """(n, ...): the point `one` in some games and `zero` in the others."""
    in_one = np.asarray(one)
    return np.where(use_one.reshape((-1,) + (1,) * in_one.ndim), in_one, np.asarray(zero))
