"""Mechanisms that remember between games are refused by name, and caches of helpers are not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from mutants import remembering
from mutants.remembering import list_remembering

import audits
from adversaries.release.point_swap import CountSwap
from arena import Learner, NotConforming, Release
from arena.testing import check_learner
from arena.testing.memory import check_memory
from audits.adversary_search import search
from audits.testing import assert_private
from learners.foreign.function import Function

NAMES = [*list_remembering()]


def make_learner(name: str) -> Learner:
    mechanism, settings = list_remembering()[name]
    if isinstance(mechanism, Learner):
        return mechanism
    return Function(function=mechanism, epsilon=1.0, **settings)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_a_mechanism_that_remembers_is_refused(name: str) -> None:
    with pytest.raises(NotConforming, match="remembers between games"):
        check_memory(make_learner(name), CountSwap(), Release())


@pytest.mark.thorough
@pytest.mark.parametrize(
    "play",
    [
        lambda learner: audits.audit(learner, "count-swap", games=2_000),
        lambda learner: search(learner, examples=20),
        lambda learner: assert_private(learner, against="count-swap", games=20_000),
        assert_private,
        check_learner,
    ],
    ids=["audit", "search", "assert_private against", "assert_private", "check_learner"],
)
@pytest.mark.parametrize("name", ["remember_in_dictionary", "remember_own", "Leaking"])
def test_every_command_refuses_it(name: str, play: Callable[[Learner], object]) -> None:
    learner = make_learner(name)
    for _ in range(2):  # the second time as the first
        with pytest.raises(NotConforming) as refused:
            play(learner)
        assert f"{learner.own_name} remembers between games: " in str(refused.value)
        assert str(refused.value).endswith(
            "; remove the cache, global or class attribute that keeps results, or make the mechanism anew "
            "for every game"
        )


@pytest.mark.thorough
def test_what_begins_to_remember_after_many_games_is_refused_instead_of_refuted() -> None:
    learner = Function(function=remembering.remember_late(), epsilon=1.0)
    with pytest.raises(NotConforming, match="after the games of this run"):
        audits.audit(learner, "count-swap", games=6_000)


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("make", [remembering.remember_rarely, remembering.remember_rarely_global])
def test_a_game_of_the_run_that_depends_on_another_is_found_when_it_is_played_again(
    make: Callable[[], Any], jobs: int
) -> None:
    coins = "global" if make is remembering.remember_rarely_global else "given"
    learner = Function(function=make(), epsilon=1.0, coins=coins)
    with pytest.raises(NotConforming, match="came out otherwise when they were played again at its end"):
        audits.audit(learner, "count-swap", games=4_000, jobs=jobs)


@pytest.mark.thorough
@pytest.mark.parametrize("sound", [True, False])
def test_games_that_may_fail_are_played_again_too(sound: bool) -> None:
    remember = remembering.remember_rarely(every=10**9 if sound else 20)

    def release(labels: Any, rng: Any) -> float:
        if rng.random() < 0.2:
            raise ValueError
        return float(remember(labels, rng))

    check = nullcontext() if sound else pytest.raises(NotConforming, match="played again at its end")
    with check, pytest.warns(UserWarning, match="failed"):
        assert not audits.audit(release, "count-swap", epsilon=1.5, games=2_000).refuted


@pytest.mark.thorough
def test_draws_of_its_own_that_games_share_are_found_in_the_scatter_of_the_games_that_count() -> None:
    learner = Function(function=remembering.remember_late_own(), epsilon=1.0)
    with pytest.raises(NotConforming, match="vary more than independent games could"):
        audits.audit(learner, "count-swap", games=4_000)


@pytest.mark.thorough
@pytest.mark.parametrize("function", [remembering.cache_helper, remembering.cache_helper_own])
def test_a_cache_of_a_helper_is_no_memory(function: Any) -> None:
    check_memory(Function(function=function, epsilon=1.0), CountSwap(), Release())


@pytest.mark.thorough
def test_rows_as_long_as_the_longest_release_of_their_batch_are_no_memory() -> None:
    def release(labels: Any) -> dict[str, int]:
        return {name: 1 for name in ("ash", "elm", "fir") if np.random.default_rng().random() < 0.02}

    check_memory(Function(function=release, epsilon=1.0), CountSwap(), Release())


@pytest.mark.thorough
@pytest.mark.parametrize("function", [remembering.release_exactly, remembering.release_exactly_own])
def test_a_mechanism_without_noise_is_refuted(function: Any) -> None:
    assert audits.audit(function, "count-swap", epsilon=1.0, games=2_000).refuted


@pytest.mark.thorough
def test_memory_is_found_where_the_mechanism_cannot_be_pickled() -> None:
    lock, inner = threading.Lock(), remembering.remember_in_dictionary()

    def release(labels: Any, rng: Any) -> Any:
        with lock:
            return inner(labels, rng)

    with pytest.raises(NotConforming, match="remembers between games"):
        check_memory(Function(function=release, epsilon=1.0), CountSwap(), Release())
