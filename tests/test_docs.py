"""Pages of docs/: what they name exists, their code runs, and the site builds."""

from __future__ import annotations

import csv
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command_line import ARENA, Command
from support.paths import ROOT

DOCS = ROOT / "docs"
TABLES = sorted((DOCS / "tables").rglob("*.csv"))
THEOREMS = sorted((DOCS / "theorems").glob("*.md"))
HEADER = ["statement", "file", "test", "what was measured, and what differs"]
REFERS = ("the same", "as Lemma")  # to another row
NOTHING = "none"  # of a statement without computational content, of which the last cell says why


def read_table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def rows() -> list[list[str]]:
    """The rows of the tables of theorems: statement, file, test, what was measured."""
    tables = map(read_table, TABLES)
    return [row for header, *body in tables if header == HEADER for row in body]


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


@pytest.mark.thorough
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
    texts = "\n".join(path.read_text(encoding="utf-8") for path in [*THEOREMS, *TABLES])
    for path in re.findall(r"`([\w/]+\.py)`", texts):
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


README, TUTORIAL = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/tutorial.md"))
SITE = "pip install 'dp-arena[docs]'"
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def code_block(page: str, start: str) -> str:
    """The text of the page's code block that contains `start`."""
    (block,) = [text for text in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if start in text]
    return str(block)


def test_the_readme_fits_a_few_screens() -> None:
    assert len(README.splitlines()) <= 200


def find_tables(page: Path) -> list[Path]:
    """The tables that a page shows."""
    names = re.findall(r"^:file: (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [(page.parent / name).resolve() for name in names]


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        for path in [page, *find_tables(page)]:
            for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
                assert (page.parent / target).exists(), f"{path}: {target}"


def test_every_table_is_shown_once_and_is_whole() -> None:
    assert sorted(path for page in DOCS.rglob("*.md") for path in find_tables(page)) == TABLES
    for page in DOCS.rglob("*.md"):  # a fence whose first line has another backtick is none
        assert not re.search(r"^```[^`\n]+`", page.read_text(encoding="utf-8"), re.MULTILINE), page
    for path in TABLES:
        assert len({len(row) for row in read_table(path)}) == 1, path


@pytest.mark.thorough
@pytest.mark.parametrize("page", [README, TUTORIAL], ids=["README", "tutorial"])
def test_the_search_finds_the_missing_clipping(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The figures and the game are those that the page shows."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(code_block(page, "def noisy_sum"))
    printed = Command()("search", "mine.py:noisy_sum", "--set", "receives=points", "--set", "epsilon=1")
    assert printed.exit_code == 3
    shown = page[page.index("certified  ") :].split("```")[0]
    assert all(line in printed.stdout for line in shown.splitlines())


@pytest.mark.thorough
def test_the_verbs_of_the_readme_give_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mine.py").write_text(code_block(README, "def noisy_sum"))
    names: dict[str, Any] = {"scores_without": [0.0, 1.0] * 500, "scores_with": [8.0, 9.0] * 500}
    exec(code_block(README, "audits.audit("), names)
    certify = code_block(README, "audits.certify(")
    exec(f"certificate = {certify}", names)
    assert names["verdict"].refuted
    assert names["certificate"].epsilon_lower > 1
    monkeypatch.delitem(sys.modules, "mine")


@pytest.mark.thorough
@pytest.mark.parametrize(("function", "failed"), [("noisy_sum", 1), ("clipped_sum", 0)])
def test_the_test_of_the_readme_finds_it_too(function: str, failed: int, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(code_block(README, "def noisy_sum"))
    test = code_block(README, "def test_noisy_sum")
    (tmp_path / "test_mine.py").write_text(test.replace("noisy_sum", function))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == failed, done.stdout
    assert failed == ("violates its claim" in done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_the_figures_that_it_shows(path: Path) -> None:
    """If figures change: .venv-docs/bin/jupyter execute --inplace docs/notebooks/*.ipynb"""
    for package in ("nbclient", "ipykernel"):
        pytest.importorskip(package, reason=SITE)
    import nbformat
    from nbclient import NotebookClient

    stored, played = (nbformat.read(path, as_version=4) for _ in range(2))
    NotebookClient(played, resources={"metadata": {"path": str(ROOT)}}).execute()
    assert certified_lines(played) == certified_lines(stored)
    assert len(certified_lines(stored)) > 1


def certified_lines(notebook: Any) -> list[str]:
    """The lines with certified bounds and ceilings."""
    texts = [output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", [])]
    return [line for line in "".join(texts).splitlines() if line.startswith(("certified", "ceiling"))]


STAYS = (DOCS / "guides" / "test_a_pipeline.md").read_text(encoding="utf-8")


def run_in(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COLUMNS": "80"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_the_tests_of_the_guide_fail_as_it_shows_and_pass_once_mended(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    run_tests = (sys.executable, "-m", "pytest", "-q")
    module, mended = code_block(STAYS, "# stays.py"), code_block(STAYS, "stays.groupby")
    (tmp_path / "stays.py").write_text(module)
    (tmp_path / "test_stays.py").write_text(code_block(STAYS, "# test_stays.py"))
    failed = run_in(tmp_path, *run_tests).stdout
    assert "2 failed" in failed
    shown = re.findall(r"```\n(E .*?|---.*?)```", STAYS, re.DOTALL)
    assert len(shown) == 2
    for text in shown:
        assert re.search(r"[\s\S]*?".join(map(re.escape, text.split("..."))), failed), failed
    claim = "report against an adversary found by a search: "
    certified = failed.partition(claim)[2].partition(" certified")[0]
    replay = next(line for line in failed.splitlines() if line.startswith("    arena audit "))
    replayed = run_in(tmp_path, *ARENA, *shlex.split(replay)[1:])
    assert replayed.returncode == 3, replayed.stderr
    assert f"{certified} nats" in replayed.stdout
    old = module[module.index("def bound") : module.index("def report")]
    (tmp_path / "stays.py").write_text(module.replace(old, f"{mended}\n\n"))
    scales = code_block(STAYS, "def test_no_scale_is_refuted")
    imports = "from hypothesis import strategies as st\nfrom test_stays import *"
    (tmp_path / "test_scales.py").write_text(f"{imports}\n{scales}")
    passed = run_in(tmp_path, *run_tests)
    assert passed.returncode == 0, passed.stdout
    assert "5 passed" in passed.stdout  # two of them twice, since the second file imports the first


PAPER, MONITOR, TOURNAMENT = (
    (DOCS / "guides" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("write_a_paper", "monitor_in_ci", "enter_a_tournament")
)


def list_commands(page: str, first: str) -> list[list[str]]:
    """The lines of the page that begin with a command, as words that run it."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    text = "".join(block for language, block in blocks if not language).replace("\\\n", " ")
    found = [shlex.split(line) for line in text.splitlines() if line.startswith(f"{first} ")]
    return [[*(ARENA if first == "arena" else [sys.executable]), *words[1:]] for words in found]


@pytest.mark.parametrize("page", [PAPER, MONITOR, TOURNAMENT], ids=["paper", "monitor", "tournament"])
def test_a_page_for_a_job_is_short(page: str) -> None:
    assert len(page.split()) < 600


@pytest.mark.slow
def test_the_adversary_of_the_guide_has_the_place_that_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    (tmp_path / "entry.py").write_text(code_block(TOURNAMENT, "class OneOrAllOthers"))
    (command,) = list_commands(TOURNAMENT, "arena")
    played = run_in(tmp_path, *command)
    assert played.returncode == 3, played.stderr
    ranking = re.search(r"```\n(protocol .*?)```", TOURNAMENT, re.DOTALL)
    assert ranking is not None
    assert ranking[1] in played.stdout
    assert "one-or-all-others" in (tmp_path / "tournament.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_script_of_the_guide_writes_a_table_and_a_figure(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "losses.py").write_text(code_block(PAPER, "audits.compare"))
    written = run_in(tmp_path, sys.executable, "losses.py")
    assert written.returncode == 0, written.stderr
    for name in ("noisy sum", "Laplace", "sparse vector, v. 3"):
        assert re.search(rf"^\s*{re.escape(name)} &.*&", written.stdout, re.MULTILINE)
    assert (tmp_path / "losses.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_the_nights_of_the_guide_add_up_and_find_a_change(tmp_path: Path) -> None:
    module = code_block(MONITOR, "def noisy_count")
    (tmp_path / "mine.py").write_text(module)
    (tmp_path / "claims.py").write_text(code_block(MONITOR, "audits.claim"))
    night, report, again = list_commands(MONITOR, "arena")
    assert night == again
    assert [run_in(tmp_path, *command).returncode for command in (night, night, report)] == [0, 0, 0]
    assert "count" in (tmp_path / "privacy-monitor.html").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(module.replace("scale=1.0", "scale=0.5"))
    assert run_in(tmp_path, *night).returncode == 3
