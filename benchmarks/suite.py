"""Mechanisms of the auditing literature: exact loss, certified bound, and speed.

python -m benchmarks.suite [NAME ...]

For every mechanism of the zoo at ε = 0.1: the largest exact loss over the inputs of StatDP, and the bound
certified, at 99 %, by playing the worst of these inputs until it passes the best bound of DP-Sniper (Bichsel,
Steffen, Bogunovic, Vechev 2021; 90 %). The seconds include both, on one core or (for four mechanisms) on two.
Each is done with three seeds: the table shows the smallest bound, the medians of pairs and seconds, and the
largest seconds.
"""

from __future__ import annotations

import math
import statistics
import sys
import time

import attrs
from tabulate import tabulate

from adversaries.release.statdp import ALL_DIFFER, StatDP
from arena import Learner, Release
from audits.exact_loss.view_laws import losses_of_values, value_laws
from audits.registry.players import LEARNERS
from audits.runs.plan import LIKELIHOOD, Plan
from audits.runs.run import run
from benchmarks.anchors.printed_figures import ZOO

CONFIDENCE = 0.99
MOST_PAIRS = 300_000_000
BLOCK = 65_536
SEEDS = 3


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


def measure(row: Row) -> list[object]:
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
    return [
        row.learner,
        row.exact,
        f"{exact:.4f}",
        f"{least:.4f}" + ("" if reached else " (not reached)"),
        f"{statistics.median(verdict.games for verdict, _ in runs):,}",
        f"{statistics.median(seconds for _, seconds in runs):.2f}",
        f"{slowest:.2f}",
        f"{printed:.4g}",
    ]


def main(names: list[str]) -> None:
    rows = [measure(row) for row in ROWS if not names or row.learner in names]
    headers = ["mechanism", "known", "exact", "certified", "pairs", "s", "slowest"]
    headers += ["DP-Sniper"]
    print(tabulate(rows, headers, disable_numparse=True, colalign=("left", *["right"] * 7)))


if __name__ == "__main__":
    main(sys.argv[1:])
