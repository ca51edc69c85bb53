"""The δ that claims of each kind imply, beside exact mechanisms; their composition; their data."""

from __future__ import annotations

import json
import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from arena.errors import InvalidArgument
from arena.privacy_curves import (
    ComposedCurve,
    ConcentratedCurve,
    GaussianCurve,
    GroupCurve,
    NoisyStepsCurve,
    PrivacyCurve,
    PureCurve,
    RenyiCurve,
    TabulatedCurve,
    compose_curves,
    describe_curve,
    format_curve,
    parse_curve,
    read_curve,
)
from learners.mechanisms.accounting import optimal_composition

EPSILONS = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 4.0])
GRID = 10 * np.linspace(0, 1, 256) ** 2  # nats, of tables

CURVES: list[PrivacyCurve] = [
    GaussianCurve(0.7),
    ConcentratedCurve(0.3),
    RenyiCurve(4.0, 1.5),
    PureCurve(1.2),
    PureCurve(0.05, 60),
    NoisyStepsCurve(0.2, 1.0, 10),
    TabulatedCurve([0.5, 1.0], [0.2, 0.1]),
    GroupCurve(NoisyStepsCurve(0.2, 3.0, 10), 3),
    compose_curves([PureCurve(0.3), RenyiCurve(2.0, 0.5), PureCurve(0.3)]),
]


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_bounds_on_divergences_cover_the_gaussian_mechanism_that_has_them(mu: float) -> None:
    truth = GaussianCurve(mu).deltas(EPSILONS)
    implied = ConcentratedCurve(mu**2 / 2).deltas(EPSILONS)
    assert (implied >= truth).all()
    assert ConcentratedCurve(mu**2 / 2).epsilon(1e-5) < 1.1 * GaussianCurve(mu).epsilon(1e-5) + 0.05
    for order in (1.1, 2.0, 16.0):
        assert (RenyiCurve(order, order * mu**2 / 2).deltas(EPSILONS) >= 0.99 * implied - 1e-9).all()


@pytest.mark.parametrize(("order", "bound"), [(1.5, 0.2), (2.0, 1.0), (8.0, 3.0)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_delta_of_one_order_is_the_largest_that_the_data_processing_inequality_allows(
    order: float, bound: float, epsilon: float
) -> None:
    def excess(q: float, p: float) -> float:
        moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
        return math.log(moment) - (order - 1) * bound

    chances = np.concatenate([np.geomspace(1e-5, 0.5, 300), 1 - np.geomspace(1e-6, 0.5, 300)])
    best = max(p - math.exp(epsilon) * brentq(excess, 1e-30, p, args=(p,)) for p in chances)
    assert best <= RenyiCurve(order, bound).deltas(np.array([epsilon]))[0] <= 1.02 * best + 1e-9


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_delta_falls_with_epsilon_and_grows_with_the_scale(curve: PrivacyCurve) -> None:
    deltas = curve.deltas(EPSILONS)
    assert ((deltas >= 0) & (deltas <= 1)).all()
    assert (np.diff(deltas) <= 1e-12).all()
    assert (curve.rescale(0.9).deltas(EPSILONS) <= deltas + 1e-9).all()
    assert (curve.rescale(1.1).deltas(EPSILONS) >= deltas - 1e-9).all()


@pytest.mark.parametrize("curve", CURVES, ids=str)
def test_plain_data_describe_it(curve: PrivacyCurve) -> None:
    assert read_curve(json.loads(json.dumps(describe_curve(curve)))) == curve
    text = format_curve(curve)
    assert text is None or parse_curve(text) == curve


def test_short_texts_name_curves(tmp_path: Path) -> None:
    assert parse_curve("mu=0.5") == GaussianCurve(0.5)
    assert parse_curve("rho=0.1") == ConcentratedCurve(0.1)
    assert parse_curve("rdp=8,2") == RenyiCurve(8, 2)
    assert format_curve(RenyiCurve(8.0, 2.0)) == "rdp=8.0,2.0"
    table, errors = tmp_path / "table.csv", tmp_path / "errors.csv"
    table.write_text("epsilon,delta\n0,0.5\n1,0.25\n")
    errors.write_text("type_1_error,type_2_error\n0,1\n0.25,0.25\n1,0\n")
    assert parse_curve(str(table)) == TabulatedCurve([0, 1], [0.5, 0.25])
    assert parse_curve(str(errors)).deltas(np.array([0.0, math.log(3)])) == pytest.approx([0.5, 0.0])


def test_a_table_of_a_function_is_never_below_it_and_close() -> None:
    truth = GaussianCurve(1.0)
    table = TabulatedCurve(GRID, truth.deltas(GRID))
    assert (table.deltas(EPSILONS) >= truth.deltas(EPSILONS) - 1e-12).all()
    assert table.deltas(EPSILONS) == pytest.approx(truth.deltas(EPSILONS), rel=0.01)


def test_one_point_implies_what_is_left_of_it() -> None:
    """(1, 0.1)-DP allows an event with probabilities (e + 0.1)/(1 + e) and 0.9/(1 + e)."""
    corner = 0.9 / (1 + math.e)
    expected = [1 - corner - math.exp(epsilon) * corner for epsilon in (0.0, 0.5)]
    assert TabulatedCurve([1.0], [0.1]).deltas(np.array([0.0, 0.5, 1.0, 3.0])) == pytest.approx(
        [*expected, 0.1, 0.1]
    )


def test_composition_of_pure_claims_is_the_optimal_one() -> None:
    curve = compose_curves([PureCurve(0.1), PureCurve(0.1, 49)])
    assert curve == PureCurve(0.1, 50)
    exact = optimal_composition(50, 0.1, slack=1e-5).epsilon
    assert curve.epsilon(1e-5) == pytest.approx(exact, rel=1e-9)
    assert curve.epsilon(0.0) == pytest.approx(5.0)
    found, truth = ComposedCurve((PureCurve(0.1, 2),), (25,)).deltas(EPSILONS), curve.deltas(EPSILONS)
    assert (found >= truth).all()
    assert found == pytest.approx(truth, abs=3e-4)


@pytest.mark.parametrize(("bound", "times"), [(0.7, 1), (0.3, 2), (2.0, 3), (0.4, 8)])
def test_pure_answers_are_no_better_than_so_many_of_randomised_response(bound: float, times: int) -> None:
    truth = 1 / (1 + math.exp(-bound))
    answers = [sum(answer) for answer in product([0, 1], repeat=times)]
    p = np.array([truth ** (times - lies) * (1 - truth) ** lies for lies in answers])
    q = np.array([truth**lies * (1 - truth) ** (times - lies) for lies in answers])
    expected = np.maximum(p - np.exp(EPSILONS)[:, None] * q, 0).sum(axis=1)
    assert PureCurve(bound, times).deltas(EPSILONS) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_composition_of_gaussian_curves_adds_their_squares() -> None:
    parts = GaussianCurve(0.6), GaussianCurve(0.8)
    assert compose_curves(parts) == GaussianCurve(1.0)
    assert compose_curves([ConcentratedCurve(0.1)] * 2) == ConcentratedCurve(0.2)
    assert compose_curves([RenyiCurve(3.0, 0.25)] * 2) == RenyiCurve(3.0, 0.5)
    assert isinstance(compose_curves([RenyiCurve(3.0, 0.25), RenyiCurve(2.0, 0.25)]), ComposedCurve)
    truth, found = (curve.deltas(EPSILONS) for curve in (GaussianCurve(1.0), ComposedCurve(parts, (1, 1))))
    assert (found >= truth).all()
    assert found == pytest.approx(truth, rel=1e-3)
    table = TabulatedCurve(GRID, parts[0].deltas(GRID))
    mixed = compose_curves([table, parts[1]]).deltas(EPSILONS)
    assert (mixed >= truth).all()
    assert mixed == pytest.approx(truth, rel=0.01)


@pytest.mark.parametrize(
    ("epsilons", "deltas", "message"),
    [
        ([0, 1], [0.1, 0.2], "must not increase"),
        ([0, 1, 2], [0.5, 0.49, 0.1], "not convex"),
        ([0, 1], [0.1], "as many"),
        ([], [], "as many"),
        ([-1], [0.1], "between 0 and 50"),
        ([1, 1], [0.1, 0.1], "must increase"),
        ([0], [1.5], "probability"),
        ([0], [math.nan], "probability"),
        (["x"], [0.1], "numbers"),
    ],
)
def test_tables_that_are_no_privacy_curve_are_refused(
    epsilons: list[float], deltas: list[float], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        TabulatedCurve(epsilons, deltas)


@pytest.mark.parametrize(
    ("type_1", "type_2"),
    [
        ([0, 1], [1, 0.1]),  # above the diagonal
        ([0, 0.5, 1], [0.8, 0.5, 0.2]),
        ([0, 0.5, 0.6, 1], [0.8, 0.3, 0.3, 0.0]),  # not convex
        ([0, 0.5, 1], [0.2, 0.3, 0]),
        ([0.1, 1], [0.5, 0]),  # does not begin at 0
        ([0], [1]),
    ],
)
def test_errors_that_are_no_trade_off_function_are_refused(type_1: list[float], type_2: list[float]) -> None:
    with pytest.raises(InvalidArgument, match="trade-off function"):
        TabulatedCurve.from_trade_off(type_1, type_2)


@pytest.mark.parametrize(
    "text", ["mu=x", "mu=-1", "mu=nan", "rho=-0.1", "rho=0", "rdp=3", "rdp=1,2", "rdp=2,inf", "nu=3", "1", ""]
)
def test_texts_that_name_no_curve_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_curve(text)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "composition", "parts": [3], "times": [1]},
        {"kind": "composition", "parts": [{"kind": "pure", "bound": 1.0, "times": 1}], "times": [0]},
        {"kind": "pure", "bound": 1.0, "times": 0},
        {"kind": "composition", "parts": [], "times": []},
        {"kind": "zCDP", "rho": -1.0},
        {"kind": "table", "epsilons": 3, "values": [0.1], "scale": 1.0},
        {"kind": "another"},
        "mu=1",  # a ledger must not name a file
    ],
)
def test_forged_data_are_refused(data: object) -> None:
    with pytest.raises(InvalidArgument):
        read_curve(data)


def test_a_curve_of_a_kind_that_no_ledger_can_hold_is_refused() -> None:
    class Own(GaussianCurve):
        pass

    with pytest.raises(InvalidArgument, match="cannot be stored"):
        describe_curve(Own(1.0))


@pytest.mark.parametrize("claim", [(0.01, 1e-5), (1.0, 1e-5), (8.0, 1e-9), (50.0, 0.1), (1.0, 0.7)])
def test_the_curve_of_a_claim_has_its_epsilon_and_not_more(claim: tuple[float, float]) -> None:
    epsilon, delta = claim
    curve = GaussianCurve.of_claim(epsilon, delta)
    assert curve.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)
    assert curve.epsilon(delta) <= epsilon * (1 + 1e-9)
