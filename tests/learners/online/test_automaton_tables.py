"""The tables of the SOA: against the automaton, and tournaments against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from arena.concepts import ConceptClass, Intervals, Points, Thresholds
from arena.littlestone import START, soa
from learners.online.automaton_tables import tabulate

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


@pytest.mark.parametrize("concepts", CLASSES, ids=str)
def test_functions_have_distinct_numbers(concepts: ConceptClass) -> None:
    table = tabulate(concepts)
    assert len(np.unique(table.labels[:-1], axis=0)) == table.no_function
    assert table.depth == soa(concepts).mistakes
    assert (table.after[table.dead] == table.dead).all()


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
