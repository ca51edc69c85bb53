"""The pytest plug-in: privacy tests state how often they may fail by chance, and spend no more.

pytest loads this module wherever dp-arena is installed, so it imports nothing of ours before a test asks for
it. docs/testing.md shows how it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from math import fsum
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from audits.testing import NotPrivate, Outcome

MARK = "privacy"
FIXTURE = "assert_private"
_DEFAULT, _TOTAL = "privacy_error", "privacy_error_total"
_PROPERTY = "privacy"  # of a report: what JUnit files and workers of pytest-xdist pass on
_ROUNDING = 1 + 1e-9


class Account:
    """What a test may spend on being wrong, and what it did.

    granted, spent: chances that it fails though every claim is true. games: played in each world.
    refuted: a line on every claim that was.
    """

    def __init__(self, granted: float) -> None:
        self.granted = granted
        self.spent = 0.0
        self.games = 0
        self.refuted: list[str] = []

    def spend(self, error: float | None) -> float:
        """Spend an error, or all that is left; the test fails if that is more than it was granted."""
        left = self.granted - self.spent
        wanted = left if error is None else error
        if wanted <= 0 or wanted > left * _ROUNDING:
            asked = "" if error is None else f" and asks for {error:g}"
            pytest.fail(
                f"this test was granted an error of {self.granted:g}, has spent {self.spent:g} of it{asked}. "
                f"Grant more with @pytest.mark.{MARK}(error=...), or give each call its share, error=...",
                pytrace=False,
            )
        self.spent += wanted
        return wanted

    def enter(self, outcome: Outcome) -> None:
        """Take note of what a test of a claim came to."""
        self.games += outcome.games
        if outcome.finding is not None:
            found = outcome.finding.verdict
            by = found.adversary if outcome.finding.sought is None else "an adversary that a search found"
            self.refuted.append(
                f"{found.learner} against {by}: ε ≥ {found.epsilon_lower:.4g} certified, where "
                f"{found.claim.epsilon:.4g} is claimed (δ = {found.claim.delta:.3g}, "
                f"confidence {100 * found.confidence:.10g} %)"
            )

    def told(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "granted": self.granted,
            "spent": self.spent,
            "games": self.games,
            "refuted": self.refuted,
        }


_account = pytest.StashKey[Account]()
_errors = pytest.StashKey["tuple[float, float | None]"]()


@pytest.fixture
def assert_private(request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    """`audits.testing.assert_private`, whose errors in one test sum to what its mark `privacy` grants."""
    from audits.testing import NotPrivate
    from audits.testing import assert_private as asserted

    account = request.node.stash[_account]

    def spending(learner: Any, *, error: float | None = None, **settings: Any) -> Outcome:
        __tracebackhide__ = True
        try:
            outcome = asserted(learner, error=account.spend(error), **settings)
        except NotPrivate as refuted:
            account.enter(refuted.outcome)
            raise
        account.enter(outcome)
        return outcome

    return spending


# --- what is granted ---------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        _DEFAULT, "The error of a privacy test that does not state one (a probability).", default="1e-6"
    )
    parser.addini(
        _TOTAL,
        "The most that the errors of all privacy tests of a run may sum to (a probability).",
        default="",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}(error): may fail though all claims are true, at most at this rate"
    )
    limit = config.getini(_TOTAL)
    config.stash[_errors] = _of_ini(config, _DEFAULT), _of_ini(config, _TOTAL) if limit else None
    config.pluginmanager.register(Summary(), f"{MARK}-summary")


def _of_ini(config: pytest.Config, name: str) -> float:
    text = config.getini(name)
    error = _probability(text)
    if error is None:
        raise pytest.UsageError(f"{name} is a probability between 0 and 1, got {text!r}")
    return error


def _probability(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 < number < 1 else None


def granted_to(item: pytest.Item) -> float | None:
    """The error that a test is granted; None if it is no privacy test.

    Raises: ValueError if its mark makes no sense.
    """
    mark = item.get_closest_marker(MARK)
    default, _ = item.config.stash[_errors]
    if mark is None:
        return default if FIXTURE in getattr(item, "fixturenames", ()) else None
    error = _probability(mark.kwargs.get("error", default))
    if mark.args or set(mark.kwargs) - {"error"} or error is None:
        raise ValueError(
            f"{item.nodeid}: write @pytest.mark.{MARK}(error=...), a probability between 0 and 1, "
            f"got {mark.args or mark.kwargs}"
        )
    return error


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Put one failure in the place of tests whose errors make no sense or sum to too much.

    An exception would say the same, but not from a worker of pytest-xdist.
    """
    outcome = yield
    refusal = _refusal(items, config.stash[_errors][1])
    if refusal:
        items[:] = [Refused.from_parent(session, name="errors of privacy tests", refusal=refusal)]
    return outcome


def _refusal(items: Iterable[pytest.Item], limit: float | None) -> str:
    try:
        granted = [error for item in items if (error := granted_to(item)) is not None]
    except ValueError as error:
        return str(error)
    if limit is None or fsum(granted) <= limit * _ROUNDING:
        return ""
    return (
        f"the {len(granted)} privacy tests of this run are granted errors that sum to {fsum(granted):.3g}, "
        f"more than {_TOTAL} = {limit:g}. Grant them less; it takes a few more games each."
    )


class Refused(pytest.Item):
    """The failure of a run whose privacy tests are granted what they should not be."""

    def __init__(self, *, refusal: str, **options: Any) -> None:
        super().__init__(**options)
        self.refusal = refusal

    def runtest(self) -> None:
        pytest.fail(self.refusal, pytrace=False)


# --- what came of it ---------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    granted = granted_to(item)
    if granted is not None:
        item.stash[_account] = Account(granted)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what the summary needs, and tell of a refuted claim below the traceback, not in it."""
    refuted = _refuted(call)
    if refuted is not None:
        refuted.brief = True
    report = yield
    if refuted is not None:
        refuted.brief = False
        add = getattr(report.longrepr, "addsection", None)
        if add is not None:
            add("how the claim is refuted", refuted.finding.details)
    account = item.stash.get(_account, None)
    if report.when == "call" and account is not None:
        report.user_properties.append((_PROPERTY, account.told()))
    return report


def _refuted(call: pytest.CallInfo[None]) -> NotPrivate | None:
    """The failure, if it is one of ours; where our module was never imported, none is."""
    ours = sys.modules.get("audits.testing")
    if ours is None or call.excinfo is None or not isinstance(call.excinfo.value, ours.NotPrivate):
        return None
    return call.excinfo.value


class Summary:
    """The section at the end of a run that has privacy tests."""

    def __init__(self) -> None:
        self._ran: list[tuple[str, dict[str, Any]]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = dict(report.user_properties).get(_PROPERTY)
        if report.when == "call" and isinstance(told, dict):
            self._ran.append((report.nodeid, told))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._ran:
            return
        granted, spent, games = (
            fsum(told[name] for _, told in self._ran) for name in ("granted", "spent", "games")
        )
        terminalreporter.section("privacy claims")
        terminalreporter.write_line(
            f"{len(self._ran)} test{'s' if len(self._ran) > 1 else ''}; errors granted {granted:.4g}, "
            f"spent {spent:.4g}; {games:,.0f} games in each world"
        )
        for nodeid, told in self._ran:
            for line in told["refuted"]:
                terminalreporter.write_line(f"REFUTED {nodeid}: {line}")
