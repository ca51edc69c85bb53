"""Files that a command writes when it is done."""

from __future__ import annotations

import os
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
