"""Search the bugs unaided, and their twins: `make bench-bugs`, or python -m benchmarks.bugs [NAME ...].

A search gets the mechanism, its schema and its claim. What was searched is recorded in
data/records.csv as soon as it ends, and is not searched again with as many seconds or fewer.
Seconds are those of the processor, which no other option of a search counts. At the end docs/bugs.md and the
file for other tools, data/bugs.json, are written anew.
"""

from __future__ import annotations

import textwrap
import time
import warnings
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import click
from tqdm import tqdm

from arena.engine import count_games
from audits.runs import limits
from audits.runs.workers import map_in_order
from benchmarks.bugs import collection, page
from benchmarks.bugs.bug import Bug
from benchmarks.bugs.collection import BUGS, find_bug
from benchmarks.bugs.schemas import search_bug

FORMS = ("bug", "twin")
_MOST_LETTERS = 120


@attrs.frozen
class Task:
    name: str
    form: str
    seed: int
    seconds: float

    @property
    def key(self) -> tuple[str, str, str]:
        return self.name, self.form, str(self.seed)


def run_search(task: Task) -> dict[str, Any]:
    """A row of the records."""
    return record_search(find_bug(task.name), task)


def record_search(bug: Bug, task: Task) -> dict[str, Any]:
    limits.clock = time.process_time  # what `max_seconds` counts
    row = {"bug": task.name, "form": task.form, "seed": task.seed, "seconds": task.seconds}
    start = time.process_time()
    with warnings.catch_warnings(), count_games() as count:
        warnings.simplefilter("ignore")
        try:
            found = search_bug(
                bug,
                twin=task.form == "twin",
                seed=task.seed,
                max_seconds=task.seconds,
                announce=_stay_silent,
            )
            row |= {"result": "refuted" if found.refuted else "not refuted"}
            certified = found.verdict.epsilon_lower if found.verdict is not None else 0.0
            row |= {"epsilon": f"{certified:.3f}", "data": describe_example(found)}
        except Exception as error:  # a search that fails is a result, and the others go on
            row |= {"result": "failed", "data": _shorten(f"{type(error).__name__}: {error}")}
    row |= {"cpu": f"{time.process_time() - start:.1f}", "calls": count.games}
    return {name: row.get(name, "") for name in page.COLUMNS}


def _stay_silent(_: str) -> None:
    pass


def describe_example(found: Any) -> str:
    """The smallest data that show a violation, and what of the release shows it, in a few words."""
    if found.adversary is None:
        return ""
    described = found.to_dict()["adversary"]
    lines = [line.replace("training in world ", "").replace("score: ", "seen in ") for line in described]
    return _shorten("; ".join(lines))


def _shorten(text: str) -> str:
    return textwrap.shorten(text, _MOST_LETTERS, placeholder=" …")


def choose_tasks(known: Iterable[dict[str, str]], tasks: Sequence[Task]) -> list[Task]:
    """The tasks whose results are not known with as many seconds, or found with fewer."""
    done = {
        (row["bug"], row["form"], row["seed"]): float("inf")
        if row["result"] == "refuted"
        else float(row["seconds"])
        for row in known
    }
    return [task for task in tasks if done.get(task.key, 0.0) < task.seconds]


def write_records(rows: Iterable[dict[str, Any]]) -> None:
    """Write all records, the latest of each search, in the order of the collection."""
    latest = {(row["bug"], row["form"], str(row["seed"])): row for row in rows}
    order = {bug.name: place for place, bug in enumerate(BUGS)}
    kept = sorted((key for key in latest if key[0] in order), key=lambda key: (order[key[0]], *key[1:]))
    page.write_rows((latest[key] for key in kept), page.RECORDS)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(sorted(bug.name for bug in BUGS)))
@click.option("--seeds", default=3, show_default=True, help="Searches of each bug: seeds 0 to N - 1.")
@click.option("--seconds", default=60.0, show_default=True, help="Processor seconds of each, at most.")
@click.option("--twins/--no-twins", default=True, show_default=True, help="Search the twins, too.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option("--again", is_flag=True, help="Search again what is recorded.")
def main(names: Sequence[str], seeds: int, seconds: float, twins: bool, jobs: int, again: bool) -> None:
    """Search the bugs named, or all of them, and record what is found."""
    tasks = [
        Task(bug.name, form, seed, seconds)
        for seed in range(seeds)
        for form in FORMS[: 1 + twins]
        for bug in BUGS
        if not names or bug.name in names
    ]
    rows = page.read_records()
    missing = tasks if again else choose_tasks(rows, tasks)
    with tqdm(total=len(missing), unit="search") as bar:

        def keep(task: Task, row: dict[str, Any]) -> None:
            rows.append({name: str(value) for name, value in row.items()})
            write_records(rows)
            bar.write(f"{task.form:4} {task.name:32} seed {task.seed}: {row['result']:12} {row['cpu']:>6} s")
            bar.update()

        results = map_in_order(run_search, missing, jobs, keep=keep, unit="search")
        deque(results, maxlen=0)
    collection.FILE.write_text(collection.write_text(), encoding="utf-8")
    page.write_page()
    click.echo(page.summarise(page.read_records()))


if __name__ == "__main__":
    main()
