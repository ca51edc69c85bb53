"""What an entry of the benchmark says, and the plain data that describe what its mechanism receives.

A schema is a dictionary of names, numbers and lists, which JSON can hold:

    {"kind": "list", "record": FIELD}                   a list of values of the field
    {"kind": "table", "columns": {"age": FIELD, ...}}   a pandas DataFrame; a record is a row
    {"kind": "labelled", "features": [FIELD, ...], "target": FIELD}    a pair of arrays (X, y)
    {"kind": "vector", "length": 5, "record": FIELD}    an array of answers; the relation is a distance

and a field is {"type": "integer" | "number", "low": ..., "high": ..., "special": [...]} or {"values": [...]}.
`special` lists further values that the claim covers, such as NaN. "least" and "most" are the numbers of
records for which a claim is meant. "user" names the column that says whose a row is. "blank" is the record
that stands for a missing one where the relation is "zero out one".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Field = dict[str, Any]
Schema = dict[str, Any]

FUNCTION, SESSION, STREAM = "function", "session", "stream"


@dataclass(frozen=True)
class Bug:
    """A reported bug, the mechanism that re-creates it, and its twin.

    name: unique. kind: the heading under which it stands. address: of the public report. library: where it
    was found, with its version, or the paper. summary: one sentence. relation: of neighbouring data, as
    "add or remove one", "replace one", "replace a group of 4", "add or remove a user of at most 3",
    "at Linf distance at most 1". epsilon (nats), delta: the claim.
    mechanism, twin: f(data, rng) -> release; for the form "session" a class made with (data, rng) whose
    `ask(query)` answers; for "stream" one made with (rng) whose `update(record)` publishes.
    queries: that a session may be asked. asked: those, in order, that show the violation.
    worlds: two neighbouring data sets, as lists of records, that show the violation.
    look: what of a release shows it, if that is hard to see; a function of the release.
    coins: "given", or "own" of a function f(data) that draws from elsewhere, as some libraries do.
    """

    name: str
    kind: str
    address: str
    library: str
    summary: str
    relation: str
    epsilon: float
    schema: Schema
    mechanism: Callable[..., Any]
    worlds: tuple[Sequence[Any], Sequence[Any]]
    twin: Callable[..., Any] | None = None
    delta: float = 0.0
    form: str = FUNCTION
    queries: Sequence[Any] = field(default=())
    asked: Sequence[Any] = field(default=())
    look: Callable[[Any], Any] | None = None
    coins: str = "given"

    def choose(self, twin: bool) -> Callable[..., Any]:
        """The mechanism, or the twin. Raises: ValueError, if there is none, as of a released library."""
        if twin and self.twin is None:
            raise ValueError(f"{self.name} has no twin")
        return self.twin if twin and self.twin is not None else self.mechanism


def integers(low: int, high: int) -> Field:
    return {"type": "integer", "low": low, "high": high}


def numbers(low: float, high: float, special: Sequence[float] = ()) -> Field:
    """Real numbers; `special` are further values, such as NaN and infinity."""
    return {"type": "number", "low": low, "high": high, "special": list(special)}


def choices(*values: Any) -> Field:
    return {"values": list(values)}


def a_list(record: Field, *, least: int = 0, most: int | None = None, blank: Any = None) -> Schema:
    return {"kind": "list", "record": record, "least": least, "most": most, "blank": blank}


def a_table(*, user: str | None = None, least: int = 0, most: int | None = None, **columns: Field) -> Schema:
    return {"kind": "table", "columns": columns, "user": user, "least": least, "most": most}


def labelled(features: Sequence[Field], target: Field, *, least: int = 1) -> Schema:
    return {"kind": "labelled", "features": list(features), "target": target, "least": least, "most": None}


def a_vector(length: int, record: Field) -> Schema:
    return {"kind": "vector", "length": length, "record": record, "least": length, "most": length}


def build_data(schema: Schema, records: Sequence[Any]) -> Any:
    """What the mechanism receives, of a list of records: numbers, rows, pairs (features, target), entries."""
    kind = schema["kind"]
    if kind == "list":
        return list(records)
    if kind == "vector":
        return np.array(records, float)
    if kind == "labelled":
        rows = [row for row, _ in records]
        return np.array(rows, float).reshape(len(rows), len(schema["features"])), np.array(
            [target for _, target in records], float
        )
    import pandas as pd

    columns = {
        name: pd.Series([row[place] for row in records], dtype=_find_dtype(part))
        for place, (name, part) in enumerate(schema["columns"].items())
    }
    return pd.DataFrame(columns)


def _find_dtype(part: Field) -> str:
    values = part.get("values", [])
    if values and all(isinstance(value, str) for value in values):
        return "str"
    whole = part.get("type") == "integer" or (values and all(isinstance(value, int) for value in values))
    return "int64" if whole else "float64"


def play(bug: Bug, records: Sequence[Any], rng: np.random.Generator, *, twin: bool = False) -> Any:
    """One release of the mechanism or its twin; of a session the answers to `asked`, of a stream all."""
    mechanism = bug.choose(twin)
    data = build_data(bug.schema, records)
    if bug.form == SESSION:
        session = mechanism(data, rng)
        return [session.ask(query) for query in bug.asked]
    if bug.form == STREAM:
        stream = mechanism(rng)
        return [stream.update(record) for record in data]
    return mechanism(data) if bug.coins == "own" else mechanism(data, rng)


def find_gaussian_scale(epsilon: float, delta: float) -> float:
    """The standard deviation of a Gaussian mechanism of L2 sensitivity 1 that is (epsilon, delta)-private.

    By bisection of the exact condition of Balle and Wang (2018), Theorem 8.
    """
    low, high = 1e-3, 1e3
    while high / low > 1 + 1e-9:
        middle = math.sqrt(low * high)
        a, b = 0.5 / middle, epsilon * middle
        exact = _normal_cdf(a - b) - math.exp(epsilon) * _normal_cdf(-a - b)
        low, high = (low, middle) if exact <= delta else (middle, high)
    return high


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
