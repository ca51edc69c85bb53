"""Every broken learner is refuted by an adversary written for it, which cannot refute the correct twin."""

from __future__ import annotations

import inspect
import math
from collections.abc import Set

import numpy as np
import pytest
from mutants.learners import MUTANTS, BrokenLearner, run_audit
from mutants.refuting_adversaries import REFUTING
from mutants.releases.mean_learners import VarianceForDeviation
from scipy import stats

from adversaries.halfspaces.few_coordinates import FirstSwap
from adversaries.online.special_swap import UpdateSwap
from adversaries.voting.repeated_queries import SmallMargin
from arena import Adversary, Learner, Sample
from arena.testing import check_learner
from audits.runs.verdict import Verdict


def audit(mutant: BrokenLearner, learner: Learner, adversary: Adversary | None = None) -> Verdict:
    """The verdict on a learner against the mutant's claim, by default by the adversary written for it."""
    # Where failures are to be seen games are played one by one, which takes a thousand times as long.
    games = 500 if mutant.raises else mutant.games
    chosen = adversary or REFUTING[mutant.name]
    claim = mutant.spec.claim
    return run_audit(learner, chosen, mutant.referee, games=games, claim=claim, faults=mutant.raises)


def mark_long(thorough: Set[str], slow: Set[str] = frozenset()) -> list:
    """All mutants as parameters, with the markers of those with these names."""
    marks = [(pytest.mark.thorough, thorough), (pytest.mark.slow, slow)]
    return [
        pytest.param(mutant, id=mutant.name, marks=[mark for mark, names in marks if mutant.name in names])
        for mutant in MUTANTS
    ]


# Games of hundreds of rounds.
LONG = {"sum-goes-on", "leaves-in-turn"}
VERY_LONG = {"each-switch-whole", "whole-epsilon-each"}


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", mark_long(LONG, VERY_LONG))
def test_the_mutant_is_refuted(mutant: BrokenLearner) -> None:
    verdict = audit(mutant, mutant.spec)
    assert verdict.refuted
    bound = max(verdict.epsilon_lower, verdict.curve_epsilon_lower or 0.0)
    assert mutant.spec.claim.epsilon <= bound + 1e-9 <= mutant.loses


@pytest.mark.thorough
@pytest.mark.parametrize(
    "mutant",
    mark_long(
        LONG
        | {
            "bare-counts",
            "noise-of-threshold-alone",
            "compares-at-mistakes",
            "pairs-in-turn",
            "keeps-batches",
            "noise-of-one-level",
            "keeps-weights",
            "many-draws-after-calm",
        },
        slow=VERY_LONG,
    ),
)
def test_the_twin_is_not(mutant: BrokenLearner) -> None:
    assert not audit(mutant, mutant.twin).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "adversary"),
    [
        ("tells-the-tie", SmallMargin()),  # which queries far from a tie
        ("bare-brink", UpdateSwap(rounds=40, before=30)),  # no update comes after it swaps
        ("jumps-after-calm", UpdateSwap(rounds=40)),
        ("many-draws-after-calm", FirstSwap(rounds=40)),
    ],
)
def test_an_adversary_that_misses_the_place_refutes_nothing(name: str, adversary: Adversary) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    assert not audit(mutant, mutant.spec, adversary).refuted


PLAYERS = {player.name: player for mutant in MUTANTS for player in (mutant.spec, mutant.twin)}


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLAYERS)
def test_no_mutant_or_twin_breaks_the_contract_of_a_learner(name: str) -> None:
    player = PLAYERS[name]
    points = np.multiply.outer([0.0, 0.0, 1.0, 1.0], np.ones(player.point_shape))
    trained = Sample(points, [0, 1, 0, 1], [26] * 4)
    check_learner(player, sample=None if "SpecialRound" in player.protocols else trained, games=500)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_mutant_says_what_is_wrong_and_it_is_no_trifle(mutant: BrokenLearner) -> None:
    assert (inspect.getdoc(type(mutant.spec)) or "").startswith("The slip: ")
    assert mutant.loses >= 1.5 * mutant.spec.claim.epsilon


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_twin_claims_no_less(mutant: BrokenLearner) -> None:
    assert mutant.twin.claim == mutant.spec.claim


def test_names_tell_mutants_apart() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    assert set(REFUTING) == {mutant.name for mutant in MUTANTS}


def test_what_the_gaussian_mean_loses() -> None:
    mutant = VarianceForDeviation()
    mu = 1 / (mutant.size * mutant.deviation)
    at_loss = next(m.loses for m in MUTANTS if m.name == mutant.name)
    assert mu == pytest.approx(0.83, abs=0.005)
    assert delta_between_gaussians(mu, 1.0) == pytest.approx(0.071, abs=5e-4)
    assert delta_between_gaussians(mu, at_loss) == pytest.approx(mutant.delta, rel=1e-3)


@pytest.mark.parametrize("name", ["pays-for-one-vote", "two-teachers-each"])
def test_what_gaussian_votes_lose(name: str) -> None:
    """No more than sixteen numbers with so little noise."""
    mutant = next(m for m in MUTANTS if m.name == name)
    times = 4 if name == "pays-for-one-vote" else 2
    mu = times * math.sqrt(16) / mutant.spec.effective_sigma
    assert delta_between_gaussians(mu, mutant.loses) == pytest.approx(mutant.spec.delta, rel=0.05)


def delta_between_gaussians(mu: float, epsilon: float) -> float:
    """The least δ for which ε holds between two normal laws mu deviations apart."""
    normal = stats.norm.cdf([mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu])
    return float(normal @ np.array([1.0, -math.exp(epsilon)]))
