"""`arena exact`, and the record and the reports behind it."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from support.command_line import Command
from support.exact import players as exact_players
from support.exact.players import ZEROS, Coin, LaplaceCounter, Predicting, Releasing, gaussian, telling_coin
from support.simple_players import script

from adversaries.figure1.swaps import TrainingSwap
from adversaries.release.point_swap import CountSwap
from arena import Figure1, InvalidArgument, PrivacyUnit, Query, Release, Train
from audits.exact_loss import ExactAudit, exact
from audits.reports.json_form import to_json

arena = Command()
FILE = exact_players.__file__
LAPLACE = (f"{FILE}:LaplaceCounter", "--against", "count-swap")
VOTES = (f"{FILE}:TableOfVotes", "--against", "training-swap", "--set-adversary", "point=0.5")


def as_json(*arguments: str) -> tuple[int, dict]:
    done = arena("exact", *arguments, "--json")
    return done.exit_code, json.loads(done.stdout)


def format_text(found: ExactAudit) -> str:
    return " ".join(found.summary().split())


def audit_swap(learner: Predicting, queries: int = 2) -> ExactAudit:
    return exact(learner, TrainingSwap(queries=queries, point=0.5, sample=ZEROS), Figure1())


def test_a_tight_claim_stands() -> None:
    found = exact(LaplaceCounter(), CountSwap(), Release(), epsilons=(0.5,))
    assert found.epsilon == pytest.approx(1, abs=1e-12)
    assert not found.refuted
    assert found.delta is not None
    assert found.delta.upper < 1e-12
    assert found.deltas[0].middle == pytest.approx(1 - math.exp(-0.25), abs=1e-9)
    assert (found.epsilon_at.delta, found.epsilon_at.middle) == (0, pytest.approx(1, abs=1e-12))


@pytest.mark.thorough
def test_a_claim_that_is_a_little_too_small_falls() -> None:
    assert exact(LaplaceCounter(epsilon=0.999), CountSwap(), Release()).refuted
    assert audit_swap(Predicting(telling_coin, epsilon=0.81)).refuted
    assert not audit_swap(Predicting(telling_coin, epsilon=2 * math.log(1.5))).refuted


@pytest.mark.thorough
def test_a_pure_claim_falls_by_tails_that_no_delta_shows() -> None:
    found = exact(Releasing(gaussian, epsilon=30.0), CountSwap(), Release())
    assert found.delta is not None
    assert found.delta.lower == 0
    assert found.refuted
    assert not exact(Releasing(gaussian, epsilon=30.0, delta=1e-9), CountSwap(), Release()).refuted


def test_a_challenge_must_be_claimed() -> None:
    learner = Predicting(telling_coin, protects=(PrivacyUnit.TRAINING_EXAMPLE,))
    with pytest.raises(InvalidArgument, match=r"differ in a query, which .* protects a training example"):
        exact(learner, script(Train(ZEROS), Query(0.1, 0.2)), Figure1())


def test_the_table_holds_the_views_in_order_and_the_tradeoff_curve() -> None:
    rows = audit_swap(Predicting(telling_coin)).table()
    assert (rows[0][0], {rows[1][0], rows[2][0]}, rows[3][0]) == ("11", {"01", "10"}, "00")
    assert rows[0][1:] == pytest.approx((0.16, 0.36, math.log(2.25), 0.16, 0.64))
    assert rows[-1][4:] == pytest.approx((1, 0))


def test_what_tells_most_comes_first() -> None:
    found = audit_swap(Predicting(lambda count: Coin(0.9 if count else 0.5)), 1)
    assert [view.view for view in found.most_revealing] == ["0", "1"]
    assert found.worst.view == "0"
    assert found.worst.privacy_loss == pytest.approx(math.log(0.2))


@pytest.mark.thorough
def test_the_report_says_it_plainly_where_nothing_or_everything_leaks() -> None:
    blind = format_text(audit_swap(Predicting(lambda count: Coin(0.3))))
    assert "this adversary learns nothing." in blind
    assert "most revealing" not in blind
    sure = format_text(audit_swap(Predicting(lambda count: Coin(float(count > 0)))))
    assert "pure ε infinite" in sure
    assert "Refuted" in sure
    assert "possible in one world only" in sure
    unbounded = format_text(exact(Releasing(gaussian), CountSwap(), Release()))
    assert "The privacy loss is unbounded" in unbounded


def test_the_report_of_a_learner_that_claims_nothing() -> None:
    found = audit_swap(Predicting(telling_coin, epsilon=math.inf))
    assert (found.delta, found.refuted, found.epsilon_at.delta) == (None, False, 0)
    assert "Nothing is claimed, so there is nothing to refute;" in format_text(found)
    assert json.loads(to_json(found))["claim"]["epsilon"] is None


@pytest.mark.thorough
def test_the_command_prints_the_figures() -> None:
    done = arena("exact", *LAPLACE, "--epsilon", "0.5", "--delta", "0.1")
    assert (done.exit_code, done.stderr) == (0, "")
    shown = done.stdout
    for line in (
        "δ at ε = 1            at most 1e-13",
        "δ at ε = 0.5          0.221199",
        "value from 1 to 41",
    ):
        assert line in shown
    refuted = "Refuted: the claim is false of the declared output distribution, by the exact distribution"
    assert refuted in " ".join(arena.text("exact", *LAPLACE, "--set", "noise=2", status=3).split())


def test_json_has_every_figure() -> None:
    status, found = as_json(*LAPLACE, "--epsilon", "0.5", "--epsilon", "0")
    assert status == 0
    assert found["epsilon"] == pytest.approx(1, abs=1e-12)
    assert [delta["epsilon"] for delta in found["deltas"]] == [0.5, 0]
    assert (found["epsilon_infinite"], found["complete"], found["score"]) == (False, True, None)


def test_json_tells_infinity_from_what_is_not_known() -> None:
    status, found = as_json(f"{FILE}:Predicting", *VOTES[1:], "--set-adversary", "queries=2")
    assert (status, found["epsilon"], found["epsilon_infinite"]) == (0, 0.0, False)
    infinite = json.loads(to_json(audit_swap(Predicting(lambda count: Coin(float(count > 0))))))
    assert (infinite["epsilon"], infinite["epsilon_infinite"]) == (None, True)
    assert infinite["epsilon_at"] == {"delta": 0, "lower": None, "upper": None}
    assert infinite["worst"]["privacy_loss"] is None


def test_before_figure1_the_score_is_worked_out_too() -> None:
    status, found = as_json(*VOTES, "--set-adversary", "queries=4")
    assert (status, found["protocol"], found["views"]) == (0, "Figure1", 31)
    assert 0 < found["score"]["lower"] <= found["epsilon"]
    assert found["epsilon"] < found["claim"]["epsilon"]


def test_csv_holds_every_view(tmp_path: Path) -> None:
    file = tmp_path / "views.csv"
    done = arena("exact", *VOTES, "--set-adversary", "queries=3", "--csv", str(file))
    assert done.exit_code == 0
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 15
    assert sum(float(row["p0"]) for row in rows) == pytest.approx(1)
    alpha = np.array([float(row["alpha"]) for row in rows])
    assert (np.diff(alpha) > 0).all()
    losses = [float(row["privacy_loss"]) for row in rows]
    assert losses == sorted(losses, reverse=True)


def test_shipped_learners_without_a_law_say_so() -> None:
    said = arena.refusal("exact", "everlasting-v1", "--against", "halt-counter")
    assert "everlasting-v1 declares its output distribution for its first round only" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*LAPLACE, "--epsilon", "-1"), "epsilon must be at least 0, got -1.0"),
        ((*LAPLACE, "--delta", "2"), "delta must be at most 1, got 2.0"),
        ((*LAPLACE, "--csv", "/no/such/file.csv"), "the directory of the CSV file /no/such/file.csv does"),
        ((*VOTES, "--protocol", "Release"), "learner table-of-votes does not play Release."),
        (
            ("noisy-majority", "--against", "contrarian"),
            "under Figure1, Voting, Release and FixedStream, not under",
        ),
    ],
)
def test_bad_use_is_one_line_and_status_2(arguments: tuple[str, ...], message: str) -> None:
    assert message in arena.refusal("exact", *arguments)


@pytest.mark.thorough
def test_a_game_with_far_too_many_paths_is_refused_by_an_estimate() -> None:
    said = arena.refusal(
        "exact", "pate-gaussian", "--against", "repeat-point", "--set", "adversary.queries=900"
    )
    assert "more than 200,000 paths of answers, by an estimate" in said
