"""The public points that a student may query."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import as_points, freeze
from arena.settings import parse_rows, read_file

_MAX_SIZE = 256  # MiB of text


def _copy(points: Any) -> np.ndarray:
    return freeze(as_points(points).astype(np.float64))


def _content(points: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    return points.shape, (points + 0.0).tobytes()  # -0.0 is 0.0


@attrs.frozen(cache_hash=True, repr=False)
class PublicPoints:
    """Points without labels, which need no protection. Objects with equal points are equal.

    Shapes: points (m, ...), at least one.

    >>> PublicPoints([0.5, 2]), PublicPoints.from_text("0.5,2") == PublicPoints([0.5, 2])
    (PublicPoints(2 of shape ()), True)
    """

    points: np.ndarray = attrs.field(converter=_copy, eq=_content)

    @points.validator
    def _check(self, attribute: object, value: np.ndarray) -> None:
        if value.ndim == 0 or not len(value):
            raise InvalidArgument("public points must be an array of at least one point", value=value.shape)

    @classmethod
    def from_text(cls, text: str) -> PublicPoints:
        """Read FILE.csv, with one point on each line and no header; or numbers separated by commas, each a
        point.

        Raises: InvalidArgument, naming the file and the line.
        """
        text = text.strip()
        if not text.endswith(".csv"):
            return cls(_numbers(text.split(","), "public points"))
        content = read_file("file of public points", text, mebibytes=_MAX_SIZE)
        rows = [_numbers(fields, f"{text}, line {line}") for line, fields in parse_rows(text, content)]
        if not rows:
            raise InvalidArgument(f"{text} is empty", remedy="Write one point on each line.")
        lengths = [len(row) for row in rows]
        if len({*lengths}) > 1:
            raise InvalidArgument(
                f"{text}: every line must have as many coordinates as the first, {lengths[0]}",
                value=next(length for length in lengths if length != lengths[0]),
                remedy="Correct the lines that have another number.",
            )
        return cls([row[0] for row in rows] if lengths[0] == 1 else rows)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"PublicPoints({len(self)} of shape {self.points.shape[1:]})"

    def __reduce__(self) -> tuple[object, ...]:
        # A pickled array comes back writable; the constructor makes it read-only again.
        return PublicPoints, (self.points,)


def _numbers(fields: list[str], where: str) -> list[float]:
    try:
        return [float(field) for field in fields]
    except ValueError:
        raise InvalidArgument(
            f"{where}: points must be numbers",
            value=",".join(fields)[:60],
            remedy="Write 0.5,1,2 or the name of a file that ends in .csv, with one point on each line.",
        ) from None
