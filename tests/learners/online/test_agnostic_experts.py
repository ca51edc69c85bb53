"""agnostic-experts: claim by hand, distribution of tiny games, regret and its bound, refusals."""

from __future__ import annotations

import itertools
import math

import attrs
import numpy as np
import pytest
from scipy import stats
from support.laws.learner_laws import view_delta
from support.laws.mechanism_laws import RATE, SURE
from support.laws.transition_laws import fresh_law, lazy_law, sets_of_one_end
from support.online.adversaries import measure_regret
from support.simple_players import Scripted, script
from support.statistical import check_counts, expect_rejection, statistical

from arena import REGRET, Adaptive, Commit, Example, Moves, Oblivious, Unsupported, play
from arena.concepts import FiniteClass, Thresholds
from arena.littlestone import soa
from learners.common import learner_bases
from learners.mechanisms import lazy_experts
from learners.mechanisms.counters import binary_counter_error
from learners.online.agnostic_experts import FRESH, LAZY, AgnosticExperts, counter_noise_scale

ALL = FiniteClass([[0, 0], [0, 1], [1, 0], [1, 1]])


# --- the claim ----------------------------------------------------------------------------------------------


def test_the_claim_by_hand() -> None:
    """100 rounds in 10 stretches of 10: 9 ends, and Hedge's game has 90 rounds, 89 of them after a loss."""
    learner = AgnosticExperts(rounds=100, stretches=10, epsilon=1.0, delta=1e-6, share=0.25, rate=0.01)
    assert (learner.stretch_length, learner.ends) == (10, 9)
    advanced = 89 * 0.02**2 / 8 + 0.02 * math.sqrt(89 * math.log(1e6) / 2)
    assert learner.claim.epsilon == pytest.approx(0.25 + advanced)
    assert learner.claim.delta == 1e-6
    pure = attrs.evolve(learner, delta=0.0)
    assert pure.claim.epsilon == pytest.approx(0.25 + 89 * 0.02)
    assert pure.claim.delta == 0
    without = attrs.evolve(pure, share=0.0)
    assert without.claim.epsilon == pytest.approx(89 * 0.02)
    # Four levels of nodes, and two points that move.
    assert counter_noise_scale(learner.ends, learner.counters_epsilon) == 4 * 2 / 0.25
    assert learner.candidate_threshold == 2 * 4 * 2 / 0.25


def test_the_claim_of_lazy_draws_follows_their_parameters() -> None:
    learner = AgnosticExperts(rounds=100, stretches=10, draws=LAZY)
    cost = lazy_experts.cost(90, learner.lazy, slack=1e-6)
    assert learner.claim.epsilon == pytest.approx(0.2 + cost.epsilon)
    assert learner.claim.epsilon <= 1
    state = learner.start(2, np.random.default_rng(1))
    assert (state._draws._redraws_left == learner.lazy.max_draws).all()
    costly = attrs.evolve(learner, rate=10 * learner.hedge_rate)
    assert costly.lazy.rate == 10 * learner.lazy.rate
    assert costly.claim.epsilon > 1


@pytest.mark.thorough
@pytest.mark.parametrize("draws", [FRESH, LAZY])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 1_000.0])
def test_the_rate_is_the_best_that_epsilon_allows(draws: str, epsilon: float) -> None:
    learner = AgnosticExperts(epsilon=epsilon, draws=draws, stretches=32)
    assert learner.claim.epsilon <= epsilon * (1 + 1e-12)
    if epsilon < 1_000:
        assert learner.claim.epsilon > 0.99 * epsilon
        assert attrs.evolve(learner, share=0.0).hedge_rate > learner.hedge_rate
    else:  # what the bound asks for is cheaper
        ends, moves = 31, 4
        change = moves / (moves + ends)
        log_experts = moves * math.log(16 / change) - (ends - moves) * math.log(1 - change)
        assert learner.hedge_rate == pytest.approx(math.sqrt(8 * log_experts / (10_000 - 313)))
        assert learner.claim.epsilon < 900


@pytest.mark.parametrize(
    "learner",
    [
        AgnosticExperts(stretches=1),
        AgnosticExperts(rounds=1),
        AgnosticExperts(mistakes=0),
        AgnosticExperts(concepts=FiniteClass([[0, 1, 1]])),
        AgnosticExperts(stretches=1, draws=LAZY),
    ],
    ids=str,
)
def test_one_expert_costs_nothing(learner: AgnosticExperts) -> None:
    assert (learner.claim.epsilon, learner.claim.delta) == (0, 0)
    state = learner.start(2, np.random.default_rng(1))
    first = state.hypothesis().concepts
    for _ in range(min(learner.rounds, 50) - 1):
        state.observe(np.zeros(2), np.ones(2, np.int8))
        assert np.array_equal(state.hypothesis().concepts, first)


@pytest.mark.parametrize(
    ("rounds", "stretches", "length", "ends"),
    [(10, 10, 1, 9), (9, 4, 3, 2), (2, 9, 1, 1), (1, 9, 1, 0), (100, None, 10, 9)],
)
def test_stretches_are_as_even_as_can_be(rounds: int, stretches: int | None, length: int, ends: int) -> None:
    learner = AgnosticExperts(rounds=rounds, stretches=stretches)
    assert (learner.stretch_length, learner.ends) == (length, ends)
    state = learner.start(2, np.random.default_rng(1))
    for _ in range(rounds):
        state.hypothesis()
        state.observe(np.zeros(2), np.ones(2, np.int8))
    assert state._experts.stretches_ended == ends


# --- distribution of tiny games, candidates and draws together ---------------------------------------------

TINY = AgnosticExperts(
    concepts=ALL, rounds=5, stretches=2, epsilon=1.0, delta=0.0, share=0.5, threshold=0.5, rate=0.6
)
PLAYED = ((0, 1), (1, 0), (0, 1), (1, 1), (0, 0))


def law_of(learner: AgnosticExperts, played: tuple[tuple[int, int], ...], shown: bool = False) -> dict:
    """The distribution of five rounds, the first three of them a stretch; shown: jointly with S'(0, 1]."""
    first = [sum(x == point for x, _ in played[:3]) for point in (0, 1)]
    scale = counter_noise_scale(1, learner.counters_epsilon)
    law: dict = {}
    for found, mass in sets_of_one_end(first, scale, learner.candidate_threshold).items():
        run = {"length": 3, "rate": learner.hedge_rate, "change": learner.move_probability}
        sets, examples = [[found]], lambda view: played[len(view) - 1]
        if learner.draws == LAZY:
            redraw, most = learner.lazy.redraw, learner.lazy.max_draws
            given = lazy_law(soa(ALL), sets, examples, 5, **run, redraw=redraw, most=most)
        else:
            given = fresh_law(soa(ALL), sets, examples, 5, **run)
        for view, p in given.items():
            states = view if learner.draws == FRESH else [state for state, _ in view]
            seen = tuple(soa(ALL).functions(np.array(states)).tolist())
            key = (found, view, seen) if shown else seen
            law[key] = law.get(key, 0.0) + mass * p
    return law


def check_games(learner: AgnosticExperts, law: dict) -> None:
    games = 400_000
    moves = [Example(float(x), y) for x, y in PLAYED]
    replies = play(learner, script(*moves), Adaptive(5), games=games, seed=1, record=True).replies
    seen = np.stack([reply.parts[0] for reply in replies], axis=1)
    cells = list(law)
    functions = len(soa(ALL).hypotheses.matrix)
    numbers = seen @ functions ** np.arange(5)
    observed = [np.count_nonzero(numbers == np.array(cell) @ functions ** np.arange(5)) for cell in cells]
    assert sum(observed) == games
    check_counts(observed, [law[cell] for cell in cells], effect=0.01, **SURE)


@pytest.mark.thorough
@pytest.mark.parametrize("draws", [FRESH, LAZY])
@statistical(rate=RATE)
def test_games_follow_the_law(draws: str) -> None:
    learner = attrs.evolve(TINY, draws=draws)
    check_games(learner, law_of(learner, PLAYED))


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_games_with_other_counters_is_detected() -> None:
    """Less noise with the same threshold on occurrences."""
    with expect_rejection():
        check_games(TINY, law_of(attrs.evolve(TINY, share=0.8, threshold=0.8), PLAYED))


@pytest.mark.thorough
@pytest.mark.parametrize("draws", [FRESH, LAZY])
@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("threshold", [0.2, 1.0])
def test_neighbours_are_as_close_as_is_claimed(draws: str, share: float, threshold: float) -> None:
    """Every replaced example of a game; the views compared include the candidates, so more than is
    released."""
    worst = 0.0
    for slack in (0.0, 0.01):
        learner = attrs.evolve(TINY, draws=draws, share=share, threshold=threshold, delta=slack)
        claim = learner.claim
        for s in range(5):
            others = [(*PLAYED[:s], by, *PLAYED[s + 1 :]) for by in itertools.product((0, 1), (0, 1))]
            laws = [law_of(learner, played, shown=True) for played in others]
            for law, other in itertools.permutations(laws, 2):
                assert view_delta(law, other, claim.epsilon) <= claim.delta + 1e-12
                worst = max(worst, view_delta(law, other, claim.epsilon / 4))
    assert worst > 0


# --- regret -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("draws", [FRESH, LAZY])
@statistical(rate=1e-6)
def test_regret_per_round_falls_with_the_length_of_games(draws: str) -> None:
    """40 games each of 1,000 and 16,000 rounds at ε = 3; Welch's test at 1e-6.

    Means are 0.19 and 0.10 for fresh draws, 0.14 and 0.045 for lazy ones, standard deviations at most 0.03
    and 0.005: no difference would be seen by chance at that rate, and these are missed with less.
    """
    short = measure_regret(AgnosticExperts(rounds=1_000, epsilon=3.0, draws=draws), 40) / 1_000
    long = measure_regret(AgnosticExperts(rounds=16_000, epsilon=3.0, draws=draws), 40) / 16_000
    assert stats.ttest_ind(long, short, equal_var=False, alternative="less").pvalue < 1e-6


def test_the_bound_by_hand() -> None:
    learner = AgnosticExperts(
        concepts=Thresholds([0.0, 1.0]), rounds=2_000, stretches=20, epsilon=20.0, delta=1e-6
    )
    assert learner.ends == 19
    scale = 5 * 2 / 4.0
    accuracy = binary_counter_error(19, 1 / 4_000, epsilon=4.0, sensitivity=2)
    missed = math.ceil(2 * scale + 2 * accuracy) - 1
    change = 1 / 20
    hedge = (math.log(2 / change) - 18 * math.log(1 - change)) / learner.hedge_rate
    hedge += learner.hedge_rate * 1_900 / 8
    bound = learner.bound(2_000)
    assert bound.at_most == pytest.approx(1 * (missed * 1 + 100) + 1 + hedge)
    assert (bound.of, bound.beta) == (REGRET, None)


@pytest.mark.thorough
@pytest.mark.parametrize("draws", [FRESH, LAZY])
@pytest.mark.parametrize("epsilon", [4.0, 20.0])
def test_the_bound_is_kept_on_average(draws: str, epsilon: float) -> None:
    """By a wide margin: 40 games of 2,000 rounds against examples of which half are of the other label."""
    learner = AgnosticExperts(
        concepts=Thresholds(range(2)), rounds=2_000, stretches=20, epsilon=epsilon, draws=draws
    )

    def moves(games: int, rng: np.random.Generator) -> Moves:
        x = np.arange(2_000) % 2 * np.ones((games, 1))
        y = np.arange(2_000) < 1_000  # first all are 1, then all are 0
        yield Commit(x, y & (x >= 0))
        return np.full(games, 1_000.0)

    played = play(learner, Scripted(moves), Oblivious(2_000), games=40, seed=1)
    bound = learner.bound(2_000)
    assert (played.mistakes - played.score).mean() < bound.at_most < 2_000
    assert measure_regret(learner, 40).mean() < bound.at_most


def test_a_vacuous_bound_is_none() -> None:
    learner = AgnosticExperts(rounds=100_000, share=0.0)
    bound = learner.bound(100_000)
    assert "Theorem 4.4" in bound.theorem
    assert learner.bound(100_001) is None
    assert attrs.evolve(learner, mistakes=3).bound(100_000) is None
    assert AgnosticExperts().bound(10_000) is None  # counters miss more than there are rounds
    assert learner.bound(10) is None  # nobody can learn in less than a stretch


# --- refusals -----------------------------------------------------------------------------------------------


def test_a_class_too_large_is_refused_with_its_cost() -> None:
    with pytest.raises(Unsupported, match="999 ends of stretches needs 193,569,000 numbers a game"):
        AgnosticExperts(concepts=Thresholds(range(256)), stretches=1_000)


def test_a_batch_too_large_is_refused_with_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = AgnosticExperts(stretches=32)
    monkeypatch.setattr(learner_bases, "MOST_NUMBERS", 10_000)
    with pytest.raises(Unsupported, match="6 games of 1,952 numbers each exceed 10,000 numbers"):
        learner.start(6, np.random.default_rng(1))
    learner.start(5, np.random.default_rng(1))
