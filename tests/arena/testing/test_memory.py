"""Mechanisms that remember between games are refused by name, and caches of helpers are not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

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
        assert f"{learner.name} remembers between games: " in str(refused.value)
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
@pytest.mark.parametrize("function", [remembering.cache_helper, remembering.cache_helper_own])
def test_a_cache_of_a_helper_is_no_memory(function: Any) -> None:
    check_memory(Function(function=function, epsilon=1.0), CountSwap(), Release())


@pytest.mark.thorough
@pytest.mark.parametrize("function", [remembering.release_exactly, remembering.release_exactly_own])
def test_a_mechanism_without_noise_is_refuted(function: Any) -> None:
    assert audits.audit(function, "count-swap", epsilon=1.0, games=2_000).refuted


@pytest.mark.thorough
def test_memory_is_found_where_the_mechanism_cannot_be_pickled() -> None:
    lock, inner = threading.Lock(), remembering.remember_in_dictionary()

    def release(data: Any, rng: Any) -> Any:
        with lock:
            return inner(data, rng)

    with pytest.raises(NotConforming, match="remembers between games"):
        check_memory(Function(function=release, epsilon=1.0), CountSwap(), Release())
