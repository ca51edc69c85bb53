"""stale-thresholds: what it asks, the points it finds, and what it sees of thresholds that are drawn anew."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from mutants.everlasting import ROUND, CounterRefreshes

from adversaries.figure1.base import find_vote_points
from adversaries.figure1.halts import StaleThresholds, _choose_points
from arena import Figure1, InvalidArgument, Learner, Query, Sample, Training, play
from arena.concepts import Thresholds
from arena.testing import check_adversary
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.predictors.vote_predictors import BetweenThresholdsPredictor, StaticErm

V1 = EverlastingV1()
REFRESHES = CounterRefreshes(**{f.name: getattr(ROUND, f.name) for f in attrs.fields(EverlastingCounter)})
LEARNERS: list[Learner] = [
    V1,
    EverlastingV2(teachers=101, answers=2_000),
    ROUND,
    EverlastingCounter(),
    BetweenThresholdsPredictor(),
    StaticErm(),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_it_conforms_against_every_learner(learner: Learner) -> None:
    check_adversary(StaleThresholds(learner=learner, patience=20), learner, Figure1())


@pytest.mark.parametrize("learner", [V1, REFRESHES], ids=lambda learner: learner.name)
def test_it_finds_a_border_near_the_lower_threshold_and_a_tie(learner: Learner) -> None:
    ground = _choose_points(learner, None, 0.65)
    lower = 0.5 - (0.2 if learner is V1 else 0.25)
    assert abs(_votes(learner, ground.sample, ground.border) - lower) < 0.03
    assert abs(_votes(learner, ground.sample, ground.split) - 0.5) < 0.1
    assert _votes(learner, ground.sample, ground.clear) == 0
    assert ground.sample.size >= (learner.sample_size or 0)


def _votes(learner: Learner, sample: Sample, point: float) -> float:
    state = learner.start(4, np.random.default_rng(2))
    state.train(Training.of((sample,), np.zeros(4, np.intp)))
    return float(state.votes(point).mean())


def test_it_finds_a_border_in_data() -> None:
    ones = [1, 4, 8, 10, 16, 19]
    sample = Sample(np.repeat(np.arange(6.0), 2), [0, 1] * 6, np.ravel([(20 - k, k) for k in ones]) * 1_000)
    learner = EverlastingV2(teachers=2_001, chunk=1, training_rate=0.1, rounds=1, noise=0.01, answers=400)
    ground = _choose_points(learner, sample, 0.5)
    assert ground.border == find_vote_points(learner, sample).split  # v2's only threshold is at 1/2
    rarely = _choose_points(learner, sample, 0.001)
    assert rarely.border < ground.border


class Scriptless:
    """A reply with one label for each game."""

    def __init__(self, label: list[int]) -> None:
        self.label = np.array(label, np.int8)


def play_game(adversary: StaleThresholds, label: list[int]) -> tuple[list[tuple[float, float]], np.ndarray]:
    """The points of both worlds that game 0 is asked when every query is answered so, and the scores."""
    moves = adversary.play(len(label), np.random.default_rng(1))
    found = []
    next(moves)
    move = moves.send(None)
    while True:
        assert isinstance(move, Query)
        assert move.other is not None
        found.append((move.x[0], move.other[0]))
        try:
            move = moves.send(Scriptless(label))
        except StopIteration as end:
            return found, end.value


def test_it_asks_the_border_then_challenges_then_probes() -> None:
    """Where 0 is answered at the border: a run of zeros, one challenge, the probes, and then it idles."""
    points, score = play_game(StaleThresholds(run=3, probes=2, patience=6, learner=StaticErm()), [0, 0])
    ground = _choose_points(StaticErm(), None, 0.65)
    border, clear = (ground.border,) * 2, (ground.clear,) * 2
    assert points == [border] * 3 + [(ground.clear, ground.split)] + [border] * 2 + [clear] * 3
    assert score.tolist() == [-2, -2]


def test_it_gives_up_when_its_budget_of_ones_is_spent() -> None:
    adversary = StaleThresholds(run=3, patience=6, probes=2, budget=2, learner=StaticErm())
    points, score = play_game(adversary, [1])
    ground = _choose_points(StaticErm(), None, 0.65)
    assert points == [(ground.border,) * 2] * 2 + [(ground.clear,) * 2] * 7
    assert score.tolist() == [0]


def test_two_points_are_too_few() -> None:
    learner = EverlastingV2(concepts=Thresholds((1, 2)), teachers=11)
    with pytest.raises(InvalidArgument, match="the domain must have at least three points"):
        play(learner, StaleThresholds(learner=learner), Figure1(), games=2, seed=1)
    three = EverlastingV2(concepts=Thresholds((1, 2, 3)), teachers=11)
    assert _choose_points(three, None, 0.65).border == 2


@pytest.mark.thorough
def test_v1_leaks_queries_by_its_thresholds_too() -> None:
    """Not by its halt: at most six ⊤s are spent before the challenge, which is the seventh of eight."""
    adversary = StaleThresholds(learner=V1, budget=7, run=6)
    claim: Any = {"epsilon": V1.claim.epsilon, "delta": V1.claim.delta, "confidence": 1 - 1e-6}
    plan = Plan(learner=V1, adversary=adversary, referee=Figure1(), games=8_000, until_refuted=True, **claim)
    assert run(plan).refuted
