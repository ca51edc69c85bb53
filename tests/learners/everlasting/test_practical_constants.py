"""Practical constants: that they are fitting, that what is chosen stays, and what they claim."""

from __future__ import annotations

from math import log

import attrs
import numpy as np
import pytest
from support.statistical import check_counts, expect_rejection, statistical

from arena import ERROR, InvalidArgument
from arena.concepts import Boxes, ConceptClass, Halfplanes, RealIntervals, Stumps, Thresholds
from learners.everlasting.bbl_round import ITERATIONS, paper_constants, practical_chunk
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV1, EverlastingV2

ALL = [EverlastingV1(), EverlastingV2(), EverlastingCounter(), EverlastingFresh()]


@pytest.mark.parametrize("rounds", [1, 3, 5])
@pytest.mark.parametrize("spec", ALL, ids=lambda spec: spec.name)
def test_every_round_has_what_it_needs(spec: GenericBBL, rounds: int) -> None:
    found = spec.with_practical_constants(rounds=rounds)
    for index in range(1, rounds + 1):
        run = found.round(index)
        assert run.teachers == found.teachers * 2 ** (index - 1)  # answers feed as many as are wished
        noise = 6 if spec.name == "everlasting-v1" else 1
        allowed = 1 / 8 if spec.name == "everlasting-v1" else 1 / 16
        chance = run.answers * np.exp(-allowed * run.teachers * run.noise / noise)
        assert chance <= run.beta * (1 + 1e-9)
    assert found.sample_size == found.teachers * found.chunk
    assert 0 < found.noise <= 1


def test_what_is_kept_stays() -> None:
    spec = EverlastingV2(teachers=5_000, alpha_1=0.01, rate=0.5)
    found = spec.with_practical_constants(keep={"teachers", "alpha_1", "rate"})
    assert (found.teachers, found.alpha_1, found.rate) == (5_000, 0.01, 0.5)
    assert found.chunk == practical_chunk(0.01, 1)
    few = EverlastingV2().with_practical_constants(keep=())
    assert found.noise < few.noise  # more teachers need less ε′ for the same noise
    assert found.answers is None


def test_claims_are_what_is_run() -> None:
    v2 = EverlastingV2().with_practical_constants()
    assert 1e4 < v2.claim.epsilon < 1e6
    more = EverlastingV2(teachers=10**6).with_practical_constants(keep={"teachers"})
    assert 10 < more.claim.epsilon < 1_000  # falls as the root of T
    assert EverlastingV1().with_practical_constants().claim.empty  # the gap needs thousands of teachers
    counted = EverlastingCounter().with_practical_constants()
    assert counted.claim.epsilon < v2.claim.epsilon / 2
    spec = EverlastingV2(agnostic=True).with_practical_constants()
    assert spec.agnostic


def test_what_one_nat_would_take() -> None:
    """The T_1 with which v2's answers of round 1 cost 1 nat, with R_1 = 4λT_1 and ε′ = 16·ln(R/β)/T."""
    teachers = 1.0
    for _ in range(ITERATIONS):
        noise = 16 * log(max(372 * teachers, 2.0) / 0.03)
        teachers = 2 * 372 * log(2e5) * noise**2
    noise = 16 * log(372 * teachers / 0.03) / teachers
    assert np.sqrt(2 * 372 * teachers * log(2e5)) * noise == pytest.approx(1, rel=1e-6)
    assert 2e9 < teachers < 3e9


@pytest.mark.parametrize("concepts", [Thresholds(), RealIntervals(), Boxes(2)], ids=str)
@statistical(rate=1e-7)
def test_a_teacher_errs_more_with_a_chance_of_one_in_sixteen(
    concepts: ConceptClass, rng: np.random.Generator
) -> None:
    """To leading order, where errors are sums of gaps: ERM takes the least concept, within the target."""
    games, alpha = 20_000, 0.02
    chunk = practical_chunk(alpha, concepts.vc_dimension)
    bad = 0
    for _ in range(50):
        target, held = _train_teachers(concepts, chunk, games // 50, rng)
        bad += int(np.count_nonzero(_mass(target) - _mass(held) > alpha))
    check_counts([bad, games - bad], [1 / 16, 15 / 16], rate=4e-8, effect=0.02, power=0.9999)
    with expect_rejection():
        check_counts([bad, games - bad], [1 / 10, 9 / 10], rate=1e-9, effect=0.03, power=1 - 3e-8)


@pytest.mark.parametrize("concepts", [Stumps(3), Halfplanes()], ids=str)
def test_a_teacher_of_another_class_errs_more_no_more_often(
    concepts: ConceptClass, rng: np.random.Generator
) -> None:
    """A tenth of it is seen: a seed that is fixed, and a wide margin."""
    games, alpha = 1_000, 0.1
    target, held = _train_teachers(concepts, practical_chunk(alpha, concepts.vc_dimension), games, rng)
    tested = concepts.draw_points(rng, 4_000)
    wrong = concepts.labels(held, tested) != concepts.labels(target, tested)
    assert np.mean(wrong.mean(axis=1) > alpha) <= 1 / 16


def _train_teachers(
    concepts: ConceptClass, chunk: int, games: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """A target (1, ...), and teachers (games, ...), each trained on a chunk of examples that it labels."""
    target = concepts.draw_concept(rng)[None]
    points = concepts.draw_points(rng, games * chunk)
    labels = concepts.labels(target, points)[0]
    held = concepts.erm(points.reshape(games, chunk, *points.shape[1:]), labels.reshape(games, chunk))
    return target, held


def _mass(concepts: np.ndarray) -> np.ndarray:
    """The part of the unit cube that thresholds (n,), or intervals and boxes (n, 2d), label 1."""
    if concepts.ndim == 1:
        return 1 - np.minimum(concepts, 1)
    low, high = np.split(concepts, 2, axis=1)
    return np.where(low[:, 0] <= high[:, 0], np.prod(high - low, axis=1), 0)


# --- what theorems promise ----------------------------------------------------------------------------------


def test_a_bound_is_measured_against_unless_the_sizes_are_printed() -> None:
    bound = EverlastingV2().with_practical_constants().bound(3)
    assert bound is not None
    assert (bound.of, bound.at_most, bound.beta, bound.promised) == (ERROR, 0.24, 0.24, False)
    first = EverlastingV1().with_practical_constants().bound(3)
    assert first is not None
    assert (first.at_most, first.beta) == (pytest.approx(0.36), 0.24)
    assert EverlastingV2().bound(3) is None  # α_1 = 0.2
    assert EverlastingV2(alpha_1=1 / 32).bound(1) is None


def test_the_printed_sizes_of_v2_promise_nothing_for_their_noise() -> None:
    printed = paper_constants("v2", alpha=0.06, beta=0.06, epsilon=0.9, delta=1e-5)
    sizes = {"chunk": 2 * int(printed.chunk), "teachers": 2 * int(printed.teachers)}
    spec = EverlastingV2(
        epsilon=0.9, alpha_1=0.03, beta_1=0.03, answers=2 * int(printed.answers), rounds=1, **sizes
    )
    bound = spec.bound(1)
    assert bound is not None
    assert not bound.promised
    loud = attrs.evolve(spec, noise=1.0)
    assert loud.bound(1).promised  # type: ignore[union-attr]
    assert not attrs.evolve(loud, chunk=100).bound(1).promised  # type: ignore[union-attr]
    assert not attrs.evolve(loud, delta=0.1).bound(1).promised  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["alpha", "beta", "delta"])
def test_the_theorem_takes_no_more_than_a_sixteenth(name: str) -> None:
    with pytest.raises(InvalidArgument, match=rf"the theorem requires {name} in \(0, 1/16\), got 0.0625"):
        paper_constants("v2", **{"alpha": 0.06, "beta": 0.06, "delta": 1e-5, "epsilon": 1.0, name: 1 / 16})
