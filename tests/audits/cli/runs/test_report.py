"""`arena runs report`: a page from a ledger, the same one that `arena audit --html` writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import Command

from audits.runs.ledger import Ledger

arena = Command()
refusal = arena.refusal
COUNT = ("audit", "laplace-count", "--against", "count-swap", "--games", "1e3")


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of the ledger of a finished run."""
    path = tmp_path_factory.mktemp("finished") / "run.ledger"
    arena.text(*COUNT, "--ledger", path, "--epsilon", "0.1", status=3)
    return path.read_bytes()


@pytest.fixture
def ledger(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "run.ledger"
    path.write_bytes(content)
    return path


@pytest.mark.thorough
def test_a_page_is_written_beside_the_ledger(ledger: Path) -> None:
    done = arena("runs", "report", str(ledger))
    page = ledger.with_suffix(".html")
    assert (done.exit_code, done.stdout) == (0, f"The report is in {page}.\n")
    assert "<h1>laplace-count against count-swap</h1>" in page.read_text()
    assert sorted(path.name for path in ledger.parent.iterdir()) == ["run.html", "run.ledger"]


@pytest.mark.thorough
def test_it_is_the_page_that_an_audit_writes(ledger: Path, tmp_path: Path) -> None:
    pages = [tmp_path / f"{number}.html" for number in range(3)]
    arena("runs", "report", str(ledger), "-o", str(pages[0]))
    arena(*COUNT, "--epsilon", "0.1", "--html", str(pages[1]))
    arena(
        *COUNT, "--epsilon", "0.1", "--html", str(pages[2]), "--ledger", str(ledger), "--json", "--jobs", "2"
    )
    assert pages[0].read_bytes() == pages[1].read_bytes() == pages[2].read_bytes()


def test_an_audit_without_games_has_no_page(tmp_path: Path, monkeypatch) -> None:
    def interrupt(*block: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audits.runs.blocks.play_block", interrupt)
    done = arena(*COUNT, "--html", str(tmp_path / "report.html"))
    assert (done.exit_code, list(tmp_path.iterdir())) == (130, [])
    assert done.stderr == "arena: note: no block of games was finished, so there is no page\n"


# --- bad use ------------------------------------------------------------------------------------------


def test_the_page_needs_games_and_a_place(ledger: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.ledger"
    plan = {"epsilon": 1.0, "delta": 0.0, "confidence": 0.95, "games": 100, "until_refuted": False}
    Ledger.open(empty, plan).close()
    assert "contains no games yet" in refusal("runs", "report", empty)
    assert refusal("runs", "report") == "Missing argument 'RUN'. See arena runs report --help."
    assert "is a directory. Name a file in it." in refusal("runs", "report", ledger, "-o", tmp_path)
    nowhere = tmp_path / "none" / "report.html"
    assert "does not exist. Create it first." in refusal("runs", "report", ledger, "-o", nowhere)


def test_the_page_does_not_take_the_place_of_the_ledger(ledger: Path) -> None:
    before = ledger.read_bytes()
    for words in (("runs", "report", ledger, "-o", ledger), (*COUNT, "--ledger", ledger, "--html", ledger)):
        assert "would take the place of the ledger. Name another file." in refusal(*words)
    assert ledger.read_bytes() == before
    named = ledger.rename(ledger.with_suffix(".html"))
    assert "would take the place of the ledger" in refusal("runs", "report", named)
