"""Warnings of audited code: each once, with how often it was given, also by other processes."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from support.command_line import Command

from arena import LearnerFails
from audits.counted_warnings import GivenWarning, count_warnings

FUNCTION = """
import warnings

def release(points, rng):
    warnings.warn("it is old")
    return points.sum() + rng.laplace()
"""


def test_each_is_shown_once_with_its_count() -> None:
    shown: list[tuple[GivenWarning, int]] = []
    with warnings.catch_warnings():
        warnings.resetwarnings()
        with count_warnings(lambda given, times: shown.append((given, times))), count_warnings():
            for _ in range(3):
                warnings.warn("the same", RuntimeWarning, stacklevel=1)
            warnings.warn("another", UserWarning, stacklevel=1)
            with warnings.catch_warnings():  # which resets what Python has shown
                warnings.warn("another", UserWarning, stacklevel=1)
    assert [(given.text, given.category, times) for given, times in shown] == [
        ("the same", RuntimeWarning, 3),
        ("another", UserWarning, 1),
        ("another", UserWarning, 1),
    ]
    assert {given.file for given, _ in shown} == {__file__}


def test_filters_of_the_user_stay() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("error", RuntimeWarning)
        with count_warnings() as counts:
            warnings.warn("ignored", DeprecationWarning, stacklevel=1)
            with pytest.raises(RuntimeWarning):
                warnings.warn("an error", RuntimeWarning, stacklevel=1)
        assert not counts


def test_those_of_this_package_are_shown_at_once() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with count_warnings():
            warnings.warn("it fails", LearnerFails, stacklevel=1)
            assert len(shown) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_command_prints_each_once_unless_it_is_quiet(
    jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FUNCTION)
    with warnings.catch_warnings():
        warnings.resetwarnings()
        words = ("mine.py:release", "--set", "receives=points", "--epsilon", "9", "--games", "100")
        loud = Command("audit", *words, "--jobs", jobs)().stderr
        quiet = "" if jobs == "2" else Command("audit", *words, "-q")().stderr
    (line,) = [line for line in loud.splitlines() if "warning" in line]
    assert line.startswith("arena: warning: UserWarning in ")
    assert "mine.py, line 5: it is old (" in line
    assert int(line.partition("old (")[2].split()[0].replace(",", "")) >= 200  # and some of checks
    assert quiet == ""
