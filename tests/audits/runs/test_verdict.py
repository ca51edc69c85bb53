"""What a verdict says, to people and to programs."""

from __future__ import annotations

import json
import math

import attrs
import pytest

from arena import Claim, PrivacyUnit, Release
from audits.registry.players import ADVERSARIES, LEARNERS
from audits.reports.json_form import to_data, to_json
from audits.runs.plan import Plan
from audits.runs.verdict import RunNotes, Verdict

NAMES = {"learner": "laplace-count", "adversary": "count-swap", "protocol": "Release"}
FIGURES: dict = {"refuted": False, "epsilon_lower": 0.5, "ceiling": 9.25, "refutable": True}
FIGURES |= {"clopper_pearson": None, "games": 1_000, "played_now": 1_000, "seconds": 2.0}
CLAIM = Claim(epsilon=1, delta=1e-5, protects=(PrivacyUnit.TRAINING_EXAMPLE,))
VERDICT = Verdict(**NAMES, **FIGURES, claim=CLAIM, confidence=0.999, seed=7)
REACH = "An adversary that always tells the worlds apart would have reached ε = 9.25."


def test_a_fixed_number_of_games_is_named_with_the_bound() -> None:
    fixed = attrs.evolve(VERDICT, fixed_games=True).summary()
    assert "valid at this number of games only, fixed beforehand" in fixed
    assert "Clopper-Pearson" not in fixed
    assert "number of games only" not in VERDICT.summary()


def with_claim(epsilon: float) -> Verdict:
    claim = attrs.evolve(VERDICT.claim, epsilon=epsilon)
    return attrs.evolve(VERDICT, claim=claim, refutable=epsilon <= VERDICT.ceiling)


def test_the_report_has_every_figure() -> None:
    lines = VERDICT.summary().splitlines()
    figures = {line[:16].strip(): line[18:] for line in lines[:10]}
    assert [*figures][:5] == ["learner", "adversary", "protocol", "claim under test", "certified"]
    assert figures["certified"] == "ε ≥ 0.5 nats at δ = 1e-05, confidence 99.9 %"
    assert figures["speed"] == "1,000 games a second, both worlds counted (2.0 s)"
    assert figures["Clopper-Pearson"].startswith("not computed, since there are too few games")


def test_the_plan_adds_the_settings_that_are_not_usual() -> None:
    learner = LEARNERS.find("laplace-count")(epsilon=2.0)
    players = {"learner": learner, "adversary": ADVERSARIES.find("count-swap")(), "referee": Release()}
    notes = RunNotes.from_plan(Plan(**players, epsilon=1, delta=0))
    assert "  laplace-count with epsilon=2\n" in attrs.evolve(VERDICT, players=notes).summary()


def test_blocks_of_a_ledger_are_told_apart() -> None:
    resumed = attrs.evolve(VERDICT, played_now=400, clopper_pearson=0.25).summary()
    assert "1,000 in each world, 600 of them from the ledger" in resumed
    assert "ε ≥ 0.25 nats, for comparison" in resumed


@pytest.mark.parametrize(
    ("verdict", "meaning"),
    [
        (
            attrs.evolve(VERDICT, refuted=True, epsilon_lower=3.0),
            "Refuted: with confidence 99.9 %, the claim is false, and no claim below ε = 3 at",
        ),
        (
            VERDICT,
            "Not refuted: with confidence 99.9 %, no claim below ε = 0.5 at δ = 1e-05 holds; the claim u",
        ),
        (
            attrs.evolve(VERDICT, epsilon_lower=0.0),
            f"Not refuted: these games certify no loss of privacy. {REACH}",
        ),
        (
            attrs.evolve(with_claim(10), epsilon_lower=0.0),
            "Undecided: these games certify no loss of privacy. So",
        ),
        (
            attrs.evolve(VERDICT, refuted=True, interrupted=True),
            "Interrupted; the games played so far count. Ref",
        ),
    ],
)
def test_the_verdict_is_put_into_words(verdict: Verdict, meaning: str) -> None:
    assert verdict.explain().startswith(meaning)
    assert " ".join(verdict.summary().split()).endswith(verdict.explain())


def test_json_holds_what_the_verdict_holds() -> None:
    assert json.loads(to_json(VERDICT)) == to_data(VERDICT)


@pytest.mark.parametrize("odd", [math.inf, -math.inf, math.nan])
def test_a_figure_that_json_cannot_hold_is_null(odd: float) -> None:
    text = to_json(attrs.evolve(with_claim(math.inf), ceiling=odd))
    found = json.loads(text, parse_constant=pytest.fail)
    assert (found["ceiling"], found["claim"]["epsilon"], found["epsilon_lower"]) == (None, None, 0.5)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, ""),
        ({"refuted": True, "relation_undecided": "not tested"}, ""),
        ({"relation_note": "allowed", "relation_undecided": "not tested"}, "not tested"),
        ({"relation_note": "allowed"}, ""),
        ({"games": 0}, "no games were finished"),
        ({"interrupted": True}, "not finished"),
        ({"stopped": "max_calls"}, ""),
        ({"stopped": "max_calls", "fixed_games": True}, "not reached"),
        ({"refutable": False}, "so few games"),
    ],
)
def test_a_verdict_is_undecided_if_its_games_say_nothing(changes: dict, word: str) -> None:
    verdict = attrs.evolve(VERDICT, **changes)
    assert word in verdict.undecided
    assert bool(verdict.undecided) == bool(word) == (verdict.outcome == "Undecided")
    assert json.loads(to_json(verdict.to_dict()))["undecided"] == verdict.undecided
    (row,) = verdict.list_rows()
    assert row.undecided == verdict.undecided


@pytest.mark.parametrize("bound", [1.0, 1.00001])
def test_a_refutation_names_a_bound_above_the_claim_or_none(bound: float) -> None:
    verdict = attrs.evolve(VERDICT, refuted=True, epsilon_lower=bound)
    assert "below ε = 1 " not in verdict.summary()
    assert "ε ≥ 1 " not in f"{verdict.summary()} {verdict.headline}"
    assert "ε > 1 at δ" in verdict.headline
    assert verdict.describe_false_claims() == "the claim is false"


def test_a_claim_of_a_curve_is_not_compared_with_a_bound_of_nothing() -> None:
    text = attrs.evolve(VERDICT, epsilon_lower=0.0, curve_epsilon_lower=0.5).explain()
    assert "below ε = 0 " not in text
    assert "no privacy curve of the claim's shape below ε = 0.5 holds" in text


def test_a_given_claim_of_a_function_is_its_own() -> None:
    function = LEARNERS.find("function")(function=len)
    players = {"learner": function, "adversary": ADVERSARIES.find("point-swap")(), "referee": Release()}
    notes = RunNotes.from_plan(Plan(**players, epsilon=1, delta=0))
    assert "claims no privacy" not in attrs.evolve(VERDICT, players=notes).summary()


def test_a_claim_is_refuted_too_only_beside_another_one_that_is() -> None:
    notes = RunNotes(own_claim=[0.25, 1e-5], claim="(0.25, 1e-05)-DP")
    assert "is refuted." in attrs.evolve(VERDICT, players=notes).summary()
    refuted = attrs.evolve(VERDICT, players=notes, refuted=True, epsilon_lower=2.0)
    assert "is refuted, too." in refuted.summary()
