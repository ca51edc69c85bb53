"""weighted-majority and bps-experts: distributions against separate experts, draws, bounds, refusals."""

from __future__ import annotations

import math
from itertools import combinations

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.laws.concept_laws import agreeing, concepts_of, dimension, soa_label
from support.statistical import check_counts, expect_rejection, statistical

from arena import REGRET, Unsupported
from arena.concepts import FiniteClass, Intervals, Points, Thresholds
from learners.common import learner_bases
from learners.online.hedge import BpsExperts, HedgeWeights, WeightedMajority, build_groups, count_subsets

RATE = 1e-8
EVERY = [WeightedMajority, BpsExperts]
CLASSES = arrays.arrays(bool, st.tuples(st.integers(1, 6), st.integers(1, 4)))
SEEDS = st.integers(0, 2**32 - 1)


def examples_of(seed: int, games: int, rounds: int, points: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.integers(points, size=(rounds, games)), rng.integers(2, size=(rounds, games))


@pytest.mark.thorough
@given(matrix=CLASSES, seed=SEEDS)
def test_weighted_majority_weighs_by_mistakes(matrix: np.ndarray, seed: int) -> None:
    learner = WeightedMajority(concepts=FiniteClass(matrix), rounds=9)
    rows = learner.distinct_concepts.labels
    state = learner.start(3, np.random.default_rng(seed))
    mistakes = np.zeros((3, len(rows)))
    for x, y in zip(*examples_of(seed, 3, 9, matrix.shape[1]), strict=True):
        expected = np.exp(-learner.eta * mistakes)
        assert np.abs(state.law - expected / expected.sum(axis=1, keepdims=True)).max() < 1e-12
        state.hypothesis()
        state.observe(x, y)
        mistakes += y[:, None] != rows[:, x].T


class Expert:
    """A single expert of Ben-David, Pál, Shalev-Shwartz: a set of rounds, and the SOA by its definition."""

    def __init__(self, against: tuple[int, ...], matrix: np.ndarray) -> None:
        self.against, self.left, self.mistakes = against, concepts_of(matrix), 0
        self.points = range(matrix.shape[1])

    def function(self, t: int) -> tuple[int, ...]:
        soa = [soa_label(self.left, x) if self.left else 0 for x in self.points]
        return tuple(1 - label if t in self.against else label for label in soa)

    def observe(self, t: int, x: int, y: int) -> None:
        said = self.function(t)[x]
        self.mistakes += said != y
        if t in self.against:
            self.left = agreeing(self.left, x, said)


def every_expert(matrix: np.ndarray, rounds: int) -> list[Expert]:
    depth = dimension(concepts_of(matrix))
    sets = [set for size in range(depth + 1) for set in combinations(range(rounds), size)]
    return [Expert(against, matrix) for against in sets]


@settings(max_examples=60)
@given(matrix=CLASSES, seed=SEEDS, rounds=st.integers(1, 6))
def test_merged_experts_have_the_law_of_all_experts(matrix: np.ndarray, seed: int, rounds: int) -> None:
    learner = BpsExperts(concepts=FiniteClass(matrix), rounds=rounds)
    state = learner.start(2, np.random.default_rng(seed))
    tables = [every_expert(matrix, rounds) for _ in range(2)]
    assert math.exp(learner.log_experts) == pytest.approx(len(tables[0]))
    for t, (x, y) in enumerate(zip(*examples_of(seed, 2, rounds, matrix.shape[1]), strict=True)):
        shown = state.hypothesis()
        functions = [tuple(map(int, row)) for row in shown.concept_class.matrix]
        for game, experts in enumerate(tables):
            expected = np.zeros(len(functions))
            for expert in experts:
                expected[functions.index(expert.function(t))] += math.exp(-learner.eta * expert.mistakes)
                expert.observe(t, int(x[game]), int(y[game]))
            assert np.abs(state.law[game] - expected / expected.sum()).max() < 1e-12
            assert expected[shown.concepts[game]] > 0
        state.observe(x, y)


@settings(max_examples=40)
@given(matrix=CLASSES, seed=SEEDS)
def test_some_expert_is_as_good_as_the_best_concept(matrix: np.ndarray, seed: int) -> None:
    x, y = (part[:, 0] for part in examples_of(seed, 1, 6, matrix.shape[1]))
    experts = every_expert(matrix, 6)
    for t in range(6):
        for expert in experts:
            expert.observe(t, int(x[t]), int(y[t]))
    assert min(expert.mistakes for expert in experts) <= (matrix[:, x] != y).sum(axis=1).min()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [
        WeightedMajority(concepts=Points(range(4)), rounds=3, rate=1.0),
        BpsExperts(concepts=Points(range(3)), rounds=3, rate=1.0),
    ],
    ids=lambda learner: learner.name,
)
@statistical(rate=3 * RATE)
def test_hypotheses_follow_the_distribution(learner) -> None:  # type: ignore[no-untyped-def]
    """In the third round, and not the distribution of a slightly larger rate."""
    law, shown = third_round(learner, games=400_000)
    _, faster = third_round(attrs.evolve(learner, rate=1.2), games=400_000)
    check_counts(np.bincount(shown, minlength=len(law)), law, rate=RATE, effect=0.01, power=1 - 1e-8)
    with expect_rejection():
        check_counts(np.bincount(faster, minlength=len(law)), law, rate=RATE, effect=0.01, power=1 - 1e-8)


def third_round(learner, games: int) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """The distribution of the hypothesis after the examples (0, 1) and (2, 0), and the hypotheses of many
    games."""
    state = learner.start(games, np.random.default_rng(1))
    for x, y in ((0, 1), (2, 0)):
        state.hypothesis()
        state.observe(np.full(games, float(x)), np.full(games, y))
    shown = state.hypothesis()
    return state.law[0], shown.concepts


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.03, 2.5])
def test_weights_stay_exact_in_long_games(rate: float) -> None:
    """A thousand rounds against one concept, a thousand against the other, against logarithms."""
    learner = WeightedMajority(concepts=FiniteClass([[0], [1]]), rounds=2_000, rate=rate)
    state = learner.start(1, np.random.default_rng(0))
    lead = 0
    for t in range(2_000):
        # Doubles hold what is less than e^970 behind; the rest is raised to that.
        if abs(lead) * rate < 700:
            expected = 1 / (1 + math.exp(-rate * lead))
            assert state.law[0, 1] == pytest.approx(expected, rel=1e-9) or t > 1_000
        state.hypothesis()
        state.observe(np.zeros(1), np.array([int(t < 1_000)]))
        lead += 1 if t < 1_000 else -1
    expected = 0.5 if rate < 1 else 0.0  # who was raised is ahead in the end
    assert state.law[0, 1] == pytest.approx(expected, abs=1e-9)


def test_merged_experts_recover_in_long_games() -> None:
    """Labels of one point function, then for longer those of another, whose experts must not be lost."""
    learner = BpsExperts(concepts=Points(range(4)), rounds=3_000, rate=2.0)
    state = learner.start(1, np.random.default_rng(0))
    for t in range(3_000):
        state.hypothesis()
        x = t % 2
        state.observe(np.array([float(x)]), np.array([int((x == 0) == (t < 1_200))]))
    shown = state._groups.hypotheses.matrix[:, :2]
    assert state.law[0][(shown == [False, True]).all(axis=1)].sum() > 0.999


def test_very_small_weights_are_raised_and_zero_weights_stay_zero() -> None:
    weights = HedgeWeights(1, np.array([1.0, 1.0, 0.0]), rate=14.0, log_experts=1.0)
    for _ in range(100):
        weights.values *= np.array([1.0, np.exp(-14.0), 1.0])
        weights.end_round()
    assert weights.values.tolist() == [[2.0**399, 2.0**-1000, 0.0]]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", EVERY)
@settings(max_examples=60)
@given(matrix=CLASSES, seed=SEEDS, rounds=st.integers(1, 30))
def test_the_expected_regret_is_within_the_bound_on_any_sequence(
    kind, matrix: np.ndarray, seed: int, rounds: int
) -> None:
    """Against an adversary that sends the least certain point with the less likely label."""
    learner = kind(concepts=FiniteClass(matrix), rounds=rounds)
    state = learner.start(1, np.random.default_rng(seed))
    loss, wrong = 0.0, np.zeros(len(matrix))
    for t in range(rounds):
        shown = state.hypothesis()
        rows = learner.distinct_concepts.labels if kind is WeightedMajority else shown.concept_class.matrix
        ones = state.law[0] @ rows
        x = int(np.abs(ones - 0.5).argmin())
        y = int(ones[x] < 0.5)
        loss += ones[x] if y == 0 else 1 - ones[x]
        wrong += matrix[:, x] != y
        state.observe(np.array([float(x)]), np.array([y]))
        bound = learner.bound(t + 1)
        assert loss - wrong.min() <= bound.at_most + 1e-9


@pytest.mark.parametrize("kind", EVERY)
def test_bounds_are_those_of_the_rate_in_use(kind) -> None:  # type: ignore[no-untyped-def]
    learner = kind(concepts=Intervals(range(8)), rounds=200)
    experts = math.log(37) if kind is WeightedMajority else math.log(sum(math.comb(200, j) for j in range(5)))
    bound = learner.bound(200)
    assert bound.at_most == pytest.approx(math.sqrt(200 * experts / 2))
    assert (bound.of, bound.beta, bound.theorem) == (REGRET, None, kind.theorem)
    assert learner.bound(50).at_most == pytest.approx(experts / learner.eta + learner.eta * 50 / 8)
    assert learner.bound(201) is None
    faster = kind(concepts=Intervals(range(8)), rounds=200, rate=0.5)
    assert faster.eta == 0.5
    assert faster.bound(200).at_most == pytest.approx(experts / 0.5 + 0.5 * 25)


def test_there_are_as_few_groups_as_documented() -> None:
    assert len(build_groups(Thresholds(range(16)))) == 74
    assert len(build_groups(Intervals(range(16)))) == 1_429
    assert count_subsets(5, 2) == [1, 6, 16]


def test_too_many_experts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(Unsupported, match=r"has at least .* groups of experts on 4,000 "):
        BpsExperts(concepts=Thresholds(range(4_000))).start(1, rng)
    with pytest.raises(Unsupported, match=r"up to 4,096 points, and Thresholds\(5000 points .* has 5,000"):
        WeightedMajority(concepts=Thresholds(range(5_000))).start(1, rng)
    monkeypatch.setattr(learner_bases, "MOST_NUMBERS", 100)
    with pytest.raises(Unsupported, match="10 games of 17 numbers each exceed 100 numbers"):
        WeightedMajority().start(10, rng)
    with pytest.raises(Unsupported, match=r"^2\^\d+ experts exceed 2\^500"):
        HedgeWeights(1, np.ones(2), rate=0.1, log_experts=400.0)
