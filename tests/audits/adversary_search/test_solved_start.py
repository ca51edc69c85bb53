"""The script with which a search begins: it needs a larger δ than the claim's, and is confirmed."""

from __future__ import annotations

import attrs
import pytest

from arena import Claim, Learner, Voting
from audits.adversary_search.adversary_search import search
from audits.adversary_search.solved_start import find_solved_start
from audits.exact_loss.exact_audit import exact
from audits.registry.players import configure_learner

LEARNER = configure_learner(
    "pate-svt", {"teachers": 15, "queries": 3, "threshold": 4.0, "scale": 1.0, "unstable": 1}
)
pytestmark = pytest.mark.thorough

OPTIMUM = 0.63  # ε of the best adversary of three queries at this δ
BELOW = attrs.evolve(LEARNER.claim, epsilon=0.8 * OPTIMUM, delta=0.0874)


def test_it_needs_more_than_the_claim() -> None:
    start = find_solved_start(LEARNER, "Voting", BELOW)
    assert start is not None
    audited = exact(LEARNER, start.script, Voting(), epsilons=[BELOW.epsilon])
    (needed,) = [bracket.lower for bracket in audited.deltas if bracket.epsilon == BELOW.epsilon]
    assert needed - BELOW.delta == pytest.approx(start.excess)
    assert start.excess > 0.02


def test_a_search_confirms_it_before_it_draws_others() -> None:
    result = search(LEARNER, claim=BELOW, examples=1)
    assert result.refuted
    assert (result.examples, result.confirmations) == (1, 1)


@pytest.mark.parametrize(
    ("learner", "protocol", "claim"),
    [
        (LEARNER, "Voting", attrs.evolve(BELOW, epsilon=1.1 * OPTIMUM)),
        (LEARNER, "SpecialRound", BELOW),
        (attrs.evolve(LEARNER, teachers=41), "Voting", BELOW),
    ],
    ids=["true", "not of queries", "many examples"],
)
def test_there_may_be_none(learner: Learner, protocol: str, claim: Claim) -> None:
    assert find_solved_start(learner, protocol, claim) is None
