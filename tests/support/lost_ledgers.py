"""What others may do to the files of a ledger while a run has it open."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from audits.runs.ledger import Ledger
from audits.runs.ledger.schema import log_of


def delete(path: Path) -> None:
    path.unlink()


def delete_with_log(path: Path) -> None:
    path.unlink()
    log_of(path).unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.ledger"))


def move_and_link(path: Path) -> None:
    move(path)
    path.symlink_to(path.with_name("moved.ledger"))


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"of somebody else")
    other.rename(path)


def replace_by_a_ledger(path: Path) -> None:
    other = path.with_name("other")
    Ledger.open(other, {"seed": 1}).close()
    other.rename(path)


def truncate(path: Path) -> None:
    os.truncate(path, 4_096)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(b"x" * size)
    os.utime(path, ns=(1, 1))  # clocks of files tick slowly


def remove_log(path: Path) -> None:
    log_of(path).unlink()


def replace_log(path: Path) -> None:
    remove_log(path)
    log_of(path).write_bytes(b"of somebody else")


def truncate_log(path: Path) -> None:
    os.truncate(log_of(path), 50)


def delete_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


# What is done to the files and to their folder, and whether the run notices that its file is gone.
FILES = {
    **dict.fromkeys((delete, delete_with_log, move, move_and_link, replace, replace_by_a_ledger), True),
    **dict.fromkeys((truncate, empty, overwrite, remove_log, replace_log, truncate_log), False),
}
FOLDERS = dict.fromkeys((delete_folder, move_folder), True)
