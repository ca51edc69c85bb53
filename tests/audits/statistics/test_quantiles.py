"""Order statistics as limits on a quantile: their ranks, and how often they miss."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.online.players import Drawn, TinySoa
from support.statistical import check_counts, check_errors, expect_rejection, statistical

from audits.races.online_race import plan_online_race
from audits.races.race import Race
from audits.races.race_result import make_result
from audits.reports.json_form import to_data
from audits.statistics.quantiles import limit_ranks, lower_limit_of_mean, quantile

RATE = 1e-7  # of a false alarm, of each simulation below


@given(st.integers(1, 60), st.sampled_from([0.05, 0.25, 0.5, 0.9, 0.95]), st.floats(1e-9, 0.49))
def test_ranks_are_the_tightest_that_keep_the_level(games: int, q: float, level: float) -> None:
    chance = stats.binom.pmf(np.arange(games + 1), games, q)
    low, high = limit_ranks(games, q, level)
    miss_below = [chance[:r].sum() for r in range(games + 2)]  # of X_(r) > the quantile
    miss_above = [chance[s:].sum() for s in range(games + 2)]  # of X_(s) < the quantile
    assert low == 0 or miss_below[low] <= level * (1 + 1e-9)
    assert miss_below[low + 1] > level * (1 - 1e-9)
    assert high == games + 1 or miss_above[high] <= level * (1 + 1e-9)
    assert miss_above[high - 1] > level * (1 - 1e-9)


def test_a_quantile_is_the_least_figure_that_enough_games_do_not_exceed() -> None:
    rng = np.random.default_rng(4)
    for games in (1, 2, 20, 41):
        figures = np.sort(rng.integers(-3, 9, (5, games)), axis=1)
        for q in (0.05, 0.5, 0.95):
            found = quantile(figures, q, 0.1)
            for row, value in zip(figures, found.values, strict=True):
                shares = np.array([(row <= x).mean() for x in row])
                assert value == row[shares >= q - 1e-12].min()
            assert (found.lower <= found.values).all()
            assert (found.values <= found.upper).all()


def test_few_games_give_no_limit() -> None:
    found = quantile(np.array([[1, 2, 3]]), 0.5, 0.01)
    assert (found.lower.tolist(), found.upper.tolist()) == ([-np.inf], [np.inf])
    assert to_data(found) == {"q": 0.5, "values": [2.0], "lower": [None], "upper": [None]}


@statistical(rate=2 * RATE)
def test_limits_miss_as_often_as_the_binomial_law_says(rng: np.random.Generator) -> None:
    """400,000 tables of 20 uniform numbers; a miss rate that is off by 0.01 is seen with 0.999999."""
    q, level = 0.75, 0.06
    low, high = limit_ranks(20, q, level)
    ordered = np.sort(rng.random((400_000, 20), np.float32), axis=1)
    options = {"rate": RATE, "effect": 0.01, "power": 0.999999}
    for misses, chance in (
        (ordered[:, low - 1] > q, stats.binom.cdf(low - 1, 20, q)),
        (ordered[:, high - 1] < q, stats.binom.sf(high - 1, 20, q)),
    ):
        assert chance <= level
        count = int(misses.sum())
        check_counts([count, len(misses) - count], [chance, 1 - chance], **options)


@statistical(rate=1.1e-6)
def test_the_next_rank_misses_oftener(rng: np.random.Generator) -> None:
    q, level = 0.75, 0.06
    low, _ = limit_ranks(20, q, level)
    ordered = np.sort(rng.random((400_000, 20), np.float32), axis=1)
    count, chance = int((ordered[:, low] > q).sum()), stats.binom.cdf(low - 1, 20, q)
    with expect_rejection("cell 0"):
        check_counts([count, 400_000 - count], [chance, 1 - chance], rate=RATE, effect=0.01, power=0.999999)


def test_the_mean_is_at_least_an_integral_and_no_less_than_hoeffding_says() -> None:
    rng = np.random.default_rng(9)
    for games, least in ((1, 0), (7, -3), (400, -3), (400, 0)):
        figures = rng.integers(least, 12, games)
        reach = np.sqrt(np.log(1 / 0.02) / (2 * games))
        x = np.arange(least, 12)  # the distribution function jumps at whole numbers only
        largest = np.minimum(1, (figures[:, None] <= x).mean(axis=0) + reach)
        found = lower_limit_of_mean(figures, least, 0.02)
        assert found == pytest.approx(least + (1 - largest).sum())
        assert figures.mean() - (12 - 1 - least) * reach <= found <= figures.mean()
    assert lower_limit_of_mean(np.array([5, 5]), 5, 0.9) == 5


@pytest.mark.parametrize("chance", [0.03, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("games", [1, 5, 30, 300])
def test_the_limit_of_the_mean_misses_no_more_often_than_said(games: int, chance: float) -> None:
    """Where a figure is 10 with that chance, else 0, the chance of a miss is a sum over the games of 10."""
    hits = np.arange(games + 1)
    for error in (0.5, 0.1, 1e-3):
        limits = np.array([lower_limit_of_mean(np.repeat([0, 10], [games - k, k]), 0, error) for k in hits])
        missed = stats.binom.pmf(hits, games, chance)[limits > 10 * chance].sum()
        assert missed <= error
        if (games, chance, error) == (300, 0.5, 0.5):
            assert missed > error / 8  # it is not idle


RACES, ERROR = 700, 0.2


def walks(race: Race, rng: np.random.Generator) -> list[np.ndarray]:
    """For each entrant the mistakes of its games at the marks: it errs in each round with chance 0.3."""
    steps = np.diff([0, *race.marks])[:, None]
    return [rng.binomial(steps, 0.3, (len(steps), race.games)).cumsum(axis=0) for _ in race.entrants]


def misses(race: Race, rng: np.random.Generator) -> Iterator[bool]:
    """Of each of `RACES` races, whether some limit is on the wrong side of the true quantile."""
    marks = np.array(race.marks)
    truth = {q: stats.binom.ppf(q, marks, 0.3) for q in (0.5, 0.95)}
    for _ in range(RACES):
        found = [
            q for one in make_result(race, walks(race, rng)).standings for q in (one.median, one.quantile_95)
        ]
        yield any(((one.lower > truth[one.q]) | (one.upper < truth[one.q])).any() for one in found)


def check_together(race: Race, rng: np.random.Generator) -> None:
    """At most 0.282 of 700 races may miss at an error of 0.2; limits that miss at a rate of 0.35 are accepted
    with probability 1e-4."""
    for wrong in accumulate(misses(race, rng)):
        check_errors(wrong, RACES, level=ERROR, rate=RATE)


def race(confidence: float, games: int = 50) -> Race:
    players = [(label, TinySoa(), Drawn()) for label in ("a", "b")]
    return plan_online_race(players, rounds=400, games=games, marks=10, confidence=confidence)


@pytest.mark.thorough
@statistical(rate=RATE)
def test_all_limits_of_a_race_hold_together(rng: np.random.Generator) -> None:
    check_together(race(1 - ERROR), rng)


@pytest.mark.thorough
@statistical(rate=RATE)
def test_limits_that_hold_one_by_one_do_not_hold_together(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each limit at the level 0.1: 80 of them miss somewhere far oftener than 0.35."""
    monkeypatch.setattr(Race, "limit_level", ERROR / 2)
    with expect_rejection("errors in"):
        check_together(race(1 - ERROR), rng)
