"""Flaws of many kinds, which a search with its defaults finds without knowing them."""

from __future__ import annotations

import pytest
from mutants.planted.flaws import FLAWS, TWINS

from arena import Learner
from audits.adversary_search import search

SEEDS = range(3)  # what a seed leads to changes with the release of Hypothesis


@pytest.mark.thorough
@pytest.mark.parametrize(("learner", "protocol"), FLAWS, ids=lambda value: getattr(value, "name", ""))
def test_the_flaw_is_found(learner: Learner, protocol: str) -> None:
    searches = (search(learner, protocol=protocol, seed=seed) for seed in SEEDS)
    found = next((result for result in searches if result.refuted), None)
    assert found is not None
    assert found.verdict is not None
    bound = max(found.verdict.epsilon_lower, found.verdict.curve_epsilon_lower or 0.0)
    assert bound >= learner.claim.epsilon - 1e-9  # refuted as soon as it is reached


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "protocol"), TWINS, ids=lambda value: getattr(value, "name", ""))
def test_the_correct_learner_behind_it_is_not_refuted(learner: Learner, protocol: str) -> None:
    for seed in SEEDS:
        assert not search(learner, protocol=protocol, seed=seed).refuted
