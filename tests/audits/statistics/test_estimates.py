"""All estimators side by side, as rows; also one that is added."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command
from support.paths import ROOT

from audits.reports.json_form import to_json
from audits.statistics.estimates import Estimate, EstimatorContext
from audits.statistics.estimators import ESTIMATORS
from audits.statistics.estimators.held_out import epsilon_if_gaussian
from audits.statistics.score_pairs import PairCounts

METHODS = [
    "one event",
    "band",
    "band, at ε = 0.5",
    "GDP, band",
    "GDP, band, if Gaussian",
    "GDP, one event",
    "GDP, one event, if Gaussian",
]


def rows_of(scores: np.ndarray, blocks: int, **options: object) -> dict[str, Estimate]:
    settings = {"delta": 0.01, "confidence": 0.95, "games": scores.shape[1], "epsilon": 0.5, **options}
    estimators = [kind(EstimatorContext(**settings)) for kind in ESTIMATORS]  # type: ignore[arg-type]
    for part in np.array_split(scores, blocks, axis=1) if blocks else ():
        for estimator in estimators:
            estimator.update(PairCounts.of(*part))
    rows = [row for estimator in estimators for row in estimator.rows()]
    json.loads(to_json({"rows": rows}), parse_constant=pytest.fail)
    return {row.method: row for row in rows}


@pytest.fixture
def normal(rng: np.random.Generator) -> dict[str, Estimate]:
    return rows_of(rng.normal([[0.0], [1.0]], 1.0, (2, 4_000)), 10)


@pytest.mark.thorough
def test_every_method_has_its_row(normal: dict[str, Estimate]) -> None:
    assert [*normal] == METHODS
    values = {name: row.value for name, row in normal.items()}
    assert all(value is not None and value > 0 for value in values.values())
    assert values["band"] == pytest.approx(values["one event"], abs=0.6)
    assert values["GDP, band"] == pytest.approx(0.95, abs=0.15)
    # The truth at ε = 0.5.
    assert values["band, at ε = 0.5"] < 0.23841


@pytest.mark.thorough
def test_rows_say_what_is_certified(normal: dict[str, Estimate]) -> None:
    for row in normal.values():
        assert row.certified == (not row.method.endswith("if Gaussian"))
        assert ("not certified" in str(row)) == (not row.certified)
        assert row.assumes.startswith("a fixed number of games")
    assert str(normal["band"]).startswith("ε ≥ ")
    assert str(normal["GDP, band"]).startswith("μ ≥ ")
    mu, implied = normal["GDP, band"].value, normal["GDP, band, if Gaussian"].value
    assert mu is not None
    assert implied == epsilon_if_gaussian(0.01, mu)


def test_json_holds_everything(normal: dict[str, Estimate]) -> None:
    rows = {row["method"]: row for row in json.loads(to_json({"rows": [*normal.values()]}))["rows"]}
    details = rows["band"]["details"]
    assert 0.01 in details["region"]["deltas"]
    at = details["region"]["epsilons"].index(0.5)
    assert details["region"]["certified_delta"][at] == rows["band, at ε = 0.5"]["value"]
    assert set(details["trade_off"]) == {"alpha", "estimate", "upper", "allowed"}


def test_at_delta_0_a_gaussian_mechanism_has_no_finite_epsilon(rng: np.random.Generator) -> None:
    found = rows_of(rng.laplace([[0.0], [1.0]], 1.0, (2, 2_000)), 10, delta=0.0)
    last = found["GDP, band, if Gaussian"]
    assert (last.value, last.reason) == (None, "a Gaussian mechanism has no finite ε at δ = 0")
    assert str(last) == last.reason


def test_figures_are_withheld_at_another_number_of_games(rng: np.random.Generator) -> None:
    found = rows_of(rng.normal(size=(2, 1_000)), 10, games=1_200)
    assert {row.value for row in found.values()} == {None}
    assert {row.reason for name, row in found.items() if name != "one event"} == {
        "holds only after 1,200 pairs, as fixed beforehand; 1,000 were played"
    }
    assert found["one event"].reason.startswith("not available: too few blocks")
    assert found["band"].details == {"region": None, "trade_off": None}


def test_no_game_at_all() -> None:
    assert {row.value for row in rows_of(np.empty((2, 0)), 0, games=10).values()} == {None}


def test_one_block_leaves_none_for_one_event(rng: np.random.Generator) -> None:
    found = rows_of(rng.normal([[0.0], [2.0]], 1.0, (2, 500)), 1)
    assert found["one event"].value is None
    assert found["GDP, one event"].value is None
    assert found["GDP, one event"].reason.startswith("too few blocks: none remains to be counted")
    assert found["GDP, one event, if Gaussian"].reason == found["GDP, one event"].reason
    assert found["band"].value == pytest.approx(1.5, abs=1)


@pytest.mark.parametrize("pairs", [1, 2, 4])
def test_too_few_games_for_the_confidence_say_so(pairs: int) -> None:
    scores = np.stack([np.zeros(pairs), np.ones(pairs)])
    found = rows_of(scores, pairs, confidence=0.999)
    reason = "too few games: perfectly separated worlds would certify no more"
    for name in ("band", "band, at ε = 0.5", "GDP, one event"):
        if found[name].value is not None:
            assert (found[name].value, found[name].reason) == (0.0, reason)
    assert found["band"].value == 0.0


def test_enough_games_that_show_nothing_say_so(rng: np.random.Generator) -> None:
    found = rows_of(rng.normal(size=(2, 2_000)), 10)
    certified = [row for row in found.values() if row.certified]
    assert {(row.value, row.reason) for row in certified} == {(0.0, "these games certify no privacy loss")}


def test_without_a_claim_there_is_no_delta_and_nothing_is_allowed(rng: np.random.Generator) -> None:
    found = rows_of(rng.normal(size=(2, 200)), 4, epsilon=None)
    assert [*found] == [name for name in METHODS if "ε = 0.5" not in name]
    assert found["band"].details["trade_off"].allowed is None


def test_infinite_scores_are_legal() -> None:
    scores = np.stack([np.repeat([-math.inf, 0.0], 250), np.repeat([0.0, math.inf], 250)])
    found = rows_of(np.concatenate([scores[:, ::2], scores[:, 1::2]], axis=1), 2)
    assert all(row.value is not None and math.isfinite(row.value) for row in found.values())


AUDIT = Command("audit", "laplace-count", "--against", "count-swap", "--games", "2000")


@pytest.fixture
def added() -> Iterator[None]:
    """The estimator of docs/guides/add_an_estimator.md, which no package has."""
    page = (ROOT / "docs/guides/add_an_estimator.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shipped = [*ESTIMATORS]
    exec(code, {})
    yield
    ESTIMATORS[:] = shipped


@pytest.mark.thorough
@pytest.mark.usefixtures("added")
def test_an_added_estimator_has_its_row_in_every_report(tmp_path: Path) -> None:
    text = AUDIT.text("--estimators", "--html", tmp_path / "run.html")
    (row,) = re.findall(r"^fixed event +ε ≥ ([\d.]+) nats$", text, re.MULTILINE)
    assert 0.2 < float(row) < 1
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert re.search(r"<td>fixed event</td><td>ε ≥ [\d.]+ nats</td><td>a fixed number of games; one", page)
    rows = {row["method"]: row for row in AUDIT.json("--estimators")["estimates"]}
    assert rows["fixed event"]["certified"]
    assert rows["fixed event"]["value"] == pytest.approx(rows["band"]["value"], abs=0.4)


@pytest.mark.usefixtures("added")
def test_a_run_that_stops_early_says_that_it_has_no_figure() -> None:
    text = AUDIT.text("--estimators", "--until-refuted", "--epsilon", "0.01", status=3)
    assert re.search(r"^fixed event +not available: ", text, re.MULTILINE)
