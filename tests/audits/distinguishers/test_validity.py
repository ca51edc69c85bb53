"""Audits with learned distinguishers keep their error.

A distinguisher that learned from the block it scores, or dependent pairs of games, would show here.
"""

from __future__ import annotations

import pytest
from support.statistical import check_errors, expect_rejection, statistical

from adversaries.release.point_swap import CountSwap
from adversaries.release.statdp import StatDP
from arena import Adversary, Learner, Release
from audits.distinguishers.learned_distinguisher import DistinguisherTraining, learn_distinguisher
from audits.distinguishers.view_features import ViewCounts
from audits.runs.plan import LEARNED, LIKELIHOOD, SCORE, Plan
from audits.runs.run import run
from audits.statistics.score_pairs import PairCounts
from learners.releases.choices import RandomisedResponse
from learners.releases.counts import LaplaceCount
from learners.zoo.counting_queries import NoisyHist1

RATE = 1e-7
LEVEL = 0.2
AUDITS = 300

pytestmark = pytest.mark.slow

RESPONSE = (RandomisedResponse(size=10), CountSwap(), 1.0)
COUNT = (LaplaceCount(), CountSwap(), 1.0)
HISTOGRAM = (NoisyHist1(epsilon=1.0), StatDP(pattern="one-above", queries=5), 1.0)


def check(learner: Learner, adversary: Adversary, epsilon: float, distinguisher: str, *, games: int) -> None:
    """Reject if more than 0.327 of 300 audits claim more than is true; a rate of 0.48 is missed with
    probability 1e-7."""
    wrong = 0
    for seed in range(AUDITS):
        plan = Plan(
            learner=learner,
            adversary=adversary,
            referee=Release(),
            epsilon=epsilon,
            delta=0.0,
            confidence=1 - LEVEL,
            games=games,
            seed=seed,
            distinguisher=distinguisher,
        )
        wrong += run(plan).epsilon_lower > epsilon
    check_errors(wrong, AUDITS, level=LEVEL, rate=RATE)


@statistical(rate=RATE)
@pytest.mark.parametrize("distinguisher", [SCORE, LEARNED, LIKELIHOOD])
@pytest.mark.parametrize("match", [RESPONSE, COUNT, HISTOGRAM], ids=lambda match: match[0].name)
def test_few_runs_claim_more_than_is_lost(
    match: tuple[Learner, Adversary, float], distinguisher: str
) -> None:
    if distinguisher == SCORE and match is not COUNT:
        pytest.skip("the adversary gives no score for a vector")
    # Values with many digits are learned by trees, which takes longer.
    check(*match, distinguisher, games=400 if distinguisher == LEARNED and match is not RESPONSE else 1_000)


class Cheating(DistinguisherTraining):
    """Scores a block by what it learned from that very block."""

    def score(self, block: ViewCounts) -> PairCounts:
        return block.count_scores(learn_distinguisher([block])(block))


@statistical(rate=RATE)
def test_a_distinguisher_that_has_seen_the_block_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.runs.audit_estimators.DistinguisherTraining", Cheating)
    with expect_rejection("errors in"):
        check(LaplaceCount(epsilon=0.01), CountSwap(), 0.01, LEARNED, games=200)
