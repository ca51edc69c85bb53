"""Covers by the exponential mechanism: what they choose, and that their cost is exact."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from support.laws.list_laws import cover_delta, deltas, laws, neighbours, small_samples
from support.statistical import check_counts, expect_rejection, statistical

from learners.mechanisms.selection import (
    ADVANCED,
    LEMMA,
    RANGE,
    SUM,
    EMCover,
    choice_weights,
    cover_cost,
    cover_epsilon,
    largest_cover_rate,
    lemma_epsilon,
    other_costs,
)

RATE = 1e-8
ROOM = 1 + 1e-9  # for rounding
RATES = st.floats(0.01, 8)
ROUNDS = st.integers(1, 200)
DELTAS = st.floats(1e-12, 0.5)

# --- what is chosen -----------------------------------------------------------------------------------------


def naive_covers(
    covers: np.ndarray, weights: np.ndarray, rate: float, rounds: int
) -> dict[tuple[int, ...], float]:
    """The law of all choices where scores are the sums of what is left."""
    found = {(): 1.0}
    for _ in range(rounds):
        grown = {}
        for chosen, chance in found.items():
            used = {c // weights.shape[1] for c in chosen}
            left = [e for e in range(len(covers)) if not any(covers[e, s] for s in used)]
            options = {
                s * weights.shape[1] + o: math.exp(
                    rate / 2 * sum(weights[e, o] for e in left if covers[e, s])
                )
                for s in set(range(covers.shape[1])) - used
                for o in range(weights.shape[1])
            }
            total = sum(options.values())
            grown |= {(*chosen, c): chance * w / total for c, w in options.items()}
        found = grown
    return found


COVERS = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 1]], bool)
WEIGHTS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0], [0.0, 2.0]])


def play_covers(rng: np.random.Generator, games: int, rate: float) -> np.ndarray:
    cover = EMCover(COVERS, WEIGHTS, rng.random((games, 2)), rate=rate)
    return np.stack([cover.choose(cover.sums) for _ in range(2)], axis=1)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_choices_have_the_law_of_the_exponential_mechanism_on_what_is_left(rng: np.random.Generator) -> None:
    law = naive_covers(COVERS, WEIGHTS, 1.0, 2)
    cells, names = list(law.values()), list(law)
    drawn = play_covers(rng, 400_000, 1.0)
    counts = [int((drawn == name).all(axis=1).sum()) for name in names]
    check_counts(counts, cells, rate=RATE, effect=0.01, power=1 - 1e-8)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_choices_with_another_rate_would_be_noticed(rng: np.random.Generator) -> None:
    law = naive_covers(COVERS, WEIGHTS, 1.0, 2)
    drawn = play_covers(rng, 400_000, 1.4)
    with expect_rejection():
        counts = [int((drawn == name).all(axis=1).sum()) for name in law]
        check_counts(counts, list(law.values()), rate=RATE, effect=0.01, power=1 - 1e-8)


@pytest.mark.thorough
@given(st.integers(0, 2**32 - 1))
def test_states_hold_what_each_game_has_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    covers, weights = rng.random((9, 5)) < 0.4, rng.integers(0, 3, (9, 2)).astype(float)
    cover = EMCover(covers, weights, rng.random((20, 5)), rate=0.5)
    left = np.ones((20, 9), bool)
    for _ in range(4):
        sets = cover.choose(-cover.sums) // 2
        left &= ~covers.T[sets]
        assert (cover.left[cover.which] == left).all()
        plain = np.einsum("nu,uf,uo->nfo", left, covers, weights)
        assert np.allclose(cover.sums[cover.which], plain)
        assert len(np.unique(cover.used, axis=0)) == len(cover.used)


def test_a_game_is_over_once_it_has_chosen_the_whole() -> None:
    whole = np.ones((3, 2), bool)
    cover = EMCover(whole, np.ones((3, 1)), np.array([[0.1, 0.9], [0.9, 0.9]]), rate=1.0, universal_set=1)
    assert cover.choose(cover.sums).tolist() == [0, 1]
    assert not cover.finished
    assert cover.choose(cover.sums).tolist() == [1, -1]
    assert cover.finished


def test_a_disjunction_is_learned_by_covering_ones_and_not_zeros() -> None:
    """Sets are variables, and the score of one is that of its zeros: x0 or x2."""
    points = np.array([[1, 1, 0], [0, 1, 1], [0, 1, 0], [0, 0, 0]] * 20, bool)
    labels = np.tile([1, 1, 0, 0], 20)
    cover = EMCover(points, (labels == 0).astype(float)[:, None], np.full((1, 2), 0.3), rate=50.0)
    found = {int(cover.choose(-cover.sums)[0]) for _ in range(2)}
    assert found == {0, 2}


def test_scores_far_apart_do_not_overflow() -> None:
    weights = choice_weights(np.array([[[-1e9], [0.0], [1e9]]]), np.zeros((1, 3), bool), rate=10.0)
    assert weights.tolist() == [[0.0, 0.0, 1.0]]


# --- what it costs ------------------------------------------------------------------------------------------


@given(RATES, ROUNDS, DELTAS)
def test_epsilon_and_delta_are_inverse(rate: float, rounds: int, delta: float) -> None:
    for replaced in (True, False):
        epsilon = cover_epsilon(delta, rate, rounds=rounds, replaced=replaced)
        found = cover_delta(epsilon, rate, rounds=rounds, replaced=replaced)
        assert found == pytest.approx(delta, rel=1e-6) if epsilon > 0 else found <= delta * ROOM


@given(RATES, ROUNDS, DELTAS)
def test_the_bound_is_no_worse_than_any_other(rate: float, rounds: int, delta: float) -> None:
    others = other_costs(rounds, rate, delta=delta)
    epsilon = cover_cost(rounds, rate, delta=delta).epsilon
    assert set(others) == {LEMMA, RANGE, ADVANCED, SUM}
    assert all(epsilon <= other * ROOM for other in others.values())
    added = cover_epsilon(delta, rate, rounds=rounds, replaced=False)
    assert added <= epsilon * ROOM + 1e-12
    assert added <= lemma_epsilon(delta, rate) * ROOM


@given(RATES, ROUNDS)
def test_pure_privacy_is_the_sum_of_half_the_rates_and_one_more(rate: float, rounds: int) -> None:
    assert cover_epsilon(0.0, rate, rounds=rounds) == pytest.approx((rounds + 1) * rate / 2)
    assert cover_epsilon(0.0, rate, rounds=rounds, replaced=False) == pytest.approx(rounds * rate / 2)
    assert math.isinf(other_costs(rounds, rate, delta=0.0)[LEMMA])


@given(st.floats(0.5, 8), st.floats(0, 5))
def test_more_rounds_cost_more_up_to_a_limit(rate: float, epsilon: float) -> None:
    found = [cover_delta(epsilon, rate, rounds=rounds) for rounds in (1, 2, 5, 50, 10**6)]
    assert all(few <= many * ROOM for few, many in pairwise(found))
    limit = math.tanh(rate / 4) * math.exp(-epsilon / math.expm1(rate / 2))
    assert found[-1] == pytest.approx(limit, rel=1e-3)


@given(st.floats(0.05, 5), ROUNDS, st.floats(0, 0.1))
def test_the_largest_rate_spends_what_it_may(epsilon: float, rounds: int, delta: float) -> None:
    rate = largest_cover_rate(rounds, epsilon=epsilon, delta=delta)
    assert cover_cost(rounds, rate, delta=delta).epsilon <= epsilon
    assert cover_cost(rounds, rate * 1.001, delta=delta).epsilon > epsilon


def test_the_lemma_twice_is_the_removal_and_the_addition() -> None:
    rate, delta = 0.1, 1e-6
    found = other_costs(50, rate, delta=delta)[LEMMA]
    once = optimize.brentq(
        lambda log: np.logaddexp(log, log + lemma_epsilon(math.exp(log), rate)) - math.log(delta), -60, -14
    )
    assert found == pytest.approx(2 * lemma_epsilon(math.exp(once), rate), rel=1e-9)


GRID = np.linspace(-6, 6, 1201)  # of what is left of ε


class Hazards:
    """The game of the module's proof, by its recursion: the best of 101 x 101 hazards in each round."""

    def __init__(self, a: float) -> None:
        self.a = a
        r, other = (hazard.ravel() for hazard in np.meshgrid(*[np.linspace(0, 1, 101)] * 2))
        self.r, self.other = r[r + other <= 1 + 1e-12], other[r + other <= 1 + 1e-12]
        self.shift = np.log1p(math.expm1(a) * self.r + math.expm1(-a) * self.other)
        self.nothing = np.maximum(-np.expm1(np.minimum(GRID, 50)), 0)
        self.neither = self.first = self.second = self.nothing

    def round(self) -> None:
        """One round more. `first`: only the first example is not covered; `second`, `neither` likewise."""
        everything = np.ones(len(self.r), bool)
        self.neither, self.first, self.second = (
            self._best(self.neither, self.second, self.first, everything),
            self._best(self.first, self.nothing, self.nothing, self.other == 0),
            self._best(self.second, self.nothing, self.nothing, self.r == 0),
        )

    def _best(self, on: np.ndarray, caught: np.ndarray, other: np.ndarray, held: np.ndarray) -> np.ndarray:
        r, r_other = self.r[held], self.other[held]
        left = GRID[:, None] - self.shift[held]
        gain = (1 - r - r_other) * np.interp(left, GRID, on)
        gain += r * np.interp(left + self.a, GRID, caught) + r_other * np.interp(left - self.a, GRID, other)
        return gain.max(axis=1)


@pytest.mark.thorough
@pytest.mark.parametrize("rate", [0.4, 1.6])
def test_no_game_against_hazards_gains_more_and_the_best_gains_as_much(rate: float) -> None:
    game = Hazards(rate / 2)
    for rounds in range(1, 5):
        game.round()
        inner = (GRID >= 0) & ((rounds + 1) * rate / 2 >= GRID)
        for found, replaced in ((game.neither, True), (game.first, False)):
            bound = [cover_delta(c, rate, rounds=rounds, replaced=replaced) for c in GRID[inner]]
            # Hazards have steps, and values between nodes are interpolated.
            assert found[inner] == pytest.approx(np.array(bound), abs=2e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("variables", [1, 2, 3])
@pytest.mark.parametrize("rate", [0.2, 1.0, 4.0])
def test_no_small_sample_of_a_list_exceeds_the_bounds(variables: int, rate: float) -> None:
    """All samples of up to six examples and all examples replaced, or added, by their exact laws."""
    rounds, largest_ratio = variables + 1, 0.0
    for size in range(6):
        shared = small_samples(variables, size)
        bare = laws(shared, variables, rate)
        grown = laws(np.concatenate([neighbours(row) for row in shared]), variables, rate)
        for without, with_one in zip(bare, grown.reshape(len(shared), -1, grown.shape[1]), strict=True):
            pure = np.log(with_one.max(axis=0) / with_one.min(axis=0)).max()
            assert pure <= (rounds + 1) * rate / 2 * ROOM
            for share in (0.0, 0.1, 0.3, 0.6):
                epsilon = share * (rounds + 1) * rate / 2
                most = deltas(with_one, epsilon).max()
                bound = cover_delta(epsilon, rate, rounds=rounds)
                assert most <= bound * ROOM + 1e-12
                largest_ratio = max(largest_ratio, most / bound)
                added = cover_delta(epsilon, rate, rounds=rounds, replaced=False)
                both = [with_one - np.exp(epsilon) * without, without - np.exp(epsilon) * with_one]
                assert max(np.maximum(part, 0).sum(axis=1).max() for part in both) <= added * ROOM + 1e-12
    assert largest_ratio > 0.999  # the bound is reached


@pytest.mark.parametrize("rate", [0.5, 2.0])
def test_the_lemma_as_printed_holds_on_small_samples_too(rate: float) -> None:
    for size in range(5):
        shared = small_samples(2, size)
        bare = laws(shared, 2, rate)
        for row, without in zip(shared, bare, strict=True):
            with_one = laws(neighbours(row), 2, rate)
            for delta in (1e-3, 0.05, 0.3):
                epsilon = lemma_epsilon(delta, rate)
                both = [with_one - np.exp(epsilon) * without, without - np.exp(epsilon) * with_one]
                assert max(np.maximum(part, 0).sum(axis=1).max() for part in both) <= delta
