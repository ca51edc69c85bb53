"""Mechanisms that release the same in every game: no verb says that nothing was refuted."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import audits
from adversaries.release.point_swap import CountSwap
from arena import NothingTested, Release, SameReleases, play
from arena.engine import watch_releases
from arena.released.encoding import encode_values
from audits.runs.same_releases import judge_same_releases, refuse_same_releases
from learners.foreign.function import Function


def forget(labels: np.ndarray, rng: np.random.Generator) -> None:
    labels.sum() + rng.laplace()


def repeat(labels: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    return {"status": "ok", "n": 3}


def release_half(labels: np.ndarray, rng: np.random.Generator) -> str | None:
    return "even" if rng.random() < 0.5 else None


def find_many(labels: np.ndarray, rng: np.random.Generator) -> str:
    return "many" if len(labels) >= 100 else "few"


def watch(function: Callable[..., Any], *, faults: bool = False) -> Any:
    learner = Function(function=function, epsilon=1.0)
    with watch_releases() as releases:
        play(learner, CountSwap(), Release(), games=16, seed=1, faults=faults)
    return learner, releases


def fail_half(labels: np.ndarray, rng: np.random.Generator, released: str | None = None) -> str | None:
    if rng.random() < 0.5:
        raise ValueError("no data")
    return released


@pytest.mark.parametrize(
    ("function", "said"), [(forget, "released None .* Did you forget to return?"), (repeat, "'status': 'ok'")]
)
def test_games_that_all_released_the_same_are_refused(function: Callable[..., Any], said: str) -> None:
    learner, releases = watch(function)
    with pytest.raises(NothingTested, match=said):
        refuse_same_releases(learner, releases)
    with pytest.raises(NothingTested, match=said):
        judge_same_releases(learner, "Release", releases)


def test_other_releases_are_not_refused() -> None:
    learner, releases = watch(release_half)
    refuse_same_releases(learner, releases)
    assert not judge_same_releases(learner, "Release", releases)


def test_a_failure_is_something_else_to_see_unless_nothing_is_returned() -> None:
    def say_ok(labels: np.ndarray, rng: np.random.Generator) -> str | None:
        return fail_half(labels, rng, "ok")

    refuse_same_releases(*watch(say_ok, faults=True))
    with pytest.raises(NothingTested, match="None"):
        refuse_same_releases(*watch(fail_half, faults=True))


def test_what_differs_on_other_data_is_a_warning_and_a_note() -> None:
    learner, releases = watch(find_many)
    with pytest.warns(SameReleases, match="released 'few'"):
        note = judge_same_releases(learner, "Release", releases)
    assert "games on other data release something else" in note


def test_watches_of_several_processes_are_joined() -> None:
    _, first = watch(repeat)
    _, second = watch(forget)
    first.join(first)
    assert not first.varied
    first.join(second)
    assert first.varied


def test_a_session_that_replies_nothing_was_watched() -> None:
    reply = SimpleNamespace(releases=(encode_values([None, None]),))
    with watch_releases() as releases:
        releases.note(reply)  # type: ignore[arg-type]
    assert releases.first is not None
    assert not releases.varied


VERBS: dict[str, Callable[[Any], Any]] = {
    "audit": lambda f: audits.audit(f, data=[1, 0], neighbour=[1, 1], epsilon=1.0, games=200),
    "search": lambda f: audits.search(f, data=st.lists(st.integers(0, 1)), epsilon=1.0, max_calls=1_000),
    "assert_private": lambda f: audits.assert_private(f, epsilon=1.0, budget="quick"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("verb", VERBS)
def test_a_forgotten_return_is_an_error_in_every_verb(verb: str) -> None:
    def forget_return(data: Any, rng: np.random.Generator) -> None:
        sum(data) + rng.laplace()

    with pytest.raises(NothingTested, match="released None in every game"):
        VERBS[verb](forget_return)


@pytest.mark.thorough
def test_an_audit_of_data_on_which_nothing_else_is_released_says_so() -> None:
    with pytest.warns(SameReleases):
        verdict = audits.audit(find_many, epsilon=1.0, games=200)
    assert "note: every game of both worlds released 'few'" in verdict.summary()


def test_what_is_compared_is_counted_and_named() -> None:
    _, releases = watch(repeat)
    assert releases.describe().startswith('1 number, 1 text (key "n", key "status"); not compared: types of ')
