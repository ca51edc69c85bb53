"""Adversaries of Figure 1: attacks, and honest play."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.statistical import check_mean, expect_rejection, statistical

from adversaries.common.training_samples import build_tied_sample, swap_nearest_label
from adversaries.figure1.base import count_unlabelled, find_vote_points
from adversaries.figure1.honest import Poison, choose_distribution
from adversaries.figure1.memorisation import Membership, Reconstruct
from adversaries.figure1.swaps import HaltCounter, QuerySwap, TrainingSwap, UnlabelledSwap
from arena import Adversary, Figure1, InvalidArgument, Learner, Queries, Sample, Train, Unsupported, play
from arena.concepts import ConceptClass, FiniteClass, Points, Rectangles, Thresholds
from arena.engine import Played
from arena.testing import check_adversary
from learners.everlasting.paper_versions import EverlastingFresh, EverlastingV1, EverlastingV2
from learners.predictors.vote_predictors import BetweenThresholdsPredictor, StaticErm

LINE, GRID = Thresholds(range(9)), Rectangles((3, 3))
ALL = FiniteClass([[c >> x & 1 for x in range(6)] for c in range(64)])  # every labelling of six points
ROUNDS = {"teachers": 21, "answers": 60, "rate": 0.5, "training_rate": 0.5}


def learners(concepts: ConceptClass) -> list[Learner]:
    return [
        StaticErm(concepts=concepts),
        EverlastingV2(concepts=concepts, **ROUNDS),  # type: ignore[arg-type]
        EverlastingFresh(concepts=concepts, pool=100, **ROUNDS),  # type: ignore[arg-type]
    ]


def by_world(played: Played) -> tuple[np.ndarray, np.ndarray]:
    return played.score[~played.worlds], played.score[played.worlds]


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", [LINE, GRID, ALL, Points(range(6))], ids=str)
@pytest.mark.parametrize("kind", [Membership, Reconstruct, QuerySwap, Poison])
def test_they_conform_with_any_class(kind: type[Adversary], concepts: ConceptClass) -> None:
    for learner in learners(concepts):
        settings = {"queries": 150} if kind is Poison else {}
        check_adversary(kind(learner=learner, **settings), learner, Figure1())  # type: ignore[call-arg]


@pytest.mark.thorough
@pytest.mark.parametrize("aim", [pytest.param("crowd", marks=pytest.mark.slow), "repeat", "shift"])
def test_every_aim_conforms(aim: str) -> None:
    for learner in learners(Thresholds()):
        check_adversary(Poison(learner=learner, aim=aim, queries=150), learner, Figure1())


# --- rounds -------------------------------------------------------------------------------------------------


def test_a_learner_receives_the_unlabelled_points_that_its_rounds_need() -> None:
    spec = EverlastingFresh(pool=100, **ROUNDS)  # type: ignore[arg-type]
    assert [count_unlabelled(spec, n) for n in (60, 61, 300, 301)] == [0, 100, 100, 500]
    assert count_unlabelled(attrs.evolve(spec, rounds=2), 10_000) == 100
    assert count_unlabelled(EverlastingV2(), 10_000) == count_unlabelled(None, 5) == 0


@pytest.mark.parametrize("kind", [QuerySwap, UnlabelledSwap])
def test_swaps_reach_any_round(kind: type[QuerySwap] | type[UnlabelledSwap]) -> None:
    learner = EverlastingFresh(pool=100, **ROUNDS)  # type: ignore[arg-type]
    for index, later, rounds in ((1, 1, 60), (2, 1, 60 + 240), (1, 2, 60 + 240)):
        adversary = kind(learner=learner, round=index, later=later, probes=3)
        assert play(learner, adversary, Figure1(), games=2, seed=1).rounds == rounds + 3
        check_adversary(adversary, learner, Figure1())


@attrs.frozen
class Loud(EverlastingV2):
    """Without noise."""

    def _noise(self, index: int, answers: int) -> float:
        return 1e6


@pytest.mark.thorough
def test_a_query_shows_one_and_two_rounds_later_without_noise() -> None:
    loud = Loud(teachers=4, chunk=1, answers=2, rate=1.0, training_rate=1.0)
    # The means are about 30 and 10 deviations apart; 5 are asked for.
    for index, later, games in ((1, 1, 2_000), (1, 2, 12_000)):
        adversary = QuerySwap(learner=loud, round=index, later=later, probes=8)
        in_0, in_1 = by_world(play(loud, adversary, Figure1(), games=games, seed=1))
        apart = in_1.mean() - in_0.mean()
        assert apart > 5 * np.sqrt(in_0.var() / len(in_0) + in_1.var() / len(in_1))


# --- membership ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concepts", [LINE, GRID, ALL, Points(range(6)), Thresholds()], ids=str)
def test_static_erm_gives_membership_away(concepts: ConceptClass) -> None:
    learner = StaticErm(concepts=concepts)
    in_0, in_1 = by_world(play(learner, Membership(learner=learner), Figure1(), games=20, seed=1))
    assert in_0.max() < in_1.min()


def test_membership_takes_the_rarest_example_of_the_data() -> None:
    sample = Sample([0.0, 1.0, 2.0, 3.0], [0, 1, 1, 0], [9, 5, 2, 4])
    train, asked, *_ = moves(Membership(sample=sample, queries=8, others=2), 1)
    assert isinstance(train, Train)
    assert train.other == sample
    assert train.sample == sample.replace_one(2, 0.0, 0)
    assert isinstance(asked, Queries)
    assert asked.x.tolist() == [2, 0, 2, 1, 2, 0, 2, 1]
    with pytest.raises(InvalidArgument, match="an example labelled 1"):
        moves(Membership(sample=Sample([0.0], [0], [5])), 1)


def moves(adversary: Adversary, games: int) -> list:
    """The first two moves."""
    generator = adversary.play(games, np.random.default_rng(0))
    return [next(generator), generator.send(None)]  # type: ignore[arg-type]


# --- reconstruct --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concepts", [LINE, GRID, ALL, Points(range(6))], ids=str)
def test_static_erm_is_reconstructed_whatever_its_class(concepts: ConceptClass) -> None:
    learner = StaticErm(concepts=concepts)
    in_0, in_1 = by_world(play(learner, Reconstruct(learner=learner), Figure1(), games=20, seed=1))
    assert in_0.max() < in_1.min()


def test_memory_is_read_back_label_by_label() -> None:
    learner = StaticErm(concepts=ALL)
    adversary = Reconstruct(learner=learner, score="labels")
    in_0, in_1 = by_world(play(learner, adversary, Figure1(), games=20, seed=1))
    assert (in_1 == 6).all()
    assert (in_0 >= 5).all()  # a label that was changed is read as it was changed


def test_labels_without_a_domain_need_data() -> None:
    with pytest.raises(Unsupported, match="has no finite domain to memorise"):
        play(StaticErm(), Reconstruct(score="labels"), Figure1(), games=2, seed=1)


# --- poison -------------------------------------------------------------------------------------------------


# A fraction that is off by 0.05 is noticed with near certainty at 20,000 queries.
@statistical(rate=2e-7)
def test_the_fraction_is_chosen_and_the_rest_drawn() -> None:
    adversary = Poison(fraction=0.3, aim="shift", queries=20_000, concepts=Thresholds())
    asked = moves(adversary, 1)[1]
    aside = (asked.x < 0) | (asked.x > 1)
    promise = {"bounds": (0, 1), "rate": 1e-7, "effect": 0.05, "power": 1 - 1e-7}
    check_mean(aside, 0.3, **promise)
    with expect_rejection():
        check_mean(aside, 0.35, **promise)


@pytest.mark.parametrize("concepts", [Thresholds(), Thresholds(range(200)), Rectangles((8, 8))], ids=str)
def test_a_crowd_lies_where_a_rival_that_errs_little_disagrees(concepts: ConceptClass) -> None:
    rng = np.random.default_rng(1)
    people = choose_distribution(3, rng, concepts=concepts, learner=None, sample=None)
    crowds = Poison(aim="crowd", concepts=concepts, reach=0.05).choose_points(people, 3, rng)
    for game, crowd in enumerate(crowds):
        assert len(np.unique(crowd, axis=0)) == len(crowd) >= 1
        points, truth = (part[game] for part in people.draw(rng, 4_000))
        mine = people.truth(np.broadcast_to(crowd, (3, *crowd.shape)))[game]
        rivals = concepts.dichotomies(np.unique(np.concatenate([crowd[:40], points[:40]]), axis=0)).concepts
        disagree = (concepts.labels(rivals, crowd) != mine).mean(axis=1)
        errors = (concepts.labels(rivals, points) != truth).mean(axis=1)
        assert errors[disagree > 0.9].min() < 0.2


def test_shift_needs_a_point_outside_the_support() -> None:
    learner = StaticErm(concepts=LINE)
    with pytest.raises(Unsupported, match="the support of D is the whole domain"):
        play(learner, Poison(learner=learner, aim="shift"), Figure1(), games=2, seed=1)
    data = Sample([0.0, 8.0], [0, 1], [5, 5])
    adversary = Poison(learner=learner, aim="shift", sample=data, fraction=1.0, queries=50)
    assert set(np.unique(moves(adversary, 1)[1].x)) == set(range(1, 8))


V1 = EverlastingV1()
V2 = EverlastingV2(teachers=101, answers=2_000)
LEARNERS: list[Learner] = [V1, V2, BetweenThresholdsPredictor(), StaticErm()]
KINDS: list[type[Adversary]] = [HaltCounter, TrainingSwap, QuerySwap, Reconstruct]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_adversary_conforms_against_every_learner(kind: type[Adversary], learner: Learner) -> None:
    settings = {"after": 10} if kind is QuerySwap and learner is V1 else {}
    check_adversary(kind(learner=learner, **settings), learner, Figure1())  # type: ignore[call-arg]


# --- halt-counter ------------------------------------------------------------------------------------


@pytest.mark.parametrize("halts", [1, 2, 5, 8])
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


def test_halt_counter_finds_its_points_in_data() -> None:
    rng = np.random.default_rng(3)
    points = rng.integers(0, 10, 40_000)
    labels = rng.random(40_000) < points / 10  # half and half at 5
    learner = EverlastingV1().adapt_to(40_000)
    sample = Sample(points, labels).distinct()
    found = find_vote_points(learner, sample)
    assert found.clear in (-1.0, 0.0, 1.0, 9.0)
    assert abs(found.votes - 0.5) < 0.1
    adversary = HaltCounter(learner=learner, sample=sample)
    in_0, in_1 = by_world(play(learner, adversary, Figure1(), games=200, seed=1))
    assert (in_0.mean(), in_1.mean()) == (0.0, 1.0)


# --- training-swap, reconstruct ------------------------------------------------------------------------


def test_training_swap_and_reconstruct_tell_static_samples_apart() -> None:
    sample = Sample([0.5, 0.5], [0, 1], [10, 10])
    for adversary in (TrainingSwap(sample=sample, queries=3), Reconstruct(sample=sample)):
        in_0, in_1 = by_world(play(StaticErm(), adversary, Figure1(), games=100, seed=1))
        assert in_0.max() < in_1.min()


def test_swapped_labels_differ_in_one_place_at_the_point() -> None:
    sample = Sample([0.0, 0.5, 0.5, 1.0], [0, 0, 1, 1], [5, 5, 5, 5])
    in_0, in_1 = swap_nearest_label(sample, 0.6)
    assert in_0.differences(in_1) == 1
    assert in_1 == sample
    assert in_0.counts @ in_0.labels == 9


# --- query-swap ---------------------------------------------------------------------------------------------


def test_query_swap_has_patience() -> None:
    with pytest.raises(Unsupported, match="have 60,568,292 answers, more than the patience of query-swap"):
        play(V1, QuerySwap(learner=V1), Figure1(), games=2, seed=1)
    assert play(V1, QuerySwap(learner=V1, after=3, probes=2), Figure1(), games=2, seed=1).rounds == 6


# --- samples --------------------------------------------------------------------------------------


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
