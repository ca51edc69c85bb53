"""Tests of privacy with Hypothesis: `@given` with the fixture, in runs of pytest of their own."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.pytest_runs import Run, make_run

# Imported here so that runs in this process share them.
import audits.testing  # noqa: F401
import learners.predictors.vote_predictors
import learners.releases.counts  # noqa: F401

pytest_plugins = ("pytester",)

GIVEN = """
import pytest
from hypothesis import Phase, assume, given, settings, strategies as st
from learners.predictors.vote_predictors import StaticErm
from learners.releases.counts import LaplaceCount

PHASES = (Phase.generate, Phase.shrink)
QUICK = settings(deadline=None, max_examples=4, derandomize=True, database=None, phases=PHASES)
EPSILONS = st.sampled_from([0.5, 1.0, 2.0, 3.0])

@QUICK
@given(EPSILONS)
def test_stands(assert_private, epsilon):
    outcome = assert_private(LaplaceCount(epsilon=epsilon), against="count-swap", games=500)
    assert outcome.error == 1e-6 / 8

@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.privacy(error=1e-4)
@QUICK
@given(size=st.integers(1, 9))
def test_leaks_from_three_on(assert_private, size, sign):
    claim = (1 if sign * size > 2 else 9, 0)
    learner = LaplaceCount(epsilon=4.0)
    assert_private(learner, claim=claim, against="count-swap", games=500, allow_underpowered=True)

@QUICK
@given(EPSILONS)
def test_spends_the_share_of_an_example_twice(assert_private, epsilon):
    for seed in range(2):
        assert_private(LaplaceCount(), against="count-swap", games=500, seed=seed)

@QUICK
@given(EPSILONS)
def test_divides_the_share_of_an_example(assert_private, epsilon):
    for seed in range(2):
        assert_private(LaplaceCount(), against="count-swap", games=500, seed=seed, error=5e-8)

@QUICK
@given(st.integers(0, 1_000))
def test_rejects_too_many(assert_private, number):
    assert_private(LaplaceCount(), against="count-swap", games=500)
    assume(number == 0)

class TestMethods:
    @QUICK
    @given(EPSILONS)
    def test_fails_by_itself(self, assert_private, epsilon):
        assert_private(LaplaceCount(), against="count-swap", games=500)
        assert epsilon < 2
"""
HYPOTHESIS = ("-p", "hypothesispytest")


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    return make_run(pytester, monkeypatch)


@pytest.mark.thorough
def test_a_test_of_hypothesis_may_use_the_fixture(run: Callable[..., Run]) -> None:
    ran = run(GIVEN, *HYPOTHESIS, "-k", "stands")
    assert "1 test, 4 assertions; errors granted 1e-06, spent 5e-07; 2,000 games in each world" in ran.text


NESTED = """
from hypothesis import given, settings, strategies as st

@settings(deadline=None, max_examples=1, derandomize=True, database=None)
@given(scale=st.floats(14, 100))
def test_data_of_any_strategy(assert_private, scale):
    def report(data, rng):
        return sum(data) + rng.laplace(scale=scale)

    data = st.lists(st.integers(0, 1), max_size=3)
    assert_private(report, data=data, neighbours="add or remove one", epsilon=1, max_calls=1_500)
"""


@pytest.mark.thorough
def test_a_strategy_of_data_is_drawn_within_a_test_of_hypothesis(run: Callable[..., Run]) -> None:
    ran = run(NESTED, *HYPOTHESIS)
    assert "1 passed" in ran.text


@pytest.mark.slow
def test_examples_of_hypothesis_share_the_error_of_their_test(run: Callable[..., Run]) -> None:
    ran = run(GIVEN, *HYPOTHESIS)
    lines = ran.text.splitlines()
    assert "4 failed, 3 passed" in ran.text
    assert "HealthCheck" not in ran.text
    # The smallest example that fails, refuted at the share of the first.
    assert "E           size=3," in lines
    assert "E           assert_private=assert_private," in lines
    refuted = [line for line in lines if line.startswith("REFUTED")]
    assert len(refuted) == 1
    assert refuted[0].startswith("REFUTED test_them.py::test_leaks_from_three_on[1]: laplace-count against c")
    assert refuted[0].endswith(" (δ = 0, confidence 99.99875 %)")
    command = "    arena audit laplace-count --set epsilon=4.0 --against count-swap"
    assert len([line for line in lines if line.startswith(command)]) == 1
    share = "each example of this test was granted an error of 1.25e-07, has spent 1.25e-07 of it. Grant more"
    assert any(line.startswith(share) for line in lines)
    assert any(line.startswith("this test was granted an error of 1e-06, has spent 1e-06") for line in lines)
    (summary,) = (line for line in lines if line.startswith("7 tests, "))
    # A test spends a share for each example, but nothing once one fails. Each has four at most, and may fail
    # in the first.
    spent = float(summary.partition("spent ")[2].partition(";")[0])
    assert (
        1.25e-7 * (4 + 500 + 1 + 3.2 + 8 + 1)
        <= spent * 1.001
        <= 1.25e-7 * (4 + 800 + 1 + 3.2 + 8 + 4) * 1.002
    )
    again = run(GIVEN, *HYPOTHESIS, "-k", "leaks").text.splitlines()
    assert refuted == [line for line in again if line.startswith("REFUTED")]


@pytest.mark.thorough
def test_any_failure_may_be_shrunk_for_as_long_as_it_takes(run: Callable[..., Run]) -> None:
    source = GIVEN[: GIVEN.index("@QUICK")]
    source += """
@QUICK
@given(st.integers(0, 9_999))
def test_raises(assert_private, number):
    assert_private(LaplaceCount(), against="count-swap", games=500)
    if number >= 100:
        raise ValueError("too large")
"""
    text = run(source, *HYPOTHESIS).text
    assert "FAILED test_them.py::test_raises - ValueError: too large" in text
    assert re.search(r"^E +number=100,$", text, re.MULTILINE)
    assert int(re.search(r"1 test, (\d+) assertions", text)[1]) > 8  # type: ignore[index]


@pytest.mark.thorough
def test_a_search_within_a_test_of_hypothesis_is_the_same_search(run: Callable[..., Run]) -> None:
    source = (
        GIVEN[: GIVEN.index("@pytest.mark.parametrize")]
        + """
from audits.testing import NotPrivate, assert_private as assert_outside

def find(assert_private, **error):
    with pytest.raises(NotPrivate) as failure:
        assert_private(StaticErm(), claim=(1, 0), budget="quick", **error)
    return failure.value.adversary, failure.value.verdict.epsilon_lower

found = []

@settings(QUICK, max_examples=1)
@given(st.none())
def test_is_found(assert_private, none):
    found.append(find(assert_private))

def test_is_found_outside():
    assert found == [find(assert_outside, error=5e-7)]
"""
    )
    assert "3 passed" in run(source, *HYPOTHESIS).text


def test_the_fixture_is_of_a_test_that_is_granted_an_error(run: Callable[..., Run]) -> None:
    text = run("def test_it(request):\n    request.getfixturevalue('assert_private')('laplace-count')\n").text
    assert "assert_private spends the error of a test, and this one has none. Make assert_private an" in text
