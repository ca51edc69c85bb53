"""Output distributions of learners, for exact audits and likelihood ratios. No game shows one.

Under `Release` a learner may have a `ValueLaw`, of the released value or concept, and under `FixedStream` of
all releases; under `Figure1` and `Voting` an `AnswerLaw`; online `OnlineLaw`. Protocols may have other kinds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.messages import Hypothesis
from arena.released.encoding import encode_values, fit_rows
from arena.sample import freeze, hash_rows

S = TypeVar("S", bound=Hashable)

_CHUNK = 8_192  # values that are hashed at a time, so that they stay in the cache
_TOLERANCE = 1e-9  # by how much the sum of probabilities may differ from 1


class AnswerLaw(ABC):
    """The distribution of a trained predictor's answers, as a hidden Markov chain of m states, from each of
    which the k outcomes of a query have probabilities. A continuous state is represented by a quadrature.

    outcomes: the label of each outcome, and whether the learner halts with it. last: the number of the answer
    with which every game halts, whatever the queries; None: there is none.
    """

    shown: ClassVar[str] = "answers"  # what games show

    outcomes: tuple[tuple[int, bool], ...] = ((0, False), (1, False))
    last: int | None = None

    def describe_outcomes(self) -> list[str]:
        return [f"answer {label}{', halting' if halts else ''}" for label, halts in self.outcomes]

    def start(self) -> np.ndarray:
        """(m,): the probability of each state after training, by default one state of independent answers."""
        return np.ones(1)

    @abstractmethod
    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(k, n, m): the measures over the next states after the queries x (n, ...), for measures (n, m) now.
        Entry [o, g] is the part of measure g with outcome o. A halted game is not asked again."""


class OnlineLaw(ABC, Generic[S]):
    """The distribution of what an online learner shows, as a hidden Markov chain whose states are hashable
    values; a normal form keeps their number small.

    hypotheses: the k that can be shown, distinct, as if each were that of one game. points: (p, ...), such
    that every other point of the domain is treated like one of these. rounds: the most of a game, or None.
    """

    shown: ClassVar[str] = "hypotheses"

    hypotheses: Hypothesis
    points: np.ndarray
    rounds: int | None = None

    @abstractmethod
    def start(self) -> S:
        """The state before the first hypothesis."""

    @abstractmethod
    def show(self, state: S) -> Iterable[tuple[int, S, float]]:
        """The number of each hypothesis that a state may show, the state then, and the probability."""

    @abstractmethod
    def observe(self, state: S, point: int, label: int) -> Iterable[tuple[S, float]]:
        """The states after the example (points[point], label), each with its probability."""


class ValueLaw(ABC):
    """The distribution of one released value. The kinds below suffice for exact audits; a subclass of your
    own, with `log_density` alone, suffices for likelihood ratios."""

    shown: ClassVar[str] = "values"

    @abstractmethod
    def log_density(self, values: np.ndarray) -> np.ndarray:
        """(n,): the log of the probability or density of each of values (n, ...), -inf if it is impossible.
        All distributions of one learner have densities with respect to one reference measure."""


def _copy_values(values: Any) -> np.ndarray:
    return freeze(np.array(encode_values(values)))


def _copy_laws(laws: Sequence[ValueLaw]) -> tuple[ValueLaw, ...]:
    return tuple(laws)


def _copy_probabilities(values: Any) -> np.ndarray:
    return freeze(np.array(values, dtype=np.float64))


def _check_sum(probabilities: np.ndarray, name: str) -> None:
    if not ((probabilities >= 0).all() and abs(probabilities.sum() - 1) <= _TOLERANCE):
        raise InvalidArgument(f"{name} must be at least 0 and have sum 1", value=probabilities.sum())


@attrs.frozen(eq=False, slots=False)
class Finite(ValueLaw):
    """A distribution on finitely many distinct values (k, ...), with probabilities (k,) of sum 1."""

    values: np.ndarray = attrs.field(converter=_copy_values)
    probabilities: np.ndarray = attrs.field(converter=_copy_probabilities)

    def __attrs_post_init__(self) -> None:
        k = len(self.values) if self.values.ndim else 0
        if k == 0 or self.probabilities.shape != (k,):
            raise InvalidArgument(f"{k} values need as many probabilities", value=self.probabilities.shape)
        _check_sum(self.probabilities, "probabilities")
        if len(np.unique(self.values, axis=0)) != k:
            raise InvalidArgument("the values of a distribution must be distinct", value=k)

    def log_density(self, values: np.ndarray) -> np.ndarray:
        index, possible = self.place(values)
        return np.where(possible, _log(self.probabilities)[index], -np.inf)

    def place(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,): the index of each of values (n, ...) in `self.values`, by hashes of 64 bits, and whether it
        is one of them."""
        values = np.asarray(values)
        if max(self.values.ndim, values.ndim) == 2 and values.shape[1:] != self.values.shape[1:]:
            return self._place_rows(values)
        known = self._byte_hashes if values.dtype == np.int8 else None
        kind, (hashes, order) = (np.float64, self._hashes) if known is None else (np.int8, known)
        wanted = np.empty(len(values), np.uint64)
        for start in range(0, len(values), _CHUNK):
            wanted[start : start + _CHUNK] = _hash(values[start : start + _CHUNK], kind)
        index = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        return order[index], hashes[index] == wanted

    def _place_rows(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As `place`, of values with other numbers of entries than these in their longest row."""
        if self.values.ndim == 1:
            rows, _ = fit_rows(self.values, max(2, values.shape[1]))
            return attrs.evolve(self, values=rows).place(values)
        rows, fits = fit_rows(values, self.values.shape[1])
        index, possible = self.place(rows)
        return index, possible & fits

    @cached_property
    def _hashes(self) -> tuple[np.ndarray, np.ndarray]:
        return _sort(_hash(self.values, np.float64))

    @cached_property
    def _byte_hashes(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The same of values as bytes, which is much faster; None if some are no small integers."""
        fit = np.isin(self.values, np.arange(-128, 128)).all()
        return _sort(_hash(self.values, np.int8)) if fit else None


@attrs.frozen(eq=False, kw_only=True)
class Density(ValueLaw):
    """A number with a density; as a part of `Branches`, the density times the probability of the branch.

    log: x (n,) -> the log of the density. kinks: where it or a derivative jumps. low, high: less than 1e-15
    of the mass lies beyond either. scale: the length over which it changes by a factor, for quadratures.
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
    """A vector with independent coordinates, one of `parts` each: a `Finite`, a `Density` or a `Mixture`."""

    parts: tuple[ValueLaw, ...]

    def log_density(self, values: np.ndarray) -> np.ndarray:
        columns = np.asarray(values).reshape(len(values), len(self.parts)).T
        logs = (part.log_density(column) for part, column in zip(self.parts, columns, strict=True))
        return np.asarray(sum(logs, start=np.zeros(len(values))))


@attrs.frozen(eq=False, kw_only=True)
class Branches(ValueLaw):
    """A choice among finitely many branches, some of which also have a number. The value shows both.

    parts: for each branch its probability or, if it has a number, its density. read: values (n, ...) -> the
    branches (n,) and the numbers (n,); any number if the branch has none.
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


@attrs.frozen(eq=False)
class GaussianVector(ValueLaw):
    """L·(m + σz), z standard Gaussian. mean: m (k,). factor: L, lower triangular, whatever the data."""

    mean: np.ndarray = attrs.field(converter=_copy_probabilities)
    sigma: float
    factor: np.ndarray

    def log_density(self, values: np.ndarray) -> np.ndarray:
        scales = np.log(np.abs(np.diag(self.factor)) * self.sigma * np.sqrt(2 * np.pi)).sum()
        return np.asarray(-(self.standardise(values) ** 2).sum(axis=1) / 2 - scales)

    def standardise(self, values: np.ndarray) -> np.ndarray:
        """(n, k): the z of values (n, k)."""
        means = np.linalg.solve(self.factor, np.asarray(values, float).T).T
        return np.asarray((means - self.mean) / self.sigma)

    def weigh(self, other: GaussianVector) -> tuple[np.ndarray, float]:
        """w (k,) and c such that values @ w + c is the log ratio of the density of `other` to this one."""
        step = (other.mean - self.mean) / self.sigma**2
        return np.linalg.solve(self.factor.T, step), float(-(step @ (self.mean + other.mean)) / 2)


@attrs.frozen(eq=False)
class Transformed(ValueLaw):
    """The distribution of f(u) for an invertible function f, which is the same whatever the data: the law of
    u, and the inverse, values f(u) (n, ...) -> u (n, ...).

    >>> steps = Independent((Finite([0, 1], [0.5, 0.5]), Finite([0, 1], [0.25, 0.75])))
    >>> sums = Transformed(steps, inverse=lambda values: np.diff(values, axis=1, prepend=0))
    >>> np.exp(sums.log_density(np.array([[1, 2], [0, 2]]))).tolist()
    [0.375, 0.0]
    """

    law: ValueLaw
    inverse: Callable[[np.ndarray], np.ndarray]

    def log_density(self, values: np.ndarray) -> np.ndarray:
        return self.law.log_density(self.inverse(np.asarray(values)))


@attrs.frozen(eq=False)
class Mixture(ValueLaw):
    """A choice among distributions, by weights (k,) of sum 1, that the value does not show. A number that a
    `Finite` of the mixture can yield is one that its densities yield with probability 0.

    >>> law = Mixture([0.5, 0.5], (Finite([0], [1]), Finite([0, 1], [0.5, 0.5])))
    >>> np.exp(law.log_density(np.array([0, 1]))).tolist()
    [0.75, 0.25]
    """

    weights: np.ndarray = attrs.field(converter=_copy_probabilities)
    laws: Sequence[ValueLaw] = attrs.field(converter=_copy_laws)

    def __attrs_post_init__(self) -> None:
        if self.weights.shape != (len(self.laws),):
            raise InvalidArgument(
                f"{len(self.laws)} distributions need as many weights", value=self.weights.shape
            )
        _check_sum(self.weights, "weights")

    def log_density(self, values: np.ndarray) -> np.ndarray:
        (law,) = simplify_laws(self)
        if not isinstance(law, Mixture):
            return law.log_density(values)
        return _add_logs(np.array([part.log_density(values) for part in law.laws]), law.weights)


def project(law: ValueLaw, onto: Callable[[np.ndarray], np.ndarray] | Sequence[int]) -> ValueLaw:
    """The distribution of a part of a value, if only that is shown.

    onto: of a `Finite`, values (n, ...) -> what is shown (n, ...); of an `Independent`, the indices of the
    coordinates that are shown. Raises: InvalidArgument for other distributions than mixtures of these.

    >>> project(Finite([0, 1, 2], [0.25, 0.25, 0.5]), lambda value: value % 2).probabilities.tolist()
    [0.75, 0.25]
    """
    if isinstance(law, Mixture):
        return Mixture(law.weights, [project(part, onto) for part in law.laws])
    if isinstance(law, Finite) and callable(onto):
        return Finite(*_sum_by_value(onto(law.values), law.probabilities))
    if isinstance(law, Independent) and not callable(onto):
        return Independent(tuple(law.parts[index] for index in onto))
    raise InvalidArgument(
        "a projection needs a Finite and a function, or an Independent and indices of coordinates",
        value=f"{type(law).__name__} and {type(onto).__name__}",
        remedy="Define a ValueLaw with the density of what is shown.",
    )


def simplify_laws(*laws: ValueLaw) -> tuple[ValueLaw, ...]:
    """The distributions of one learner on several samples, with mixtures of `Finite` as one `Finite`, of
    `Density` as one `Density`, and of both as `Branches`."""
    parts = [_list_parts(law) for law in laws]
    kinds = [isinstance(part, Finite) for of_law in parts for _, part in of_law]
    known = all(isinstance(part, Finite | Density) for of_law in parts for _, part in of_law)
    if not known or not any(isinstance(law, Mixture) for law in laws):
        return laws
    if all(kinds):
        return tuple(Finite(*_list_masses(of_law)) for of_law in parts)
    every_density = [part for of_law in parts for _, part in of_law if isinstance(part, Density)]
    densities = [_mix_densities(of_law, every_density) for of_law in parts]
    if not any(kinds):
        return tuple(densities)
    listed = [_list_masses(of_law) for of_law in parts]
    atoms = np.unique(np.concatenate([values.reshape(-1) for values, _ in listed]))
    branches = []
    for (values, masses), density in zip(listed, densities, strict=True):
        at_atoms = np.zeros(len(atoms))
        at_atoms[np.searchsorted(atoms, values.reshape(-1))] = masses
        branches.append(Branches(parts=(*at_atoms.tolist(), density), read=partial(_read_number, atoms)))
    return tuple(branches)


def _list_parts(law: ValueLaw) -> list[tuple[float, ValueLaw]]:
    if not isinstance(law, Mixture):
        return [(1.0, law)]
    return [
        (weight * inner, part)
        for weight, mixed in zip(law.weights.tolist(), law.laws, strict=True)
        for inner, part in _list_parts(mixed)
    ]


def _list_masses(parts: Sequence[tuple[float, ValueLaw]]) -> tuple[np.ndarray, np.ndarray]:
    finite = [(weight, part) for weight, part in parts if isinstance(part, Finite)]
    if not finite:
        return np.zeros(0), np.zeros(0)
    masses = np.concatenate([weight * part.probabilities for weight, part in finite])
    return _sum_by_value(np.concatenate([part.values for _, part in finite]), masses)


def _sum_by_value(values: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found, place = np.unique(values, axis=0, return_inverse=True)
    return found, np.bincount(place.reshape(-1), weights=masses)


def _mix_densities(parts: Sequence[tuple[float, ValueLaw]], every: Sequence[Density]) -> Density:
    """The densities among the parts, each times its weight; with the kinks and limits of every density."""
    own = [(weight, part) for weight, part in parts if isinstance(part, Density)]

    def log(x: np.ndarray) -> np.ndarray:
        logs = np.array([np.full(len(x), -np.inf), *(part.log_density(x) for _, part in own)])
        return _add_logs(logs, np.array([0.0, *(weight for weight, _ in own)]))

    return Density(
        log=log,
        kinks=tuple(sorted({kink for part in every for kink in part.kinks})),
        low=min(part.low for part in every),
        high=max(part.high for part in every),
        scale=min(part.scale for part in every),
    )


def _read_number(atoms: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The branch of each value, its place among the atoms or after them, and the value as a number."""
    numbers = np.asarray(values, np.float64).reshape(len(values))
    place = np.minimum(np.searchsorted(atoms, numbers), len(atoms) - 1)
    return np.where(atoms[place] == numbers, place, len(atoms)), numbers


def _add_logs(logs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    logs = logs + _log(weights)[:, None]
    largest = np.maximum(logs.max(axis=0), -np.finfo(float).max)
    return np.asarray(largest + _log(np.exp(logs - largest).sum(axis=0)))


def _hash(values: np.ndarray, kind: type[np.generic]) -> np.ndarray:
    # Adding 0 turns -0.0 into 0.0, which is equal to it but has other bits.
    return hash_rows(np.asarray(values, kind).reshape(len(values), -1) + kind(0))


def _sort(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(hashes)
    return hashes[order], order


def _log(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))
