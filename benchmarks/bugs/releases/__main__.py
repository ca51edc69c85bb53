"""Search the bugs of an installed release unaided: python -m benchmarks.bugs.releases LIBRARY [--seconds S].

What is found is recorded in docs/tables/benchmarks/bugs_releases.csv; what is recorded is not searched again.
"""

from __future__ import annotations

import importlib
import pkgutil

import click

from benchmarks.bugs import page, releases
from benchmarks.bugs.__main__ import Task, choose_tasks, record_search

RECORDS = page.DOCS / "tables" / "benchmarks" / "bugs_releases.csv"
SUFFIX = "_release"
LIBRARIES = sorted(
    name.removesuffix(SUFFIX) for _, name, _ in pkgutil.iter_modules(releases.__path__) if SUFFIX in name
)


@click.command()
@click.argument("library", type=click.Choice(LIBRARIES))
@click.option("--seeds", default=1, show_default=True)
@click.option("--seconds", default=600.0, show_default=True, help="Processor seconds of each, at most.")
def main(library: str, seeds: int, seconds: float) -> None:
    """Search the bugs of a release, and record what is found."""
    bugs = importlib.import_module(f"{releases.__name__}.{library}{SUFFIX}").BUGS
    tasks = {Task(bug.name, "bug", seed, seconds): bug for seed in range(seeds) for bug in bugs}
    rows = page.read_records(RECORDS)
    for task in choose_tasks(rows, list(tasks)):
        row = {name: str(value) for name, value in record_search(tasks[task], task).items()}
        kept = [old for old in rows if (old["bug"], old["form"], old["seed"]) != task.key]
        rows = sorted([*kept, row], key=lambda each: (each["bug"], each["seed"]))
        page.write_rows(rows, RECORDS)
        click.echo(f"{task.name:32} seed {task.seed}: {row['result']:12} {row['cpu']:>6} s")


if __name__ == "__main__":
    main()
