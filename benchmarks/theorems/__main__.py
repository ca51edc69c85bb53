"""Measure what theorems promise: python -m benchmarks.theorems [FIGURE ...]

Without names all figures are measured, one after the other, on all cores. What was measured is kept in
build/theorems, so an interrupted run goes on where it was; remove a file there to measure it anew.
"""

from __future__ import annotations

import importlib
import pkgutil
import time

import click

import benchmarks.theorems


def find_figures() -> dict[str, str]:
    """The modules of all figures, by name."""
    modules = pkgutil.walk_packages(benchmarks.theorems.__path__, "benchmarks.theorems.")
    parts = {name.rpartition(".")[2]: name for _, name, package in modules if not package}
    return {figure: name for figure, name in parts.items() if name.count(".") == 3}


FIGURES = find_figures()


@click.command()
@click.argument("figures", nargs=-1, type=click.Choice(sorted(FIGURES)))
def main(figures: tuple[str, ...]) -> None:
    """Measure the figures named, or all of them."""
    for figure in figures or FIGURES:
        start = time.perf_counter()
        click.echo(f"== {figure}")
        importlib.import_module(FIGURES[figure]).main()
        click.echo(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
