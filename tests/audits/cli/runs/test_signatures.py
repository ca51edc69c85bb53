"""Signed ledgers: what a forger without the key cannot do, and what whoever has it is told."""

from __future__ import annotations

import hmac
import os
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from support.command_line import Command
from support.ledgers import forge

from arena import InvalidArgument
from audits.cli.audit import read_key
from audits.runs.ledger.schema import Seal

arena = Command()
COUNT = ("audit", "laplace-count", "--against", "count-swap", "--games", "1_000")
KEY, OTHER_KEY = b"sixteen letters.", bytes(range(32))


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two keys, and signed ledgers of two parts of a run."""
    folder = tmp_path_factory.mktemp("signed")
    for name, content in (("key", KEY), ("other.key", OTHER_KEY)):
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)
    for part in ("1", "2"):
        arena.text(
            *COUNT, "--ledger", folder / f"{part}.ledger", "--part", f"{part}/2", "--key", folder / "key"
        )
    return folder


@pytest.fixture
def folder(signed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for file in signed.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
        (tmp_path / file.name).chmod(0o600)
    return tmp_path


def edit(path: str, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement, values)


@pytest.mark.thorough
def test_a_signed_ledger_is_checked_without_playing(folder: Path) -> None:
    assert arena.text("runs", "verify", "1.ledger", "--key", "key") == (
        "All checksums and signatures of the plan, the notes and 3 blocks are correct: who wrote them had "
        "the key.\n"
    )
    found = arena.json("runs", "verify", "1.ledger", "--key", "key")
    assert (found["played"], found["signatures"], found["blocks"]) == ([], "correct", 3)
    both = arena.text("runs", "verify", "1.ledger", "--key", "key", "--all")
    assert both.startswith(
        "All checksums and signatures of the plan, the notes and 3 blocks are correct, and 3 replayed blocks"
    )


@pytest.mark.thorough
def test_what_only_reads_needs_no_key(folder: Path) -> None:
    arena.text("runs", "list", ".")
    arena.text("runs", "report", "1.ledger", "-o", "page.html")
    arena.text("runs", "export", "1.ledger", "games.csv")
    said = arena.text("runs", "verify", "1.ledger")
    assert said.endswith("\nIts signatures were not checked: give the key, --key FILE.\n")
    with closing(sqlite3.connect("1.ledger")) as database:
        (plan, checksum), *_ = database.execute("SELECT json, sha256 FROM plan")
    assert checksum == sha256(plan.encode()).digest() + hmac.digest(KEY, b"plan " + plan.encode(), sha256)


@pytest.mark.thorough
def test_a_merged_ledger_is_signed_anew(folder: Path) -> None:
    arena.text("runs", "merge", "1.ledger", "2.ledger", "--into", "whole.ledger", "--key", "key")
    assert "6 blocks are correct" in arena.text("runs", "verify", "whole.ledger", "--key", "key")
    arena.text("runs", "resume", "whole.ledger", "--key", "key")
    assert "not signed with this key" in arena.refusal("runs", "resume", "whole.ledger", "--key", "other.key")
    assert "Not refuted" in arena.text("runs", "resume", "whole.ledger")  # finished, so that nothing is added
    arena.text("runs", "merge", "1.ledger", "2.ledger", "--into", "plain.ledger")
    said = arena.refusal("runs", "verify", "plain.ledger", "--key", "key")
    assert said.startswith("the ledger plain.ledger was not signed with this key")
    arena.text(*COUNT, "--ledger", "own.ledger", "--part", "2/2")
    said = arena.refusal("runs", "merge", "1.ledger", "own.ledger", "--into", "c.ledger", "--key", "key")
    assert said.startswith("the ledger own.ledger was not signed with this key")
    assert not Path("c.ledger").exists()


def test_another_key_is_refused(folder: Path) -> None:
    for words in (
        ("runs", "verify", "1.ledger"),
        ("runs", "resume", "1.ledger"),
        (*COUNT, "--ledger", "1.ledger"),
        (*COUNT, "--ledger", "1.ledger", "--part", "2/2"),
        ("runs", "merge", "1.ledger", "2.ledger", "--into", "whole.ledger"),
    ):
        said = arena.refusal(*words, "--key", "other.key")
        assert said.startswith("the ledger 1.ledger was not signed with this key, or was altered since")
    assert not Path("whole.ledger").exists()


@pytest.mark.thorough
def test_nothing_is_added_without_the_key(folder: Path) -> None:
    before = Path("1.ledger").read_bytes()
    for words in (
        ("runs", "resume", "1.ledger"),
        (*COUNT, "--ledger", "1.ledger"),
        ("runs", "merge", "2.ledger", "--into", "1.ledger"),
    ):
        said = arena.refusal(*words)
        assert said.startswith("the ledger 1.ledger is signed, so only blocks with signatures can be added")
    assert Path("1.ledger").read_bytes() == before


@pytest.mark.parametrize(
    ("part", "table", "where"),
    [("plan", "plan", "1"), ("notes", "notes", "1"), ("block", "blocks", "block = 2")],
)
@pytest.mark.parametrize("tag", ["x''", "zeroblob(32)", "substr(sha256, 1, 32)"])
def test_signatures_cannot_be_left_out_or_made_up(
    folder: Path, part: str, table: str, where: str, tag: str
) -> None:
    edit(
        "1.ledger", f"UPDATE {table} SET sha256 = CAST(substr(sha256, 1, 32) || {tag} AS BLOB) WHERE {where}"
    )
    assert f"was altered since (its {part})" in arena.refusal("runs", "verify", "1.ledger", "--key", "key")


def test_other_content_has_no_signature(folder: Path) -> None:
    """A forger who knows every public rule makes right plain checksums, and keeps the old signatures."""
    tables = ("plan", "notes", "blocks")
    with closing(sqlite3.connect("1.ledger")) as database:
        old = {table: database.execute(f"SELECT rowid, sha256 FROM {table}").fetchall() for table in tables}
    forge(folder / "1.ledger", notes={"theorem": "mine"})
    for table, rows in old.items():
        for row, checksum in rows:
            statement = f"UPDATE {table} SET sha256 = CAST(sha256 || ? AS BLOB) WHERE rowid = ?"
            edit("1.ledger", statement, checksum[32:], row)
    arena.text("runs", "verify", "1.ledger")
    for words in (("verify",), ("resume",), ("merge", "2.ledger", "--into", "c")):
        said = arena.refusal("runs", words[0], "1.ledger", *words[1:], "--key", "key")
        assert "was altered since (its notes)" in said


def test_a_deleted_block_leaves_an_unfinished_run(folder: Path) -> None:
    arena.text("runs", "merge", "1.ledger", "2.ledger", "--into", "whole.ledger", "--key", "key")
    edit("whole.ledger", "DELETE FROM blocks WHERE block = 3")
    assert "unfinished" in arena.text("runs", "list", "whole.ledger")
    assert "5 blocks are correct" in arena.text("runs", "verify", "whole.ledger", "--key", "key")


def test_what_is_no_key(folder: Path) -> None:
    os.mkfifo("pipe")
    for number, size in enumerate((15, 4097)):
        Path(f"{number}.key").write_bytes(b"x" * size)
    for path in ("0.key", "1.key", "pipe", "/dev/zero", "."):
        with pytest.raises(InvalidArgument, match="a key must be a file of 16 to 4,096 bytes"):
            read_key(path)
    said = arena.refusal(*COUNT, "--ledger", "new.ledger", "--key", "gone.key")
    assert said.startswith("the key gone.key cannot be read (No such file or directory). Make one: ")
    assert not Path("new.ledger").exists()


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such permissions")
def test_a_key_is_for_its_owner_alone(folder: Path) -> None:
    for mode in (0o622, 0o644):
        os.chmod("key", mode)
        said = arena.refusal("runs", "verify", "1.ledger", "--key", "key")
        assert said == "other users can read or write the key key, and so use it. Run chmod 600 key."


def test_a_key_needs_a_ledger_and_is_not_shown(folder: Path) -> None:
    assert arena.refusal(*COUNT, "--key", "key").startswith(
        "--key signs a ledger, so it needs --ledger FILE."
    )
    assert KEY.decode() not in repr(Seal(KEY))
    for file in folder.glob("*.ledger"):
        assert KEY not in file.read_bytes()
