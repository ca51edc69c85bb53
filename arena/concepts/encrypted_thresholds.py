"""Thresholds over encrypted points: Bun and Zhandry, Order-revealing encryption and the hardness of private
learning (2016). Private Everlasting Prediction names them as easy to predict with and hard to learn.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import CandidateConcepts, Dichotomies
from arena.concepts.finite import as_indices
from arena.concepts.grids import draw_middle_index
from arena.concepts.line import Thresholds
from arena.sample import as_points, freeze
from arena.settings import at_least, at_most, whole

MAX_CIPHERTEXTS = 1_000_000


@attrs.frozen
class EncryptedThresholds(ConceptClass):
    """The concepts 1[plaintext of x >= plaintext of z] of ciphertexts x, z from 0 to N - 1.

    The cipher, a permutation drawn from the seed, illustrates who needs the key and is not secure. Anyone may
    `compare` two ciphertexts, which suffices for labels and ERM. A concept is z, or N, which labels
    everything 0. Among the best of the sample's points and N, ERM returns the one with the smallest
    plaintext, or N.

    >>> cipher = EncryptedThresholds(16, 7)
    >>> low, high = cipher.encrypt([3, 11])
    >>> int(cipher.compare(low, high)), bool(cipher.erm([low, high], [0, 1]) == high)
    (-1, True)
    """

    name: ClassVar[str] = "encrypted"
    vc_dimension = 1

    size: int = attrs.field(validator=[whole, at_least(1), at_most(MAX_CIPHERTEXTS)])
    seed: int = attrs.field(validator=[whole, at_least(0)])

    def __repr__(self) -> str:
        return f"EncryptedThresholds({self.size} ciphertexts, key {self.seed})"

    @cached_property
    def domain(self) -> tuple[float, ...]:
        """The ciphertexts in increasing order, which is not that of their plaintexts."""
        return tuple(float(x) for x in range(self.size))

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return points

    def encrypt(self, plaintexts: Any) -> np.ndarray:
        """The ciphertexts of plaintexts from 0 to N - 1. This needs the key."""
        return np.asarray(
            self._key[as_indices(as_points(plaintexts), self.size, "a plaintext must be an integer")]
        )

    def compare(self, first: Any, second: Any) -> np.ndarray:
        """Public: -1, 0 or 1, if the first plaintext is less than, equal to or greater than the second."""
        plaintext = self._plaintexts
        return np.asarray(np.sign(plaintext[np.asarray(first)] - plaintext[np.asarray(second)]))

    def check(self, x: Any) -> np.ndarray:
        return as_indices(as_points(x), self.size, "a point must be a ciphertext")

    def check_concepts(self, concepts: Any) -> np.ndarray:
        array = as_numbers(concepts, "concepts must be integers")
        return as_indices(array, self.size + 1, "a concept must be a ciphertext or the number after the last")

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of the plaintexts of z; that of N, all 0, comes last."""
        row = self._check_row(points)
        distinct = np.unique(row)
        ordered = np.empty_like(distinct)
        ordered[self._ranks(distinct[None])[0]] = distinct
        concepts = np.append(ordered, self.size)
        return Dichotomies(self._label(concepts[:, None], row[None]), concepts)

    def growth_bound(self, points: int) -> int:
        return min(points, self.size) + 1

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """z has a uniform plaintext in the middle half."""
        return self.encrypt(draw_middle_index(rng, self.size))

    @cached_property
    def _key(self) -> np.ndarray:
        return freeze(np.random.default_rng(self.seed).permutation(self.size))

    @cached_property
    def _plaintexts(self) -> np.ndarray:
        """The plaintext of each ciphertext, and N for the concept N. Only `compare` may read it."""
        return freeze(np.append(np.argsort(self._key), self.size))

    def _ranks(self, points: np.ndarray) -> np.ndarray:
        """(b, m): the number of points of the sample with a smaller plaintext, for points (b, m)."""
        below = np.zeros(points.shape, np.intp)
        for other in points.T:
            below += self.compare(points, other[:, None]) > 0
        return below

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(self.compare(points, concepts) >= 0)

    def _candidate_concepts(
        self, points: np.ndarray, signs: np.ndarray, present: np.ndarray
    ) -> CandidateConcepts:
        ranks = self._ranks(points).astype(np.float64)
        candidates = Thresholds()._candidate_concepts(ranks, signs, present)
        return attrs.evolve(
            candidates, concepts_at=lambda which: self._of_rank(points, present, candidates.concepts(which))
        )

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        present = np.ones(points.shape, bool) if weights is None else weights > 0
        rank = Thresholds()._minimise(self._ranks(points).astype(np.float64), labels, weights)
        return self._of_rank(points, present, rank)

    def _of_rank(self, points: np.ndarray, present: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """The present ciphertext of each sample that has this rank among its points, and N for rank +inf."""
        has_rank = present & (self._ranks(points) == rank[:, None])
        ciphertext = np.where(has_rank, points, -1).max(axis=1, initial=-1)
        return np.where(ciphertext < 0, self.size, ciphertext)
