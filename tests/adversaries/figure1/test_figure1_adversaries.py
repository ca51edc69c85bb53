"""The adversaries of Figure 1: what they ask, what they find, and that they stay within the rules."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.players.simple_players import Echo

from adversaries.common.training_samples import build_tied_sample, swap_nearest_label
from adversaries.figure1.base import find_vote_points
from adversaries.figure1.halt_counter import HaltCounter, TrainingSwap
from adversaries.figure1.query_swap import QuerySwap
from adversaries.figure1.reconstruct import Reconstruct
from arena import Adversary, Figure1, InvalidArgument, Learner, Sample, Unsupported, play
from arena.concepts import FiniteClass, Thresholds
from arena.engine import Played
from arena.testing import check_adversary
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.predictors.static_erm import StaticErm
from learners.predictors.vote_predictors import BetweenThresholdsPredictor

V1 = EverlastingV1()
V2 = EverlastingV2(teachers=101, answers=2_000)
LEARNERS: list[Learner] = [V1, V2, BetweenThresholdsPredictor(), StaticErm()]
KINDS: list[type[Adversary]] = [HaltCounter, TrainingSwap, QuerySwap, Reconstruct]


def by_world(played: Played) -> tuple[np.ndarray, np.ndarray]:
    assert played.score is not None
    return played.score[~played.worlds], played.score[played.worlds]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_adversary_conforms_against_every_learner(kind: type[Adversary], learner: Learner) -> None:
    settings = {"after": 10} if kind is QuerySwap and learner is V1 else {}
    check_adversary(kind(learner=learner, **settings), learner, Figure1())  # type: ignore[call-arg]


# --- halt-counter ------------------------------------------------------------------------------------


def test_halt_counter_reads_the_query_off_the_halt_of_v1() -> None:
    in_0, in_1 = by_world(play(V1, HaltCounter(learner=V1), Figure1(), games=2_000, seed=1))
    assert in_1.mean() == 1.0
    assert in_0.mean() == 0.0


@pytest.mark.parametrize("halts", [1, 2, 5])
def test_halt_counter_takes_the_budget_from_the_spec(halts: int) -> None:
    learner = EverlastingV1(halts=halts)
    played = play(learner, HaltCounter(learner=learner), Figure1(), games=100, seed=1)
    assert played.rounds == halts + 1
    in_0, in_1 = by_world(played)
    assert (in_0.mean(), in_1.mean()) == (0.0, 1.0)


def test_halt_counter_with_a_wrong_budget_sees_nothing() -> None:
    for budget in (4, 12):
        played = play(V1, HaltCounter(learner=V1, budget=budget), Figure1(), games=200, seed=1)
        in_0, in_1 = by_world(played)
        assert in_0.mean() == in_1.mean()


def test_halt_counter_sees_nothing_in_v2() -> None:
    in_0, in_1 = by_world(play(V2, HaltCounter(learner=V2), Figure1(), games=200, seed=1))
    assert not in_0.any()
    assert not in_1.any()


def test_halt_counter_finds_its_points_in_data() -> None:
    rng = np.random.default_rng(3)
    points = rng.integers(0, 10, 40_000)
    labels = rng.random(40_000) < points / 10  # half and half at 5
    learner = EverlastingV1().adapt_to(40_000)
    sample = Sample(points, labels).distinct()
    found = find_vote_points(learner, sample)
    assert found.clear in (-1.0, 0.0, 1.0, 9.0)
    assert abs(found.votes - 0.5) < 0.1
    in_0, in_1 = by_world(
        play(learner, HaltCounter(learner=learner, sample=sample), Figure1(), games=200, seed=1)
    )
    assert (in_0.mean(), in_1.mean()) == (0.0, 1.0)


# --- training-swap, reconstruct ------------------------------------------------------------------------


def test_training_swap_and_reconstruct_tell_static_samples_apart() -> None:
    sample = Sample([0.5, 0.5], [0, 1], [10, 10])
    for adversary in (
        TrainingSwap(sample=sample, queries=3),
        Reconstruct(sample=sample),
    ):
        in_0, in_1 = by_world(play(StaticErm(), adversary, Figure1(), games=100, seed=1))
        assert in_0.max() < in_1.min()


def test_reconstruct_asks_the_whole_domain() -> None:
    learner = StaticErm(concepts=Thresholds((1, 2, 3, 4)))
    played = play(learner, Reconstruct(learner=learner), Figure1(), games=2, seed=1, record=True)
    assert played.rounds == 4


def test_swapped_labels_differ_in_one_place_at_the_point() -> None:
    sample = Sample([0.0, 0.5, 0.5, 1.0], [0, 0, 1, 1], [5, 5, 5, 5])
    in_0, in_1 = swap_nearest_label(sample, 0.6)
    assert in_0.differences(in_1) == 1
    assert in_1 == sample
    assert in_0.counts @ in_0.labels == 9


# --- query-swap ---------------------------------------------------------------------------------------------


def test_query_swap_probes_the_next_round() -> None:
    played = play(V2, QuerySwap(learner=V2, probes=7), Figure1(), games=4, seed=1)
    assert played.rounds == 2_000 + 7


def test_query_swap_sees_a_query_where_nothing_hides_it() -> None:
    """With almost no noise and every query kept, one query decides the votes of the next round."""
    learner = EverlastingV2(
        teachers=4, chunk=1, answers=2, rate=1.0, training_rate=1.0, noise=1.0, epsilon=1.0
    )

    @attrs.frozen
    class Loud(EverlastingV2):
        def _noise(self, index: int, answers: int) -> float:
            return 1e6

    loud = Loud(**{a.name: getattr(learner, a.name) for a in attrs.fields(EverlastingV2)})
    in_0, in_1 = by_world(play(loud, QuerySwap(learner=loud), Figure1(), games=4_000, seed=1))
    assert in_1.mean() > in_0.mean() + 5


def test_query_swap_has_patience() -> None:
    with pytest.raises(Unsupported, match="have 60,568,292 answers, more than the patience of query-swap"):
        play(V1, QuerySwap(learner=V1), Figure1(), games=2, seed=1)
    assert play(V1, QuerySwap(learner=V1, after=3, probes=2), Figure1(), games=2, seed=1).rounds == 6


# --- samples --------------------------------------------------------------------------------------


def test_samples_have_the_size_that_the_learner_needs() -> None:
    assert build_tied_sample(V1).size >= V1.sample_size
    assert build_tied_sample(None).size == 1_000
    assert build_tied_sample(Echo()).size == 1_000


def test_a_finite_domain_is_used() -> None:
    learner = EverlastingV2(concepts=Thresholds((10, 20, 30)), teachers=11)
    assert build_tied_sample(learner).points.tolist() == [20.0, 20.0]
    found = find_vote_points(learner, build_tied_sample(learner))
    assert (found.clear, found.split) == (10.0, 20.0)


def test_points_that_do_not_exist_are_not_found() -> None:
    learner = EverlastingV2(concepts=Thresholds((10, 20)), teachers=11)
    with pytest.raises(InvalidArgument, match="the votes must be clear at one point and tie at another"):
        find_vote_points(learner, Sample([10.0], [1], [learner.sample_size]))


@pytest.mark.parametrize("learner", [EverlastingV1(agnostic=True), EverlastingV2(teachers=11, agnostic=True)])
def test_votes_that_are_the_same_everywhere_are_not_blamed_on_the_sample(learner: Learner) -> None:
    """After relabelling by one concept no vote ties. `training-swap` needs no tie; others say why they do."""
    play(learner, TrainingSwap(learner=learner, queries=2), Figure1(), games=2, seed=1)
    with pytest.raises(InvalidArgument, match="With these settings the learner answers alike everywhere"):
        find_vote_points(learner, build_tied_sample(learner))


def test_finite_classes_have_vote_points() -> None:
    concepts = FiniteClass([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1]])
    learner = EverlastingV1(concepts=concepts)
    in_0, in_1 = by_world(play(learner, HaltCounter(learner=learner), Figure1(), games=50, seed=1))
    assert (in_0.mean(), in_1.mean()) == (0.0, 1.0)
