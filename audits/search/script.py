"""Scripts: adversaries that are data, as a search draws, shrinks, compares and prints them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Self

import attrs
import numpy as np

from arena import (
    Adversary,
    Example,
    InvalidArgument,
    Moves,
    Query,
    Ready,
    Reply,
    Sample,
    Train,
    Unlabelled,
)
from audits.search.score import Score

Point = float | tuple[Any, ...]
Stretch = Generator[Any, Any, None]

WITH, AGAINST = "with", "against"


def as_point(value: Any) -> Point:
    """A point as plain data: a float, or floats nested as its shape has them."""

    def plain(value: Any) -> Point:
        return tuple(plain(part) for part in value) if isinstance(value, list | tuple) else float(value)

    return plain(np.asarray(value).tolist())


@attrs.frozen
class Step:
    """A stretch of a game: `rounds` of them."""

    @property
    def rounds(self) -> int:
        """How many rounds it takes."""
        return getattr(self, "times", 1)

    def cut(self, rounds: int) -> Self:
        """The same step made fewer times."""
        return attrs.evolve(self, times=rounds)  # type: ignore[call-arg]  # only what is repeated is cut


@attrs.frozen
class Ask(Step):
    """Figure1, Voting: ask `point`, `times` times."""

    point: Point = attrs.field(converter=as_point)
    times: int = 1


@attrs.frozen
class Follow(Step):
    """Figure1, Voting: ask `one` where the last answer was 1, `zero` where it was not; `times` times."""

    one: Point = attrs.field(converter=as_point)
    zero: Point = attrs.field(converter=as_point)
    times: int = 1


@attrs.frozen
class Challenge(Step):
    """Figure1: ask `world_0` in world 0 and `world_1` in world 1."""

    world_0: Point = attrs.field(converter=as_point)
    world_1: Point = attrs.field(converter=as_point)


@attrs.frozen
class Show(Step):
    """SpecialRound: the example (point, label), `times` times. A label "with" or "against" is that of the
    last hypothesis at the point, or the other one."""

    point: Point = attrs.field(converter=as_point)
    label: int | str = 0
    times: int = 1


@attrs.frozen
class Special(Step):
    """SpecialRound: the example `world_0` in world 0 and `world_1` in world 1, each (point, label)."""

    world_0: tuple[Point, int]
    world_1: tuple[Point, int]


@attrs.frozen
class Hand:
    """Figure1: hand over `point`, `times` times; or once, with `other` in world 1."""

    point: Point = attrs.field(converter=as_point)
    other: Point | None = attrs.field(
        default=None, converter=lambda other: None if other is None else as_point(other)
    )
    times: int = 1

    def move(self) -> Unlabelled:
        """What the script yields."""
        x, other = (
            None if point is None else np.repeat(np.asarray(point)[None], self.times, axis=0)
            for point in (self.point, self.other)
        )
        return Unlabelled(x, other)


STEPS: dict[str, tuple[type[Step], ...]] = {
    "Figure1": (Ask, Follow, Challenge),
    "Release": (),
    "Voting": (Ask, Follow),
    "SpecialRound": (Show, Special),
}


@attrs.frozen(kw_only=True)
class Script(Adversary):
    """An adversary that is data only.

    protocol: Figure1, Release, Voting or SpecialRound.
    world_0, world_1: the training set in each world, but before SpecialRound; world_1 None: the same.
    handed: unlabelled points of Figure1, before the steps. steps: what follows, in order.
    score: what it makes of its view, or None: that is left to a distinguisher that is learned.
    """

    name = "script"
    protocols = tuple(STEPS)

    protocol: str
    world_0: Sample | None = None
    world_1: Sample | None = None
    handed: tuple[Hand, ...] = ()
    steps: tuple[Step, ...] = ()
    score: Score | None = None

    def __attrs_post_init__(self) -> None:
        if self.protocol not in STEPS:
            raise InvalidArgument(
                "a script plays Figure1, Release, Voting or SpecialRound",
                value=self.protocol,
                remedy="Only these have two worlds.",
            )
        strays = [type(step).__name__ for step in self.steps if not isinstance(step, STEPS[self.protocol])]
        if strays:
            raise InvalidArgument(f"{self.protocol} knows no such step", value=strays[0])
        if (self.world_0 is None) != (self.protocol == "SpecialRound"):
            raise InvalidArgument("a script has a training set, but before SpecialRound", value=self.world_0)

    @property
    def returns_score(self) -> bool:
        return self.score is not None

    @property
    def rounds(self) -> int:
        """The rounds of a game: queries of Figure1 and Voting, T of SpecialRound."""
        return sum(step.rounds for step in self.steps)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        replies: list[Reply] = []
        if self.world_0 is not None:
            replies.append((yield Train(self.world_0, self.world_1)))
            for hand in self.handed:
                yield hand.move()
            yield from _asked(self.steps, games, replies)
        else:
            yield from _shown(self.steps, games, replies)
        return None if self.score is None else self.score.of(replies, games)


def _asked(steps: Sequence[Step], games: int, replies: list[Reply]) -> Stretch:
    said_1 = np.zeros(games, bool)
    for step in _each_round(steps):
        if isinstance(step, Challenge):
            query = Query(step.world_0, step.world_1)
        elif isinstance(step, Follow):
            query = Query(_chosen(said_1, step.one, step.zero))
        else:
            assert isinstance(step, Ask)
            query = Query(step.point)
        reply = yield query
        said_1 = reply.label == 1
        replies.append(reply)


def _shown(steps: Sequence[Step], games: int, replies: list[Reply]) -> Stretch:
    reply = yield Ready()
    replies.append(reply)
    for step in _each_round(steps):
        if isinstance(step, Special):
            (x, y), (other_x, other_y) = step.world_0, step.world_1
            example = Example(x, y, other_x, other_y)
        else:
            assert isinstance(step, Show)
            example = Example(step.point, _label(step, reply))
        reply = yield example
        replies.append(reply)


def _each_round(steps: Iterable[Step]) -> Iterable[Step]:
    return (step for step in steps for _ in range(step.rounds))


def _chosen(where: np.ndarray, one: Point, zero: Point) -> np.ndarray:
    in_one = np.asarray(one)
    return np.where(where.reshape((-1,) + (1,) * in_one.ndim), in_one, np.asarray(zero))


def _label(step: Show, reply: Any) -> Any:
    if step.label not in (WITH, AGAINST):
        return step.label
    said = reply.hypothesis(np.asarray(step.point))
    return said if step.label == WITH else ~said
