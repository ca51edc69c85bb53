"""Searches of functions of which each game is a call: how many they make, what they play first, limits."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

import audits
from arena import InvalidArgument, NothingTested, play
from arena.engine import count_games
from arena.testing import check_learner
from audits.adversary_search import SPACES, adversary_search
from audits.adversary_search.adversary_search import POWERLESS, _explain_undecided
from audits.runs import limits
from audits.runs.limits import CHECKING_CALLS, Limits
from learners.foreign.function import Function
from learners.releases.choices import RandomisedResponse
from learners.releases.counts import LaplaceCount

DOMAIN = (0.0, 1.0)
RELATIONS = ("replace one", "add or remove one", "zero out one", "replace a group of 3")


@attrs.frozen(eq=False)
class Counter:
    """Counts calls of functions, those in other processes too, by the length of a file."""

    path: Path

    @property
    def calls(self) -> int:
        return self.path.stat().st_size

    def make_sum(self, scale: float) -> Callable[..., float]:
        """A function that adds Laplace noise of this scale to a sum of points in [0, 1]."""
        file = str(self.path)

        def noisy_sum(points: np.ndarray, rng: np.random.Generator) -> float:
            descriptor = os.open(file, os.O_WRONLY | os.O_APPEND)
            os.write(descriptor, b".")
            os.close(descriptor)
            return float(points.clip(0, 1).sum() + rng.laplace(scale=scale))

        return noisy_sum


@pytest.fixture
def counter(tmp_path: Path) -> Counter:
    path = tmp_path / "calls"
    path.write_bytes(b"")
    return Counter(path)


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in seconds, of a clock that only functions move."""
    time = [0.0]
    monkeypatch.setattr(limits, "clock", lambda: time[0])
    return time


def learner_of(function: Callable[..., Any], **settings: Any) -> Function:
    return Function(function=function, receives="points", epsilon=1.0, domain=DOMAIN, **settings)


# --- calls --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("neighbours", "seed"),
    [
        pytest.param(relation, seed, marks=[pytest.mark.thorough] * (seed > 0))
        for relation in RELATIONS[:2]
        for seed in range(10)
    ],
)
def test_half_the_noise_is_refuted_within_3_000_calls(counter: Counter, neighbours: str, seed: int) -> None:
    settings = {"receives": "points", "domain": DOMAIN, "neighbours": neighbours}
    result = audits.search(counter.make_sum(0.5), epsilon=1, settings=settings, seed=seed)
    assert result.refuted
    assert result.error == 1e-6
    assert counter.calls <= 3_000
    assert result.plan.confidence >= 1 - 1e-6  # of its share of the error


@pytest.mark.thorough
def test_a_search_that_finds_nothing_makes_no_more_calls_than_it_says(
    counter: Counter, now: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    function = counter.make_sum(1.0)

    def slow(points: np.ndarray, rng: np.random.Generator) -> float:
        now[0] += 0.05
        return function(points, rng)

    result = audits.search(learner_of(slow), examples=40)
    assert not result.refuted
    most = CHECKING_CALLS + 2 * SPACES["Release"].budget.calls * 40
    assert counter.calls <= most
    cost = f"slow: at most {most:,} calls, up to {CHECKING_CALLS} of them for checks, of 50 ms each"
    assert cost in caplog.text
    assert result.detectable is not None


def test_a_function_is_checked_with_few_calls(counter: Counter) -> None:
    check_learner(learner_of(counter.make_sum(1.0)))
    assert counter.calls < 150


@pytest.mark.parametrize(("learner", "single"), [(LaplaceCount(), False), (learner_of(len), True)])
def test_only_games_that_are_calls_are_saved(learner: Any, single: bool) -> None:
    assert learner.one_call_a_game == single
    if single:
        vectorised = attrs.evolve(learner, function=lambda data, games: np.zeros(games), vectorised=True)
        assert not vectorised.one_call_a_game


def test_all_games_of_a_process_are_counted(counter: Counter) -> None:
    with count_games() as count:
        check_learner(learner_of(counter.make_sum(1.0)))
    trials = 3 * 2  # in this process and in two new ones, which are not counted
    assert count.games == counter.calls - trials


# --- obvious adversaries ------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize("receives", ["points", "labels", "both"])
@pytest.mark.parametrize("domain", [DOMAIN, None])
def test_the_obvious_are_small_neighbours_of_extreme_examples(
    neighbours: str, receives: str, domain: tuple[float, float] | None
) -> None:
    learner = Function(function=len, receives=receives, epsilon=1.0, domain=domain, neighbours=neighbours)
    scripts = list(SPACES["Release"].obvious(learner, "Release"))
    assert 5 <= len(scripts) == len(set(scripts)) <= 12
    sizes = [script.world_0.size for script in scripts]
    assert sizes == sorted(sizes)
    for script in scripts:
        play(learner, script, script.referee, games=2, seed=0)  # the referee refuses what are no neighbours
        assert script.world_0.size <= 5
        points = np.concatenate([script.world_0.points, script.world_1.points])
        assert domain is None or set(points.tolist()) <= {0.0, 1.0}


def test_a_claim_about_users_changes_all_that_one_has() -> None:
    learner = Function(
        function=len,
        receives="points",
        epsilon=1.0,
        dimension=2,
        users=1,
        neighbours="add or remove a user of at most 2",
    )
    scripts = list(SPACES["Release"].obvious(learner, "Release"))
    assert scripts
    assert {script.world_1.size - script.world_0.size for script in scripts} == {2}


def test_a_learner_of_a_fixed_size_gets_samples_of_that_size() -> None:
    scripts = list(SPACES["Release"].obvious(RandomisedResponse(size=12), "Release"))
    assert {script.world_0.size for script in scripts} == {12}


# --- limits -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("max_calls", [1_500, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_calls_are_limited_and_the_result_says_so(counter: Counter, max_calls: int) -> None:
    result = audits.search(learner_of(counter.make_sum(1.0)), max_calls=max_calls)
    assert counter.calls <= max_calls
    assert not result.refuted
    assert result.stopped == "max_calls"
    assert "Stopped, since it would have made more calls than max_calls." in result.summary()
    assert result.to_dict()["stopped"] == "max_calls"
    assert "seconds" not in str(result.to_dict())


@pytest.mark.thorough
def test_a_limit_that_is_not_reached_changes_nothing(counter: Counter) -> None:
    learner = learner_of(counter.make_sum(0.5))
    free, limited = audits.search(learner), audits.search(learner, max_calls=100_000)
    assert free.to_dict() == limited.to_dict()


@pytest.mark.thorough
def test_time_is_limited(counter: Counter, now: list[float]) -> None:
    function = counter.make_sum(1.0)

    def slow(points: np.ndarray, rng: np.random.Generator) -> float:
        now[0] += 0.05
        return function(points, rng)

    result = audits.search(learner_of(slow), max_seconds=60)
    assert now[0] <= 60  # in this process
    assert result.stopped == "max_seconds"
    assert "Stopped, since max_seconds have passed." in result.summary()


def test_limits_that_leave_nothing_are_refused(now: list[float]) -> None:
    def slow(points: np.ndarray, rng: np.random.Generator) -> float:
        now[0] += 0.05
        return float(rng.laplace())

    with pytest.raises(InvalidArgument) as refusal:
        audits.search(learner_of(slow), max_calls=100)
    assert str(refusal.value) == (
        "max_calls must be at least 491, of which checks take up to 120, got 100. Allow more calls."
    )
    with pytest.raises(InvalidArgument) as refusal:
        audits.search(learner_of(slow), max_seconds=1)
    assert str(refusal.value) == (
        "max_seconds must allow 120 calls for checks and 40 for games, and a call of slow takes 50 ms, got "
        "1. Allow more than 8 s."
    )


def test_a_search_without_any_adversary_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "find_reached", lambda self, calls=0: "max_seconds")
    with pytest.raises(NothingTested, match=r"max_seconds have passed\. No adversary was played before"):
        audits.search(learner_of(lambda points, rng: rng.laplace()), max_seconds=100)


@pytest.mark.thorough
def test_jobs_find_the_same_with_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversary_search, "_FIRST_EXAMPLES", 8)
    monkeypatch.setattr(adversary_search, "_RUN_EXAMPLES", 8)
    learner = learner_of(lambda points, rng: points.sum() + rng.laplace())
    found = [audits.search(learner, examples=24, jobs=jobs).to_dict() for jobs in (1, 2)]
    assert found[0] == found[1]


def release_total(points: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.clip(points, 0, 1).sum()) + rng.laplace()


@pytest.mark.thorough
def test_a_search_too_short_to_state_a_power_is_undecided() -> None:
    settings = {"receives": "points", "neighbours": "replace one"}
    result = audits.search(release_total, settings=settings, epsilon=1.0, max_calls=600)
    assert result.detectable is None
    assert "too few games" in result.undecided
    assert result.to_dict()["undecided"] == result.undecided
    assert "nothing found" not in result.headline
    longer = audits.search(release_total, settings=settings, epsilon=1.0, max_calls=4_000)
    assert longer.detectable is not None
    assert not longer.undecided


def test_a_search_says_why_it_is_undecided() -> None:
    assert "12 nats of evidence" in _explain_undecided(12.0, 0.5, False)
    assert "interrupted" in _explain_undecided(0.0, 0.5, True)
    assert _explain_undecided(0.0, None, False) == POWERLESS
    assert not _explain_undecided(0.0, 0.5, False)
