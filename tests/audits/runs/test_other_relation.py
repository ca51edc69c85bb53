"""Refutations for a relation that nobody chose, which a claim for added or removed records may explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import strategies as st

import audits
import audits.testing
from adversaries.release.point_swap import PointSwap
from arena import Claim, InvalidArgument, Learner, PrivacyUnit, Release
from audits.cli import arena
from audits.runs.audit_estimators import AuditEstimators
from audits.runs.ledger import Ledger
from audits.runs.limits import Limits
from audits.runs.other_relation import (
    OtherTest,
    RelationDecision,
    change_relation,
    decide_relation,
    is_chosen,
    read_decision,
)
from audits.runs.plan import Plan
from audits.runs.verdict import RunNotes
from audits.statistics.score_pairs import PairCounts
from learners.foreign.function import Function

ANY = PointSwap()
ANSWERS = audits.records(st.integers(0, 1), pack=np.array)


def histogram(answers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(1, 0)-DP for added or removed records, and (2, 0)-DP for a replaced one."""
    return np.bincount(answers.astype(int), minlength=2) + rng.laplace(size=2)


def exact_histogram(answers: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.bincount(answers.astype(int), minlength=2) + 0.0


def claim_of(epsilon: float, **changes: Any) -> Claim:
    return Claim(epsilon=epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,), **changes)


def test_a_relation_is_chosen_by_a_setting_or_by_a_theorem() -> None:
    assert not is_chosen(histogram, {"epsilon": 1.0})
    assert is_chosen(histogram, {"neighbours": "replace one"})
    assert is_chosen("laplace-count", {})


@pytest.mark.parametrize(
    ("claim", "bound", "changes"),
    [
        (claim_of(1.0), 1.9, True),
        (claim_of(1.0), 2.1, False),  # which no claim for added or removed records allows
        (claim_of(1.0, neighbours="zero out one"), 1.5, False),
    ],
)
def test_what_may_be_explained(claim: Claim, bound: float, changes: bool) -> None:
    other = change_relation(Function(function=histogram, epsilon=1.0), claim, bound)
    assert (other is not None) == changes
    assert other is None or str(other.claim.neighbours) == "add or remove one"


def decide(bound: float, test: OtherTest | Exception) -> RelationDecision | None:
    def play(learner: Learner, claim: Claim, limits: Limits) -> OtherTest:
        if isinstance(test, Exception):
            raise test
        return test

    player = Function(function=histogram, epsilon=1.0)
    return decide_relation(player, claim_of(1.0), bound, play)


@pytest.mark.parametrize(
    ("test", "refuted", "undecided"),
    [
        (OtherTest(epsilon_lower=1.2), True, False),
        (OtherTest(tried="a search found nothing"), False, False),
        (OtherTest(undecided="too few games"), False, True),
        (InvalidArgument("max_calls must be at least 871"), False, True),
    ],
)
def test_a_relation_that_was_not_tested_decides_nothing(
    test: OtherTest | Exception, refuted: bool, undecided: bool
) -> None:
    decision = decide(1.5, test)
    assert decision is not None
    assert (decision.refuted, bool(decision.undecided)) == (refuted, undecided)
    assert decide(2.5, test) is None  # which no relation explains


def test_a_note_names_no_smaller_claim_than_the_one_under_test() -> None:
    decision = decide(1.0, OtherTest(tried="a search found nothing"))
    assert decision is not None
    assert decision.note.startswith("ε > 1 at δ = 0")


def test_a_refutation_is_played_until_no_relation_explains_it() -> None:
    settings: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "games": 2_000, "confidence": 0.99}
    players = {"learner": Function(function=histogram, epsilon=1.0), "adversary": ANY, "referee": Release()}
    plan = Plan(**players, until_refuted=True, **settings)
    bounds = {}
    for chosen in (True, False):
        estimators = AuditEstimators(plan, relation_chosen=chosen)
        for block in plan.blocks:
            if estimators.done:
                break
            estimators.update(PairCounts.of(np.zeros(block), np.ones(block)))
        bounds[chosen] = estimators.epsilon_lower
    assert 1 < bounds[True] <= 2 < bounds[False]


def test_a_loss_that_a_relation_explains_is_not_played_to_the_end() -> None:
    settings: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "games": 40_000, "confidence": 0.99}
    players = {"learner": Function(function=histogram, epsilon=1.0), "adversary": ANY, "referee": Release()}
    estimators = AuditEstimators(Plan(**players, until_refuted=True, **settings), relation_chosen=False)
    wrong = 1 / (1 + np.exp(1.8))  # randomised response
    while not estimators.done and estimators.games < 40_000:
        chances = np.outer([1 - wrong, wrong], [wrong, 1 - wrong])
        counts = np.round(500 * chances).astype(int).ravel()
        estimators.update(PairCounts.of(np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1]), counts))
    assert 1 < estimators.epsilon_lower <= 2
    assert estimators.games < 10_000


@pytest.mark.thorough
def test_a_flagrant_leak_is_refuted_with_few_calls() -> None:
    def total(numbers: np.ndarray, rng: np.random.Generator) -> float:
        return float(np.sum(numbers)) + rng.laplace()

    data = audits.records(st.integers(0, 100), pack=np.array)
    result = audits.search(total, data=data, epsilon=1.0, max_calls=3_000)
    assert result.refuted
    assert result.verdict is not None
    assert result.verdict.epsilon_lower > 2
    with pytest.raises(audits.Undecided, match="neither refuted nor not refuted"):
        audits.testing.assert_private(total, data=data, epsilon=1.0, budget="quick", max_calls=500)


@pytest.mark.thorough
def test_a_ledger_keeps_what_was_decided(tmp_path: Path) -> None:
    file, ledger, page = tmp_path / "mine.py", tmp_path / "run.ledger", tmp_path / "page.html"
    file.write_text(
        "import numpy as np\n"
        "def histogram(points, rng):\n"
        "    ones = np.sum(points > 0)\n"
        "    return np.array([ones, len(points) - ones]) + rng.laplace(size=2)\n"
    )
    options = ["--set", "receives=points", "--set", "epsilon=1", "--games", "3000", "--ledger", str(ledger)]
    command = ["audit", f"{file}:histogram", *options, "--html", str(page), "--json", "-q"]
    ran = CliRunner().invoke(arena, command)
    verdict = json.loads(ran.output)
    assert verdict["epsilon_lower"] > 1
    assert (verdict["refuted"], verdict["undecided"], ran.exit_code) == (False, "", 0)
    assert "Explained by the relation" in page.read_text(encoding="utf-8")
    again = CliRunner().invoke(arena, ["runs", "resume", str(ledger), "--json", "-q"])
    assert (json.loads(again.output)["relation_note"], again.exit_code) == (verdict["relation_note"], 0)


def test_a_ledger_without_a_decision_leaves_it_open() -> None:
    notes = RunNotes(relation_chosen=False)
    decision = read_decision(claim_of(1.0), 1.5, notes)
    assert decision is not None
    assert decision.undecided
    assert read_decision(claim_of(1.0), 1.5, RunNotes()) is None
    assert read_decision(claim_of(1.0), 2.5, notes) is None
    noted = attrs.evolve(notes, relation_note="...", relation_refuted=True)
    assert read_decision(claim_of(1.0), 1.5, noted) == RelationDecision(refuted=True, note="...")


@pytest.mark.slow
def test_a_correct_histogram_is_not_refuted_for_a_relation_that_nobody_chose() -> None:
    given: dict[str, Any] = {"data": ANSWERS, "epsilon": 1.0, "examples": 40}
    result = audits.search(histogram, **given)
    assert not result.refuted
    assert "Nobody chose this relation" in result.summary()
    assert result.summary().count("is false") == 0
    assert audits.search(histogram, neighbours="replace one", **given).refuted


@pytest.mark.slow
def test_a_flaw_is_refuted_for_both_relations() -> None:
    result = audits.search(exact_histogram, data=ANSWERS, epsilon=1.0, examples=40)
    assert result.refuted
    with pytest.raises(audits.testing.NotPrivate):
        audits.testing.assert_private(exact_histogram, data=ANSWERS, epsilon=1.0, budget="quick")


@pytest.mark.thorough
def test_an_audit_says_what_explains_its_bound() -> None:
    verdict = audits.audit(histogram, epsilon=1.0, games=4_000, data=np.array([0, 1, 1]))
    assert verdict.epsilon_lower > 1
    assert not verdict.refuted
    assert "Nobody chose this relation" in verdict.explain()


@pytest.mark.thorough
def test_merged_parts_leave_a_relation_open_that_nobody_chose(tmp_path: Path) -> None:
    file, ledger = tmp_path / "mine.py", tmp_path / "part.ledger"
    file.write_text(
        "import numpy as np\ndef total(points, rng):\n    return np.sum(points) + rng.laplace()\n"
    )
    options = ["--set", "receives=points", "--set", "epsilon=1", "--games", "300", "--ledger", str(ledger)]
    ran = CliRunner().invoke(arena, ["audit", f"{file}:total", *options, "--part", "1/1", "-q"])
    assert ran.exit_code == 0
    with Ledger.read(ledger) as opened:
        assert opened.notes["relation_chosen"] is False
