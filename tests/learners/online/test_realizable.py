"""realizable: Algorithms 1 and 2 of Li, Wang, Ye, against a naive reference, and its claim."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import attrs
import numpy as np
import pytest
from support.laws.concept_laws import agreeing, concepts_of, soa_label
from support.online.adversaries import err_on_a_concept
from support.simple_players import script

from arena import Adaptive, InvalidArgument, Oblivious, PrivacyUnit, Unsupported, play
from arena.claims import Bound
from arena.concepts import ConceptClass, FiniteClass, Intervals, Points, Thresholds
from arena.littlestone.concept_sets import labellings
from arena.randomness import generator
from learners.mechanisms.counters import private_histogram
from learners.mechanisms.noise import laplace
from learners.online.conservative import AUTOMATA, tabulate
from learners.online.realizable import KEEP, PRINTED, RealizableLearner, lwy_nodes, lwy_pairs, merge_pairs

SMALL: dict[str, Any] = {"epsilon": 200.0, "delta": 0.1, "patience": 0.3, "frequent": 0.01}
PAPER: dict[str, Any] = {"update": PRINTED, "growth": 1, "watching": 0.5, "patience": 1, "frequent": None}

Examples = list[tuple[int, int]]
Function = tuple[int, ...]


def majority_label(concepts: list[Any], x: int) -> int:
    """Halving's label: that of most concepts, 1 at a tie."""
    return int(2 * sum(concept[x] for concept in concepts) >= len(concepts))


class OneGame:
    """Algorithms 1 and 2 for one game with lists of examples, with the random numbers of a batch of one
    game."""

    def __init__(self, spec: RealizableLearner, rng: np.random.Generator) -> None:
        matrix = labellings(spec.concepts)
        self.concepts, self.points = concepts_of(matrix), range(matrix.shape[1])
        self.spec, self.rng, self.depth = spec, rng, spec.tables.depth
        labels = spec.tables.labels[: spec.tables.no_function]
        self.number = {tuple(map(int, row)): f for f, row in enumerate(labels)}
        self.layer, self.halted = 0, False
        self.sequences: list[Examples | None] = [[] for _ in range(spec.effective_nodes)]
        self.extended = [False] * (spec.effective_nodes // 2)
        self.list: list[Function] = []
        self.shown = self.soa([])
        self.start()

    def soa(self, examples: Examples | None) -> Function | None:
        """SOA(S); None for ⊥."""
        left = self.concepts
        for x, y in examples or []:
            left = agreeing(left, x, y)
        if examples is None or not left:
            return None
        label = majority_label if self.spec.base == "halving" else soa_label
        return tuple(label(left, x) for x in self.points)

    def start(self) -> None:
        self.total = 0.0
        self.limit = self.spec.mistake_threshold(self.layer) * self.spec.watch_epsilon + self.noise()

    def noise(self) -> float:
        return float(laplace(self.rng, np.empty(1))[0])

    def observe(self, x: int, y: int) -> None:
        pairs = len(self.sequences) // 2
        i = int(self.rng.integers(0, self.spec.effective_nodes // 2, 1)[0]) & (pairs - 1)
        first, second = self.soa(self.sequences[2 * i]), self.soa(self.sequences[2 * i + 1])
        if not self.halted and first is not None and first == second and first[x] != y:
            self.sequences[2 * i] = [*self.sequences[2 * i], (x, y)]
            self.extended[i] = True
        wrong = self.shown[x] != y
        self.total += wrong
        above = self.total * self.spec.watch_epsilon + self.noise() >= self.limit
        if above and not self.halted:
            self.move_on()

    def move_on(self) -> None:
        while not self.list and self.layer < self.depth:
            self.update()
            self.list = self.frequent()
        if not self.list:
            self.halted = True
            return
        self.shown = self.list.pop(0)
        self.start()

    def update(self) -> None:
        pairs = len(self.sequences) // 2
        places = self.rng.permutation(pairs)
        guesses = self.rng.integers(0, 2, pairs, dtype=bool)
        above: list[Examples | None] = [None] * pairs
        for i in range(pairs):
            one, other = self.sequences[2 * i : 2 * i + 2]
            above[places[i]] = self.merge_pair(one, other, int(guesses[i]), self.extended[i])
        self.sequences, self.extended = above, [False] * (pairs // 2)
        self.layer += 1

    def merge_pair(self, one: Examples | None, other: Examples | None, guess: int, extended: bool) -> Any:
        first, second = self.soa(one), self.soa(other)
        if self.spec.update == KEEP:
            if first is None:
                return other
            if extended or second is None or first == second:
                return one
        if first is None or second is None or first == second:
            return None
        differ = [x for x in self.points if first[x] != second[x]]
        x = differ[(len(differ) - 1) // 2]
        return [*(one if first[x] != guess else other), (x, guess)]

    def frequent(self) -> list[Function]:
        functions = [self.soa(s) for s in self.sequences]
        if self.spec.update == PRINTED or self.layer < self.depth:
            functions = [f for f, g in zip(functions[::2], functions[1::2], strict=True) if f == g]
        counted = Counter(self.number[f] for f in functions if f is not None)
        counts = np.array([counted[f] for f in range(len(self.number))])
        noisy = private_histogram(self.rng, counts, self.spec.noises[self.layer - 1])
        by_number = {number: function for function, number in self.number.items()}
        listed = [
            f for f in counted if noisy[f] > 0 and noisy[f] >= self.spec.frequency_threshold(self.layer)
        ]
        return [by_number[f] for f in sorted(listed, key=lambda f: -noisy[f])]


CLASSES = [
    Thresholds(range(3)),
    Thresholds(range(7)),
    Points(range(4)),
    FiniteClass([[0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]),
]
# Most concepts label the first point 1; those that label it 0 have the larger Littlestone dimension.
SINGLE, BITS = np.eye(5, dtype=int).tolist(), product((0, 1), repeat=2)
UNEVEN = FiniteClass([[1, *row] for row in SINGLE] + [[0, i, j, 0, 0, 0] for i, j in BITS])
FEW = FiniteClass([[0, 1, 0, 1, 0], [1, 0, 1, 0, 0], [1, 1, 0, 0, 1], [1, 1, 1, 0, 1]])
CASES = [(concepts, "soa") for concepts in CLASSES] + [(UNEVEN, "soa"), (UNEVEN, "halving")]


@pytest.mark.thorough
@pytest.mark.parametrize("update", [KEEP, PRINTED])
@pytest.mark.parametrize(("concepts", "base"), CASES, ids=str)
def test_one_game_equals_the_naive_reference(concepts: ConceptClass, base: str, update: str) -> None:
    matrix = labellings(concepts)
    domain = np.array(concepts.domain)
    layers = set()
    for seed in range(8):
        spec = RealizableLearner(concepts=concepts, base=base, nodes=64, update=update, rounds=400, **SMALL)
        draws = np.random.default_rng(seed)
        target = matrix[draws.integers(len(matrix))]
        coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))
        state, game = spec.start(1, coins), OneGame(spec, same_coins)
        for _ in range(spec.rounds):
            h = state.hypothesis()
            shown = tuple(int(h(point)[0]) for point in domain)
            assert shown == game.shown
            wrong = [x for x in game.points if game.shown[x] != target[x]]
            x = int(draws.choice(wrong)) if wrong and draws.random() < 0.9 else int(draws.choice(game.points))
            y = int(target[x]) ^ int(seed % 4 == 3 and draws.random() < 0.2)  # also what is not realizable
            state.observe(domain[[x]], np.array([y]))
            game.observe(x, y)
        layers.add(game.layer)
    assert max(layers) == spec.tables.depth


# --- updates ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", AUTOMATA)
@pytest.mark.parametrize("update", [KEEP, PRINTED])
def test_one_sequence_affects_one_sequence_of_the_next_layer(
    rng: np.random.Generator, update: str, base: str
) -> None:
    soa = tabulate(Intervals(range(5)), base)
    states = np.append(np.unique(reachable(soa)), soa.dead)
    for _ in range(50):
        first, second = rng.choice(states, (2, 30))
        guess, fed = rng.random((2, 30)) < 0.5
        other = first.copy()
        other[7] = rng.choice(states)
        other_fed = fed.copy()
        other_fed[7] ^= True
        up = merge_pairs(soa, first, second, guess, fed if update == KEEP else None)
        moved = merge_pairs(soa, other, second, guess, other_fed if update == KEEP else None)
        assert np.flatnonzero(up != moved).tolist() in ([], [7])


def test_merging_a_pair_as_printed() -> None:
    soa = tabulate(Thresholds(range(3)))  # 0 to 3, the fourth all 0; the first function is 1[x >= 1]
    empty, low, high = 0, int(soa.after[0, 1]), int(soa.after[0, 0])
    first = np.array([low, low, empty, soa.dead, low])
    second = np.array([empty, empty, empty, empty, high])
    for guess in (False, True):
        up = merge_pairs(soa, first, second, np.full(5, guess), None)
        assert up[2] == up[3] == soa.dead
        # The sequence (1, 0) meets the empty one: they differ at 1 alone, and 1 contradicts the sequence.
        assert up[0] == up[1] == (soa.dead if guess else low)
    kept = merge_pairs(soa, first, second, np.ones(5, bool), np.array([True, False, False, False, False]))
    assert kept.tolist()[:4] == [low, soa.dead, empty, empty]


def reachable(soa: Any) -> np.ndarray:
    """The states that the SOA can be in."""
    found = {0}
    while True:
        more = found | set(soa.after[sorted(found)].ravel().tolist()) - {soa.dead}
        if more == found:
            return np.array(sorted(found))
        found = more


# --- claims -------------------------------------------------------------------------------------------------


def test_the_claim_is_the_cost_of_the_noise() -> None:
    learner = RealizableLearner(concepts=Thresholds(range(4)), epsilon=1.0, delta=1e-6)
    assert learner.watch_epsilon == 0.25
    assert [noise.scale for noise in learner.noises] == pytest.approx([2 / 0.25, 2 / 0.5])
    assert learner.claim.epsilon == pytest.approx(1.0)
    assert learner.claim.delta == pytest.approx(1e-6)
    assert learner.claim.delta <= 1e-6 * (1 + 1e-9)
    assert learner.claim.protects == (PrivacyUnit.STREAM_EXAMPLE,)
    assert attrs.evolve(learner, nodes=2).claim == attrs.evolve(learner, nodes=2**20).claim
    paper = attrs.evolve(learner, **PAPER)
    assert [noise.scale for noise in paper.noises] == pytest.approx([2 / 0.25, 2 / 0.25])
    assert paper.watch_epsilon == 0.5


def test_nodes_follow_the_noise() -> None:
    for points, nodes in ((4, 2**12), (8, 2**13), (16, 2**14)):
        learner = RealizableLearner(concepts=Thresholds(range(points)))
        assert learner.effective_nodes == nodes
        for layer, noise in enumerate(learner.noises, start=1):
            assert noise.threshold <= (nodes >> layer) / 2 / 6


def test_thresholds_wait_for_the_noise() -> None:
    learner = RealizableLearner(nodes=1024, rounds=1000, beta=0.3, epsilon=2.0, patience=0.5)
    slack = (math.log(1000) + 2 * math.log(2 * 3 * 1000 / 0.3)) / 0.5
    assert learner.mistake_threshold(2) == pytest.approx(128 + slack)


def test_the_paper_needs_astronomically_many_nodes() -> None:
    asked = {"epsilon": 0.1, "delta": 1e-9, "beta": 0.01, "rounds": 10_000}
    assert lwy_nodes(1, **asked) > 1e21
    assert lwy_nodes(2, **asked) > 1e42
    assert lwy_nodes(3, **asked) > 1e80
    assert lwy_nodes(5, **asked) == math.inf
    assert lwy_nodes(1, **{**asked, "epsilon": 1e-30}) > 1e30
    for layer in range(3):  # M_{s+1} = M_s²/(512 N_{s+1}), from half of layer 0 on
        assert lwy_pairs(layer + 1) == lwy_pairs(layer) ** 2 / 128
    assert lwy_pairs(0) == 0.5
    with pytest.raises(InvalidArgument, match="depth must be at least 1, got 0"):
        lwy_nodes(0, **asked)


def test_a_bound_exists_for_the_settings_of_the_proof() -> None:
    few = RealizableLearner(concepts=Thresholds([0.0]), rounds=100, **PAPER)
    enough = attrs.evolve(few, nodes=2**75)
    bound = enough.bound(100)
    assert isinstance(bound, Bound)
    slack = (math.log(100) + 2 * math.log(600 / 0.05)) / 0.5
    assert bound.at_most == pytest.approx((2**75 + 2 * slack + 1) * 2 + (2**74 + 2 * slack + 1) * 512)
    assert bound.beta == 0.05
    assert bound.of == "mistakes"
    assert few.bound(100) is None
    assert enough.bound(101) is None
    for other in ({"update": KEEP}, {"patience": 0.9}, {"frequent": 0.1}):
        assert attrs.evolve(enough, **other).bound(100) is None
    one = RealizableLearner(concepts=FiniteClass([[0, 1]]))
    assert one.bound(100).at_most == 0
    assert one.claim.epsilon == 0.25


# --- games --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("points", [4, 8, 16])
def test_it_finds_the_concept_after_few_mistakes(points: int) -> None:
    concepts = Thresholds(range(points))
    learner = RealizableLearner(concepts=concepts, epsilon=16.0, rounds=6_000)
    played = play(learner, err_on_a_concept(concepts, 6_000), Adaptive(6_000), games=40, seed=3)
    assert played.mistakes is not None
    assert played.score.mean() >= 0.95
    assert np.median(played.mistakes) <= 3 * learner.effective_nodes


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("concepts", "base", "proper", "depth"),
    [
        (Thresholds(range(7)), "soa", True, 3),
        (FEW, "soa", False, 2),
        (FEW, "sparse-majority", True, 2),
        (Points(range(8)), "sparse-majority", False, 1),
        (UNEVEN, "soa", False, 2),
        (UNEVEN, "halving", False, 3),
    ],
    ids=str,
)
def test_a_base_makes_it_proper_or_not(
    concepts: ConceptClass, base: str, proper: bool, depth: int, rng: np.random.Generator
) -> None:
    """Beside what is published in games in which many functions are."""
    learner = RealizableLearner(concepts=concepts, base=base, nodes=64, rounds=300, **SMALL)
    assert (learner.proper, learner.tables.depth, len(learner.noises)) == (proper, depth, depth)
    labellings_of, published = {tuple(row) for row in labellings(concepts)}, set()
    domain = np.array(concepts.domain)
    state = learner.start(40, rng)
    target = labellings(concepts)[rng.integers(len(labellings(concepts)), size=40)]
    for _ in range(300):
        h = state.hypothesis()
        shown = np.stack([h(point) for point in domain], axis=1)
        published |= {tuple(row) for row in shown}
        x = (rng.random(shown.shape) * (0.01 + (shown != target))).argmax(axis=1)
        state.observe(domain[x], target[np.arange(40), x])
    assert (published <= labellings_of) == proper
    assert len(published) > 2


@pytest.mark.thorough
def test_a_halted_game_keeps_its_last_function(rng: np.random.Generator) -> None:
    learner = RealizableLearner(
        concepts=Thresholds(range(4)), nodes=8, rounds=3_000, epsilon=20.0, patience=0.1, frequent=1.0
    )
    state = learner.start(30, rng)
    for _ in range(1_500):
        h = state.hypothesis()
        state.observe(np.zeros(30), ~h(0.0))
    before = state.hypothesis().concepts.copy()
    states = state._states.copy()
    for t in range(500):
        x = np.full(30, float(t % 4))
        state.observe(x, ~state.hypothesis()(x))
    assert state._halted.all()
    assert np.array_equal(state.hypothesis().concepts, before)
    assert np.array_equal(state._states, states)


# --- refusals -----------------------------------------------------------------------------------------------


def test_a_class_without_a_small_table_is_refused() -> None:
    with pytest.raises(Unsupported, match="too large to tabulate"):
        RealizableLearner(concepts=Thresholds(np.arange(8_000.0))).start(2, np.random.default_rng(0))


def test_nodes_must_be_a_power_of_two_that_leaves_a_pair_in_the_last_layer() -> None:
    with pytest.raises(InvalidArgument, match="nodes must be a power of two, got 48"):
        RealizableLearner(nodes=48)
    with pytest.raises(InvalidArgument, match="nodes must be at least 32, got 16"):
        play(RealizableLearner(nodes=16), script(), Oblivious(1), games=1, seed=1)
