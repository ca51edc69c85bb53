"""Files that a user names and that never end, or fill the memory: refused at once, whatever they are for."""

from __future__ import annotations

import gzip
import os
import socket
from pathlib import Path

import pytest
from support.command_line import Command

from arena import InvalidArgument
from arena.concepts import FiniteClass
from audits.data.output_files import write_atomically
from audits.runs.run_history import is_running

COUNT = ("audit", "laplace-count", "--against", "count-swap", "--games", "64")
COLUMNS = ("--x", "age", "--y", "income")
READERS = [
    ("audit", "everlasting-v1", "--against", "halt-counter", *COLUMNS, "--data", "{}"),
    ("play", "everlasting-v1", "--against", "halt-counter", *COLUMNS, "--data", "{}"),
    ("exact", "static-erm", "--against", "training-swap", *COLUMNS, "--data", "{}"),
    ("race", "everlasting-v2", *COLUMNS, "--data", "{}"),
    ("fit", "rivest", "--y", "income", "--data", "{}"),
    ("show", "{}:Mine"),
    ("search", "{}:Mine"),
    ("audit", "laplace-count", "--against", "{}:Mine"),
    *(("runs", command, "{}") for command in ("report", "list", "resume", "watch", "verify")),
    ("runs", "export", "{}", "games.csv"),
    ("runs", "merge", "{}", "other.ledger", "--into", "whole.ledger"),
]
WRITERS = [
    (*COUNT, "--ledger", "{}"),
    (*COUNT, "--part", "1/2", "--ledger", "{}"),
    (*COUNT, "--html", "{}"),
    ("exact", "laplace-count", "--against", "count-swap", "--csv", "{}"),
    ("search", "static-erm", "--epsilon", "1", "--examples", "2", "-o", "{}"),
    ("race", "soa", "--against", "shattered-tree", "--games", "4", "--rounds", "4", "--plot", "{}"),
]
refusal = Command().refusal


@pytest.fixture(params=["fifo", "device", "socket", "link", "loop"])
def strange(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A path without an end, whose suffix is set by `name`."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "strange"
    if request.param == "fifo":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as own:
            own.bind("strange")
    else:
        path.symlink_to({"device": "/dev/zero", "link": "/dev/stdin", "loop": "strange"}[request.param])
    return path


def name(strange: Path, suffix: str) -> str:
    other = strange.with_suffix(suffix)
    other.symlink_to(strange)
    return str(other)


@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_reading_it_is_refused(strange: Path, command: tuple[str, ...]) -> None:
    path = name(strange, ".py") if any(":Mine" in word for word in command) else str(strange)
    assert "unexpected" not in refusal(*(word.replace("{}", path) for word in command))


@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_writing_to_it_is_refused(strange: Path, command: tuple[str, ...]) -> None:
    suffix = {"-o": ".py", "--plot": ".svg"}.get(command[-2])
    path = name(strange, suffix) if suffix else str(strange)
    kind = os.lstat(strange).st_mode
    assert "unexpected" not in refusal(*(word.replace("{}", path) for word in command))
    assert os.lstat(strange).st_mode == kind


@pytest.mark.thorough
@pytest.mark.parametrize("command", READERS, ids=" ".join)
def test_a_file_as_large_as_a_disk_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    if command[:2] == ("runs", "list"):
        command = ("runs", "report", "{}")
    huge = tmp_path / "huge.py"
    with huge.open("wb") as file:
        file.truncate(2**40)
    refused = refusal(*(word.replace("{}", str(huge)) for word in command))
    assert "is larger than" in refused or "is not a ledger" in refused


@pytest.mark.thorough
def test_data_that_unpack_to_more_than_the_memory_are_refused(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.csv.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(257):
            file.write(bytes(2**20))
    message = f"the unpacked data file {bomb} is larger than 256 MiB, the most that is kept in memory. "
    assert refusal("fit", "rivest", "--y", "b", "--data", bomb) == f"{message}Give a part of it."


def test_what_refusals_say(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refusal("fit", "rivest", "--y", "b", "--data", pipe) == (
        f"the data file {pipe} is a pipe, a device or the like, which may never end. Save what it gives as a "
        "file, and name that."
    )
    assert refusal(*COUNT, "--html", pipe) == (
        f"the HTML report {pipe} is a pipe, a device or the like. Name a regular or a new file."
    )
    assert refusal(*COUNT, "--ledger", pipe) == (
        f"the ledger {pipe} cannot be written: it is a device or a pipe. Give a path that can be written."
    )
    with pytest.raises(InvalidArgument, match=r"the matrix .* is a pipe"):
        FiniteClass.from_csv(pipe)
    assert is_running(pipe) is None


def test_a_link_to_an_output_file_stays_one(tmp_path: Path) -> None:
    link, target = tmp_path / "link.html", tmp_path / "target.html"
    link.symlink_to(target)
    with write_atomically("page", link) as unfinished:
        unfinished.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
