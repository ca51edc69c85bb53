"""The zoo as learners: conformance, claims, exact losses, common random numbers, refusals."""

from __future__ import annotations

import pickle
import re
from typing import Any

import attrs
import numpy as np
import pytest
from support.zoo import EVERY, LIVELY, alternating, label, spread

from arena import InvalidArgument, PrivacyUnit, Sample, Training
from arena.laws import Branches, Density, Finite, Independent, ValueLaw
from arena.randomness import generator
from arena.testing import check_learner
from benchmarks.suite import list_statdp_inputs
from learners.zoo.counting_queries import CountingLearner, NoisyHist1, NoisyHist2
from learners.zoo.svt import Svt1, Svt2, Svt3, answer_until_halt

COMMON_RANDOM_NUMBERS = [
    *LIVELY,
    Svt3(epsilon=2.0, queries=4, halts=2),
    Svt2(epsilon=2.0, queries=3, halts=9),
]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [*EVERY, Svt2(halts=3), Svt3(halts=2)], ids=label)
def test_every_learner_of_the_zoo_conforms(learner: CountingLearner) -> None:
    check_learner(learner, sample=spread(learner, 3.0))


@pytest.mark.parametrize("learner", EVERY, ids=label)
def test_claims(learner: CountingLearner) -> None:
    claim = learner.claim
    assert claim.epsilon == pytest.approx(0.2 if "hist" in learner.name else 0.1)
    assert (claim.delta, claim.protects) == (0, (PrivacyUnit.TRAINING_EXAMPLE,))
    assert learner.common_random_numbers
    assert learner.theorem


# The losses at the inputs of StatDP, at ε = 0.1, to the digits that are known.
EXACT = {
    "zoo-laplace": (0.1, 6),
    "noisy-hist-1": (0.1, 6),
    "noisy-hist-2": (10.0, 6),
    "report-noisy-max-1": (0.0946, 4),
    "report-noisy-max-2": (0.1, 6),
    "report-noisy-max-3": (0.25, 6),
    "report-noisy-max-4": (np.inf, 0),
    "svt-1": (0.0885, 4),
    "svt-2": (0.0882, 4),
    "svt-3": (0.5, 6),
    "svt-4": (0.1725, 4),
    "svt-5": (np.inf, 0),
    "svt-6": (0.42, 2),
}


@pytest.mark.thorough
@pytest.mark.parametrize("learner", EVERY, ids=label)
def test_the_exact_loss_at_the_inputs_of_statdp(learner: CountingLearner) -> None:
    largest = 0.0
    for adversary in list_statdp_inputs(learner.queries, all_differ="hist" not in learner.name):
        first, second = (learner.law(sample) for sample in adversary.samples())
        largest = max(largest, loss(first, second))
    value, digits = EXACT[learner.name]
    assert np.round(largest, digits) == value


@pytest.mark.parametrize(("learner", "value"), [(NoisyHist1(), 0.2), (NoisyHist2(), 20.0)], ids=str)
def test_moving_a_person_costs_twice_as_much_as_removing_one(learner: CountingLearner, value: float) -> None:
    first, second = (learner.law(Sample(row, [0])) for row in (np.eye(5)[:1], np.eye(5)[1:2]))
    assert loss(first, second) == pytest.approx(value)


def loss(first: ValueLaw, second: ValueLaw) -> float:
    """The supremum of |log p₁/p₀|; of densities over a grid that holds the kinks and reaches far out."""
    if isinstance(first, Independent) and isinstance(second, Independent):
        return sum(loss(a, b) for a, b in zip(first.parts, second.parts, strict=True))
    if isinstance(first, Branches) and isinstance(second, Branches):
        return max(loss_of_part(a, b) for a, b in zip(first.parts, second.parts, strict=True))
    if isinstance(first, Finite) and isinstance(second, Finite):
        values = np.concatenate([first.values, second.values])
    else:
        assert isinstance(first, Density)
        assert isinstance(second, Density)
        kinks = np.unique(first.kinks + second.kinks)
        values = np.linspace(min(first.low, second.low), max(first.high, second.high), 8_001)
        values = np.concatenate([values, kinks, (kinks[1:] + kinks[:-1]) / 2])
    one, other = first.log_density(values), second.log_density(values)
    possible = np.maximum(one, other) > -np.inf
    return float(np.abs(one[possible] - other[possible]).max())


def loss_of_part(first: float | Density, second: float | Density) -> float:
    if isinstance(first, Density) and isinstance(second, Density):
        return loss(first, second)
    return float(abs(np.log(first / second)))  # type: ignore[operator]


@pytest.mark.parametrize("learner", COMMON_RANDOM_NUMBERS, ids=label)
def test_a_game_depends_on_its_own_sample_and_coins_alone(learner: CountingLearner) -> None:
    games = 9_000  # more than a slab
    one, other = spread(learner, 2.0), spread(learner, 3.0, falling=True)
    training, (stay, change) = alternating([one, one], games)
    mixed, _ = alternating([one, other], games)
    released, after = [], []
    for given in (training, mixed):
        rng = generator(np.random.SeedSequence(5))
        released.append(learner.start(games, rng).release(given))
        after.append(pickle.dumps(rng.bit_generator.state))
    assert np.array_equal(released[0][stay], released[1][stay])
    assert not np.array_equal(released[0][change], released[1][change])
    assert after[0] == after[1]


def test_queries_are_sums_over_copies() -> None:
    sample = Sample([[0.5, 1.0], [0.0, 0.25]], [0, 1], [3, 4])
    assert Svt1(queries=2).counts(sample).tolist() == [1.5, 4.0]


def test_answers_stop_after_their_halts() -> None:
    above = np.array([[0, 1, 1], [1, 1, 1], [0, 1, 0], [1, 1, 1]], bool)
    one = np.ones((1, above.shape[1]))
    assert answer_until_halt(1, above, one).T.tolist() == [[0, 1, -1, -1], [1, -1, -1, -1], [1, -1, -1, -1]]
    assert answer_until_halt(2, above, one).T.tolist() == [[0, 1, 0, 1], [1, 1, -1, -1], [1, 1, -1, -1]]
    assert answer_until_halt(200, above, one).T.tolist() == above.T.tolist()
    assert answer_until_halt(200, np.ones((300, 1)), np.ones((1, 1))).sum() == 200 - 100


def test_a_renewed_threshold_is_another_one() -> None:
    learner = Svt2(epsilon=1.0, queries=6, halts=6, threshold=0.0)
    sure = attrs.evolve(learner, threshold=-1e6)
    training = Training.of([spread(learner, 1.0)], np.zeros(50, int))
    rng = generator(np.random.SeedSequence(5))
    assert (sure.start(50, rng).release(training) == 1).all()
    never = attrs.evolve(learner, threshold=1e6)
    assert (never.start(50, rng).release(training) == 0).all()


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.5, 0.5, 0.5]], "must be vectors of length 2, got (3,)"),
        ([0.5, 0.5], "must be vectors of length 2, got ()"),
        ([[0.5, 0.5], [0.0, 1.5]], "must lie in [0, 1]^2, got 1.5"),
        ([[0.5, -0.25]], "must lie in [0, 1]^2, got -0.25"),
        ([[0.0, 0.0], [1.0, 0.5]], "must have L1 norm at most 1, got 1.5"),
    ],
)
def test_samples_that_are_refused(points: Any, message: str) -> None:
    learner, sample = NoisyHist1(queries=2), Sample(points, np.zeros(len(points)))
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        learner.law(sample)
