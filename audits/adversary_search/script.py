"""Scripts: adversaries that are plain data, which a search can draw, shrink, compare and print."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from math import sqrt
from typing import Any, Self

import attrs
import numpy as np

from arena import (
    Advance,
    Adversary,
    Example,
    GradientCanary,
    InvalidArgument,
    Models,
    Moves,
    Query,
    Ready,
    Reply,
    Sample,
    Train,
    Unlabelled,
)
from arena.settings import one_of
from arena.step_scores import StepScore
from audits.adversary_search.score import Score

Point = float | tuple[Any, ...]
Stretch = Generator[Any, Any, None]

WITH, AGAINST = "with", "against"
ENDS, SEEN, ODD = MEMORIES = ("ends", "seen", "odd")


def as_point(value: Any) -> Point:
    """A point as plain data: a float, or nested tuples of floats."""

    def plain(value: Any) -> Point:
        return tuple(plain(part) for part in value) if isinstance(value, list | tuple) else float(value)

    return plain(np.asarray(value).tolist())


@attrs.frozen
class Memory:
    """A condition on the answers so far; online, on the predictions at the points shown.

    kind: whether they end with `pattern`, a string of 0 and 1, "ends"; whether it has occurred, "seen"; or
        whether the number of answers 1 is "odd". An answer other than 1 counts as 0.
    """

    kind: str = attrs.field(default=ENDS, validator=one_of(*MEMORIES))
    pattern: str = "1"


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
class Step:
    """A part of a game that takes one or more rounds."""

    @property
    def rounds(self) -> int:
        """The number of rounds that the step takes."""
        return getattr(self, "times", 1)

    def shorten(self, rounds: int) -> Self:
        """The same step with fewer repetitions."""
        return attrs.evolve(self, times=rounds)  # type: ignore[call-arg]  # only repeated steps are shortened


@attrs.frozen
class Ask(Step):
    """Figure1, Voting: query `point`, `times` times."""

    point: Point = attrs.field(converter=as_point)
    times: int = 1


@attrs.frozen
class Follow(Step):
    """Figure1, Voting: query `one` in the games in which `when` holds and `zero` elsewhere, `times` times."""

    one: Point = attrs.field(converter=as_point)
    zero: Point = attrs.field(converter=as_point)
    times: int = 1
    when: Memory = Memory()


@attrs.frozen
class Challenge(Step):
    """Figure1: query `world_0` in world 0 and `world_1` in world 1.

    With `when`, each game is challenged at the first of `times` rounds at which the condition holds, or at
    the last of them; in the others `world_0` is queried in both worlds.
    """

    world_0: Point = attrs.field(converter=as_point)
    world_1: Point = attrs.field(converter=as_point)
    times: int = 1
    when: Memory | None = None


@attrs.frozen
class Show(Step):
    """SpecialRound: show the example (point, label), `times` times.

    The label "with" is the prediction of the last hypothesis at the point, and "against" the opposite.
    """

    point: Point = attrs.field(converter=as_point)
    label: int | str = 0
    times: int = 1


@attrs.frozen
class Special(Step):
    """SpecialRound: show the example `world_0` in world 0 and `world_1` in world 1, each (point, label).

    times, when: as in `Challenge`.
    """

    world_0: tuple[Point, int]
    world_1: tuple[Point, int]
    times: int = 1
    when: Memory | None = None


@attrs.frozen
class Hand:
    """Figure1: hand over the unlabelled point `point`, `times` times; or once, with `other` in world 1."""

    point: Point = attrs.field(converter=as_point)
    other: Point | None = attrs.field(default=None, converter=attrs.converters.optional(as_point))
    times: int = 1

    def move(self) -> Unlabelled:
        """The move that the script yields."""
        x = np.repeat(np.asarray(self.point)[None], self.times, axis=0)
        other = None if self.other is None else np.repeat(np.asarray(self.other)[None], self.times, axis=0)
        return Unlabelled(x, other)


@attrs.frozen
class Pull:
    """TrainingRun: examples (point, label) have a gradient of length |size|, equal along the coordinates."""

    point: Point = attrs.field(converter=as_point)
    label: int
    coordinates: tuple[int, ...]
    size: float

    def canary(self, parameters: int) -> GradientCanary:
        """The canary, for so many parameters."""
        gradient = np.zeros(parameters)
        gradient[list(self.coordinates)] = self.size / sqrt(len(self.coordinates))
        return GradientCanary(np.asarray(self.point), self.label, gradient)


STEPS: dict[str, tuple[type[Step], ...]] = {
    "Figure1": (Ask, Follow, Challenge),
    "Release": (),
    "Voting": (Ask, Follow),
    "TrainingRun": (),
    "SpecialRound": (Show, Special),
}


@attrs.frozen(kw_only=True)
class Script(Adversary):
    """An adversary that is plain data.

    protocol: Figure1, Release, Voting, TrainingRun or SpecialRound.
    world_0, world_1: the training set in each world, except under SpecialRound; world_1=None: the same.
    pieces: into how many the runs of world 0 are cut (`Sample.divide`), which changes no example; None: as
        they are.
    handed: unlabelled points under Figure1, handed over before the steps.
    steps: the rounds of the game, in order.
    score: the score; None leaves it to a learned distinguisher.

    Raises: InvalidArgument.
    """

    name = "script"
    protocols = tuple(STEPS)

    protocol: str
    world_0: Sample | None = None
    world_1: Sample | None = None
    pieces: int | None = None
    handed: tuple[Hand, ...] = ()
    steps: tuple[Step, ...] = ()
    score: Score | StepScore | None = None

    def __attrs_post_init__(self) -> None:
        if self.protocol not in STEPS:
            raise InvalidArgument(
                f"protocol must be one of {', '.join(STEPS)}",
                value=self.protocol,
                remedy="Only these have two worlds.",
            )
        for step in self.steps:
            if not isinstance(step, STEPS[self.protocol]):
                raise InvalidArgument(f"{self.protocol} has no such step", value=type(step).__name__)
        if (self.world_0 is None) != (self.protocol == "SpecialRound"):
            rule = "a script needs a training set, except under SpecialRound"
            raise InvalidArgument(rule, value=self.world_0)

    @property
    def returns_score(self) -> bool:
        return self.score is not None

    @property
    def rounds(self) -> int:
        """The number of rounds of a game: queries under Figure1 and Voting, T under SpecialRound."""
        return sum(step.rounds for step in self.steps)

    def canaries(self) -> list[GradientCanary]:
        """The canaries of TrainingRun."""
        return []

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        replies: list[Reply] = []
        if self.world_0 is not None:
            sample = self.world_0 if self.pieces is None else self.world_0.divide(self.pieces)
            replies.append((yield Train(sample, self.world_1)))
            for hand in self.handed:
                yield hand.move()
            if self.protocol == "TrainingRun":
                replies.append((yield Advance(canaries=self.canaries())))
            yield from _ask_queries(self.steps, games, replies)
        else:
            yield from _show_examples(self.steps, games, replies)
        return self._apply_score(replies, games)

    def _apply_score(self, replies: Sequence[Reply], games: int) -> Any:
        return self.score.of(replies, games) if isinstance(self.score, Score) else None


@attrs.frozen(kw_only=True)
class TrainingScript(Script):
    """A script for TrainingRun that chooses gradients and may score steps.

    pulls: the gradients of examples, in all steps. parameters: their length. updates: the learner's steps.
    """

    pulls: tuple[Pull, ...] = ()
    parameters: int = 0
    updates: int = 1

    @property
    def rounds(self) -> int:
        return self.updates

    def canaries(self) -> list[GradientCanary]:
        return [pull.canary(self.parameters) for pull in self.pulls]

    def _apply_score(self, replies: Sequence[Reply], games: int) -> Any:
        if not isinstance(self.score, StepScore):
            return super()._apply_score(replies, games)
        models = replies[-1]
        assert isinstance(models, Models)
        return self.score.of(models.parameters)


def _ask_queries(steps: Sequence[Step], games: int, replies: list[Reply]) -> Stretch:
    history = AnswerHistory(games, memories_of(steps))
    for step, now in _each_round(steps, games, history):
        if isinstance(step, Challenge):
            query = Query(step.world_0, _select_points(now, step.world_1, step.world_0))
        elif isinstance(step, Follow):
            query = Query(_select_points(history.holds(step.when), step.one, step.zero))
        else:
            assert isinstance(step, Ask)
            query = Query(step.point)
        reply = yield query
        history.add(reply.label == 1)
        replies.append(reply)


def _show_examples(steps: Sequence[Step], games: int, replies: list[Reply]) -> Stretch:
    memories = memories_of(steps)
    history = AnswerHistory(games, memories)
    reply = yield Ready()
    replies.append(reply)
    for step, now in _each_round(steps, games, history):
        if isinstance(step, Special):
            (x, y), (other_x, other_y) = step.world_0, step.world_1
            example = Example(x, y, _select_points(now, other_x, x), np.where(now, other_y, y))
        else:
            assert isinstance(step, Show)
            x = step.point
            example = Example(x, _label(step, reply))
        if memories:
            history.add(np.asarray(reply.hypothesis(np.asarray(x)), bool))
        reply = yield example
        replies.append(reply)


def memories_of(steps: Iterable[Step]) -> list[Memory]:
    """The conditions on answers that steps depend on."""
    memories = [getattr(step, "when", None) for step in steps]
    return list(dict.fromkeys(memory for memory in memories if memory is not None))


def _each_round(
    steps: Iterable[Step], games: int, history: AnswerHistory
) -> Iterator[tuple[Step, np.ndarray]]:
    """The step of every round, and in which games the worlds differ in it if it is a challenge."""
    for step in steps:
        challenged = np.zeros(games, bool)
        for left in reversed(range(step.rounds)):
            when = step.when if isinstance(step, Challenge | Special) else None
            now = ~challenged & (history.holds(when) if when is not None and left else True)
            yield step, now
            challenged |= now


def _select_points(use_one: np.ndarray, one: Point, zero: Point) -> np.ndarray:
    in_one = np.asarray(one)
    return np.where(use_one.reshape((-1,) + (1,) * in_one.ndim), in_one, np.asarray(zero))


def _label(step: Show, reply: Any) -> Any:
    if step.label not in (WITH, AGAINST):
        return step.label
    predicted = reply.hypothesis(np.asarray(step.point))
    return predicted if step.label == WITH else ~predicted
