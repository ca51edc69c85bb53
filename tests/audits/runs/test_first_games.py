"""A pass must mean that something could have failed: audits and searches whose games test nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from adversaries.release.point_swap import CountSwap
from adversaries.release.statdp import StatDP
from arena import (
    BudgetExceeded,
    Claim,
    GameLearner,
    Learner,
    LearnerFails,
    NotConforming,
    NothingTested,
    PrivacyUnit,
    Release,
)
from audits.adversary_search import search
from audits.runs.blocks import choose_distinguisher
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run
from audits.testing import Budget, assert_private
from learners.foreign.function import Function

CLAIM = Claim(epsilon=1.0, delta=0.0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))
SMALL: dict[str, Any] = {"examples": 20, "pairs": 16}
COUNT_SWAP = CountSwap()
HERE = re.escape("test_first_games.py, line ")


def fail(labels: Any, rng: np.random.Generator) -> float:
    raise ValueError("the disk is full")


def fail_sometimes(labels: Any, rng: np.random.Generator) -> float:
    if rng.random() < 0.3:
        raise ValueError("the disk is full")
    return float(np.sum(labels) + 2.0 * rng.laplace())


def fail_on_a_one(labels: Any, rng: np.random.Generator) -> float:
    if np.any(labels):
        raise ValueError("the disk is full")
    return 0.0


def noisy_sum(labels: Any, rng: np.random.Generator) -> float:
    return float(np.sum(labels) + 2.0 * rng.laplace())


def function(mechanism: Callable[..., Any], **settings: Any) -> Function:
    return Function(function=mechanism, epsilon=1.0, **settings)


@attrs.frozen
class WithoutTrain(Learner):
    name = "without-train"
    protocols = ("Figure1",)
    claim = CLAIM

    def start(self, games: int, rng: np.random.Generator) -> object:
        return object()


@attrs.frozen
class Declining(WithoutTrain):
    name = "declining"

    def start(self, games: int, rng: np.random.Generator) -> object:
        raise BudgetExceeded("not today")


def audit(learner: Learner, adversary: Any = COUNT_SWAP, **settings: Any) -> Any:
    usual = {"epsilon": 1.0, "delta": 0.0, "games": 400, "distinguisher": LEARNED}
    return run(Plan(learner=learner, adversary=adversary, referee=Release(), **usual | settings))


FAILURES = [
    (function(fail), f"ValueError: the disk is full in round 1 .*{HERE}"),
    (Declining(), f"BudgetExceeded: not today .*{HERE}"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("learner", "message"), FAILURES, ids=lambda value: getattr(value, "name", ""))
def test_a_learner_that_always_fails_passes_no_test(learner: Learner, message: str) -> None:
    with pytest.raises(NothingTested, match=message):
        search(learner, **SMALL)
    with pytest.raises(NothingTested, match=message):
        assert_private(learner, budget=Budget(4_000, 20))


def test_a_learner_without_a_method_of_its_protocol_is_refused() -> None:
    message = (
        "under Figure1 a running learner has the members of PredictorState; it lacks halted, train, predict"
    )
    with pytest.raises(NotConforming, match=message):
        search(WithoutTrain(), **SMALL)


def test_an_audit_with_faults_needs_a_game_that_does_not_fail() -> None:
    with pytest.raises(NothingTested, match=f"all of the first 64 games.*the disk is full.*{HERE}"):
        audit(function(fail), faults=True)


@pytest.mark.thorough
def test_a_share_of_failures_is_a_warning() -> None:
    with pytest.warns(LearnerFails, match=f"in .* of 64 first games .*%.*the disk is full.*{HERE}"):
        audit(function(fail_sometimes), faults=True)
    with pytest.warns(LearnerFails, match=f"against .* adversaries .*%.*the disk is full.*{HERE}"):
        result = search(function(fail_sometimes), **SMALL)
    assert 0 < result.failed <= result.examples + result.rejected


@pytest.mark.thorough
def test_to_fail_in_one_world_only_is_evidence_and_no_warning() -> None:
    assert audit(function(fail_on_a_one), faults=True).refuted
    assert search(function(fail_on_a_one)).refuted


@pytest.mark.thorough
def test_faults_count_for_the_choice_of_a_distinguisher() -> None:
    """Without them the mechanism's first failure would end it."""
    players = CountSwap(), Release()
    assert choose_distinguisher(function(fail), *players, faults=True) == LEARNED
    assert choose_distinguisher(function(fail_on_a_one), *players, faults=True) == SCORE
    assert choose_distinguisher(function(fail_sometimes), *players, faults=True) == SCORE


@pytest.mark.parametrize(
    ("receives", "adversary", "remedy"),
    [
        ("points", CountSwap(), "Set receives=ones or receives=labels or receives=both"),
        ("sum", CountSwap(), "Set receives=ones or receives=labels or receives=both"),
        ("labels", StatDP(queries=2), "Set receives=sum or receives=points or receives=both"),
        ("ones", StatDP(queries=2), "Set receives=sum or receives=points or receives=both"),
    ],
)
def test_a_function_must_receive_what_differs(receives: str, adversary: Any, remedy: str) -> None:
    learner = function(noisy_sum, receives=receives, dimension=2 if isinstance(adversary, StatDP) else None)
    with pytest.raises(NothingTested, match=f"receives {receives} only, which {adversary.name}.*{remedy}"):
        audit(learner, adversary)


def test_worlds_must_differ() -> None:
    @attrs.frozen
    class Same(CountSwap):
        name = "same"

        def play(self, games: int, rng: np.random.Generator) -> Any:
            moves = super().play(games, rng)
            train = next(moves)
            reply = yield attrs.evolve(train, other=None)
            return reply.value

    with pytest.raises(NothingTested, match="same hands noisy_sum the same in both worlds"):
        audit(function(noisy_sum), Same())


def test_searches_and_assertions_check_the_learner_first() -> None:
    @attrs.frozen
    class Shared(GameLearner):
        """All games draw the same noise."""

        name = "shared"
        protocols = ("Release",)
        claim = CLAIM

        def start(self, games: int, rng: np.random.Generator) -> Any:
            noise = rng.laplace(scale=2.0)

            class State:
                def release(self, training: Any) -> np.ndarray:
                    ones = np.array([sample.labels.mean() for sample in training.samples])
                    return ones[training.which] + noise

            return State()

        def start_one(self, rng: np.random.Generator) -> Any:
            raise NotImplementedError

    with pytest.raises(NotConforming, match="every game draws its own random numbers"):
        search(Shared(), **SMALL)
    with pytest.raises(NotConforming, match="every game draws its own random numbers"):
        assert_private(Shared(), against="count-swap")
