"""The pytest plug-in, in runs of its own: what is granted and spent, what failures and the summary show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

PRIVACY = """
import pytest
from learners.releases.laplace_count import LaplaceCount
from learners.predictors.static_erm import StaticErm

def test_stands(assert_private):
    assert assert_private(LaplaceCount(), against="count-swap", budget="quick").ceiling > 1

@pytest.mark.privacy(error=1e-4)
def test_leaks(assert_private):
    learner = LaplaceCount()
    assert_private(learner, claim=(0.5, 0), against="count-swap", budget="quick")

def test_is_found_to_leak(assert_private):
    assert_private(StaticErm(), claim=(1, 0), budget="quick")

@pytest.mark.privacy(error=1e-5)
def test_shares(assert_private):
    for seed in range(2):
        assert_private(LaplaceCount(), against="count-swap", budget="quick", seed=seed, error=5e-6)

@pytest.mark.privacy(error=1e-5)
def test_overspends(assert_private):
    assert_private(LaplaceCount(), against="count-swap", budget="quick", error=8e-6)
    assert_private(LaplaceCount(), against="count-swap", budget="quick", error=8e-6)

def test_spends_twice(assert_private):
    assert_private(LaplaceCount(), against="count-swap", budget="quick")
    assert_private(LaplaceCount(), against="count-swap", budget="quick")

def test_something_else():
    pass
"""
LEAKS = PRIVACY[: PRIVACY.index("def test_is_found")]
ELSE = """
import sys

def test_something_else():
    assert not {"numpy", "attrs", "arena", "audits.testing"} & set(sys.modules)
"""


def run(folder: Path, source: str, *options: str, ini: str = "") -> subprocess.CompletedProcess[str]:
    """pytest with this plug-in and no other but xdist where it is asked for."""
    (folder / "test_them.py").write_text(source)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}")
    environment = os.environ | {
        "COLUMNS": "200",
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "audits.pytest_plugin",
        "PYTHONPATH": str(ROOT),
    }
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "--strict-markers"]
    return subprocess.run(
        [*command, *options], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "xdist"])
def test_a_run_with_privacy_tests(tmp_path: Path, options: tuple[str, ...]) -> None:
    ran = run(tmp_path, PRIVACY, *options)
    assert ran.returncode == 1
    assert "4 failed, 3 passed" in ran.stdout
    # One line says it in the traceback, and all the rest stands below, unindented.
    assert (
        "NotPrivate: laplace-count does not keep its claim: with confidence 99.99 %, no ε below" in ran.stdout
    )
    lines = ran.stdout.splitlines()
    for line in (
        "claim under test  (0.5, 0)-DP for a training example (replace one)",
        "training in world 1: 10 examples: 9 x (0, 0), 1 x (0, 1)",
        "The worlds differ in a training example.",
        "arena audit laplace-count \\",
        "class Found(Adversary):",
        "arena audit static-erm \\",
    ):
        assert line in lines
    assert "asserting.py" not in ran.stdout
    assert "pytest_plugin.py" not in ran.stdout
    assert (
        "this test was granted an error of 1e-05, has spent 8e-06 of it and asks for 8e-06. Grant more with "
        "@pytest.mark.privacy(error=...), or give each call its share, error=..."
    ) in lines
    assert any("granted an error of 1e-06, has spent 1e-06 of it. Grant" in line for line in lines)
    (summary,) = (line for line in lines if line.startswith("6 tests; "))
    assert summary.startswith("6 tests; errors granted 0.000123, spent 0.000121; ")
    assert summary.endswith(" games in each world")
    told = sorted(line for line in lines if line.startswith("REFUTED"))
    assert told[0].startswith(
        "REFUTED test_them.py::test_is_found_to_leak: static-erm against an adversary that a"
    )
    assert told[1].startswith("REFUTED test_them.py::test_leaks: laplace-count against count-swap: ε ≥ 0.")
    assert told[1].endswith("certified, where 0.5 is claimed (δ = 0, confidence 99.99 %)")
    assert len(told) == 2


@pytest.mark.parametrize("style", ["native", "no"])
def test_tracebacks_of_every_style(tmp_path: Path, style: str) -> None:
    ran = run(tmp_path, LEAKS, f"--tb={style}")
    assert "1 failed, 1 passed" in ran.stdout
    assert ran.stdout.count("Replay it:") == (style != "no")
    assert "REFUTED test_them.py::test_leaks" in ran.stdout


def test_a_run_of_other_tests_sees_nothing_of_it(tmp_path: Path) -> None:
    ran = run(tmp_path, ELSE, "--strict-config")
    assert ran.returncode == 0, ran.stdout
    assert "privacy" not in ran.stdout + ran.stderr


def test_a_run_may_do_without_the_plug_in(tmp_path: Path) -> None:
    ran = run(tmp_path, LEAKS, "-p", "no:audits.pytest_plugin")
    assert "'privacy' not found in `markers` configuration option" in ran.stdout


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "xdist"])
def test_errors_that_sum_to_too_much_fail_the_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    ran = run(tmp_path, PRIVACY, *options, ini="privacy_error_total = 1e-4")
    assert ran.returncode == 1
    assert "1 failed in" in ran.stdout
    assert (
        "the 6 privacy tests of this run are granted errors that sum to 0.000123, more than "
        "privacy_error_total = 0.0001. Grant them less; it takes a few more games each."
    ) in ran.stdout.splitlines()


def test_only_tests_that_are_run_count(tmp_path: Path) -> None:
    ran = run(tmp_path, PRIVACY, "-k", "stands or else", ini="privacy_error_total = 1e-5")
    assert "2 passed, 5 deselected" in ran.stdout
    assert "1 test; errors granted 1e-06, spent 1e-06; 4,000 games in each world" in ran.stdout


def test_the_usual_error_is_a_setting(tmp_path: Path) -> None:
    ran = run(tmp_path, PRIVACY, "-k", "stands", ini="privacy_error = 1e-9\nprivacy_error_total = 1e-9")
    assert "1 test; errors granted 1e-09, spent 1e-09; 4,000 games in each world" in ran.stdout


def test_a_mark_alone_grants(tmp_path: Path) -> None:
    source = "import pytest\n\n@pytest.mark.privacy(error=0.25)\ndef test_by_hand():\n    pass\n"
    assert "1 test; errors granted 0.25, spent 0; 0 games" in run(tmp_path, source).stdout


@pytest.mark.parametrize("mark", ["1e-6", "error=2", "rate=1e-6"])
def test_marks_that_make_no_sense_fail_the_run(tmp_path: Path, mark: str) -> None:
    ran = run(tmp_path, f"import pytest\n\n@pytest.mark.privacy({mark})\ndef test_it():\n    pass\n")
    assert "1 failed in" in ran.stdout
    assert (
        "test_them.py::test_it: write @pytest.mark.privacy(error=...), a probability between 0 and 1, got"
    ) in ran.stdout


@pytest.mark.parametrize("setting", ["privacy_error = none", "privacy_error_total = 2"])
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, setting: str) -> None:
    ran = run(tmp_path, LEAKS, ini=setting)
    name, _, value = setting.partition(" = ")
    assert ran.returncode == 4
    assert f"ERROR: {name} is a probability between 0 and 1, got '{value}'" in ran.stdout + ran.stderr


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    source = page.split("```python\n", 1)[1].split("```", 1)[0]
    ran = run(tmp_path, source)
    assert "6 passed" in ran.stdout, ran.stdout
    assert "2 tests; errors granted 0.000101, spent 0.000101; " in ran.stdout


def test_it_is_registered() -> None:
    assert "pytest11 =\n    dp-arena = audits.pytest_plugin\n" in (ROOT / "setup.cfg").read_text()
