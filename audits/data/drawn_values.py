"""The values that a strategy of Hypothesis draws, from which schemas know what fields may hold."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, currently_in_test_context, given, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from hypothesis.internal.conjecture import providers

from arena.errors import RAISED, ArenaError, InvalidArgument, describe_error, locate_error
from arena.records import record_key
from arena.schemas.forms import is_missing
from arena.schemas.frames import find_library
from arena.schemas.schema import spread_out

_DRAWS = 200  # of a strategy, which show the values that it may draw
MOST_EXAMPLES = 64  # of these that a search uses
_KINDS = {"integers": int, "floats": float, "text": str}  # of strategies whose extreme values are known
_LONG_TEXT = 1_000  # characters, of a text that may be as long or longer


def draw_values(
    strategy: st.SearchStrategy[Any],
    what: str,
    number: int = _DRAWS,
    key: Callable[[Any], Any] | None = None,
) -> list[Any]:
    """Distinct values that a strategy draws, always the same ones, the simplest first, and with the extreme
    ones. key: by which they are distinct; default: that of records. Raises: InvalidArgument if it draws
    nothing."""
    drawn = draw_all(strategy, what, number)
    return _add_extremes(repr(strategy), drawn, key)


def draw_all(strategy: st.SearchStrategy[Any], what: str, number: int = _DRAWS) -> list[Any]:
    """What a strategy draws, always the same, in the order in which it is drawn. Raises: InvalidArgument if
    it draws nothing."""
    drawn: list[Any] = []
    try:
        with ignore_modules():
            call_outside_tests(lambda: _draw(strategy, number, drawn))
    except HypothesisException as error:
        raise InvalidArgument(f"the strategy of {what} must draw something", value=strategy) from error
    except ArenaError:
        raise
    except RAISED as error:
        place = locate_error(error)
        raise InvalidArgument(
            f"the strategy of {what} raised {describe_error(error)}" + (f" ({place})" if place else ""),
            value=strategy,
        ) from error
    return drawn


def _draw(strategy: st.SearchStrategy[Any], number: int, drawn: list[Any]) -> None:
    @settings(
        max_examples=number,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(value: Any) -> None:
        drawn.append(value)

    draw()


def call_outside_tests(call: Callable[[], None], stop: Callable[[], None] = lambda: None) -> None:
    """Call where Hypothesis sees no test of the user's, within which it would refuse to run another. stop:
    ends the call, and is called if this process is interrupted."""
    if not currently_in_test_context():
        call()
        return
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(copy_context().run, call)
        try:
            running.result()
        except KeyboardInterrupt:
            stop()
            raise


@contextmanager
def ignore_modules() -> Iterator[None]:
    """Let Hypothesis draw no constants of the modules that are imported, as it does otherwise: what a seed
    leads to must not depend on them. It has no setting for this."""
    names = vars(providers)
    replaced: dict[str, Any] = {"CONSTANTS_CACHE": {}, "_get_local_constants": names.get("Constants")}
    usual = {name: names[name] for name in replaced if name in names}
    if len(usual) == len(replaced) and "Constants" in names:
        names.update(replaced)
    try:
        yield
    finally:
        names.update(usual)


def order_values(values: Sequence[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    distinct = {(key or _key_of)(value): value for value in values}
    return sorted(distinct.values(), key=_measure)


def _key_of(value: Any) -> Any:
    if find_library(value) or isinstance(value, np.ndarray):
        return id(value)
    return record_key(value)


def choose_examples(rows: Sequence[Any]) -> tuple[Any, ...]:
    """Some of these records: the simplest, those with the least, the largest and missing values of each
    field, and others evenly spread over the rest."""
    simplest = order_values(rows)
    if len(simplest) <= MOST_EXAMPLES:
        return tuple(simplest)
    extreme = []
    for cells in _list_fields(simplest):
        missing = [is_missing(cell) for cell in cells]
        places = [place for place, is_none in enumerate(missing) if not is_none]
        with suppress(TypeError):  # of values that have no order
            extreme += (
                [min(places, key=cells.__getitem__), max(places, key=cells.__getitem__)] if places else []
            )
        extreme += [missing.index(True)] if any(missing) else []
    others = spread_out(range(len(simplest)), max(MOST_EXAMPLES - len(extreme), 1))
    kept = dict.fromkeys([*others, *extreme])
    return tuple(simplest[place] for place in sorted(kept)[:MOST_EXAMPLES])


def _list_fields(records: Sequence[Any]) -> list[list[Any]]:
    """The values of each field of all records, if these are tuples, lists or dictionaries of the same
    fields; else the records."""
    first = records[0]
    if isinstance(first, dict) and all(
        isinstance(each, dict) and each.keys() == first.keys() for each in records
    ):
        return [[record[name] for record in records] for name in first]
    if isinstance(first, list | tuple) and all(
        type(r) is type(first) and len(r) == len(first) for r in records
    ):
        return [list(cells) for cells in zip(*records, strict=True)]
    return [list(records)]


def _measure(value: Any) -> tuple[int, str]:
    """A key that orders values by how simple they are."""
    text = repr(value)
    return len(text), text


def list_independent(
    record: st.SearchStrategy[Any], pool: Sequence[Any]
) -> tuple[tuple[Any, ...], ...] | None:
    """The values of each field of records whose fields are drawn independently: of a strategy that its text
    shows to be `fixed_dictionaries` or `tuples` of others, and nothing more."""
    call = _read_call(repr(record))
    kind = "" if call is None or call.keywords else ast.unparse(call.func)
    if call is None or kind not in ("fixed_dictionaries", "tuples") or not pool[0]:
        return None
    texts: dict[Any, ast.expr] = dict(enumerate(call.args))
    if isinstance(fields := call.args[0], ast.Dict):
        texts = {_read_literal(key): text for key, text in zip(fields.keys, fields.values, strict=True)}
    names = list(pool[0]) if isinstance(pool[0], dict) else range(len(pool[0]))
    return tuple(
        tuple(_add_extremes(ast.unparse(texts[name]) if name in texts else "", [each[name] for each in pool]))
        for name in names
    )


def _add_extremes(strategy: str, drawn: Sequence[Any], key: Callable[[Any], Any] | None = None) -> list[Any]:
    """The values in order, and those that the strategy of this text hardly ever draws, if it is one of
    numbers or of text and nothing more: the ends of the range, and a long text of the same characters."""
    call = _read_call(strategy)
    kind = None if call is None else _KINDS.get(ast.unparse(call.func))
    if call is None or kind is None or not all(type(value) is kind for value in drawn):
        return order_values(drawn, key)
    given = {part.arg: _read_literal(part.value) for part in call.keywords}
    if kind is str:
        longest = max(drawn, key=len)
        length = min(given.get("max_size") or _LONG_TEXT, _LONG_TEXT)
        return order_values([*drawn, max(longest, (longest * length)[:length], key=len)], key)
    ends = [given.get(f"{end}_value") for end in ("min", "max") if not given.get(f"exclude_{end}")]
    return order_values([*drawn, *(kind(end) for end in ends if end is not None)], key)


def _read_call(text: str) -> ast.Call | None:
    """The call of a function that a text is, if it is one and nothing more."""
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:  # it names what is no code
        return None
    return call if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else None


def _read_literal(node: Any) -> Any:
    """The value of a literal; None for anything else."""
    with suppress(ValueError):
        return ast.literal_eval(node)
    return None
