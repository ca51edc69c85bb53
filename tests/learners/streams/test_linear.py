"""linear-stream: factorisations against plain references, the noise, the exact μ, and what is refused."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import script

import audits
from adversaries.streams.swaps import EventSwap
from arena import Arrive, FixedStream, Stream, play
from arena.errors import BudgetExceeded, InvalidArgument, Unsupported
from arena.privacy_curves import GaussianCurve
from arena.testing import check_learner
from learners.mechanisms.factorisations import FACTORISATIONS, HONAKER, INPUT, ROOT, TREE, factorise
from learners.streams.linear import LinearStream

T = 13


def sum_matrix(window: int | None) -> np.ndarray:
    rows = [[float(s <= t and (window is None or t - s < window)) for s in range(T)] for t in range(T)]
    return np.array(rows)


@pytest.mark.parametrize("kind", FACTORISATIONS)
@pytest.mark.parametrize("window", [None, 1, 4])
def test_a_factorisation_multiplies_to_the_sums(kind: str, window: int | None) -> None:
    matrices = factorise(kind, T, window=window, bands=3)
    assert np.allclose(matrices.decoder @ matrices.encoder, sum_matrix(window))
    assert np.allclose(matrices.decoder, np.tril(matrices.decoder))
    assert np.allclose(matrices.encoder, np.tril(matrices.encoder))


def test_the_square_root_has_the_coefficients_of_the_central_binomials() -> None:
    first = factorise(ROOT, T).encoder[:, 0]
    assert np.allclose(first, [comb(2 * k, k) / 4**k for k in range(T)])


def test_the_tree_has_noise_of_variance_one_for_each_binary_digit() -> None:
    covariance = factorise(TREE, T).decoder
    variances = (covariance**2).sum(axis=1)
    assert np.allclose(variances, [bin(t).count("1") for t in range(1, T + 1)])
    assert np.allclose(
        factorise(TREE, 8).norms ** 2, [4, 3, 3, 2, 3, 2, 2, 1]
    )  # intervals that hold the round


def test_the_variant_of_honaker_is_the_best_estimate_from_each_complete_subtree() -> None:
    """Its variance is that of least squares on the nodes of the subtrees of the digits."""
    variances = (factorise(HONAKER, T).decoder ** 2).sum(axis=1)
    for t in range(1, T + 1):
        total, end = 0.0, 0
        for digit in reversed(range(t.bit_length())):
            if t >> digit & 1:
                length = 2**digit
                nodes = [
                    [float(low <= s < low + size) for s in range(length)]
                    for size in (2**level for level in range(digit + 1))
                    for low in range(0, length, size)
                ]
                weights = np.linalg.pinv(np.array(nodes).T) @ np.ones(length)
                total, end = total + weights @ weights, end + length
        assert variances[t - 1] == pytest.approx(total)
        assert end == t


@pytest.mark.parametrize("kind", FACTORISATIONS)
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_the_sensitivity_of_several_rounds_is_no_less_than_the_largest(kind: str, rounds: int) -> None:
    matrices = factorise(kind, 8)
    largest = max(
        np.linalg.norm(matrices.encoder[:, list(places)] @ signs)
        for places in combinations(range(8), rounds)
        for signs in np.array(np.meshgrid(*[[-1.0, 1.0]] * rounds)).reshape(rounds, -1).T
    )
    bound = matrices.sensitivity(rounds)
    assert bound >= largest - 1e-9
    assert bound <= 1.35 * largest
    assert rounds > 1 or bound == pytest.approx(largest)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FACTORISATIONS)
def test_noise_has_the_covariance_of_the_decoder(kind: str) -> None:
    learner = LinearStream(rounds=70, factorisation=kind, sigma=2.0)  # more than one chunk
    games = 40_000
    played = play(learner, script(Arrive(np.zeros(70))), Stream(), games=games, seed=3, record=True)
    releases = np.stack(played.replies[0].releases)
    expected = 4 * learner.matrices.decoder @ learner.matrices.decoder.T
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert (np.abs(releases @ releases.T / games - expected) <= 6 * scale * np.sqrt(2 / games)).all()


@pytest.mark.parametrize("window", [None, 3])
def test_sums_are_published(window: int | None) -> None:
    learner = LinearStream(rounds=6, window=window, sigma=1e-9)
    stream = np.array([1.0, 0.0, 0.5, 1.0, 1.0, 0.25])
    played = play(learner, script(Arrive(stream)), Stream(), games=2, seed=1, record=True)
    expected = np.convolve(stream, np.ones(window or 6))[:6]
    assert np.allclose(np.stack(played.replies[0].releases), expected[:, None])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "window"), [*((kind, None) for kind in FACTORISATIONS), (TREE, 2), (ROOT, 2)]
)
def test_the_claim_is_exact(kind: str, window: int | None) -> None:
    """The worst event has exactly the privacy curve of the claim."""
    learner = LinearStream(rounds=5, factorisation=kind, window=window, sigma=1.5, epsilon=0.7)
    exact = audits.exact(learner, EventSwap(learner=learner), protocol="FixedStream")
    assert exact.delta is not None
    assert exact.delta.lower <= learner.claim.delta * (1 + 1e-9)
    assert exact.delta.upper >= learner.claim.delta * (1 - 1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", ["Stream", "FixedStream"])
def test_most_of_the_exact_privacy_loss_is_certified(protocol: str) -> None:
    learner = LinearStream(rounds=32, factorisation=HONAKER, sigma=1.0)
    verdict = audits.audit(learner, protocol=protocol, games=100_000)
    assert not verdict.refuted
    certified = GaussianCurve.of_claim(verdict.epsilon_lower, verdict.delta).mu
    assert 0.9 * learner.sensitivity <= certified <= learner.sensitivity


def test_a_user_moves_the_noisy_numbers_of_several_rounds() -> None:
    learner = LinearStream(rounds=16, neighbours="replace a group of 3")
    assert learner.claim.delta <= 1e-5
    assert learner.noise > attrs.evolve(learner, neighbours="replace one").noise
    played = play(learner, EventSwap(learner=learner), FixedStream(), games=2, seed=1, record=True)
    assert played.flag.all()


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [ROOT, TREE, INPUT])
def test_it_conforms(kind: str) -> None:
    check_learner(LinearStream(rounds=20, factorisation=kind, window=5))


@pytest.mark.parametrize(
    ("settings", "stream", "error", "message"),
    [
        ({"rounds": 2}, [0.0] * 3, BudgetExceeded, "after all of its T = 2 rounds"),
        ({}, [2.0], InvalidArgument, "must lie in its domain, from 0 to 1, got 2.0"),
        ({"factorisation": "qr"}, [], InvalidArgument, "factorisation must be one of tree, honaker"),
        ({"window": 0}, [], InvalidArgument, "window must be at least 1"),
        ({"neighbours": "add or remove a user of at most 2"}, [0.0], Unsupported, "does not know whose"),
    ],
)
def test_bad_input_is_refused(settings: Any, stream: list[float], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        play(LinearStream(**settings), script(Arrive(stream)), Stream(), games=2, seed=1)
