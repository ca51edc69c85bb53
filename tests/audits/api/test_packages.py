"""The packages as users find them: quick to import, typed, and not confused with folders of the same name."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from support.paths import ROOT

import audits

PACKAGES = ("adversaries", "arena", "audits", "learners")

AUDIT = """
from release_adversary import MyPlayer as Swap
from release_learner import MyPlayer as NoisySum

import audits
from arena import Release


def audit() -> float:
    report = audits.audit(NoisySum(epsilon=0.5), Swap(), games=2_000)
    certificate = audits.certify([0.0, 0.1], [1.0, 1.0], delta=0.0)
    return max(report.epsilon_lower, certificate.epsilon_lower, Release().two_worlds)
"""


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(["", str(ROOT)])}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)


def test_names_are_listed_and_exist() -> None:
    assert {"audit", "search", "exact", "race", "certify", "Auditor", "assert_private"} <= set(dir(audits))
    for name in audits.__all__:
        assert getattr(audits, name) is not None
    with pytest.raises(AttributeError, match="certify"):
        audits.cerify  # type: ignore[attr-defined]


def test_exports_of_players_exist() -> None:
    import adversaries
    import learners

    for package in (adversaries, learners):
        for name in package.__all__:
            assert getattr(package, name) is not None


@pytest.mark.slow
def test_importing_audits_is_quick(tmp_path: Path) -> None:
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        assert python("import audits; dir(audits)", tmp_path).returncode == 0
        seconds.append(time.perf_counter() - start)
    start = time.perf_counter()
    python("", tmp_path)
    assert statistics.median(seconds) < 0.3 + time.perf_counter() - start


@pytest.mark.thorough
@pytest.mark.parametrize("module", ["__init__.py", "mine.py"])
def test_a_folder_called_learners_breaks_nothing_or_is_named(tmp_path: Path, module: str) -> None:
    folder = tmp_path / "learners"
    folder.mkdir()
    (folder / module).write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "mine.py").write_text("def count(labels, rng):\n    return labels.sum() + rng.laplace()\n")
    assert python("import audits", tmp_path).returncode == 0
    refused = python("import audits; audits.audit", tmp_path)
    if module == "__init__.py":  # Python prefers a package to a folder without one
        assert f"Python finds {folder}" in refused.stderr
        assert "Rename" in refused.stderr
    script = f"import sys; sys.path[:] = {[str(ROOT), *sys.path[1:]]!r}; from audits.cli import main; main()"
    arguments = ["audit", "mine.py:count", "--against", "count-swap", "--epsilon", "2", "--games", "200"]
    played = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert played.returncode == 0, played.stderr


@pytest.mark.slow
def test_a_typed_plug_in_passes_the_strict_type_checker(tmp_path: Path) -> None:
    """The packages stand in the site-packages of an environment, as after an installation."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    site = next(environment.glob("lib/python*/site-packages"))
    for name in PACKAGES:
        shutil.copytree(ROOT / name, site / name, ignore=shutil.ignore_patterns("__pycache__"))
    (site / "others.pth").write_text(sysconfig.get_path("purelib"))
    templates = shutil.copytree(ROOT / "audits" / "cli" / "templates", tmp_path / "plug")
    (templates / "__init__.py").unlink()
    (templates / "audit.py").write_text(AUDIT)
    command = [sys.executable, "-m", "mypy", "--strict"]
    command += ["--python-executable", str(environment / "bin" / "python")]
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    checked = subprocess.run([*command, "."], cwd=templates, capture_output=True, text=True, env=clean)
    assert checked.returncode == 0, checked.stdout


SLOW = {"scipy", "sklearn", "matplotlib", "networkx", "hypothesis"}


def test_importing_the_packages_imports_nothing_slow() -> None:
    code = (
        "import arena, audits.runs.run, learners.everlasting.paper_versions, json, sys;"
        "print(json.dumps(list(sys.modules)))"
    )
    command = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert not SLOW & set(json.loads(command.stdout))
