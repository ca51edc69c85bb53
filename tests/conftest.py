"""What all tests share: a generator seeded by the test's name, and a limit on failures by chance."""

from __future__ import annotations

import zlib
from collections.abc import Generator

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from support.statistical import MARK, SUITE_RATE, total_rate

from arena.randomness import generator

# A crowded machine is no fault, and a commit that changes nothing must not turn red: the gate goes through
# the same examples each time. `--hypothesis-profile=exploring` looks for others, as `make check-slow` does.
crowded = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", crowded, derandomize=True)
settings.register_profile("exploring", crowded, derandomize=False)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}(rate): may fail by chance, at most at this rate")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Replace a suite that would fail too often by one failure that says so, before any test is deselected.

    An exception would say the same, but not from a worker of pytest-xdist.
    """
    total = total_rate(items)
    outcome = yield
    if total > SUITE_RATE:
        items[:] = [Overdrawn.from_parent(session, name="rates of statistical tests", total=total)]
    return outcome


class Overdrawn(pytest.Item):
    """The failure of a suite whose false-alarm rates sum to `total`."""

    def __init__(self, *, total: float, **options: object) -> None:
        super().__init__(**options)
        self.total = total

    def runtest(self) -> None:
        pytest.fail(
            f"the collected tests would fail by chance at a rate of {self.total:.3g}, more than "
            f"{SUITE_RATE:g}; give the newest of them larger samples and smaller rates",
            pytrace=False,
        )


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """A generator of the arena's kind, seeded by the name of the test and of its file."""
    name = f"{request.path.name}::{request.node.name}"
    return generator(np.random.SeedSequence(zlib.crc32(name.encode())))
