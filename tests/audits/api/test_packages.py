"""The packages as users find them: quick to import, typed, and not confused with folders of the same name."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.paths import ROOT

import audits
from audits.registry import find_foreign_modules

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


def test_importing_audits_imports_nothing_that_takes_long(tmp_path: Path) -> None:
    run = python("import sys, audits; dir(audits); print(*sys.modules)", tmp_path)
    assert not {"arena", "attrs", "hypothesis", "numpy", "scipy"} & set(run.stdout.split())


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


def install(site: Path, distribution: str, *files: str) -> None:
    """Write files and their record as an installer does."""
    for name in files:
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(f'"""Of {distribution}."""\n')
    folder = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    lines = [f"{name},sha256=none,{(site / name).stat().st_size}" for name in files]
    (folder / "RECORD").write_text("\n".join([*lines, f"{folder.name}/RECORD,,"]))


OWN_FILES = [f"{package}/__init__.py" for package in PACKAGES]
MERGED = {
    "a module beside ours": (["learners/theirs.py"], ["learners/theirs.py"]),
    "a package in place of ours": (["arena/__init__.py", "arena/x.so"], ["arena/__init__.py", "arena/x.so"]),
    "no module": (["arena/notes.txt", "learners/__pycache__/theirs.cpython-311.pyc"], []),
    "another package": (["agents/theirs.py"], []),
}


@pytest.mark.parametrize(("theirs", "foreign"), MERGED.values(), ids=MERGED)
def test_modules_of_others_in_our_packages_are_found(
    theirs: list[str], foreign: list[str], tmp_path: Path
) -> None:
    install(tmp_path, "dp-arena", *OWN_FILES)
    install(tmp_path, "the-other-arena", *theirs)
    assert find_foreign_modules(tmp_path) == foreign


def test_without_a_record_of_our_packages_nothing_is_foreign(tmp_path: Path) -> None:
    install(tmp_path, "dp-arena", "__editable___dp_arena_finder.py")
    install(tmp_path, "the-other-arena", "learners/theirs.py")
    assert find_foreign_modules(tmp_path) == []
    assert find_foreign_modules(ROOT) == []


@pytest.mark.thorough
def test_packages_that_two_distributions_share_are_refused(tmp_path: Path) -> None:
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    install(tmp_path, "the-other-arena", "learners/theirs.py")
    own = [path for name in PACKAGES for path in (tmp_path / name).rglob("*") if path.is_file()]
    record = [f"{path.relative_to(tmp_path)},,{path.stat().st_size}" for path in own]
    install(tmp_path, "dp-arena")
    path = tmp_path / "dp_arena-1.0.dist-info" / "RECORD"
    path.write_text("\n".join(line for line in record if "theirs.py" not in line))
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import audits; audits.audit"
    refused = python(code, tmp_path).stderr
    assert "learners/theirs.py. They are those of the-other-arena." in refused
    (tmp_path / "learners" / "theirs.py").unlink()
    assert python(code, tmp_path).returncode == 0


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


@pytest.mark.thorough
def test_importing_the_packages_imports_nothing_slow() -> None:
    code = (
        "import arena, audits.runs.run, learners.everlasting.paper_versions, json, sys;"
        "print(json.dumps(list(sys.modules)))"
    )
    command = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert not SLOW & set(json.loads(command.stdout))
