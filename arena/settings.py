"""Settings of players, which the command line can list, explain and set; validators; and the user's files."""

from __future__ import annotations

import csv
import errno
import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument

Check = Callable[[Any, "attrs.Attribute[Any]", Any], object]
# Told of the path, the content and whether it is code, before a user's file is parsed or run. It may refuse.
FileGuard = Callable[[Path, bytes, bool], None]
INSTEAD = "instead"  # in the metadata of a required setting: the name of another that may replace it
file_guard: ContextVar[FileGuard | None] = ContextVar("file_guard", default=None)
_READ_REMEDIES = {
    errno.EISDIR: "Name a file in it.",
    errno.EACCES: "Check its permissions.",
    errno.EPERM: "Check its permissions.",
}


def setting(
    default: Any = attrs.NOTHING, *, help: str, unit: str = "", check: Check | Iterable[Check] | None = None
) -> Any:
    """A keyword-only field of a player's configuration.

    help, unit: what `arena show PLAYER` prints; `--set NAME=VALUE` sets the field.
    check: one or several of the validators below, which let None pass: as a default it means "derived".
        Default: that of `_CHECKS_OF_UNITS`.
    """
    if check is None:
        check = _CHECKS_OF_UNITS.get(unit, ())
    checks = [check] if callable(check) else list(check)
    return attrs.field(
        default=default,
        kw_only=True,
        validator=[attrs.validators.optional(c) for c in checks],
        metadata={"help": help, "unit": unit},
    )


def count_setting(default: Any = attrs.NOTHING, *, help: str, least: int = 1) -> Any:
    return setting(default, help=help, check=[whole, at_least(least)])


def check_value(name: str, value: Any, *checks: Check) -> None:
    """Apply validators to a value that is not a field and is called `name`. Raises: InvalidArgument."""
    for check in checks:
        check(None, _Named(name), value)  # type: ignore[arg-type]


@attrs.frozen
class _Named:
    name: str


def _rule(holds: Callable[[Any], bool], text: str, remedy: str = "") -> Check:
    def check(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        try:
            valid = bool(holds(value))
        except TypeError:
            valid = False
        if not valid:
            raise InvalidArgument(f"{attribute.name} must be {text}", value=value, remedy=remedy)

    return check


def at_least(bound: float) -> Check:
    return _rule(lambda value: value >= bound, f"at least {bound:g}")


def at_most(bound: float) -> Check:
    return _rule(lambda value: value <= bound, f"at most {bound:g}")


def more_than(bound: float, remedy: str = "") -> Check:
    return _rule(lambda value: value > bound, f"more than {bound:g}", remedy)


def less_than(bound: float, remedy: str = "") -> Check:
    return _rule(lambda value: value < bound, f"less than {bound:g}", remedy)


def one_of(*names: str, remedy: str = "") -> Check:
    return _rule(lambda value: value in names, "one of " + ", ".join(names), remedy)


def is_number(value: object) -> bool:
    """Whether a value is a number of Python or numpy, and no bool."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


# Validators of an integer, a number and a truth value, of Python or numpy.
whole = _rule(lambda value: isinstance(value, int | np.integer) and not isinstance(value, bool), "an integer")
number = _rule(is_number, "a number")
yes_or_no = _rule(lambda value: isinstance(value, bool | np.bool_), "True or False")
_CHECKS_OF_UNITS = {
    "nats": (more_than(0),),
    "probability": (more_than(0), less_than(1)),
    "fraction": (more_than(0), at_most(1)),
    "error rate": (more_than(0), less_than(0.5)),
}


def read_file(kind: str, path: str | os.PathLike[str], *, mebibytes: int, code: bool = False) -> bytes:
    """The content of a regular file that the user names, after `file_guard` has seen it. kind: what error
    messages call it. code: whether it is run. Raises: InvalidArgument if it cannot be read, is no regular
    file, or is larger; whatever the guard raises."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidArgument(
                    f"the {kind} {path} is a pipe, a device or the like, which may never end",
                    remedy="Save what it gives as a file, and name that.",
                )
            check_size(kind, path, status.st_size, mebibytes=mebibytes)
            content = file.read(mebibytes * 2**20 + 1)
    except OSError as error:
        raise InvalidArgument(
            f"the {kind} {path} cannot be read ({error.strerror})",
            remedy=_READ_REMEDIES.get(error.errno or 0, "Check the path."),
        ) from error
    except InvalidArgument:
        raise
    except ValueError as error:  # a zero byte, or half of a pair of surrogates
        raise InvalidArgument(
            f"the {kind} {path} cannot be read (no file can have such a name)", remedy="Check the path."
        ) from error
    check_size(kind, path, len(content), mebibytes=mebibytes)  # it may have grown
    guard = file_guard.get()
    if guard is not None:
        guard(Path(os.path.realpath(path)), content, code)
    return content


def parse_rows(path: str | os.PathLike[str], content: bytes) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file that are not empty, with stripped fields, each with the number of its last line.
    Raises: InvalidArgument, with the path as given and the line, if this is not CSV in UTF-8."""
    reader = csv.reader(io.StringIO(_decode(path, content), newline=""), skipinitialspace=True, strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if fields not in ([], [""]):
                yield reader.line_num, fields
    except csv.Error as error:
        raise InvalidArgument(
            f"{path}, line {reader.line_num}: not CSV ({error})", remedy="Correct the quotes of the line."
        ) from error


def _decode(path: str | os.PathLike[str], content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
        offset = content.find(b"\0")
    except UnicodeDecodeError as error:
        text, offset = "", error.start
    if offset >= 0:
        line = content.count(b"\n", 0, offset) + 1
        gzipped = content.startswith(b"\x1f\x8b")
        raise InvalidArgument(
            f"{path}, line {line}: not text in UTF-8",
            value=content[offset : offset + 1],
            remedy="It is gzipped: unpack it, or end the name of a data file in .gz."
            if gzipped
            else "Save it as CSV in UTF-8.",
        )
    return text


def check_size(kind: str, path: str | os.PathLike[str], size: int, *, mebibytes: int) -> None:
    """Raises: InvalidArgument if the content of a file, of so many bytes, is larger than the limit."""
    if size > mebibytes * 2**20:
        raise InvalidArgument(
            f"the {kind} {path} is larger than {mebibytes} MiB, the most that is kept in memory",
            remedy="Give a part of it.",
        )


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
