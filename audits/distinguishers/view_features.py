"""Views as numbers: what a distinguisher that is learned from games, rather than written by a person, works from.

A view becomes a row of features: the label of every answer, how many answers were 1, whether and when the
learner fell silent, the numbers that it released. Rows say nothing that the adversary did not see.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import attrs
import numpy as np

from arena import Answer, Answers, InvalidArgument, Played, Received, Reply
from arena.points import freeze
from arena.replies import list_answers
from audits.statistics.score_pairs import PairCounts, distinct

MOST_ROUNDS = 64  # answers told one by one; of longer games, sums over stretches of rounds
_NEVER = -2.0  # where a view has no such answer
_BEYOND = 1e300  # stands for infinity, which no classifier takes
_MAGIC = b"view"
_HEAD = struct.Struct("<qqq")


@attrs.frozen(eq=False)
class Features:
    """The views of n games as rows.

    Shapes: rows (n, F) float64, finite; names (F,), what each column tells.
    """

    rows: np.ndarray
    names: tuple[str, ...]

    def __getitem__(self, games: np.ndarray) -> Features:
        return Features(self.rows[games], self.names)


def features(played: Played) -> Features:
    """The views of a recorded table.

    Raises: InvalidArgument if the table was not recorded.
    """
    if played.single_games:
        parts = _aligned([_of_replies(one) for one in played.single_games])
        return Features(freeze(np.concatenate([part.rows for part in parts])), parts[0].names)
    return _of_replies(played)


def _of_replies(played: Played) -> Features:
    if played.view is None:
        raise InvalidArgument("a table's views must be recorded", remedy="Play with record=True.")
    games = len(played.worlds)
    columns: dict[str, np.ndarray] = {}
    replies = played.view.replies
    columns |= _answers(list_answers(replies))
    columns |= _values(numbers_shown(replies), games)
    if played.failed is not None:
        columns["failed"] = played.failed.astype(float)
    rows = np.stack(list(columns.values()), axis=1) if columns else np.zeros((games, 0))
    return Features(freeze(_finite(rows)), tuple(columns))


def _answers(answers: list[Answer]) -> dict[str, np.ndarray]:
    if not answers:
        return {}
    labels = np.stack([answer.label for answer in answers], axis=1).astype(float)
    ones = labels == 1
    if labels.shape[1] <= MOST_ROUNDS:
        each = {f"answer {t}": column for t, column in enumerate(labels.T, start=1)}
    else:
        cuts = np.linspace(0, labels.shape[1], MOST_ROUNDS + 1).astype(int)
        sums = np.add.reduceat(ones, cuts[:-1], axis=1).T
        each = {
            f"answers 1 in {a + 1} to {b}": s.astype(float)
            for a, b, s in zip(cuts, cuts[1:], sums, strict=False)
        }
    return each | {
        "answers 1": ones.sum(axis=1).astype(float),
        "answers": np.isin(labels, (0, 1)).sum(axis=1).astype(float),
        "halted": answers[-1].halted.astype(float),
    }


def numbers_shown(replies: Sequence[Reply]) -> list[np.ndarray]:
    """Released values and the concepts of hypotheses, (n, ...) each, in order."""
    others = Answer, Answers, Received  # what they say is told by the answers, or by silence after them
    return [part for reply in replies if not isinstance(reply, others) for part in reply.parts]


def _values(values: list[np.ndarray], games: int) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for number, value in enumerate(values, start=1):
        flat = np.asarray(value, dtype=np.float64).reshape(games, -1)
        kind = "value" if len(values) == 1 else f"hypothesis {number}"
        alone = flat.shape[1] == 1
        columns |= {kind if alone else f"{kind}[{i}]": column for i, column in enumerate(flat.T)}
    return columns


def _finite(rows: np.ndarray) -> np.ndarray:
    rows = rows + 0.0  # turns -0.0 into 0.0, which compares equal but has other bytes
    return np.nan_to_num(rows, nan=2 * _BEYOND, posinf=_BEYOND, neginf=-_BEYOND)


def _aligned(tables: Sequence[Features]) -> list[Features]:
    """Tables that may have seen different things, with the same columns."""
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    return [Features(_columns(table.rows, table.names, names), names) for table in tables]


def _columns(rows: np.ndarray, names: tuple[str, ...], wanted: tuple[str, ...]) -> np.ndarray:
    """The wanted columns of rows; one that they do not have says that nothing of the kind was seen."""
    if names == wanted:
        return rows
    place = {name: column for column, name in enumerate(names)}
    found = np.full((len(rows), len(wanted)), _NEVER)
    for column, name in enumerate(wanted):
        if name in place:
            found[:, column] = rows[:, place[name]]
    return found


@attrs.frozen(eq=False)
class ViewCounts:
    """The views of a block's pairs, counted.

    Shapes: rows (m, F), distinct; which (k, 2) int64, distinct, column b is the row of the game in world b;
    counts (k,) int64 of at least 1; names (F,).
    """

    rows: np.ndarray
    which: np.ndarray
    counts: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, world0: Features, world1: Features) -> ViewCounts:
        """Count the pairs of views (world0.rows[j], world1.rows[j])."""
        world0, world1 = _aligned([world0, world1])
        games = len(world0.rows)
        rows, place = distinct(np.concatenate([world0.rows, world1.rows]))
        which, pair = distinct(np.column_stack([place[:games], place[games:]]))
        return cls(rows, which, np.bincount(pair, minlength=len(which)), world0.names)

    @property
    def pairs(self) -> int:
        """The number of pairs of games."""
        return int(self.counts.sum())

    def by_world(self) -> np.ndarray:
        """(m, 2) int64: how often each row was seen in world 0 and in world 1."""
        seen = np.zeros((len(self.rows), 2), np.int64)
        for world in range(2):
            np.add.at(seen[:, world], self.which[:, world], self.counts)
        return seen

    def columns(self, names: tuple[str, ...]) -> np.ndarray:
        """The rows with the named columns."""
        return _columns(self.rows, self.names, names)

    def scored(self, score: np.ndarray) -> PairCounts:
        """The pairs' scores, counted; score: (m,), of each row."""
        world0, world1 = score[self.which].T
        return PairCounts.of(world0, world1, self.counts)

    def to_bytes(self) -> bytes:
        """A compact, canonical encoding."""
        names = "\n".join(self.names).encode()
        head = _HEAD.pack(len(self.rows), len(self.counts), len(names))
        body = self.rows.astype("<f8").tobytes() + self.which.astype("<i8").tobytes()
        return _MAGIC + zlib.compress(head + names + body + self.counts.astype("<i8").tobytes(), level=6)

    @classmethod
    def from_bytes(cls, blob: bytes) -> ViewCounts:
        """The inverse of `to_bytes`; raises InvalidArgument on anything else."""
        try:
            raw = zlib.decompress(blob.removeprefix(_MAGIC))
            m, k, letters = _HEAD.unpack_from(raw)
            at = _HEAD.size + letters
            names = raw[_HEAD.size : at].decode()
            width = len(names.split("\n")) if names else 0
            if len(raw) != at + 8 * (m * width + 3 * k):
                raise ValueError("length")
            rows = np.frombuffer(raw, "<f8", m * width, at).reshape(m, width)
            which = np.frombuffer(raw, "<i8", 2 * k, at + 8 * m * width).reshape(k, 2)
            counts = np.frombuffer(raw, "<i8", k, at + 8 * (m * width + 2 * k))
        except (zlib.error, struct.error, ValueError) as error:
            raise InvalidArgument("the bytes are not a block's views") from error
        named = tuple(names.split("\n")) if names else ()
        return cls(rows.astype(np.float64), which.astype(np.int64), counts.astype(np.int64), named)


Block = PairCounts | ViewCounts


def decoded(blob: bytes) -> Block:
    """The block that `to_bytes` of either kind made; raises InvalidArgument on anything else."""
    return ViewCounts.from_bytes(blob) if blob.startswith(_MAGIC) else PairCounts.from_bytes(blob)
