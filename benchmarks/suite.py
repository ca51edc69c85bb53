"""Mechanisms of the auditing literature: exact loss, certified bound, and speed.

python -m benchmarks.suite [--csv FILE] [NAME ...]

For every mechanism of the zoo at ε = 0.1: the largest exact loss over the inputs of StatDP, and the bound
certified, at 99 %, by playing the worst of these inputs until it passes the best bound of DP-Sniper (Bichsel,
Steffen, Bogunovic, Vechev 2021; 90 %). The seconds include both, on one core or (for four mechanisms) on two.
Each is done with three seeds: the table shows the smallest bound, the medians of pairs and seconds, and the
largest seconds.
"""

from __future__ import annotations

import math
import statistics
import time
from typing import Any

import attrs
import click
from tabulate import tabulate

from adversaries.release.statdp import ALL_DIFFER, StatDP
from arena import Learner, Release
from audits.exact_loss.view_laws import losses_of_values, value_laws
from audits.registry.players import LEARNERS
from audits.reports.result_table import write_records
from audits.runs.plan import LIKELIHOOD, Plan
from audits.runs.run import run
from benchmarks.anchors.printed_figures import ZOO

CONFIDENCE = 0.99
MOST_PAIRS = 300_000_000
BLOCK = 65_536
SEEDS = 3
# The columns of the table, and how it shows them.
_STYLES = {"mechanism": "", "known": "", "exact": ".4f", "certified": ".4f", "reached": "", "pairs": ","}
_STYLES |= {"s": ".2f", "slowest": ".2f", "DP-Sniper": ".4g"}


@attrs.frozen
class Row:
    """A mechanism with its exact ε in the literature.

    jobs: processes; two where the audit is long, since starting them takes a second.
    """

    learner: str
    exact: str
    jobs: int = 1


ROWS = (
    Row("zoo-laplace", "0.1"),
    Row("noisy-hist-1", "0.1"),
    Row("noisy-hist-2", "10"),
    Row("report-noisy-max-1", "0.0946"),
    Row("report-noisy-max-2", "0.1000"),
    Row("report-noisy-max-3", "0.25", jobs=2),
    Row("report-noisy-max-4", "∞", jobs=2),
    Row("svt-1", "0.0885"),
    Row("svt-2", "0.0882", jobs=2),
    Row("svt-3", "-"),
    Row("svt-4", "0.1725", jobs=2),
    Row("svt-5", "∞"),
    Row("svt-6", "0.42"),
)
ONE_DIFFERS = ("zoo-laplace", "noisy-hist-1", "noisy-hist-2")


def list_statdp_inputs(queries: int, all_differ: bool) -> list[StatDP]:
    """The adversaries that the literature uses for m queries, each with both orders of the worlds.

    all_differ: whether one example may change every query, or one query only.
    """
    patterns = ALL_DIFFER if all_differ else ("one-above", "one-below")
    orders = (False, True)
    return [StatDP(pattern=name, swapped=order, queries=queries) for name in patterns for order in orders]


def worst_input(learner: Learner) -> tuple[StatDP, float]:
    """The input of StatDP at which the learner's exact loss is largest, and that loss."""
    losses = []
    for adversary in list_statdp_inputs(learner.point_shape[0], all_differ=learner.name not in ONE_DIFFERS):
        laws = value_laws(learner, adversary, Release())
        losses.append((losses_of_values(*laws, hidden=math.inf)[0].loss.epsilon, adversary))
    epsilon, adversary = max(losses, key=lambda pair: pair[0])
    return adversary, epsilon


def measure(row: Row) -> dict[str, Any]:
    learner, printed = LEARNERS.find(row.learner)(), ZOO[row.learner]
    runs = []
    for seed in range(SEEDS):
        start = time.perf_counter()
        adversary, exact = worst_input(learner)
        plan = Plan(
            learner=learner,
            adversary=adversary,
            referee=Release(),
            epsilon=printed,
            delta=0.0,
            confidence=CONFIDENCE,
            games=MOST_PAIRS,
            until_refuted=True,
            seed=seed,
            distinguisher=LIKELIHOOD,
            block=BLOCK,
        )
        runs.append((run(plan, jobs=row.jobs), time.perf_counter() - start))
    least, reached = min(verdict.epsilon_lower for verdict, _ in runs), all(v.refuted for v, _ in runs)
    slowest = max(seconds for _, seconds in runs)
    return {
        "mechanism": row.learner,
        "known": row.exact,
        "exact": exact,
        "certified": least,
        "reached": reached,
        "pairs": statistics.median(verdict.games for verdict, _ in runs),
        "s": statistics.median(seconds for _, seconds in runs),
        "slowest": slowest,
        "DP-Sniper": printed,
    }


@click.command()
@click.argument("names", nargs=-1)
@click.option("--csv", "csv_file", help="Also write the table to this file.")
def main(names: tuple[str, ...], csv_file: str | None) -> None:
    records = [measure(row) for row in ROWS if not names or row.learner in names]
    rows = [[format(record[name], style) for name, style in _STYLES.items()] for record in records]
    print(tabulate(rows, [*_STYLES], disable_numparse=True, colalign=("left", *["right"] * 8)))
    if csv_file is not None:
        write_records(records, csv_file)


if __name__ == "__main__":
    main()
