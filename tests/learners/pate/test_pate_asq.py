"""pate-asq: output distribution, claim and costs, odometer, exact audits, refusals, conformance."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws.learner_laws import check_common_random_numbers
from support.simple_players import script
from support.statistical import check_mean, expect_rejection, statistical
from support.voting import TruthService, play_releases

from arena import Learner, Release, Sample, Train, Unsupported
from arena.concepts import Thresholds
from arena.privacy_curves import GaussianCurve
from arena.testing import check_learner
from audits.exact_loss import exact
from learners.pate.independent_answers import PateGaussian, sigma_of_step_1
from learners.pate.rules import PublicPoints
from learners.pate.student_learners import PateAsq, odometer
from learners.pate.students import DisagreementStudent, ForcedLabelStudent, learn
from learners.pate.teacher import Minimiser, Teacher

RATE = 1e-8
LINE = Minimiser(Thresholds(range(6)))
UNEVEN = Sample([0, 1, 2, 3, 5, 4], [0, 1, 0, 1, 1, 0], [3, 2, 2, 3, 2, 1])
SMALL = PateAsq(teacher=LINE, teachers=5, queries=4, epsilon=4.0)


@pytest.mark.parametrize(
    "learner",
    [
        PateAsq(),
        SMALL,
        attrs.evolve(SMALL, method="forced", teachers=3),
        PateAsq(
            teacher=Teacher.from_text("LogisticRegression:2"),
            public=PublicPoints([[0, 0], [0, 1], [1, 0], [1, 1]]),
            teachers=4,
        ),
    ],
    ids=["default", "small", "forced", "logistic"],
)
@pytest.mark.thorough
def test_it_conforms(learner: Learner) -> None:
    check_learner(learner, games=400)


def test_it_supports_common_random_numbers() -> None:
    check_common_random_numbers(SMALL, UNEVEN, Sample([5.0], [0], [13]))


def test_the_method_follows_the_type_of_student() -> None:
    assert SMALL.active_student == DisagreementStudent(concepts=LINE.concepts)
    assert attrs.evolve(SMALL, method="forced", constant=2.0).active_student == ForcedLabelStudent(
        student=LINE, constant=2.0
    )
    logistic = Teacher.from_text("LogisticRegression:2")
    learner = PateAsq(teacher=logistic, public=PublicPoints([[0, 1]]))
    assert learner.active_student == ForcedLabelStudent(student=logistic)
    with pytest.raises(
        Unsupported, match="a version space can be enumerated only for a concept class"
    ) as refused:
        _ = attrs.evolve(learner, method="disagreement").active_student
    assert str(refused.value).endswith("Set method to forced.")


def test_the_stream_is_a_public_order_of_the_public_points() -> None:
    assert sorted(SMALL.stream) == list(range(6))
    assert list(SMALL.stream) == list(attrs.evolve(SMALL, epsilon=1.0).stream)
    assert any(list(SMALL.stream) != list(attrs.evolve(SMALL, split=seed).stream) for seed in range(1, 5))


def test_the_distribution_weighs_each_sequence_of_answers() -> None:
    """By a separate recursion, one answer at a time."""
    student, stream = SMALL.active_student, SMALL.stream
    law_of_answers = SMALL.aggregator_learner.law(UNEVEN)
    found: dict[float, float] = {}
    for string in range(16):
        bits = iter(f"{string:04b}")
        service = TruthService(lambda x, bits=bits: np.array([int(next(bits))]), most=4)
        (lesson,) = learn(student, service, stream)
        told = [law_of_answers.step(np.ones((1, 1)), stream[[p]])[:, 0, 0] for p in lesson.asked]
        chance = math.prod(p[y] for p, y in zip(told, lesson.answers, strict=True))
        # Bits that were not asked for are shared out among the strings that go on with them.
        chance /= 2 ** (4 - len(lesson.asked))
        value = float(lesson.rule.concept)
        found[value] = found.get(value, 0.0) + chance
    law = SMALL.law(UNEVEN)
    assert dict(zip(law.values.tolist(), law.probabilities.tolist(), strict=True)) == pytest.approx(found)


def test_the_claim_is_that_of_the_largest_number_of_answers() -> None:
    assert SMALL.claim == PateGaussian(teacher=LINE, teachers=5, queries=4, epsilon=4.0).claim
    assert PateAsq().aggregator_learner.queries == 5  # three in ten of 16


def test_the_odometer_is_above_the_cost_of_as_many_answers() -> None:
    sigma = SMALL.aggregator_learner.effective_sigma
    spent = [SMALL.odometer(answers) for answers in range(5)]
    costs = [GaussianCurve(c**0.5 / sigma).epsilon(1e-5) for c in range(1, 5)]
    assert costs[-1] == pytest.approx(4.0)
    assert spent == sorted(spent)
    assert all(odometer > cost for odometer, cost in zip(spent, [0.0, *costs], strict=True))


@pytest.mark.parametrize("method", ["disagreement", "forced"])
@pytest.mark.thorough
def test_no_replaced_example_refutes_the_claim(method: str) -> None:
    learner = PateAsq(teacher=LINE, teachers=3, queries=4, epsilon=1.0, delta=1e-2, method=method)
    for place, point, label in [(0, 5, 0), (1, 0, 0), (2, 3, 1), (3, 4, 0), (4, 1, 1)]:
        swap = script(Train(UNEVEN, UNEVEN.replace_one(place, point, label)))
        assert not exact(learner, swap, Release()).refuted


def test_an_exhausted_budget_leaves_the_rule_so_far() -> None:
    """With only two clear answers, at the ends of a line, the rule agrees with both."""
    sample = Sample([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1], [50] * 6)
    value = play_releases(attrs.evolve(SMALL, queries=1, epsilon=50.0, teachers=51), sample, games=4)
    first = SMALL.stream[0]
    assert (value.concept_class.labels(value.concepts, [first]) == (first >= 3)).all()


@pytest.mark.parametrize("only", [0, 1])
def test_one_class_only(only: int) -> None:
    learner = attrs.evolve(SMALL, epsilon=50.0, queries=6)
    value = play_releases(learner, Sample([0, 5], [only, only], [20, 20]), games=5)
    assert (value.concept_class.labels(value.concepts, np.arange(6)) == only).mean() >= 5 / 6


DELTAS = st.floats(1e-9, 0.2)


@given(st.integers(1, 500), st.floats(0.1, 5), DELTAS)
def test_the_odometer_ends_at_the_zcdp_bound(most: int, epsilon: float, delta: float) -> None:
    sigma = sigma_of_step_1(epsilon=epsilon, delta=delta, answers=most)
    read = [odometer(answers, most=most, sigma=sigma, delta=delta) for answers in (0, most // 2, most)]
    assert read == sorted(read)
    assert read[2] == pytest.approx(epsilon)
    assert read[0] < epsilon / 2


def losses(rng: np.random.Generator, *, runs: int, most: int, sigma: float) -> np.ndarray:
    """(runs, most): the log ratio after each answer, on S, if every count is 1 more on S than on S'."""
    steps = rng.standard_normal((runs, most)) / sigma + 1 / (2 * sigma**2)
    return np.cumsum(steps, axis=1)


MOST, SIGMA, DELTA, RUNS = 20, 4.0, 0.05, 200_000


def excess(read: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """For each run that stops as soon as its loss exceeds the meter, and releases where: the part
    (1 − e^(ε(c) − L))⁺ of its chance on S that e^ε(c) times its chance on S' does not cover. Its mean is the
    δ that the meter needs against this student."""
    above = losses > read
    stop = np.where(above.any(axis=1), above.argmax(axis=1), losses.shape[1] - 1)
    rows = np.arange(len(losses))
    return np.maximum(-np.expm1(read[stop] - losses[rows, stop]), 0.0)


@statistical(rate=2 * RATE)
def test_the_odometer_holds_and_the_ex_post_figure_does_not(rng) -> None:
    """The student stops as soon as its loss exceeds the meter."""
    told = losses(rng, runs=RUNS, most=MOST, sigma=SIGMA)
    fixed = np.array([GaussianCurve(math.sqrt(c) / SIGMA).epsilon(DELTA) for c in range(1, MOST + 1)])
    safe = np.array([odometer(c, most=MOST, sigma=SIGMA, delta=DELTA) for c in range(1, MOST + 1)])
    assert excess(safe, told).mean() < DELTA / 2
    with expect_rejection():
        check_mean(excess(fixed, told), DELTA, bounds=(0, 1), rate=RATE, effect=0.02, power=1 - RATE)
    assert excess(fixed, told).mean() > DELTA


@statistical(rate=2 * RATE)
def test_the_loss_exceeds_the_odometer_with_probability_at_most_delta(rng) -> None:
    told = losses(rng, runs=RUNS, most=MOST, sigma=SIGMA)
    safe = np.array([odometer(c, most=MOST, sigma=SIGMA, delta=DELTA) for c in range(1, MOST + 1)])
    crossed = (told > safe).any(axis=1)
    with expect_rejection():
        check_mean(crossed, DELTA, bounds=(0, 1), rate=RATE, effect=0.02, power=1 - RATE)
    assert 0.2 * DELTA < crossed.mean() < DELTA  # Ville's bound, and not far below it
