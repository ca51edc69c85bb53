"""Records of the user's: the schema of data of any kind, or of a strategy that draws them."""

from __future__ import annotations

import sys
from typing import Any

import attrs
from hypothesis.strategies import SearchStrategy

from arena.claims import Relation, read_relation
from arena.errors import InvalidArgument, is_users_file
from arena.records import Records
from arena.schemas.schema import Schema
from audits.data.schemas import find_schema, infer_schema


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
        schema = infer_schema(data, neighbour)
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


def _find_source(strategy: object) -> str:
    """Where a module of the user's defines a strategy, as path/to/file.py:NAME; empty if none does."""
    for _, module in sorted(sys.modules.items(), key=lambda item: item[0] == "__main__"):  # a script runs
        path = getattr(module, "__file__", None)
        if path and is_users_file(path):
            for name, value in list(vars(module).items()):
                if value is strategy:
                    return f"{path}:{name}"
    return ""
