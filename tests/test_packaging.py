"""The source distribution and the wheel: what they contain, and that they install into fresh environments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from support.paths import ROOT

PACKAGES = ("adversaries", "arena", "audits", "learners")
EXAMPLES = ("README.md", "adult.csv.gz", "mushroom.csv.gz")
NOT_SOURCE = shutil.ignore_patterns(
    ".*_cache", ".git", ".hypothesis", ".venv*", "__pycache__", "build", "dist", "*.egg-info"
)
CHECK = """
import audits, sys
from importlib import resources
assert audits.__file__.startswith(sys.prefix), audits.__file__
for name in sys.argv[1:]:
    assert (resources.files("audits.data") / "examples" / name).is_file(), name
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """The output of a command, run without the variables that would show it the checkout's packages."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | environment
    options: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=variables, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-5000:]}"
    return str(done.stdout)


def find_python(version: str) -> str:
    """The path of a Python of this version that works, on the path or one of pyenv's; skips without one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *pyenv.glob(f"{version}.*/bin/python"), sys.executable]
    program = f"import sys; assert '%d.%d' % sys.version_info[:2] == '{version}'; print(sys.executable)"
    for candidate in filter(shutil.which, map(str, candidates)):
        done = subprocess.run([candidate, "-c", program], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout.strip()
    pytest.skip(f"there is no Python {version} on this machine")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    pytest.importorskip("build", reason="the package build is missing; it is in the extra test")
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(ROOT, folder / "source", ignore=NOT_SOURCE)
    run(sys.executable, "-m", "build", "--outdir", folder / "dist", cwd=folder / "source")
    (sdist,), (wheel,) = (folder / "dist").glob("*.tar.gz"), (folder / "dist").glob("*.whl")
    return sdist, wheel


def test_the_data_of_the_examples_are_in_the_package() -> None:
    folder = resources.files("audits.data") / "examples"
    assert sorted(file.name for file in folder.iterdir()) == sorted(EXAMPLES)


@pytest.mark.slow
def test_the_wheel_contains_the_four_packages_and_nothing_else(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        names = set(wheel.namelist())
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    assert {f"audits/data/examples/{name}" for name in EXAMPLES} <= names
    shipped = {str(file.relative_to(ROOT)) for package in PACKAGES for file in (ROOT / package).rglob("*.*")}
    missing = {name for name in shipped if "__pycache__" not in name} - names
    assert not {name for name in missing if (ROOT / name).is_file()}


@pytest.mark.slow
def test_the_source_distribution_contains_the_repository(distributions: tuple[Path, Path]) -> None:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository, so its files cannot be listed")
    tracked = run("git", "ls-files", "-z", "--cached", cwd=ROOT).split("\0")
    with tarfile.open(distributions[0]) as sdist:
        packed = {name.partition("/")[2] for name in sdist.getnames()}
    assert {name for name in tracked if name and not name.startswith(".github/")} <= packed


@pytest.mark.slow
def test_tests_and_examples_run_from_the_source_distribution(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    with tarfile.open(distributions[0]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    tests = ("tests/test_docs.py", "tests/test_packaging.py", "tests/audits/runs/ledger/test_reading.py")
    pytest_command = (sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider")
    assert " passed" in run(*pytest_command, *tests, cwd=source, PYTHONPATH=str(source))
    found = run(sys.executable, "examples/adult.py", cwd=source, PYTHONPATH=str(source))
    assert "refuted" in found.lower()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_both_install_into_fresh_environments(
    distributions: tuple[Path, Path], version: str, tmp_path: Path
) -> None:
    python = find_python(version)
    for distribution in distributions:
        environment, empty = tmp_path / distribution.suffix / "env", tmp_path / distribution.suffix / "empty"
        empty.mkdir(parents=True)
        run(python, "-m", "venv", environment, cwd=empty)
        scripts = environment / ("Scripts" if os.name == "nt" else "bin")
        run(scripts / "python", "-m", "pip", "install", "--quiet", distribution, cwd=empty)
        run(scripts / "python", "-c", CHECK, *EXAMPLES, cwd=empty)
        audit = ("audit", "laplace-count", "--against", "count-swap", "--games", "2000")
        assert "Not refuted" in run(scripts / "arena", *audit, cwd=empty)
        reported = subprocess.run(
            [scripts / "arena", *audit, "--html", "run.html"], cwd=empty, capture_output=True, text=True
        )
        assert "Run pip install 'dp-arena[report]'." in reported.stderr
