"""Functions of the user's files reach other processes, whatever their files hold."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import audits
from arena import CannotBeSent, PlaysAlone
from arena.parcels import pack
from arena.testing.new_process import call_in_new_processes
from audits.registry.user_files import load_function, load_schema

HELPER = """
from functools import lru_cache

@lru_cache
def double(n):
    return 2 * n
"""
SOURCE = """
import ctypes, sqlite3, tempfile, threading, types
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache, partial, singledispatch
from helper_of_plug_in import double

print("imported")
Pair = namedtuple("Pair", "a b")
Level = Enum("Level", {"LOW": 1})
lock, connection, file = threading.Lock(), sqlite3.connect(":memory:"), tempfile.TemporaryFile()
pointer = ctypes.pointer(ctypes.c_int(3))
naturals = iter(range(10**9))

@dataclass
class Scale:
    factor: int = 1
    def release(self, data, rng):
        return self.factor * cached(int(sum(data))) + rng.laplace()

@lru_cache(maxsize=4)
def cached(n):
    return n

@singledispatch
def dispatched(n):
    return n

def add(extra, data, rng):
    with lock:
        connection.execute("select 1")
        return cached(int(sum(data))) + extra + pointer.contents.value + rng.laplace()

def make(extra):
    held = threading.Lock()
    return lambda data, rng: add(extra, data, rng) + held.locked()

def plain(labels, rng):
    return Pair(double(dispatched(1)), Level.LOW.value).a + next(naturals) * 0 + file.tell() + rng.laplace()

applied, bound, closure = partial(add, 1), Scale().release, make(1)
wrapped = lru_cache(add)
nameless = lambda data, rng: add(0, data, rng)
"""


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "helper_of_plug_in.py").write_text(HELPER)
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    yield path
    for name in [name for name in sys.modules if name.startswith("arena_plugin_mine")]:
        module = sys.modules.pop(name)
        module.file.close()
        module.connection.close()


def play(function: Any) -> float:
    return float(function((0.0, 1.0), np.random.default_rng(1)))


def call_with_sum(function: Any, data: Any, rng: np.random.Generator) -> float:
    return float(function(sum(data)))


class Play:
    """A call of a function, which a new process makes."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self) -> float:
        return play(self.function)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["add", "plain", "applied", "bound", "closure", "nameless", "cached"])
def test_whatever_a_file_defines_is_sent_to_new_processes(path: Path, name: str) -> None:
    function = load_function(f"{path}:{name}")
    if name == "add":  # with other arguments than a mechanism
        function = partial(function, 0)
    if name == "cached":
        function = partial(call_with_sum, function)
    assert call_in_new_processes("mine", [Play(function)]) == [play(function)]


def test_an_edited_helper_is_sent_as_it_is_here(path: Path) -> None:
    function = load_function(f"{path}:plain")
    before = len(pack(function))
    assert b"double" in pack(function)
    path.write_text(SOURCE + "\nlonger = 1\n")
    assert len(pack(load_function(f"{path}:plain"))) > before


def test_players_that_travel_to_another_machine_are_pickled_by_value_where_possible(path: Path) -> None:
    assert len(pack(load_function(f"{path}:nameless"), by_value=True)) > 0  # by name: it holds a lock
    simple = path.with_name("simple.py")
    simple.write_text("table = [1.0] * 3\ndef f(data, rng):\n    return table[0] + rng.laplace()\n")
    assert b"arena_plugin_simple" in pack(load_function(f"{simple}:f"), by_value=True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["plain", *(pytest.param(name, marks=pytest.mark.slow) for name in ("bound", "closure"))]
)
def test_jobs_change_no_figure_of_them(path: Path, name: str) -> None:
    reports = [
        audits.audit(f"{path}:{name}", "count-swap", epsilon=1.0, games=20_000, jobs=jobs) for jobs in (1, 2)
    ]
    assert reports[0].epsilon_lower == reports[1].epsilon_lower


@pytest.mark.slow
def test_what_cannot_be_sent_is_played_by_one_process_and_it_says_so(path: Path) -> None:
    make = load_function(f"{path}:make")
    with pytest.raises(CannotBeSent):
        pack(make(1))
    alone = audits.audit(make(1), "count-swap", epsilon=1.0, games=20_000)
    with pytest.warns(PlaysAlone) as warned:
        report = audits.audit(make(1), "count-swap", epsilon=1.0, games=20_000, jobs=2)
    assert report.epsilon_lower == alone.epsilon_lower
    assert [str(warning.message) for warning in warned] == [
        "one process plays all games, since the players cannot be sent to others (TypeError: cannot pickle "
        "'_thread.lock' object: variable held of closure is a _thread.lock). Figures are the same. To use "
        "several, give the mechanism by make=, a function without arguments that makes it in each process "
        "(--set make=FILE.py:f), or make what cannot be pickled at the top level of FILE.py."
    ]
    with pytest.warns(PlaysAlone):
        found = audits.search(make(1), epsilon=1.0, examples=10, jobs=2)
    assert found.best == audits.search(make(1), epsilon=1.0, examples=10).best


def test_a_file_may_read_a_schema_of_another_folder(tmp_path: Path) -> None:
    for name in ("inner", "outer"):
        (tmp_path / name).mkdir()
    inner, outer = tmp_path / "inner" / "people.py", tmp_path / "outer" / "replay.py"
    inner.write_text("people = [1, 2]\n")
    loaded = f"load_schema({f'{inner}:people'!r})"
    outer.write_text(f"from audits.registry.user_files import load_schema\nschema = {loaded}\n")
    assert load_schema(f"{outer}:schema") == load_schema(f"{inner}:people")
