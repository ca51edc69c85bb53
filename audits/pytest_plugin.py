"""The pytest plug-in: every privacy test states its probability of a false alarm, and spends no more.

pytest loads this module wherever dp-arena is installed, so it imports nothing of dp-arena before a test
needs it. docs/testing.md explains its use.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import fsum
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from audits.testing import NotPrivate, Outcome

MARK = "privacy"
FIXTURE = "assert_private"
_DEFAULT, _TOTAL = "privacy_error", "privacy_error_total"
_PROPERTY = "privacy"  # of a report; JUnit files and workers of pytest-xdist transmit it
_ROUNDING = 1 + 1e-9  # tolerance for sums of errors in floating point


@dataclass
class Account:
    """Probabilities that a test may fail, and may have failed, although every claim is true.

    games: played in each world. refuted: one line for each refuted claim.
    """

    granted: float
    spent: float = 0.0
    games: int = 0
    refuted: list[str] = field(default_factory=list)

    def spend(self, error: float | None) -> float:
        """Spend an error, or all that remains; the test fails if the remainder does not suffice."""
        remainder = self.granted - self.spent
        amount = remainder if error is None else error
        if amount <= 0 or amount > remainder * _ROUNDING:
            request = "" if error is None else f" and requests {error:g}"
            pytest.fail(
                f"this test was granted an error of {self.granted:g}, has spent {self.spent:g} of "
                f"it{request}. Grant more with @pytest.mark.{MARK}(error=...), or give each call its "
                "share, error=...",
                pytrace=False,
            )
        self.spent += amount
        return amount

    def record(self, outcome: Outcome) -> None:
        """Record the outcome of a test of a claim."""
        self.games += outcome.games
        if outcome.refutation is not None:
            verdict = outcome.refutation.verdict
            searched = outcome.refutation.search is not None
            adversary = "an adversary found by a search" if searched else verdict.adversary
            self.refuted.append(
                f"{verdict.learner} against {adversary}: ε ≥ {verdict.epsilon_lower:.4g}{verdict.curve_note} "
                f"certified, claimed {verdict.claim.epsilon:.4g} (δ = {verdict.claim.delta:.3g}, "
                f"confidence {100 * verdict.confidence:.10g} %)"
            )


_account = pytest.StashKey[Account]()
_errors = pytest.StashKey["tuple[float | None, float | None]"]()  # the default, and the maximum sum


@pytest.fixture
def assert_private(request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    """`audits.testing.assert_private`, within the error that the mark `privacy` grants the test."""
    from audits.testing import NotPrivate
    from audits.testing import assert_private as assert_without_account

    account = request.node.stash[_account]

    def assert_on_account(learner: Any = None, *, error: float | None = None, **settings: Any) -> Outcome:
        __tracebackhide__ = True
        try:
            outcome = assert_without_account(learner, error=account.spend(error), **settings)
        except NotPrivate as failure:
            account.record(failure.outcome)
            raise
        account.record(outcome)
        return outcome

    return assert_on_account


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        _DEFAULT, "Error, a probability, of a privacy test that does not state one.", default="1e-6"
    )
    parser.addini(_TOTAL, "Maximum sum of the errors of all privacy tests of a run.", default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}(error): maximum probability that the test fails although all claims are true"
    )
    errors = []
    for name in (_DEFAULT, _TOTAL):
        text = config.getini(name)
        errors.append(_parse_error(text))
        if errors[-1] is None and (text or name == _DEFAULT):
            raise pytest.UsageError(f"{name} must be a probability between 0 and 1, got {text!r}")
    config.stash[_errors] = errors[0], errors[1]
    config.pluginmanager.register(Summary(), f"{MARK}-summary")


def _parse_error(value: object) -> float | None:
    """A probability strictly between 0 and 1; None if the value is none."""
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError):
            return number if 0 < (number := float(value)) < 1 else None
    return None


def get_granted_error(item: pytest.Item) -> float | None:
    """The error that a test is granted; None if it is no privacy test. Raises: ValueError."""
    mark = item.get_closest_marker(MARK)
    default, _ = item.config.stash[_errors]
    if mark is None:
        return default if FIXTURE in getattr(item, "fixturenames", ()) else None
    error = _parse_error(mark.kwargs.get("error", default))
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
    """Replace the tests by one failure, which workers of pytest-xdist report, if their errors are refused."""
    outcome = yield
    refusal = _check_errors(items, config.stash[_errors][1])
    if refusal:
        items[:] = [InvalidErrors.from_parent(session, name="errors of privacy tests", refusal=refusal)]
    return outcome


def _check_errors(items: Iterable[pytest.Item], limit: float | None) -> str:
    """Why the errors of these tests are refused; empty if they are valid."""
    try:
        granted = [error for item in items if (error := get_granted_error(item)) is not None]
    except ValueError as error:
        return str(error)
    if limit is None or fsum(granted) <= limit * _ROUNDING:
        return ""
    return (
        f"the {len(granted)} privacy tests of this run are granted errors that sum to {fsum(granted):.3g}, "
        f"more than {_TOTAL} = {limit:g}. Grant them less; it takes a few more games each."
    )


class InvalidErrors(pytest.Item):
    """The failure of a run whose privacy tests have invalid errors."""

    def __init__(self, *, refusal: str, **options: Any) -> None:
        super().__init__(**options)
        self.refusal = refusal

    def runtest(self) -> None:
        pytest.fail(self.refusal, pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    granted = get_granted_error(item)
    if granted is not None:
        item.stash[_account] = Account(granted)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the account for the summary, and print a refutation below the traceback instead of in it."""
    module = sys.modules.get("audits.testing")  # never imported if no test uses it
    error: Any = None if call.excinfo is None else call.excinfo.value
    failure: NotPrivate | None = (
        error if module is not None and isinstance(error, module.NotPrivate) else None
    )
    if failure is not None:
        failure.brief = True
    report = yield
    if failure is not None:
        failure.brief = False
        add = getattr(report.longrepr, "addsection", None)
        if add is not None:
            add("how the claim is refuted", failure.refutation.details)
    account = item.stash.get(_account, None)
    if report.when == "call" and account is not None:
        report.user_properties.append((_PROPERTY, asdict(account)))
    return report


class Summary:
    """The section at the end of a run that has privacy tests."""

    def __init__(self) -> None:
        self._accounts: list[tuple[str, dict[str, Any]]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        account = dict(report.user_properties).get(_PROPERTY)
        if report.when == "call" and isinstance(account, dict):
            self._accounts.append((report.nodeid, account))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._accounts:
            return
        granted, spent, games = (
            fsum(account[name] for _, account in self._accounts) for name in ("granted", "spent", "games")
        )
        terminalreporter.section("privacy claims")
        terminalreporter.write_line(
            f"{len(self._accounts)} test{'s' if len(self._accounts) > 1 else ''}; errors granted "
            f"{granted:.4g}, spent {spent:.4g}; {games:,.0f} games in each world"
        )
        for nodeid, account in self._accounts:
            for line in account["refuted"]:
                terminalreporter.write_line(f"REFUTED {nodeid}: {line}")
