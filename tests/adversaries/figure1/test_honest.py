"""honest and its populations, and stale-thresholds: what they ask, and what they see."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from mutants.figure1.everlasting import ROUND, CounterRefreshes
from support.statistical import check_counts, check_mean, expect_rejection, statistical

from adversaries.figure1.base import chunk_sizes, find_vote_points
from adversaries.figure1.honest import Honest, LabelledDistribution, choose_distribution
from adversaries.figure1.swaps import StaleThresholds, _choose_points
from arena import (
    Figure1,
    InvalidArgument,
    Learner,
    Queries,
    Query,
    Sample,
    Train,
    Training,
    Unsupported,
    play,
)
from arena.concepts import ConceptClass, Rectangles, Thresholds
from arena.testing import check_adversary
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.predictors.vote_predictors import BetweenThresholdsPredictor, StaticErm

DATA = Sample([0.0, 1.0, 2.0, 2.0], [0, 0, 1, 0], [40, 30, 20, 10])
GRID = Rectangles((3, 4))


def people(concepts: ConceptClass, games: int = 5) -> LabelledDistribution:
    return choose_distribution(games, np.random.default_rng(1), concepts=concepts, learner=None, sample=None)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [
        EverlastingV2(teachers=51, answers=300, rate=0.5),
        EverlastingV2(concepts=Thresholds(range(16)), teachers=51, answers=300, rate=0.5),
        BetweenThresholdsPredictor(),
        StaticErm(concepts=GRID),
    ],
    ids=str,
)
def test_it_conforms(learner: Learner) -> None:
    check_adversary(Honest(learner=learner, queries=400, noise=0.1), learner, Figure1())


def test_it_conforms_with_data() -> None:
    check_adversary(Honest(learner=StaticErm(), sample=DATA, queries=50), StaticErm(), Figure1())


@pytest.mark.parametrize("concepts", [Thresholds(), Thresholds(range(16)), GRID], ids=str)
def test_truth_is_one_concept_of_the_class_a_game(concepts: ConceptClass) -> None:
    found = people(concepts)
    points, labels = found.draw(np.random.default_rng(2), 40)
    assert points.shape == (5, 40, *concepts.point_shape)
    assert (found.truth(points) == labels).all()
    best = concepts.erm(points, labels)
    for concept, own, said in zip(best, points, labels, strict=True):
        assert (concepts.labels(concept[None], own)[0] == said).all()
    assert len(np.unique(labels.sum(axis=1))) > 1  # games have targets of their own


# A flip rate that is off by 0.01 is noticed with near certainty at 200,000 examples.
@statistical(rate=2e-7)
@pytest.mark.parametrize("concepts", [Thresholds(), Thresholds(range(16))], ids=str)
def test_noise_flips_labels_with_its_probability(concepts: ConceptClass) -> None:
    found = people(concepts, games=1)
    points, labels = found.draw_samples(np.random.default_rng(4), 200_000, 0.2)[0].rows()
    wrong = (found.truth(points[None])[0] != labels).astype(float)
    promise = {"bounds": (0, 1), "rate": 1e-7, "effect": 0.02, "power": 1 - 1e-7}
    check_mean(wrong, 0.2, **promise)
    with expect_rejection():
        check_mean(wrong, 0.22, **promise)


# A cell whose chance is off by 0.01 is noticed with near certainty at 300,000 draws.
@statistical(rate=2e-7)
def test_data_are_drawn_in_proportion_to_their_counts() -> None:
    found = choose_distribution(2, np.random.default_rng(1), concepts=None, learner=None, sample=DATA)
    points, labels = found.draw(np.random.default_rng(2), 150_000)
    kinds = (2 * points + labels).ravel().astype(int)
    counts = np.bincount(kinds, minlength=6)[[0, 2, 5, 4]]
    promise = {"rate": 1e-7, "effect": 0.01, "power": 1 - 1e-7}
    check_counts(counts, [0.4, 0.3, 0.2, 0.1], **promise)
    with expect_rejection():
        check_counts(counts, [0.4, 0.3, 0.18, 0.12], **promise)


def test_the_truth_of_data_is_the_likeliest_label_of_the_nearest_point() -> None:
    found = choose_distribution(2, np.random.default_rng(1), concepts=None, learner=None, sample=DATA)
    asked = np.broadcast_to([-3.0, 0.0, 1.4, 1.6, 2.0, 9.0], (2, 6))
    assert found.truth(asked).tolist() == [[False, False, False, True, True, True]] * 2
    vectors = Sample([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    plane = choose_distribution(1, np.random.default_rng(1), concepts=None, learner=None, sample=vectors)
    assert plane.truth(np.array([[[0.2, 0.1], [0.9, 3.0]]])).tolist() == [[False, True]]
    one = Sample([2.0], [1])
    alone = choose_distribution(1, np.random.default_rng(1), concepts=None, learner=None, sample=one)
    assert alone.truth(np.array([[0.0, 5.0]])).tolist() == [[True, True]]


def test_it_makes_the_set_queries_and_trains_on_the_size_needed() -> None:
    learner = BetweenThresholdsPredictor(size=77)
    moves = Honest(learner=learner, queries=12).play(3, np.random.default_rng(0))
    train, asked = next(moves), moves.send(None)  # type: ignore[arg-type]
    assert isinstance(train, Train)
    assert [sample.size for sample in train.sample] == [77] * 3  # type: ignore[union-attr]
    assert isinstance(asked, Queries)
    assert asked.x.shape == (3, 12)
    assert play(learner, Honest(learner=learner, queries=31), Figure1(), games=2, seed=1).rounds == 31


def test_the_score_counts_correct_answers() -> None:
    learner = StaticErm(concepts=Thresholds(range(8)))
    score = play(learner, Honest(learner=learner, queries=200), Figure1(), games=50, seed=1).score
    assert score is not None
    assert (score == 200).all()  # a thousand examples show every one of eight points


def test_long_games_are_queried_in_chunks() -> None:
    assert chunk_sizes(5, 1, None) == [5]
    parts = chunk_sizes(3_000_000, 2, StaticErm(concepts=GRID))
    assert sum(parts) == 3_000_000
    assert max(parts) * 2 * 2 <= 2**20


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"8 training sets of 20,000,000 points .* Play fewer games"):
        play(StaticErm(), Honest(sample_size=20_000_000), Figure1(), games=8, seed=1)
    learner = StaticErm(concepts=GRID)
    with pytest.raises(InvalidArgument, match=r"receives points of shape \(2,\).* Leave out `concepts`"):
        play(learner, Honest(learner=learner, concepts=Thresholds()), Figure1(), games=2, seed=1)


V1 = EverlastingV1()
REFRESHES = CounterRefreshes(**{f.name: getattr(ROUND, f.name) for f in attrs.fields(EverlastingCounter)})
LEARNERS: list[Learner] = [
    V1,
    EverlastingV2(teachers=101, answers=2_000),
    ROUND,
    EverlastingCounter(),
    BetweenThresholdsPredictor(),
    StaticErm(),
]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
def test_it_conforms_against_every_learner(learner: Learner) -> None:
    check_adversary(StaleThresholds(learner=learner, patience=20), learner, Figure1())


@pytest.mark.parametrize("learner", [V1, REFRESHES], ids=lambda learner: learner.name)
def test_it_finds_a_border_near_the_lower_threshold_and_a_tie(learner: Learner) -> None:
    ground = _choose_points(learner, None, 0.65)
    lower = 0.5 - (0.2 if learner is V1 else 0.25)
    assert abs(_votes(learner, ground.sample, ground.border) - lower) < 0.03
    assert abs(_votes(learner, ground.sample, ground.split) - 0.5) < 0.1
    assert _votes(learner, ground.sample, ground.clear) == 0
    assert ground.sample.size >= (learner.sample_size or 0)


def _votes(learner: Learner, sample: Sample, point: float) -> float:
    state = learner.start(4, np.random.default_rng(2))
    state.train(Training.of((sample,), np.zeros(4, np.intp)))
    return float(state.votes(point).mean())


def test_it_finds_a_border_in_data() -> None:
    ones = [1, 4, 8, 10, 16, 19]
    sample = Sample(np.repeat(np.arange(6.0), 2), [0, 1] * 6, np.ravel([(20 - k, k) for k in ones]) * 1_000)
    learner = EverlastingV2(teachers=2_001, chunk=1, training_rate=0.1, rounds=1, noise=0.01, answers=400)
    ground = _choose_points(learner, sample, 0.5)
    assert ground.border == find_vote_points(learner, sample).split  # v2's only threshold is at 1/2
    rarely = _choose_points(learner, sample, 0.001)
    assert rarely.border < ground.border


class Scriptless:
    """A reply with one label for each game."""

    def __init__(self, label: list[int]) -> None:
        self.label = np.array(label, np.int8)


def play_game(adversary: StaleThresholds, label: list[int]) -> tuple[list[tuple[float, float]], np.ndarray]:
    """The points of both worlds that game 0 is asked when every query is answered so, and the scores."""
    moves = adversary.play(len(label), np.random.default_rng(1))
    found = []
    next(moves)
    move = moves.send(None)
    while True:
        assert isinstance(move, Query)
        found.append((move.x[0], move.other[0]))
        try:
            move = moves.send(Scriptless(label))
        except StopIteration as end:
            return found, end.value


def test_it_asks_the_border_then_challenges_then_probes() -> None:
    """Where 0 is answered at the border: a run of zeros, one challenge, the probes, and then it idles."""
    points, score = play_game(StaleThresholds(run=3, probes=2, patience=6, learner=StaticErm()), [0, 0])
    ground = _choose_points(StaticErm(), None, 0.65)
    border, clear = (ground.border,) * 2, (ground.clear,) * 2
    assert points == [border] * 3 + [(ground.clear, ground.split)] + [border] * 2 + [clear] * 3
    assert score.tolist() == [-2, -2]


def test_it_gives_up_when_its_budget_of_ones_is_spent() -> None:
    adversary = StaleThresholds(run=3, patience=6, probes=2, budget=2, learner=StaticErm())
    points, score = play_game(adversary, [1])
    ground = _choose_points(StaticErm(), None, 0.65)
    assert points == [(ground.border,) * 2] * 2 + [(ground.clear,) * 2] * 7
    assert score.tolist() == [0]


def test_two_points_are_too_few() -> None:
    learner = EverlastingV2(concepts=Thresholds((1, 2)), teachers=11)
    with pytest.raises(InvalidArgument, match="the domain must have at least three points"):
        play(learner, StaleThresholds(learner=learner), Figure1(), games=2, seed=1)
    three = EverlastingV2(concepts=Thresholds((1, 2, 3)), teachers=11)
    assert _choose_points(three, None, 0.65).border == 2


@pytest.mark.thorough
def test_v1_leaks_queries_by_its_thresholds_too() -> None:
    """Not by its halt: at most six ⊤s are spent before the challenge, which is the seventh of eight."""
    adversary = StaleThresholds(learner=V1, budget=7, run=6)
    claim: Any = {"epsilon": V1.claim.epsilon, "delta": V1.claim.delta, "confidence": 1 - 1e-6}
    plan = Plan(learner=V1, adversary=adversary, referee=Figure1(), games=8_000, until_refuted=True, **claim)
    assert run(plan).refuted
