"""Automata against learners that are written as they are told, and against every game they can lose."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.laws.concept_laws import agreeing, concepts_of, halving_label, soa_label

from arena import Unsupported
from arena.concepts import FiniteClass, Intervals, Points, Thresholds
from arena.littlestone import START, automaton, halving, littlestone_dimension, soa

CLASSES = arrays.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 5)))
KINDS = {soa: soa_label, halving: halving_label}


@pytest.mark.thorough
@pytest.mark.parametrize("make", KINDS)
@given(matrix=CLASSES, seed=st.integers(0, 2**32 - 1))
def test_a_play_is_that_of_the_reference(make, matrix: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    compiled, state, left = make(FiniteClass(matrix)), START, concepts_of(matrix)
    for _ in range(12):
        x, y = int(rng.integers(matrix.shape[1])), int(rng.integers(2))
        predicted = KINDS[make](left, x) if left else 0
        assert compiled.labels(state, x) == predicted
        state = int(compiled.step(np.array(state), x, y))
        left = agreeing(left, x, y) if predicted != y else left
        assert (state == compiled.dead) == (not left)


@pytest.mark.thorough
@pytest.mark.parametrize("make", KINDS)
@given(matrix=CLASSES)
def test_the_most_mistakes_are_those_of_the_worst_game(make, matrix: np.ndarray) -> None:
    @cache
    def worst(left) -> int:
        after = (agreeing(left, x, 1 - KINDS[make](left, x)) for x in range(matrix.shape[1]))
        return max((1 + worst(rest) for rest in after if rest), default=0)

    assert make(FiniteClass(matrix)).mistakes == worst(concepts_of(matrix))


@pytest.mark.thorough
@given(matrix=CLASSES)
def test_soa_errs_as_often_as_the_dimension(matrix: np.ndarray) -> None:
    assert soa(FiniteClass(matrix)).mistakes == littlestone_dimension(FiniteClass(matrix))


@pytest.mark.thorough
@pytest.mark.parametrize("make", KINDS)
@given(matrix=CLASSES)
def test_states_have_one_function_if_and_only_if_they_predict_alike(make, matrix: np.ndarray) -> None:
    compiled = make(FiniteClass(matrix))
    states = np.arange(compiled.dead + 1)
    labels = compiled.labels(states[:, None], np.arange(matrix.shape[1]))
    functions = compiled.functions(states)
    alike = (labels[:, None] == labels[None]).all(axis=2)
    assert ((functions[:, None] == functions[None]) == alike).all()
    shown = compiled.hypotheses.labels(functions, np.arange(matrix.shape[1]))
    assert (shown == labels).all()


@pytest.mark.parametrize("points", [1, 2, 3, 6, 9])
@pytest.mark.parametrize("make", KINDS)
def test_binary_search_is_the_compiled_automaton(make, points: int) -> None:
    thresholds = Thresholds(range(points))
    quick = make(thresholds)
    slow = automaton.compile_automaton(
        thresholds, automaton._by_dimension if make is soa else automaton._by_number
    )
    assert isinstance(quick, automaton.BinarySearchAutomaton)
    pairs, seen = [(START, START)], {(START, START)}
    for one, other in pairs:
        x = np.arange(points)
        assert (quick.labels(np.array(one), x) == slow.labels(np.array(other), x)).all()
        assert quick.mistakes_left(np.array(one)) == slow.mistakes_left(np.array(other))
        shown = quick.hypotheses.labels(quick.functions(np.array([one])), x)
        assert (shown == slow.labels(np.array(other), x)).all()
        after = zip(
            quick.after_mistake(np.array(one), x), slow.after_mistake(np.array(other), x), strict=True
        )
        for pair in [(int(a), int(b)) for a, b in after]:
            assert (pair[0] == quick.dead) == (pair[1] == slow.dead)
            if pair not in seen:
                seen.add(pair)
                pairs.append(pair)
    assert len(pairs) == slow.dead + 1 or points == 1


def test_a_class_of_too_many_states_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automaton, "MAX_ENTRIES", 100)
    with pytest.raises(
        Unsupported, match=r"Intervals\(5 points from 0 to 4\) is too large to compile: it has more than 20"
    ):
        automaton.compile_automaton(Intervals(range(5)), automaton._by_number)


def test_an_estimate_refuses_a_class_that_would_take_minutes() -> None:
    with pytest.raises(Unsupported, match="about 135,330 states, more than 65,536"):
        soa(Intervals(range(64)))


def test_the_estimate_lets_many_concepts_of_a_small_dimension_pass() -> None:
    assert soa(Points(range(300))).dead == 301
