"""The rooms: who may import whom, and that nothing of ours is slow to open."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

ROOMS = ("arena", "learners", "adversaries", "audits")
ALLOWED = {
    "arena": {"arena"},
    "learners": {"arena", "learners"},
    "adversaries": {"arena", "adversaries"},
    "audits": {"arena", "audits"},
}
# Only the registry and the command line know everybody.
KNOW_EVERYBODY = ("audits/registry/players.py", "audits/cli/")


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file imports, at its top or anywhere else."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found & set(ROOMS)


FILES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_with_the_arrows(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    if name.startswith(KNOW_EVERYBODY):
        return
    assert imported_rooms(path) <= ALLOWED[name.split("/")[0]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_one_thought(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500


@pytest.mark.parametrize("module", ["scipy", "sklearn", "matplotlib", "networkx", "hypothesis"])
def test_opening_the_arena_imports_nothing_slow(module: str) -> None:
    code = f"import arena, audits.runs.run, learners.everlasting.everlasting_v1, sys; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
