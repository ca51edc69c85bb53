"""Which samples and queries are posed: an adversary's, the cells of the real line, the worst of a class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np
import pytest

from arena import Adversary, AnswerLaw, Learner, Moves, Sample, Train, Unsupported
from arena.concepts import Thresholds
from audits.registry.players import configure_adversary, configure_learner
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.choice_of_samples import list_queries, pose_against, pose_smallest
from audits.solver.game_value import GameSolution
from audits.solver.games.query_game import answer_game

TWO = {"concepts": "thresholds:1..2"}


def test_the_samples_are_those_that_the_adversary_hands_over() -> None:
    learner = configure_learner("noisy-votes", {"size": 4})
    adversary = configure_adversary("training-swap", {}, learner=learner)
    first, second = pose_against(learner, adversary).samples
    assert first.size == second.size == 4
    assert first != second
    challenge = configure_adversary("query-swap", {}, learner=learner)
    first, second = pose_against(learner, challenge).samples
    assert first == second


class RandomLabel(Adversary):
    """Draws the label in which its samples differ."""

    name = "random-label"
    protocols = ("Figure1",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        label = int(rng.integers(2))
        yield Train(Sample([0.0, 1.0], [0, label]), Sample([0.0, 1.0], [0, 1 - label]))


def test_the_seed_decides_what_an_adversary_draws() -> None:
    learner = configure_learner("noisy-votes", {"size": 2})
    samples = [pose_against(learner, RandomLabel(), seed=seed).samples for seed in range(8)]
    assert samples[0] == pose_against(learner, RandomLabel(), seed=0).samples
    assert len({*samples}) == 2
    assert all(first != second for first, second in samples)


def test_a_real_line_has_one_query_in_each_interval() -> None:
    learner = configure_learner("noisy-votes", {"size": 2})
    samples = [Sample([0.0, 4.0], [1, 1]), Sample([0.0, 1.0], [1, 1])]
    assert list_queries(learner, samples).tolist() == [-0.5, 0, 0.5, 1, 2.5, 4, 4.5]
    assert list_queries(configure_learner("noisy-votes", TWO | {"size": 2}), samples).tolist() == [1, 2]


def test_a_continuous_alphabet_is_refused() -> None:
    learner = configure_learner("static-erm", {"concepts": "boxes:2"})
    sample = Sample([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    with pytest.raises(Unsupported, match="infinitely many points"):
        list_queries(learner, [sample])
    large = configure_learner("static-erm", {"concepts": "thresholds:1..5000"})
    with pytest.raises(Unsupported, match="5,000 points, more than 4,096"):
        list_queries(large, [sample])
    online = configure_learner("noisy-majority", {})
    with pytest.raises(Unsupported, match="does not answer queries"):
        pose_against(online, configure_adversary("special-swap", {}, learner=online))


def test_answers_that_change_within_an_interval_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = configure_learner("static-erm", {})
    shifted = type(learner.law(Sample([0.0, 1.0], [0, 1])))
    step = shifted.step
    monkeypatch.setattr(shifted, "step", lambda law, measure, x: step(law, measure, x - 0.3))
    with pytest.raises(Unsupported, match="within an interval without a point of the samples"):
        list_queries(learner, [Sample([0.0, 1.0], [0, 1])])


def find_gain(learner: Learner, samples: Sequence[Sample]) -> float:
    """The value of two queries at ε = 0.3."""
    game, _ = answer_game(learner, samples, np.array([1.0, 2.0]), 2)
    return float(GameSolution(BeliefGraph(game, np.array([0.3]), GraphLimits())).root.lower()[0])


def test_the_worst_samples_are_those_of_a_naive_search() -> None:
    learner = configure_learner("steady-thresholds", TWO | {"size": 2, "epsilon": 1.0})
    examples = [*product([1.0, 2.0], (0, 1))]
    best = 0.0
    for common, last in product(examples, permutations(examples, 2)):
        samples = [Sample(*zip(common, own, strict=True)) for own in last]
        best = max(best, find_gain(learner, samples))
    worst, delta = pose_smallest(learner, 2, 0.3)
    assert delta == pytest.approx(best, abs=1e-12)
    assert best > 1e-3
    assert find_gain(learner, worst.samples) == pytest.approx(best, abs=1e-12)
    assert worst.samples[0].differences(worst.samples[1]) == 1


def test_too_many_samples_are_refused_with_a_size_that_works() -> None:
    learner = configure_learner("noisy-votes", {"concepts": "thresholds:1..3", "size": 12})
    with pytest.raises(Unsupported, match="6,188 samples of 12 examples") as error:
        pose_smallest(learner, 2, 0.3)
    assert "Choose at most 8 examples" in str(error.value)
    with pytest.raises(Unsupported, match="cannot be listed"):
        pose_smallest(configure_learner("static-erm", TWO), 2, 0.3)


class FirstExample(Learner):
    """Answers the first label of its sample."""

    name = "first-example"
    protocols = ("Figure1",)
    concepts = Thresholds(range(1, 3))
    sample_size = 2

    claim = None  # type: ignore[assignment]
    start = None  # type: ignore[assignment]

    def law(self, sample: Sample) -> AnswerLaw:
        return _Constant(int(sample.labels[0]))


class _Constant(AnswerLaw):
    def __init__(self, label: int) -> None:
        self._label = label

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.stack([measure * (1 - self._label), measure * self._label])


def test_learners_that_depend_on_the_order_are_refused() -> None:
    with pytest.raises(Unsupported, match="depend on the order of its examples"):
        pose_smallest(FirstExample(), 1, 0.3)  # type: ignore[abstract]


class NoExample(FirstExample):
    """Answers 0 whatever its sample."""

    def law(self, sample: Sample) -> AnswerLaw:
        return _Constant(0)


def test_samples_that_show_nothing_are_refused() -> None:
    with pytest.raises(Unsupported, match="0 neighbouring pairs of samples with different answers"):
        pose_smallest(NoExample(), 1, 0.3)  # type: ignore[abstract]
