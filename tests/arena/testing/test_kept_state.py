"""What a mechanism kept before it is checked is emptied; if it then answers otherwise, it is refused."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
from mutants.remembering import SYSTEM, draw_own_laplace, total

from adversaries.release.point_swap import CountSwap
from arena import NotConforming, Release, play
from arena.parcels import pack, unpack
from arena.testing.kept_state import find_kept_state
from arena.testing.memory import check_memory
from learners.foreign.function import Function


def key(data: Any) -> bool:
    """Two values, so that a memo is soon full."""
    return total(data) > 0


# --- private mechanisms with memory -------------------------------------------------------------------------


def keep_in_closure() -> Callable[..., Any]:
    memo: dict[bool, float] = {}
    return lambda data: memo.setdefault(key(data), key(data) + draw_own_laplace())


def keep_given_in_closure() -> Callable[..., Any]:
    memo: dict[bool, float] = {}
    return lambda data, rng: memo.setdefault(key(data), key(data) + rng.laplace())


def keep_in_nested_closure() -> Callable[..., Any]:
    memo: dict[bool, float] = {}

    def look_up(name: bool, draw: Callable[[], float]) -> float:
        if name not in memo:
            memo[name] = draw()
        return memo[name]

    def make() -> Callable[..., Any]:
        return lambda data: look_up(key(data), lambda: key(data) + draw_own_laplace())

    return make()


def keep_in_variable() -> Callable[..., Any]:
    noise: float | None = None

    def release(data: Any) -> float:
        nonlocal noise
        if noise is None:
            noise = draw_own_laplace()
        return key(data) + noise

    return release


def keep_in_default() -> Callable[..., Any]:
    def release(data: Any, *, memo: dict[bool, float] = {}) -> float:  # noqa: B006 - it is to be kept
        return memo.setdefault(key(data), key(data) + draw_own_laplace())

    return release


class Cached:
    def __init__(self) -> None:
        self.cache: dict[bool, float] = {}

    def __call__(self, data: Any) -> float:
        if key(data) not in self.cache:
            self.cache[key(data)] = key(data) + draw_own_laplace()
        return self.cache[key(data)]

    def release(self, data: Any) -> float:
        return self(data)

    def release_given(self, data: Any, rng: np.random.Generator) -> float:
        return self.cache.setdefault(key(data), key(data) + rng.laplace())


class Sticky:
    """Its noise is kept in an attribute, or two."""

    def __init__(self) -> None:
        self.is_ready, self.noise = False, 0.0

    def __call__(self, data: Any) -> float:
        if not self.is_ready:
            self.is_ready, self.noise = True, draw_own_laplace()
        return key(data) + self.noise


class Shared:
    noise: ClassVar[float | None] = None

    def __call__(self, data: Any) -> float:
        if Shared.noise is None:
            Shared.noise = draw_own_laplace()
        return key(data) + Shared.noise


class Lazy:
    @functools.cached_property
    def noise(self) -> float:
        return draw_own_laplace()

    def __call__(self, data: Any) -> float:
        return key(data) + self.noise


def keep_in_partial() -> Callable[..., Any]:
    return functools.partial(lambda cached, data: cached(data), Cached())


def keep_in_list() -> Callable[..., Any]:
    held = {"all": [Cached()]}
    return lambda data: held["all"][0](data)


def keep_in_arrays() -> Callable[..., Any]:
    known, values = np.zeros(2, bool), np.zeros(2)

    def release(data: Any) -> float:
        place = int(key(data))
        if not known[place]:
            known[place], values[place] = True, place + draw_own_laplace()
        return float(values[place])

    return release


def keep_bit() -> Callable[..., Any]:
    memo: dict[bool, bool] = {}
    return lambda data: int(memo.setdefault(key(data), key(data) ^ (SYSTEM.random() < 0.27)))


def keep_in_attribute_of_function() -> Callable[..., Any]:
    def release(data: Any) -> float:
        if not hasattr(release, "noise"):
            release.noise = draw_own_laplace()  # type: ignore[attr-defined]
        return key(data) + release.noise  # type: ignore[attr-defined, no-any-return]

    return release


def keep_in_generator() -> Callable[..., Any]:
    def answer() -> Iterator[Any]:
        memo: dict[bool, float] = {}
        data = yield
        while True:
            data = yield memo.setdefault(key(data), key(data) + draw_own_laplace())

    answers: Any = answer()
    next(answers)
    return lambda data: answers.send(data)


def keep_in_variable_of_generator() -> Callable[..., Any]:
    def answer() -> Iterator[Any]:
        noise, data = draw_own_laplace(), (yield)
        while True:
            data = yield key(data) + noise

    answers: Any = answer()
    next(answers)
    return lambda data: answers.send(data)


def keep_in_cache_beside_a_lock() -> Callable[..., Any]:
    """It cannot be sent, so that a copy of this process has the cache, too."""
    lock = threading.Lock()

    @functools.cache
    def draw(name: bool) -> float:
        return name + draw_own_laplace()

    def release(data: Any) -> float:
        with lock:
            return draw(key(data))

    return release


def keep_batch() -> Callable[..., Any]:
    noise: list[float] = []

    def release(data: Any, games: int) -> np.ndarray:
        noise.extend([draw_own_laplace()] * (not noise))
        return np.full(games, key(data) + noise[0])

    return release


REMEMBERING: dict[str, Callable[[], Any]] = {
    **{make.__name__: make for make in (keep_in_closure, keep_given_in_closure, keep_in_nested_closure)},
    **{make.__name__: make for make in (keep_in_variable, keep_in_default, keep_in_partial, keep_in_list)},
    **{make.__name__: make for make in (keep_in_arrays, keep_bit, keep_in_attribute_of_function)},
    **{make.__name__: make for make in (keep_in_generator, keep_in_variable_of_generator)},
    **{make.__name__: make for make in (keep_in_cache_beside_a_lock, keep_batch)},
    **{kind.__name__: kind for kind in (Cached, Sticky, Shared, Lazy)},
    "a bound method": lambda: Cached().release,
    "a bound method with rng": lambda: Cached().release_given,
}


def make_learner(mechanism: Any) -> Function:
    vectorised = getattr(mechanism, "__qualname__", "").startswith("keep_batch")
    return Function(function=mechanism, epsilon=1.0, vectorised=vectorised)


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(REMEMBERING))
def test_what_a_mechanism_kept_before_the_check_is_found(name: str) -> None:
    learner = make_learner(REMEMBERING[name]())
    for seed in range(4):  # as a user's own calls, and those before an audit
        play(learner, CountSwap(), Release(), games=8, seed=seed)
    with pytest.raises(NotConforming, match="remembers between games"):
        check_memory(learner, CountSwap(), Release())


# --- mechanisms with a state that no answer depends on ------------------------------------------------------


class Logging:
    """It counts and lists its calls, and keeps its last release, but does not use them."""

    def __init__(self) -> None:
        self.calls, self.releases, self.last = 0, list[float](), 0.0

    def __call__(self, data: Any) -> float:
        self.calls += 1
        self.last = total(data) + draw_own_laplace()
        self.releases.append(self.last)
        return self.last


class Tabulating:
    """Its table has the same entries each time that it is computed."""

    def __init__(self) -> None:
        self.table: list[float] | None = None

    def __call__(self, data: Any, rng: np.random.Generator) -> float:
        if self.table is None:
            self.table = [float(n) for n in range(100)]
        return self.table[int(total(data))] + rng.laplace()


class Configured:
    """A setting of its user's has a default, and it lists its releases."""

    def __init__(self, **settings: float) -> None:
        self.settings, self.releases = settings, list[float]()

    def __call__(self, data: Any) -> float:
        release = total(data) + self.settings.setdefault("scale", 1.0) * draw_own_laplace()
        self.releases.append(release)
        return release


class Seeded:
    """A generator of its own, which it makes when it needs one."""

    def __init__(self) -> None:
        self.source: Any = None

    def __call__(self, data: Any) -> float:
        if self.source is None:
            self.source = np.random.default_rng()
        return total(data) + SYSTEM.random() + float(self.source.laplace())


def draw_ahead() -> Callable[..., Any]:
    """Noise is drawn for many games at a time, and used once."""
    drawn: list[float] = []

    def release(data: Any) -> float:
        if not drawn:
            drawn.extend(draw_own_laplace() for _ in range(50))
        return total(data) + drawn.pop()

    return release


def draw_from_generator() -> Callable[..., Any]:
    noise = iter(draw_own_laplace, None)
    return lambda data: total(data) + next(noise)


SOUND: dict[str, Callable[[], Any]] = {
    **{kind.__name__: kind for kind in (Logging, Tabulating, Configured, Seeded)},
    "Configured with a setting": lambda: Configured(scale=3.0),
    "draw_ahead": draw_ahead,
    "draw_from_generator": draw_from_generator,
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(SOUND))
def test_a_state_that_no_answer_depends_on_is_no_memory(name: str) -> None:
    learner = make_learner(SOUND[name]())
    for seed in range(4):
        play(learner, CountSwap(), Release(), games=8, seed=seed)
    check_memory(learner, CountSwap(), Release())


# --- the state that is found --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in REMEMBERING if name != "keep_in_variable_of_generator"])
def test_a_place_that_calls_fill_is_found_once_it_is_filled(name: str) -> None:
    mechanism = REMEMBERING[name]()
    learner = make_learner(mechanism)

    def call() -> object:
        return play(learner, CountSwap(), Release(), games=2, seed=0)

    call()
    state = find_kept_state([(name, mechanism)])
    before = [place.digest for place in state.all]
    assert state.find_refilled(call)
    assert [place.digest for place in state.all] == before  # they are restored


def test_what_no_code_writes_is_not_emptied() -> None:
    class Plain:
        def __init__(self) -> None:
            self.scale, self.bounds, self.names = 2.0, {"a": (0, 1)}, ["a"]

        def __call__(self, data: Any, rng: np.random.Generator) -> dict[str, float]:
            released = {}
            for name in self.names:
                released[name] = float(np.clip(total(data), *self.bounds[name])) + self.scale * rng.laplace()
            return released

    mechanism = Plain()
    state = find_kept_state([("Plain", mechanism)])
    assert state.find_refilled(lambda: mechanism(np.ones(3), np.random.default_rng(0))) == []
    assert vars(mechanism) == vars(Plain())


def test_a_function_with_a_cache_that_no_name_finds_is_sent_with_an_empty_cache() -> None:
    @functools.lru_cache(maxsize=3)
    def double(number: int) -> int:
        return 2 * number

    assert double(4) == 8
    sent = unpack(pack(lambda number: double(number)))
    (cell,) = sent.__closure__
    assert cell.cell_contents.cache_info() == (0, 0, 3, 0)
    assert sent(4) == 8


def test_a_generator_of_the_operating_system_is_sent() -> None:
    assert 0 <= unpack(pack(lambda: SYSTEM.random()))() < 1
