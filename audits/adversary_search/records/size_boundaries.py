"""Numbers of equal records, and entries of vectors, at which a release becomes another kind of release (an
exception, another type or shape, or a number that is not finite) or jumps: at a rounding, at a threshold,
where a type overflows. Neighbours on both sides of such a boundary are told apart at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise

import attrs
import numpy as np

from arena.claims import Relation
from arena.records import Records
from arena.schemas.schema import Schema
from audits.adversary_search.records.obvious_records import list_equal_neighbours
from audits.adversary_search.records.vector_pairs import list_vector_lines

_SIZES = tuple(2**power for power in range(13))
_GROWING = 3  # changes of kind in a row, from which on a release has an entry for each record
_STEEP = 2.0  # times the usual slope, by which a jump differs from it more than the slope of a sum does
_STANDARD_ERRORS = 4.0  # by which a change exceeds chance
_Worlds = tuple[Records, Records]
Numbers = Mapping[str, np.ndarray]  # (games,) by feature, of games that have the same coins for all records
Release = tuple[Hashable, Numbers]  # its kind, and its numbers


def find_boundaries(
    schema: Schema, relation: Relation, find_release: Callable[[Records], Release]
) -> Iterator[_Worlds]:
    """Neighbours of which one is just below, and one just above, a boundary between the sizes 1, 2, 4, …,
    4,096, or between entries of vectors: where the kind of the release changes, or where one of its numbers
    changes far more than it usually does. find_release: of the games on some records."""
    for make_neighbours in list_equal_neighbours(schema, relation):
        yield from _Line(make_neighbours, 1.0, find_release).find_boundaries(_SIZES)
    for make_neighbours, entries, step in list_vector_lines(schema, relation):
        yield from _Line(make_neighbours, step, find_release).find_boundaries(entries)


@attrs.define(eq=False)
class _Line:
    """Neighbours at places on a line. step: the least distance of two places."""

    _make_neighbours: Callable[..., _Worlds | None]
    _step: float
    _find_release: Callable[[Records], Release]
    _releases: dict[float, Release] = attrs.field(factory=dict)

    def find_boundaries(self, places: Sequence[float]) -> Iterator[_Worlds]:
        changes: list[tuple[float, float]] = []
        looked: list[float] = []
        for place in places:
            if not self._look(place):
                continue
            looked.append(place)
            if len(looked) > 1 and self._kind(looked[-2]) != self._kind(place):
                changes.append((looked[-2], place))
            last = list(pairwise(looked[-_GROWING - 1 :]))
            if len(last) == _GROWING and changes[-_GROWING:] == last:
                changes = changes[:-_GROWING]
                break
        for low, high in changes:
            yield from self._list_pairs(
                self._bisect(low, high, lambda start, middle, _: self._kind(start) == self._kind(middle))
            )
        yield from self._list_pairs(self._find_jump(list(pairwise(looked))))

    def _find_jump(self, spans: Sequence[tuple[float, float]]) -> tuple[float, ...]:
        """The two places between which a number changes most, compared with how it usually changes, or in the
        other direction, as where a type overflows."""
        slopes = [self._measure_slopes(low, high) for low, high in spans]
        names = {name for each in slopes for name in each}
        usual = {name: float(np.median([each.get(name, 0.0) for each in slopes])) for name in names}
        steeper = [
            (unusual / abs(usual[name]) if usual[name] else np.inf, unusual, number, name)
            for number, each in enumerate(slopes)
            for name, slope in each.items()
            if abs(slope - usual[name] / 2) > abs(usual[name]) / 2  # it is not between 0 and the usual one
            for unusual in [abs(slope - usual[name])]
        ]
        if not steeper:
            return ()
        *_, number, name = max(steeper)

        def measure(low: float, high: float) -> float:
            return abs(self._measure_slopes(low, high).get(name, 0.0) - usual[name])

        places = self._bisect(
            *spans[number], lambda low, middle, high: measure(middle, high) > measure(low, middle)
        )
        return places if places and measure(*places) > _STEEP * abs(usual[name]) else ()

    def _bisect(
        self, low: float, high: float, is_above: Callable[[float, float, float], bool]
    ) -> tuple[float, ...]:
        """The ends of a span that is halved down to a step; none if there are no neighbours in between."""
        while high - low > self._step:
            middle = (low + high) / 2 if self._step < 1 else (low + high) // 2
            if middle in (low, high) or not self._look(middle):
                return ()
            low, high = (middle, high) if is_above(low, middle, high) else (low, middle)
        return low, high

    def _list_pairs(self, places: Sequence[float]) -> Iterator[_Worlds]:
        """The neighbours at the places, of which one has one record more, or as many."""
        yield from (worlds for worlds in map(self._make_neighbours, places) if worlds is not None)

    def _look(self, place: float) -> bool:
        """Whether there are neighbours at a place, whose release is known then."""
        worlds = self._make_neighbours(place)
        if worlds is not None and place not in self._releases:
            self._releases[place] = self._find_release(worlds[0])
        return worlds is not None

    def _kind(self, place: float) -> Hashable:
        return self._releases[place][0]

    def _measure_slopes(self, low: float, high: float) -> dict[str, float]:
        """By feature, the mean change for each unit, or 0 where chance explains it."""
        slopes = {}
        before, after = self._releases[low][1], self._releases[high][1]
        for name in before.keys() & after.keys():
            change = after[name] - before[name]
            error = float(change.std() / np.sqrt(len(change)))
            mean = float(change.mean())
            slopes[name] = mean / (high - low) if abs(mean) > _STANDARD_ERRORS * error else 0.0
        return slopes
