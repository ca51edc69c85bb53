"""pate-psq: output distribution, claim, exact audits, refusals, conformance."""

from __future__ import annotations

import contextlib
import math
import re
from itertools import product
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr
from support.simple_players import script
from support.statistical import check_counts, expect_rejection, statistical
from support.voting import PaysForOneAnswer, play_releases

from arena import InvalidArgument, Learner, Release, Sample, Train, Unsupported
from arena.concepts import FiniteClass, Points, Thresholds
from arena.testing import check_learner
from audits.exact_loss import exact
from learners.pate.independent_answers import PateGaussian
from learners.pate.logistic import LinearRules
from learners.pate.rules import PublicPoints
from learners.pate.screening import PateSvt
from learners.pate.student_learners import PateAsq, PatePsq
from learners.pate.teacher import Minimiser, Teacher
from learners.pate.voters import train_ensemble

RATE = 1e-8
LINE = Minimiser(Thresholds(range(4)))
UNEVEN = Sample([0, 1, 2, 3, 1], [0, 1, 0, 1, 0], [3, 2, 2, 3, 1])
# Either concept says the same everywhere, so that a replaced example may turn every vote of its teacher.
CONSTANT = Minimiser(FiniteClass([[0] * 14, [1] * 14]))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [
        PatePsq(),
        PatePsq(teacher=LINE, teachers=5, epsilon=3.0),
        PatePsq(teacher=LINE, teachers=201, epsilon=3.0, aggregator="svt", calibration="tight", unstable=2),
        PatePsq(teacher=Minimiser(Thresholds()), public=PublicPoints([0.2, 0.5, 0.9]), teachers=3),
        PatePsq(
            teacher=Teacher.from_text("LogisticRegression:2"),
            public=PublicPoints([[0, 0], [0, 1], [1, 0], [1, 1]]),
            teachers=4,
        ),
    ],
    ids=["default", "small", "svt", "line", "logistic"],
)
def test_it_conforms(learner: Learner) -> None:
    check_learner(learner, games=500)


# --- releases -----------------------------------------------------------------------------------------------


def plain_law(learner: PatePsq, sample: Sample) -> dict[float, float]:
    """By enumeration of all sequences of answers, and all concepts for each."""
    teacher = learner.teacher
    votes = [
        int(train_ensemble(teacher, sample, learner.teachers, 0).ones(np.array([x]))[0])
        for x in learner.points
    ]
    sigma = learner.aggregator_learner.effective_sigma
    ones = [float(ndtr((count - learner.teachers / 2) / sigma)) for count in votes]
    concepts = teacher.concepts
    found: dict[float, float] = {}
    for answers in product([0, 1], repeat=len(votes)):
        chance = math.prod(p if y else 1 - p for p, y in zip(ones, answers, strict=True))
        best = float(concepts.erm(learner.points, np.array(answers)))
        found[best] = found.get(best, 0.0) + chance
    return found


@given(st.integers(1, 6), st.floats(0.2, 5), st.integers(0, 99))
@settings(max_examples=20)
def test_the_distribution_is_that_of_all_sequences_of_answers(
    teachers: int, epsilon: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sample = Sample(rng.integers(0, 4, 8), rng.integers(0, 2, 8))
    learner = PatePsq(teacher=LINE, teachers=teachers, epsilon=epsilon)
    law, plain = learner.law(sample), plain_law(learner, sample)
    chances = dict(zip(law.values.tolist(), law.probabilities.tolist(), strict=True))
    assert chances == pytest.approx(plain)


SMALL = PatePsq(teacher=LINE, teachers=5, epsilon=4.0)


def test_a_clear_sample_is_learned() -> None:
    sample = Sample([1, 5, 8, 9, 12, 16], [0, 0, 0, 1, 1, 1], [200] * 6)
    value = play_releases(PatePsq(epsilon=8.0, teachers=51), sample, games=20)
    domain = np.arange(1.0, 17)
    assert (value.concept_class.labels(value.concepts, domain) == (domain >= 9)).mean() > 0.95


def test_public_points_may_be_repeated_and_in_any_order() -> None:
    some = attrs.evolve(SMALL, public=PublicPoints([3, 0, 3, 1]))
    assert len(some.points) == some.aggregator_learner.queries == 4
    assert set(play_releases(some, UNEVEN, games=50).concepts.tolist()) <= {*range(4), math.inf}


def test_the_student_may_have_another_type_than_the_teachers() -> None:
    learner = attrs.evolve(SMALL, student=Minimiser(Points(range(4))))
    value = play_releases(learner, UNEVEN, games=10)
    assert value.concept_class == Points(range(4))
    assert learner.law(UNEVEN).probabilities.sum() == pytest.approx(1)


def test_a_linear_student_releases_its_weights(rng) -> None:
    points = rng.standard_normal((300, 2))
    sample = Sample(points, points[:, 0] > 0)
    learner = PatePsq(
        teacher=Teacher.from_text("DecisionTreeClassifier(max_depth=2):2"),
        student=Teacher.from_text("LogisticRegression:2"),
        teachers=20,
        public=PublicPoints(rng.standard_normal((40, 2))),
        epsilon=20.0,
    )
    value = play_releases(learner, sample, games=3)
    assert value.concept_class == LinearRules(2)
    assert value.concepts.shape == (3, 3)
    fresh = rng.standard_normal((500, 2))
    assert (value.concept_class.labels(value.concepts, fresh) == (fresh[:, 0] > 0)).mean() > 0.8


ACTIVE = PateAsq(teacher=Minimiser(Thresholds(range(6))), teachers=5, queries=4, epsilon=4.0)
OF_SIX = Sample([0, 1, 2, 3, 5, 4], [0, 1, 0, 1, 1, 0], [3, 2, 2, 3, 2, 1])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "sample", "other", "games", "effect"),
    [(SMALL, UNEVEN, 3.5, 200_000, 0.0125), (ACTIVE, OF_SIX, 1.5, 8_000, 0.08)],
    ids=["passive", "active"],
)
@statistical(rate=2.1 * RATE)
def test_concepts_follow_the_distribution(
    learner: Any, sample: Sample, other: float, games: int, effect: float
) -> None:
    law = learner.law(sample)

    def check(player: Learner) -> None:
        found = play_releases(player, sample, games=games).concepts
        counts = np.array([(found == value).sum() for value in law.values])
        check_counts(counts, law.probabilities, rate=RATE, effect=effect, power=1 - 1e-8)

    check(learner)
    with expect_rejection():
        check(attrs.evolve(learner, epsilon=other))


# --- the claim ----------------------------------------------------------------------------------------------


def test_the_claim_is_that_of_as_many_answers_as_there_are_public_points() -> None:
    assert SMALL.claim == PateGaussian(teacher=LINE, teachers=5, queries=4, epsilon=4.0).claim


SCREENED = PatePsq(teacher=LINE, teachers=61, epsilon=8.0, delta=0.1, aggregator="svt", calibration="tight")


def test_the_sparse_vector_may_label_the_public_points() -> None:
    service = SCREENED.aggregator_learner
    assert service == PateSvt(
        teacher=LINE, teachers=61, queries=4, epsilon=8.0, delta=0.1, unstable=3, calibration="tight"
    )
    assert SCREENED.claim == service.claim
    assert not SCREENED.common_random_numbers
    clear = Sample([0, 1, 2, 3], [0, 0, 1, 1], [100] * 4)
    assert (play_releases(SCREENED, clear, games=200).concepts == 2).mean() > 0.9
    with pytest.raises(InvalidArgument, match="Set teachers to"):
        _ = attrs.evolve(SCREENED, calibration="printed", epsilon=1.0).claim


@pytest.mark.thorough
@statistical(rate=2.1 * RATE)
def test_concepts_after_the_sparse_vector_follow_the_distribution() -> None:
    sample = Sample([0, 1, 2, 3], [0, 1, 0, 1], [40, 60, 50, 70])
    law = SCREENED.law(sample)
    for spec, fine in ((SCREENED, True), (attrs.evolve(SCREENED, unstable=1), False)):
        found = play_releases(spec, sample, games=300_000).concepts
        counted = np.array([(found == value).sum() for value in law.values])
        with contextlib.nullcontext() if fine else expect_rejection():
            check_counts(counted, law.probabilities, rate=RATE, effect=0.0125, power=1 - 1e-8)


@pytest.mark.parametrize("unstable", [1, 3])
def test_an_exact_audit_does_not_refute_it_with_the_sparse_vector(unstable: int) -> None:
    learner = attrs.evolve(SCREENED, unstable=unstable)
    labels = np.arange(61) % 2
    swap = script(Train(Sample([0] * 61, labels), Sample([0] * 61, [1, *labels[1:]])))
    assert not exact(learner, swap, Release()).refuted


@attrs.frozen
class OneAnswerPaid(PaysForOneAnswer, PatePsq):
    """The slip: noise for one answer, although every public point needs one."""

    name = "one-answer-paid"


@attrs.frozen
class OneAnswerAskedFor(PaysForOneAnswer, PateAsq):
    """The slip: noise for one answer only."""

    name = "one-answer-asked-for"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "epsilon"),
    [
        *((kind, epsilon) for kind in (PatePsq, OneAnswerPaid) for epsilon in (0.5, 2.0)),
        (PateAsq, 0.5),
        (OneAnswerAskedFor, 0.5),
    ],
)
def test_an_exact_audit_refutes_the_slip_alone(kind: type[Any], epsilon: float) -> None:
    more = {"queries": 12, "constant": 5.0} if issubclass(kind, PateAsq) else {}
    learner = kind(teacher=CONSTANT, teachers=5, epsilon=epsilon, delta=1e-3, **more)
    swap = script(Train(Sample([0] * 5, [0, 0, 1, 1, 0]), Sample([0] * 5, [0, 0, 1, 1, 1])))
    assert exact(learner, swap, Release()).refuted == issubclass(kind, PaysForOneAnswer)


@pytest.mark.thorough
@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("kind", [LINE, Minimiser(Points(range(4)))])
def test_no_replaced_example_refutes_the_claim(kind: Minimiser, place: int) -> None:
    learner = PatePsq(teacher=kind, teachers=3, epsilon=1.0, delta=1e-2)
    for point, label in product(range(4), (0, 1)):
        neighbour = UNEVEN.replace_one(place, point, label)
        if neighbour.differences(UNEVEN):
            assert not exact(learner, script(Train(UNEVEN, neighbour)), Release()).refuted


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"teacher": Minimiser(Thresholds(), "thresholds")},
            Unsupported,
            "pate-psq needs public points, since thresholds has no finite domain. Set public: in Python "
            "PublicPoints(points), or a file with a point on each line.",
        ),
        ({"public": PublicPoints([7])}, InvalidArgument, "7"),
        (
            {"public": PublicPoints([[1, 2]])},
            InvalidArgument,
            r"must have the same shape, \(\), got \(\(2,\), \(\)\)",
        ),
        (
            {"student": Teacher.from_text("LogisticRegression:2")},
            InvalidArgument,
            r"teachers, student and public points must have the same shape, \(\), got",
        ),
    ],
)
def test_points_that_do_not_fit(changes: dict, error: type[Exception], message: str) -> None:
    learner = attrs.evolve(SMALL, **changes)
    with pytest.raises(error, match=message if error is InvalidArgument else re.escape(message)):
        _ = learner.claim


def test_a_distribution_with_too_many_sequences_is_refused() -> None:
    sample = Sample([1, 16], [0, 1], [60, 60])
    with pytest.raises(Unsupported, match="at most 16,384 sequences of answers") as refused:
        PatePsq().law(sample)
    assert str(refused.value).endswith("Audit it by playing games, or give fewer public points.")
    vectors = PatePsq(teacher=Teacher.from_text("LogisticRegression:1"), public=PublicPoints([[0], [1]]))
    with pytest.raises(
        Unsupported, match="pate-psq has an exact output distribution only if concepts are numbers"
    ):
        vectors.law(Sample([[0], [1]], [0, 1], [60, 60]))
