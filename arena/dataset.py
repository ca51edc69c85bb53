"""Datasets: ordered lists of records, which referees compare and learners receive."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np

INCOMPARABLE = -1  # in place of a number of changes


class Dataset(ABC):
    """An ordered list of records, stored as runs: `counts[0]` ≥ 1 copies of record 0, then `counts[1]` copies
    of record 1, and so on. Equality is that of the lists, however they are divided into runs.

    blank: (k,) bool, the runs of the record that stands for none where neighbours zero out one.
    """

    counts: np.ndarray
    blank: np.ndarray

    @cached_property
    def size(self) -> int:
        """The number of records."""
        return int(self.counts.sum())

    @cached_property
    def digest(self) -> str:
        """A hash of the list, the same however it is divided into runs."""
        state = hashlib.sha256()
        for array in self.merge_runs():
            state.update(f"{array.dtype.str}{array.shape}".encode())
            state.update(np.ascontiguousarray(array).tobytes())
        return state.hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and type(self) is type(other) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @abstractmethod
    def own_copy(self) -> Self:
        """The same list as an object of exactly this class, which changes to the given one do not reach."""

    @abstractmethod
    def merge_runs(self) -> tuple[np.ndarray, ...]:
        """Arrays (m, ...) that identify the record of each run, and its counts (m,), when adjacent runs of
        equal records are merged."""

    @abstractmethod
    def is_comparable(self, other: Dataset) -> bool:
        """Whether records of both lists can be equal at all: whether they are of one kind and shape."""

    @abstractmethod
    def differ(self, runs: np.ndarray, other: Self, others: np.ndarray) -> np.ndarray:
        """(m,) bool: where the record of one of `runs` (m,) is another than that of the other list's."""

    @abstractmethod
    def select(self, runs: np.ndarray) -> Self:
        """The list of these runs alone, by indices or a mask."""

    @abstractmethod
    def repeat(self, counts: np.ndarray) -> Self:
        """The list with other counts (k,) of its runs, each at least 1."""

    @abstractmethod
    def vary(self) -> Self:
        """Another list of the same size, made of the same records or points, if there is one."""

    @abstractmethod
    def list_for_users(self) -> Any:
        """What a function that says whose each record is receives: one entry for each run."""

    def list_numbers(self) -> list[float] | None:
        """All numbers of all records in order; None if they hold anything else."""
        return None

    @abstractmethod
    def describe(self, most: int = 4, *, reads: Any = "both") -> str:
        """The size and the first `most` runs, as one line of text, with the parts that `reads` names."""

    def differences(self, other: Dataset, *, blanked: bool = False) -> int:
        """The number of positions at which the lists hold different records, of which one is blank if
        `blanked`; `INCOMPARABLE` if their lengths differ."""
        if self.size != other.size or not self.is_comparable(other):
            return INCOMPARABLE
        ends, other_ends = np.cumsum(self.counts), np.cumsum(other.counts)
        stretches = np.union1d(ends, other_ends)  # their ends; within each, both lists hold one record
        lengths = np.diff(stretches, prepend=0)
        own, others = np.searchsorted(ends, stretches), np.searchsorted(other_ends, stretches)
        differ = self.differ(own, other, others)
        if blanked:
            differ &= self.blank[own] | other.blank[others]
        return int(lengths[differ].sum())

    def count_inserted(self, longer: Dataset) -> int:
        """The number of records of `longer` without which it is this list, in the same order;
        `INCOMPARABLE` if there is none."""
        if not self.is_comparable(longer):
            return INCOMPARABLE
        run, needed = 0, int(self.counts[0]) if len(self.counts) else 0
        for place, count in enumerate(longer.counts.tolist()):
            available = count
            while needed and available and not self.differ(_at(run), longer, _at(place))[0]:
                taken = min(needed, available)
                needed, available = needed - taken, available - taken
                if not needed and run + 1 < len(self.counts):
                    run += 1
                    needed = int(self.counts[run])
        return INCOMPARABLE if needed else longer.size - self.size

    def count_of_user(self, longer: Dataset, users_of: Callable[[Any], np.ndarray]) -> int:
        """The number of records of `longer`, all of one user, without which it is this list; `INCOMPARABLE`
        if there is none. users_of: whose each run of a list is, from `list_for_users`."""
        if self == longer:
            return 0
        if not self.is_comparable(longer):
            return INCOMPARABLE
        owners, others = users_of(longer.list_for_users()), users_of(self.list_for_users())
        gone = np.setdiff1d(owners, others)
        if len(gone) != 1:
            return INCOMPARABLE
        kept = owners != gone[0]
        if not (kept.any() and self.size):
            return INCOMPARABLE if kept.any() or self.size else longer.size
        return longer.size - self.size if longer.select(kept) == self else INCOMPARABLE


def _at(run: int) -> np.ndarray:
    return np.array([run])
