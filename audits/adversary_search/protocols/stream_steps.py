"""Steps of scripts of streams, and scores of the round in which the worlds differ."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import Arrive, Move, Moves
from arena.records import Records
from arena.released.encoding import ABSENT, LEAST, name_suffix, value_columns
from arena.settings import one_of
from audits.adversary_search.script import LAST_IS_1, AnswerHistory, Memory, Point, Script, Step

StreamRecords = Records | tuple[Point, ...]  # the records of some rounds


def _choose(holds: np.ndarray, one: StreamRecords, zero: StreamRecords) -> Any:
    """The records of one round in every game: `one` where a condition holds, and `zero` elsewhere."""
    if isinstance(one, Records):
        return [one if each else zero for each in holds.tolist()]
    points = np.asarray(one), np.asarray(zero)
    return np.where(holds.reshape((-1,) + (1,) * points[0].ndim), *points)


@attrs.frozen
class StreamStep(Step):
    """A step of a stream. For conditions, the answer of a round is whether the number at `place` of what was
    published (-1: the last) is more than `cut`."""

    place: int = attrs.field(default=0, kw_only=True)
    cut: float = attrs.field(default=0.5, kw_only=True)

    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        return read_number(reply, self.place) > self.cut


def read_number(reply: Any, place: int) -> np.ndarray:
    """(n,): a number of the latest release of each game, the last one if it has fewer. A text is taken for a
    large number, and an empty release for 0. Other games of the batch, whatever they release, change nothing.
    """
    columns = value_columns(reply.releases[-1], "")
    table = [np.full(len(reply.releases[-1]), ABSENT)]
    for name in sorted(columns, key=_split_numbers):
        if name_suffix(name) == " text":
            table.append(np.where(columns[name] == ABSENT, ABSENT, LEAST))
        elif not name_suffix(name):
            table.append(columns[name].astype(float))
    numbers = np.stack(table, axis=1)
    absent = numbers == ABSENT
    length = (~absent).sum(axis=1)
    wanted = length - 1 if place < 0 else np.minimum(place, length - 1)
    order = np.argsort(absent, axis=1, kind="stable")
    numbers = np.take_along_axis(numbers, np.take_along_axis(order, wanted[:, None], axis=1), axis=1)
    return np.where(length > 0, numbers[:, 0], 0.0)


def _split_numbers(name: str) -> list[str | int]:
    """A key that puts entry 2 before entry 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


@attrs.frozen
class Arrivals(StreamStep):
    """Stream: `world_0` arrives in world 0 and `world_1`, by default the same, in world 1, as one move."""

    world_0: StreamRecords
    world_1: StreamRecords | None = None

    @property
    def rounds(self) -> int:
        return self.world_0.size if isinstance(self.world_0, Records) else len(self.world_0)

    @property
    def moves(self) -> int:
        return 1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        worlds = (self.world_0, self.world_1)
        return Arrive(
            *(world if isinstance(world, Records | None) else np.asarray(world) for world in worlds)
        )


@attrs.frozen
class React(StreamStep):
    """Stream: `one` arrives in the games in which `when` holds and `zero` elsewhere, `times` times."""

    one: StreamRecords
    zero: StreamRecords
    times: int = 1
    when: Memory = LAST_IS_1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Arrive(_choose(history.holds(self.when), self.one, self.zero))


@attrs.frozen
class Differ(StreamStep):
    """Stream: in one of `times` rounds the worlds differ: `world_0`, `world_1`. It is the first in which
    `when` holds, or else the last; in the others `world_0` arrives in both."""

    world_0: StreamRecords
    world_1: StreamRecords
    times: int = 1
    when: Memory = LAST_IS_1

    challenges: ClassVar[bool] = True

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        same = _choose(~now, self.world_0, self.world_0)
        return Arrive(same, _choose(now, self.world_1, self.world_0))


NUMBER, CHANGE = SWAP_SCORES = ("number", "change")


@attrs.frozen
class SwapScore:
    """The number at `place` that is published in the round in which the worlds differ; or, as "change", by
    how much it exceeds the one before. sign: 1, or −1 if small values indicate world 1."""

    kind: str = attrs.field(default=NUMBER, validator=one_of(*SWAP_SCORES))
    place: int = 0
    sign: int = 1


@attrs.frozen(kw_only=True)
class SteeredScript(Script):
    """A script for Stream with a `Differ`, whose round depends on what was published, and a `SwapScore`."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        moves, last, score = super().play(games, rng), None, np.zeros(games)
        kept: Any = self.score
        try:
            move: Any = next(moves)
            while True:
                reply = yield move
                if move.other is not None:
                    before = 0.0 if last is None or kept.kind == NUMBER else read_number(last, kept.place)
                    now = _find_difference(move, games)
                    score = np.where(now, read_number(reply, kept.place) - before, score)
                last = reply
                move = moves.send(reply)
        except StopIteration:
            return np.nan_to_num(kept.sign * score)


def _find_difference(move: Any, games: int) -> np.ndarray:
    """(n,) bool: the games in which the worlds differ in a move of one round."""
    if isinstance(move.records, list):
        return np.array([one != other for one, other in zip(move.records, move.other, strict=True)])
    differ = np.asarray(move.records) != np.asarray(move.other)
    return np.asarray(differ.reshape(games, -1).any(axis=1))
