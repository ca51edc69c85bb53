"""All estimators side by side."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from arena.errors import InvalidArgument
from audits.reports.json_form import to_json
from audits.statistics.betting import Betting
from audits.statistics.estimates import Estimates, FixedSizeEstimators
from audits.statistics.gaussian_dp import epsilon_if_gaussian
from audits.statistics.held_out import HeldOutEstimator
from audits.statistics.score_pairs import PairCounts

METHODS = [
    "betting",
    "one event",
    "band",
    "band, at ε = 0.5",
    "GDP, one event",
    "GDP, one event, if Gaussian",
    "GDP, band",
    "GDP, band, if Gaussian",
]


def estimates_of(scores: np.ndarray, blocks: int, **options: float) -> Estimates:
    settings = {"delta": 0.01, "confidence": 0.95, "games": scores.shape[1], "claim": 0.5, **options}
    betting = Betting(delta=settings["delta"], confidence=settings["confidence"])
    held_out = HeldOutEstimator(
        delta=settings["delta"], confidence=settings["confidence"], choose_pairs=settings["games"] // 5 or 1
    )
    both = FixedSizeEstimators.of(**settings)
    for part in np.array_split(scores, blocks, axis=1):
        block = PairCounts.of(*part)
        for test in (betting, held_out, both):
            test.update(block)
    return both.result(betting=betting.epsilon_lower, held_out=held_out.epsilon_lower)


def plain(found: Estimates) -> dict:
    """As JSON and back, without NaN or infinity."""
    return json.loads(to_json(found))


@pytest.fixture
def normal(rng: np.random.Generator) -> Estimates:
    return estimates_of(rng.normal([[0.0], [1.0]], 1.0, (2, 4_000)), 10)


@pytest.mark.thorough
def test_every_method_has_its_row(normal: Estimates) -> None:
    assert [method for method, _ in normal.table()] == METHODS
    values = {row.method: row.value for row in normal.rows}
    assert all(value is not None and value > 0 for value in values.values())
    assert values["band"] == pytest.approx(values["betting"], abs=0.6)
    assert values["GDP, band"] == pytest.approx(0.95, abs=0.15)
    # The truth at ε = 0.5.
    assert values["band, at ε = 0.5"] < 0.23841


@pytest.mark.thorough
def test_rows_say_what_is_certified(normal: Estimates) -> None:
    for row in normal.rows:
        assert row.certified == (not row.method.endswith("if Gaussian"))
        assert ("not certified" in str(row)) == (not row.certified)
    by_name = {row.method: row for row in normal.rows}
    assert str(by_name["band"]).startswith("ε ≥ ")
    assert str(by_name["GDP, band"]).startswith("μ ≥ ")
    mu, implied = by_name["GDP, band"].value, by_name["GDP, band, if Gaussian"].value
    assert mu is not None
    assert implied == epsilon_if_gaussian(0.01, mu)


def test_json_holds_everything(normal: Estimates) -> None:
    found = plain(normal)
    assert [row["method"] for row in found["rows"]] == METHODS
    assert 0.01 in found["region"]["deltas"]
    assert 0.5 in found["region"]["epsilons"]
    at = found["region"]["epsilons"].index(0.5)
    assert found["region"]["certified_delta"][at] == found["rows"][3]["value"]
    assert set(found["trade_off"]) == {"alpha", "estimate", "upper", "allowed"}
    assert (found["pairs"], found["games"], found["claim"]) == (4_000, 4_000, 0.5)


def test_at_delta_0_a_gaussian_mechanism_has_no_finite_epsilon(rng: np.random.Generator) -> None:
    found = estimates_of(rng.laplace([[0.0], [1.0]], 1.0, (2, 2_000)), 10, delta=0.0)
    last = found.rows[-1]
    assert (last.value, last.reason) == (None, "a Gaussian mechanism has no finite ε at δ = 0")
    assert str(last) == last.reason
    plain(found)


def test_figures_are_withheld_at_another_number_of_games(rng: np.random.Generator) -> None:
    found = estimates_of(rng.normal(size=(2, 1_000)), 10, games=1_200)
    assert [row.value for row in found.rows[2:]] == [None] * 6
    assert {row.reason for row in found.rows[2:]} == {
        "holds only after 1,200 pairs, as fixed beforehand; 1,000 were played"
    }
    assert (found.region, found.trade_off) == (None, None)
    assert plain(found)["region"] is None


def test_no_game_at_all() -> None:
    found = FixedSizeEstimators.of(delta=0.0, confidence=0.9, games=10, claim=1.0).result()
    assert [row.value for row in found.rows] == [None] * 8
    assert found.rows[0].reason.startswith("not available: too few blocks")
    plain(found)


def test_one_block_leaves_none_for_one_event(rng: np.random.Generator) -> None:
    found = estimates_of(rng.normal([[0.0], [2.0]], 1.0, (2, 500)), 1)
    values = {row.method: row for row in found.rows}
    assert values["one event"].value is None
    assert values["GDP, one event"].value is None
    assert (
        values["GDP, one event"].reason
        == "too few blocks: none remains to be counted after the event was chosen"
    )
    assert values["GDP, one event, if Gaussian"].reason == values["GDP, one event"].reason
    assert values["band"].value == pytest.approx(1.5, abs=1)


@pytest.mark.parametrize("pairs", [1, 2, 4])
def test_too_few_games_for_the_confidence_say_so(pairs: int) -> None:
    scores = np.stack([np.zeros(pairs), np.ones(pairs)])
    found = estimates_of(scores, pairs, confidence=0.999)
    for row in found.rows[2:5]:
        if row.value is not None:
            assert (row.value, row.reason) == (
                0.0,
                "too few games: perfectly separated worlds would certify no more",
            )
    assert found.rows[2].value == 0.0
    plain(found)


def test_enough_games_that_show_nothing_say_so(rng: np.random.Generator) -> None:
    found = estimates_of(rng.normal(size=(2, 2_000)), 10)
    certified = [row for row in found.rows if row.certified]
    assert {(row.value, row.reason) for row in certified} == {(0.0, "these games certify no privacy loss")}


def test_without_a_claim_there_is_no_delta_and_nothing_is_allowed(rng: np.random.Generator) -> None:
    found = estimates_of(rng.normal(size=(2, 200)), 4, claim=None)  # type: ignore[arg-type]
    assert [row.method for row in found.rows] == [name for name in METHODS if "ε = 0.5" not in name]
    assert found.trade_off is not None
    assert found.trade_off.allowed is None
    plain(found)


def test_infinite_scores_are_legal() -> None:
    scores = np.stack([np.repeat([-math.inf, 0.0], 250), np.repeat([0.0, math.inf], 250)])
    found = estimates_of(np.concatenate([scores[:, ::2], scores[:, 1::2]], axis=1), 2)
    assert all(row.value is not None and math.isfinite(row.value) for row in found.rows)
    plain(found)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"delta": 1.1}, "delta must be at most 1"),
        ({"confidence": 0.0}, "confidence must be more than 0"),
        ({"games": 0}, "games must be at least 1"),
        ({"claim": -1.0}, "claim must be at least 0"),
        ({"claim": math.nan}, "claim must be at least 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, float], rule: str) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        FixedSizeEstimators.of(**{"delta": 0.0, "confidence": 0.9, "games": 10, **options})  # type: ignore[arg-type]
