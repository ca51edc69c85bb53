"""Records of the user's: the schema of data of any kind, or of a strategy that draws them."""

from __future__ import annotations

import operator
import sys
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import Any

import attrs
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis.strategies import SearchStrategy

from arena.claims import DISTANCES, Relation, read_relation
from arena.errors import InvalidArgument, is_users_file
from arena.records import Records, record_key
from arena.schemas.forms import VectorForm, is_missing
from arena.schemas.schema import Schema
from arena.schemas.vectors import correct_rounding
from audits.data.csv_files import read_frame
from audits.data.drawn_values import call_outside_tests
from audits.data.schemas import find_schema, infer_schema, list_record_strategies

_MANY_VALUES = 50  # of a column, from which on it may have any of their type


def choose_records(data: Any, neighbours: Relation | str | None = None, user: Any = None) -> dict[str, Any]:
    """The settings of a function that receives data like these, or what a strategy draws, for a claim about
    these neighbours; default: those of a schema of vectors, else those of the function."""
    settings: dict[str, Any] = {}
    if data is not None:
        schema = settings["schema"] = read_records(data, None, user)[0]
        if schema.relation is not None:
            settings["neighbours"] = str(schema.relation)
    elif user is not None:
        raise InvalidArgument("user says whose a record of the data is", remedy="Give data=, too.")
    if neighbours is not None:
        settings["neighbours"] = str(read_relation(neighbours))
    return settings


def read_records(
    data: Any, neighbour: Any = None, user: Any = None
) -> tuple[Schema, Records | None, Records | None]:
    """The schema of data, or of a strategy that draws them, and the data of both worlds as records."""
    if isinstance(data, Schema):
        schema, dataset = data, None
    elif isinstance(data, SearchStrategy):
        schema, dataset = attrs.evolve(find_schema(data), source=_find_source(data)), None
    else:
        schema = infer_schema(data, neighbour, within=neighbour is not None)
        if neighbour is None and not schema.examples:
            raise InvalidArgument(
                "data must hold a record, since others are drawn like it",
                value=f"an empty {type(data).__name__}",
                remedy="Give data with records, or a schema, such as audits.table(age=st.integers(0, 120)).",
            )
        dataset = Records(schema.form.unpack(data))
    if user is not None:
        schema = attrs.evolve(schema, user=user)
    if neighbour is None:
        return schema, dataset, None
    if dataset is None:
        raise InvalidArgument(
            "a neighbour belongs to data, not to a strategy that draws them",
            remedy="Give data=, as well, or search with the strategy: audits.search.",
        )
    return schema, dataset, Records(schema.form.unpack(neighbour))


def is_vector_claim(neighbours: Any, data: Any) -> bool:
    """Whether data are an example of a vector, for a claim about vectors at a distance."""
    is_example = not isinstance(data, Schema | SearchStrategy)
    return is_example and neighbours is not None and read_relation(neighbours).kind in DISTANCES


def read_vectors(
    relation: Relation, data: Any, neighbour: Any = None
) -> tuple[Schema, Records, Records | None]:
    """The schema of a vector, and the vectors of both worlds. Where rounding makes the distance too large,
    the vector of world 1 is moved back. Raises: InvalidArgument if `data` is not a vector of numbers."""
    array = np.asarray(data)
    if (
        not isinstance(data, np.ndarray)
        or array.ndim != 1
        or array.dtype.kind not in "biuf"
        or not array.size
    ):
        raise InvalidArgument(
            f"a claim about neighbours {relation} is for a vector of numbers",
            value=f"an array of shape {array.shape}" if isinstance(data, np.ndarray) else type(data).__name__,
            remedy="Give an array of one dimension, or a strategy: audits.vector(...).",
        )
    form = VectorForm(len(array))
    (vector,) = form.unpack(data)
    schema = Schema(form=form, min_size=1, max_size=1, relation=relation, examples=(vector,))
    if neighbour is None:
        return schema, Records([vector]), None
    (other,) = form.unpack(neighbour)
    return schema, Records([vector]), Records([correct_rounding(relation, vector, other)])


def read_own_records(schema: Schema, data: Any, neighbour: Any = None) -> tuple[Records, Records | None]:
    """Data, and those of world 1 if they are given, as records of a learner that has its schema already.
    Raises: InvalidArgument for a strategy, or data of another form."""
    if isinstance(data, Schema | SearchStrategy):
        raise InvalidArgument(
            "the learner has the schema of its data already",
            remedy="Give a dataset of it, or leave out data=.",
        )
    dataset = Records(schema.form.unpack(data))
    return dataset, None if neighbour is None else Records(schema.form.unpack(neighbour))


def _find_source(strategy: object) -> str:
    """Where a module of the user's defines a strategy, as path/to/file.py:NAME; empty if none does."""
    for _, module in sorted(sys.modules.items(), key=lambda item: item[0] == "__main__"):  # a script runs
        path = getattr(module, "__file__", None)
        if path and is_users_file(path):
            for name, value in list(vars(module).items()):
                if value is strategy:
                    return f"{path}:{name}"
    return ""


# --- tables in files, read as the records of a schema ------------------------------------------------------


def read_rows(schema: Schema, path: str, strategy: Any = None) -> Records:
    """The rows of a CSV file as records of a schema, with its types. strategy: that draws its data, if known.
    Raises: InvalidArgument for a value that no record has, with its row and column."""
    pools = schema.columns
    if not schema.names or pools is None:
        return Records(schema.form.unpack(read_frame(path)))
    kinds = [{type(value) for value in pool if not is_missing(value)} for pool in pools]
    names = dict(zip(schema.names, kinds, strict=True))
    frame = read_frame(path, text=[name for name, kind in names.items() if kind == {str}])
    if list(frame.columns) != schema.names:
        raise InvalidArgument(f"{path} must have the columns {schema.names}", value=list(frame.columns))
    columns = []
    for place, (name, kind) in enumerate(names.items()):
        missing = next((value for value in pools[place] if is_missing(value)), None)
        written = frame[name].tolist()
        cells = [missing if is_missing(value) else _convert(value, kind) for value in written]
        misfit = _find_misfit(cells, pools[place], strategy, place)
        if misfit is not None:
            raise InvalidArgument(
                f"{path}, row {misfit + 1}, column {name!r}: the schema draws no such value",
                value=written[misfit],
                remedy="Correct the value, or let the strategy of this column draw it.",
            )
        columns.append(cells)
    return Records(list(zip(*columns, strict=True)))


def _convert(value: Any, kinds: set[type]) -> Any:
    """A value of a file as one of these types, if it is one; else as it is."""
    with suppress(ValueError):
        if isinstance(value, str) and kinds <= {int, float}:
            value = float(value)
        if isinstance(value, str) and kinds == {date}:
            value = datetime.fromisoformat(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if kinds == {float}:
            return float(value)
        return int(value) if kinds == {int} and float(value).is_integer() else value
    return value.date() if kinds == {date} and isinstance(value, datetime) else value


def _find_misfit(cells: list[Any], pool: tuple[Any, ...], strategy: Any, place: int) -> int | None:
    """The first value of a column, by its row, that cannot be drawn; None if there is none.

    What lies between the least and the largest number or date that was drawn can be; otherwise, what was
    drawn, or anything of its type if that was much. The strategy is asked for the rest.
    """
    drawn = {record_key(value) for value in pool}
    kinds = tuple({type(value) for value in pool if not is_missing(value)})
    ordered = bool not in kinds and all(issubclass(kind, int | float | date) for kind in kinds)
    known = [value for value in pool if not is_missing(value)] if ordered else []
    for row, value in enumerate(cells):
        if record_key(value) in drawn:
            continue
        if is_missing(value) or not isinstance(value, kinds):
            return row
        if min(known) <= value <= max(known) if ordered else len(drawn) >= _MANY_VALUES:
            continue
        found = _find_value(strategy, place, value, larger=ordered and value > max(known))
        if found is None:
            return row
        known.append(found)
    return None


def _find_value(strategy: Any, place: int, wanted: Any, larger: bool) -> Any:
    """A value in a column that a strategy draws and that is as small as the wanted number or date, or as
    large if `larger`; or equal to other values. None if there seems to be none."""
    if not isinstance(strategy, SearchStrategy):
        return None
    found: list[Any] = []
    call_outside_tests(lambda: _find_values(strategy, place, wanted, larger, found))
    return found[0] if found else None


def _find_values(strategy: Any, place: int, wanted: Any, larger: bool, found: list[Any]) -> None:
    @settings(
        derandomize=True,
        max_examples=500,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.target],
        suppress_health_check=list(HealthCheck),
    )
    @given(list_record_strategies(strategy)[0].map(operator.itemgetter(place)))
    def draw(value: Any) -> None:
        if not isinstance(wanted, int | float | date) or isinstance(wanted, bool):
            found.extend([value] * (value == wanted))
        elif not is_missing(value):
            found.extend([value] * (value >= wanted if larger else value <= wanted))
            unit = timedelta(days=1) if isinstance(wanted, date) else 1
            target(float((value - wanted) / unit) * (1 if larger else -1))

    draw()
