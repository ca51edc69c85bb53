"""Mechanisms of users: functions, methods, coroutine functions, models, and what makes them."""

from __future__ import annotations

import asyncio
import threading
import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.foreign_mechanisms import laplace, play_releases

import audits
from arena import CannotBeSent, InvalidArgument, Sample, Unsupported
from arena.parcels import pack
from audits.registry.settings_text import find_own_settings
from audits.testing import NotPrivate, assert_private
from learners.foreign.function import Function

SAMPLE = Sample([0.5, 2.0], [1, 0], [2, 1])


class Scaled:
    """A model: fitted to points and labels, with a generator for its noise."""

    def __init__(self, scale: float = 1.0, random_state: Any = None) -> None:
        self.scale, self.random_state = scale, random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"scale": self.scale, "random_state": self.random_state}

    def set_params(self, **parameters: Any) -> None:
        vars(self).update(parameters)

    def fit(self, points: np.ndarray, labels: np.ndarray) -> Scaled:
        assert not hasattr(self, "coef_"), "a game sees the model of another"
        noise = self.random_state.laplace(scale=self.scale, size=2)
        self.coef_ = np.array([labels @ points[:, 0], labels.sum()]) + noise
        return self


class WithMethods:
    def __init__(self, lock: Any = None) -> None:
        self.lock = lock

    def release(self, labels: Any, rng: np.random.Generator) -> float:
        return laplace(labels, rng)

    async def __call__(self, labels: Any, *, rng: np.random.Generator) -> float:
        return laplace(labels, rng)


def by_name(labels: Any, *, rng: np.random.Generator) -> float:
    return laplace(labels, rng)


def after_another(labels: Any, scale: float = 1.0, rng: Any = None) -> float:
    return laplace(labels, rng)


async def waiting(labels: Any, rng: np.random.Generator) -> float:
    await asyncio.sleep(0)
    return laplace(labels, rng)


def make_enclosing() -> Any:
    lock = threading.Lock()  # which cannot be pickled

    def enclosing(labels: Any, rng: np.random.Generator) -> float:
        with lock:
            return laplace(labels, rng)

    return enclosing


@pytest.mark.parametrize(
    ("mechanism", "title"),
    [
        (by_name, "by_name"),
        (after_another, "after_another"),
        (waiting, "waiting"),
        (partial(waiting), "waiting()"),
        (WithMethods().release, "WithMethods.release"),
        (WithMethods(), "WithMethods"),
        (partial(after_another, scale=2.0), "after_another(scale=2.0)"),
        (partial(after_another, scale=np.arange(99.0)), "after_another(...)"),
    ],
)
def test_functions_of_all_kinds_draw_the_same(mechanism: Any, title: str) -> None:
    learner = Function(function=mechanism, epsilon=1.0, receives="labels")
    assert (learner.own_name, learner.name, learner.effective_coins) == (title, "function", "given")
    expected = play_releases(Function(function=laplace), SAMPLE)
    assert play_releases(learner, SAMPLE).tolist() == expected.tolist()


@pytest.mark.parametrize("model", [Scaled, partial(Scaled, scale=2.0), Scaled(2.0)])
def test_a_model_is_fitted_anew_in_each_game(model: Any) -> None:
    learner = Function(function=model, epsilon=1.0)
    assert (learner.receives, learner.effective_coins) == ("both", "given")
    assert "receives" not in find_own_settings(learner)
    first, again = (play_releases(learner, SAMPLE) for _ in range(2))
    assert len(np.unique(first, axis=0)) == 3
    assert first.tolist() == again.tolist()
    with pytest.raises(InvalidArgument, match="one game at a time"):
        Function(function=model, vectorised=True)


def test_models_of_other_parameters_are_other_plans() -> None:
    one, same, other = (Function(function=Scaled(scale)) for scale in (1.0, 1.0, 2.0))
    assert one == same != other


@pytest.mark.thorough
def test_a_model_of_a_library_is_a_mechanism() -> None:
    from sklearn.linear_model import LinearRegression

    learner = Function(function=LinearRegression, epsilon=1.0)
    assert (learner.receives, learner.own_coins) == ("both", True)
    releases = play_releases(learner, SAMPLE)
    assert len(np.unique(releases, axis=0)) == 1  # without noise


def test_what_a_maker_makes_is_made_once_in_a_process() -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return laplace

    learner = Function(make=make, epsilon=1.0)
    assert play_releases(learner, SAMPLE).tolist() == play_releases(learner, SAMPLE).tolist()
    assert (learner.own_name, made) == ("laplace", [1])


@pytest.mark.thorough
def test_a_maker_changes_no_figure_and_lets_workers_play() -> None:
    by_maker = audits.audit(make=make_enclosing, epsilon=0.5, games=4_000)
    assert by_maker.learner == "enclosing"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of one process that plays everything
        by_workers = audits.audit(make=make_enclosing, epsilon=0.5, games=4_000, jobs=2)
    given = audits.audit(make_enclosing(), epsilon=0.5, games=4_000)
    assert by_maker.epsilon_lower == by_workers.epsilon_lower == given.epsilon_lower > 0.5


@pytest.mark.parametrize(
    ("mechanism", "place"),
    [
        (make_enclosing(), "variable lock of enclosing is a _thread.lock"),
        (partial(laplace, rng=threading.Lock()), "argument rng of laplace(...) is a _thread.lock"),
        (WithMethods([threading.Lock()]).release, "attribute lock of WithMethods holds a _thread.lock"),
    ],
)
def test_what_cannot_be_sent_is_named(mechanism: Any, place: str) -> None:
    with pytest.raises(CannotBeSent) as refused:
        pack([mechanism])
    assert str(refused.value).endswith(f": {place}")


async def leave_a_task(data: Any) -> float:
    asyncio.create_task(asyncio.sleep(60))  # noqa: RUF006
    return 1.0


def need_a_loop(data: Any) -> float:
    asyncio.get_running_loop()
    return 1.0


def lose_a_device(data: Any) -> float:
    raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (leave_a_task, "leave_a_task must end the tasks .* got '1 that still run'. Await them"),
        (need_a_loop, "need_a_loop cannot be played .* no running event loop'. Make it a coroutine function"),
        (lose_a_device, "lose_a_device cannot be played .* subprocess'. Give it by make="),
        (lambda data: waiting(data, np.random.default_rng(0)), "got 'coroutine'. Make the mechanism a cor"),
    ],
)
def test_what_needs_an_event_loop_or_a_device_is_told_so(mechanism: Any, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        play_releases(Function(function=mechanism), SAMPLE, games=1)


def test_coroutines_are_run_where_a_loop_runs_already() -> None:
    """As in a notebook."""

    async def play_here() -> list[float]:
        return list(play_releases(Function(function=waiting), SAMPLE).tolist())

    assert asyncio.run(play_here()) == play_releases(Function(function=waiting), SAMPLE).tolist()


class NeedsArguments:
    def __init__(self, scale: float) -> None: ...

    def fit(self, data: Any) -> None: ...


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "a mechanism is given by function or by make"),
        ({"function": laplace, "make": make_enclosing}, "by function or by make.*, got 'both'"),
        ({"make": lambda: 3.0}, "<lambda> must return a function, or a model .*, got 'float'"),
        ({"make": lambda: 1 / 0}, "which makes the mechanism, raised ZeroDivisionError"),
        ({"function": NeedsArguments}, r"made without arguments .*NeedsArguments\(scale.* functools.partial"),
        ({"function": lambda: 1.0}, r"must take data, got '<lambda>\(\)'"),
        ({"function": 3.0}, "function must be a function, got 3.0"),
    ],
)
def test_refused_mechanisms(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Function(**settings)


@pytest.mark.thorough
def test_a_mechanism_is_given_once() -> None:
    with pytest.raises(InvalidArgument, match=r"by make=, .* got 'both laplace and make'"):
        audits.audit(laplace, make=make_enclosing, epsilon=1.0)
    with pytest.raises(InvalidArgument, match="a learner is given, or make="):
        audits.audit(epsilon=1.0)
    with pytest.raises(NotPrivate, match="enclosing violates its claim"):
        assert_private(make=make_enclosing, claim=(0.2, 0.0), against="count-swap")


# --- what would receive a generator -------------------------------------------------------------------------


def release_with_epsilon(labels: Any, epsilon):  # type: ignore[no-untyped-def]
    return labels.sum() + epsilon


def release_with_size(labels: Any, max_size):  # type: ignore[no-untyped-def]
    return labels.sum() + max_size


def release_with_number(labels: Any, spread: float) -> float:
    return float(labels.sum() + spread)


def release_with_noise(labels: Any, noise: np.random.Generator) -> float:
    return float(labels.sum() + noise.laplace())


def release_with_k(labels: Any, k: np.random.Generator) -> float:
    return float(labels.sum() + k.laplace())


def release_with_random(labels: Any, random_number_generator):  # type: ignore[no-untyped-def]
    return labels.sum() + random_number_generator.laplace()


@pytest.mark.parametrize(
    ("function", "name"),
    [(release_with_epsilon, "epsilon"), (release_with_size, "max_size"), (release_with_number, "spread")],
)
def test_an_argument_that_is_plainly_no_generator_is_refused(function: Any, name: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        Function(function=function, epsilon=1.0)
    message = str(refused.value)
    assert f"would receive a random number generator as its argument {name}" in message
    assert f"functools.partial({function.__name__}, {name}=...)" in message
    assert Function(function=partial(function, **{name: 1.0}), epsilon=1.0).effective_coins == "own"


@pytest.mark.parametrize("function", [release_with_noise, release_with_k, release_with_random])
def test_a_generator_may_have_any_name(function: Any) -> None:
    assert Function(function=function, epsilon=1.0).effective_coins == "given"


def test_parameters_of_classes_for_sessions_and_streams_are_no_generators() -> None:
    class Server:
        def __init__(self, data: list[int], epsilon):  # type: ignore[no-untyped-def]
            self.data = data

        def ask(self, query: int) -> float:
            return 0.0

    class Total:
        def __init__(self, scale):  # type: ignore[no-untyped-def]
            self.scale = scale

        def update(self, record: int) -> float:
            return 0.0

    with pytest.raises(InvalidArgument, match="generator as its argument epsilon"):
        audits.session(Server, data=[0, 1], ask=[0])
    with pytest.raises(InvalidArgument, match="generator as its argument scale"):
        audits.stream(Total)
    audits.stream(Total, scale=1.0)

    class Named(Server):
        def __init__(self, data: list[int], epsilon: float = 1.0, *, rng: np.random.Generator) -> None:
            self.data, self.rng = data, rng

    learner: Any = audits.session(Named, data=[0, 1], ask=[0])
    assert learner.effective_coins == "given"
