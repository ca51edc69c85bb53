"""Shared by all tests: a generator seeded by the name of the test, and a limit on failures by chance."""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Generator

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from support.statistical import MARK, SUITE_RATE, total_rate

from arena.randomness import generator
from arena.testing import new_process

# Tests must not fail because the machine is busy, or because Hypothesis chose other examples than last time.
# `--hypothesis-profile=exploring` chooses other examples, as `make check-slow` does.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", unhurried, derandomize=True)
settings.register_profile("exploring", unhurried, derandomize=False)
settings.load_profile("repeatable")


# Otherwise each new process would import them again, which takes a second.
new_process.imported_once += ["audits.", "mutants.", "support."]

# An unmarked test may take half a second; it fails at three times as much, and later on a slow machine.
_MAX_CPU_SECONDS = 1.5
_SUM_SECONDS = 0.025  # CPU time of `_measure_slowness` on the machine for which half a second is meant
_MODULES_OF_A_LIBRARY = 20  # imported by one test: it pays for a library that others use, too


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(rate): may fail by chance, at most at this rate")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Replace a suite that would fail too often by chance by one failing test, before any test is deselected.

    An exception would not be shown by a worker of pytest-xdist.
    """
    total = total_rate(items)
    outcome = yield
    if total > SUITE_RATE:
        items[:] = [RatesExceeded.from_parent(session, name="rates of statistical tests", total=total)]
    return outcome


def is_quick(item: pytest.Item) -> bool:
    """Whether a test carries no marker of long tests."""
    return not any(map(item.get_closest_marker, ("thorough", "slow")))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail quick tests that take much longer than half a second of CPU time, their processes included."""
    modules, started = len(sys.modules), sum(os.times()[:4])
    outcome = yield
    seconds = sum(os.times()[:4]) - started
    imported = len(sys.modules) - modules
    if (
        is_quick(item)
        and imported < _MODULES_OF_A_LIBRARY
        and seconds > _MAX_CPU_SECONDS
        and seconds > _MAX_CPU_SECONDS * _measure_slowness()
    ):
        pytest.fail(
            f"the test took {seconds:.1f} s of CPU time, and one without a marker may take 0.5 s; "
            "make it faster, or mark it thorough",
            pytrace=False,
        )
    return outcome


def _measure_slowness() -> float:
    """How many times longer this machine takes at present than the one for which the limit is meant."""
    started = time.process_time()
    sum(number for number in range(1_000_000))
    return (time.process_time() - started) / _SUM_SECONDS


class RatesExceeded(pytest.Item):
    """A test that fails because the rates of false alarms sum to `total`."""

    def __init__(self, *, total: float, **options: object) -> None:
        super().__init__(**options)
        self.total = total

    def runtest(self) -> None:
        pytest.fail(
            f"the collected tests would fail by chance at a rate of {self.total:.3g}, more than "
            f"{SUITE_RATE:g}; give the newest of them larger samples and smaller rates",
            pytrace=False,
        )


@pytest.fixture(autouse=True)
def short_comparisons(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test is slow, 500 games in each world are compared with a declared output distribution."""
    if request.node.get_closest_marker("slow") is None:
        monkeypatch.setattr("arena.testing.laws.comparison._SECONDS", 0.0)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator like those of the arena, seeded by the names of the test and its file."""
    name = f"{request.path.name}::{request.node.name}"
    return generator(np.random.SeedSequence(zlib.crc32(name.encode())))
