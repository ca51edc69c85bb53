"""Conservative learners and their tables."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.laws.concept_laws import agreeing, concepts_of, halving_label, soa_label
from support.simple_players import script

from arena import MISTAKES, Bound, Commit, Oblivious, play
from arena.concepts import ConceptClass, FiniteClass, Intervals, Points, Rectangles, Thresholds
from arena.littlestone import START, build_shattered_tree, littlestone_dimension, soa
from learners.online.conservative import ConservativeLearner, Halving, Soa, SparseMajorityLearner, tabulate

EVERY = [Soa, Halving, SparseMajorityLearner]
REFERENCES = {Soa: soa_label, Halving: halving_label}
KINDS: list[ConceptClass] = [
    Points(range(5)),
    Thresholds([0.5, 1.0, 4.0]),
    Intervals(range(6)),
    Rectangles((3, 2)),
    FiniteClass([[0, 1, 1], [1, 0, 1]]),
]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", REFERENCES)
@given(
    matrix=arrays.arrays(bool, st.tuples(st.integers(1, 8), st.integers(1, 4))),
    seed=st.integers(0, 2**32 - 1),
)
def test_a_batch_plays_as_the_reference(
    kind: type[ConservativeLearner], matrix: np.ndarray, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    games, rounds, points = 6, 8, matrix.shape[1]
    x, y = rng.integers(points, size=(games, rounds)), rng.integers(2, size=(games, rounds))
    learner, moves = kind(concepts=FiniteClass(matrix)), script(Commit(x, y))
    played = play(learner, moves, Oblivious(rounds), games=games, seed=1, record=True)
    shown = np.array([[h(z) for z in range(points)] for h in played.replies[0].hypotheses])
    mistakes = np.zeros(games, int)
    for game in range(games):
        left = concepts_of(matrix)
        for t in range(rounds):
            # A learner without a consistent concept predicts 0.
            expected = [REFERENCES[kind](left, z) if left else 0 for z in range(points)]
            assert shown[t, :, game].tolist() == expected
            if expected[x[game, t]] != y[game, t]:
                mistakes[game] += 1
                left = agreeing(left, int(x[game, t]), int(y[game, t]))
    assert played.mistakes is not None
    assert (played.mistakes == mistakes).all()


@pytest.mark.parametrize("concepts", KINDS, ids=str)
@pytest.mark.parametrize("kind", EVERY)
def test_realizable_games_keep_the_bound(kind: type[ConservativeLearner], concepts: ConceptClass) -> None:
    rng = np.random.default_rng(3)
    learner = kind(concepts=concepts)
    domain = np.array(concepts.domain)
    dichotomies = concepts.dichotomies(domain)
    games, rounds = 300, 30
    column = rng.integers(len(domain), size=(games, rounds))
    y = dichotomies.labels[rng.integers(len(dichotomies), size=games)[:, None], column]
    played = play(learner, script(Commit(domain[column], y)), Oblivious(rounds), games=games, seed=1)
    assert played.mistakes.max() <= learner.bound(rounds).at_most


@pytest.mark.parametrize("concepts", KINDS, ids=str)
@pytest.mark.parametrize("kind", EVERY)
def test_a_shattered_tree_makes_it_err_at_every_node(
    kind: type[ConservativeLearner], concepts: ConceptClass
) -> None:
    """The game walks from the root against every prediction, so every learner makes Ldim mistakes."""
    state = kind(concepts=concepts).start(1, np.random.default_rng(0))
    tree = build_shattered_tree(concepts)
    node: tuple[int, ...] = ()
    while "point" in tree.nodes[node]:
        x = np.array([tree.nodes[node]["point"]])
        label = 1 - int(state.hypothesis()(x)[0])
        state.observe(x, np.array([label]))
        node = (*node, label)
    assert len(node) == littlestone_dimension(concepts) <= kind(concepts=concepts).bound(9).at_most


def test_bounds_are_exact_and_name_their_theorem() -> None:
    intervals = Intervals(range(16))
    assert Soa(concepts=intervals).bound(50) == Bound(6, MISTAKES, 0, Soa.theorem)
    halving = Halving(concepts=intervals).bound(50)
    assert (halving.of, halving.beta) == (MISTAKES, 0)
    assert 6 <= halving.at_most <= math.log2(137)
    assert Soa(concepts=Thresholds(range(1_000))).bound(50).at_most == 9


CLASSES = [Thresholds(range(7)), Thresholds([0.0]), Points(range(4)), Intervals(range(5))]


@pytest.mark.parametrize("concepts", CLASSES, ids=str)
def test_tables_are_the_automaton(concepts: ConceptClass, rng: np.random.Generator) -> None:
    table, automaton = tabulate(concepts), soa(concepts)
    assert concepts.domain is not None
    points = np.array(concepts.domain)
    states = np.full(50, START)
    for _ in range(30):
        columns, y = rng.integers(0, len(points), 50), rng.integers(0, 2, 50).astype(bool)
        alive = states != automaton.dead
        assert np.array_equal(table.function[states] == table.no_function, ~alive)
        predicted = table.labels[table.function[states], columns]
        assert np.array_equal(predicted, automaton.labels(states, columns))
        shown = table.hypothesis(table.function[states[alive]])
        assert np.array_equal(shown(points[columns[alive]]), predicted[alive])
        states = np.where(predicted != y, table.after[states, columns], states)
        states = np.where(rng.random(50) < 0.1, START, states)
    assert np.array_equal(table.domain_indices(points), np.arange(len(points)))


def test_a_tournament_extends_the_sequence_that_errs_at_the_middle_difference() -> None:
    table = tabulate(Thresholds(range(7)))  # the SOA starts with 1[x >= 3]
    high = int(table.after[START, 3])  # (3, 0): 4 to 7, which starts with 1[x >= 5]
    assert [int(f) for f in table.released[table.function[[START, high]]]] == [3, 5]
    one, other = np.array([START, high]), np.array([high, START])
    for guess in (False, True):
        winners = table.play_tournaments(one, other, np.full(2, guess))
        # They differ at 3 and 4; the middle is 3, and a function that labels it 0 errs if the guess is 1.
        expected = table.dead if guess else int(table.after[START, 3])
        assert winners.tolist() == [expected] * 2
