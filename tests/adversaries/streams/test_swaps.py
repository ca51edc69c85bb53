"""Adversaries of streams: conformance, the rounds they choose, and their scores."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import audits
from adversaries.streams.swaps import AnnouncedSwap, EventSwap, ThresholdSteer
from arena import Adversary, FixedStream, InvalidArgument, Learner, Stream, play
from arena.records import Records
from arena.testing import check_adversary
from audits.api.user_data import read_data
from audits.registry.players import configure_learner
from learners.mechanisms.factorisations import BANDED, TREE
from learners.streams.counters import AnnouncedSampling, SparseCounter, TreeCounter
from learners.streams.flawed import POWERS, FlawedSampling, FlawedTree
from learners.streams.linear import LinearStream


class Echo:
    """Publishes each record."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def update(self, record: Any) -> Any:
        return record


def configure(data: Any, **settings: Any) -> Learner:
    asked = read_data(audits.stream(Echo), data, None, {"learner": settings, "adversary": {}})[1]
    return configure_learner(audits.stream(Echo), asked["learner"])


PAIRS: list[tuple[Adversary, Learner]] = [
    (EventSwap(learner=learner), learner)
    for learner in (
        LinearStream(rounds=8),
        LinearStream(rounds=8, neighbours="replace a group of 3"),
        TreeCounter(rounds=8, neighbours="zero out one"),
        SparseCounter(rounds=8),
    )
]
PAIRS += [
    (EventSwap(learner=TreeCounter(rounds=8), score="difference"), TreeCounter(rounds=8)),
    (EventSwap(learner=TreeCounter(rounds=8), score="repeated", place=2), TreeCounter(rounds=8)),
    (ThresholdSteer(learner=SparseCounter(rounds=30, step=3.0)), SparseCounter(rounds=30, step=3.0)),
    (AnnouncedSwap(learner=FlawedSampling(rounds=12)), FlawedSampling(rounds=12)),
]


@pytest.mark.parametrize(("adversary", "learner"), PAIRS, ids=str)
def test_they_conform(adversary: Adversary, learner: Learner) -> None:
    check_adversary(adversary, learner, Stream())


@pytest.mark.parametrize("kind", [TREE, BANDED])
def test_the_worst_round_is_that_of_the_longest_column(kind: str) -> None:
    learner = LinearStream(rounds=12, factorisation=kind, window=4, bands=3)
    played = play(
        learner, EventSwap(learner=learner), Stream(), games=2, seed=1, worlds=[True, False], record=True
    )
    place = next(t for t, entry in enumerate(played.transcript.entries) if entry.x[0] != entry.x[1])  # type: ignore
    assert learner.matrices.norms[place] == learner.matrices.norms.max()


def test_the_rounds_of_a_user_move_the_noisy_numbers_most() -> None:
    learner = LinearStream(rounds=7, factorisation=TREE, neighbours="replace a group of 3")
    encoder = learner.matrices.encoder
    best = max(np.linalg.norm(encoder[:, list(s)].sum(axis=1)) for s in combinations(range(7), 3))
    places = EventSwap(learner=learner)._choose_places(7, 3)
    assert np.linalg.norm(encoder[:, places].sum(axis=1)) >= 0.95 * best
    assert EventSwap(learner=learner, spread=True)._choose_places(7, 3) == [0, 3, 6]


def test_scores_read_the_round_that_differs() -> None:
    learner = FlawedTree(flaw=POWERS)
    number = play(learner, EventSwap(learner=learner, score="number", place=4), Stream(), games=6, seed=1)
    assert number.score is not None
    assert number.score.tolist() == number.worlds.astype(float).tolist()


def test_records_of_users_classes_differ_at_the_place_that_is_set() -> None:
    learner = configure(st.integers(0, 3))
    adversary = EventSwap(learner=learner, place=2, rounds=3)
    played = play(learner, adversary, FixedStream(), games=4, seed=1, record=True)
    releases = np.stack(played.replies[0].releases, axis=1)  # type: ignore[attr-defined]
    assert np.array_equal(releases[:, 1], 3.0 * played.worlds)
    assert not releases[:, [0, 2]].any()
    given = EventSwap(learner=learner, sample=Records([1, 2]))
    assert play(learner, given, FixedStream(), games=2, seed=1).rounds == 2


def test_a_user_of_a_class_is_missing_in_one_world() -> None:
    data = audits.records(st.tuples(st.integers(1, 3), st.integers(0, 1)), user=0, blank=(0, 0))
    learner = configure(data, neighbours="add or remove a user of at most 2")
    adversary = EventSwap(learner=learner, sample=Records([(1, 1), (2, 0), (1, 0)]))
    assert play(learner, adversary, Stream(), games=2, seed=1).flag.all()


def test_a_release_without_an_announcement_is_refused() -> None:
    learner = LinearStream(rounds=4)
    with pytest.raises(InvalidArgument, match="reads an announcement"):
        play(learner, AnnouncedSwap(learner=learner), Stream(), games=2, seed=1)


@pytest.mark.thorough
def test_the_usual_adversary_of_a_stream_is_the_event_swap() -> None:
    verdict = audits.audit(
        audits.stream(Echo), data=[0, 1, 0, 1], epsilon=1.0, neighbours="replace one", games=2_000
    )
    assert "event-swap" in " ".join(verdict.notes)
    assert verdict.refuted


def test_announced_sampling_claims_nothing_for_adaptive_streams() -> None:
    assert AnnouncedSampling().protocols == ("FixedStream",)
