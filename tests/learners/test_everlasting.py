"""GenericBBL, both versions: parameters, claims, halts, and whole games against a plain one-game
reference.
"""

from __future__ import annotations

from math import exp, log, sqrt

import attrs
import numpy as np
import pytest
from players import Scripted, script
from scipy import stats

from arena import (
    Figure1,
    GameLearner,
    InvalidArgument,
    Learner,
    Moves,
    Query,
    Sample,
    Train,
    Unsupported,
    play,
)
from arena.concepts import FiniteClass, Thresholds
from learners.everlasting_v1 import EverlastingV1
from learners.everlasting_v2 import EverlastingV2
from learners.generic_bbl import GenericBBL
from learners.mechanisms.between_thresholds import required_gap
from learners.paper import Paper

# --- parameters --------------------------------------------------------------------------------------


def test_the_default_of_v1_meets_the_conditions_of_its_theorem() -> None:
    spec = EverlastingV1()
    assert spec.rate_run == spec.training_rate_run == pytest.approx(1 / (3 + exp(5)))
    for index in (1, 2, 3):
        round = spec.round(index)
        assert round.noise == pytest.approx(1 / (3 * sqrt(8 * log(2 / 1e-5))))  # step 3(c)
        halves = spec.delta / (2 * spec.halts)
        assert 2 * round.alpha >= required_gap(epsilon=round.noise, delta=halves, size=round.teachers)
        assert (
            spec.rate_run * round.answers >= spec.round(index + 1).examples
        )  # the next round can be trained
    assert spec.claim.epsilon <= 1
    assert spec.claim.delta <= 1e-5


def test_the_default_of_v2_meets_the_conditions_of_its_theorem() -> None:
    spec = EverlastingV2()
    for index in (1, 2, 3):
        round = spec.round(index)
        assert round.noise == pytest.approx(1 / (3 * sqrt(round.answers * log(2 / 1e-5))))
    assert spec.claim.epsilon <= 1
    assert spec.claim.delta <= 1e-5


def test_rounds_grow_as_alpha_and_beta_are_halved() -> None:
    first, second, third = (EverlastingV1().round(i) for i in (1, 2, 3))
    assert (first.alpha, second.alpha, third.alpha) == (0.2, 0.1, 0.05)
    assert (first.beta, third.beta) == (0.05, 0.0125)
    assert (first.chunk, second.chunk, third.chunk) == (5, 10, 20)
    assert (first.teachers, second.teachers, third.teachers) == (20_001, 40_002, 80_004)


@pytest.mark.parametrize("spec", [EverlastingV1, EverlastingV2])
def test_answers_that_train_no_teacher_are_refused(spec: type[GenericBBL]) -> None:
    with pytest.raises(InvalidArgument, match=r"takes 1,515 of them, got 100\. Give more answers, a higher"):
        spec(answers=100)
    assert spec(answers=100, rounds=1).round(1).answers == 100
    assert spec(answers=1_515).round(2).teachers == 1


@pytest.mark.parametrize(
    "setting",
    [
        {"epsilon": 0.0},
        {"epsilon": 1.5},
        {"delta": 0.0},
        {"delta": 1.0},
        {"alpha_1": 0.5},
        {"teachers": 0},
        {"teachers": 2.5},
        {"chunk": 0},
        {"rate": 0.0},
        {"training_rate": 1.5},
        {"noise": 0.0},
        {"rounds": 0},
        {"epsilon": float("nan")},
    ],
)
@pytest.mark.parametrize("spec", [EverlastingV1, EverlastingV2])
def test_settings_out_of_range_are_refused(spec: type[GenericBBL], setting: dict) -> None:
    (name,) = setting
    with pytest.raises(InvalidArgument, match=f"{name} must be"):
        spec(**setting)


# --- claims -------------------------------------------------------------------------------------------


def test_the_claim_follows_what_is_run() -> None:
    base = EverlastingV2()
    assert EverlastingV2(noise=1.0).claim.epsilon > 10 * base.claim.epsilon
    assert EverlastingV2(rate=0.1).claim.epsilon > base.claim.epsilon
    assert EverlastingV2(training_rate=1.0, rounds=1).claim.epsilon > base.claim.epsilon
    assert EverlastingV2(alpha_1=0.01).claim == base.claim  # utility only


def test_without_the_gap_only_the_subset_protects() -> None:
    without = [EverlastingV1(teachers=100), EverlastingV1(alpha_1=0.001)]
    without.append(EverlastingV1(answers=100_000))  # round 2 gets fewer teachers than the gap asks for
    for spec in without:
        assert spec.claim.delta == pytest.approx(spec.rate_run)
    assert EverlastingV1(answers=100_000, rounds=1).claim.delta < 1e-5
    assert EverlastingV1(teachers=100, rate=1.0, training_rate=1.0).claim.empty


def test_the_claim_of_v2_by_hand() -> None:
    spec = EverlastingV2()
    noise, answers = spec.round(2).noise, spec.round(2).answers
    answering = sqrt(2 * answers * log(2e5)) * noise + answers * noise * (exp(noise) - 1)
    boosting = log(1 + spec.rate_run * (exp(3) - 1))
    query = log(1 + spec.rate_run * (exp(answering + boosting + 3) - 1))
    assert spec.claim.epsilon == pytest.approx(query)
    assert spec.claim.delta == pytest.approx(spec.rate_run * 4 * np.e * 0.5e-5)


def test_a_single_round_does_not_touch_queries() -> None:
    spec = EverlastingV2(rounds=1)
    answers, noise = 4_000, spec.round(1).noise
    answering = sqrt(2 * answers * log(2e5)) * noise + answers * noise * (exp(noise) - 1)
    boosting = log(1 + spec.rate_run * (exp(3) - 1))
    assert spec.claim.epsilon == pytest.approx(log(1 + spec.rate_run * (exp(answering + boosting) - 1)))


# --- sizes for data of the user's ------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5_000, 32_561, 1_000_000])
@pytest.mark.parametrize("spec", [EverlastingV1(), EverlastingV2()])
def test_specs_fit_themselves_to_smaller_samples(spec: GenericBBL, size: int) -> None:
    fitted = spec.sized_for(size)
    assert fitted.sample_size <= size
    assert fitted.claim.epsilon <= 1
    assert fitted.claim.delta <= 1e-5


def test_specs_that_fit_stay() -> None:
    spec = EverlastingV2(teachers=10)
    assert spec.sized_for(spec.sample_size) is spec


def test_samples_too_small_are_refused_with_the_size_that_would_do() -> None:
    with pytest.raises(InvalidArgument, match=r"needs at least 4,\d\d\d examples at α_1 = 0.2"):
        EverlastingV1().sized_for(1_000)
    with pytest.raises(InvalidArgument, match=r"needs at least 52 examples to train one teacher"):
        EverlastingV2().sized_for(10)
    with pytest.raises(Unsupported, match=r"needs a sample of 15,142,073, got 5\. Lower teachers"):
        play(EverlastingV1(), script(Train(Sample([0.0], [0], [5]))), Figure1(), games=2, seed=1)


# --- the paper's constants --------------------------------------------------------------------------------


def test_the_printed_constants_of_v2_demand_what_the_notes_say() -> None:
    constants = Paper("v2").constants(alpha=0.06, beta=0.06, epsilon=0.9, delta=1e-5)
    assert constants.n == pytest.approx(6e14, rel=0.1)
    assert "labelled examples" in str(constants)


def test_the_printed_constants_of_v1_demand_more() -> None:
    one, two = (
        Paper(v).constants(alpha=0.06, beta=0.06, epsilon=0.9, delta=1e-5, tau=100.0) for v in ("v1", "v2")
    )
    assert one.n == pytest.approx(two.n / 2 / 0.03)
    assert one.halts == pytest.approx(64 * 0.03 * one.answers)
    assert two.halts is None


@pytest.mark.parametrize(("version", "tau", "power"), [("v1", 1.1e10, 3), ("v2", 50.0, 2)])
def test_n_is_as_printed_in_the_initial_input(version: str, tau: float, power: int) -> None:
    a, b, e, d = 0.05, 0.04, 0.5, 1e-6
    front = 8 * log(26 / a) + 4 * log(4 / b)
    spread = log((64 * log(26 / a) + 32 * log(4 / b)) / (e * a**2 * b * d))
    n = 8 * tau / (a**power * e**2) * front**2 * log(1 / d) * spread**2 * (3 + exp(e + 4))
    assert Paper(version).constants(alpha=a, beta=b, epsilon=e, delta=d).n == pytest.approx(n)


@pytest.mark.parametrize("bad", [{"alpha": 0.07}, {"beta": 0.0}, {"delta": 0.1}, {"epsilon": 1.1}])
def test_the_printed_constants_hold_in_the_theorems_range(bad: dict) -> None:
    good = {"alpha": 0.05, "beta": 0.05, "epsilon": 0.5, "delta": 1e-5}
    with pytest.raises(InvalidArgument, match="the theorem takes"):
        Paper("v2").constants(**(good | bad))


# --- games ----------------------------------------------------------------------------------------

TIED = Sample([0.5, 0.5], [0, 1], [40_000, 40_000])
SMALL_V1 = EverlastingV1(teachers=20_001, chunk=1, training_rate=0.5, rate=0.5, halts=3, rounds=1, answers=50)


def test_v1_halts_after_exactly_c_outcomes_top() -> None:
    asked = script(Train(TIED), *[Query(0.5)] * 4)
    played = play(SMALL_V1, asked, Figure1(), games=50, seed=1, record=True)
    assert played.view is not None
    halted = [reply.halted.all() for reply in played.view.replies[1:]]
    assert halted == [False, False, True, True]
    assert (played.view.replies[3].label == 1).all()  # ⊤ is answered as R is


def test_v1_does_not_halt_where_the_votes_are_clear() -> None:
    asked = script(Train(TIED), *[Query(0.0)] * 49)
    played = play(SMALL_V1, asked, Figure1(), games=50, seed=1)
    assert played.halted is not None
    assert not played.halted.any()


def test_v2_never_halts_and_answers_through_rounds() -> None:
    spec = EverlastingV2(teachers=9, chunk=1, training_rate=0.5, rate=0.5, answers=8)
    asked = script(Train(TIED), *[Query(0.5)] * 200)
    played = play(spec, asked, Figure1(), games=20, seed=1, record=True)
    assert played.halted is not None
    assert not played.halted.any()
    assert played.view is not None
    assert all((reply.label >= 0).all() for reply in played.view.replies[1:])


@pytest.mark.parametrize("spec", [EverlastingV1, EverlastingV2])
def test_the_last_round_ends_in_every_game_at_once(spec: type[GenericBBL]) -> None:
    learner = spec(teachers=3, chunk=1, training_rate=0.5, rate=0.5, answers=4, rounds=2)
    asked = script(Train(TIED), *[Query(0.0)] * (4 + 16 + 1))
    played = play(learner, asked, Figure1(), games=20, seed=1, record=True)
    assert played.view is not None
    assert not played.view.replies[-3].halted.all()
    assert played.view.replies[-2].halted.all()
    assert (played.view.replies[-1].label == -1).all()


def test_a_game_of_v1_that_has_halted_stays_halted_in_the_next_round() -> None:
    learner = EverlastingV1(
        teachers=20_001, chunk=1, training_rate=0.5, rate=0.5, halts=1, answers=8, alpha_1=0.2
    )
    x = np.where(np.arange(20) < 10, 0.5, 0.0)
    asked = script(Train(TIED), Query(x), *[Query(0.0)] * 9)
    played = play(learner, asked, Figure1(), games=20, seed=1, record=True)
    assert played.view is not None
    for reply in played.view.replies[1:]:
        assert reply.halted[:10].all()


def test_points_outside_the_domain_are_refused() -> None:
    learner = EverlastingV2(concepts=Thresholds((0, 1, 2)), teachers=9, chunk=1, training_rate=0.5)
    sample = Sample([0, 2], [0, 1], [50, 50])
    for x in (5, np.array([0, 1, 5, 2])):
        with pytest.raises(InvalidArgument, match="5"):
            play(learner, script(Train(sample), Query(x)), Figure1(), games=4, seed=1)
    with pytest.raises(InvalidArgument, match="7"):
        play(learner, script(Train(Sample([0, 7], [0, 1], [50, 50]))), Figure1(), games=4, seed=1)


# --- a reference in plain Python, one game --------------------------------------------------------


class Reference:
    """GenericBBL read off the listing, rows shuffled and thresholds compared one by one."""

    def __init__(self, spec: GenericBBL, rng: np.random.Generator) -> None:
        self.spec, self.rng, self.halted = spec, rng, False

    def train(self, sample: Sample) -> None:
        points, labels = sample.rows()
        first = self.spec.round(1)
        chosen = self.rng.permutation(len(points))[: first.examples]
        self.begin(1, [(float(points[i]), int(labels[i])) for i in chosen])

    def begin(self, index: int, examples: list[tuple[float, int]]) -> None:
        self.index, self.round, self.examples = index, self.spec.round(index), examples
        size = self.round.chunk
        chunks = [examples[t * size : (t + 1) * size] for t in range(self.round.teachers)]
        self.held = [self.best(chunk) for chunk in chunks]
        self.asked: list[float] = []
        self.tops = 0
        self.shift()

    def best(self, chunk: list[tuple[float, int]]) -> float:
        options = [*sorted(x for x, _ in chunk), np.inf]
        return min(options, key=lambda t: (sum((x >= t) != y for x, y in chunk), t))

    def shift(self) -> None:
        self.mu = self.rng.laplace(0, 2 / (self.round.noise * self.round.teachers))

    def predict(self, x: float) -> int:
        if len(self.asked) == self.round.answers:
            self.next_round()
        self.asked.append(float(x))
        vote = sum(x >= t for t in self.held) / self.round.teachers
        return self.answer(vote)

    def answer(self, vote: float) -> int:
        if isinstance(self.spec, EverlastingV2):
            return int(vote + self.rng.laplace(0, 1 / (self.round.teachers * self.round.noise)) >= 0.5)
        value = vote + self.rng.laplace(0, 6 / (self.round.noise * self.round.teachers))
        if value < 0.5 - self.round.alpha + self.mu:
            return 0
        if value > 0.5 + self.round.alpha - self.mu:
            return 1
        self.tops += 1
        self.halted = self.halted or self.tops == self.spec.halts  # type: ignore[attr-defined]
        self.shift()
        return 1

    def next_round(self) -> None:
        rate = self.spec.rate_run
        some = self.rng.permutation(len(self.examples))[: int(rate * len(self.examples))]
        labelled = [self.examples[i] for i in some]
        places = self.rng.permutation(len(self.asked))[: int(rate * len(self.asked))]
        queries = [self.asked[i] for i in places]
        options = [*sorted({x for x, _ in labelled} | set(queries)), np.inf]
        errors = np.array([sum((x >= t) != y for x, y in labelled) for t in options])
        weights = np.exp(-errors / 2)
        chosen = options[self.rng.choice(len(options), p=weights / weights.sum())]
        following = self.spec.round(self.index + 1)
        self.begin(self.index + 1, [(x, int(x >= chosen)) for x in queries[: following.examples]])


@attrs.frozen
class ReferenceLearner(GameLearner):
    name = "reference"
    protocols = ("Figure1",)
    spec: GenericBBL

    @property
    def claim(self):  # type: ignore[no-untyped-def]
        return self.spec.claim

    def sit(self, rng: np.random.Generator) -> Reference:
        return Reference(self.spec, rng)


SPREAD = Sample([0.0, 1.0, 2.0, 3.0], [0, 0, 1, 1], [20, 20, 20, 20])
ASKED = (1.0, 2.0, 3.0, 0.0, 2.5, 1.5, 3.0, 2.0)
SMALL = {"teachers": 40, "chunk": 1, "training_rate": 0.5, "rate": 0.75, "answers": 8, "noise": 1.0}
SPECS = [EverlastingV1(halts=4, **SMALL), EverlastingV2(**SMALL)]


def asks(games: int, rng: np.random.Generator) -> Moves:
    """One round, a challenge in its midst, then four queries of the next; the score spells the view."""
    yield Train(SPREAD)
    yield Query(0.0, 3.0)
    spelt = np.zeros(games)
    for place, x in enumerate((*ASKED[1:], 1.0, 2.0, 3.0)):
        reply = yield Query(x)
        if place in (1, 6, 7, 8, 9):
            spelt = 3 * spelt + np.where(reply.halted, 2, reply.label)
    return spelt


def views(learner: Learner, games: int, seed: int) -> np.ndarray:
    score = play(learner, Scripted(asks), Figure1(), games=games, seed=seed).score
    assert score is not None
    return score.astype(int)


def same_law(first: np.ndarray, second: np.ndarray) -> float:
    """p-value that two samples of views follow one law (chi-squared, rare views pooled)."""
    table = np.stack([np.bincount(v, minlength=3**5) for v in (first, second)])
    common = table.sum(axis=0) >= 50
    pooled = np.column_stack([table[:, common], table[:, ~common].sum(axis=1)])
    return float(stats.chi2_contingency(pooled[:, pooled.sum(axis=0) > 0]).pvalue)


# False alarms at 1e-7 a case; with 6,000 reference games against 100,000 a shift of 4 points in one view's
# probability is caught, as the second test shows.
@pytest.mark.statistical(rate=1e-7)
@pytest.mark.parametrize("spec", SPECS, ids=["v1", "v2"])
def test_whole_games_follow_the_reference(spec: GenericBBL) -> None:
    assert same_law(views(ReferenceLearner(spec), 6_000, 1), views(spec, 100_000, 2)) > 1e-7


@pytest.mark.parametrize(
    ("spec", "lie"),
    [
        (SPECS[0], {"noise": 0.7}),
        (SPECS[0], {"halts": 5}),
        (SPECS[1], {"noise": 0.7}),
        (SPECS[1], {"rate": 0.5}),
        (SPECS[1], {"teachers": 20}),
    ],
)
def test_a_reference_that_differs_is_noticed(spec: GenericBBL, lie: dict) -> None:
    other = attrs.evolve(spec, **lie)
    assert same_law(views(ReferenceLearner(spec), 6_000, 1), views(other, 100_000, 2)) < 1e-7


@pytest.mark.parametrize("spec", [EverlastingV1, EverlastingV2])
def test_finite_classes_play_through_rounds(spec: type[GenericBBL]) -> None:
    concepts = FiniteClass(np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 0, 1]], bool))
    learner = spec(concepts=concepts, teachers=9, chunk=1, training_rate=0.5, rate=0.5, answers=8)
    sample = Sample([0, 1, 2], [0, 1, 1], [20, 20, 20])
    asked = script(Train(sample), Query(0, 2), *[Query(i % 3) for i in range(60)])
    played = play(learner, asked, Figure1(), games=20, seed=1)
    assert played.rounds == 61


@pytest.mark.parametrize("games", [0, 1, 3])
@pytest.mark.parametrize("spec", SPECS, ids=["v1", "v2"])
def test_any_number_of_games(spec: GenericBBL, games: int) -> None:
    assert views(spec, games, 1).shape == (games,)
