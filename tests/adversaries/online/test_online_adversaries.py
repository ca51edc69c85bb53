"""What holds for all adversaries of online games, and those that prepare their examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.online.players import Forest, Guesser, Lazy
from support.statistical import check_counts, expect_rejection, statistical

from adversaries.online.adaptive import AdaptiveConsistent, Contrarian, ForestBreaker, ShatteredTree
from adversaries.online.random_sequences import (
    CommittedExamples,
    DriftingExamples,
    IidExamples,
    PointFunctions,
    PreparedExamples,
    SortedExamples,
)
from adversaries.online.special_swap import SpecialSwap, UpdateSwap
from arena import (
    Adaptive,
    Adversary,
    InvalidArgument,
    Learner,
    Oblivious,
    Referee,
    SpecialRound,
    Unsupported,
    play,
)
from arena.concepts import ConceptClass, Intervals, Points, Rectangles, Thresholds
from arena.engine import Played
from arena.testing import check_adversary
from learners.online.conservative import Soa
from learners.online.noisy_majority import NoisyMajority

T = 24
SEQUENCES: list[type[PreparedExamples]] = [IidExamples, SortedExamples, DriftingExamples, PointFunctions]
AGAINST_HYPOTHESES: list[type[Adversary]] = [ShatteredTree, AdaptiveConsistent, ForestBreaker]
SWAPS: list[type[Adversary]] = [SpecialSwap, UpdateSwap]
CLASSES: list[ConceptClass] = [
    Thresholds(range(1, 8)),
    Points(range(5)),
    Intervals(range(6)),
    Rectangles([3, 2]),
]
LEARNERS: list[Learner] = [
    NoisyMajority(),
    *(Soa(concepts=concepts) for concepts in CLASSES),
    Lazy(concepts=CLASSES[2]),
    Guesser(concepts=CLASSES[3]),
]


def build_game(kind: Any, learner: Learner, **settings: Any) -> tuple[Adversary, Referee]:
    adversary = kind(learner=learner, rounds=T, **settings)
    if kind in SWAPS:
        return adversary, SpecialRound(T)
    committed = getattr(adversary, "protocol", "Adaptive") == "Oblivious"
    return adversary, Oblivious(T) if committed else Adaptive(T)


def examples(played: Played, concepts: ConceptClass) -> tuple[np.ndarray, np.ndarray]:
    """The columns of the points, and the labels, of a recorded table: (games, T) each."""
    entries: Any = played.transcript.entries
    columns = np.stack([concepts.domain_indices(concepts.check(entry.x)) for entry in entries], axis=1)
    return columns, np.stack([entry.y for entry in entries], axis=1) == 1


def consistent(concepts: ConceptClass, columns: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(games,) bool: whether some concept agrees with all examples, by trying every one."""
    labels = concepts.dichotomies(np.array(concepts.domain)).labels
    return np.array(
        [(labels[:, own] == told).all(axis=1).any() for own, told in zip(columns, y, strict=True)], bool
    )


@pytest.mark.thorough
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize(
    "kind", [*SEQUENCES, *AGAINST_HYPOTHESES, *SWAPS, Contrarian], ids=lambda kind: kind.name
)
def test_every_adversary_conforms_against_every_learner(kind: type[Adversary], learner: Learner) -> None:
    check_adversary(build_game(kind, learner)[0], learner, build_game(kind, learner)[1])
    if kind in SEQUENCES:
        one_by_one, referee = build_game(kind, learner, protocol="Adaptive")
        check_adversary(one_by_one, learner, referee)


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", CLASSES, ids=str)
@pytest.mark.parametrize("kind", [*SEQUENCES, *AGAINST_HYPOTHESES], ids=lambda kind: kind.name)
@pytest.mark.parametrize("opponent", [Soa, Lazy, Guesser, Forest])
def test_games_are_realizable_if_the_adversary_declares_it(
    kind: type[Adversary], concepts: ConceptClass, opponent: Any
) -> None:
    learner = opponent(concepts=concepts)
    adversary, referee = build_game(kind, learner)
    played = play(learner, adversary, referee, games=40, seed=3, record=True)
    fits = consistent(concepts, *examples(played, concepts))
    assert adversary.realizable == (kind is not DriftingExamples)
    if adversary.realizable:
        assert fits.all()


def test_noise_and_drift_are_not_realizable() -> None:
    learner = Soa(concepts=Intervals(range(6)))
    for adversary in (
        IidExamples(learner=learner, rounds=T, noise=0.4),
        DriftingExamples(learner=learner, rounds=T, every=5),
    ):
        assert not adversary.realizable
        played = play(learner, adversary, Oblivious(T), games=40, seed=3, record=True)
        assert not consistent(learner.concepts, *examples(played, learner.concepts)).all()


@pytest.mark.parametrize("kind", SEQUENCES)
def test_the_protocol_changes_nothing_in_the_examples(kind: Any) -> None:
    learner = Soa(concepts=Intervals(range(6)))
    seen = []
    for protocol in ("Oblivious", "Adaptive"):
        adversary, referee = build_game(kind, learner, protocol=protocol)
        played = play(learner, adversary, referee, games=10, seed=1, record=True)
        seen.append(examples(played, learner.concepts))
    np.testing.assert_array_equal(seen[0], seen[1])


def test_a_class_of_ones_own_is_played_instead_of_the_learners() -> None:
    learner, own = Soa(), Points([3, 4])
    adversary = IidExamples(learner=learner, concepts=own, rounds=T)
    played = play(learner, adversary, Oblivious(T), games=10, seed=1, record=True)
    assert consistent(own, *examples(played, own)).all()


def test_committed_points_to_the_adversary_that_draws_from_a_domain() -> None:
    learner = Soa()
    with pytest.raises(Unsupported, match="which soa does not receive"):
        play(learner, CommittedExamples(learner=learner, rounds=T), Oblivious(T), games=10, seed=1)


def test_classes_that_do_not_fit_are_refused() -> None:
    learner = NoisyMajority()
    adversary = IidExamples(learner=learner, concepts=Rectangles([3, 2]))
    with pytest.raises(InvalidArgument, match=r"noisy-majority receives points of shape \(\), got Rect"):
        play(learner, adversary, Oblivious(100), games=1, seed=1)
    with pytest.raises(Unsupported, match="has no finite domain, and its Littlestone dimension is infinite"):
        play(learner, IidExamples(concepts=Thresholds()), Oblivious(100), games=1, seed=1)


def draw_examples(
    adversary: PreparedExamples, concepts: ConceptClass, games: int
) -> tuple[np.ndarray, np.ndarray]:
    return adversary._draw_examples(concepts, games, np.random.default_rng(5))


@statistical(rate=6e-7)
def test_iid_draws_points_targets_and_noise_as_documented() -> None:
    """Points 1, 1/2, 1/3 with skew 1; four thresholds on three points; one label in five is flipped."""
    concepts, games = Thresholds([1, 2, 3]), 400_000
    columns, y = draw_examples(IidExamples(rounds=1, skew=1.0), concepts, games)
    # Label 1 at column k is for thresholds 0 to k of four, equally likely.
    counts = np.bincount(2 * columns[:, 0] + y[:, 0], minlength=6)
    point = np.array([6, 3, 2]) / 11
    one = np.array([1, 2, 3]) / 4
    law = np.stack([point * (1 - one), point * one], axis=1).ravel()
    check_counts(counts, law, rate=1e-7, effect=0.01, power=1 - 1e-7)
    even = np.stack([(1 - one) / 3, one / 3], axis=1).ravel()
    with expect_rejection():
        check_counts(counts, even, rate=1e-7, effect=0.01, power=1 - 1e-7)

    columns, y = draw_examples(IidExamples(rounds=2, noise=0.2), Points([0, 1]), games)
    odd = np.count_nonzero((columns[:, 0] == columns[:, 1]) ^ (y[:, 0] == y[:, 1]))
    # Two labels of one target disagree with it together or not at all with chance 0.8² + 0.2².
    check_counts([odd, games - odd], [0.32, 0.68], rate=1e-7, effect=0.01, power=1 - 1e-7)


def test_sorted_sorts() -> None:
    concepts = Thresholds(range(7))
    up, labels = draw_examples(SortedExamples(rounds=9), concepts, 50)
    down, _ = draw_examples(SortedExamples(rounds=9, order="decreasing"), concepts, 50)
    inward, _ = draw_examples(SortedExamples(rounds=9, order="inward"), concepts, 50)
    assert (np.diff(up, axis=1) >= 0).all()
    assert (np.diff(labels.astype(int), axis=1) >= 0).all()
    np.testing.assert_array_equal(down, up[:, ::-1])
    np.testing.assert_array_equal(inward, up[:, [0, 8, 1, 7, 2, 6, 3, 5, 4]])


def test_drift_changes_its_target_every_so_often() -> None:
    concepts = Intervals(range(5))
    columns, y = draw_examples(DriftingExamples(rounds=30, every=10), concepts, 100)
    for start in (0, 10, 20):
        stretch = slice(start, start + 10)
        assert consistent(concepts, columns[:, stretch], y[:, stretch]).all()
    assert not consistent(concepts, columns, y).all()


def test_every_game_has_a_target_of_its_own() -> None:
    columns, y = draw_examples(IidExamples(rounds=200), Thresholds(range(4)), 50)
    labellings = [dict(zip(c, told, strict=True)) for c, told in zip(columns, y, strict=True)]
    assert len({tuple(labels.items()) for labels in labellings}) > 5
