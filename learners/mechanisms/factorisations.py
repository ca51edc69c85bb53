"""Factorisations A = L·C of the sums that a stream publishes, for Gaussian noise: A·x + L·z = L·(C·x + z).

Whatever the factorisation A = B·C′ is, B·z has the covariance B·Bᵀ = L·Lᵀ, so that with C = L⁻¹·A the same is
published by matrices that are both lower triangular. Then entry t of C·x + z depends on the first t records
only, and the mechanism is Gaussian for adaptive streams, too: Theorem 2.1 of Denisov, McMahan, Rush, Smith,
Thakurta (2022), docs/proofs/streams.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np
from scipy.linalg import solve_triangular, toeplitz

from arena.errors import InvalidArgument
from arena.sample import freeze
from arena.settings import at_least, check_value, whole

TREE, HONAKER, ROOT, BANDED, INPUT = FACTORISATIONS = ("tree", "honaker", "square root", "banded", "input")


@attrs.frozen(eq=False)
class Factorisation:
    """decoder: L (T, T), with which noise is published. encoder: C (T, T), whose columns show how much a
    record moves the numbers that get noise. Both are lower triangular."""

    decoder: np.ndarray
    encoder: np.ndarray

    @property
    def norms(self) -> np.ndarray:
        """(T,): the lengths of the encoder's columns: by how much a record of each round may move all noisy
        numbers together."""
        return np.asarray(np.sqrt((self.encoder**2).sum(axis=0)))

    def sensitivity(self, rounds: int = 1) -> float:
        """The L2 distance by which records of so many rounds, each changed by at most 1, move the numbers. It
        is exact for one; for k it is a bound: the root of the sum of the k largest s_i, where s_i is the
        sum of the k largest |G_ij|, G = Cᵀ·C."""
        if rounds == 1:
            return float(self.norms.max())
        gram = np.sort(np.abs(self.encoder.T @ self.encoder), axis=1)[:, -rounds:]
        return float(np.sqrt(np.sort(gram.sum(axis=1))[-rounds:].sum()))


@lru_cache(maxsize=32)
def factorise(kind: str, rounds: int, *, window: int | None = None, bands: int = 8) -> Factorisation:
    """The factorisation of the sums of all records so far, or of the last `window`.

    kind: "tree", the binary mechanism, with noise on the sum of every dyadic interval of the tree that is
    used (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011); "honaker", with noise on all of them,
    from which every sum is estimated with the least variance (Honaker 2015, the estimate from below); "square
    root", the Toeplitz matrix B = C = A^(1/2) (Fichtenberger, Henzinger, Upadhyay 2023); "banded", its C cut
    off after so many `bands` (Kalinin, Lampert 2024); "input", noise on every record.
    """
    check_value("rounds", rounds, whole, at_least(1))
    sums = np.tril(np.ones((rounds, rounds)))
    shown = sums if window is None else np.tril(sums) - np.tril(sums, -window)
    if kind in (TREE, HONAKER):
        noise = _DECODERS[kind](rounds)
        if window is not None:
            noise = noise - np.concatenate([np.zeros((min(window, rounds), noise.shape[1])), noise])[:rounds]
        decoder = np.linalg.cholesky(noise @ noise.T)
        return _freeze(decoder, solve_triangular(decoder, shown, lower=True))
    if kind == INPUT:
        return _freeze(shown, np.eye(rounds))
    if kind not in (ROOT, BANDED):
        raise InvalidArgument(f"factorisation must be one of {', '.join(FACTORISATIONS)}", value=kind)
    first = _root_of_series(shown[:, 0])
    if kind == ROOT:
        root = toeplitz(first, np.zeros(rounds))
        return _freeze(root, root)
    encoder = toeplitz(np.where(np.arange(rounds) < bands, first, 0.0), np.zeros(rounds))
    decoder = solve_triangular(encoder.T, shown.T, lower=False).T  # A·C⁻¹
    return _freeze(np.tril(decoder), encoder)


def _freeze(decoder: np.ndarray, encoder: np.ndarray) -> Factorisation:
    return Factorisation(freeze(np.ascontiguousarray(decoder)), freeze(np.ascontiguousarray(encoder)))


def _root_of_series(terms: np.ndarray) -> np.ndarray:
    """The coefficients (T,) of the power series whose square has these, the first of which is 1: those of
    the first column of the square root of a lower triangular Toeplitz matrix."""
    root = np.zeros(len(terms))
    root[0] = 1.0
    for t in range(1, len(terms)):
        root[t] = (terms[t] - root[1:t] @ root[1:t][::-1]) / 2
    return root


def lowest_bit(t: int) -> int:
    """The largest power of 2 that divides t: the length of the tree's interval that ends with round t."""
    return t & -t


def _decode_tree(rounds: int) -> np.ndarray:
    """(T, T): which intervals the sum of each round consists of; interval t ends with round t."""
    decoder = np.zeros((rounds + 1, rounds))
    for t in range(1, rounds + 1):
        decoder[t] = decoder[t - lowest_bit(t)]
        decoder[t, t - 1] = 1.0
    return decoder[1:]


def _decode_all_nodes(rounds: int) -> np.ndarray:
    """(T, m): the weights of the noise of all m complete nodes in the estimate of each sum. A node's own
    noisy sum gets weight 2v/(1 + 2v), and the estimates of its halves the rest, if these have variance v."""
    estimates: dict[tuple[int, int], np.ndarray] = {}  # by the first round and the length
    nodes = sum(rounds >> level for level in range(rounds.bit_length()))
    number = 0
    variance = {1: 1.0}
    for length in (2**level for level in range(1, rounds.bit_length())):
        halves = 2 * variance[length // 2]
        variance[length] = halves / (1 + halves)
    for end in range(1, rounds + 1):
        length = 1
        while end % length == 0 and length <= rounds:
            own = np.zeros(nodes)
            own[number] = 1.0
            number += 1
            if length > 1:
                weight, half = variance[length], length // 2
                halves = estimates[end - length, half] + estimates[end - half, half]
                own = weight * own + (1 - weight) * halves
            estimates[end - length, length] = own
            length *= 2
    decoder = np.zeros((rounds + 1, nodes))
    for t in range(1, rounds + 1):
        decoder[t] = decoder[t - lowest_bit(t)] + estimates[t - lowest_bit(t), lowest_bit(t)]
    return decoder[1:]


_DECODERS: dict[str, Callable[[int], np.ndarray]] = {TREE: _decode_tree, HONAKER: _decode_all_nodes}
