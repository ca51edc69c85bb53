"""everlasting-counter and everlasting-gaussian: claims, schedules, when they stop, and accuracy."""

from __future__ import annotations

from math import exp, expm1, log, sqrt

import attrs
import numpy as np
import pytest
from scipy import stats
from support.simple_players import script

from adversaries.figure1.honest import Honest
from arena import (
    Adversary,
    Figure1,
    InvalidArgument,
    Moves,
    Queries,
    Query,
    Sample,
    Train,
    Training,
    Unsupported,
    play,
)
from arena.concepts import Boxes, Intervals, RealIntervals, RealPoints, Stumps, Thresholds
from audits.races.predictor_race import plan_predictor_race
from audits.races.race_result import run_race
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.mechanisms.accounting import compose_advanced
from learners.mechanisms.counters import binary_counter_lag
from learners.mechanisms.sparse_vector import running_sum_lag
from learners.mechanisms.steady_thresholds import marked_votes_cost, steady_thresholds_cost

CROSSING = EverlastingCounter()
BINARY = EverlastingCounter(counter="binary", halts=6_000)
BOTH = [CROSSING, BINARY]
SMALL = EverlastingCounter(
    teachers=2_001, chunk=1, training_rate=0.5, answers=400, rounds=1, counter="crossing", halts=64
)
TIED = Sample([0.5, 0.5], [0, 1], [2_001, 2_001])


# --- what it claims ---------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("spec", BOTH, ids=lambda spec: spec.counter)
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


@pytest.mark.thorough
@pytest.mark.parametrize("spec", BOTH, ids=lambda spec: spec.counter)
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
    dearer = attrs.evolve(CROSSING, counter_epsilon=0.7)
    assert dearer.claim.epsilon == pytest.approx(CROSSING.claim.epsilon + 0.2)


# --- when it stops ------------------------------------------------------------------------------------


def test_the_count_stops_below_the_budget_by_its_lag() -> None:
    beta = 1e-7
    assert CROSSING.stopping_count(1) == 128 - running_sum_lag(beta, epsilon=0.5)
    assert CROSSING.stopping_count(3) == 512 - running_sum_lag(beta, epsilon=0.5)
    assert BINARY.stopping_count(2) == 12_000 - binary_counter_lag(BINARY.round(2).answers, beta, epsilon=0.5)
    for index in range(1, 12):
        assert BINARY.stopping_count(index + 1) > BINARY.stopping_count(index)


def test_a_budget_within_the_lag_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"may lag 2,400\.8 answers .* at least 2,402, got 2401"):
        attrs.evolve(BINARY, halts=2_401)
    assert attrs.evolve(BINARY, halts=2_402).stopping_count(1) >= 1
    with pytest.raises(InvalidArgument, match=r"the crossing counter may lag 35\.4 answers behind"):
        EverlastingCounter(halts=36)
    enough = round(binary_counter_lag(2, 1e-7, epsilon=0.5)) + 2  # for round 1 alone
    with pytest.raises(InvalidArgument, match=r"round 2 needs halts of at least"):
        attrs.evolve(BINARY, halts=enough, answers=2, rate=1.0, teachers=1, chunk=1)


@pytest.mark.parametrize("counter", ["crossing", "binary"])
def test_it_stops_soon_after_ties_and_not_where_votes_are_clear(counter: str) -> None:
    budget = 64 if counter == "crossing" else 600
    spec = attrs.evolve(SMALL, counter=counter, halts=budget, counter_epsilon=1.0, answers=2 * budget)
    for x, stops in ((0.5, True), (0.0, False)):
        played = play(spec, script(Train(TIED), Queries([x] * budget)), Figure1(), games=40, seed=1)
        assert played.halted.all() if stops else not played.halted.any()


class NoHardStop(EverlastingCounter):
    """The same count, which is never forestalled."""

    def halts_in_round(self, index: int) -> int:
        return 10**9

    def stopping_count(self, index: int) -> float:
        return EverlastingCounter.stopping_count(attrs.evolve(BEHIND), index)


BEHIND = attrs.evolve(SMALL, delta=0.9)  # so that the chance of a hard stop, 0.009, can be seen


# 40,000 games; a learner whose count lags behind twice as often fails but with chance 1e-9.
@pytest.mark.thorough
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
    assert played.halted.tolist() == [True] * 10 + [False] * 10


DEFAULT = EverlastingGaussian()
SMALL_GAUSSIAN = EverlastingGaussian(
    teachers=50, chunk=2, halts=30, counter_epsilon=2.0, noise=0.05, rate=0.5
)
LABELS = {"labelled": 2 * log(1 + sqrt(exp(1))), "unlabelled": log(4)}


@pytest.mark.thorough
def test_the_claim_of_the_default_by_hand() -> None:
    for index in (1, 2):
        run = DEFAULT.round(index)
        sigma = 1 / run.noise
        size, halts = run.teachers, DEFAULT.halts_in_round(index)
        votes = marked_votes_cost(halts, size=size, sigma=sigma, gap=1.2 * sigma, slack=1e-6)
        example = votes.epsilon + log(1 + 0.005 * expm1(LABELS["labelled"]))
        assert 0.99 < example <= 1
    query = 0.05 + log(1 + DEFAULT.rate_run * expm1(1 + LABELS["unlabelled"]))
    assert query == pytest.approx(1)
    assert DEFAULT.claim.epsilon == pytest.approx(1)
    assert DEFAULT.claim.delta == 1e-6
    assert attrs.evolve(DEFAULT, rate=0.2).claim.epsilon > 1.1


@pytest.mark.thorough
def test_noise_of_the_default_is_smaller_than_its_margin() -> None:
    """A teacher's threshold is Exp(λ) beyond the target: a cut at 1/2 + x errs on -ln(1/2 - x)/λ."""
    for index in (1, 2):
        run = DEFAULT.round(index)
        scale = 1 / (run.noise * run.teachers)
        margin = 0.5 - exp(-0.1 * run.chunk * (0.95 if index > 1 else 1))  # a twentieth for LabelBoost
        assert run.answers * stats.norm.sf(margin / scale) < 0.025
    assert DEFAULT.round(1).answers + DEFAULT.round(2).answers > 10**6


def test_the_schedule() -> None:
    """λ, T and c grow by the same factor, R as many as the next round needs; no cost is exceeded."""
    runs = [SMALL_GAUSSIAN.round(index) for index in (1, 2, 3)]
    assert [run.teachers for run in runs] == [50, 53, 57]
    assert [run.chunk for run in runs] == [2, 3, 3]
    assert [SMALL_GAUSSIAN.halts_in_round(index) for index in (1, 2, 3)] == [30, 32, 34]
    assert [run.answers for run in runs[:2]] == [2 * 53 * 3, 2 * 57 * 3]
    costs = [SMALL_GAUSSIAN._cost_of_answers(run)[0] for run in runs]
    assert costs[1:] == [costs[0]] * 2
    assert SMALL_GAUSSIAN.rate_run == 0.5
    assert DEFAULT.training_rate_run == 1


def test_it_fits_itself_to_smaller_samples() -> None:
    fitted = DEFAULT.adapt_to(5_000)
    assert fitted.sample_size == 4_995
    assert fitted.claim.epsilon <= 1
    assert DEFAULT.adapt_to(DEFAULT.sample_size) is DEFAULT
    assert EverlastingGaussian().with_practical_constants().claim.epsilon > 1


def test_it_stops_after_ties_at_many_points_and_only_then() -> None:
    """One tied point, or clear points, cost nothing however often they are asked."""
    learner = EverlastingGaussian(
        teachers=2_001, chunk=1, answers=3_000, rounds=1, halts=300, counter_epsilon=0.9, noise=0.02
    )
    tied = Sample([0.5, 0.5], [0, 1], [2_001, 2_001])
    many = np.linspace(0, 0.25, 2_500)
    for points, stops in ((0.5 + many, True), ([0.5] * 2_500, False), (many, False)):
        played = play(learner, script(Train(tied), Queries(points)), Figure1(), games=20, seed=1)
        assert played.halted is not None
        assert (played.halted == stops).all()


def test_a_point_is_answered_alike_within_a_round_and_anew_in_the_next() -> None:
    learner = attrs.evolve(SMALL_GAUSSIAN, answers=400, halts=1_000)
    tied = Sample([0.5, 0.5], [0, 1], [50, 50])
    played = play(
        learner, script(Train(tied), Queries([0.5] * 800)), Figure1(), games=50, seed=1, record=True
    )
    labels = np.concatenate([reply.label for reply in played.replies[1:]], axis=1)
    first, second = labels[:, :400], labels[:, 400:]
    assert (first == first[:, :1]).all()
    assert (second == second[:, :1]).all()
    assert 5 < first[:, 0].sum() < 45
    assert (first[:, 0] != second[:, 0]).any()


def test_classes_with_too_many_labellings_are_refused_before_the_first_answer() -> None:
    boxes = attrs.evolve(SMALL_GAUSSIAN, concepts=Boxes(2))
    sample = Sample(np.zeros((1, 2)), [0], [200])
    with pytest.raises(Unsupported, match=r"may have too many labellings .* got 'rounds=none'"):
        play(boxes, script(Train(sample), Query(np.zeros(2))), Figure1(), games=1, seed=1)
    with pytest.raises(Unsupported, match=r"may have too many labellings .* got 'rounds=9'"):
        boxes.check_labellings(9)
    play(attrs.evolve(boxes, rounds=1), script(Train(sample), Query(np.zeros(2))), Figure1(), games=1, seed=1)
    for concepts in (Thresholds(), RealPoints(), RealIntervals(), Stumps(3), Intervals(range(1, 30))):
        attrs.evolve(DEFAULT, concepts=concepts).check_labellings(None)


@attrs.frozen
class AskToTheLastRound(Adversary):
    """Draws a sample and queries of many rounds; the score is the share of right answers in the last one."""

    name = "ask-to-the-last-round"
    protocols = ("Figure1",)

    learner: EverlastingGaussian
    rounds: int

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        points = rng.random(self.learner.sample_size)
        yield Train(Sample(points, points >= 0.5))
        for index in range(1, self.rounds):
            yield Queries(rng.random(self.learner.round(index).answers))
        queries = rng.random(10_000)
        reply = yield Queries(queries)
        return ((reply.label == (queries >= 0.5)) & ~reply.halted).mean(axis=1)


@pytest.mark.slow
def test_thirty_rounds_with_more_points_than_labellings_were_once_listed() -> None:
    """The last round is trained on more than 2^20 points, and its answers are right."""
    rates = {"noise": 1.0, "counter_epsilon": 0.5, "rate": 1.0, "labelled_rate": 1.0}
    learner = EverlastingGaussian(teachers=200, chunk=4, growth=1.135, halts=1_000, **rates)
    assert learner.round(30).examples > 2**20
    played = play(learner, AskToTheLastRound(learner, rounds=30), Figure1(), games=1, seed=1)
    assert played.score.item() > 0.95


@pytest.mark.slow
@pytest.mark.parametrize("atom", [1 / 22, 0.035, 0.045])
def test_atoms_at_which_votes_tie_neither_halt_the_default_nor_raise_its_error(atom: float) -> None:
    """Uniform on 22 points, or an atom of this mass at the target and 100,000 other points of the line."""
    concepts, sample = Thresholds(range(1, 23)), None
    if atom != 1 / 22:
        points = np.linspace(0, 1, 100_001)
        counts = np.where(points == 0.5, round(atom / (1 - atom) * len(points)), 1)
        concepts, sample = Thresholds(), Sample(points, points >= 0.5, counts)
    learner = attrs.evolve(DEFAULT, concepts=concepts)
    race = plan_predictor_race([("it", learner, Honest(sample=sample))], rounds=1, games=1)
    standing = run_race(race, jobs=1).standings[0]
    assert standing.halted[0] == 0
    assert standing.worst[0] <= 0.1
