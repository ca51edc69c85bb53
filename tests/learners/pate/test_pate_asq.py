"""pate-asq: its law, what it claims and spends, exact audits, refusals, conformance."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from support.common_random_numbers import check_common_random_numbers
from support.players import script
from support.services import PaysForOneAnswer, Told
from support.statistical import check_counts, expect_rejection, statistical

from arena import InvalidArgument, Learner, Release, Sample, Train, Training, Unsupported
from arena.concepts import FiniteClass, Thresholds
from arena.testing import check_learner
from audits.exact import exact
from learners.mechanisms.noise.gaussian_noise import gaussian_delta
from learners.pate.ensemble import Minimiser, Teacher
from learners.pate.pate_asq import PateAsq
from learners.pate.pate_gaussian import PateGaussian
from learners.pate.students import Disagreement, ForcedLabel, PublicPoints, learn

RATE = 1e-8
LINE = Minimiser(Thresholds(range(6)))
CONSTANT = Minimiser(FiniteClass([[0] * 14, [1] * 14]))
UNEVEN = Sample([0, 1, 2, 3, 5, 4], [0, 1, 0, 1, 1, 0], [3, 2, 2, 3, 2, 1])
SMALL = PateAsq(teacher=LINE, teachers=5, queries=4, epsilon=4.0)


def released(learner: Learner, sample: Sample, *, games: int, seed: int = 0):
    training = Training.of([sample], np.zeros(games, int))
    return learner.start(games, np.random.Generator(np.random.SFC64(seed))).release(training)


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
def test_it_conforms(learner: Learner) -> None:
    check_learner(learner, games=400)


def test_it_is_in_step() -> None:
    check_common_random_numbers(SMALL, UNEVEN, Sample([5.0], [0], [13]))


def test_the_student_is_by_the_kind_of_the_teachers_unless_set() -> None:
    assert SMALL.method_run == Disagreement(concepts=LINE.concepts)
    assert attrs.evolve(SMALL, method="forced", constant=2.0).method_run == ForcedLabel(
        student=LINE, constant=2.0
    )
    logistic = Teacher.from_text("LogisticRegression:2")
    learner = PateAsq(teacher=logistic, public=PublicPoints([[0, 1]]))
    assert learner.method_run == ForcedLabel(student=logistic)
    with pytest.raises(
        Unsupported, match="a version space is written out for concept classes only"
    ) as refused:
        _ = attrs.evolve(learner, method="disagreement").method_run
    assert str(refused.value).endswith("Set method to forced.")


def test_the_stream_is_a_public_order_of_the_public_points() -> None:
    assert sorted(SMALL.stream) == list(range(6))
    assert list(SMALL.stream) == list(attrs.evolve(SMALL, epsilon=1.0).stream)
    assert any(list(SMALL.stream) != list(attrs.evolve(SMALL, split=seed).stream) for seed in range(1, 5))


# --- the law ------------------------------------------------------------------------------------------------


def counts(learner: PateAsq) -> np.ndarray:
    found = released(learner, UNEVEN, games=8_000).concepts
    return np.array([(found == value).sum() for value in SMALL.law(UNEVEN).values])


@statistical(rate=2.1 * RATE)
def test_concepts_come_as_often_as_the_law_says() -> None:
    law = SMALL.law(UNEVEN)
    check_counts(counts(SMALL), law.probabilities, rate=RATE, effect=0.08, power=1 - 1e-8)
    with expect_rejection():
        louder = counts(attrs.evolve(SMALL, epsilon=1.5))
        check_counts(louder, law.probabilities, rate=RATE, effect=0.08, power=1 - 1e-8)


def test_the_law_weighs_each_string_of_answers() -> None:
    """One answer at a time, by a walk of its own."""
    student, stream = SMALL.method_run, SMALL.stream
    law_of_answers = SMALL.aggregator_run.law(UNEVEN)
    found: dict[float, float] = {}
    for string in range(16):
        bits = iter(f"{string:04b}")
        service = Told(lambda x, bits=bits: np.array([int(next(bits))]), most=4)
        (lesson,) = learn(student, service, stream)
        told = [law_of_answers.step(np.ones((1, 1)), stream[[p]])[:, 0, 0] for p in lesson.asked]
        chance = math.prod(p[y] for p, y in zip(told, lesson.answers, strict=True))
        # Bits that were not asked for are shared out among the strings that go on with them.
        chance /= 2 ** (4 - len(lesson.asked))
        value = float(lesson.rule.concept)
        found[value] = found.get(value, 0.0) + chance
    law = SMALL.law(UNEVEN)
    assert dict(zip(law.values.tolist(), law.probabilities.tolist(), strict=True)) == pytest.approx(found)


def test_a_law_of_too_many_strings() -> None:
    with pytest.raises(Unsupported, match="at most 4,096 strings of answers, got '13 answers'"):
        attrs.evolve(SMALL, queries=13).law(UNEVEN)


# --- the claim, and what is spent ---------------------------------------------------------------------------


def test_the_claim_is_that_of_all_answers_there_are_to_be_had() -> None:
    assert SMALL.claim == PateGaussian(teacher=LINE, teachers=5, queries=4, epsilon=4.0).claim
    assert PateAsq().aggregator_run.queries == 5  # three in ten of 16


def test_what_was_spent() -> None:
    sigma = SMALL.aggregator_run.sigma_run
    assert SMALL.spent(0) == 0.0
    assert SMALL.spent(4) == pytest.approx(4.0)
    assert gaussian_delta(epsilon=SMALL.spent(2), sigma=sigma, sensitivity=2**0.5) == pytest.approx(1e-5)
    assert SMALL.odometer(0) < SMALL.odometer(2) < SMALL.odometer(4)
    assert all(SMALL.odometer(c) > SMALL.spent(c) for c in range(5))


@attrs.frozen
class OneAnswerPaid(PaysForOneAnswer, PateAsq):
    """The slip: noise for one answer, as if no more were asked for."""

    name = "one-answer-asked-for"


@pytest.mark.parametrize("kind", [PateAsq, OneAnswerPaid])
def test_an_exact_audit_refutes_the_slip_alone(kind: type[PateAsq]) -> None:
    learner = kind(teacher=CONSTANT, teachers=5, queries=12, epsilon=0.5, delta=1e-3, constant=5.0)
    swap = script(Train(Sample([0] * 5, [0, 0, 1, 1, 0]), Sample([0] * 5, [0, 0, 1, 1, 1])))
    assert exact(learner, swap, Release()).refuted == (kind is OneAnswerPaid)


@pytest.mark.parametrize("method", ["disagreement", "forced"])
def test_no_replaced_example_refutes_the_claim(method: str) -> None:
    learner = PateAsq(teacher=LINE, teachers=3, queries=4, epsilon=1.0, delta=1e-2, method=method)
    for place, point, label in [(0, 5, 0), (1, 0, 0), (2, 3, 1), (3, 4, 0), (4, 1, 1)]:
        swap = script(Train(UNEVEN, UNEVEN.replace_one(place, point, label)))
        assert not exact(learner, swap, Release()).refuted


# --- budgets and refusals -----------------------------------------------------------------------------------


def test_a_spent_budget_leaves_what_was_learned() -> None:
    """Two clear answers about the ends of a line, and no more: the rule agrees with both."""
    sample = Sample([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 1], [50] * 6)
    value = released(attrs.evolve(SMALL, queries=1, epsilon=50.0, teachers=51), sample, games=4)
    first = SMALL.stream[0]
    assert (value.concept_class.labels(value.concepts, [first]) == (first >= 3)).all()


@pytest.mark.parametrize("only", [0, 1])
def test_one_class_only(only: int) -> None:
    learner = attrs.evolve(SMALL, epsilon=50.0, queries=6)
    value = released(learner, Sample([0, 5], [only, only], [20, 20]), games=5)
    assert (value.concept_class.labels(value.concepts, np.arange(6)) == only).mean() >= 5 / 6


@pytest.mark.parametrize(
    ("setting", "value"), [("queries", 0), ("constant", 0.0), ("theta", 0.5), ("method", "guess")]
)
def test_bad_settings(setting: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=setting):
        PateAsq(**{setting: value})
