"""Encrypted thresholds: Bun and Zhandry, Order-revealing encryption and the hardness of private learning
(2016), named in the introduction of Private Everlasting Prediction as easy to predict with and hard to learn.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.dichotomies import Solutions
from arena.concepts.finite.matrix import as_indices
from arena.concepts.line.domain import middle_place
from arena.concepts.line.thresholds import Thresholds
from arena.errors import InvalidArgument
from arena.points import as_points, freeze

MOST_CIPHERTEXTS = 1_000_000


@attrs.frozen
class EncryptedThresholds(ConceptClass):
    """The concepts 1[the plaintext of x is at least that of z] of ciphertexts 0 to N - 1.

    An illustration, which hides nothing: the cipher is a permutation that the seed tells. What it shows is
    who needs the key. Ciphertexts are order-revealing: anybody may `compare` two of them, and labels, ERM and
    dichotomies do no more. To `encrypt` takes the key.

    A concept is the ciphertext z from which on, in the order of plaintexts, labels are 1; N labels everything
    0. ERM picks the z of the smallest plaintext among the best of the sample's points and N; no data get N.
    m points have as many labellings as distinct ones among them, and one more.

    size: N. seed: of the key.

    >>> cipher = EncryptedThresholds(16, 7)
    >>> low, high = cipher.encrypt([3, 11])
    >>> int(cipher.compare(low, high)), bool(cipher.erm([low, high], [0, 1]) == high)
    (-1, True)
    """

    name: ClassVar[str] = "encrypted"

    size: int = attrs.field()
    seed: int = attrs.field()

    @size.validator
    def _check_size(self, attribute: object, value: Any) -> None:
        if not _is_whole(value) or not 1 <= value <= MOST_CIPHERTEXTS:
            raise InvalidArgument(f"ciphertexts are 1 to {MOST_CIPHERTEXTS:,}", value=value)

    @seed.validator
    def _check_seed(self, attribute: object, value: Any) -> None:
        if not _is_whole(value) or value < 0:
            raise InvalidArgument("a seed is a whole number of at least 0", value=value)

    @classmethod
    def from_text(cls, rest: str) -> EncryptedThresholds:
        """What N,SEED names.

        Raises: InvalidArgument with the form.
        """
        parts = [part.strip() for part in rest.split(",")]
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise InvalidArgument(
                "encrypted thresholds have a number of ciphertexts and a seed of the key",
                value=f"{cls.name}:{rest}",
                remedy="Write encrypted:16,7.",
            )
        return cls(*map(int, parts))

    def __repr__(self) -> str:
        return f"EncryptedThresholds({self.size} ciphertexts, key {self.seed})"

    @property
    def vc_dimension(self) -> int:
        return 1

    @cached_property
    def domain(self) -> tuple[float, ...]:
        """The ciphertexts, in the order of their own numbers."""
        return tuple(float(x) for x in range(self.size))

    def place(self, points: np.ndarray) -> np.ndarray:
        return points

    def encrypt(self, plaintexts: Any) -> np.ndarray:
        """The ciphertexts of plaintexts, 0 to N - 1: what the owner of the key does."""
        given = as_indices(as_points(plaintexts), self.size, "a plaintext is a whole number")
        return np.asarray(self._key[given])

    def compare(self, first: Any, second: Any) -> np.ndarray:
        """-1, 0 or 1: whether the plaintext of the first is less, equal or more. Public.

        Shapes: first and second broadcast.
        """
        place = self._places
        return np.asarray(np.sign(place[np.asarray(first)] - place[np.asarray(second)]))

    def check(self, x: Any) -> np.ndarray:
        """The ciphertexts as whole numbers.

        Raises: InvalidArgument for a value that is none.
        """
        return as_indices(as_points(x), self.size, "a point is a ciphertext")

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """Values of z as whole numbers."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "biuf":
            raise InvalidArgument("concepts must be whole numbers", value=array.dtype.name)
        return as_indices(array, self.size + 1, "a concept is a ciphertext, or the number after the last")

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of the plaintexts of z, and last the one of N: all 0."""
        row = self._check_row(points)
        distinct = np.unique(row)
        ordered = np.empty_like(distinct)
        ordered[self._ranks(distinct[None])[0]] = distinct
        concepts = np.append(ordered, self.size)
        return Dichotomies(self._label(concepts[:, None], row[None]), concepts)

    def most_dichotomies(self, points: int) -> int:
        """Exactly: m points that differ have m + 1 labellings."""
        return min(points, self.size) + 1

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """The plaintext of z is uniform in the middle half."""
        return self.encrypt(middle_place(rng, self.size))

    @cached_property
    def _key(self) -> np.ndarray:
        return freeze(np.random.default_rng(self.seed).permutation(self.size))

    @cached_property
    def _places(self) -> np.ndarray:
        """What order-revealing encryption hides, and only `compare` looks at; the concept N is above all."""
        return freeze(np.append(np.argsort(self._key), self.size))

    def _ranks(self, points: np.ndarray) -> np.ndarray:
        """How many of a sample's points are below each of them: points (b, m) gives (b, m)."""
        below = np.zeros(points.shape, np.intp)
        for other in points.T:
            below += self.compare(points, other[:, None]) > 0
        return below

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(self.compare(points, concepts) >= 0)

    def _solutions(self, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> Solutions:
        found = Thresholds()._solutions(self._ranks(points).astype(np.float64), signs, present)
        return attrs.evolve(
            found, concepts_at=lambda which: self._of_rank(points, present, found.concepts(which))
        )

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        present = np.ones(points.shape, bool) if weights is None else weights > 0
        rank = Thresholds()._minimise(self._ranks(points).astype(np.float64), labels, weights)
        return self._of_rank(points, present, rank)

    def _of_rank(self, points: np.ndarray, present: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """The ciphertext of each sample with the rank among its points, N for +inf."""
        chosen = present & (self._ranks(points) == rank[:, None])
        found = np.where(chosen, points, -1).max(axis=1, initial=-1)
        return np.where(found < 0, self.size, found)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
