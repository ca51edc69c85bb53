"""golowich-livni: a naive reference, sensitivity, claims, the reduction, games."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from support.laws.concept_laws import agreeing, concepts_of, soa_label
from support.online.adversaries import err_on_a_concept
from support.statistical import check_mean, statistical

from arena import Adaptive, PrivacyUnit, play
from arena.concepts import ConceptClass, FiniteClass, Points, Thresholds
from arena.littlestone.concept_sets import labellings
from arena.randomness import generator
from learners.mechanisms.accounting import best_composition
from learners.mechanisms.counters import private_histogram
from learners.mechanisms.noise import laplace
from learners.online.conservative import tabulate
from learners.online.golowich_livni import GolowichLivni, TournamentForests

RATE = 1e-7
SURE = {"rate": RATE, "power": 1 - 1e-7}
CLASSES = [
    Thresholds(range(3)),
    Thresholds(range(7)),
    Points(range(4)),
    FiniteClass([[0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]),
]


class Node:
    """A node of a tree: its parent, children, and its sequence while it is pertinent."""

    def __init__(self, parent: Node | None, depth: int) -> None:
        self.parent = parent
        self.examples: list[tuple[int, int]] | None = None if depth else []
        self.children = [Node(self, depth - 1) for _ in range(2)] if depth else []

    def leaves(self) -> list[Node]:
        return [leaf for child in self.children for leaf in child.leaves()] if self.children else [self]

    def nodes(self) -> list[Node]:
        return [self, *(node for child in self.children for node in child.nodes())]


class OneForest:
    """One instance for one game: sequences of examples in trees of nodes, with the random numbers of one
    row."""

    def __init__(self, spec: GolowichLivni, rng: np.random.Generator) -> None:
        matrix = labellings(spec.concepts)
        self.concepts, self.points = concepts_of(matrix), range(matrix.shape[1])
        self.spec, self.rng = spec, rng
        depth = spec.soa.depth
        self.trees = [Node(None, depth) for _ in range(spec.nodes >> depth)]
        self.leaves = [leaf for tree in self.trees for leaf in tree.leaves()]
        labels = spec.soa.labels[: spec.soa.no_function]
        self.functions = [tuple(map(int, row)) for row in labels]
        self.shown = self.soa([])
        self.scale = 4 * (depth + 1) / spec.watch_epsilon
        self.left = spec.switches
        self.limit = self.noisy_limit()

    def soa(self, examples: list[tuple[int, int]]) -> tuple[int, ...] | None:
        left = self.concepts
        for x, y in examples:
            left = agreeing(left, x, y)
        return tuple(soa_label(left, x) for x in self.points) if left else None

    def noise(self) -> float:
        return float(laplace(self.rng, np.empty(1))[0])

    def noisy_limit(self) -> float:
        return -self.spec.effective_level + self.scale / 2 * self.noise()

    def pertinent(self) -> list[tuple[int, ...] | None]:
        nodes = [node for tree in self.trees for node in tree.nodes() if node.examples is not None]
        return [self.soa(node.examples) for node in nodes if node.examples is not None]

    def observe(self, x: int, y: int) -> None:
        node = self.leaves[int(self.rng.integers(0, len(self.leaves), 1)[0])]
        while node.examples is None:
            assert node.parent is not None
            node = node.parent
        function = self.soa(node.examples)
        if function is not None and function[x] != y:
            node.examples.append((x, y))
            self.merge(node)
        above = -self.pertinent().count(self.shown) + self.scale * self.noise() >= self.limit
        if above and self.left:
            self.switch()

    def merge(self, node: Node) -> None:
        parent = node.parent
        if parent is None:
            return
        one, two = parent.children
        if one.examples is None or two.examples is None:
            return
        first, second = self.soa(one.examples), self.soa(two.examples)
        if first is None or second is None or first == second:
            return
        differ = [x for x in self.points if first[x] != second[x]]
        x, y = differ[(len(differ) - 1) // 2], int(self.rng.integers(0, 2, 1, dtype=bool)[0])
        parent.examples = [*(one.examples if first[x] != y else two.examples), (x, y)]
        one.examples = two.examples = None
        self.merge(parent)

    def switch(self) -> None:
        self.left -= 1
        if self.left:
            self.limit = self.noisy_limit()
        have = self.pertinent()
        counts = np.array([have.count(f) for f in self.functions])
        noisy = private_histogram(self.rng, counts, self.spec.noise)
        if noisy.any():
            self.shown = self.functions[int(noisy.argmax())]


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", CLASSES, ids=str)
def test_one_game_equals_the_naive_reference(concepts: ConceptClass) -> None:
    matrix, domain = labellings(concepts), np.array(concepts.domain)
    shown = set()
    for seed in range(4):
        spec = GolowichLivni(
            concepts=concepts, nodes=128, epsilon=20_000.0, delta=0.1, rounds=500, switches=20, level=10.0
        )
        draws = np.random.default_rng(seed)
        target = matrix[draws.integers(len(matrix))]
        coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))
        state, game = spec.start(1, coins), OneForest(spec, same_coins)
        for _ in range(spec.rounds):
            h = state.hypothesis()
            assert tuple(int(h(point)[0]) for point in domain) == game.shown
            shown.add(game.shown)
            wrong = np.flatnonzero(np.array(game.shown) != target)
            x = int(draws.choice(wrong if wrong.size and draws.random() < 0.8 else len(domain)))
            y = int(target[x]) ^ int(seed % 3 == 2 and draws.random() < 0.2)
            state.observe(domain[[x]], np.array([y]))
            game.observe(x, y)
            assert state._forests.count[0] == game.pertinent().count(game.shown)
    assert len(shown) >= 2


class FixedCoins:
    """Draws leaves from a generator and guesses 1, the same for neighbours."""

    def __init__(self, seed: int, guess: bool) -> None:
        self._rng = np.random.default_rng(seed)
        self._guess = guess

    def integers(self, low: int, high: int, size: int, dtype: type = int) -> np.ndarray:
        return np.full(size, self._guess) if dtype is bool else self._rng.integers(low, high, size)


@pytest.mark.thorough
def test_an_example_changes_a_count_by_d_plus_1_and_the_histogram_by_d_plus_2() -> None:
    soa = tabulate(Thresholds(range(3)))
    most, moved = 0, 0
    for seed in range(1_500):
        draws = np.random.default_rng(seed)
        x, y = draws.integers(0, 3, 10), draws.integers(0, 2, 10)
        if seed % 2:
            y = (x >= draws.integers(0, 4)).astype(int)
        special = draws.integers(0, 6)
        other_x, other_y = x.copy(), y.copy()
        other_x[special], other_y[special] = draws.integers(0, 3), draws.integers(0, 2)
        tables = []
        for xs, ys in ((x, y), (other_x, other_y)):
            forest = TournamentForests(soa, 1, 4, FixedCoins(seed, bool(seed % 3)))  # type: ignore[arg-type]
            counts = []
            for column, label in zip(xs, ys, strict=True):
                forest.insert(0, np.array([column]), np.array([label]))
                counts.append(forest.counts(np.array([0]))[0])
            tables.append(np.array(counts))
        apart = np.abs(tables[0] - tables[1])
        most, moved = max(most, int(apart.max())), max(moved, int(apart.sum(axis=1).max()))
    # That of a single changed node, 1 and 2, would be too small.
    assert 2 <= most <= soa.depth + 1
    assert 3 <= moved <= soa.depth + 2


def test_the_claim_is_the_cost_of_the_noise_in_use() -> None:
    learner = GolowichLivni(concepts=Thresholds(range(4)), epsilon=1.0, delta=1e-6, switches=8)
    each = learner.watch_epsilon
    assert best_composition(8, 2 * each, slack=5e-7).epsilon == pytest.approx(1.0)
    assert (learner.noise.sensitivity, learner.noise.key_sensitivity) == (4, 3)
    assert learner.noise.scale == pytest.approx(4 / each)
    assert learner.claim.epsilon == pytest.approx(1.0)
    assert 5e-7 <= learner.claim.delta <= 1e-6
    assert learner.claim.protects == (PrivacyUnit.STREAM_EXAMPLE,)
    many = attrs.evolve(learner, switches=300)
    assert many.watch_epsilon > 1 / 600
    assert many.claim.epsilon == pytest.approx(1.0)
    assert many.claim.delta == pytest.approx(1e-6, rel=1e-6)


def test_the_reduction_composes_over_all_rounds() -> None:
    learner = GolowichLivni(concepts=Thresholds(range(4)), rounds=10_000, reduction=True)
    each = learner.instance_cost
    assert learner.claim.epsilon == pytest.approx(1.0)
    assert learner.claim.delta <= 1e-6
    assert best_composition(10_000, each.epsilon, slack=5e-7).epsilon == pytest.approx(1.0)
    assert each.epsilon == pytest.approx(1 / math.sqrt(2 * 10_000 * math.log(2e6)), rel=0.05)
    assert each.delta <= 1e-6 / 20_000
    assert attrs.evolve(learner, reduction=False).watch_epsilon > 100 * learner.watch_epsilon


def test_the_level_is_the_error_of_above_threshold() -> None:
    learner = GolowichLivni(concepts=Thresholds(range(4)), rounds=1_000, switches=4, beta=0.1)
    per = 3 / learner.watch_epsilon  # Δ/ε
    assert learner.effective_level == pytest.approx(2 * per * math.log(80) + 4 * per * math.log(80_000))
    assert attrs.evolve(learner, level=7.0).effective_level == 7.0
    assert learner.bound(100) is None


ROUNDS = 60
REDUCED = GolowichLivni(
    concepts=Thresholds(range(2)), nodes=64, epsilon=9_000.0, rounds=ROUNDS, level=16.0, reduction=True
)


def test_a_reduced_instance_has_the_noise_of_a_plain_one() -> None:
    plain = as_plain(REDUCED)
    assert plain.watch_epsilon == pytest.approx(REDUCED.watch_epsilon)
    assert plain.noise.reach == pytest.approx(REDUCED.noise.reach)


def as_plain(spec: GolowichLivni) -> GolowichLivni:
    return attrs.evolve(
        spec, reduction=False, epsilon=spec.instance_cost.epsilon, delta=spec.delta / (2 * spec.rounds)
    )


def predictions_at_0(spec: GolowichLivni, games: int, seed: int) -> np.ndarray:
    """(ROUNDS, games): whether h_t labels 0 as 1, on a stream of (0, 1)."""
    state, shown = spec.start(games, generator(np.random.SeedSequence(seed))), []
    for _ in range(ROUNDS):
        shown.append(state.hypothesis()(0.0))
        state.observe(np.zeros(games), np.ones(games, np.int8))
    return np.array(shown, float)


@pytest.mark.slow
@statistical(rate=5 * RATE)
def test_each_round_of_the_reduction_is_an_independent_plain_instance() -> None:
    """Each of its functions has the distribution of a plain instance on all earlier examples; rounds are
    independent, where a plain instance that has switched has switched for good."""
    games = 20_000
    reduced, plain = predictions_at_0(REDUCED, games, 1), predictions_at_0(as_plain(REDUCED), games, 2)
    middle = ROUNDS - 8
    assert 0.2 < plain[middle].mean() < 0.6
    for t in (ROUNDS - 12, middle, middle + 1, ROUNDS - 1):
        check_mean(reduced[t] - plain[t], 0.0, bounds=(-1, 1), effect=0.1, **SURE)

    def covariance_terms(shown: np.ndarray) -> np.ndarray:
        """Of pairs of games: the mean is twice the covariance of two rounds."""
        now, then = shown[middle], shown[middle + 1]
        return (now[::2] - now[1::2]) * (then[::2] - then[1::2])

    check_mean(covariance_terms(reduced), 0.0, bounds=(-1, 1), effect=0.14, **SURE)
    assert covariance_terms(plain).mean() > 0.2


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("points", "learner", "mistakes"),
    [
        (2, {"nodes": 256, "epsilon": 60.0, "rounds": 1_500}, 400),
        (4, {"nodes": 512, "epsilon": 300.0, "rounds": 3_000}, 1_500),
        (2, {"nodes": 64, "epsilon": 1e5, "rounds": 400, "reduction": True}, 250),
    ],
)
def test_it_finds_the_concept_after_few_mistakes(
    points: int, learner: dict[str, Any], mistakes: float
) -> None:
    concepts = Thresholds(range(points))
    spec = GolowichLivni(concepts=concepts, **learner)
    played = play(spec, err_on_a_concept(concepts, spec.rounds), Adaptive(spec.rounds), games=40, seed=3)
    assert played.score.mean() >= 0.9
    assert played.mistakes.mean() <= mistakes
