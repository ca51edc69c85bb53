"""Random numbers of several sources: a trial finds what a mechanism draws from, and its games are played."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import strategies as st
from mutants.remembering import SYSTEM, draw_own_laplace

import audits
from adversaries.release.point_swap import CountSwap
from arena import Learner, Release, play
from arena.testing import check_learner
from arena.testing.memory import check_memory
from learners.foreign.function import Function


def draw_global() -> float:
    return float(np.random.laplace())  # noqa: NPY002 - the generator of the process


def release_own(data: Any) -> float:
    return data.sum() + draw_own_laplace()


def release_global(data: Any) -> float:
    return data.sum() + draw_global()


def release_global_and_own(data: Any) -> float:
    return np.random.permutation(data).sum() + draw_own_laplace()  # noqa: NPY002


def release_given(data: Any, rng: np.random.Generator) -> float:
    return data.sum() + rng.laplace()


def release_given_and_own(data: Any, rng: np.random.Generator) -> float:
    return rng.permutation(data).sum() + draw_own_laplace()


def release_given_and_global(data: Any, rng: np.random.Generator) -> float:
    return rng.permutation(data).sum() + draw_global()


def release_all(data: Any, rng: np.random.Generator) -> float:
    return rng.permutation(data).sum() + random.random() + draw_global() + draw_own_laplace()


def release_reseeded(data: Any) -> float:
    """It seeds the generator of the process, and restores it."""
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(SYSTEM.randrange(2**32))  # noqa: NPY002
    try:
        return release_global(data)
    finally:
        np.random.set_state(state)  # noqa: NPY002


def release_bit_given_and_own(data: Any, rng: np.random.Generator) -> int:
    return int((data.sum() > 0) ^ (rng.random() < 0.2) ^ (SYSTEM.random() < 0.4))


def release_exactly(data: Any) -> float:
    return float(data.sum())


def release_many(data: Any, games: int, rng: np.random.Generator) -> np.ndarray:
    return data.sum() + rng.laplace(size=games) + draw_own_laplace()


# With their sources, whether no seed repeats the games, and whether the generators of the process are seeded.
FUNCTIONS: list[tuple[Callable[..., Any], str, bool, bool]] = [
    (release_own, "own", True, False),
    (release_global, "global", False, True),
    (release_global_and_own, "global", True, True),
    (release_given, "given", False, False),
    (release_given_and_own, "given", True, False),
    (release_given_and_global, "given", False, True),
    (release_all, "given", True, True),
    (release_reseeded, "own", True, False),
    (release_bit_given_and_own, "given", True, False),
    (release_exactly, "own", True, False),
]


@pytest.mark.parametrize(("function", "coins", "own", "seeds"), FUNCTIONS)
def test_a_trial_finds_the_sources_of_a_function(
    function: Callable[..., Any], coins: str, own: bool, seeds: bool
) -> None:
    learner = Function(function=function, epsilon=1.0)
    assert (learner.effective_coins, learner.own_coins, learner.seeds_global) == (coins, own, seeds)
    assert learner.common_random_numbers is not own


@pytest.mark.thorough
@pytest.mark.parametrize("coins", [None, "global", "own"])
@pytest.mark.parametrize("function", [each[0] for each in FUNCTIONS])
def test_it_is_played_whatever_is_said_of_its_sources(
    function: Callable[..., Any], coins: str | None
) -> None:
    if function in (release_own, release_exactly, release_given, release_reseeded) and coins == "global":
        return  # none of its random numbers are global
    settings = {"receives": "labels", **({"coins": coins} if coins else {})}
    result = audits.audit(function, epsilon=1.5, games=1_000, settings=settings)
    assert result.refuted is (function is release_exactly)


@pytest.mark.thorough
@pytest.mark.parametrize("function", [release_global_and_own, release_given_and_own, release_all])
def test_a_search_plays_it_and_its_verdict_says_that_no_seed_repeats_it(function: Callable[..., Any]) -> None:
    found = audits.search(function, examples=20, epsilon=0.1)
    assert found.refuted
    assert "no run repeats these games" in found.verdict.summary()


def test_the_generators_of_the_process_are_left_as_they_were() -> None:
    states = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[union-attr, index]  # noqa: NPY002
    for function in (release_all, release_given_and_global, release_global_and_own):
        for coins in (None, "own"):
            play(Function(function=function, coins=coins), CountSwap(), Release(), games=4, seed=0)
    assert states == (random.getstate(), np.random.get_state()[1].tobytes())  # type: ignore[union-attr, index]  # noqa: NPY002


@pytest.mark.thorough
def test_random_numbers_that_are_given_alone_pass_though_more_were_announced() -> None:
    check_memory(Function(function=release_given, coins="own", epsilon=1.0), CountSwap(), Release())


@pytest.mark.thorough
def test_a_vectorised_function_may_draw_of_its_own_beside_what_it_is_given() -> None:
    def release(data: Any, games: int, rng: np.random.Generator) -> np.ndarray:
        return data.sum() + rng.laplace(size=games) + np.array([draw_own_laplace() for _ in range(games)])

    learner = Function(function=release, epsilon=1.0, vectorised=True)
    assert learner.own_coins
    check_learner(learner, games=500)


class Server:
    """It answers one query on a sample of its data, with noise of the operating system."""

    def __init__(self, data: list[int], rng: np.random.Generator) -> None:
        self.data, self.halted = [x for x in data if rng.random() < 0.9], False

    def ask(self, query: int) -> float | None:
        if self.halted:
            return None
        self.halted = True
        return sum(x >= query for x in self.data) + self.draw_noise()

    def draw_noise(self) -> float:
        return draw_own_laplace()


class GlobalServer(Server):
    def __init__(self, data: list[int]) -> None:
        self.data, self.halted = data, False

    def draw_noise(self) -> float:
        return draw_global()


class MixedServer(GlobalServer):
    def draw_noise(self) -> float:
        return draw_global() + draw_own_laplace()


class Total:
    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.total = rng, 0

    def update(self, record: int) -> float:
        self.total += record
        return self.total + self.rng.laplace() + draw_own_laplace()


class GlobalTotal:
    total = 0

    def update(self, record: int) -> float:
        self.total += record
        return self.total + draw_global()


def make_session(factory: Any) -> Learner:
    bits = st.integers(0, 1)
    return audits.session(
        factory, data=st.lists(bits), ask=[1], epsilon=1.0, neighbours="replace one", rounds=1
    )


@pytest.mark.parametrize(
    ("factory", "coins", "own", "seeds"),
    [
        (Server, "given", True, False),
        (GlobalServer, "global", False, True),
        (MixedServer, "global", True, True),
    ],
)
def test_a_trial_finds_the_sources_of_a_session(factory: Any, coins: str, own: bool, seeds: bool) -> None:
    learner: Any = make_session(factory)
    assert (learner.effective_coins, learner.own_coins, learner.seeds_global) == (coins, own, seeds)


@pytest.mark.thorough
@pytest.mark.parametrize("factory", [Server, GlobalServer, MixedServer])
def test_a_session_is_searched_whatever_it_draws_from(factory: Any) -> None:
    assert not audits.search(make_session(factory), max_calls=3_000).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(("make", "own"), [(Total, True), (GlobalTotal, False)])
def test_a_stream_is_searched_whatever_it_draws_from(make: Any, own: bool) -> None:
    found = audits.search(audits.stream(make), data=st.integers(0, 1), epsilon=0.1, max_calls=10_000)
    assert found.learner.own_coins is own  # type: ignore[union-attr]
    assert found.refuted


def test_a_stream_without_a_schema_is_not_tried() -> None:
    learner: Any = audits.stream(Total)
    assert (learner.effective_coins, learner.own_coins) == ("given", False)
    assert attrs.evolve(learner, coins="own").own_coins
