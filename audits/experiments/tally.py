"""What a repetition leaves behind: whole numbers, from which every figure follows."""

from __future__ import annotations

import struct

import attrs
import numpy as np

from arena import InvalidArgument
from audits.runs.ledger import Store

_MAGIC = b"pate"
_HEAD = struct.Struct("<q")


@attrs.frozen(eq=False)
class Tally:
    """The test of every row's student, and of the vote itself.

    Shapes, for k rows: answers (k,) int64, those that each student was given; told (k + 1, 2, 2) int64, at
    [r, y, l] the test examples of label y that row r labels l, the vote of all teachers without noise last.
    """

    answers: np.ndarray
    told: np.ndarray

    @property
    def pairs(self) -> int:
        """One repetition."""
        return 1

    def to_bytes(self) -> bytes:
        """A canonical encoding."""
        body = np.concatenate([self.answers, self.told.ravel()]).astype("<i8").tobytes()
        return _MAGIC + _HEAD.pack(len(self.answers)) + body

    @classmethod
    def from_bytes(cls, blob: bytes) -> Tally:
        """The inverse of `to_bytes`; raises InvalidArgument on anything else."""
        try:
            (rows,) = _HEAD.unpack_from(blob, len(_MAGIC))
            numbers = np.frombuffer(blob, "<i8", offset=len(_MAGIC) + _HEAD.size).astype(np.int64)
            if not blob.startswith(_MAGIC) or rows < 0 or len(numbers) != 5 * rows + 4:
                raise ValueError("length")
        except (struct.error, ValueError) as error:
            raise InvalidArgument("the bytes are not a repetition's figures") from error
        return cls(numbers[:rows], numbers[rows:].reshape(rows + 1, 2, 2))


class Book(Store[Tally]):
    """The ledger of an experiment: a block for each repetition."""

    @staticmethod
    def decode(blob: bytes) -> Tally:
        return Tally.from_bytes(blob)
