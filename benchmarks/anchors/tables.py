"""Print the tables of `make bench-anchors`.

python -m benchmarks.anchors.tables
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import beta, laplace, norm
from tabulate import tabulate

from benchmarks.anchors.games_to_refute import TRUE_AUDITS, stop_cases
from benchmarks.anchors.make_scores import find_mu
from benchmarks.anchors.measure_estimators import Tool, read_tool
from benchmarks.anchors.printed_figures import SEQUENTIAL_FDP_STOPS, SEQUENTIAL_MMD_STOPS
from benchmarks.anchors.score_cases import (
    AUDITS,
    CONFIDENCE,
    NULL_AUDITS,
    NULL_SIZES,
    ONE_RUN,
    TWO_WORLDS,
    OneRun,
    TwoWorlds,
)

TOOLS = ("dp-arena", "jax-privacy", "privacy-estimates")
LEVEL = 0.95  # of the limits on shares of false claims
SMALLEST = 1e-9  # ε; what is less is rounding


def read_tools(names: Sequence[str]) -> list[Tool]:
    """What was measured of each.

    Raises: SystemExit if something is missing, or was measured on other scores.
    """
    tools = [read_tool(name) for name in names]
    missing = [name for name, tool in zip(names, tools, strict=True) if tool is None]
    if missing:
        raise SystemExit(f"nothing was measured of {', '.join(missing)}; run make bench-anchors")
    found = [tool for tool in tools if tool is not None]
    if len({tool.scores for tool in found}) > 1:
        raise SystemExit(
            "the tools were given different scores; remove build/anchors and run make bench-anchors"
        )
    return found


def share_limits(false: int, audits: int) -> tuple[float, float]:
    """Two-sided Clopper-Pearson limits on a probability, at `LEVEL`."""
    tail = (1 - LEVEL) / 2
    low = beta.ppf(tail, false, audits - false + 1) if false else 0.0
    high = beta.ppf(1 - tail, false + 1, audits - false) if false < audits else 1.0
    return float(low), float(high)


def list_rows(tools: Sequence[Tool], kind: str) -> list[tuple[Tool, str]]:
    return [(tool, name) for tool in tools for name, of in tool.estimators.items() if of == kind]


def tabulate_bounds(tools: Sequence[Tool], kind: str, cases: Sequence[TwoWorlds | OneRun]) -> str:
    """The median ε of every estimator on every case, ms of the first case, and how many exceed the truth."""
    rows = []
    for tool, name in list_rows(tools, kind):
        cells, above, audits = [], 0, 0
        for case in cases:
            bounds = np.array(tool.bounds.get(f"{name} | {case.name}", []))
            above, audits = above + int((bounds > case.epsilon + SMALLEST).sum()), audits + len(bounds)
            cells.append(format_median(bounds))
        milliseconds = 1e3 * tool.seconds[f"{name} | {cases[0].name}"]
        rows.append([tool.name, name, *cells, f"{milliseconds:,.1f}", f"{above} of {audits}"])
    if kind == "two worlds":
        limits = [f"{information_limit(case):.3f}" for case in cases if isinstance(case, TwoWorlds)]
        rows.append(["", "best event, if known", *limits, "", ""])
    headers = ["tool", "estimator", *[head(case) for case in cases], "ms", "above the truth"]
    return format_table(rows, headers)


def information_limit(case: TwoWorlds) -> float:
    """The ε that the best half-line of scores certifies by Clopper-Pearson at the numbers of games to expect,
    if it is known beforehand."""
    tail = (1 - CONFIDENCE) / 2
    at = np.linspace(-8, 8, 4_001)
    if case.law == "Gaussian":
        below = norm.cdf(at), norm.cdf(at - find_mu(case.epsilon, case.delta))
    elif case.law == "Laplace":
        below = laplace.cdf(at, 0, 1 / case.epsilon), laplace.cdf(at, 1, 1 / case.epsilon)
    else:
        below = tuple(np.full(1, 1 / (1 + np.exp(-sign * case.epsilon))) for sign in (1, -1))
    likelier, other = case.games * (1 - below[1]), case.games * (1 - below[0])  # both ends are alike
    lower = beta.ppf(tail, likelier, case.games - likelier + 1)
    upper = beta.ppf(1 - tail, other + 1, case.games - other)
    return float(np.log(np.nanmax((lower - case.delta) / upper, initial=1.0)))


def head(case: TwoWorlds | OneRun) -> str:
    size = f"m = {case.canaries:,}" if isinstance(case, OneRun) else f"{case.law}, n = {case.games:,}"
    return f"{size}, ε = {case.epsilon:g}"


def format_median(bounds: np.ndarray) -> str:
    if not len(bounds):
        return "–"
    return f"{np.median(bounds):.3f}" + ("" if len(bounds) == AUDITS else f" ({len(bounds)})")


def tabulate_nulls(tools: Sequence[Tool], kind: str) -> str:
    """How often every estimator claims a loss where there is none, its median claim and the largest."""
    rows = []
    for tool, name in list_rows(tools, kind):
        row = [tool.name, name]
        for size in NULL_SIZES:
            bounds = np.array(tool.nulls.get(f"{name} | {size}", []))
            if not len(bounds):
                row += ["–", "–"]
                continue
            false = int((bounds > SMALLEST).sum())
            low, high = share_limits(false, len(bounds))
            of = "" if len(bounds) == NULL_AUDITS else f" of {len(bounds):,}"
            row.append(f"{100 * false / len(bounds):.2f} ({100 * low:.2f} to {100 * high:.2f}){of}")
            row.append(f"{np.median(bounds):.2f}, {bounds.max():.2f}" if false else "0")
        rows.append(row)
    headers = ["tool", "estimator"]
    for size in NULL_SIZES:
        headers += [f"n = {size:,}: false claims, %", "median, largest"]
    return format_table(rows, headers)


def tabulate_stops() -> str:
    """Pairs until refutation and refuted claims, as printed and as measured."""
    measured = stop_cases()
    rows = []
    for test, printed in (("f-DP", SEQUENTIAL_FDP_STOPS), ("MMD", SEQUENTIAL_MMD_STOPS)):
        for stops in printed:
            theirs = "–" if stops.mean is None else f"{stops.mean:,.0f}"
            row = [test, stops.law, f"{stops.claim:g}", theirs, f"{stops.refuted:,} of {stops.audits:,}"]
            for log_ratios in (False, True):
                ours = measured.get((stops.law, stops.claim, log_ratios))
                if ours is None:
                    row += ["–", "–"]
                    continue
                refuted = ours[:, 1] > 0
                row += [
                    "–" if len(ours) == TRUE_AUDITS else f"{ours[:, 0].mean():,.0f}",
                    f"{refuted.sum():,} of {len(ours):,}",
                ]
            rows.append(row)
    headers = ["test", "law", "claim", "its mean pairs", "it refutes"]
    headers += ["our mean pairs", "we refute", "the same, told that scores are ratios", "we refute"]
    return format_table(rows, headers)


def format_table(rows: list[list[str]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


def main() -> None:
    tools = read_tools(TOOLS)
    for tool in tools:
        print(f"{tool.name}: " + ", ".join(f"{name} {number}" for name, number in tool.versions.items()))
    print(f"\nε at 95 %, medians of {AUDITS} audits of n games in each world\n")
    print(tabulate_bounds(tools, "two worlds", TWO_WORLDS))
    print(f"\nε at 95 % from one run with m canaries, medians of {AUDITS} audits\n")
    print(tabulate_bounds(tools, "one run", ONE_RUN))
    print(f"\nfalse claims at 95 % of {NULL_AUDITS:,} audits of identical worlds\n")
    print(tabulate_nulls(tools, "two worlds"))
    print(f"\nfalse claims at 95 % of {NULL_AUDITS:,} runs whose n canaries leave no trace\n")
    print(tabulate_nulls(tools, "one run"))
    print("\ngames until a claim is refuted at 95 %\n")
    print(tabulate_stops())


if __name__ == "__main__":
    main()
