from __future__ import annotations

import attrs
import numpy as np
import pytest

from adversaries.release.cover_swap import CoverSwap, NeighbourPair, find_worst_pair
from arena import Finite, InvalidArgument, Release, Sample, play
from arena.concepts import DecisionLists, Literals, Variables
from arena.testing import check_adversary
from audits.exact_loss.view_laws import view_law
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.lists.private_decision_list import PrivateDecisionList, Rivest
from learners.releases.laplace_count import LaplaceCount


def learner(d: int = 2, delta: float = 0.01) -> PrivateDecisionList:
    return PrivateDecisionList(concepts=DecisionLists(Variables(d)), delta=delta)


@pytest.mark.parametrize(
    "spec", [learner(), learner(5), Rivest(concepts=DecisionLists(Variables(2)))], ids=repr
)
def test_it_keeps_to_the_contract(spec: PrivateDecisionList) -> None:
    check_adversary(CoverSwap(learner=spec), spec, Release())


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.01, 0.2])
@pytest.mark.parametrize("features", [Variables(1), Variables(3), Literals(2)], ids=repr)
def test_the_worst_pair_loses_much_of_the_claim_and_no_more(features: Variables, delta: float) -> None:
    spec = PrivateDecisionList(concepts=DecisionLists(features), delta=delta)
    pair = find_worst_pair(spec, features.d, 4)
    assert pair is not None
    assert 0.3 < pair.epsilon(delta) <= spec.claim.epsilon + 1e-9
    alone = Sample([(1.0, *(0.0,) * (features.d - 1))], [0])
    swapped = alone.replace_one(0, alone.points[0], 1)
    assert pair.epsilon(delta) > NeighbourPair(
        (alone, swapped), (spec.law(alone), spec.law(swapped))
    ).epsilon(delta)


def test_the_epsilon_of_a_pair_is_that_of_the_definition() -> None:
    samples = Sample([0.0], [0]), Sample([0.0], [1])
    laws = Finite([0, 1, 2], [0.5, 0.5, 0.0]), Finite([0, 1, 2], [0.25, 0.65, 0.1])
    pair = NeighbourPair(samples, laws)
    for delta in (0.1, 0.12, 0.2):
        # Of all events, brute force.
        events = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1)
        first, second = laws[0].probabilities @ events, laws[1].probabilities @ events
        needed = [np.log((b - delta) / a) for a, b in zip(first, second, strict=True) if b > delta and a > 0]
        assert pair.epsilon(delta) == pytest.approx(max(0.0, *needed))


def test_its_score_is_the_log_ratio_so_an_audit_comes_near_the_exact_loss() -> None:
    spec = PrivateDecisionList(concepts=DecisionLists(Variables(2)), epsilon=3.0, delta=0.0)
    pair = find_worst_pair(spec, 2, 4)
    assert pair is not None
    verdict = run(
        Plan(
            learner=spec,
            adversary=CoverSwap(learner=spec),
            referee=Release(),
            epsilon=3.0,
            delta=0.0,
            games=20_000,
            seed=3,
        )
    )
    assert not verdict.refuted
    assert 0.5 * pair.epsilon(0.0) < verdict.epsilon_lower <= pair.epsilon(0.0)


def test_an_exact_audit_of_hypotheses_knows_its_score() -> None:
    spec = learner(delta=0.0)
    law = view_law(spec, CoverSwap(learner=spec), Release())
    pair = find_worst_pair(spec, 2, 4)
    assert pair is not None
    assert law.score is not None
    assert law.score.epsilon_at(1e-9).middle == pytest.approx(pair.epsilon(1e-9), abs=1e-6)
    assert law.loss.epsilon_at(1e-9).middle == pytest.approx(pair.epsilon(1e-9), abs=1e-6)


def test_beyond_the_laws_it_swaps_a_label() -> None:
    spec = attrs.evolve(learner(6), rate=5.0)
    played = play(spec, CoverSwap(learner=spec), Release(), games=400, seed=1)
    assert played.score is not None
    assert played.score[played.worlds].mean() > played.score[~played.worlds].mean() + 0.3


def test_points_of_a_line_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="vectors of 0 and 1"):
        play(LaplaceCount(), CoverSwap(learner=LaplaceCount()), Release(), games=2, seed=1)
