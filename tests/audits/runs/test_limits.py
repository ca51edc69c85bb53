"""Limits of audits, assertions and commands in calls and seconds; what costs are announced."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

import audits
from adversaries.release.point_swap import CountSwap
from arena import InvalidArgument, NothingTested, Release
from arena.engine import count_games
from audits.cli import arena
from audits.runs import limits, run
from audits.runs.limits import Limits, explain_stop
from audits.testing import assert_private, assertions
from learners.foreign.function import Function
from learners.releases.counts import LaplaceCount

SECONDS = 0.05  # of a call
BITS = st.integers(0, 1)
NOW = [0.0]


def release_sum(points: np.ndarray, rng: np.random.Generator) -> float:
    NOW[0] += SECONDS
    return float(points.sum() + rng.laplace())


class SlowCounter:
    """Publishes a noisy count of its records. Rounds after the third take longer than those timed first."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.total, self.calls, self.rng = 0, 0, rng

    def update(self, record: int) -> float:
        self.calls += 1
        self.total += record
        NOW[0] += SECONDS / 50 if self.calls <= 3 else SECONDS / 10
        return float(self.total + self.rng.laplace(scale=100))


class SlowServer(SlowCounter):
    """The same, asked about its data."""

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        super().__init__(rng)
        self.total = sum(data)


LEARNER = Function(function=release_sum, receives="points", epsilon=1.0, domain=(0.0, 1.0))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that only calls move."""
    NOW[0] = 0.0
    monkeypatch.setattr(limits, "clock", lambda: NOW[0])


def count_here() -> int:
    """The calls in this process."""
    return round(NOW[0] / SECONDS)


# --- audits -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("max_calls", [500, 1_000, 5_000])
def test_an_audit_makes_no_more_calls(max_calls: int) -> None:
    with Limits(max_calls) as counted:
        verdict = audits.audit(LEARNER, max_calls=max_calls)
    assert count_here() <= counted.calls <= max_calls
    assert 0 < 2 * verdict.games <= counted.calls
    assert verdict.stopped == "max_calls"
    assert not verdict.interrupted
    assert verdict.clopper_pearson is None  # valid at a fixed number of games only
    assert verdict.epsilon_lower <= min(1, verdict.ceiling)
    assert "Stopped, since it would have made more calls than max_calls; the games" in verdict.summary()
    assert verdict.to_dict()["stopped"] == "max_calls"


@pytest.mark.thorough
def test_a_fixed_number_of_games_that_is_not_reached_certifies_nothing() -> None:
    settings: dict[str, Any] = {"games": 2_000, "fixed_games": True, "announce": lambda text: None}
    stopped = audits.audit(LEARNER, max_calls=3_000, **settings)
    assert stopped.games > 500
    assert (stopped.refuted, stopped.epsilon_lower, stopped.ceiling) == (False, 0.0, 0.0)
    assert "the number of games was fixed, and not reached, so nothing is certified" in " ".join(
        stopped.summary().split()
    )
    whole = audits.audit(LEARNER, **settings)
    assert 0.5 < whole.epsilon_lower < 1 < whole.ceiling


@pytest.mark.thorough
def test_an_audit_ends_in_time() -> None:
    verdict = audits.audit(LEARNER, max_seconds=60)
    assert 30 < NOW[0] <= 60
    assert verdict.stopped == "max_seconds"
    assert 0 < verdict.epsilon_lower < 1


@pytest.mark.thorough
@pytest.mark.parametrize("form", [pytest.param("session", marks=pytest.mark.thorough), "stream"])
def test_a_search_ends_in_time_whatever_the_number_of_rounds(form: str) -> None:
    limited: dict[str, Any] = {"max_seconds": 8, "announce": lambda text: None}
    if form == "session":
        learner = audits.session(SlowServer, data=st.lists(BITS), ask=BITS, method="update", epsilon=1.0)
        result = audits.search(learner, **limited)
    else:
        result = audits.search(audits.stream(SlowCounter), data=BITS, epsilon=1.0, **limited)
    assert not result.refuted
    assert result.stopped == "max_seconds"
    assert 7 < NOW[0] <= 8 + SECONDS


@pytest.mark.thorough
def test_a_search_leaves_time_for_a_race() -> None:
    result = audits.search(LEARNER, max_seconds=120)
    assert not result.refuted
    assert result.detectable is not None


@pytest.mark.thorough
def test_without_a_limit_nothing_is_said_of_one() -> None:
    verdict = audits.audit(LEARNER, games=500, announce=lambda text: None)
    assert (verdict.stopped, verdict.games) == ("", 500)
    assert "stopped" not in verdict.to_dict()
    assert not explain_stop("")


@pytest.mark.thorough
def test_the_games_of_a_ledger_count_whatever_the_limits(tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    settings: dict[str, Any] = {"games": 2_000, "ledger": ledger, "announce": lambda text: None}
    first = audits.audit(LEARNER, max_calls=3_000, **settings)
    assert 0 < first.games < 2_000
    assert first.stopped
    second = audits.audit(LEARNER, **settings)
    whole = audits.audit(LEARNER, **{**settings, "ledger": tmp_path / "whole.ledger"})
    assert (second.games, second.stopped) == (2_000, "")
    assert second.epsilon_lower == whole.epsilon_lower


def test_timing_counts_as_many_calls_however_fast_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    for seconds in (1e-6, SECONDS, 2.0):
        monkeypatch.setitem(globals(), "SECONDS", seconds)
        with count_games() as count:
            limits.time_game(LEARNER, CountSwap(learner=LEARNER), Release())
        counted.append(count.games)
    assert len(set(counted)) == 1


def test_games_of_a_batch_share_what_starting_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    spent = [0.0]

    def take_time(*players: Any, games: int, **settings: Any) -> None:
        spent[0] += 0.05 + 1e-4 * games

    monkeypatch.setattr(limits, "play", take_time)
    monkeypatch.setattr(limits, "clock", lambda: spent[0])
    assert limits.time_game(LaplaceCount(), CountSwap(), Release()) < 5e-4


@pytest.mark.thorough
def test_calls_of_workers_count() -> None:
    verdict = audits.audit(LEARNER, max_calls=5_000, jobs=2, announce=lambda text: None)
    alone = audits.audit(LEARNER, max_calls=5_000, announce=lambda text: None)
    assert verdict.stopped == "max_calls"
    assert verdict.epsilon_lower == alone.epsilon_lower


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_calls": 0}, "max_calls must be at least 1, got 0"),
        ({"max_calls": 2.5}, "max_calls must be an integer, got 2.5"),
        ({"max_seconds": -1}, "max_seconds must be more than 0, got -1"),
        ({"max_seconds": "soon"}, "max_seconds must be a number, got 'soon'"),
        ({"max_calls": 100}, "max_calls must be at least 160, of which checks take up to 120"),
    ],
)
def test_bad_limits_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        audits.audit(LEARNER, **arguments)
    assert str(refusal.value).startswith(message)


# --- costs --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_long_audit_says_what_it_costs(caplog: pytest.LogCaptureFixture) -> None:
    audits.audit(LEARNER, games=500)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("audits", logging.WARNING)
    assert record.getMessage() == (
        "release_sum: at most 1,254 calls, up to 254 of them for checks, of 50 ms each, at least 1 minute "
        "in all; max_calls and max_seconds set limits"
    )


@pytest.mark.thorough
def test_a_short_audit_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    audits.audit(LEARNER, games=10)
    audits.audit(LaplaceCount(), games=1_000)
    assert not caplog.records


@pytest.mark.thorough
def test_the_cost_of_a_limited_audit_is_that_of_the_limit() -> None:
    said: list[str] = []
    audits.audit(LEARNER, max_calls=800, announce=said.append)
    audits.audit(LEARNER, max_seconds=40, announce=said.append)
    cost = "release_sum: at most 800 calls, up to 232 of them for checks, of 50 ms each, {} 40 seconds in all"
    assert said == [cost.format("at least"), cost.format("about")]


# --- assertions ---------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("against", [None, "point-swap"])
def test_an_assertion_is_limited(against: str | None) -> None:
    with Limits(4_000) as counted:
        outcome = assert_private(LEARNER, against=against, max_calls=4_000)
    assert counted.calls <= 4_000
    assert outcome.stopped == "max_calls"
    assert 1 < outcome.ceiling < 6  # of the games that were played


def test_an_assertion_with_too_few_games_does_not_pass() -> None:
    with pytest.raises(NothingTested, match=r"before that cannot refute \(5, 0\)-DP .* Allow more\."):
        assert_private(LEARNER, claim=(5, 0), against="point-swap", max_seconds=26)


def test_an_interrupted_search_gives_the_figures_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    search = assertions.search

    def search_and_interrupt(*arguments: Any, **settings: Any) -> Any:
        def stop(now: Any) -> None:
            if now.examples == 5:
                raise KeyboardInterrupt

        return search(*arguments, **settings, watch=stop)

    monkeypatch.setattr(assertions, "search", search_and_interrupt)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        assert_private(LEARNER)
    text = str(interrupt.value)
    assert text.startswith(
        "release_sum: undecided, nothing confirmed in 5 adversaries. Interrupted. Undecided"
    )


def test_an_interrupted_audit_gives_the_figures_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = run._iterate_blocks

    def iterate_and_interrupt(*arguments: Any) -> Any:
        played = blocks(*arguments)
        yield next(played)
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_iterate_blocks", iterate_and_interrupt)
    with pytest.raises(KeyboardInterrupt) as interrupt:
        assert_private(LEARNER, against="point-swap")
    assert "Interrupted; the games played so far count." in str(interrupt.value)


# --- commands -----------------------------------------------------------------------------------------------

FUNCTION = """
import time

def release(labels, rng):
    time.sleep(2e-4)
    return labels.sum() + rng.laplace()
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "mine.py").write_text(FUNCTION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(limits, "_LONG", 1e-9)  # every cost is announced
    monkeypatch.setattr(limits, "clock", time.monotonic)

    def invoke(*words: str) -> Any:
        return CliRunner().invoke(
            arena, [*words, "mine.py:release", "--set", "epsilon=1", "--max-calls", "1500"]
        )

    return invoke


@pytest.mark.thorough
@pytest.mark.parametrize("verb", ["audit", "search"])
def test_commands_take_limits_and_print_the_cost_as_a_note(command: Any, verb: str) -> None:
    result = command(verb, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["stopped"] == "max_calls"
    assert "arena: note: " in result.stderr
    assert "at most 1,500 calls, up to " in result.stderr
    assert not command(verb, "--quiet").stderr


def test_a_part_has_no_limits(command: Any) -> None:
    result = command("audit", "--part", "1/2", "--ledger", "part.ledger")
    assert result.exit_code == 2
    assert "A part plays its games, so --part excludes --max-calls and --max-time." in result.output


@pytest.mark.thorough
def test_limits_are_no_part_of_the_command_that_a_ledger_records(command: Any) -> None:
    result = command("audit", "--ledger", "run.ledger", "--games", "2000")
    assert result.exit_code == 0
    assert "Stopped, since it would have made more calls" in " ".join(result.stdout.split())
    resumed = CliRunner().invoke(arena, ["runs", "resume", "run.ledger", "--trust", "--json"])
    assert resumed.exit_code == 0
    assert json.loads(resumed.stdout)["games"] == 2_000
