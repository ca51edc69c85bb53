"""The pytest plug-in, in runs of its own: errors granted and spent, failures, and the summary."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command_line import Command
from support.paths import ROOT
from support.pytest_runs import PLUGIN, UNCACHED, WORKERS, Run, make_run, run_process

# Imported here so that runs in this process share them.
import audits.testing  # noqa: F401
import learners.predictors.vote_predictors
import learners.releases.counts  # noqa: F401

pytest_plugins = ("pytester",)

PRIVACY = """
import pytest
from learners.predictors.vote_predictors import StaticErm
from learners.releases.counts import LaplaceCount

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


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    return make_run(pytester, monkeypatch)


def check_report(ran: Run) -> None:
    """The failures, the summary and the refutations of a run of `PRIVACY`."""
    assert ran.status == 1
    assert "4 failed, 3 passed" in ran.text
    # The traceback has one line on a refutation; the rest is below it, without indentation.
    assert "NotPrivate: laplace-count violates its claim: with confidence 99.99 %, every ε below" in ran.text
    lines = ran.text.splitlines()
    for line in (
        "claim under test  (0.5, 0)-DP for a training example (replace one)",
        "training in world 1: 10 examples: 9 x (0, 0), 1 x (0, 1)",
        "The worlds differ in a training example.",
        "arena audit laplace-count \\",
        "found = Script(",
        "arena audit static-erm \\",
    ):
        assert line in lines
    assert "assertions.py" not in ran.text
    assert "pytest_plugin.py" not in ran.text
    assert (
        "this test was granted an error of 1e-05, has spent 8e-06 of it and requests 8e-06. Grant more with "
        "@pytest.mark.privacy(error=...), or give each call its share, error=..."
    ) in lines
    assert any("granted an error of 1e-06, has spent 1e-06 of it. Grant" in line for line in lines)
    (summary,) = (line for line in lines if line.startswith("6 tests, 7 assertions; "))
    assert summary.startswith("6 tests, 7 assertions; errors granted 0.000123, spent 0.000121; ")
    assert summary.endswith(" games in each world")
    refuted = sorted(line for line in lines if line.startswith("REFUTED"))
    assert refuted[0].startswith(
        "REFUTED test_them.py::test_is_found_to_leak: static-erm against an adversary found by"
    )
    assert refuted[1].startswith("REFUTED test_them.py::test_leaks: laplace-count against count-swap: ε ≥ 0.")
    assert refuted[1].endswith("certified, claimed 0.5 (δ = 0, confidence 99.99 %)")
    assert len(refuted) == 2


TOO_MUCH = (
    "the 6 privacy tests of this run are granted errors that sum to 0.000123, more than "
    "privacy_error_total = 0.0001. Grant them less; it takes a few more games each."
)


def check_refusal(ran: Run) -> None:
    assert ran.status == 1
    assert "1 failed in" in ran.text
    assert TOO_MUCH in ran.text.splitlines()


@pytest.mark.thorough
def test_a_run_with_privacy_tests(run: Callable[..., Run]) -> None:
    check_report(run(PRIVACY))
    check_refusal(run(PRIVACY, ini="privacy_error_total = 1e-4"))


@pytest.mark.slow
def test_a_run_with_privacy_tests_on_workers(tmp_path: Path) -> None:
    check_report(run_process(tmp_path, PRIVACY, *UNCACHED, *WORKERS))
    check_refusal(run_process(tmp_path, PRIVACY, *UNCACHED, *WORKERS, ini="privacy_error_total = 1e-4"))


@pytest.mark.thorough
@pytest.mark.parametrize("style", ["native", "no"])
def test_tracebacks_of_every_style(run: Callable[..., Run], style: str) -> None:
    ran = run(LEAKS, f"--tb={style}")
    assert "1 failed, 1 passed" in ran.text
    assert ran.text.count("Replay it:") == (style != "no")
    assert "REFUTED test_them.py::test_leaks" in ran.text


@pytest.mark.thorough
def test_a_run_of_other_tests_imports_nothing_of_dp_arena(tmp_path: Path) -> None:
    ran = run_process(tmp_path, ELSE, "--strict-config")
    assert ran.status == 0, ran.text
    assert "privacy" not in ran.text


@pytest.mark.thorough
def test_a_run_may_disable_the_plug_in(tmp_path: Path) -> None:
    ran = run_process(tmp_path, LEAKS, "-p", f"no:{PLUGIN}")
    assert "'privacy' not found in `markers` configuration option" in ran.text


# --- replays ----------------------------------------------------------------------------------------------

REPLAYED = """
import unittest
import numpy as np
import pytest
from audits.testing import assert_private as assert_outside
from arena import Sample
from adversaries.release.point_swap import CountSwap
from learners.releases.counts import LaplaceCount
from .mechanisms import count

SMALL = CountSwap(sample=Sample([0.0], [0], [5]))  # which no command line can name

@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_a_closure(assert_private, scale):
    assert_private(lambda labels, rng: scale * count(labels, rng), claim=(0.5, 0), against=SMALL, games=500)

def test_another_module(assert_private):
    assert_private(count, claim=(0.5, 0), against="count-swap", games=500)
"""
INSIDE = (
    REPLAYED.partition("@pytest.mark")[0].replace("from .mechanisms import count", "")
    + """

class TestLaplace(unittest.TestCase):
    def test_it(self):
        for epsilon in (1.0, 2.0):
            with self.subTest(epsilon=epsilon):
                assert_outside(LaplaceCount(epsilon=epsilon), claim=(0.25, 0), against=SMALL, games=2_000)

def test_two(assert_private, subtests):
    for epsilon in (1.0, 2.0):
        with subtests.test(epsilon=epsilon):
            assert_private(
                LaplaceCount(epsilon=epsilon), claim=(0.25, 0), against=SMALL, games=2_000, error=4e-7
            )

@pytest.mark.xfail(strict=True)
def test_is_known_to_leak(assert_private):
    assert_private(LaplaceCount(epsilon=3.0), claim=(0.25, 0), against=SMALL, games=2_000)
"""
)
COUNT = """
import numpy as np

def count(labels, rng):
    return float(np.sum(labels) + 0.2 * rng.laplace())
"""


UNWARNED = ("-W", "ignore::pytest.PytestCacheWarning")


def list_commands(ran: Run) -> list[str]:
    """The commands of the failures, without their line breaks, in the order of the text."""
    text = ran.text.replace(" \\\n    ", " ")
    return [line for line in text.splitlines() if line.startswith("arena audit ")]


def list_bounds(text: str) -> list[str]:
    return re.findall(r"certified +(ε ≥ \S+ nats at δ = 0, confidence \S+ %)", text)


@pytest.mark.thorough
def test_replays_are_written_into_the_cache(run: Callable[..., Run], pytester: pytest.Pytester) -> None:
    ran = run(INSIDE, cached=True)
    assert "Save this as" not in ran.text
    commands = list_commands(ran)
    names = [Path(re.search(r"--against (\S+):found", command)[1]) for command in commands]  # type: ignore[index]
    assert [name.name[:-12] for name in names] == ["test_it", "test_it", "test_two", "test_two"]
    files = pytester.path.glob(".pytest_cache/d/dp-arena/*.py")
    assert set(names) == {path.relative_to(pytester.path) for path in files}
    for command, bound in zip(commands, list_bounds(ran.text), strict=True):
        assert bound in Command(*shlex.split(command)[1:]).text(status=3)
    # The traceback has one line, also of tests of unittest.
    assert ran.text.count("claim under test") == 4
    assert sum(line.startswith("    arena audit") for line in ran.text.splitlines()) == 2  # in the summary
    again = run(INSIDE, "--lf", "-x", cached=True)
    assert list_commands(again)[0] in commands


@pytest.mark.thorough
@pytest.mark.parametrize("disabled", [True, False])
def test_without_a_cache_the_message_has_the_file(
    run: Callable[..., Run], pytester: pytest.Pytester, disabled: bool
) -> None:
    (pytester.path / "file").touch()  # in which no folder can be made, as on a file system that is read-only
    ini = "" if disabled else "cache_dir = file/cache"
    ran = run(INSIDE, "-k", "two", *UNWARNED, ini=ini, cached=not disabled)
    why = "pytest's cache is disabled" if disabled else "[Errno "
    assert f"No file was written for the replay ({why}" in ran.text
    assert ran.text.count("Save this as found.py:") == 2
    assert all(" --against found.py:found " in command for command in list_commands(ran))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_commands_work_as_printed(tmp_path: Path, mode: str) -> None:
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "__init__.py").touch()
    (tmp_path / "checks" / "mechanisms.py").write_text(COUNT)
    options = (f"--import-mode={mode}", "-p", "xdist", "-n", "2")
    ran = run_process(tmp_path, REPLAYED, *options, file="checks/test_them.py")
    commands = list_commands(ran)
    assert len(commands) == 3, ran.text
    for command, bound in zip(commands, list_bounds(ran.text), strict=True):
        words = [sys.executable, "-m", "audits.cli", *shlex.split(command)[1:]]
        path = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(words, cwd=tmp_path, env=path, capture_output=True, text=True)
        assert bound in done.stdout, done.stderr


@pytest.mark.thorough
def test_a_report_for_junit_has_the_account(run: Callable[..., Run], pytester: pytest.Pytester) -> None:
    run(LEAKS, "-k", "leaks", "--junitxml=report.xml")
    assert "'spent': 0.0001" in (pytester.path / "report.xml").read_text()


# --- errors -----------------------------------------------------------------------------------------------


def test_only_tests_that_are_run_count(run: Callable[..., Run]) -> None:
    ran = run(PRIVACY, "-k", "stands or else", ini="privacy_error_total = 1e-5")
    assert "2 passed, 5 deselected" in ran.text
    assert "1 test, 1 assertion; errors granted 1e-06, spent 1e-06; 4,000 games in each world" in ran.text


@pytest.mark.thorough
def test_the_usual_error_is_a_setting(run: Callable[..., Run]) -> None:
    ran = run(PRIVACY, "-k", "stands", ini="privacy_error = 1e-9\nprivacy_error_total = 1e-9")
    assert "1 test, 1 assertion; errors granted 1e-09, spent 1e-09; 4,000 games in each world" in ran.text


def test_a_mark_alone_grants(run: Callable[..., Run]) -> None:
    source = "import pytest\n\n@pytest.mark.privacy(error=0.25)\ndef test_by_hand():\n    pass\n"
    assert "1 test, 0 assertions; errors granted 0.25, spent 0; 0 games" in run(source).text


@pytest.mark.parametrize("mark", ["1e-6", "error=2", "rate=1e-6"])
def test_marks_that_make_no_sense_fail_the_run(run: Callable[..., Run], mark: str) -> None:
    ran = run(f"import pytest\n\n@pytest.mark.privacy({mark})\ndef test_it():\n    pass\n")
    assert "1 failed in" in ran.text
    assert (
        "test_them.py::test_it: write @pytest.mark.privacy(error=...), a probability between 0 and 1, got"
    ) in ran.text


@pytest.mark.parametrize("setting", ["privacy_error = none", "privacy_error_total = 2"])
def test_settings_that_make_no_sense_are_refused(run: Callable[..., Run], setting: str) -> None:
    ran = run(LEAKS, ini=setting)
    name, _, value = setting.partition(" = ")
    assert ran.status == 4
    assert f"ERROR: {name} must be a probability between 0 and 1, got '{value}'" in ran.text


@pytest.mark.thorough
def test_the_tests_of_the_page_pass(run: Callable[..., Run]) -> None:
    page = (ROOT / "docs" / "testing.md").read_text()
    source = page.split("```python\n", 1)[1].split("```", 1)[0]
    ran = run(source)
    assert "7 passed" in ran.text, ran.text
    assert "3 tests, 12 assertions; errors granted 0.000102, spent 0.0001015; " in ran.text


def test_an_undecided_test_fails_and_is_listed(run: Callable[..., Run]) -> None:
    ran = run(
        """
import pytest
import audits.testing
from arena import Claim, PrivacyUnit

def test_open(assert_private, monkeypatch):
    outcome = audits.testing.Outcome(
        learner="total", claim=Claim(epsilon=1.0, delta=0.0, protects=(PrivacyUnit.TRAINING_EXAMPLE,)),
        error=1e-6, verdicts=(), ceiling=1.0, games=5, refutation=None, undecided="too few games were played",
    )
    def stop(*given, **settings):
        raise audits.testing.Undecided(outcome)
    monkeypatch.setattr(audits.testing, "assert_private", stop)
    assert_private("laplace-count")
"""
    )
    assert ran.status == 1
    assert "is neither refuted nor not refuted. Undecided: too few games were played." in ran.text
    assert "test_open: total: too few games were played" in ran.text
    assert "UNDECIDED" in ran.text
