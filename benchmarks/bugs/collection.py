"""All bugs of the benchmark, and the file in which other tools read them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmarks.bugs import (
    arithmetic,
    clipping,
    domains,
    interactive,
    partitions,
    selection,
    sensitivity,
    synthetic,
    training,
)
from benchmarks.bugs.bug import Bug

FILE = Path(__file__).with_name("data") / "bugs.json"
LICENCE = "MIT, as dp-arena: https://opensource.org/license/mit"
FORMAT = 1

BUGS: tuple[Bug, ...] = tuple(
    bug
    for module in (
        sensitivity,
        clipping,
        training,
        partitions,
        domains,
        arithmetic,
        interactive,
        synthetic,
        selection,
    )
    for bug in module.BUGS
)


def find_bug(name: str) -> Bug:
    return next(bug for bug in BUGS if bug.name == name)


def describe_bug(bug: Bug) -> dict[str, Any]:
    """An entry of the file. Numbers that are not finite are written as the texts "nan" and "inf"."""
    entry = {
        name: getattr(bug, name)
        for name in ("name", "kind", "address", "library", "summary", "relation", "epsilon", "delta", "form")
    }
    entry |= {
        part: f"{function.__module__}:{function.__qualname__}"
        for part, function in (("mechanism", bug.choose(twin=False)), ("twin", bug.choose(twin=True)))
    }
    entry |= {"schema": bug.schema, "world_0": bug.worlds[0], "world_1": bug.worlds[1]}
    if bug.asked:
        entry |= {"queries": bug.queries, "asked": bug.asked}
    if bug.look is not None:
        entry["look"] = f"{bug.look.__module__}:{bug.look.__qualname__}"
    plain: dict[str, Any] = _write_plainly(entry)
    return plain


def _write_plainly(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _write_plainly(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_write_plainly(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def write_text() -> str:
    """The text of `FILE`: an entry a line."""
    head = {"format": FORMAT, "licence": LICENCE, "bugs": len(BUGS)}
    lines = [json.dumps(describe_bug(bug), ensure_ascii=False, allow_nan=False) for bug in BUGS]
    start = json.dumps(head, ensure_ascii=False)[:-1]
    return start + ', "entries": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    FILE.write_text(write_text(), encoding="utf-8")
