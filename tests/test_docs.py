"""Tables of theorems in docs/: the files, names and tests that they point to exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.paths import ROOT

PAGES = [
    (ROOT / "docs" / name).read_text(encoding="utf-8")
    for name in ("theorems.md", "lists_and_halfspaces.md", "voting.md")
]
HEADER = "| statement | file | test | what was measured, and what differs |"
REFERS = ("the same", "as Lemma")  # to another row
NOTHING = "none"  # of a statement without computational content, of which the last cell says why


def rows() -> list[list[str]]:
    """The cells of the tables of theorems: statement, file, test, what was measured."""
    tables = [table for page in PAGES for table in page.split(HEADER)[1:]]
    lines = [line for table in tables for line in table.split("\n\n")[0].splitlines()[2:]]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def missing(cell: str, folder: Path) -> list[str]:
    """What a cell names in vain: a path below the folder, or a name that the file before it does not have."""
    lost, text = [], ""
    for name in re.findall(r"`([^`]+)`", cell):
        path = folder / name
        if "/" not in name:
            lost += [name] if not re.search(rf"\b{name}\b", text) else []
        elif not path.exists():
            lost.append(name)
        else:
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return lost


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_every_row_names_what_there_is(row: list[str]) -> None:
    assert len(row) == 4
    _, file, test, measured = row
    for cell, folder in ((file, ROOT), (test, ROOT / "tests")):
        assert "`" in cell or cell.startswith(REFERS) or cell == NOTHING
        assert not missing(cell, folder)
    assert measured


def test_all_tables_are_read() -> None:
    assert len(rows()) > 30
    assert {row[0].split(",")[0] for row in rows()} > {
        "Definition 2.1",
        "Theorem 3.1",
        "Theorem 4.4",
        "Lemma A.1",
        "the same",
    }


def test_files_in_the_text_exist() -> None:
    for path in re.findall(r"`([\w/]+\.py)`", "\n".join(PAGES)):
        assert (ROOT / path).exists() or (ROOT / "tests" / path).exists(), path


@pytest.mark.parametrize(
    ("cell", "lost"),
    [
        ("`learners/online/realizable.py` (`lwy_nodes`), `docs/`", []),
        ("`learners/online/realizable.py` (`lwy`), `docs/nothing.md`", ["lwy", "docs/nothing.md"]),
        ("`docs/` (`lwy_nodes`)", ["lwy_nodes"]),
    ],
)
def test_what_is_named_in_vain_is_found(cell: str, lost: list[str]) -> None:
    assert missing(cell, ROOT) == lost
