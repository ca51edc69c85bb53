"""Shared by all tests: a generator seeded by the name of the test, and a limit on failures by chance."""

from __future__ import annotations

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
        monkeypatch.setattr("arena.testing.laws.comparison.MOST_GAMES", 500)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator like those of the arena, seeded by the names of the test and its file."""
    name = f"{request.path.name}::{request.node.name}"
    return generator(np.random.SeedSequence(zlib.crc32(name.encode())))
