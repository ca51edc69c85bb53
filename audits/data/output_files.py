"""Output files of commands: checked before the work, written when it is done."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from arena.errors import InvalidArgument, suggest_extra


def check_output_file(
    kind: str,
    path: str | os.PathLike[str],
    *,
    packages: Sequence[str] = (),
    ledger: str | os.PathLike[str] | None = None,
) -> None:
    """Refuse, before any work is done, a file that could not be written, or is the ledger that it is made of.

    kind: what error messages call the file. packages: those of the extra `report` that it needs.
    """
    check_extra(f"the {kind}", *packages)
    location = Path(os.path.realpath(path))
    if location.is_dir():
        raise InvalidArgument(f"the {kind} {path} is a directory", remedy="Name a file in it.")
    # A link to a pipe leads nowhere, and one to itself is never resolved.
    if not location.is_file() and (os.path.exists(path) or os.path.lexists(location)):
        raise InvalidArgument(
            f"the {kind} {path} is a pipe, a device or the like", remedy="Name a regular or a new file."
        )
    if not location.parent.is_dir():
        raise InvalidArgument(f"the directory of the {kind} {path} does not exist", remedy="Create it first.")
    if ledger is not None and location == Path(os.path.realpath(ledger)):
        raise InvalidArgument(
            f"the {kind} {path} would take the place of the ledger", remedy="Name another file."
        )


def check_extra(purpose: str, *packages: str, extra: str = "report") -> None:
    """Raises: InvalidArgument, which names the extra, if a package of it is missing."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        raise InvalidArgument(f"{purpose} needs {' and '.join(missing)}", remedy=suggest_extra(extra))


@contextmanager
def write_atomically(kind: str, path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file, which replaces the file at `path` if the block ends without an error."""
    location = Path(os.path.realpath(path))  # a link stays one
    unfinished = location.with_name(f".{location.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        unfinished.replace(location)
    except OSError as error:
        raise InvalidArgument(
            f"the {kind} {path} cannot be written ({error.strerror})", remedy="Name another file."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
