"""docs/bugs.md: the bugs by kind, with what the searches recorded. Only what follows `MARK` is written."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bugs.bug import Bug
from benchmarks.bugs.collection import BUGS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "bugs.md"
RECORDS = Path(__file__).with_name("data") / "records.csv"
PEERS = RECORDS.with_name("peers.csv")
COLUMNS = ("bug", "form", "seed", "seconds", "result", "cpu", "calls", "epsilon", "data")
PEERS_COLUMNS = ("bug", "tool", "data", "seconds", "result", "cpu", "why")
TOOLS = {
    "dp-sniper": "DP-Sniper",
    "statdp": "StatDP",
    "dp-auditorium": "DP-Auditorium",
    "jax-privacy": "jax-privacy",
}
MARK = "<!-- What follows is written by `make bench-bugs`. -->\n"
HEADERS = ("bug", "claim", "found", "CPU s", "calls", "certified ε", "smallest data", "twin", "other tools")
REFUTED = "refuted"
FOUND, NOT_FOUND, LATE, FAILED, CANNOT = "found", "not found", "out of time", "failed", "cannot"
Row = Mapping[str, str]


def read_records(path: Path | None = None) -> list[dict[str, str]]:
    path = RECORDS if path is None else path
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path, columns: Sequence[str] = COLUMNS) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def list_kinds() -> dict[str, list[Bug]]:
    """The bugs of each kind, in the order in which kinds come up."""
    kinds: dict[str, list[Bug]] = {}
    for bug in BUGS:
        kinds.setdefault(bug.kind, []).append(bug)
    return kinds


def summarise(rows: Iterable[Row]) -> str:
    """How many of the recorded searches found a bug, and how many refuted a twin."""
    parts = []
    for form, verb in (("bug", "found"), ("twin", "refuted")):
        chosen = [row for row in rows if row["form"] == form]
        found = sum(row["result"] == REFUTED for row in chosen)
        names = {"bug": "bugs", "twin": "twins"}[form]
        parts.append(f"{found} of {len(chosen)} searches of {names} {verb} one")
    return "; ".join(parts) + "."


def describe_peers(rows: Iterable[Row]) -> str:
    """What other tools make of a bug; a star marks a tool that chose its data."""
    parts: dict[str, list[str]] = {FOUND: [], NOT_FOUND: [], CANNOT: []}
    for row in rows:
        name = TOOLS[row["tool"]] + ("*" if row["data"] == "own" else "")
        if row["result"] == FOUND:
            name += f" ({row['cpu']} s)"
        parts[row["result"] if row["result"] in parts else NOT_FOUND].append(name)
    return "; ".join(f"{result}: {', '.join(names)}" for result, names in parts.items() if names) or "–"


def summarise_peers(rows: Sequence[Row], peers: Sequence[Row]) -> str:
    """How many bugs each tool can test, and finds, beside the searches of the same bugs."""
    names = {row["bug"] for row in peers}
    limits = sorted({float(row["seconds"]) for row in peers})
    seconds = f"{limits[0]:g}" + (f" to {limits[-1]:g}" if len(limits) > 1 else "")
    head = f"The {len(names)} bugs whose releases are numbers; each tool is stopped after {seconds} s of CPU:"
    lines = [("tool", "bugs tested", "found", "found where it chose the data", "CPU s of those found")]
    for tool, name in TOOLS.items():
        tested = [row for row in peers if row["tool"] == tool and row["result"] != CANNOT]
        own = [row for row in tested if row["data"] == "own"]
        lines.append(_describe_tool(name, tested, own, FOUND))
    ours = [row for row in rows if row["bug"] in names and row["form"] == "bug" and row["seed"] == "0"]
    lines.append(_describe_tool("dp-arena, unaided, seed 0", ours, ours, REFUTED))
    return f"{head}\n\n{_draw_table(lines)}"


def _describe_tool(name: str, tested: Sequence[Row], own: Sequence[Row], result: str) -> tuple[str, ...]:
    found = [float(row["cpu"]) for row in tested if row["result"] == result]
    chosen = f"{sum(row['result'] == result for row in own)} of {len(own)}" if own else "–"
    seconds = f"{statistics.median(found):.1f}, at most {max(found):.1f}" if found else "–"
    return name, str(len(tested)), str(len(found)), chosen, seconds


def _draw_table(lines: Sequence[Sequence[str]]) -> str:
    parts = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in parts)


def describe_row(bug: Bug, rows: Sequence[Row], peers: Sequence[Row]) -> list[str]:
    """A line of the table of a kind."""
    claim = f"ε = {bug.epsilon:.3g}" + (f", δ = {bug.delta:.2g}" if bug.delta else "") + f"; {bug.relation}"
    own = [row for row in rows if row["bug"] == bug.name]
    searched = [row for row in own if row["form"] == "bug"]
    found = [row for row in searched if row["result"] == REFUTED]
    twins = [row for row in own if row["form"] == "twin"]
    refuted = sum(row["result"] == REFUTED for row in twins)
    shown = min((row["data"] for row in found), key=len, default="–")
    return [
        f"[{bug.name}]({bug.address}), {bug.library}. {bug.summary}",
        claim,
        f"{len(found)} of {len(searched)}" if searched else "–",
        f"{statistics.median(float(row['cpu']) for row in searched):.1f}" if searched else "–",
        f"{statistics.median(int(row['calls']) for row in searched):,.0f}" if searched else "–",
        max((row["epsilon"] for row in found), key=float, default="–"),
        f"`{shown}`" if found else "–",
        f"refuted {refuted} of {len(twins)}" if twins else "–",
        describe_peers(row for row in peers if row["bug"] == bug.name),
    ]


def write_tables(rows: Sequence[Row], peers: Sequence[Row]) -> str:
    """What follows the mark."""
    kinds = list_kinds()
    parts = [f"{len(BUGS)} bugs of {len(kinds)} kinds. {summarise(rows)}\n"]
    if peers:
        parts.append(summarise_peers(rows, peers) + "\n")
    for kind, bugs in kinds.items():
        table = _draw_table([HEADERS, *(describe_row(bug, rows, peers) for bug in bugs)])
        parts.append(f"### {kind.capitalize()}\n\n{table}\n")
    return "\n".join(parts)


def write_page() -> None:
    """Write the tables into the page, below its introduction."""
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE} has no line {MARK!r}")
    tables = write_tables(read_records(), read_records(PEERS))
    PAGE.write_text(f"{head}{mark}\n{tables}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
