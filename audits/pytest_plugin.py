"""The pytest plug-in: every privacy test states its probability of a false alarm, and spends no more.

pytest loads this module wherever dp-arena is installed, so it imports nothing of dp-arena before a test
needs it. docs/testing.md explains its use.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import wraps
from hashlib import sha256
from inspect import iscoroutinefunction
from math import fsum
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from audits.testing import NotPrivate, Outcome

MARK = "privacy"
FIXTURE = "assert_private"
_DEFAULT, _TOTAL = "privacy_error", "privacy_error_total"
_PROPERTY = "privacy"  # of the last report of a test; JUnit files and workers of pytest-xdist transmit it
_FOLDER = "dp-arena"  # of pytest's cache, for replays
_MAX_NAME, _DIGITS = 50, 8  # characters of the name of a replay: of the test's name, and of a digest
_RESERVE = 2  # times max_examples, as Hypothesis also tries explicit, stored and rejected examples
_ROUNDING = 1 + 1e-9  # tolerance for sums of errors in floating point


@dataclass
class Account:
    """Probabilities that a test may fail, and may have failed, although every claim is true.

    games: played in each world. refuted: one line for each refuted claim; of a Hypothesis test, those of its
    last example, which it reports. undecided: the same for each claim that is neither refuted nor not
    refuted.
    replays: the commands that play the reported refutations again.
    """

    granted: float
    spent: float = 0.0
    calls: int = 0
    games: int = 0
    refuted: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    replays: list[str] = field(default_factory=list)


class ErrorBudget:
    """The error of one test: that of the whole test, or, under `@given`, of each example its share."""

    def __init__(self, granted: float) -> None:
        self.account = Account(granted)
        self._whose, self._granted, self._remainder = "this test", granted, granted  # for the next calls
        self._is_failing = self._is_exhausted = self.has_examples = False

    def wrap_example(self, inner_test: Callable[..., Any]) -> Callable[..., Any]:
        """A Hypothesis test that grants every example the same share, so that the same example always has the
        same outcome. Once one has failed, the test fails: smaller ones, and those that are repeated, spend
        nothing of the test's error."""
        from hypothesis import settings
        from hypothesis.errors import HypothesisException

        @wraps(inner_test)
        def run_example(*arguments: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            account, share = self.account, self.account.granted / (_RESERVE * settings().max_examples)
            self.has_examples = True
            if not self._is_failing and account.spent + share > account.granted * _ROUNDING:
                self._is_exhausted = True
            self._whose, self._granted, self._remainder = "each example of this test", share, share
            if self._is_exhausted:
                self._whose, self._granted, self._remainder = "this test", account.granted, 0.0
            account.refuted.clear()
            account.undecided.clear()
            try:
                return inner_test(*arguments, **named)
            except (Exception, pytest.fail.Exception) as error:
                self._is_failing |= not isinstance(error, HypothesisException)  # which rejects an example
                raise

        return run_example

    def spend(self, error: float | None) -> float:
        """Spend an error, or all that remains; the test fails if the remainder does not suffice."""
        amount = self._remainder if error is None else error
        if amount <= 0 or amount > self._remainder * _ROUNDING:
            request = "" if error is None else f" and requests {error:g}"
            pytest.fail(
                f"{self._whose} was granted an error of {self._granted:g}, has spent "
                f"{self._granted - self._remainder:g} of it{request}. Grant more with "
                f"@pytest.mark.{MARK}(error=...), or give each call its share, error=...",
                pytrace=False,
            )
        self._remainder -= amount
        self.account.spent += 0.0 if self._is_failing else amount
        self.account.calls += 1
        return amount

    def record(self, outcome: Outcome) -> None:
        """Record the outcome of a test of a claim."""
        self.account.games += outcome.games
        if outcome.undecided:
            self.account.undecided.append(f"{outcome.learner}: {outcome.undecided}")
        if outcome.refutation is not None:
            verdict = outcome.refutation.verdict
            searched = outcome.refutation.search is not None
            adversary = "an adversary found by a search" if searched else verdict.adversary
            self.account.refuted.append(
                f"{verdict.learner} against {adversary}: {verdict.write_bound()}{verdict.curve_note} "
                f"certified, claimed {verdict.claim.epsilon:.4g} (δ = {verdict.claim.delta:.3g}, "
                f"confidence {100 * verdict.confidence:.10g} %)"
            )


_errors = pytest.StashKey["tuple[float | None, float | None]"]()  # the default, and the maximum sum
_budget = pytest.StashKey[ErrorBudget]()  # of a test, and of the configuration: that of the test that runs


@contextmanager
def _untraced() -> Iterator[None]:
    """Keep Hypothesis, which explains failures by the lines that ran, from tracing all games: they would take
    twenty times as long. Debuggers and tools that measure coverage go on."""
    trace: Any = sys.gettrace()
    monitoring: Any = getattr(sys, "monitoring", None)  # from Python 3.12 on
    if str(getattr(trace, "__module__", "")).startswith("hypothesis."):
        sys.settrace(None)
    else:
        trace = None
    tools = [] if monitoring is None else [n for n in range(6) if monitoring.get_tool(n) == "scrutineer"]
    events = [(tool, monitoring.get_events(tool)) for tool in tools]
    for tool in tools:
        monitoring.set_events(tool, 0)
    try:
        yield
    finally:
        for tool, own in events:
            monitoring.set_events(tool, own)
        if trace is not None:
            sys.settrace(trace)


class AssertPrivate:
    """`audits.testing.assert_private`, within the error that the test that runs is granted."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def __repr__(self) -> str:
        return FIXTURE  # in the examples that Hypothesis prints

    def __call__(self, learner: Any = None, *, error: float | None = None, **settings: Any) -> Outcome:
        __tracebackhide__ = True
        from audits.testing import NotPrivate, Undecided
        from audits.testing import assert_private as assert_without_budget

        budget = self._config.stash.get(_budget, None)
        if budget is None:
            pytest.fail(
                f"{FIXTURE} spends the error of a test, and this one has none. Make {FIXTURE} an argument of "
                f"the test, or mark the test with @pytest.mark.{MARK}.",
                pytrace=False,
            )
        try:
            with _untraced():
                outcome = assert_without_budget(learner, error=budget.spend(error), **settings)
        except NotPrivate as failure:
            if budget.has_examples:
                failure.brief = True  # Hypothesis formats every failure, and its game takes long
            budget.record(failure.outcome)
            raise
        except Undecided as failure:
            budget.record(failure.outcome)
            raise
        budget.record(outcome)
        return outcome


# Of the session, since Hypothesis refuses fixtures that are made for each test, but not for each example.
@pytest.fixture(scope="session")
def assert_private(pytestconfig: pytest.Config) -> AssertPrivate:
    """`audits.testing.assert_private`, within the error that the mark `privacy` grants the test."""
    return AssertPrivate(pytestconfig)


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
        item.stash[_budget] = item.config.stash[_budget] = ErrorBudget(granted)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        if _budget in item.config.stash:
            del item.config.stash[_budget]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Tell the budget of a Hypothesis test where its examples begin."""
    budget = item.stash.get(_budget, None)
    handle: Any = getattr(getattr(item, "obj", None), "hypothesis", None)
    inner_test = getattr(handle, "inner_test", None)
    if budget is None or inner_test is None or iscoroutinefunction(inner_test):
        return (yield)
    handle.inner_test = budget.wrap_example(inner_test)
    try:
        return (yield)
    finally:
        handle.inner_test = inner_test  # other tests of the function's parameters have budgets of their own


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the account for the summary, and print a refutation below the traceback instead of in it."""
    module: Any = sys.modules.get("audits.testing")  # never imported if no test uses it
    budget = item.stash.get(_budget, None)
    if module is not None:
        module.NotPrivate.brief = True
    try:
        report = yield
    finally:
        if module is not None:
            module.NotPrivate.brief = False
    if report.failed and call.excinfo is not None and module is not None:
        for failure in _list_failures(call.excinfo.value, module.NotPrivate):
            replay, text = _save_replay(item, failure)
            add = getattr(report.longrepr, "addsection", None)
            if add is not None:
                add("how the claim is refuted", text)
            if budget is not None:
                budget.account.replays.append(replay)
    if report.when == "teardown" and budget is not None:
        report.user_properties.append((_PROPERTY, asdict(budget.account)))
    return report


def _list_failures(error: BaseException, kind: type[NotPrivate]) -> list[NotPrivate]:
    """The refutations among an exception and those that it groups."""
    if isinstance(error, BaseExceptionGroup):
        return [failure for each in error.exceptions for failure in _list_failures(each, kind)]
    return [error] if isinstance(error, kind) else []


def _save_replay(item: pytest.Item, failure: NotPrivate) -> tuple[str, str]:
    """The command that replays a refutation, in one line, and all that is known of it.

    What the command reads is written into pytest's cache, which workers of pytest-xdist share.
    """
    refutation, saved, problem = failure.refutation, None, ""
    folder = item.config.invocation_params.dir
    if refutation.source:
        name = re.sub(r"\W+", "_", item.name).strip("_")[:_MAX_NAME]
        content = f"{item.nodeid}\n{refutation.plan.describe()}"  # the same in every run
        digest = sha256(content.encode()).hexdigest()[:_DIGITS]
        try:
            cache = item.config.cache if hasattr(item.config, "cache") else None
            if cache is None:
                raise ValueError("pytest's cache is disabled")
            file = cache.mkdir(_FOLDER) / f"{name}_{digest}.py"
            saved = refutation.save(file, shown=os.path.relpath(file, folder))
        except (OSError, ValueError) as error:  # InvalidArgument is a ValueError
            problem = f"\n\nNo file was written for the replay ({error})."
    command = refutation.replay if saved is None else saved.command
    nodeid = "::".join([os.path.relpath(item.path, folder), *item.nodeid.split("::")[1:]])
    again = f"pytest {shlex.quote(nodeid)}"
    text = refutation.describe(saved) + problem
    return command.replace(" \\\n   ", "") or again, text if command else f"{text}\n\n{again}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class Summary:
    """The section at the end of a run that has privacy tests."""

    def __init__(self) -> None:
        self._accounts: list[tuple[str, dict[str, Any]]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        account = dict(report.user_properties).get(_PROPERTY)
        if report.when == "teardown" and isinstance(account, dict):
            self._accounts.append((report.nodeid, account))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self._accounts:
            return
        granted, spent, calls, games = (
            fsum(account[name] for _, account in self._accounts)
            for name in ("granted", "spent", "calls", "games")
        )
        terminalreporter.section("privacy claims")
        terminalreporter.write_line(
            f"{_count(len(self._accounts), 'test')}, {_count(int(calls), 'assertion')}; errors granted "
            f"{granted:.4g}, spent {spent:.4g}; {games:,.0f} games in each world"
        )
        for nodeid, account in self._accounts:
            for line in account["refuted"]:
                terminalreporter.write_line(f"REFUTED {nodeid}: {line}")
            for line in account["undecided"]:
                terminalreporter.write_line(f"UNDECIDED {nodeid}: {line}")
            for command in account["replays"]:
                terminalreporter.write_line(f"    {command}")
