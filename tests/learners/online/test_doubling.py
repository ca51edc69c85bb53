"""doubling: instances and their lengths, and its claim against the best of all adversaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import script

from arena import (
    Adaptive,
    BudgetExceeded,
    Claim,
    Example,
    Hypothesis,
    InvalidArgument,
    Learner,
    OnlineLaw,
    Unsupported,
    play,
)
from arena.claims import PrivacyUnit
from arena.concepts import FiniteClass, Thresholds
from arena.testing import check_learner
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.game_value import GameSolution
from audits.solver.online_games import online_game
from learners.online.agnostic_experts import AgnosticExperts
from learners.online.conservative import Soa
from learners.online.doubling import Doubling
from learners.online.realizable import RealizableLearner

EXPERTS = AgnosticExperts(
    concepts=Thresholds(range(1, 3)), stretches=3, share=0.0, epsilon=2.0, delta=0.01, rate=0.9
)


def delta_of_best(learner: Any, rounds: int, epsilon: float) -> float:
    """The least δ at which no adversary refutes ε."""
    graph = BeliefGraph(online_game(learner, rounds)[0], np.array([epsilon]), GraphLimits())
    return float(GameSolution(graph).root.values.upper[0])


def test_stretches_double_and_their_delta_adds_up() -> None:
    learner = Doubling(inner=RealizableLearner(delta=1e-3), first=5, rounds=36)
    told = [(one.rounds, one.delta) for one in learner.list_instances()]  # type: ignore[attr-defined]
    assert told == [(5, 1e-3 / 2), (10, 1e-3 / 6), (20, 1e-3 / 12), (40, 1e-3 / 20)]
    assert len(list(attrs.evolve(learner, rounds=35).list_instances())) == 3
    assert learner.claim.epsilon == pytest.approx(1.0)
    assert learner.claim.delta == pytest.approx(1e-3 * (1 - 1 / 5))
    assert learner.claim.protects == (PrivacyUnit.STREAM_EXAMPLE,)
    assert attrs.evolve(learner, rounds=10**9).claim.delta < 1e-3


def test_the_worst_instance_determines_epsilon() -> None:
    learner = Doubling(inner=EXPERTS, first=3, rounds=9)
    costs = [one.claim.epsilon for one in learner.list_instances()]
    assert costs[0] != costs[1]
    assert learner.claim.epsilon == max(costs)


def test_every_stretch_begins_anew(rng: np.random.Generator) -> None:
    """A deterministic learner with the settings, beside one that is run on each stretch alone."""

    @attrs.frozen
    class Told(Soa):
        rounds: int = 1
        delta: float = 0.0

    state = Doubling(inner=Told(concepts=Thresholds(range(7))), first=2, rounds=14).start(3, rng)
    x, y = rng.integers(0, 7, (14, 3)).astype(float), rng.random((14, 3)) < 0.5
    for start, end in ((0, 2), (2, 6), (6, 14)):
        alone = Soa(concepts=Thresholds(range(7))).start(3, rng)
        for t in range(start, end):
            assert np.array_equal(state.hypothesis().concepts, alone.hypothesis().concepts)
            state.observe(x[t], y[t])
            alone.observe(x[t], y[t])
    with pytest.raises(BudgetExceeded, match="doubling has spent its 14 rounds"):
        state.hypothesis()


def test_the_claim_holds_against_the_best_adversary() -> None:
    learner = Doubling(inner=EXPERTS, first=3, rounds=5)
    claim = learner.claim
    assert delta_of_best(learner, 5, claim.epsilon) <= claim.delta + 1e-12
    assert delta_of_best(learner, 5, claim.epsilon / 4) > claim.delta


@attrs.frozen
class Announces(Learner):
    """(0, δ)-DP: with probability δ it shows function 1 first, and then the label of the last example."""

    name = "announces"
    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    concepts: Any = FiniteClass([[0], [1]])
    rounds: int = 2
    delta: float = 0.3

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=0, delta=self.delta, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def online_law(self) -> AnnouncesLaw:
        return AnnouncesLaw(self)


class AnnouncesLaw(OnlineLaw[Any]):
    """States: None before the announcement, then whether it fails and the label that it shows."""

    def __init__(self, spec: Announces) -> None:
        self.delta = spec.delta
        self.hypotheses = Hypothesis(spec.concepts, np.array([0, 1]))
        self.points = np.array(spec.concepts.domain, float)

    def start(self) -> Any:
        return None

    def show(self, state: Any) -> Iterable[tuple[int, Any, float]]:
        if state is None:
            return [(0, (False, 0), 1 - self.delta), (1, (True, 0), self.delta)]
        return [(state[1], state, 1.0)]

    def observe(self, state: Any, point: int, label: int) -> Iterable[tuple[Any, float]]:
        return [((state[0], label if state[0] else 0), 1.0)]


def test_an_adversary_that_waits_for_a_failure_attains_the_sum_of_deltas() -> None:
    learner = Doubling(inner=Announces(), first=2, rounds=6)
    first, second = (one.delta for one in learner.list_instances())  # type: ignore[attr-defined]
    found = delta_of_best(learner, 6, 0.0)
    assert found == pytest.approx(1 - (1 - first) * (1 - second), abs=1e-12)
    assert max(first, second) + 0.01 < found <= learner.claim.delta


@pytest.mark.thorough
def test_it_conforms() -> None:
    learner = Doubling(
        inner=RealizableLearner(
            concepts=Thresholds(range(4)), nodes=16, epsilon=200.0, delta=0.1, patience=0.3, frequent=0.01
        ),
        first=2,
        rounds=12,
    )
    check_learner(learner, games=800)


def test_learners_that_are_not_told_the_length_are_refused() -> None:
    with pytest.raises(
        InvalidArgument, match="inner must be a learner with settings rounds and delta, got 'soa'"
    ):
        Doubling(inner=Soa())


def test_without_a_law_there_is_none() -> None:
    with pytest.raises(Unsupported, match="realizable does not declare its output distribution"):
        Doubling().online_law()


def test_it_plays_with_the_default() -> None:
    played = play(Doubling(rounds=3), script(*[Example(0.0, 1)] * 3), Adaptive(3), games=2, seed=1)
    assert played.mistakes is not None
