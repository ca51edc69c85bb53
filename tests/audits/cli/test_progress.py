"""Progress on standard error: on a terminal only, in stages, with estimates and a clock that goes on."""

from __future__ import annotations

import functools
import io
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.command_line import Command
from tqdm import tqdm

import audits
from audits import cli
from audits.cli import output as output_module
from audits.cli.output import Output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def open_terminal() -> Iterator[Terminal]:
    """Standard error as a terminal, within a test: pytest replaces it before each phase of one."""
    shown = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", shown)
        yield shown


def test_a_stage_shows_how_much_is_done_and_an_estimate() -> None:
    with open_terminal() as terminal, Output(quiet=False, as_json=False).stage_progress() as show:
        show("training", 0, 0)
        show("rounds", 0, 4)
        time.sleep(0.15)  # the bar is drawn every tenth of a second
        show("rounds", 2, 4)
    text = terminal.getvalue()
    assert "training: 0 done" in text
    assert re.search(r"rounds:  50%.* 2/4 \[00:00<00:", text)
    assert text.endswith("\r"), "the bar is removed"


def test_the_clock_goes_on_in_a_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "_REFRESH", 0.02)
    with open_terminal() as terminal, Output(quiet=False, as_json=False).stage_progress() as show:
        show("training", 0, 0)
        before = terminal.getvalue().count("training")
        for _ in range(100):
            time.sleep(0.02)
            if terminal.getvalue().count("training") > before + 1:
                return
    pytest.fail("nothing was drawn in two seconds")


@pytest.mark.parametrize("options", [{"quiet": True, "as_json": False}, {"quiet": False, "as_json": True}])
def test_nothing_is_shown_beside_json_or_if_quiet(options: dict[str, bool]) -> None:
    with open_terminal() as terminal, Output(**options).stage_progress() as show:
        show("rounds", 1, 2)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("quiet", [False, True])
def test_an_audit_shows_its_games_and_its_bound_unless_quiet(
    monkeypatch: pytest.MonkeyPatch, quiet: bool
) -> None:
    monkeypatch.setattr("tqdm.tqdm", functools.partial(tqdm, mininterval=0))
    words = [*["audit", "laplace-count", "--against", "count-swap", "--games", "1000"], *["--quiet"] * quiet]
    with open_terminal() as terminal, pytest.raises(SystemExit):
        cli.arena.main(words)
    assert ("1.00k/1.00k" in terminal.getvalue() and "ε ≥ 0." in terminal.getvalue()) is not quiet


def test_nothing_is_shown_without_a_terminal() -> None:
    assert Command("play", "laplace-count", "--against", "count-swap")().stderr == ""


@pytest.mark.thorough
def test_the_solver_reports_every_stage_up_to_its_whole() -> None:
    seen: dict[str, list[tuple[int, int]]] = {}
    audits.solve(
        "above-threshold",
        rounds=3,
        settings={"size": 5, "epsilon": 1.0},
        watch=lambda stage, done, total: seen.setdefault(stage, []).append((done, total)),
    )
    assert {"matrices", "rounds", "values"} <= seen.keys()
    for stage, steps in seen.items():
        assert all(0 <= done <= total for done, total in steps), stage
    values = [done for done, total in seen["values"] if total == seen["values"][0][1]]
    assert len(values) > 2


def test_the_pairs_of_samples_are_counted() -> None:
    stages = []
    audits.solve(
        "noisy-votes",
        rounds=1,
        worst_samples=True,
        settings={"concepts": "thresholds:1..3", "size": 2, "answers": 1},
        watch=lambda *progress: stages.append(progress),
    )
    pairs = [(done, total) for stage, done, total in stages if stage == "pairs of samples"]
    assert pairs[0] == (0, 0)
    assert [done for done, _ in pairs[1:]] == [*range(pairs[-1][1])]
