"""How experts move: states, candidates and weights."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.laws.learner_laws import view_delta
from support.laws.mechanism_laws import RATE, SURE
from support.laws.transition_laws import all_experts, pair_weights, sets_of_one_end, sets_of_two_ends
from support.statistical import check_counts, expect_rejection, statistical

from arena.concepts import ConceptClass, FiniteClass, Intervals, Points, Rectangles, Thresholds
from arena.errors import Unsupported
from arena.littlestone import START, Automaton, soa
from arena.littlestone.concept_sets import labellings
from learners.online import merged_experts
from learners.online.agnostic_experts import Candidates, counter_noise_scale, largest_missed_count
from learners.online.merged_experts import MergedExperts, build_transitions, largest_difference


def within(automaton: Automaton, points: int, mistakes: int) -> set[int]:
    """The states within a number of mistakes of the start."""
    reached = {START}
    for _ in range(mistakes):
        steps = [
            automaton.after_mistake(np.array([s]), np.array([x]))[0] for s in reached for x in range(points)
        ]
        reached |= {int(s) for s in steps if s != automaton.dead}
    return reached


@pytest.mark.parametrize(
    "concepts",
    [
        Thresholds(range(16)),
        Thresholds([0.5]),
        Intervals(range(5)),
        Rectangles([3, 2]),
        FiniteClass([[0, 1, 1]]),
    ],
    ids=str,
)
@pytest.mark.parametrize("mistakes", [0, 1, 2, 9])
def test_transitions_are_those_of_the_automaton(concepts: ConceptClass, mistakes: int) -> None:
    automaton = soa(concepts)
    assert concepts.domain is not None
    points = len(concepts.domain)
    found = build_transitions(automaton, points, mistakes)
    known = within(automaton, points, mistakes)
    assert found.states[0] == START
    assert set(found.states.tolist()) == known
    assert len(found.states) == len(known)
    told = {
        (int(found.states[s]), int(x), int(found.states[t]))
        for s, x, t in zip(found.source, found.point, found.target, strict=True)
    }
    expected = {
        (s, x, int(after))
        for s in known
        for x in range(points)
        if int(after := automaton.after_mistake(np.array([s]), np.array([x]))[0]) in known
    }
    assert told == expected
    assert len(found.source) == len(expected)
    assert found.numbers_per_end == len(known) + len(expected)


def test_a_class_with_too_many_states_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"has at least .* points, which exceeds 16,777,216 entries"):
        build_transitions(soa(Thresholds(range(1_024))), 1_024, 10)


@pytest.mark.parametrize(
    ("concepts", "known"),
    [
        (Points(range(40)), 1),
        (Thresholds(range(16)), 8),
        (Intervals(range(5)), None),
        (Rectangles([3, 2]), None),
        (FiniteClass([[0, 1, 1]]), 0),
    ],
    ids=str,
)
def test_the_largest_difference_is_that_of_all_games(
    concepts: ConceptClass, known: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Follow each concept through all orders of its mistakes."""
    matrix = labellings(concepts)
    automaton, columns = soa(concepts), np.arange(matrix.shape[1])
    most = 0
    for labels in matrix:
        open_states, seen = {START}, set()
        while open_states:
            state = open_states.pop()
            seen.add(state)
            wrong = np.flatnonzero(automaton.labels(np.array(state), columns) != labels)
            most = max(most, len(wrong))
            open_states |= {int(automaton.after_mistake(np.array(state), x)) for x in wrong} - seen
    moves = build_transitions(automaton, len(columns), automaton.mistakes)
    assert largest_difference(moves, matrix) == most
    assert known in (None, most)
    monkeypatch.setattr(merged_experts, "MOST_PAIRS", 0)
    assert largest_difference(moves, matrix) == (len(columns) if len(moves.source) else 0)


def candidates_at_ends(candidates: Candidates, stretches: list[list[int]], games: int) -> list[np.ndarray]:
    """The candidates at the ends of these stretches, with the same points in all games."""
    candidate_sets = []
    for stretch in stretches:
        for x in stretch:
            candidates.observe(np.full(games, x))
        candidate_sets.append(candidates.end_stretch())
    return candidate_sets


def test_with_little_noise_they_are_the_points_that_occurred_often_enough(rng: np.random.Generator) -> None:
    candidates = Candidates(2, 4, rng, ends=5, length=3, epsilon=1e9, threshold=1.5)
    stretches = [[0, 0, 1], [1, 2, 2], [3, 3, 1], [0, 1, 3]]
    for e, found in enumerate(candidates_at_ends(candidates, stretches, 2), start=1):
        assert found.shape == (2, e, 4)
        for i in range(e):
            since = [x for stretch in stretches[i:e] for x in stretch]
            assert found[:, i].tolist() == [[since.count(x) >= 2 for x in range(4)]] * 2


def test_without_counters_every_point_is_a_candidate(rng: np.random.Generator) -> None:
    state = str(rng.bit_generator.state)
    candidates = Candidates(3, 2, rng, ends=2, length=1, epsilon=0, threshold=100.0)
    first, second = candidates_at_ends(candidates, [[0], [1]], 3)
    assert first.shape == (3, 1, 2)
    assert second.shape == (3, 2, 2)
    assert first.all()
    assert second.all()
    assert str(rng.bit_generator.state) == state
    assert counter_noise_scale(2, 0) == counter_noise_scale(0, 1.0) == 0


# --- distribution ------------------------------------------------------------------------------------------


@statistical(rate=RATE)
def test_one_end_follows_the_law(rng: np.random.Generator) -> None:
    check_one_end(rng, epsilon=1.0)


@statistical(rate=2 * RATE)
def test_other_noise_is_detected(rng: np.random.Generator) -> None:
    with expect_rejection():
        check_one_end(rng, epsilon=1.15)


def check_one_end(rng: np.random.Generator, epsilon: float) -> None:
    games = 400_000
    candidates = Candidates(games, 2, rng, ends=1, length=3, epsilon=epsilon, threshold=2.5)
    (found,) = candidates_at_ends(candidates, [[0, 1, 0]], games)
    law = sets_of_one_end([2, 1], counter_noise_scale(1, 1.0), 2.5)
    observed = np.bincount(found[:, 0] @ [2, 1], minlength=4)
    check_counts(observed, [law[()], law[1,], law[0,], law[0, 1]], effect=0.01, **SURE)


@statistical(rate=RATE)
def test_two_ends_follow_the_law(rng: np.random.Generator) -> None:
    games = 400_000
    candidates = Candidates(games, 2, rng, ends=2, length=3, epsilon=1.0, threshold=2.5)
    first, second = candidates_at_ends(candidates, [[0, 1, 0], [0, 0, 0]], games)
    law = sets_of_two_ends(2, 3, counter_noise_scale(2, 1.0), 2.5)
    assert sum(law.values()) == pytest.approx(1, abs=1e-7)
    seen = 4 * first[:, 0, 0] + 2 * second[:, 0, 0] + second[:, 1, 0]
    chances = np.array(list(law.values()))
    check_counts(np.bincount(seen, minlength=8), chances / chances.sum(), effect=0.01, **SURE)


# --- privacy ------------------------------------------------------------------------------------------------


def worst_ratio(counts: list[list[int]], scale: float) -> float:
    """The largest log ratio of a pattern of two points at two ends, over one replaced point."""
    worst = 0.0
    for stretch, gains in itertools.product((0, 1), (0, 1)):
        other = [list(row) for row in counts]
        other[stretch][gains] += 1
        other[stretch][1 - gains] -= 1
        laws = []
        for rows in (counts, other):
            points = [sets_of_two_ends(rows[0][x], rows[1][x], scale, 3.0) for x in (0, 1)]
            laws.append([p * q for p, q in itertools.product(*(law.values() for law in points))])
        worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(*laws, strict=True) if min(p, q) > 1e-6))
    return worst


@pytest.mark.thorough
def test_neighbours_are_as_close_as_is_claimed() -> None:
    epsilon = 1.0
    counts = [[2, 1], [1, 2]]
    assert epsilon / 3 < worst_ratio(counts, counter_noise_scale(2, epsilon)) <= epsilon + 1e-4
    assert worst_ratio(counts, counter_noise_scale(2, epsilon) / 3) > epsilon


def test_one_end_spends_all_its_epsilon_on_two_points() -> None:
    """One point's count rises towards the threshold and the other's falls, at half of the cost each."""
    laws = [sets_of_one_end(counts, counter_noise_scale(1, 0.8), 6.0) for counts in ([3, 10], [2, 11])]
    assert math.log(laws[0][0,] / laws[1][0,]) == pytest.approx(0.8)
    assert view_delta(laws[0], laws[1], 0.8 + 1e-12) == 0


# --- utility ------------------------------------------------------------------------------------------------


@statistical(rate=1e-9)
def test_frequent_points_are_missed_as_rarely_as_stated(rng: np.random.Generator) -> None:
    """2,000 counters of 8 ends, one stretch of the most that may be missed and one more; an eighth of that is
    missed often."""
    beta = 0.1
    missed = largest_missed_count(8, 1.0, threshold=5.0, beta=beta)
    assert missed > 5
    for occurred, often in ((missed + 1, False), (missed // 8, True)):
        candidates = Candidates(2_000, 1, rng, ends=8, length=occurred, epsilon=1.0, threshold=5.0)
        lost = np.zeros(2_000, bool)
        for _ in range(8):
            for _ in range(occurred):
                candidates.observe(np.zeros(2_000, int))
            lost |= ~candidates.end_stretch().all(axis=(1, 2))
        assert (np.count_nonzero(lost) > stats.binom.isf(1e-9, 2_000, beta)) == often


def test_missed_occurrences_by_hand() -> None:
    assert largest_missed_count(0, 1.0, threshold=5.0, beta=0.1) == 0
    assert largest_missed_count(3, 0.0, threshold=5.0, beta=0.1) == 0
    assert largest_missed_count(3, 1e9, threshold=5.0, beta=0.1) == 5
    assert largest_missed_count(3, 1e9, threshold=5.5, beta=0.1) == 5
    assert largest_missed_count(3, 1e9, threshold=-5.0, beta=0.1) == 0


CLASSES = [
    Thresholds(range(3)),
    Intervals(range(3)),
    FiniteClass([[0, 0], [0, 1], [1, 0], [1, 1]]),
    FiniteClass([[0, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]]),
    FiniteClass([[1, 0]]),
]


def sets_of(candidates: list[np.ndarray], game: int) -> list[list[list[int]]]:
    return [[np.flatnonzero(row).tolist() for row in told[game]] for told in candidates]


@pytest.mark.thorough
@settings(max_examples=60)
@given(
    concepts=st.sampled_from(CLASSES),
    ends=st.integers(0, 4),
    length=st.integers(1, 3),
    rate=st.floats(0.01, 3),
    change=st.floats(0.05, 0.95),
    mistakes=st.integers(0, 3),
    slab=st.sampled_from([1, 2**20]),
    seed=st.integers(0, 10**6),
)
def test_weights_are_the_sums_of_the_experts(
    concepts: ConceptClass,
    ends: int,
    length: int,
    rate: float,
    change: float,
    mistakes: int,
    slab: int,
    seed: int,
) -> None:
    automaton, rng = soa(concepts), np.random.default_rng(seed)
    assert concepts.domain is not None
    points, games = len(concepts.domain), 3
    table = build_transitions(automaton, points, mistakes)
    experts = MergedExperts(table, games, ends=ends, rate=rate, move_probability=change)
    candidates: list[np.ndarray] = []
    past: list[tuple[np.ndarray, np.ndarray]] = []
    for e in range(1, ends + 2):
        for _ in range(length):
            past.append((rng.integers(0, points, games), rng.integers(0, 2, games)))
            experts.observe(*past[-1])
            check(experts, table, automaton, candidates, past, length, rate, change)
        if e <= ends:
            candidates.append(rng.random((games, e, points)) < 0.6)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(merged_experts, "_SLAB", slab)
                experts.end_stretch(candidates[-1])
            assert experts.stretches_ended == e


def check(experts, table, automaton, candidates, past, length, rate, change) -> None:
    """The weights of states, and of pairs, to 1e-12 of each."""
    scores = np.exp(experts.scores())
    for game in range(len(scores)):
        examples = [(int(x[game]), int(y[game])) for x, y in past]
        one_by_one = all_experts(
            automaton, sets_of(candidates, game), change, allowed=set(table.states.tolist())
        )
        pairs = pair_weights(automaton, one_by_one, examples, length, rate)
        for s, state in enumerate(table.states.tolist()):
            expected = [pairs.get((state, i), 0.0) for i in range(experts.stretches_ended + 1)]
            assert scores[game, s] == pytest.approx(sum(expected), rel=1e-12, abs=1e-300)
            if sum(expected):
                by_end = np.exp(experts.last_move_scores(np.array([game]), np.array([s])))[0]
                assert by_end / by_end.sum() == pytest.approx(np.array(expected) / sum(expected), rel=1e-12)


def test_very_small_weights_do_not_underflow() -> None:
    """A ratio of weights of exp(-5,000) returns to 1 after as many mistakes of the other expert."""
    automaton = soa(FiniteClass([[0, 0], [1, 0]]))
    experts = MergedExperts(build_transitions(automaton, 2, 1), 1, ends=2, rate=50.0, move_probability=0.5)
    start = automaton.labels(np.array([0]), np.array([0])).astype(int)
    experts.end_stretch(np.ones((1, 1, 2), bool))
    for label in (start, 1 - start):
        for _ in range(100):
            experts.observe(np.array([0]), label)
        if label == start:
            assert np.diff(experts.scores()[0]) == pytest.approx(-5_000)
            experts.end_stretch(np.zeros((1, 2, 2), bool))  # nothing moves
    assert experts.scores()[0] == pytest.approx(np.log([0.5, 0.5]) - 5_000)
