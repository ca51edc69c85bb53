"""Refutations for a relation that nobody chose, which a claim for added or removed records may explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import audits
import audits.testing
from arena import Claim, PrivacyUnit
from audits.registry.other_relation import change_relation, is_chosen
from learners.foreign.function import Function

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
