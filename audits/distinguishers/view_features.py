"""Views as rows of numerical features, for learned distinguishers and simple scores.

They contain nothing that the adversary did not see: answers, whether the learner halted, released numbers.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise

import attrs
import numpy as np

from arena import Answer, Answers, InvalidArgument, Models, Played, Received, Reply
from arena.messages import list_answers, match_feature
from arena.released.encoding import ABSENT, value_columns
from arena.sample import freeze
from audits.statistics.score_pairs import PairCounts, Unpacker, check_counts, check_indices, smallest_type

MAX_ROUNDS = 64  # answers that are features by themselves; longer games give sums over stretches of rounds
MAX_MOVES = 64  # numbers of a training run that are features by themselves
_MISSING = -2.0  # the feature of a view that has no such answer; `ABSENT` if it has no such value
_LARGEST = 1e300  # stands for infinity, which classifiers reject
_LARGEST_INTEGER = 2.0**53  # up to which doubles hold every integer
INFINITE = 1e299  # from which on features are no magnitudes, but stand for infinity, NaN or nothing
_MAGIC = b"view"
_HEAD = struct.Struct("<qqqq")
_TYPES = {code: np.dtype(f"<{code}") for code in "bhid"}  # of columns, the smallest first
_MAX_UNPACKED = 1 << 24  # bytes of a compressed block; larger ones are not compressed
# Many different views are mostly noise: compressing them saves little and takes longer than the games.
_MAX_COMPRESSED = 1_024  # distinct views


@attrs.frozen(eq=False)
class ViewFeatures:
    """The features of the views of n games: rows (n, F) float64, finite; names (F,) of the columns."""

    rows: np.ndarray
    names: tuple[str, ...]

    def __getitem__(self, games: np.ndarray) -> ViewFeatures:
        return ViewFeatures(self.rows[games], self.names)

    @classmethod
    def of_columns(cls, columns: Mapping[str, np.ndarray], games: int) -> ViewFeatures:
        rows = np.stack(list(columns.values()), axis=1) if columns else np.zeros((games, 0))
        return cls(freeze(rows + 0.0), tuple(columns))  # -0 compares equal to 0, but has other bytes

    def columns(self, names: tuple[str, ...]) -> np.ndarray:
        """The named columns of all rows; a constant for columns that there are not."""
        return _select_columns(self.rows, self.names, names)


def view_features(played: Played) -> ViewFeatures:
    """The features of the views of a batch of games. Raises: InvalidArgument if they were not recorded."""
    if played.single_games:
        parts = _align_columns([_features_of_replies(game) for game in played.single_games])
        return ViewFeatures(freeze(np.concatenate([part.rows for part in parts])), parts[0].names)
    return _features_of_replies(played)


def _features_of_replies(played: Played) -> ViewFeatures:
    if played.transcript is None:
        raise InvalidArgument("the views of the games were not recorded", remedy="Play with record=True.")
    games, replies = len(played.worlds), played.replies
    columns = _answer_columns(list_answers(replies)) | list_released_columns(replies, games)
    if played.failed is not None:
        columns["failed"] = played.failed.astype(float)
        columns |= played.failure_features
    return ViewFeatures.of_columns(columns, games)


def _answer_columns(answers: list[Answer]) -> dict[str, np.ndarray]:
    if not answers:
        return {}
    labels = np.stack([answer.label for answer in answers], axis=1).astype(float)
    ones = labels == 1
    if labels.shape[1] <= MAX_ROUNDS:
        single = {f"answer {t}": column for t, column in enumerate(labels.T, start=1)}
    else:
        cuts = np.linspace(0, labels.shape[1], MAX_ROUNDS + 1).astype(int)
        sums = np.add.reduceat(ones, cuts[:-1], axis=1).T
        names = [f"answers 1 in {first + 1} to {last}" for first, last in pairwise(cuts)]
        single = dict(zip(names, sums.astype(float), strict=True))
    return single | {
        "answers 1": ones.sum(axis=1).astype(float),
        "answers": np.isin(labels, (0, 1)).sum(axis=1).astype(float),
        "halted": answers[-1].halted.astype(float),
    }


def _describe_moves(parameters: np.ndarray) -> np.ndarray:
    """(n, F): the moves of models (n, j, P) from 0 on; of long runs, their sums and squared lengths."""
    moves = np.diff(parameters, axis=1, prepend=0.0)
    if moves.shape[1] * moves.shape[2] <= MAX_MOVES:
        return moves.reshape(len(moves), -1)
    half = MAX_MOVES // 2
    return np.concatenate([moves.sum(axis=1)[:, :half], (moves**2).sum(axis=2)[:, :half]], axis=1)


def list_released_columns(
    replies: Sequence[Reply], games: int, *, finite: bool = True
) -> dict[str, np.ndarray]:
    """The features (games,) of released values and published hypotheses, by name.
    finite: whether infinities and NaN are replaced, as in the features of views."""
    values: list[np.ndarray] = []
    columns: dict[str, np.ndarray] = {}
    others = list(replies)
    kinds: dict[type[Reply], None] = dict.fromkeys(map(type, replies))
    for kind in kinds:
        own = kind.list_features([reply for reply in replies if type(reply) is kind], games)
        if own is not None:
            columns |= own
            others = [reply for reply in others if type(reply) is not kind]
    for reply in others:
        if isinstance(reply, Models):
            values.append(_describe_moves(reply.parameters))
        elif not isinstance(reply, (Answer, Answers, Received)):  # which are answers
            values += reply.parts
    for number, value in enumerate(values, start=1):
        if len(values) == 1:
            columns |= value_columns(value, "value")
            continue
        flat = np.asarray(value, dtype=np.float64).reshape(games, -1)
        name = f"hypothesis {number}"
        columns |= value_columns(flat[:, 0] if flat.shape[1] == 1 else flat, name)
    if finite:
        replace = partial(np.nan_to_num, nan=2 * _LARGEST, posinf=_LARGEST, neginf=-_LARGEST)
        return {
            name: column if np.isfinite(column).all() else replace(column) for name, column in columns.items()
        }
    return columns


@lru_cache(maxsize=64)
def follows_a_number(names: tuple[str, ...]) -> frozenset[int]:
    """The columns that hold an entry of a released vector, next to the entry before it."""
    return frozenset(
        index
        for index, (before, name) in enumerate(pairwise(names), start=1)
        if name.endswith("]") and before.split("[")[0] == name.split("[")[0]
    )


def _align_columns(parts: Sequence[ViewFeatures]) -> list[ViewFeatures]:
    """The same features with the union of all columns."""
    names = tuple(dict.fromkeys(name for part in parts for name in part.names))
    return [ViewFeatures(part.columns(names), names) for part in parts]


def _select_columns(rows: np.ndarray, names: tuple[str, ...], wanted: tuple[str, ...]) -> np.ndarray:
    """The wanted columns of rows; what they do not have is the same in every block and every batch."""
    if names == wanted:
        return rows
    place = {name: column for column, name in enumerate(names)}
    columns = np.empty((len(rows), len(wanted)))
    for column, name in enumerate(wanted):
        missing = ABSENT if is_released(name) else _MISSING
        columns[:, column] = rows[:, place[name]] if name in place else missing
    return columns


def is_released(name: str) -> bool:
    """Whether a feature is one of a released value or hypothesis."""
    if name.startswith(("value", "hypothesis ", "failure ")):
        return True
    found = match_feature(name)
    return found is not None and found[0].is_value


def is_single(name: str) -> bool:
    """Whether a feature says one thing of many, such as one reply of a session."""
    found = match_feature(name)
    return found is not None and found[0].is_single


@attrs.frozen(eq=False)
class ViewCounts:
    """The pairs of views of one block, counted. Shapes: rows (m, F), distinct; which (k, 2), distinct, column
    b is the row of the game in world b; counts (k,), at least 1; names (F,)."""

    rows: np.ndarray
    which: np.ndarray
    counts: np.ndarray
    names: tuple[str, ...]

    @classmethod
    def of(cls, world0: ViewFeatures, world1: ViewFeatures) -> ViewCounts:
        """Count the pairs of views (world0.rows[j], world1.rows[j])."""
        world0, world1 = _align_columns([world0, world1])
        games = len(world0.rows)
        rows, place = distinct(np.concatenate([world0.rows, world1.rows]))
        which, pair = distinct(np.column_stack([place[:games], place[games:]]))
        return cls(rows, which, np.bincount(pair, minlength=len(which)), world0.names)

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    @property
    def only_outcome(self) -> bytes:
        """What all games look like; empty if they do not all look the same."""
        return b"" if len(self.rows) != 1 else repr(self.names).encode() + self.rows.tobytes()

    def by_world(self) -> np.ndarray:
        """(m, 2) int64: how often each row occurred in world 0 and in world 1."""
        times = np.zeros((len(self.rows), 2), np.int64)
        for world in range(2):
            np.add.at(times[:, world], self.which[:, world], self.counts)
        return times

    def columns(self, names: tuple[str, ...]) -> np.ndarray:
        """The named columns of all rows; a constant for columns that the block does not have."""
        return _select_columns(self.rows, self.names, names)

    def thin(self, stride: int) -> ViewCounts:
        """Every so-manieth of the distinct pairs, with the rows that they have."""
        if stride == 1:
            return self
        some = attrs.evolve(self, which=self.which[::stride], counts=self.counts[::stride])
        return some.drop_unused_rows()

    def drop_unused_rows(self) -> ViewCounts:
        """The same pairs without rows that none of them has."""
        used, place = np.unique(self.which, return_inverse=True)
        return attrs.evolve(self, rows=self.rows[used], which=place.reshape(self.which.shape))

    def count_scores(self, score: np.ndarray) -> PairCounts:
        """The score pairs of the block; score: (m,), the score of each row."""
        world0, world1 = score[self.which].T
        return PairCounts.of(world0, world1, self.counts)

    def to_bytes(self) -> bytes:
        """A compact, canonical encoding: every column, index and count in the fewest bytes that hold it."""
        names = "\n".join(self.names).encode()
        kinds = [_find_type(column) for column in self.rows.T]
        largest = int(self.counts.max(initial=0))
        head = _HEAD.pack(len(self.rows), len(self.counts), len(names), largest)
        parts = [column.astype(kind) for column, kind in zip(self.rows.T, kinds, strict=True)]
        parts += [
            self.which.astype(smallest_type(len(self.rows))),
            self.counts.astype(smallest_type(largest)),
        ]
        types = "".join(kind.char for kind in kinds).encode()
        raw = head + names + types + b"".join(part.tobytes() for part in parts)
        few = len(self.rows) <= _MAX_COMPRESSED and len(raw) <= _MAX_UNPACKED
        return _MAGIC + zlib.compress(raw, 6 if few else 0)

    @classmethod
    def from_bytes(cls, blob: bytes) -> ViewCounts:
        """The inverse of `to_bytes`, checked, whoever wrote the bytes. Raises: InvalidArgument."""
        try:
            unpacker = Unpacker(blob.removeprefix(_MAGIC), _MAX_UNPACKED)
            m, k, letters, largest = _HEAD.unpack(unpacker.read(_HEAD.size))
            names = unpacker.read(letters).decode()
            columns = tuple(names.split("\n")) if names else ()
            if min(m, k, largest) < 0 or m > 2 * k:
                raise ValueError("it has more views than games")
            found = [_TYPES.get(code) for code in unpacker.read(len(columns)).decode()]
            kinds = [kind for kind in found if kind is not None]
            if len(kinds) != len(columns):
                raise ValueError("a column has an unknown type")
            types = [*kinds, smallest_type(m), smallest_type(largest)]
            sizes = [n * kind.itemsize for n, kind in zip([m] * len(kinds) + [2 * k, k], types, strict=True)]
            raw, ends = unpacker.read_last(sum(sizes)), np.cumsum(sizes)
            *parts, which, counts = (
                np.frombuffer(raw[end - size : end], kind)
                for end, size, kind in zip(ends, sizes, types, strict=True)
            )
            rows = np.stack(parts, axis=1).astype(np.float64) if parts else np.zeros((m, 0))
            block = cls(rows, which.reshape(k, 2).astype(np.int64), counts.astype(np.int64), columns)
            block.check()
            if [_find_type(column) for column in rows.T] != kinds or counts.max(initial=0) != largest:
                raise ValueError("a number takes more bytes than it needs")
        except (zlib.error, struct.error, ValueError) as error:
            raise InvalidArgument(f"the bytes do not encode the views of a block ({error})") from error
        return block

    def check(self) -> None:
        """Raises: ValueError if the arrays are not what `of` makes of any views."""
        if not np.isfinite(self.rows).all():
            raise ValueError("a feature is not finite")
        if len(set(self.names)) != len(self.names):
            raise ValueError("two features have one name")
        check_counts(self.counts)
        check_indices(self.which, len(self.rows))
        if not (_increase(self.rows) and _increase(self.which)):
            raise ValueError("its views or pairs are not in order")


def _find_type(column: np.ndarray) -> np.dtype:
    """The smallest of `_TYPES` that holds these numbers exactly."""
    low, high = column.min(initial=0.0), column.max(initial=0.0)
    for kind in list(_TYPES.values())[:-1]:
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return kind if (np.floor(column) == column).all() else _TYPES["d"]
    return _TYPES["d"]


def _increase(rows: np.ndarray) -> bool:
    """Whether the rows (m, F) increase strictly, in lexicographic order."""
    if not rows.shape[1]:
        return len(rows) <= 1
    changes = rows[1:] != rows[:-1]
    first = changes.argmax(axis=1)
    place = np.arange(len(first))
    return bool((rows[1:][place, first] > rows[:-1][place, first]).all())


def join_views(blocks: Sequence[ViewCounts]) -> ViewCounts:
    """All blocks as one; views of different blocks are compared if few of a block's views are distinct."""
    names = tuple(dict.fromkeys(name for block in blocks for name in block.names))
    sizes = [len(block.rows) for block in blocks]
    starts = np.cumsum([0, *sizes[:-1]])
    rows = np.concatenate([block.columns(names) for block in blocks])
    which = np.concatenate([block.which + start for block, start in zip(blocks, starts, strict=True)])
    counts = np.concatenate([block.counts for block in blocks])
    if len(blocks) > 1 and len(rows) < sum(block.pairs for block in blocks):
        rows, place = distinct(rows)
        which, pair = distinct(place[which])
        counts = np.bincount(pair, weights=counts, minlength=len(which)).astype(np.int64)
    return ViewCounts(rows, which, counts, names)


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As `np.unique(rows, axis=0, return_inverse=True)`, and many times as fast: columns of integers are
    sorted together, and a column is sorted only where the columns before it agree."""
    if not (rows.shape[1] and len(rows)):
        return rows[:1], np.zeros(len(rows), np.int64)
    order, first = np.arange(len(rows)), np.arange(len(rows)) == 0
    for key in _sorting_keys(rows):
        tied = np.flatnonzero(~(first & np.append(first[1:], True)))
        if not len(tied):
            break
        group = np.cumsum(first)[tied]
        values = key[order[tied]]
        ordered = np.lexsort((values, group)) if group[-1] > 1 else np.argsort(values)
        order[tied] = order[tied][ordered]
        values = key[order[tied]]
        first[tied[1:]] |= values[1:] != values[:-1]
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(first) - 1
    return rows[order[first]], place


def _sorting_keys(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Arrays (n,) that order the rows (n, F) as their columns do, taken together where these are integers."""
    packed, room = np.zeros(len(rows), np.int64), 1
    for column in rows.T:
        low, high = float(column.min()), float(column.max())
        span = high - low + 1
        is_integer = max(-low, high) < _LARGEST_INTEGER and bool((np.floor(column) == column).all())
        if room > 1 and not (is_integer and room * span < _LARGEST_INTEGER):
            yield packed
            packed, room = np.zeros(len(rows), np.int64), 1
        if is_integer and span < _LARGEST_INTEGER:
            packed, room = packed * int(span) + (column - low).astype(np.int64), room * int(span)
        else:
            yield np.ascontiguousarray(column)
    if room > 1:
        yield packed


Block = PairCounts | ViewCounts


def decode_block(blob: bytes) -> Block:
    """The block that `to_bytes` of either kind encoded. Raises InvalidArgument for anything else."""
    return ViewCounts.from_bytes(blob) if blob.startswith(_MAGIC) else PairCounts.from_bytes(blob)
