"""Adversaries that contradict hypotheses: shattered-tree, adaptive, forest-breaker."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.online.players import Forest, Guesser, Lazy

from adversaries.online.adaptive import (
    AdaptiveConsistent,
    ForestBreaker,
    ShatteredTree,
    SimulatedForests,
    TreeArrays,
)
from adversaries.online.base import NUMBER, ValuedVersionSpaces
from adversaries.online.random_sequences import IidExamples
from arena import Adaptive, Learner, play
from arena.concepts import ConceptClass, FiniteClass, Intervals, Points, Rectangles, Thresholds
from arena.littlestone import START, littlestone_dimension, soa
from learners.online.conservative import Halving, Soa

CLASSES: list[ConceptClass] = [
    Thresholds(range(16)),
    Thresholds([1, 2, 3]),
    Points(range(5)),
    Points([7]),
    Intervals(range(8)),
    Rectangles([3, 3]),
    FiniteClass(np.random.default_rng(4).random((30, 6)) < 0.5),
]
KINDS: list[Any] = [ShatteredTree, AdaptiveConsistent, ForestBreaker]


def mistakes(learner: Learner, adversary: Any, games: int = 6) -> np.ndarray:
    played = play(learner, adversary, Adaptive(adversary.rounds), games=games, seed=2)
    assert played.mistakes is not None
    return played.mistakes


def story(learner: Learner, adversary: Any) -> list[tuple[Any, int, bool]]:
    """The examples of one game, and whether the learner erred."""
    played = play(learner, adversary, Adaptive(adversary.rounds), games=1, seed=2, record=True)
    entries: Any = played.transcript.entries
    return [(e.x[0].tolist(), int(e.y[0]), bool(e.predicted[0] != e.y[0])) for e in entries]


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", CLASSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_soa_errs_as_often_as_the_dimension(kind: Any, concepts: ConceptClass) -> None:
    learner = Soa(concepts=concepts)
    forced = mistakes(learner, kind(learner=learner, rounds=40))
    assert (forced == littlestone_dimension(concepts)).all()


@pytest.mark.parametrize("concepts", CLASSES, ids=str)
def test_shattered_tree_forces_a_mistake_in_each_of_the_first_rounds(concepts: ConceptClass) -> None:
    dimension = littlestone_dimension(concepts)
    for learner in (Soa(concepts=concepts), Halving(concepts=concepts)):
        told = story(learner, ShatteredTree(learner=learner, rounds=dimension + 5))
        assert all(erred for _, _, erred in told[:dimension])


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", CLASSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_without_the_spec_all_nodes_but_the_first_cost_a_mistake(kind: Any, concepts: ConceptClass) -> None:
    forced = mistakes(Soa(concepts=concepts), kind(concepts=concepts, rounds=60))
    assert (forced >= littlestone_dimension(concepts) - 1).all()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_an_example_is_repeated_until_it_is_learned(kind: Any) -> None:
    """A mistake is heeded with chance 0.2, so five are made on average where SOA makes one; every game goes
    its own way."""
    learner = Lazy(concepts=Thresholds(range(16)), chance=0.2)
    forced = mistakes(learner, kind(learner=learner, rounds=400), games=40)
    assert forced.mean() > 14
    assert len(set(forced.tolist())) > 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_learner_that_guesses_errs_in_about_half_of_the_rounds(kind: Any) -> None:
    learner = Guesser(concepts=Intervals(range(8)))
    forced = mistakes(learner, kind(learner=learner, rounds=400), games=20)
    assert 180 < forced.mean() < 220


# Thresholds at 1, 2, 3 and none: the tree asks 2, after a label 0 it asks 3. SOA begins with 2 and up as 1.
THREE = Soa(concepts=Thresholds([1, 2, 3]))


def test_shattered_tree_by_hand() -> None:
    assert story(THREE, ShatteredTree(learner=THREE, rounds=4)) == [
        (2.0, 0, True),  # which leaves 3 and none, and SOA with 3
        (3.0, 0, True),
        (3.0, 0, False),
        (3.0, 0, False),
    ]


def test_shattered_tree_by_hand_without_the_spec() -> None:
    assert story(THREE, ShatteredTree(concepts=THREE.concepts, rounds=4)) == [
        (2.0, 1, False),  # a guess, and SOA stays with 2
        (1.0, 1, True),
        (1.0, 1, False),
        (1.0, 1, False),
    ]


def test_adaptive_by_hand() -> None:
    assert story(THREE, AdaptiveConsistent(learner=THREE, rounds=5)) == [
        (2.0, 0, True),  # leaves two concepts; 1 labelled 1 or 3 labelled 0 would leave one
        (2.0, 0, False),  # the hypothesis shown last errs here, which costs nothing
        (3.0, 0, True),
        (3.0, 0, False),
        (1.0, 0, False),  # nothing is left to contradict
    ]


def test_the_tree_as_arrays_is_shattered() -> None:
    for concepts in CLASSES:
        tree = TreeArrays.build(concepts)
        assert tree.depth == littlestone_dimension(concepts)
        for way in range(2**tree.depth):
            node, taken = 0, []
            for level in range(tree.depth):
                y = way >> level & 1
                taken.append((tree.column[node], y))
                node = tree.child[node, y]
            assert tree.column[node] == -1
            assert all(tree.concept[node, column] == y for column, y in taken)


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", CLASSES, ids=str)
@pytest.mark.parametrize("by", ["dimension", NUMBER])
def test_version_spaces_equal_plain_sets(concepts: ConceptClass, by: str) -> None:
    rng, games = np.random.default_rng(1), 5
    labels = concepts.dichotomies(np.array(concepts.domain)).labels
    spaces, left = ValuedVersionSpaces(concepts, games, by), [labels] * games
    for _ in range(6):
        for game in range(games):
            for y in (0, 1):
                for x in range(labels.shape[1]):
                    part = left[game][left[game][:, x] == y]
                    worth = len(part) or -1
                    if by != NUMBER and len(part):
                        worth += spaces.unit * littlestone_dimension(FiniteClass(part))
                    assert spaces.values[game, y, x] == worth
        columns = rng.integers(0, labels.shape[1], games)
        target = [rows[rng.integers(len(rows))] for rows in left]
        y = np.array([row[x] for row, x in zip(target, columns, strict=True)])
        spaces.add(columns, y)
        left = [rows[rows[:, x] == told] for rows, x, told in zip(left, columns, y, strict=True)]


class PlainForest:
    """One forest of `Forests`, in dictionaries and lists."""

    def __init__(self, concepts: ConceptClass, trees: int) -> None:
        self.automaton = soa(concepts)
        self.width = 2**self.automaton.mistakes
        self.nodes = [(tree, self.width + leaf) for tree in range(trees) for leaf in range(self.width)]
        self.state = dict.fromkeys(self.nodes, START)

    def labels_of(self, state: int) -> list[bool]:
        columns = range(len(self.automaton.concept_class.domain or ()))
        return [bool(self.automaton.labels(np.array(state), np.array(x))) for x in columns]

    def insert(self, column: int, y: bool, coins: int) -> None:
        node = self.nodes[(coins >> 24) % len(self.nodes)]
        before = self.state[node]
        self.state[node] = int(self.automaton.step(np.array(before), np.array(column), np.array(y)))
        while self.state[node] != before and self.collides(node):
            tree, place = node
            pair = [self.state[node], self.state[tree, place ^ 1]]
            said = [self.labels_of(state) for state in pair]
            x = next(x for x, (a, b) in enumerate(zip(*said, strict=True)) if a != b)
            wrong = pair[0] if said[0][x] != bool(coins & 1) else pair[1]
            coins >>= 1
            for gone in (node, (tree, place ^ 1)):
                self.nodes[self.nodes.index(gone)] = self.nodes[-1]
                self.nodes.pop()
                del self.state[gone]
            node, before = (tree, place // 2), -1
            self.nodes.append(node)
            self.state[node] = int(self.automaton.after_mistake(np.array(wrong), np.array(x)))

    def collides(self, node: tuple[int, int]) -> bool:
        pair = [self.state[node], self.state.get((node[0], node[1] ^ 1), self.automaton.dead)]
        return self.automaton.dead not in pair and self.labels_of(pair[0]) != self.labels_of(pair[1])


@pytest.mark.parametrize("concepts", [Thresholds(range(8)), Intervals(range(5)), Points(range(4))], ids=str)
def test_forests_are_those_of_plain_lists(concepts: ConceptClass) -> None:
    rng, games = np.random.default_rng(2), 4
    assert concepts.domain is not None
    forests = SimulatedForests(soa(concepts), 2 << soa(concepts).mistakes, games)
    plain = [PlainForest(concepts, trees=2) for _ in range(games)]
    for _ in range(150):
        columns = rng.integers(0, len(concepts.domain), games)
        y = rng.random(games) < 0.5
        coins = rng.integers(0, 2**62, games)
        forests.insert(columns, y, coins)
        for forest, *example in zip(plain, columns.tolist(), y.tolist(), coins.tolist(), strict=True):
            forest.insert(*example)
        alive = [[s for s in forest.state.values() if s != soa(concepts).dead] for forest in plain]
        assert forests.alive.tolist() == [len(states) for states in alive]
        for game, states in enumerate(alive):
            ones = np.sum([plain[game].labels_of(s) for s in states], axis=0) if states else 0
            assert (forests.ones[game] == ones).all()


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", [Thresholds(range(8)), Intervals(range(5))], ids=str)
def test_a_forest_errs_more_often_against_its_breaker_than_against_iid(concepts: ConceptClass) -> None:
    learner = Forest(concepts=concepts, trees=32)
    breaker = ForestBreaker(learner=learner, rounds=2_000, leaves=32 << soa(concepts).mistakes)
    iid = IidExamples(learner=learner, rounds=2_000, protocol="Adaptive")
    assert mistakes(learner, breaker, games=20).mean() > 1.25 * mistakes(learner, iid, games=20).mean()
