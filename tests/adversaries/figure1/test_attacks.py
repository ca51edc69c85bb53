"""Attacks beside the swaps: poison, membership, reconstruction of labels."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.statistical import check_mean, expect_rejection, statistical

from adversaries.figure1.base import count_unlabelled
from adversaries.figure1.example_distributions import choose_distribution
from adversaries.figure1.membership import Membership
from adversaries.figure1.poison import Poison
from adversaries.figure1.query_swap import QuerySwap, UnlabelledSwap
from adversaries.figure1.reconstruct import Reconstruct
from arena import (
    Adversary,
    Figure1,
    InvalidArgument,
    Learner,
    Queries,
    Sample,
    Train,
    Unsupported,
    play,
)
from arena.concepts import ConceptClass, FiniteClass, Points, Rectangles, Thresholds
from arena.engine import Played
from arena.testing import check_adversary
from learners.everlasting.everlasting_v2 import EverlastingFresh, EverlastingV2
from learners.predictors.static_erm import StaticErm

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
    assert played.score is not None
    return played.score[~played.worlds], played.score[played.worlds]


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", [LINE, GRID, ALL, Points(range(6))], ids=str)
@pytest.mark.parametrize("kind", [Membership, Reconstruct, QuerySwap, Poison])
def test_they_conform_with_any_class(kind: type[Adversary], concepts: ConceptClass) -> None:
    for learner in learners(concepts):
        settings = {"queries": 150} if kind is Poison else {}
        check_adversary(kind(learner=learner, **settings), learner, Figure1())  # type: ignore[call-arg]


@pytest.mark.thorough
@pytest.mark.parametrize("aim", ["crowd", "repeat", "shift"])
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


@pytest.mark.thorough
def test_a_query_shows_one_and_two_rounds_later_without_noise() -> None:
    @attrs.frozen
    class Loud(EverlastingV2):
        def _noise(self, index: int, answers: int) -> float:
            return 1e6

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
    in_0, in_1 = by_world(
        play(learner, Reconstruct(learner=learner, score="labels"), Figure1(), games=20, seed=1)
    )
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


def test_one_point_teaches_least() -> None:
    rng = np.random.default_rng(1)
    people = choose_distribution(2, rng, concepts=Thresholds(), learner=None, sample=None)
    for points in Poison(aim="repeat", concepts=Thresholds()).choose_points(people, 2, rng):
        assert points.shape == (1,)


def test_shift_needs_a_point_outside_the_support() -> None:
    learner = StaticErm(concepts=LINE)
    with pytest.raises(Unsupported, match="the support of D is the whole domain"):
        play(learner, Poison(learner=learner, aim="shift"), Figure1(), games=2, seed=1)
    data = Sample([0.0, 8.0], [0, 1], [5, 5])
    adversary = Poison(learner=learner, aim="shift", sample=data, fraction=1.0, queries=50)
    assert set(np.unique(moves(adversary, 1)[1].x)) == set(range(1, 8))


def test_no_games_make_no_queries() -> None:
    assert play(StaticErm(concepts=LINE), Poison(), Figure1(), games=0, seed=1).rounds == 0
