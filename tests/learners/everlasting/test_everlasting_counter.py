"""everlasting-counter: what it claims, when it stops, and how seldom it is stopped by force. That its games
follow the algorithm is tested with the other versions, in test_everlasting.py.
"""

from __future__ import annotations

from math import exp, log

import attrs
import numpy as np
import pytest
from scipy import stats
from support.simple_players import script

from arena import Figure1, InvalidArgument, Queries, Query, Sample, Train, Training, play
from arena.testing import check_learner
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.mechanisms.accounting import compose_advanced
from learners.mechanisms.counters import binary_counter_lag
from learners.mechanisms.sparse_vector import running_sum_lag
from learners.mechanisms.steady_thresholds import steady_thresholds_cost

CROSSING = EverlastingCounter()
BINARY = EverlastingCounter(counter="binary", halts=6_000)
BOTH = [CROSSING, BINARY]
SMALL = EverlastingCounter(
    teachers=2_001, chunk=1, training_rate=0.5, answers=400, rounds=1, counter="crossing", halts=64
)
TIED = Sample([0.5, 0.5], [0, 1], [2_001, 2_001])


def counter_of(spec: EverlastingCounter) -> str:
    return spec.counter


# --- what it claims ---------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", BOTH, ids=counter_of)
def test_the_default_keeps_the_theorem(spec: EverlastingCounter) -> None:
    assert spec.claim.epsilon <= 1
    assert spec.claim.delta <= 1e-5
    for index in (1, 2, 3, 6):
        round = spec.round(index)
        epsilon, delta = spec._cost_of_answers(round)
        assert epsilon == pytest.approx(1, abs=1e-9)
        assert delta == 0.5e-5
        assert 0.5 / spec.gap <= 0.25 * round.teachers * round.noise  # votes of one mind are hardly ever ⊤
        assert spec.stopping_count(index) > spec.halts_in_round(index) / 2


@pytest.mark.parametrize("spec", BOTH, ids=counter_of)
def test_the_claim_by_hand(spec: EverlastingCounter) -> None:
    through = 1 + log(1 + spec.rate_run * (exp(3) - 1))
    query = 0.5 + log(1 + spec.rate_run * (exp(through + 3) - 1))
    assert spec.claim.epsilon == pytest.approx(query)
    assert spec.claim.delta == pytest.approx(spec.rate_run * 4 * np.e * 0.5e-5 + (1 + exp(0.5)) * 0.01 * 1e-5)
    alone = attrs.evolve(spec, rounds=1)
    assert alone.claim.epsilon == pytest.approx(0.5)  # one round shows a query by its count alone
    assert attrs.evolve(alone, training_rate=1.0).claim.epsilon == pytest.approx(through)


def test_votes_cost_what_is_less() -> None:
    """The ⊤s of a round, or all its answers as in v2."""
    by_tops = CROSSING._cost(1, 10**6, 20_001, 0.01)
    assert by_tops == steady_thresholds_cost(128, 0.01, gap=0.5 * 200.01, slack=0.5e-5)
    assert CROSSING._cost(1, 20, 20_001, 0.01).epsilon == pytest.approx(0.2)  # basic composition
    assert CROSSING._cost(2, 20, 20_001, 0.01) == compose_advanced(20, 0.01, slack=0.5e-5)
    few = attrs.evolve(CROSSING, answers=16_000)  # which train ten teachers of round 2
    assert few.round(2).teachers == 10
    assert few.claim == CROSSING.claim


def test_noise_that_is_set_is_what_counts() -> None:
    louder = attrs.evolve(CROSSING, noise=0.005)
    assert [louder.round(i).noise for i in (1, 2, 3)] == [0.005, 0.0025, 0.00125]
    costs = [louder._cost_of_answers(louder.round(i))[0] for i in (1, 2, 3, 4)]
    assert costs == sorted(costs, reverse=True)
    assert attrs.evolve(CROSSING, noise=0.05).claim.epsilon > 2 * CROSSING.claim.epsilon
    assert attrs.evolve(CROSSING, counter_epsilon=0.7).claim.epsilon == pytest.approx(
        CROSSING.claim.epsilon + 0.2
    )


# --- when it stops ------------------------------------------------------------------------------------


def test_the_count_stops_below_the_budget_by_its_lag() -> None:
    beta = 1e-7
    assert CROSSING.stopping_count(1) == 128 - running_sum_lag(beta, epsilon=0.5)
    assert CROSSING.stopping_count(3) == 512 - running_sum_lag(beta, epsilon=0.5)
    assert BINARY.stopping_count(2) == 12_000 - binary_counter_lag(BINARY.round(2).answers, beta, epsilon=0.5)
    for index in range(1, 12):
        assert BINARY.stopping_count(index + 1) > BINARY.stopping_count(index)


def test_a_budget_within_the_lag_is_refused() -> None:
    message = (
        r"the binary counter may lag 2,400\.8 answers behind, so that round 1 needs halts of at least 2,402"
    )
    with pytest.raises(InvalidArgument, match=message + r", got 2401\. Raise halts or counter_epsilon"):
        attrs.evolve(BINARY, halts=2_401)
    assert attrs.evolve(BINARY, halts=2_402).stopping_count(1) >= 1
    with pytest.raises(InvalidArgument, match=r"the crossing counter may lag 35\.4 answers behind"):
        EverlastingCounter(halts=36)
    enough = round(binary_counter_lag(2, 1e-7, epsilon=0.5)) + 2  # for round 1 alone
    with pytest.raises(InvalidArgument, match=r"round 2 needs halts of at least"):
        attrs.evolve(BINARY, halts=enough, answers=2, rate=1.0, teachers=1, chunk=1)


@pytest.mark.parametrize(
    "bad", [{"halts": 0}, {"halts": 2.5}, {"gap": 0.5}, {"counter": "exact"}, {"counter_epsilon": 0.0}]
)
def test_settings_out_of_range_are_refused(bad: dict) -> None:
    (name,) = bad
    with pytest.raises(InvalidArgument, match=f"{name} must be"):
        EverlastingCounter(**bad)


@pytest.mark.parametrize("counter", ["crossing", "binary"])
def test_it_stops_soon_after_ties_and_not_where_votes_are_clear(counter: str) -> None:
    spec = attrs.evolve(
        SMALL, counter=counter, halts=64 if counter == "crossing" else 600, counter_epsilon=1.0
    )
    budget = spec.halts
    spec = attrs.evolve(spec, answers=2 * budget)
    for x, stops in ((0.5, True), (0.0, False)):
        played = play(spec, script(Train(TIED), Queries([x] * budget)), Figure1(), games=40, seed=1)
        assert played.halted is not None
        assert played.halted.all() if stops else not played.halted.any()


class NoHardStop(EverlastingCounter):
    """The same count, which is never forestalled."""

    def halts_in_round(self, index: int) -> int:
        return 10**9

    def stopping_count(self, index: int) -> float:
        return EverlastingCounter.stopping_count(attrs.evolve(BEHIND), index)


BEHIND = attrs.evolve(SMALL, delta=0.9)  # so that the chance of a hard stop, 0.009, can be seen


# 40,000 games; a learner whose count lags behind twice as often fails but with chance 1e-9.
@pytest.mark.statistical(rate=1e-9)
@pytest.mark.parametrize(("closer", "holds"), [(0, True), (6, False)])
def test_the_count_is_seldom_too_late(closer: int, holds: bool) -> None:
    games, chance = 40_000, 0.01 * 0.9
    settings = {field.name: getattr(BEHIND, field.name) for field in attrs.fields(EverlastingCounter)}
    state = NoHardStop(**settings).start(games, np.random.default_rng(3))
    state.train(Training.of((TIED,), np.zeros(games, np.intp)))
    for _ in range(BEHIND.halts - closer):
        state.predict(np.full(games, 0.5))
    late = np.count_nonzero(~state.halted)
    assert (late <= stats.binom.isf(1e-9, games, chance)) == holds


@pytest.mark.parametrize("counter", ["crossing", "binary"])
def test_the_hard_stop_comes_with_the_last_top(counter: str) -> None:
    class Deaf(EverlastingCounter):
        def stopping_count(self, index: int) -> float:
            return 1e9

    settings = {field.name: getattr(SMALL, field.name) for field in attrs.fields(EverlastingCounter)}
    spec = Deaf(**settings | {"halts": 3, "counter": counter})
    asked = script(Train(TIED), *[Query(x) for x in (0.5, 0.0, 0.5, 0.0, 0.5, 0.5)])
    played = play(spec, asked, Figure1(), games=30, seed=1, record=True)
    assert [reply.halted.all() for reply in played.replies[1:]] == [False] * 4 + [True] * 2


def test_a_game_that_has_stopped_stays_so_in_the_next_round() -> None:
    spec = attrs.evolve(SMALL, rounds=2, rate=0.5, answers=100)
    x = np.where(np.arange(20) < 10, 0.5, 0.0)
    asked = script(Train(TIED), *[Query(x)] * 90, *[Query(0.0)] * 20)
    played = play(spec, asked, Figure1(), games=20, seed=1)
    assert played.halted is not None
    assert played.halted.tolist() == [True] * 10 + [False] * 10


# --- rules --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counter", ["crossing", "binary"])
@pytest.mark.thorough
def test_it_conforms(counter: str) -> None:
    check_learner(attrs.evolve(SMALL, teachers=9, counter=counter, counter_epsilon=9.0), games=500)


@pytest.mark.parametrize("size", [5_000, 1_000_000])
def test_it_fits_itself_to_smaller_samples(size: int) -> None:
    fitted = CROSSING.adapt_to(size)
    assert fitted.sample_size <= size
    assert fitted.claim.epsilon <= 1
    assert CROSSING.adapt_to(CROSSING.sample_size) is CROSSING
    with pytest.raises(InvalidArgument, match="everlasting-counter needs at least 52 examples to train"):
        CROSSING.adapt_to(10)
