"""The privacy loss: δ(ε), ε(δ), the pure ε, the trade-off curve, by hand, by brute force, at the edges."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import Claim, InvalidArgument
from audits.exact_loss import Bracket, PrivacyLoss

INF = float("inf")


def claim(epsilon: float, delta: float = 0.0) -> Claim:
    return Claim(epsilon=epsilon, delta=delta, protects=())


def within(bracket: Bracket, value: float) -> bool:
    return bracket.lower - 1e-15 <= value <= bracket.upper <= bracket.lower + 1e-12


def test_randomised_response() -> None:
    loss = PrivacyLoss.of_views([0.75, 0.25], [0.25, 0.75])
    assert loss.epsilon == pytest.approx(np.log(3), abs=1e-15)
    assert within(loss.delta(0), 0.5)
    assert within(loss.delta(np.log(2)), 0.25)
    assert within(loss.delta(np.log(3)), 0.0)
    assert within(loss.epsilon_at(0.25), np.log(2))
    assert loss.epsilon_at(0.5).upper == pytest.approx(0, abs=1e-12)
    assert loss.epsilon_at(0).upper == pytest.approx(np.log(3), abs=1e-15)


@pytest.mark.thorough
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8), st.floats(0, 3))
def test_delta_is_the_best_event(counts: list[tuple[int, int]], epsilon: float) -> None:
    p0, p1 = (np.array(column) / max(sum(column), 1) for column in zip(*counts, strict=True))
    events = chain.from_iterable(combinations(range(len(counts)), size) for size in range(len(counts) + 1))
    sums = ((p0[list(event)].sum(), p1[list(event)].sum()) for event in events)
    best = max(max(a - np.exp(epsilon) * b, b - np.exp(epsilon) * a) for a, b in sums)
    loss = PrivacyLoss.of_views(p0, p1)
    found = loss.delta(epsilon)
    assert found.lower - 1e-12 <= best <= found.upper + 1e-12
    at = loss.epsilon_at(min(max(best, 0.0), 1.0))
    assert at.lower <= epsilon + 1e-9


def test_a_view_possible_in_one_world_only() -> None:
    loss = PrivacyLoss.of_views([1.0, 0.0], [0.9, 0.1])
    assert loss.epsilon == INF
    assert within(loss.delta(50.0), 0.1)
    assert loss.epsilon_at(0.05).lower == INF
    assert loss.epsilon_at(0.2).upper == 0
    assert loss.refutes(claim(1000.0))
    assert not loss.refutes(claim(0.5, 0.2))


def test_no_privacy_loss_at_all() -> None:
    loss = PrivacyLoss.of_views([0.3, 0.7, 0.0], [0.3, 0.7, 0.0])
    assert len(loss.p0) == 2  # views of no probability are left out
    assert (loss.epsilon, loss.delta(0).lower) == (0, 0)
    assert loss.epsilon_at(0).upper == 0
    assert not loss.refutes(claim(0.0))


def test_probabilities_that_underflow() -> None:
    loss = PrivacyLoss(p0=[1.0, 0.0], p1=[1.0 - 1e-9, 1e-9], low=[0, 900], high=[0, 900])
    assert loss.epsilon == 900
    assert within(loss.delta(800.0), 1e-9)
    assert loss.epsilon_at(1e-10).upper == pytest.approx(900 + np.log1p(-0.1), abs=2e-3)
    assert loss.delta(1e6) == loss.reversed.delta(1e6)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.7, 1.2])
def test_a_wide_cell_hides_no_more_than_two_points_at_its_bounds(epsilon: float) -> None:
    low, high, mass = -0.5, 1.0, 0.4  # of world 0, evenly at both bounds
    extreme = np.array([mass / 2 * np.exp(low), mass / 2 * np.exp(high)])
    rest = np.array([1 - mass, 1 - extreme.sum()])
    whole = PrivacyLoss.of_views([mass / 2, mass / 2, rest[0]], [*extreme, rest[1]])
    bounds = np.log(rest[1] / rest[0])
    cell = PrivacyLoss(
        p0=[mass, rest[0]], p1=[extreme.sum(), rest[1]], low=[low, bounds], high=[high, bounds]
    )
    assert cell.delta(epsilon).lower <= whole.delta(epsilon).upper
    assert cell.one_sided_delta(epsilon).upper == pytest.approx(
        whole.one_sided_delta(epsilon).upper, abs=1e-12
    )
    assert cell.epsilon == 1.0


def test_a_cell_without_upper_bound() -> None:
    loss = PrivacyLoss(p0=[1.0], p1=[1.0], low=[-1.0], high=[INF])
    found = loss.one_sided_delta(3.0)
    assert (found.lower, found.upper) == (0, pytest.approx(1 - np.exp(-1), abs=1e-12))
    assert loss.epsilon_at(0.1).upper == INF
    assert loss.one_sided_delta(2000.0).upper == pytest.approx(1 - np.exp(-1), abs=1e-12)


def test_stated_errors_widen_the_bracket() -> None:
    loss = PrivacyLoss.of_views([0.75, 0.25], [0.25, 0.75], error=1e-6, unlisted=1e-5, complete=False)
    found = loss.delta(1.0)
    exact = PrivacyLoss.of_views([0.75, 0.25], [0.25, 0.75]).delta(1.0).middle
    assert exact - found.lower == pytest.approx(1e-6 * (1 + np.e), rel=1e-3)
    assert found.upper - exact == pytest.approx(1e-6 * (1 + np.e) + 1e-5, rel=1e-3)
    assert loss.stated_error == pytest.approx(1.2e-5, rel=1e-3)
    at = loss.epsilon_at(0.2)
    assert at.lower < np.log(0.55 / 0.25) < at.upper
    assert at.upper - at.lower < 1e-4
    assert loss.epsilon_at(0).upper == INF


def test_an_error_of_mass_hides_infinite_losses_far_out() -> None:
    loss = PrivacyLoss.of_views([1.0, 0.0], [0.9, 0.1], error=1e-6)
    assert loss.epsilon == INF
    assert loss.epsilon_at(0).lower == pytest.approx(np.log(0.1 / 1e-6), abs=0.01)
    # Nor is a pure ε certain that is read off masses which may be off.
    assert PrivacyLoss.of_views([0.75, 0.25], [0.25, 0.75], error=1e-6).epsilon_at(0).upper == INF


def test_a_tight_claim_stands_and_a_tighter_one_falls() -> None:
    loss = PrivacyLoss.of_views([0.75, 0.25], [0.25, 0.75])
    assert not loss.refutes(claim(np.log(3)))
    assert loss.refutes(claim(np.log(3) - 1e-6))
    assert not loss.refutes(claim(np.log(2), 0.25))
    assert loss.refutes(claim(np.log(2), 0.2499))
    assert not loss.refutes(claim(INF))


def test_a_reach_beyond_the_cells_refutes_pure_claims() -> None:
    loss = PrivacyLoss.of_views([1.0], [1.0], reach=(-2.0, 3.0))
    assert loss.epsilon == 3
    assert loss.reversed.reach == (-3.0, 2.0)
    assert loss.refutes(claim(2.9))
    assert not loss.refutes(claim(2.9, 1e-9))


@pytest.mark.thorough
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_the_tradeoff_curve_is_convex_and_tangent_to_delta(counts: list[tuple[int, int]]) -> None:
    p0, p1 = (np.array(column) / max(sum(column), 1) for column in zip(*counts, strict=True))
    if p0.sum() == 0 or p1.sum() == 0:
        return
    loss = PrivacyLoss.of_views(p0, p1)
    alpha, beta = loss.tradeoff()
    assert (alpha[0], beta[-1]) == (0, 0)
    assert alpha[-1] == pytest.approx(1)
    assert beta[0] == pytest.approx(1)
    falls, widths = -np.diff(beta), np.diff(alpha)
    assert (falls[:-1] * widths[1:] >= falls[1:] * widths[:-1] - 1e-12).all()
    for epsilon in (0.0, 0.5, 1.5):
        tangent = (1 - beta - np.exp(epsilon) * alpha).max()
        assert max(tangent, 0) == pytest.approx(loss.one_sided_delta(epsilon).middle, abs=1e-9)


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        ({"p0": [-0.1]}, "at least 0"),
        ({"p0": [np.nan]}, "must be numbers"),
        ({"p1": [INF]}, "finite"),
        ({"p0": [0.5, 0.5]}, "p0, p1, low and high"),
        ({"low": [0.5], "high": [0.6]}, "must lie within the bounds"),
        ({"low": [0.5], "high": [-0.5]}, "must lie within the bounds"),
        ({"error": -1.0}, "at least 0"),
    ],
)
def test_what_is_no_privacy_loss_is_refused(cells: dict, rule: str) -> None:
    whole = {"p0": [1.0], "p1": [1.0], "low": [-1.0], "high": [1.0], **cells}
    with pytest.raises(InvalidArgument, match=rule):
        PrivacyLoss(**whole)


def test_delta_is_asked_for_at_an_epsilon_and_the_other_way_round() -> None:
    loss = PrivacyLoss.of_views([1.0], [1.0])
    for value in (-0.1, INF, np.nan):
        with pytest.raises(InvalidArgument, match="epsilon must be"):
            loss.delta(value)
        with pytest.raises(InvalidArgument, match="delta must be"):
            loss.epsilon_at(value)
