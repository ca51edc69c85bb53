"""Files that a command writes when it is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.errors import InvalidArgument


def check_file(what: str, path: str | os.PathLike[str]) -> None:
    """Refuse, before any work is done, a file that could not be written.

    what: what the file is called. Raises: InvalidArgument if the path is a directory, or lies in none.
    """
    where = Path(path)
    if where.is_dir():
        raise InvalidArgument(f"the {what} {path} is a directory", remedy="Name a file in it.")
    if not where.absolute().parent.is_dir():
        raise InvalidArgument(f"the directory of the {what} {path} does not exist", remedy="Make it first.")


@contextmanager
def replaced(what: str, path: str | os.PathLike[str]) -> Iterator[Path]:
    """A file to write to, which becomes the one at `path` when the block ends well: whole or not at all.

    what: what the file is called. Raises: InvalidArgument if it cannot be written.
    """
    where = Path(path)
    unfinished = where.with_name(f".{where.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        unfinished.replace(where)
    except OSError as error:
        raise InvalidArgument(
            f"the {what} {path} cannot be written ({error.strerror})", remedy="Name another file."
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
