"""Every broken learner is found by a search without knowledge of it, within the budget that correct learners
pass.

A few need an adversary that knows their settings, or a larger search.
"""

from __future__ import annotations

import pytest
from mutants.learners import MUTANTS, BrokenLearner
from mutants.small_searches import CORRECT, ERROR, SMALL, Correct
from scipy.stats import binom

from arena import Learner
from audits.adversary_search import SearchResult, search

SEARCHES = 20
RATE = 1e-7  # the chance that a learner which just keeps its claim fails its test
# What a seed leads to changes with the release of Hypothesis, and one search in fifty misses its mutant.
SEEDS = range(3)
LONG = {
    "bare-counts",
    "bare-forest",
    "cache-stays",
    "coin-for-flip",
    "compares-at-mistakes",
    "keeps-batches",
    "noise-of-threshold-alone",
    "pays-for-one-draw",
    "refuses-empty-selection",
    "refuses-unknown-point",
    "sum-for-mean",
    "unknown-point",
}  # over 3 s
SEARCHED = [
    pytest.param(mutant, id=mutant.name, marks=[pytest.mark.slow] * (mutant.name in LONG))
    for mutant in MUTANTS
    if mutant.searched
]


def search_for(mutant: BrokenLearner, learner: Learner, seed: int) -> SearchResult:
    """A search that should find the mutant, of the mutant or its twin."""
    claim = mutant.spec.claim
    budget = SMALL | ({"pairs": mutant.pairs} if mutant.pairs else {})
    return search(learner, protocol=mutant.protocol, claim=claim, error=1e-6, seed=seed, **budget)


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", SEARCHED)
def test_the_mutant_is_found(mutant: BrokenLearner) -> None:
    searches = (search_for(mutant, mutant.spec, seed) for seed in SEEDS)
    found = next((one for one in searches if one.refuted), None)
    bound = max(found.verdict.epsilon_lower, found.verdict.curve_epsilon_lower or 0.0)
    assert mutant.spec.claim.epsilon <= bound + 1e-9 <= mutant.loses
    assert found.plan.faults or not mutant.raises


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_twin_is_not(mutant: BrokenLearner) -> None:
    assert not any(search_for(mutant, mutant.twin, seed).refuted for seed in SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("correct", CORRECT, ids=lambda correct: correct.name)
def test_what_holds_is_refuted_no_more_often_than_stated(correct: Correct) -> None:
    refuted = sum(correct.search(seed).refuted for seed in range(SEARCHES))
    assert refuted <= binom.isf(RATE, SEARCHES, ERROR)
