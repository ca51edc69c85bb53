"""Counters of streams: what they publish, their claims, and the centre piece: fixed and adaptive streams."""

from __future__ import annotations

from itertools import product
from math import exp
from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import script

import audits
from adversaries.streams.swaps import AnnouncedSwap, EventSwap, ThresholdSteer
from arena import Arrive, Learner, Stream, play
from arena.errors import BudgetExceeded, InvalidArgument, Unsupported
from arena.testing import check_learner
from learners.streams.base import list_releases
from learners.streams.counters import (
    AnnouncedSampling,
    CountAlarm,
    SparseCounter,
    StreamHistogram,
    TreeCounter,
)
from learners.streams.flawed import FlawedSampling

LEARNERS: list[Learner] = [
    TreeCounter(rounds=12),
    StreamHistogram(rounds=12),
    StreamHistogram(rounds=12, show="largest"),
    SparseCounter(rounds=12, step=2.0),
    CountAlarm(rounds=12),
    AnnouncedSampling(rounds=12, rate=0.3),
]


def publish(learner: Learner, stream: Any, games: int = 20_000) -> np.ndarray:
    played = play(learner, script(Arrive(stream)), Stream(), games=games, seed=5, record=True)
    return np.stack(played.replies[0].releases, axis=1)


@pytest.mark.thorough
@pytest.mark.parametrize("learner", LEARNERS)
def test_they_conform(learner: Learner) -> None:
    check_learner(learner)


def test_counts_are_unbiased() -> None:
    releases = publish(TreeCounter(rounds=6), [1.0, 0.5, 0.0, 1.0, 1.0, 1.0])
    expected = np.cumsum([1.0, 0.5, 0.0, 1.0, 1.0, 1.0])
    assert np.abs(releases.mean(axis=0) - expected).max() <= 6 * 3 * np.sqrt(6 / 20_000)
    counts = publish(StreamHistogram(rounds=4), [1.0, 3.0, 0.0, 3.0])
    assert np.abs(counts.mean(axis=0)[-1] - [1, 0, 2]).max() <= 6 * 6 * np.sqrt(6 / 20_000)
    largest = publish(StreamHistogram(rounds=4, show="largest"), [1.0, 3.0, 0.0, 3.0])
    assert np.array_equal(largest, counts.max(axis=2))


def test_a_sparse_count_changes_seldom() -> None:
    releases = publish(SparseCounter(rounds=200, step=20.0, epsilon=4.0), np.ones(200), games=200)
    changes = (np.diff(releases, axis=1) != 0).sum(axis=1)
    assert 5 <= changes.mean() <= 15
    assert np.abs(releases[:, -1] - 190).mean() < 15


@pytest.mark.thorough
def test_the_claim_of_a_tree_is_exact_where_it_has_the_most_levels() -> None:
    learner = TreeCounter(rounds=7, epsilon=1.3)
    exact = audits.exact(learner, EventSwap(learner=learner), protocol="FixedStream")
    assert exact.epsilon == pytest.approx(1.3)
    later = audits.exact(learner, EventSwap(learner=learner, place=7), protocol="FixedStream")
    assert later.epsilon == pytest.approx(1.3 / 3)


@pytest.mark.parametrize(
    ("neighbours", "epsilon"), [("replace one", 1.0), ("zero out one", 0.5), ("replace a group of 2", 2.0)]
)
def test_a_category_that_is_added_costs_half_of_one_that_is_replaced(neighbours: str, epsilon: float) -> None:
    assert StreamHistogram(neighbours=neighbours).claim.epsilon == epsilon


@pytest.mark.thorough
@pytest.mark.parametrize("learner", LEARNERS[:5])
def test_claims_are_not_refuted(learner: Learner) -> None:
    assert not audits.audit(learner, games=50_000).refuted


@pytest.mark.thorough
def test_steering_towards_the_threshold_does_not_refute_a_sparse_counter() -> None:
    learner = SparseCounter(rounds=60, step=4.0)
    verdict = audits.audit(learner, ThresholdSteer(learner=learner), games=50_000)
    assert not verdict.refuted
    assert verdict.epsilon_lower > 0.2


def test_the_claim_of_announced_sampling_is_that_of_a_sampled_record_times_the_rate() -> None:
    claim = AnnouncedSampling(rate=0.1, sampled=3.0, epsilon=1.0).claim
    assert claim.delta == pytest.approx(0.1 * (exp(3.0) - exp(1.0)) / (exp(3.0) + 1))


@pytest.mark.thorough
def test_the_claim_of_announced_sampling_is_exact_for_every_fixed_stream() -> None:
    learner = AnnouncedSampling(rounds=3, rate=0.2, sampled=2.0)
    for place, base in product((1, 2, 3), (0.0, 1.0)):
        adversary = EventSwap(learner=learner, place=place, base=base)
        exact = audits.exact(learner, adversary, delta=0.0)
        assert exact.delta is not None
        assert exact.delta.upper == pytest.approx(learner.claim.delta, abs=1e-12)
        assert exact.epsilon_at.upper == pytest.approx(2.0)


def test_a_count_alarm_is_above_threshold_with_geometric_noise() -> None:
    """Against a plain sum over the noise of the threshold, of (1 - a)/(1 + a)·a^|k|."""
    stream, threshold, a = [0.0, 1.0, 1.0, 0.0], 2, exp(-0.7)
    law = CountAlarm(threshold=threshold, epsilon=0.7).law(np.array(stream))
    chance = {k: (1 - a) / (1 + a) * a ** abs(k) for k in range(-80, 81)}
    expected = dict.fromkeys(range(5), 0.0)  # by the round of the alarm; 4: none
    for hidden, p in chance.items():
        for t, count in enumerate(np.cumsum(stream)):
            fires = sum(q for k, q in chance.items() if count + k >= threshold + hidden)
            expected[t] += p * fires
            p *= 1 - fires
        expected[4] += p
    for value, p in zip(law.values, law.probabilities, strict=True):
        assert p == pytest.approx(expected[int((value == 0).sum())], abs=1e-12)
    assert len(law.values) == 5


def test_too_many_views_are_not_listed() -> None:
    with pytest.raises(Unsupported, match="more than 65,536 views, too many to list, got 12"):
        AnnouncedSampling().law(np.zeros(12))  # type: ignore[arg-type]
    assert len(list_releases(CountAlarm().stream_law(), np.zeros(100)).values) == 101


@pytest.mark.slow
def test_announced_sampling_is_private_for_fixed_streams_only() -> None:
    learner = FlawedSampling(rounds=100)
    fixed = audits.audit(learner, EventSwap(learner=learner), protocol="FixedStream", games=20_000)
    adaptive = audits.audit(learner, AnnouncedSwap(learner=learner), protocol="Stream", games=20_000)
    assert fixed.delta == adaptive.delta
    assert not fixed.refuted
    assert adaptive.refuted
    assert adaptive.epsilon_lower > 3 * learner.claim.epsilon


@pytest.mark.parametrize(
    ("learner", "stream", "error", "message"),
    [
        (TreeCounter(rounds=1), [0.0, 0.0], BudgetExceeded, "after all of its T = 1 rounds"),
        (TreeCounter(), [-0.5], InvalidArgument, "must lie in its domain, from 0 to 1, got -0.5"),
        (StreamHistogram(), [4.0], InvalidArgument, "from 0 to 3, got 4.0"),
        (CountAlarm(), [2.0], InvalidArgument, "from 0 to 1, got 2.0"),
    ],
)
def test_bad_input_is_refused(learner: Learner, stream: list[float], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        play(learner, script(Arrive(stream)), Stream(), games=2, seed=1)


def test_a_stream_that_stops_early_is_played() -> None:
    assert publish(attrs.evolve(TreeCounter(), rounds=100), [1.0], games=3).shape == (3, 1)
