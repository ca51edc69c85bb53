"""Whether a strategy of Hypothesis can draw a value: yes, no, or not known.

A search plays only data that the user's strategy draws, so it asks this of every dataset that it makes. What
is built into Hypothesis is taken apart: lists, tuples, numbers, text, filters, and so on. A strategy that
computes what it draws (`map`, `flatmap`, `builds`, `composite`) is run again with values that it could have
drawn, which are chosen from the parts of the value in question. If that gives the value, it can be drawn; if
not, nothing is known.

Hypothesis does not promise to keep the attributes that are read here. Of a strategy without them, what it
drew is all that is known.
"""

from __future__ import annotations

import io
import math
import pickle
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from datetime import date, datetime, time, timedelta
from itertools import islice, product
from types import BuiltinFunctionType
from typing import Any

import attrs
import numpy as np
from hypothesis import strategies as st

from arena.errors import RAISED, CannotBeSent
from arena.schemas.frames import PANDAS, POLARS, find_library
from audits.data.drawn_values import draw_all

Strategy = st.SearchStrategy[Any]
Answer = bool | None

_MOST_VALUES = 256  # of a strategy that is known by all its values
_MOST_GUESSES = 32  # runs of a strategy that computes what it draws, for one value
_MOST_RUNS = 400  # of all strategies for one question, since they may contain each other
_MOST_OTHERS = 12  # for one of the values that a run draws
_MOST_PARTS = 64  # entries of a value that are taken apart further
_UNSENT = st.nothing()
_LOCK = type(threading.RLock())
_ATOMS = (bool, int, float, complex, str, bytes, type(None), date, time, timedelta, np.generic)


class Membership:
    """Answers for one strategy, and for those of which it is made."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._forget()

    def _forget(self) -> None:
        self._pools: dict[int, _Pool] = {}
        self._values: dict[int, tuple[Strategy, list[Any] | None]] = {}
        # Strategies that exist before anything is drawn.
        self._static: dict[int, Strategy] = {id(self._strategy): self._strategy}
        self._active: set[tuple[int, int]] = set()
        self._runs = 0

    def __getstate__(self) -> bytes | None:
        try:
            return _pickle(self._strategy)
        except Exception:  # objects of other libraries may raise anything
            return None  # most processes play what is given, and never ask

    def __setstate__(self, state: bytes | None) -> None:
        self._strategy = _UNSENT if state is None else pickle.loads(state)
        self._forget()

    def list_drawn(self) -> list[Any]:
        """What the strategy drew, in the order in which it was drawn."""
        inner = unwrap(self._strategy)
        self._static[id(inner)] = inner
        return self.draw_pool(inner).values

    def contains(self, value: Any) -> Answer:
        """Whether the strategy can draw a value; None if that is not known."""
        if self._strategy is _UNSENT:
            raise CannotBeSent("the strategy of the data cannot be pickled, so only one process can search")
        self._runs = 0
        return self.judge(self._strategy, value)

    def judge(self, strategy: Strategy, value: Any) -> Answer:
        key = (id(strategy), id(value))
        if key in self._active:
            return False  # a recursive strategy draws it in another way, if it draws it
        self._active.add(key)
        try:
            inner = unwrap(strategy)
            if id(strategy) in self._static:
                self._static[id(inner)] = inner
            name = type(inner).__name__
            if name in _SIMPLE_JUDGES:
                return _SIMPLE_JUDGES[name](inner, value)
            return _JUDGES[name](self, inner, value) if name in _JUDGES else self.ask_pool(inner, value)
        except AttributeError:  # of a strategy of another release of Hypothesis
            return self.ask_pool(strategy, value)
        finally:
            self._active.discard(key)

    def judge_part(self, whole: Strategy, part: Strategy, value: Any) -> Answer:
        """The answer for a strategy of which another is made."""
        if id(whole) in self._static:
            self._static.setdefault(id(part), part)
        return self.judge(part, value)

    def list_values(self, strategy: Strategy) -> list[Any] | None:
        """All values of a strategy that has few; else None."""
        inner = unwrap(strategy)
        if id(inner) in self._values:
            return self._values[id(inner)][1]
        try:
            values = _LISTS[type(inner).__name__](self, inner)
        except (KeyError, AttributeError):
            values = None
        except RAISED:  # of a function of the user's
            values = None
        if values is not None and len(values) > _MOST_VALUES:
            values = None
        if id(inner) in self._static:
            self._values[id(inner)] = inner, values
        return values

    def ask_pool(self, strategy: Strategy, value: Any) -> Answer:
        """Whether a strategy has drawn a value; None if not."""
        return True if self.draw_pool(strategy).contains(value) else None

    def draw_pool(self, strategy: Strategy) -> _Pool:
        """What a strategy drew; nothing of a strategy that only exists while another draws."""
        if id(strategy) not in self._static:
            return _NOTHING
        if id(strategy) not in self._pools:
            self._pools[id(strategy)] = _Pool.of(strategy)
        return self._pools[id(strategy)]

    # --- strategies that compute what they draw ---

    def ask_program(self, strategy: Strategy, value: Any) -> Answer:
        """The answer for a strategy that computes its values from others."""
        values = self.list_values(strategy)
        if values is not None:
            return any(is_same(each, value) for each in values)
        if self.ask_pool(strategy, value):
            return True
        program = _PROGRAMS[type(strategy).__name__](strategy)
        for part in _list_static_parts(strategy):
            if id(strategy) in self._static:
                self._static.setdefault(id(part), part)
        return True if self._guess(program, value, self.draw_pool(strategy)) else None

    def _guess(
        self,
        program: Callable[[Callable[..., Any]], Any],
        wanted: Any,
        pool: _Pool,
    ) -> bool:
        """Whether a run of the program gives what is wanted."""
        parts = _Parts.of(wanted)
        learned = pool.find_entries(parts.rows)
        best: tuple[float, dict[int, Any], _Guess] | None = None

        def run(overrides: dict[int, Any], by_column: bool, size_first: bool) -> bool:
            nonlocal best
            self._runs += 1
            guess = _Guess(self, parts, overrides, learned, by_column, size_first)
            try:
                result = program(guess.draw)
            except RAISED:  # nothing fits what it draws next, or it refuses what it drew
                best = best or (-1.0, overrides, guess)
                return False
            if is_same(result, wanted):
                return True
            score = _compare(parts.atoms, list(_list_atoms(_list_rows(result) or result)))
            if best is None or score > best[0]:
                best = score, overrides, guess
            return False

        for by_column, size_first in product((False, True), repeat=2):
            if self._runs >= _MOST_RUNS:
                return False
            if run({}, by_column, size_first):
                return True
        runs = 0
        while best is not None:
            score, overrides, guess = best
            for place in range(guess.draws):
                for other in guess.list_others(place):
                    runs += 1
                    if runs > _MOST_GUESSES or self._runs >= _MOST_RUNS:
                        return False
                    if run({**overrides, place: other}, *guess.order):
                        return True
                    if best[0] > score:
                        break
                if best[0] > score:
                    break
            if best[0] <= score:
                return False
        return False


def _pickle(strategy: Strategy) -> bytes:
    """A strategy as a pickle. Some hold locks, of which another process has its own."""
    import cloudpickle  # slow to import, and rarely needed
    from hypothesis.internal import floats

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, _LOCK):
                return threading.RLock, ()
            if type(item) is threading.local:
                return threading.local, ()
            name = item.__name__ if isinstance(item, BuiltinFunctionType) else None
            if name is not None and getattr(floats, name, None) is item:
                return getattr, (floats, name)  # the name of its module is not the one it has
            return super().reducer_override(item)

    buffer = io.BytesIO()
    Pickler(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump(strategy)
    return buffer.getvalue()


def unwrap(strategy: Strategy) -> Strategy:
    """The strategy that a lazy or deferred one stands for."""
    seen: set[int] = set()
    while type(strategy).__name__ in ("LazyStrategy", "DeferredStrategy") and id(strategy) not in seen:
        if _read_regex(strategy) is not None:
            break
        seen.add(id(strategy))
        strategy = strategy.wrapped_strategy  # type: ignore[attr-defined]
    return strategy


# --- what is built into Hypothesis --------------------------------------------------------------------------


def _all(answers: Iterator[Answer]) -> Answer:
    """Whether all are true; false at the first that is."""
    known: Answer = True
    for answer in answers:
        if answer is False:
            return False
        known = known and answer
    return known


def _any(answers: Iterator[Answer]) -> Answer:
    """Whether one is true, up to the first that is; if none is, false unless some are not known."""
    known: Answer = False
    for answer in answers:
        if answer:
            return True
        known = None if answer is None else known
    return known


def _judge_integer(strategy: Any, value: Any) -> Answer:
    low, high = strategy.start, strategy.end
    return type(value) is int and (low is None or low <= value) and (high is None or value <= high)


def _judge_float(strategy: Any, value: Any) -> Answer:
    if type(value) is not float:
        return False
    if math.isnan(value):
        return bool(strategy.allow_nan)
    low, high = strategy.min_value, strategy.max_value
    if 0 < abs(value) < strategy.smallest_nonzero_magnitude or not low <= value <= high:
        return False
    if value == 0:  # of which there are two
        sign = math.copysign(1, value)
        return not (low == 0 and math.copysign(1, low) > sign) and not (
            high == 0 and math.copysign(1, high) < sign
        )
    return True


def _judge_text(membership: Membership, strategy: Any, value: Any) -> Answer:
    if type(value) is not str or not strategy.min_size <= len(value) <= strategy.max_size:
        return False
    return _all(membership.judge_part(strategy, strategy.element_strategy, each) for each in set(value))


def _judge_character(strategy: Any, value: Any) -> Answer:
    return type(value) is str and len(value) == 1 and ord(value) in strategy.intervals


def _judge_bytes(strategy: Any, value: Any) -> Answer:
    return type(value) is bytes and strategy.min_size <= len(value) <= strategy.max_size


def _judge_sampled(membership: Membership, strategy: Any, value: Any) -> Answer:
    elements = strategy.elements
    if isinstance(elements, range) and not strategy._transformations:
        return type(value) is int and value in elements
    if not strategy._transformations:
        with suppress(ValueError, TypeError):  # it is not there, or cannot be compared
            if is_same(elements[elements.index(value)], value):
                return True
    values = membership.list_values(strategy)
    if values is None:
        values = _list_sampled(membership, strategy)
    return any(is_same(each, value) for each in values)


def _judge_moment(_: Membership, strategy: Any, value: Any) -> Answer:
    kinds = {"DateStrategy": date, "DatetimeStrategy": datetime, "TimeStrategy": time}
    kind = kinds.get(type(strategy).__name__, timedelta)
    if type(value) is not kind:
        return False
    if getattr(value, "tzinfo", None) is not None:
        return None
    if kind in (datetime, time):
        zones: Any = unwrap(strategy.tz_strat)
        if not (type(zones).__name__ == "JustStrategy" and zones.value is None):
            return None
        if getattr(value, "fold", 0):
            return False
    return bool(strategy.min_value <= value <= strategy.max_value)


def _judge_list(membership: Membership, strategy: Any, value: Any) -> Answer:
    if type(value) is not list or not strategy.min_size <= len(value) <= strategy.max_size:
        return False
    elements: list[Any] = value
    if type(strategy).__name__ != "ListStrategy":
        suffixes = strategy.tuple_suffixes
        if suffixes is not None:
            if not all(type(each) is tuple and each for each in value):
                return False
            rest = _all(membership.judge_part(strategy, suffixes, each[1:]) for each in value)
            if not rest:
                return rest
            elements = [each[0] for each in value]
        for key in strategy.keys:
            if len({key(each) for each in elements}) < len(elements):
                return False
    return _all(
        membership.judge_part(strategy, strategy.element_strategy, each) for each in _drop_equal(elements)
    )


def _drop_equal(values: Sequence[Any]) -> list[Any]:
    """The values, atoms that are equal once."""
    kept: dict[Any, Any] = {}
    for place, value in enumerate(values):
        kind = type(value)
        kept.setdefault((kind, repr(value)) if kind in _ATOMS else place, value)
    return list(kept.values())


def _judge_tuple(membership: Membership, strategy: Any, value: Any) -> Answer:
    parts = strategy.element_strategies
    if type(value) is not tuple or len(value) != len(parts):
        return False
    return _all(membership.judge_part(strategy, part, each) for part, each in zip(parts, value, strict=True))


def _judge_dictionary(membership: Membership, strategy: Any, value: Any) -> Answer:
    fixed, optional = strategy.mapping, strategy.optional or {}
    if type(value) is not type(fixed) or not fixed.keys() <= value.keys() <= fixed.keys() | optional.keys():
        return False
    return _all(
        membership.judge_part(strategy, fixed[name] if name in fixed else optional[name], each)
        for name, each in value.items()
    )


def _judge_one_of(membership: Membership, strategy: Any, value: Any) -> Answer:
    return _any(membership.judge_part(strategy, part, value) for part in strategy.original_strategies)


def _judge_filtered(membership: Membership, strategy: Any, value: Any) -> Answer:
    answer = membership.judge_part(strategy, strategy.filtered_strategy, value)
    if answer is False:
        return False
    try:
        passes = all(condition(deepcopy(value)) for condition in strategy.flat_conditions)
    except RAISED:  # as it would if the value was drawn
        return False
    return answer if passes else False


def _judge_mapped(membership: Membership, strategy: Any, value: Any) -> Answer:
    inner = unwrap(strategy.mapped_strategy)
    is_list = type(inner).__name__ in ("ListStrategy", "UniqueListStrategy", "UniqueSampledListStrategy")
    if is_list and isinstance(strategy.pack, type):
        if issubclass(strategy.pack, set | frozenset):
            if type(value) is not strategy.pack:
                return False
            answer = membership.judge_part(strategy, inner, list(value))
            is_exact = answer or type(inner).__name__ != "ListStrategy"  # which may repeat entries
            return answer if is_exact else None
        if strategy.pack is tuple:
            return type(value) is tuple and membership.judge_part(strategy, inner, list(value))
        if issubclass(strategy.pack, dict):
            is_dict = isinstance(value, dict)
            return is_dict and membership.judge_part(strategy, inner, list(value.items()))
    return membership.ask_program(strategy, value)


def _judge_flat(membership: Membership, strategy: Any, value: Any) -> Answer:
    bases = membership.list_values(strategy.base)
    if bases is None:
        return membership.ask_program(strategy, value)
    return _any(membership.judge(strategy.expand(deepcopy(base)), value) for base in bases)


def _judge_recursive(membership: Membership, strategy: Any, value: Any) -> Answer:
    answer = membership.judge_part(strategy, strategy.strategy, value)
    if not answer or (strategy.min_leaves is None and _count_leaves(value) <= strategy.max_leaves):
        return answer
    return True if membership.ask_pool(strategy, value) else None


def _count_leaves(value: Any) -> int:
    """The leaves of a recursive strategy in a value, at most."""
    if isinstance(value, Mapping):
        return max(1, sum(_count_leaves(each) for pair in value.items() for each in pair))
    if isinstance(value, list | tuple | set | frozenset):
        return max(1, sum(map(_count_leaves, value)))
    return 1 if isinstance(value, _ATOMS) else 10**9


def _judge_limited(membership: Membership, strategy: Any, value: Any) -> Answer:
    return membership.judge_part(strategy, strategy.base_strategy, value)


def _judge_permutation(_: Membership, strategy: Any, value: Any) -> Answer:
    if type(value) is not list or len(value) != len(strategy.values):
        return False
    left = list(strategy.values)
    for each in value:
        place = next((place for place, other in enumerate(left) if is_same(other, each)), None)
        if place is None:
            return False
        del left[place]
    return True


def _judge_array(membership: Membership, strategy: Any, value: Any) -> Answer:
    if type(value) is not np.ndarray or value.dtype != strategy.dtype or value.shape != strategy.shape:
        return False
    cells = value.ravel().tolist()
    distinct = _drop_equal(cells)
    if strategy.unique and len(distinct) < len(cells):
        return False

    def judge(part: Strategy, cell: Any) -> Answer:
        return _any(membership.judge_part(strategy, part, each) for each in _list_casts(cell, value.dtype))

    drawn = _all(judge(strategy.element_strategy, cell) for cell in distinct)
    if drawn or strategy.fill.is_empty or len(cells) < 2 or value.dtype.hasobject:
        return drawn
    # One value fills what is left, and may be one that the elements do not have.
    others = [cell for cell in distinct if not judge(strategy.element_strategy, cell)]
    return drawn if len(others) > 1 else judge(strategy.fill, others[0])


def _list_casts(cell: Any, dtype: np.dtype[Any]) -> list[Any]:
    """What an entry of an array may have been before it was written into the array."""
    casts = [cell]
    with suppress(TypeError, ValueError, OverflowError):
        casts += [int(cell)] if type(cell) is float and cell == int(cell) else []
        casts += [float(cell)] if type(cell) is int and float(cell) == cell else []
        casts += [bool(cell)] if type(cell) in (int, float) and cell in (0, 1) else []
    if dtype.kind in "Mm":
        casts.append(np.asarray(cell, dtype)[()])
    return casts


def _judge_regex(membership: Membership, strategy: Any, value: Any) -> Answer:
    pattern, is_full = _read_regex(strategy) or ("", False)
    if not isinstance(value, str):
        return None
    found = re.fullmatch(pattern, value) if is_full else re.search(pattern, value)
    return found is not None


def _read_regex(strategy: Any) -> tuple[Any, bool] | None:
    """The pattern of `from_regex`, and whether all of a text matches it; None for any other strategy."""
    if getattr(getattr(strategy, "function", None), "__name__", "") != "from_regex":
        return None
    given = dict(zip(("regex", "fullmatch"), strategy._LazyStrategy__args, strict=False))
    given |= strategy._LazyStrategy__kwargs
    is_plain = given.get("alphabet") is None and isinstance(given["regex"], str)
    return (given["regex"], bool(given.get("fullmatch"))) if is_plain else None


_SIMPLE_JUDGES: dict[str, Callable[[Any, Any], Answer]] = {  # of strategies that are made of no others
    "IntegersStrategy": _judge_integer,
    "BooleansStrategy": lambda strategy, value: type(value) is bool,
    "FloatStrategy": _judge_float,
    "NanStrategy": lambda strategy, value: type(value) is float and math.isnan(value),
    "OneCharStringStrategy": _judge_character,
    "BytesStrategy": _judge_bytes,
    "Nothing": lambda strategy, value: False,
}
_JUDGES: dict[str, Callable[[Membership, Any, Any], Answer]] = {
    "TextStrategy": _judge_text,
    "SampledFromStrategy": _judge_sampled,
    "JustStrategy": _judge_sampled,
    "DateStrategy": _judge_moment,
    "DatetimeStrategy": _judge_moment,
    "TimeStrategy": _judge_moment,
    "TimedeltaStrategy": _judge_moment,
    "ListStrategy": _judge_list,
    "UniqueListStrategy": _judge_list,
    "UniqueSampledListStrategy": _judge_list,
    "TupleStrategy": _judge_tuple,
    "FixedDictStrategy": _judge_dictionary,
    "OneOfStrategy": _judge_one_of,
    "FilteredStrategy": _judge_filtered,
    "MappedStrategy": _judge_mapped,
    "FlatMapStrategy": _judge_flat,
    "RecursiveStrategy": _judge_recursive,
    "LimitedStrategy": _judge_limited,
    "PermutationStrategy": _judge_permutation,
    "ArrayStrategy": _judge_array,
    "LazyStrategy": _judge_regex,
    "BuildsStrategy": Membership.ask_program,
    "CompositeStrategy": Membership.ask_program,
}


def _list_sampled(_: Membership, strategy: Any) -> list[Any]:
    values = []
    for element in strategy.elements:
        value, keeps = element, True
        for name, function, *_place in strategy._transformations:
            if name == "map":
                value = function(deepcopy(value))
            elif not function(value):
                keeps = False
                break
        values += [value] * keeps
    return values


def _list_integers(_: Membership, strategy: Any) -> list[Any] | None:
    if strategy.start is None or strategy.end is None or strategy.end - strategy.start >= _MOST_VALUES:
        return None
    return list(range(strategy.start, strategy.end + 1))


def _list_union(membership: Membership, strategy: Any) -> list[Any] | None:
    lists = [membership.list_values(part) for part in strategy.original_strategies]
    return None if None in lists else [value for each in lists for value in each or ()]


def _list_tuples(membership: Membership, strategy: Any) -> list[Any] | None:
    lists = [membership.list_values(part) for part in strategy.element_strategies]
    known = [each for each in lists if each is not None]
    if len(known) < len(lists) or math.prod(map(len, known)) > _MOST_VALUES:
        return None
    return list(product(*known))


def _list_filtered(membership: Membership, strategy: Any) -> list[Any] | None:
    values = membership.list_values(strategy.filtered_strategy)
    if values is None:
        return None
    return [value for value in values if all(condition(value) for condition in strategy.flat_conditions)]


def _list_images(membership: Membership, strategy: Any) -> list[Any] | None:
    values = membership.list_values(strategy.mapped_strategy)
    return None if values is None else [strategy.pack(deepcopy(value)) for value in values]


_LISTS: dict[str, Callable[[Membership, Any], list[Any] | None]] = {
    "SampledFromStrategy": lambda membership, strategy: (
        _list_sampled(membership, strategy) if len(strategy.elements) <= _MOST_VALUES else None
    ),
    "JustStrategy": _list_sampled,
    "BooleansStrategy": lambda _, strategy: [False, True],
    "IntegersStrategy": _list_integers,
    "OneOfStrategy": _list_union,
    "TupleStrategy": _list_tuples,
    "FilteredStrategy": _list_filtered,
    "MappedStrategy": _list_images,
}


def read_sizes(strategy: Strategy) -> tuple[int, int | None] | None:
    """The least and the largest number of records of the data that a strategy draws, as far as it says so
    itself; None if it does not, and None for the largest if there is none."""
    try:
        return _read_sizes(unwrap(strategy))
    except AttributeError:
        return None


def _read_sizes(inner: Any) -> tuple[int, int | None] | None:
    name = type(inner).__name__
    if name in ("ListStrategy", "UniqueListStrategy", "UniqueSampledListStrategy"):
        return inner.min_size, None if math.isinf(inner.max_size) else int(inner.max_size)
    if name == "TupleStrategy":
        return (len(inner.element_strategies),) * 2
    if name == "ArrayStrategy" and inner.shape:
        return (inner.shape[0],) * 2
    if name == "FilteredStrategy":
        return read_sizes(inner.filtered_strategy)
    if name == "MappedStrategy" and inner.pack is tuple:
        return read_sizes(inner.mapped_strategy)
    if name == "OneOfStrategy":
        sizes = [read_sizes(part) for part in inner.original_strategies]
        known = [each for each in sizes if each is not None]
        if known and len(known) == len(sizes):
            largest = [high for _, high in known]
            return min(low for low, _ in known), None if None in largest else max(h for h in largest if h)
    return None


def read_list(strategy: Strategy) -> tuple[Strategy, tuple[Callable[[Any], Any], ...]] | None:
    """The strategy of the records of which a strategy draws all lists of some sizes, and the keys of which no
    two records of a list have the same; None for any other strategy."""
    try:
        inner: Any = unwrap(strategy)
        name = type(inner).__name__
        if name == "ListStrategy":
            return inner.element_strategy, ()
        if name in ("UniqueListStrategy", "UniqueSampledListStrategy") and inner.tuple_suffixes is None:
            return inner.element_strategy, tuple(inner.keys)
    except AttributeError:
        pass
    return None


# --- strategies that compute what they draw -----------------------------------------------------------------


_PROGRAMS: dict[str, Callable[[Any], Callable[[Callable[..., Any]], Any]]] = {
    "MappedStrategy": lambda s: lambda draw: s.pack(draw(s.mapped_strategy)),
    "FlatMapStrategy": lambda s: lambda draw: draw(s.expand(draw(s.base))),
    "BuildsStrategy": lambda s: (
        lambda draw: s.target(
            *[draw(each) for each in s.args], **{name: draw(each) for name, each in s.kwargs.items()}
        )
    ),
    "CompositeStrategy": lambda s: lambda draw: s.definition(draw, *s.args, **s.kwargs),
}


def _list_static_parts(strategy: Any) -> list[Strategy]:
    """The strategies from which a strategy that computes its values certainly draws the same each time."""
    named = [getattr(strategy, name, None) for name in ("mapped_strategy", "base")]
    given = [*getattr(strategy, "args", ()), *getattr(strategy, "kwargs", {}).values()]
    return [each for each in (*named, *given) if isinstance(each, st.SearchStrategy)]


def _draw_traces(strategy: Strategy) -> list[tuple[Any, list[Any]]]:
    """What a strategy draws, each with what it drew before to compute it."""
    name = type(strategy).__name__
    if name not in _PROGRAMS:
        return [(value, []) for value in draw_all(strategy, "data")]
    program = _PROGRAMS[name](strategy)

    @st.composite
    def trace(draw: st.DrawFn) -> tuple[Any, list[Any]]:
        values: list[Any] = []

        def note(part: Strategy, label: object = None) -> Any:
            value = draw(part)
            values.append(deepcopy(value))
            return value

        return program(note), values

    return draw_all(trace(), "data")


@attrs.frozen
class _Parts:
    """The parts of a value of which it may have been computed. wholes: lists, columns, rows and the like.
    atoms, by_column: all numbers, texts and dates in two orders. sizes: how many entries there are. rows: the
    entries, if it has any."""

    wholes: list[Any]
    atoms: list[Any]
    by_column: list[Any]
    sizes: list[int]
    rows: list[Any]

    @classmethod
    def of(cls, value: Any) -> _Parts:
        wholes, sizes = [value], []
        rows = _list_rows(value)
        for whole in _list_wholes(value):
            wholes.append(whole)
        for whole in [value, *wholes[:_MOST_PARTS]]:
            if hasattr(whole, "__len__") and not isinstance(whole, str | bytes):
                sizes.append(len(whole))
        atoms = list(_list_atoms(rows if rows else value))
        columns = _list_columns(value)
        by_column = list(_list_atoms(columns)) if columns else atoms
        return cls(wholes, atoms, by_column, list(dict.fromkeys(sizes)), rows)


def _list_columns(value: Any) -> list[list[Any]]:
    """The columns of a value that is a table; else nothing."""
    library = find_library(value)
    if library == PANDAS:
        return [value.iloc[:, place].tolist() for place in range(value.shape[1])]
    if library == POLARS:
        return [column.to_list() for column in value.get_columns()]
    if isinstance(value, np.ndarray):
        return [list(column) for column in value.T.tolist()] if value.ndim == 2 else []
    if isinstance(value, dict):
        columns = [_as_list(each) for each in value.values() if isinstance(each, list | tuple | np.ndarray)]
        return columns if columns and len({*map(len, columns)}) == 1 else []
    if isinstance(value, list | tuple):
        if value and all(isinstance(each, np.ndarray) and each.ndim for each in value):
            return [_as_list(each) for each in value] if len({*map(len, value)}) == 1 else []
        if value and all(isinstance(each, list | tuple) for each in value):
            return [list(each) for each in zip(*value, strict=True)] if len({*map(len, value)}) == 1 else []
        if value and all(isinstance(each, dict) and each.keys() == value[0].keys() for each in value):
            return [[each[name] for each in value] for name in value[0]]
    return []


def _is_series(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] in (PANDAS, POLARS) and hasattr(value, "to_list")


def _as_list(column: Any) -> list[Any]:
    return list(column.tolist() if isinstance(column, np.ndarray) else column)


def _list_rows(value: Any) -> list[Any]:
    """The rows or entries of a value; nothing of one that has none."""
    library = find_library(value)
    if library or isinstance(value, dict) or (isinstance(value, np.ndarray) and value.ndim == 2):
        return list(zip(*_list_columns(value), strict=True))
    if isinstance(value, np.ndarray):
        return list(value.tolist()) if value.ndim else []
    return list(value) if isinstance(value, list | tuple) else []


def _list_wholes(value: Any, depth: int = 0) -> Iterator[Any]:
    """Other forms of a value, then its parts and their forms."""
    columns, rows = _list_columns(value), _list_rows(value)
    if isinstance(value, list | tuple):
        yield tuple(value) if isinstance(value, list) else list(value)
    elif isinstance(value, set | frozenset):
        with suppress(TypeError):
            yield sorted(value)
        yield list(value)
    elif isinstance(value, np.ndarray):
        yield value.tolist()
        yield value.shape
        if value.ndim == 2:
            yield from (value[:, place] for place in range(value.shape[1]))
    elif isinstance(value, dict):
        yield list(value.items())
    elif isinstance(value, str) and not depth:
        yield from (value.split(), value.splitlines(), value.split(","), list(value))
    elif find_library(value) == PANDAS:
        yield value.index
        yield value.index.tolist()
        for place in range(value.shape[1]):
            column = value.iloc[:, place]
            yield from (column, column.to_numpy())
    elif find_library(value) == POLARS:
        yield from value.get_columns()
    elif _is_series(value):
        yield from (value.to_list(), value.to_numpy(), getattr(value, "index", ()))
        yield np.fromiter(value.to_list(), object, len(value))
        return
    elif not isinstance(value, _ATOMS) and hasattr(value, "__dict__"):
        state = vars(value)
        yield from (dict(state), tuple(state.values()))
        rows = list(state.values())
    if columns:
        yield from columns
        names = _list_names(value)
        if not isinstance(value, list):
            yield [tuple(row) for row in rows]
        yield [list(row) for row in zip(*columns, strict=True)]
        if names:
            yield [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
            yield dict(zip(names, columns, strict=True))
    parts = value.values() if isinstance(value, dict) else rows
    for part in islice(parts, _MOST_PARTS if depth < 3 else 0):
        if not isinstance(part, _ATOMS):
            yield part
    for part in islice(parts, _MOST_PARTS if depth < 3 else 0):
        if not isinstance(part, _ATOMS):
            yield from _list_wholes(part, depth + 1)


def _list_names(value: Any) -> list[Any]:
    if find_library(value):
        return list(value.columns)
    return list(value) if isinstance(value, dict) else []


def _list_atoms(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray) or _is_series(value):
        yield from _list_atoms(value.tolist() if isinstance(value, np.ndarray) else value.to_list())
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _list_atoms(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _list_atoms(each)
    elif find_library(value):
        yield from _list_atoms(_list_rows(value))
    elif not isinstance(value, _ATOMS) and hasattr(value, "__dict__"):
        yield from _list_atoms(vars(value))
    else:
        yield value


def _compare(wanted: Sequence[Any], made: Sequence[Any]) -> float:
    """How much of what is wanted was made, from 0 to 1."""
    if not wanted or not made:
        return 0.0
    equal = sum(is_same(*pair) for pair in zip(wanted, made, strict=False))
    return equal / max(len(wanted), len(made)) - abs(len(wanted) - len(made)) / 1e3


@attrs.define
class _Pool:
    """What a strategy drew.

    strategy: kept, since its identity is a key. values: without what they were computed from.
    tables: by the place of a list that it drew to compute a value, the entry of it for each of the value.
    """

    strategy: Strategy | None = None
    values: list[Any] = attrs.field(factory=list)
    _by_key: dict[str, list[Any]] = attrs.field(factory=dict)
    _tables: dict[int, dict[str, Any]] = attrs.field(factory=dict)

    @classmethod
    def of(cls, strategy: Strategy) -> _Pool:
        pool = cls(strategy)
        for value, drawn in _draw_traces(strategy):
            pool.values.append(value)
            pool._by_key.setdefault(_describe(value), []).append(value)
            rows = _list_rows(value)
            for place, part in enumerate(drawn):
                if isinstance(part, list | tuple) and len(part) == len(rows):
                    table = pool._tables.setdefault(place, {})
                    for row, entry in zip(rows, part, strict=True):
                        table.setdefault(repr(row), entry)
        return pool

    def contains(self, value: Any) -> bool:
        return any(is_same(drawn, value) for drawn in self._by_key.get(_describe(value), ()))

    def find_entries(self, rows: Sequence[Any]) -> dict[int, list[Any]]:
        """By the place of a list that is drawn, the one of which rows like these were computed before."""
        found = {}
        for place, table in self._tables.items():
            entries = [table.get(repr(row), _UNKNOWN) for row in rows]
            if not any(each is _UNKNOWN for each in entries):
                found[place] = entries
        return found


def _describe(value: Any) -> str:
    """A text that is the same for equal values, and for few others."""
    return repr(sorted(map(repr, _list_atoms(value))))


_UNKNOWN = object()


class _Guess:
    """Draws for one run what may lead to the wanted value. draws: how many draws it has made. order: whether
    atoms are taken column by column, and whether the size comes before."""

    def __init__(
        self,
        membership: Membership,
        parts: _Parts,
        overrides: Mapping[int, Any],
        learned: Mapping[int, Any],
        by_column: bool,
        size_first: bool,
    ) -> None:
        self.order = by_column, size_first
        self._size_first = size_first
        self._drawn: list[tuple[Any, Iterator[tuple[Any, Callable[[], None]]]]] = []  # and what fits, too
        self._membership, self._parts = membership, parts
        self._overrides, self._learned = overrides, learned
        self._atoms = parts.by_column if by_column else parts.atoms
        self._cursor = 0
        self._used: set[int] = set()  # places of wholes
        self._sizes = list(parts.sizes)

    @property
    def draws(self) -> int:
        return len(self._drawn)

    def list_others(self, place: int) -> list[Any]:
        """What else the draw at a place could have been."""
        chosen, fitting = self._drawn[place]
        seen = [chosen]
        for other, _ in islice(fitting, 4 * _MOST_OTHERS):
            if len(seen) <= _MOST_OTHERS and not any(is_same(other, each) for each in seen):
                seen.append(other)
        return seen[1:]

    def draw(self, strategy: Strategy, label: object = None) -> Any:
        place = len(self._drawn)
        self._drawn.append((None, iter(())))
        if place in self._overrides:
            if not self._membership.judge(strategy, self._overrides[place]):
                raise LookupError("what fitted before does not")
            return deepcopy(self._overrides[place])
        fitting = self._list_fitting(strategy, place)
        first = next(fitting, None)
        if first is None:
            raise LookupError("nothing fits")
        chosen, use = first
        self._drawn[place] = chosen, fitting
        use()
        return deepcopy(chosen)

    def _list_fitting(self, strategy: Strategy, place: int) -> Iterator[tuple[Any, Callable[[], None]]]:
        inner = unwrap(strategy)
        simple = _SIMPLE_JUDGES.get(type(inner).__name__)
        for value, use in self._list_candidates(strategy, place):
            fits = self._membership.judge(strategy, value) if simple is None else simple(inner, value)
            if fits:
                yield value, use

    def _list_candidates(self, strategy: Strategy, place: int) -> Iterator[tuple[Any, Callable[[], None]]]:
        def ignore() -> None:
            pass

        used, cursor = frozenset(self._used), min(self._cursor, len(self._atoms))  # before this draw
        sizes = [(size, self._use_size(size)) for size in self._sizes]
        if place in self._learned:
            yield self._learned[place], ignore
        if self._size_first:
            yield from sizes[:1]
        wholes = list(enumerate(self._parts.wholes))
        yield from ((whole, self._use_whole(n)) for n, whole in wholes if n not in used)
        order = [*range(cursor, len(self._atoms)), *range(cursor)]
        for number in order:
            atom = self._atoms[number]
            casts = _list_casts(atom, _NO_TYPE)
            casts += [np.asarray(atom)[()]] if type(atom) in (int, float) else []
            for cast in casts:
                yield cast, self._use_atom(number)
        yield from sizes
        yield from ((whole, ignore) for n, whole in wholes if n in used)
        yield from ((value, ignore) for value in self._membership.list_values(strategy) or ())
        yield from ((drawn, ignore) for drawn in self._membership.draw_pool(strategy).values[:_MOST_OTHERS])

    def _use_size(self, size: int) -> Callable[[], None]:
        def use() -> None:
            if self._sizes[:1] == [size]:
                self._size_first = False

        return use

    def _use_whole(self, number: int) -> Callable[[], None]:
        return lambda: self._used.add(number)

    def _use_atom(self, number: int) -> Callable[[], None]:
        def use() -> None:
            self._cursor = number + 1

        return use


_NO_TYPE = np.dtype(object)
_NOTHING = _Pool()


# --- equality -----------------------------------------------------------------------------------------------


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, and of the same types, where NaN equals NaN, and 0.0 is not −0.0. The
    order of the keys of a dictionary does not count."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return is_same(one.ravel().tolist(), other.ravel().tolist())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    library = find_library(one)
    if library == POLARS:
        return one.schema == other.schema and is_same(one.rows(), other.rows())
    if library == PANDAS:
        return (
            list(one.columns) == list(other.columns)
            and list(one.dtypes) == list(other.dtypes)
            and bool(one.index.equals(other.index))
            and bool(one.equals(other))
        )
    try:
        if hasattr(one, "equals"):
            return bool(one.equals(other))
        kind: Any = type(one)
        if kind.__eq__ is object.__eq__ and hasattr(one, "__dict__"):
            return is_same(vars(one), vars(other))
        return bool(one == other)
    except RAISED:  # of a method of the user's
        return False
