"""docs/bugs.md: the bugs by kind, with what the searches recorded. Only what follows `MARK` is written."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.bugs.bug import Bug
from benchmarks.bugs.collection import BUGS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "bugs.md"
RECORDS = Path(__file__).with_name("data") / "records.csv"
PEERS = RECORDS.with_name("peers.csv")
COLUMNS = ("bug", "form", "seed", "seconds", "result", "cpu", "calls", "epsilon", "data")
MARK = "<!-- What follows is written by `make bench-bugs`. -->\n"
HEADERS = ("bug", "claim", "found", "CPU s", "calls", "certified ε", "smallest data", "twin", "other tools")
REFUTED = "refuted"
Row = Mapping[str, str]


def read_records(path: Path | None = None) -> list[dict[str, str]]:
    path = RECORDS if path is None else path
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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


def describe_row(bug: Bug, rows: Sequence[Row], peers: Mapping[str, str]) -> list[str]:
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
        peers.get(bug.name, "–"),
    ]


def write_tables(rows: Sequence[Row], peers: Mapping[str, str]) -> str:
    """What follows the mark."""
    kinds = list_kinds()
    parts = [f"{len(BUGS)} bugs of {len(kinds)} kinds. {summarise(rows)}\n"]
    for kind, bugs in kinds.items():
        lines = [HEADERS, ["---"] * len(HEADERS), *(describe_row(bug, rows, peers) for bug in bugs)]
        table = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        parts.append("\n".join([f"### {kind.capitalize()}", "", *table, ""]))
    return "\n".join(parts)


def write_page() -> None:
    """Write the tables into the page, below its introduction."""
    peers = {row["bug"]: row["result"] for row in read_records(PEERS)}
    head, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise SystemExit(f"{PAGE} has no line {MARK!r}")
    PAGE.write_text(f"{head}{mark}\n{write_tables(read_records(), peers)}", encoding="utf-8")


if __name__ == "__main__":
    write_page()
