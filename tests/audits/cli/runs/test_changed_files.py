"""Files and packages from which players come, changed between two parts of a run or while it goes on."""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Command
from support.forged_ledgers import forge

from arena import InvalidArgument
from audits.registry.match import build_match
from audits.registry.used_files import UsedFiles
from audits.runs.blocks import play_with_packages
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.workers import WorkersFailed

arena = Command()
PLUG_IN = """
import json
import os
from pathlib import Path
import numpy as np
import held_scale
import held_parts.offset

HERE = Path(__file__).parent
CONSTANT = float((HERE / "constant.txt").read_text())
TABLE = np.loadtxt(HERE / "table.csv", delimiter=",")
(HERE / "cache.txt").write_text("1")
CACHE = (HERE / "cache.txt").read_text()

def noisy(data, rng):
    scale = json.loads((HERE / "sub" / "late.json").read_text())
    with open(os.open(HERE.parent / "outside.txt", os.O_RDONLY)) as file:
        scale *= float(file.read())
    from held_late import FACTOR
    return data.sum() + rng.laplace() * scale * CONSTANT * held_scale.SCALE * FACTOR
"""
FILES = {
    "plug.py": PLUG_IN,
    "held_scale.py": "SCALE = 1",
    "held_late.py": "FACTOR = 1",
    "held_parts/__init__.py": "",
    "held_parts/offset.py": "OFFSET = 0",
    "constant.txt": "1",
    "table.csv": "1,2",
    "sub/late.json": "1",
    "../outside.txt": "1",
    "data.csv": "a,b\n1,0\n2,1\n3,1\n",
}
DATA = ("--data", "data.csv", "--x", "a", "--y", "b")
AUDIT = ("audit", "plug.py:noisy", "--against", "count-swap", "--epsilon", "1", "--games", "300", *DATA)


def write_files(folder: Path) -> Path:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plug-in, what it reads, and the ledgers of two parts of its run."""
    folder = write_files(tmp_path_factory.mktemp("begun") / "mine")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for part in ("1", "2"):
            arena.text(*AUDIT, "--ledger", f"{part}.ledger", "--part", f"{part}/2")
    return folder


@pytest.fixture
def folder(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the current folder, and from which modules are imported anew."""
    for name in [*sys.modules]:
        if name.startswith(("arena_plugin_plug", "held_")):
            monkeypatch.delitem(sys.modules, name)
    shutil.copytree(begun.parent, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy" / "mine")
    return tmp_path / "copy" / "mine"


def read_notes(path: Path | str) -> dict[str, Any]:
    with closing(sqlite3.connect(path)) as database:
        return dict(json.loads(database.execute("SELECT json FROM notes").fetchone()[0]))


def change(path: Path) -> None:
    """Change a file so that it means the same."""
    path.write_text(path.read_text() + ("\n# more\n" if path.suffix == ".py" else "\n"))


def name_of(file: str) -> str:
    return Path(file).name if file.startswith("../") else file


def test_what_is_recorded(begun: Path) -> None:
    """Not the file that it writes itself, no bytecode, no packages, and no folder of this machine."""
    notes = read_notes(begun / "1.ledger")
    names = {f".../{name_of(file)}" if file.startswith("../") else file for file in FILES}
    assert set(notes["files"]) == names
    assert all(len(digest) == 64 for digest in notes["files"].values())
    assert str(begun.parent) not in json.dumps(notes)


WAYS = {
    "resume": ("runs", "resume", "1.ledger", "--trust"),
    "verify": ("runs", "verify", "1.ledger", "--trust"),
    "the same command": (*AUDIT, "--ledger", "1.ledger"),
    "a part": (*AUDIT, "--ledger", "1.ledger", "--part", "2/2"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("way", ["resume", "the same command"])
def test_a_changed_file_is_named(folder: Path, file: str, way: str) -> None:
    change(folder / file)
    said = arena.refusal(*WAYS[way])
    assert said.startswith("files or packages from which the players come have changed: ")
    assert f"{name_of(file)} (SHA-256 " in said
    assert said.count("SHA-256") == 2
    assert "give --allow-changes" in said


@pytest.mark.thorough
@pytest.mark.parametrize("file", ["plug.py", "held_scale.py", "sub/late.json", "data.csv"])
@pytest.mark.parametrize("way", WAYS)
def test_the_change_can_be_allowed(folder: Path, file: str, way: str) -> None:
    change(folder / file)
    assert name_of(file) in arena.refusal(*WAYS[way])
    arena.text(*WAYS[way], "--allow-changes")
    if way != "resume":  # which prints the verdict of a finished run without its players
        assert name_of(file) in arena.refusal(*WAYS[way])


@pytest.mark.thorough
def test_more_rows_can_be_allowed_too(folder: Path) -> None:
    (folder / "data.csv").write_text(FILES["data.csv"] + "4,1\n")
    assert "data.csv" in arena.refusal(*WAYS["resume"])
    arena.text(*WAYS["resume"], "--allow-changes")


def test_a_file_that_is_gone_is_a_change(folder: Path) -> None:
    (folder / "held_parts" / "offset.py").unlink()
    assert "held_parts/offset.py (SHA-256 " in arena.refusal("runs", "resume", "1.ledger", "--trust")


@pytest.mark.thorough
def test_files_of_one_name_in_two_folders(folder: Path) -> None:
    """Of those that are opened each is compared, and another one does not matter."""
    (folder / "other").mkdir()
    (folder / "other" / "held_swap.py").write_text(
        "import attrs\nfrom pathlib import Path\nfrom adversaries.release.point_swap import CountSwap\n"
        "SIZE = (Path(__file__).parent / 'table.csv').read_text()\n"
        "@attrs.frozen\nclass Swap(CountSwap):\n    name = 'swap'\n"
    )
    (folder / "other" / "table.csv").write_text("3,4")
    (folder / "other" / "constant.txt").write_text("never opened")
    words = ("audit", "plug.py:noisy", "--against", "other/held_swap.py:Swap", "--epsilon", "1")
    words = (*words, "--games", "300", "--ledger", "own.ledger", "--part", "1/2")
    arena.text(*words)
    change(folder / "other" / "constant.txt")
    arena.text(*words)
    for path in (folder / "other" / "table.csv", folder / "table.csv"):
        before = path.read_text()
        change(path)
        assert "table.csv (SHA-256 " in arena.refusal("runs", "resume", "own.ledger", "--trust")
        path.write_text(before)
    arena.text("runs", "resume", "own.ledger", "--trust")


def test_without_trust_the_changed_files_are_shown(folder: Path) -> None:
    change(folder / "constant.txt")
    said = arena.refusal("runs", "resume", "1.ledger")
    assert "would load plug.py (as recorded), data.csv (as recorded), constant.txt (changed since): " in said


def test_parts_of_other_folders_merge_if_their_files_are_equal(folder: Path, tmp_path: Path) -> None:
    arena.text("runs", "merge", "1.ledger", "2.ledger", "--into", "whole.ledger")
    assert read_notes("whole.ledger")["files"] == read_notes("1.ledger")["files"]
    digests = read_notes("2.ledger")["files"] | {"sub/late.json": "0" * 64}
    forge(folder / "2.ledger", notes={"files": digests})
    said = arena.refusal("runs", "merge", "1.ledger", "2.ledger", "--into", "other.ledger")
    assert "sub/late.json (SHA-256 " in said
    assert "1.ledger, SHA-256 000000000000 in 2.ledger)" in said
    assert not (folder / "other.ledger").exists()
    arena.text("runs", "merge", "1.ledger", "2.ledger", "--into", "other.ledger", "--allow-changes")


@pytest.mark.thorough
def test_a_merge_of_plug_ins_that_differ_can_be_allowed(folder: Path) -> None:
    change(folder / "plug.py")
    (folder / "2.ledger").unlink()
    arena.text(*WAYS["a part"][:-4], "--ledger", "2.ledger", "--part", "2/2")
    words = ("runs", "merge", "1.ledger", "2.ledger", "--into", "whole.ledger")
    assert "plug.py (SHA-256" in arena.refusal(*words)
    arena.text(*words, "--allow-changes")


@pytest.mark.thorough
def test_a_ledger_without_digests_is_resumed_and_gets_them(folder: Path) -> None:
    notes = read_notes("1.ledger")
    forge(folder / "1.ledger", notes={"files": {}, "packages": {}})
    arena.text(*AUDIT, "--ledger", "1.ledger")
    assert read_notes("1.ledger")["files"] == notes["files"]


@pytest.mark.parametrize("file", ["constant.txt", "held_scale.py", "plug.py"])
def test_a_change_while_the_run_goes_on(folder: Path, file: str) -> None:
    files = UsedFiles()
    with files.watch():
        settings = {"learner": {}, "adversary": {}}
        match = build_match(
            "plug.py:noisy", "count-swap", settings=settings, data=None, protocol=None, rounds=None
        )
    plan = Plan(
        learner=match.learner,
        adversary=match.adversary,
        referee=match.referee,
        epsilon=1.0,
        delta=0.0,
        games=300,
    )
    path = folder / "run.ledger"
    with pytest.raises(InvalidArgument, match=f"changed while the run went on \\({file}\\)"):
        run(plan, ledger=path, files=files, watch=lambda progress: change(folder / file))
    assert read_notes(path)["files"][file] == "several versions"
    with pytest.raises(InvalidArgument, match=rf"{file} \(several versions in "):
        run(plan, ledger=path, files=UsedFiles(folders={folder: None}))


@pytest.mark.thorough
def test_versions_of_packages_are_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a plug-in imports anywhere, and those that a player says it uses."""
    (folder / "own.py").write_text(
        "def noisy(data, rng):\n    import sklearn, attrs, json\n    return data.sum() + rng.laplace()\n"
    )
    words = ("audit", "own.py:noisy", "--against", "count-swap", "--epsilon", "1", "--games", "300")
    words = (*words, "--ledger", "own.ledger")
    arena.text(*words)
    installed = metadata.version("scikit-learn")
    assert read_notes("own.ledger")["packages"] == {"scikit-learn": installed}
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "9.9" if name == "scikit-learn" else version(name))
    forge(folder / "own.ledger", rows=lambda rows: rows[:2])
    for other in (
        words,
        ("runs", "resume", "own.ledger", "--trust"),
        ("runs", "verify", "own.ledger", "--trust"),
    ):
        said = arena.refusal(*other)
        assert f"scikit-learn ({installed} in own.ledger, 9.9 now)" in said
    arena.text(*words, "--allow-changes")


@pytest.mark.parametrize(
    ("words", "packages"),
    [
        (("laplace-count", "--against", "count-swap"), []),
        (("laplace-count", "--against", "count-swap", "--distinguisher", "learned"), ["scikit-learn"]),
        (
            ("pate-psq", "--against", "low-bits", "--set", "teacher=GaussianNB", "--set", "public=0,1"),
            ["scikit-learn"],
        ),
        (("pate-psq", "--against", "low-bits"), []),
    ],
)
def test_packages_of_shipped_players(tmp_path: Path, words: tuple[str, ...], packages: list[str]) -> None:
    from audits.cli.audit import PlanOptions, audit, make_plan
    from audits.cli.common.option_groups import fill_record
    from audits.cli.common.options import MatchOptions
    from audits.cli.common.output import Quiet
    from audits.runs.run import describe_origins

    params = audit.make_context("audit", [*words, "--epsilon", "1"]).params
    files = UsedFiles()
    game, asked = fill_record(MatchOptions, params), fill_record(PlanOptions, params)
    plan = make_plan(game, asked, Quiet(quiet=True), files)
    assert [*describe_origins(plan, files)["packages"]] == packages


def test_workers_of_a_cluster_have_the_same_packages() -> None:
    installed = {"scikit-learn": metadata.version("scikit-learn")}
    assert play_with_packages(installed, lambda index: index + 1, 3) == 4  # type: ignore[arg-type]
    with pytest.raises(
        WorkersFailed, match=rf"other versions: scikit-learn 0.1 \({installed['scikit-learn']}\)"
    ):
        play_with_packages({"scikit-learn": "0.1"}, lambda index: index, 3)  # type: ignore[arg-type]
    with pytest.raises(WorkersFailed, match=r"nowhere 1.0 \(not installed\)"):
        play_with_packages({"nowhere": "1.0"}, lambda index: index, 3)  # type: ignore[arg-type]


def test_ledgers_of_other_versions_do_not_merge(folder: Path) -> None:
    forge(folder / "1.ledger", notes={"packages": {"scikit-learn": "1.5.0"}})
    forge(folder / "2.ledger", notes={"packages": {"scikit-learn": "1.6.0"}})
    said = arena.refusal("runs", "merge", "1.ledger", "2.ledger", "--into", "whole.ledger")
    assert "scikit-learn (1.5.0 in 1.ledger, 1.6.0 in 2.ledger)" in said


@pytest.mark.thorough
def test_notes_that_hold_anything_are_no_digests(folder: Path) -> None:
    forge(folder / "1.ledger", notes={"files": [1], "packages": {"x": 1}})
    with Ledger.read(folder / "1.ledger") as ledger:
        assert ledger.notes["files"] == [1]
    arena.text(*AUDIT, "--ledger", "1.ledger")
