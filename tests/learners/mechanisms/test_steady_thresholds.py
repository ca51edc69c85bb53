from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.statistical import check_counts, expect_rejection, statistical

from arena.randomness import generator
from learners.mechanisms.accounting import compose_advanced
from learners.mechanisms.noise import laplace, laplace_between
from learners.mechanisms.steady_thresholds import SteadyThresholds, steady_thresholds_cost

RATE = 1e-8
SURE = {"rate": RATE, "power": 1 - 1e-8}
SETTINGS = {"lower": 0.3, "upper": 0.6, "epsilon": 0.2, "size": 50}  # noise of scale 0.1


def kinds(value: float, *, lower: float, upper: float, epsilon: float, size: int) -> list[float]:
    """The chances of 0, of ⊤ that is 0, of ⊤ that is 1, and of 1."""
    ends = stats.laplace.cdf((np.array([lower, 0.5, upper]) - value) * epsilon * size)
    return list(np.diff([0, *ends, 1]))


# --- the law ------------------------------------------------------------------------------------------------


def answers(rng: np.random.Generator, value: float, **changed: float) -> np.ndarray:
    """How often each of the four kinds of answer is given in a million games."""
    table = SteadyThresholds(1_000_000, rng, halts=2, **(SETTINGS | changed))  # type: ignore[arg-type]
    ones = table.respond(np.full((1_000_000, 1), value))[:, 0]
    return np.bincount(np.where(table.between[:, 0], 1 + ones, 3 * ones), minlength=4)


@pytest.mark.parametrize("value", [0.25, 0.5, 0.7])
@statistical(rate=RATE)
def test_one_answer_follows_the_law(rng: np.random.Generator, value: float) -> None:
    check_counts(answers(rng, value), kinds(value, **SETTINGS), effect=0.006, **SURE)  # type: ignore[arg-type]


@statistical(rate=2 * RATE)
def test_a_little_less_noise_would_be_noticed(rng: np.random.Generator) -> None:
    with expect_rejection():
        law = kinds(0.25, **SETTINGS)  # type: ignore[arg-type]
        check_counts(answers(rng, 0.25, epsilon=0.22), law, effect=0.006, **SURE)


@statistical(rate=RATE)
def test_it_halts_after_as_many_tops_as_it_is_set_for(rng: np.random.Generator) -> None:
    """Answers are independent, so their number until the third ⊤ is Pascal's."""
    games, halts, value = 200_000, 3, 0.65
    table = SteadyThresholds(games, rng, halts=halts, **SETTINGS)  # type: ignore[arg-type]
    time = np.full(games, 12)
    for t in range(12):
        table.respond(np.full((games, 1), value))
        time[table.halted & (time == 12)] = t
    top = sum(kinds(value, **SETTINGS)[1:3])  # type: ignore[arg-type]
    law = stats.nbinom.pmf(np.arange(12) - halts + 1, halts, top)
    check_counts(np.bincount(time, minlength=13), [*law, 1 - law.sum()], effect=0.012, **SURE)


@pytest.mark.thorough
@settings(max_examples=100, derandomize=True)
@given(
    values=st.lists(st.floats(0, 1), min_size=1, max_size=12),
    lower=st.floats(0.1, 0.49),
    upper=st.floats(0.51, 0.9),
    epsilon=st.floats(0.05, 2),
    halts=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_one_game_is_the_naive_reference(
    values: list[float], lower: float, upper: float, epsilon: float, halts: int, seed: int
) -> None:
    coins, same_coins = (generator(np.random.SeedSequence(seed)) for _ in range(2))
    table = SteadyThresholds(1, coins, lower=lower, upper=upper, epsilon=epsilon, size=30, halts=halts)
    tops = 0
    for value in values:
        noisy = value + float(laplace(same_coins, np.empty(1), 1 / (30 * epsilon))[0])
        said = table.respond(np.array([[value]]))
        top = tops < halts and lower <= noisy <= upper
        tops += top
        assert said[0, 0] == (noisy >= 0.5)
        assert table.between[0, 0] == top
        assert table.halted[0] == (tops == halts)


# --- several values at once ---------------------------------------------------------------------------------


@settings(max_examples=100, derandomize=True)
@given(games=st.integers(0, 4), many=st.integers(1, 30), halts=st.integers(1, 5), seed=st.integers(0, 1000))
def test_several_answers_end_with_the_first_halt(games: int, many: int, halts: int, seed: int) -> None:
    rng = generator(np.random.SeedSequence(seed))
    table = SteadyThresholds(games, rng, halts=halts, **SETTINGS)  # type: ignore[arg-type]
    tops = np.zeros(games, int)
    for _ in range(3):
        before = table.halted
        values = rng.random((games, many))
        said = table.respond(values)
        some = said.shape[1]
        assert 1 <= some <= many
        assert np.array_equal(said, values[:, :some] >= table.cuts)
        assert table.between.shape == table.cuts.shape == said.shape
        assert not table.between[before].any()
        assert not (tops + table.between[:, :-1].sum(axis=1) >= halts)[~before].any()
        tops += table.between.sum(axis=1)
        assert np.array_equal(table.halted, tops >= halts)
        assert some == many or (table.halted > before).any()


def test_another_rule_may_halt_games_sooner(rng: np.random.Generator) -> None:
    told = []

    def second_answer_of_game_one(top: np.ndarray) -> np.ndarray:
        told.append(top)
        return np.array([[False, False], [False, True]])

    table = SteadyThresholds(2, rng, halts=9, watch=second_answer_of_game_one, **SETTINGS)  # type: ignore[arg-type]
    said = table.respond(np.full((2, 5), 0.5))
    assert said.shape == (2, 2)
    assert table.halted.tolist() == [False, True]
    assert told[0].shape == (2, 5)


# --- what it costs ------------------------------------------------------------------------------------------


def moment_of_a_top(h: float, lam: float, w: float) -> float:
    """s of the proof."""
    kappa = 0.5 / math.expm1(w / 2)
    return -lam * h - math.log1p(-(1 + kappa) * math.exp(h) * math.expm1(lam * h))


@pytest.mark.thorough
@settings(max_examples=500, derandomize=True)
@given(
    h=st.floats(0.01, 1.5),
    w=st.floats(0.3, 40),
    share=st.floats(0.001, 0.999),
    place=st.floats(-0.3, 1.3),
    middle=st.floats(0.001, 0.999),
    shift=st.floats(-1, 1),
)
def test_no_answer_gains_more_than_its_top_pays(
    h: float, w: float, share: float, place: float, middle: float, shift: float
) -> None:
    """The inequality of the proof, everywhere: g ≤ 1."""
    kappa = 0.5 / math.expm1(w / 2)
    lam = share * math.log1p(math.exp(-h) / (1 + kappa)) / h
    s = moment_of_a_top(h, lam, w)
    for at in (place * w, place, 1 - place, w * round(place) - shift * h):
        ends = np.array([-math.inf, 0, middle * w, w, math.inf]) - at
        # To the last digits, as a ratio of tails has to be.
        here, there = (laplace_between(e[:-1], e[1:]) for e in (ends, ends - shift * h))
        gains = here * (here / there) ** lam
        assert gains[0] + gains[3] + math.exp(-s) * (gains[1] + gains[2]) <= 1 + 1e-9


def test_the_inequality_is_sharp_for_little_noise_at_a_threshold() -> None:
    h, lam, w = 0.01, 20.0, 30.0
    ends = np.array([0, w])  # a value that one teacher takes to the lower threshold
    here, there = (np.diff([0, *stats.laplace.cdf(e), 1]) for e in (ends + h, ends))
    gains = here * (here / there) ** lam
    needed = math.log(gains[1] / (1 - gains[0] - gains[2]))
    assert needed <= moment_of_a_top(h, lam, w) <= 1.01 * needed


def delta_of_halting_time(epsilon: float, *, halts: int, h: float, value: float, moved: float) -> float:
    """Exactly: the law of the c-th ⊤ when one value is asked forever, `value` scales above the lower
    threshold, and the upper is far away."""
    here, there = stats.laplace.cdf([value, value + moved])
    longest = int(40 * halts / min(here, there)) + 2_000
    times = np.arange(longest)
    one, other = (stats.nbinom.pmf(times, halts, p) for p in (here, there))
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum())


@pytest.mark.thorough
@pytest.mark.parametrize(("halts", "h", "most"), [(1, 0.05, 1.5), (16, 0.05, 1.25), (128, 0.013, 1.2)])
@pytest.mark.parametrize("slack", [1e-4, 1e-6])
def test_halting_times_keep_the_cost_and_come_near_it(
    halts: int, h: float, slack: float, most: float
) -> None:
    def worst(epsilon: float) -> float:
        return max(
            delta_of_halting_time(epsilon, halts=halts, h=h, value=value, moved=moved)
            for value in (-3.0, -1.0, -0.3, 0.0, h, 0.5)
            for moved in (h, -h)
        )

    cost = steady_thresholds_cost(halts, h, gap=30.0, slack=slack)
    assert cost.delta == slack
    assert worst(cost.epsilon) <= slack < worst(cost.epsilon / most)
    assert (
        worst(steady_thresholds_cost(halts, h / most, gap=30.0, slack=slack).epsilon) > slack
    )  # of a little more noise


Choose = Callable[[str], tuple[float, float]]


def views(choose: Choose, *, h: float, w: float, middle: float, halts: int, queries: int) -> list[np.ndarray]:
    """The law of everything that the mechanism tells, for both neighbours, of adaptive queries."""
    found: list[tuple[float, float]] = []

    def ask(view: str, one: float, other: float) -> None:
        if len(view) == queries or view.count("t") + view.count("T") == halts:
            found.append((one, other))
            return
        value, moved = choose(view)
        ends = np.array([0, middle, w])
        laws = [np.diff([0, *stats.laplace.cdf(ends - at), 1]) for at in (value, value + moved)]
        for kind, p, q in zip("ltTr", *laws, strict=True):
            ask(view + kind, one * p, other * q)

    ask("", 1.0, 1.0)
    return list(np.array(found).T)


@pytest.mark.parametrize(("h", "w", "halts"), [(0.1, 12.0, 1), (0.3, 6.0, 2), (0.2, 3.0, 3), (0.8, 4.0, 1)])
def test_adaptive_queries_keep_the_cost(h: float, w: float, halts: int) -> None:
    """A player who chooses each value, and how one teacher moves it, by all that was answered before."""
    rng = generator(np.random.SeedSequence(5))
    some = [(value, moved) for value in (-0.5, 0.0, h, w / 2, w) for moved in (h, -h)]
    for _ in range(6):
        chosen: dict[str, tuple[float, float]] = {}

        def choose(view: str, chosen: dict[str, tuple[float, float]] = chosen) -> tuple[float, float]:
            return chosen.setdefault(view, some[rng.integers(len(some))])

        one, other = views(choose, h=h, w=w, middle=w / 2, halts=halts, queries=4)
        assert one.sum() == pytest.approx(1)
        for slack in (0.1, 0.01, 1e-4):
            cost = steady_thresholds_cost(halts, h, gap=w, slack=slack).epsilon
            for p, q in ((one, other), (other, one)):
                assert np.maximum(p - math.exp(cost) * q, 0).sum() <= slack


def test_tops_are_what_costs() -> None:
    few, more = (steady_thresholds_cost(c, 0.01, gap=30, slack=1e-6).epsilon for c in (64, 256))
    assert 1.8 * few < more < 2.2 * few
    assert more < compose_advanced(2 * 256, 0.01, slack=1e-6).epsilon * 1.2
    assert steady_thresholds_cost(64, 0.02, gap=30, slack=1e-6).epsilon > 2 * few
    assert steady_thresholds_cost(64, 0.01, gap=1, slack=1e-6).epsilon > few
    assert steady_thresholds_cost(64, 0.01, gap=1e6, slack=1e-6).epsilon <= few
    assert steady_thresholds_cost(64, 0.01, gap=30, slack=1e-9).epsilon > few
    assert steady_thresholds_cost(1, 1e-4, gap=30, slack=0.9).epsilon == 0
