"""opposite-votes: what it queries, and how much of the best adversary's loss it reaches."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from mutants.figure1.aggregators import KeepsThreshold

from adversaries.voting.opposite_votes import OppositeVotes, plan_runs
from adversaries.voting.vote_swaps import simulate_votes
from arena import Figure1, InvalidArgument, Learner, Sample, Unsupported, Voting
from arena.concepts import Points
from arena.testing import check_adversary
from audits.exact_loss.exact_audit import exact
from audits.registry.players import configure_learner
from audits.solver.choice_of_samples import pose_every_vote
from audits.solver.solution import solve
from learners.releases.counts import LaplaceCount

ROUNDS = 4
RARE = 1e-4  # beyond the claim's δ
SCREENED: dict[str, Any] = {"teachers": 15, "queries": ROUNDS, "threshold": 3.0, "scale": 2.0, "unstable": 1}
LEARNERS = [
    configure_learner(name, settings)
    for name, settings in (
        ("sparse-vector", SCREENED),
        ("sparse-vector", SCREENED | {"unstable": 2}),
        ("sparse-vector-printed", SCREENED),
        ("distance-to-instability", {"teachers": 41, "queries": ROUNDS}),
        ("noisy-votes", {"size": 10, "epsilon": 0.5, "answers": ROUNDS}),
        ("above-threshold", {"size": 10, "epsilon": 1.0}),
    )
]
AT_THE_TIE = [
    configure_learner("pate-svt", SCREENED | {"threshold": 4.0, "scale": 1.0}),
    configure_learner("pate-svt", SCREENED | {"threshold": 4.0, "scale": 1.0, "unstable": 2}),
    KeepsThreshold(queries=ROUNDS),
]


def referee_of(learner: Learner) -> Figure1 | Voting:
    return Voting() if "Voting" in learner.protocols else Figure1()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [*LEARNERS, *(pytest.param(learner, marks=pytest.mark.thorough) for learner in AT_THE_TIE)],
    ids=repr,
)
def test_it_conforms(learner: Learner) -> None:
    check_adversary(OppositeVotes(learner=learner, queries=ROUNDS), learner, referee_of(learner))


def test_the_votes_move_towards_the_threshold_at_one_point_and_away_at_the_other() -> None:
    plan = plan_runs(LEARNERS[0], None, ROUNDS)
    votes = 15 * simulate_votes(LEARNERS[0], plan.samples, plan.points[:2])
    nearness = np.abs(votes - 7.5)
    assert plan.length == ROUNDS - 1
    assert np.prod(np.diff(nearness, axis=0)) == pytest.approx(-1)


@pytest.mark.thorough
def test_the_last_queries_are_at_the_tie_as_many_as_halts_are_left() -> None:
    learner = AT_THE_TIE[1]
    plan = plan_runs(learner, None, ROUNDS)
    assert (plan.reserved, plan.length) == (2, ROUNDS - 3)
    votes = 15 * simulate_votes(learner, plan.samples, plan.points)
    assert sorted(votes[:, 2]) == pytest.approx([7, 8])
    assert np.prod(np.diff(np.abs(votes[:, :2] - 7.5), axis=0)) == pytest.approx(-1)


def test_examples_of_point_functions_are_moved() -> None:
    learner = attrs.evolve(LEARNERS[-1], concepts=Points(range(10)))
    plan = plan_runs(learner, None, 8)
    assert np.diff(10 * simulate_votes(learner, plan.samples, plan.points[:2]), axis=0).prod() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("learner", [*LEARNERS[:3], LEARNERS[4], *AT_THE_TIE], ids=repr)
def test_it_reaches_four_fifths_of_the_optimum(learner: Learner) -> None:
    game = pose_every_vote(learner)
    adversary = OppositeVotes(learner=learner, queries=ROUNDS)
    delta = learner.claim.delta % 1.0 + RARE
    found = exact(learner, adversary, referee_of(learner), delta=delta).epsilon_at.lower
    best = solve(game, rounds=ROUNDS, epsilons=[found / 0.8])
    (at_more,) = [point for point in best.curve if point.epsilon == found / 0.8]
    assert at_more.upper < delta


def test_other_learners_are_refused() -> None:
    with pytest.raises(Unsupported, match="output distribution is known"):
        plan_runs(LaplaceCount(), Sample([0.0, 1.0], [0, 1]), ROUNDS)
    screened = attrs.evolve(LEARNERS[0], teachers=2, threshold=0.0)
    with pytest.raises(InvalidArgument, match="changes no answer"):
        plan_runs(screened, Sample([0.0, 1.0], [1, 1]), ROUNDS)
