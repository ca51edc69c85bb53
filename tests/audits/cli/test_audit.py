"""`arena audit`: what it plays, prints and writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import Command

from arena import PlayerError
from audits.cli import audit as auditing
from audits.runs.run import RunProgress

COUNT = ("laplace-count", "--against", "count-swap")
arena = Command()


def audit(*arguments: str) -> tuple[int, dict]:
    done = arena("audit", *arguments, "--json")
    assert done.stdout.count("\n") == 1
    return done.exit_code, json.loads(done.stdout)


def test_a_claim_that_holds_is_not_refuted() -> None:
    status, found = audit(*COUNT, "--games", "20_000")
    assert status == 0
    assert (found["learner"], found["protocol"]) == ("laplace-count", "Release")
    assert found["claim"]["text"] == "(1, 0)-DP for a training example (replace one)"
    assert (found["refuted"], found["games"], found["seed"], found["confidence"]) == (False, 20_000, 0, 0.95)
    assert 0.7 < found["epsilon_lower"] < 1 < found["ceiling"]


def test_a_claim_that_is_false_is_refuted_with_status_3() -> None:
    status, found = audit(
        *COUNT, "--games", "2e4", "--epsilon", "0.5", "--delta", "1e-6", "--confidence", "0.999"
    )
    assert status == 3
    assert found["refuted"]
    assert (found["claim"]["epsilon"], found["delta"], found["confidence"]) == (0.5, 1e-6, 0.999)
    assert 0.5 < found["epsilon_lower"] < 1


@pytest.mark.thorough
def test_a_learner_that_claims_nothing_is_tested_against_a_claim_of_the_users() -> None:
    status, found = audit("static-erm", "--against", "reconstruct", "--epsilon", "2", "--games", "5000")
    assert status == 3
    assert (found["protocol"], found["claim"]["epsilon"], found["delta"]) == ("Figure1", 2.0, 0.0)


def test_games_default_to_a_hundred_thousand_and_to_ten_million_until_refuted(monkeypatch) -> None:
    plans = []

    def stop(plan, **options):
        plans.append(plan)
        raise PlayerError("learner", plan.learner.name, 1, "enough")

    monkeypatch.setattr(auditing, "run_plan", stop)
    arena("audit", *COUNT)
    arena("audit", *COUNT, "--until-refuted")
    arena("audit", *COUNT, "--until-refuted", "--games", "7")
    assert [(plan.games, plan.until_refuted) for plan in plans] == [
        (100_000, False),
        (10_000_000, True),
        (7, True),
    ]
    assert {(plan.confidence, plan.seed) for plan in plans} == {(0.95, 0)}


@pytest.mark.thorough
def test_an_adversary_need_not_be_named_and_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    done = arena("audit", "static-erm", "--epsilon", "1", "--games", "200", "--ledger", path)
    assert done.exit_code == 3
    assert "note: no adversary is named, so static-erm plays against training-swap" in done.stderr
    resumed = arena("runs", "resume", path)
    assert resumed.exit_code == 3
    assert resumed.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]
    assert b"arena audit static-erm --against training-swap" in path.read_bytes()


def test_an_interruption_prints_the_figures_so_far(monkeypatch) -> None:
    def interrupt(plan, **options):
        def stop(now: RunProgress) -> None:
            raise KeyboardInterrupt

        return run_plan(plan, **{**options, "watch": stop})

    run_plan = auditing.run_plan
    monkeypatch.setattr(auditing, "run_plan", interrupt)
    status, found = audit(*COUNT, "--games", "1000")
    assert status == 130
    assert (found["interrupted"], found["games"]) == (True, 100)
    assert "Interrupted; the games played so far count." in arena("audit", *COUNT, "--games", "1000").stdout


@pytest.mark.thorough
def test_every_estimator_speaks_on_the_same_games() -> None:
    done = arena("audit", *COUNT, "--epsilon", "0.5", "--games", "20000", "--estimators")
    assert done.exit_code == 3
    for name in ("betting", "one event", "band", "band, at ε = 0.5", "GDP, one event", "GDP, band"):
        assert f"\n{name}  " in done.stdout
    status, figures = audit(*COUNT, "--epsilon", "0.5", "--games", "20000", "--estimators")
    assert status == 3
    rows = {row["method"]: row for row in figures["estimates"]}
    assert rows["betting"]["value"] == figures["epsilon_lower"]
    assert rows["one event"]["value"] == figures["clopper_pearson"]
    assert 0.8 < rows["band"]["value"] <= 1
    assert audit(*COUNT, "--games", "100")[1]["estimates"] is None


def test_without_a_score_the_likelihood_ratio_is_used_and_said() -> None:
    done = arena("audit", "report-noisy-max-3", "--against", "statdp", "--games", "5000")
    assert "statdp returns no score, so the likelihood ratio distinguishes the worlds" in done.stderr
