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
from support.ledgers import forge

from adversaries.release.point_swap import CountSwap
from arena import InvalidArgument, Release
from audits.registry.origins import find_packages
from audits.registry.user_files import UsedFiles, load_function
from audits.runs.blocks import play_with_packages
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.workers import WorkersFailed
from learners.foreign.function import Function
from learners.pate.student_learners import PatePsq
from learners.pate.teacher import Teacher
from learners.releases.counts import LaplaceCount

arena = Command()
pytestmark = pytest.mark.thorough
PLUG_IN = """
import held_scale
import held_parts.offset

def noisy(labels, rng):
    from held_late import FACTOR
    return labels.sum() + rng.laplace() * held_scale.SCALE * FACTOR
"""
FILES = {
    "plug.py": PLUG_IN,
    "held_scale.py": "import held_outside\nSCALE = 1",
    "held_late.py": "FACTOR = 1",
    "held_parts/__init__.py": "",
    "held_parts/offset.py": "OFFSET = 0",
    "../held_outside.py": "",
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
        patch.syspath_prepend(str(folder.parent))
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
    monkeypatch.syspath_prepend(str(tmp_path / "copy"))
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
    """The plug-in, its modules wherever they are, the data, and no folder of this machine."""
    notes = read_notes(begun / "1.ledger")
    names = {f".../{name_of(file)}" if file.startswith("../") else file for file in FILES}
    assert set(notes["files"]) == names
    assert all(len(digest) == 64 for digest in notes["files"].values())
    assert str(begun.parent) not in json.dumps(notes)


WAYS = {
    "resume": ("runs", "resume", "1.ledger", "--trust"),
    "verify": ("runs", "verify", "1.ledger", "--trust"),
    "a part": (*AUDIT, "--ledger", "1.ledger", "--part", "2/2"),
}


@pytest.mark.parametrize("file", FILES)
def test_a_changed_file_is_named(folder: Path, file: str) -> None:
    change(folder / file)
    said = arena.refusal(*WAYS["resume"])
    assert said.startswith("files or packages from which the players come have changed: ")
    assert f"{name_of(file)} (" in said
    assert said.count(" in 1.ledger, ") == 1
    assert "give --allow-changes" in said


@pytest.mark.parametrize(
    ("way", "file"),
    [("resume", "plug.py"), ("resume", "data.csv"), ("verify", "held_scale.py"), ("a part", "data.csv")],
)
def test_the_change_can_be_allowed(folder: Path, file: str, way: str) -> None:
    (folder / file).write_text(FILES[file] + ("# more\n" if file.endswith(".py") else "4,1\n"))
    assert f"{file} (" in arena.refusal(*WAYS[way])
    arena.text(*WAYS[way], "--allow-changes")


def test_parts_of_other_folders_merge_if_their_files_are_equal(folder: Path, tmp_path: Path) -> None:
    arena.text("runs", "merge", "1.ledger", "2.ledger", "--into", "whole.ledger")
    assert read_notes("whole.ledger")["files"] == read_notes("1.ledger")["files"]
    digests = read_notes("2.ledger")["files"] | {"held_late.py": "0" * 64}
    forge(folder / "2.ledger", notes={"files": digests})
    said = arena.refusal("runs", "merge", "1.ledger", "2.ledger", "--into", "other.ledger")
    assert "held_late.py (" in said
    assert "1.ledger, 000000000000000000 in 2.ledger)" in said
    assert not (folder / "other.ledger").exists()
    arena.text("runs", "merge", "1.ledger", "2.ledger", "--into", "other.ledger", "--allow-changes")


@pytest.mark.parametrize("file", ["held_scale.py", "plug.py"])
def test_a_change_while_the_run_goes_on(folder: Path, file: str) -> None:
    files = UsedFiles()
    with files.watch():
        learner = Function(function=load_function("plug.py:noisy"), epsilon=1.0)
    plan = Plan(learner=learner, adversary=CountSwap(), referee=Release(), epsilon=1.0, delta=0.0, games=300)
    path = folder / "run.ledger"
    with pytest.raises(InvalidArgument, match=f"changed while the run went on \\({file}\\)"):
        run(plan, ledger=path, files=files, watch=lambda progress: change(folder / file))
    assert read_notes(path)["files"][file] == "several versions"
    with pytest.raises(InvalidArgument, match=rf"{file} \(several versions in "):
        run(plan, ledger=path, files=UsedFiles(folders={folder: None}))


def test_versions_of_packages_are_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that a plug-in imports anywhere, and those that a player says it uses."""
    (folder / "own.py").write_text(
        "def noisy(labels, rng):\n    import sklearn, attrs, json\n    return labels.sum() + rng.laplace()\n"
    )
    words = ("audit", "own.py:noisy", "--against", "count-swap", "--epsilon", "1", "--games", "300")
    words = (*words, "--ledger", "own.ledger")
    arena.text(*words)
    installed = metadata.version("scikit-learn")
    assert read_notes("own.ledger")["packages"] == {"scikit-learn": installed}
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "9.9" if name == "scikit-learn" else version(name))
    forge(folder / "own.ledger", rows=lambda rows: rows[:2])
    for other in (words, ("runs", "verify", "own.ledger", "--trust")):
        assert f"scikit-learn ({installed} in own.ledger, 9.9 now)" in arena.refusal(*other)
    arena.text(*words, "--allow-changes")


def test_packages_of_shipped_players() -> None:
    assert find_packages((LaplaceCount(), CountSwap())) == {}
    assert [*find_packages((PatePsq(teacher=Teacher.from_text("GaussianNB")), CountSwap()))] == [
        "scikit-learn"
    ]


def test_workers_of_a_cluster_have_the_same_packages() -> None:
    installed = {"scikit-learn": metadata.version("scikit-learn")}
    assert play_with_packages(installed, lambda index: index + 1, 3) == 4  # type: ignore[arg-type]
    with pytest.raises(WorkersFailed, match=r"other versions: scikit-learn 0.1"):
        play_with_packages({"scikit-learn": "0.1"}, lambda index: index, 3)  # type: ignore[arg-type]
    with pytest.raises(WorkersFailed, match=r"nowhere 1.0 \(not installed\)"):
        play_with_packages({"nowhere": "1.0"}, lambda index: index, 3)  # type: ignore[arg-type]
