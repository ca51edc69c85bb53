"""What a learner may tell of its own law: the yardstick of every audit that plays games.

A learner before `Release` tells the law of the value that it releases for a sample (`ValueLaw`), that of the
concept if it releases a hypothesis. A learner before `Figure1` or `Voting` tells how its answers come about
(`AnswerLaw`): as a hidden Markov chain. No game shows a law; exact audits and likelihood ratios are made
from them.
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

_SLAB = 8_192  # values hashed at a time, so that they stay in cache
_SLACK = 1e-9  # how far from 1 the sum of told probabilities may be


class ValueLaw(ABC):
    """The law of one released value."""

    @abstractmethod
    def log_density(self, values: np.ndarray) -> np.ndarray:
        """(n,): the log of the probability, or density, of each of values (n, ...); -inf where impossible.

        The laws that one learner tells for different samples speak of the same reference measure, so that
        differences of log densities are log-likelihood ratios.
        """


def _own(values: Any) -> np.ndarray:
    return freeze(np.array(values))


def _own_chances(values: Any) -> np.ndarray:
    return freeze(np.array(values, dtype=np.float64))


@attrs.frozen(eq=False, slots=False)
class Finite(ValueLaw):
    """Finitely many values.

    Shapes: values (k, ...), distinct; probabilities (k,), of sum 1.

    >>> law = Finite([0, 1], [0.25, 0.75])
    >>> np.exp(law.log_density(np.array([1, 7]))).tolist()
    [0.75, 0.0]
    """

    values: np.ndarray = attrs.field(converter=_own)
    probabilities: np.ndarray = attrs.field(converter=_own_chances)

    def __attrs_post_init__(self) -> None:
        k = len(self.values) if self.values.ndim else 0
        if k == 0 or self.probabilities.shape != (k,):
            raise InvalidArgument(f"{k} values need as many probabilities", value=self.probabilities.shape)
        if not ((self.probabilities >= 0).all() and abs(self.probabilities.sum() - 1) <= _SLACK):
            raise InvalidArgument("probabilities are at least 0 and of sum 1", value=self.probabilities.sum())
        if len(np.unique(self.values, axis=0)) != k:
            raise InvalidArgument("the values of a law must be distinct", value=k)

    def log_density(self, values: np.ndarray) -> np.ndarray:
        place, known = self.place(values)
        return np.where(known, _log(self.probabilities)[place], -np.inf)

    def place(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,): the index of each of values (n, ...) among the law's, and whether it is one of them.

        Values are told apart by a hash of 64 bits.
        """
        keys, order = self._keys
        asked = np.empty(len(values), np.uint64)
        for start in range(0, len(values), _SLAB):
            asked[start : start + _SLAB] = hash_rows(_flat(values[start : start + _SLAB]))
        found = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return order[found], keys[found] == asked

    @cached_property
    def _keys(self) -> tuple[np.ndarray, np.ndarray]:
        keys = hash_rows(_flat(self.values))
        order = np.argsort(keys)
        return keys[order], order


@attrs.frozen(eq=False, kw_only=True)
class Density(ValueLaw):
    """One number with a density: or, as a part of `Branches`, the share of the law that falls to the branch.

    log: the log of the density at x (n,), -inf where it vanishes.
    kinks: where the density, or a derivative of it, jumps. Between neighbours it is smooth.
    low, high: beyond them lies less than 1e-15 of the law, on either side.
    scale: over how much x it changes by a factor; only to choose where to look.
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
    """A vector of independent parts, one a coordinate."""

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
    """A choice among finitely many branches and, in some, a number besides. The value shows both.

    parts: for each branch its probability, or the share of the density that falls to it.
    read: values (n, ...) -> the branch (n,) and the number (n,) that each shows (any number where the branch
        has none).
    """

    parts: tuple[float | Density, ...]
    read: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

    def log_density(self, values: np.ndarray) -> np.ndarray:
        branch, number = self.read(np.asarray(values))
        found = np.full(len(branch), -np.inf)
        for index, part in enumerate(self.parts):
            here = branch == index
            if isinstance(part, Density):
                found[here] = part.log_density(number[here])
            else:
                found[here] = _log(np.array(part))
        return found


class AnswerLaw(ABC):
    """How a trained predictor answers, as a hidden Markov chain.

    The chain is in one of m states, which nobody sees; the state says with what chance each of k outcomes
    answers a query, and what it then becomes. A continuous hidden state is told by the nodes and weights of
    a quadrature.

    outcomes: for each, the label and whether the learner has halted with it.
    """

    outcomes: ClassVar[tuple[tuple[int, bool], ...]] = ((0, False), (1, False))

    @property
    def last(self) -> int | None:
        """The number of the answer with which every game halts, whatever it was told; None: there is none."""
        return None

    @abstractmethod
    def start(self) -> np.ndarray:
        """(m,): the chance of each state after training. The sum may miss 1 by the quadrature's error."""

    @abstractmethod
    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(k, n, m): what becomes of measures (n, m) over the states when x (n, ...) is asked.

        Entry [o, g] is the part of measure g in which outcome o is given, over the states that follow. Summed
        over outcomes and states it has the mass of the measure. A game that has halted is not asked again.
        """


def _flat(values: np.ndarray) -> np.ndarray:
    rows = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    return rows + 0.0  # turns -0.0 into 0.0, which compares equal but has other bits


def _log(chances: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(chances))
