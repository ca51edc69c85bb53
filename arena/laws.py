"""Output distributions of learners, for exact audits and likelihood ratios.

Under `Release` it is the distribution of the released value (`ValueLaw`), or of the concept if a hypothesis
is released. Under `Figure1` and `Voting` it is that of the answers, given as a hidden Markov chain
(`AnswerLaw`). No game shows an output distribution.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import freeze, hash_rows
from arena.replies import encode_values

_CHUNK = 8_192  # values that are hashed at a time, so that they stay in the cache
_TOLERANCE = 1e-9  # by how much the sum of probabilities may differ from 1


class ValueLaw(ABC):
    """The distribution of one released value."""

    @abstractmethod
    def log_density(self, values: np.ndarray) -> np.ndarray:
        """(n,): the log of the probability or density of each of values (n, ...), -inf if it is impossible.

        All distributions of one learner have densities with respect to one reference measure, so that
        differences of log densities are log-likelihood ratios.
        """


def _copy_values(values: Any) -> np.ndarray:
    return freeze(np.array(encode_values(values)))


def _copy_probabilities(values: Any) -> np.ndarray:
    return freeze(np.array(values, dtype=np.float64))


@attrs.frozen(eq=False, slots=False)
class Finite(ValueLaw):
    """A distribution on finitely many values.

    Shapes: values (k, ...), distinct; probabilities (k,) of sum 1.

    Raises: InvalidArgument if they are not.

    >>> law = Finite([0, 1], [0.25, 0.75])
    >>> np.exp(law.log_density(np.array([1, 7]))).tolist()
    [0.75, 0.0]
    """

    values: np.ndarray = attrs.field(converter=_copy_values)
    probabilities: np.ndarray = attrs.field(converter=_copy_probabilities)

    def __attrs_post_init__(self) -> None:
        k = len(self.values) if self.values.ndim else 0
        if k == 0 or self.probabilities.shape != (k,):
            raise InvalidArgument(f"{k} values need as many probabilities", value=self.probabilities.shape)
        if not ((self.probabilities >= 0).all() and abs(self.probabilities.sum() - 1) <= _TOLERANCE):
            raise InvalidArgument(
                "probabilities must be at least 0 and have sum 1", value=self.probabilities.sum()
            )
        if len(np.unique(self.values, axis=0)) != k:
            raise InvalidArgument("the values of a distribution must be distinct", value=k)

    def log_density(self, values: np.ndarray) -> np.ndarray:
        index, possible = self.place(values)
        return np.where(possible, _log(self.probabilities)[index], -np.inf)

    def place(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,): the index of each of values (n, ...) in `self.values`, and whether it is one of them.

        Values are compared by hashes of 64 bits.
        """
        hashes, order = self._sorted_hashes
        wanted = np.empty(len(values), np.uint64)
        for start in range(0, len(values), _CHUNK):
            wanted[start : start + _CHUNK] = hash_rows(_flatten(values[start : start + _CHUNK]))
        index = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        return order[index], hashes[index] == wanted

    @cached_property
    def _sorted_hashes(self) -> tuple[np.ndarray, np.ndarray]:
        hashes = hash_rows(_flatten(self.values))
        order = np.argsort(hashes)
        return hashes[order], order


@attrs.frozen(eq=False, kw_only=True)
class Density(ValueLaw):
    """A number with a density; as a part of `Branches`, the density times the probability of the branch.

    log: x (n,) -> the log of the density, -inf where it is 0.
    kinks: where the density or one of its derivatives jumps. Between them it is smooth.
    low, high: less than 1e-15 of the mass lies beyond either of them.
    scale: the length over which the density changes by a factor; it sets how finely quadratures are cut.
    """

    log: Callable[[np.ndarray], np.ndarray]
    kinks: tuple[float, ...]
    low: float
    high: float
    scale: float

    def log_density(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(self.log(np.asarray(values, dtype=np.float64).reshape(len(values))))


@attrs.frozen(eq=False)
class Independent(ValueLaw):
    """A vector with independent coordinates, one of `parts` each."""

    parts: tuple[Finite | Density, ...]

    def log_density(self, values: np.ndarray) -> np.ndarray:
        columns = np.asarray(values).reshape(len(values), len(self.parts)).T
        total: np.ndarray = sum(
            (part.log_density(column) for part, column in zip(self.parts, columns, strict=True)),
            start=np.zeros(len(values)),
        )
        return total


@attrs.frozen(eq=False, kw_only=True)
class Branches(ValueLaw):
    """A choice among finitely many branches, some of which also have a number. The value shows both.

    parts: for each branch its probability or, if it has a number, its density.
    read: values (n, ...) -> the branches (n,) and the numbers (n,); any number if the branch has none.
    """

    parts: tuple[float | Density, ...]
    read: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

    def log_density(self, values: np.ndarray) -> np.ndarray:
        branch, number = self.read(np.asarray(values))
        result = np.full(len(branch), -np.inf)
        for index, part in enumerate(self.parts):
            rows = branch == index
            if isinstance(part, Density):
                result[rows] = part.log_density(number[rows])
            else:
                result[rows] = _log(np.array(part))
        return result


class AnswerLaw(ABC):
    """The distribution of a trained predictor's answers, as a hidden Markov chain.

    The chain has m hidden states. The state determines the probability of each of k outcomes of a query, and
    the distribution of the next state. A continuous hidden state is represented by the nodes and weights of a
    quadrature.

    outcomes: the label of each outcome, and whether the learner halts with it.
    """

    outcomes: ClassVar[tuple[tuple[int, bool], ...]] = ((0, False), (1, False))

    @property
    def last(self) -> int | None:
        """The number of the answer with which every game halts, whatever the queries; None: there is none."""
        return None

    @abstractmethod
    def start(self) -> np.ndarray:
        """(m,): the probability of each state after training, up to the error of the quadrature."""

    @abstractmethod
    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(k, n, m): the measures over the next states after the queries x (n, ...), for measures (n, m) now.

        Entry [o, g] is the part of measure g with outcome o. Summed over outcomes and states it has the mass
        of measure g. A game that has halted is not queried again.
        """


def _flatten(values: np.ndarray) -> np.ndarray:
    rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    return rows + 0.0  # turns -0.0 into 0.0, which is equal to it but has other bits


def _log(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))
