"""DP-Sniper and our audits of its 20 mechanisms, alternating on one machine, and our nearness to the limit.

DP_SNIPER=checkout python -m benchmarks.anchors.peers.side_by_side [MECHANISM ...] [--pairs], or make
bench-peers. Keeps each row, with commits, machine and date, in build/anchors, and writes what is kept to
docs/tables/benchmarks/dp_sniper.csv. Medians of three seeds; seconds are processor time of one core, without
imports. Black-box audits are given a function, two data sets and the bound that is to be reached.

--pairs: no data sets are given. DP-Sniper searches all pairs of its patterns, our search its own ones for a
refutation of the bound that DP-Sniper has certified; an audit of the pair that it found takes the rest of
DP-Sniper's seconds. One seed each; dp_sniper_pairs.csv.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from hypothesis import strategies as st

import audits
from audits.distinguishers.likelihood_ratio import build_likelihood_ratio
from audits.runs.plan import LIKELIHOOD
from audits.runs.run import RunProgress
from audits.runs.verdict import Verdict
from benchmarks.anchors.peers.dp_auditorium import Claim
from benchmarks.anchors.peers.dp_sniper import SEEDS
from benchmarks.anchors.peers.information_limit import find_laws, information_limit
from benchmarks.anchors.peers.sniper_mechanisms import CASES, DOMAINS, Case
from benchmarks.anchors.score_cases import FOLDER
from benchmarks.tables import keep_row, write_table

ROOT = Path(__file__).parents[3]
CONFIDENCE = 0.99  # of ours; DP-Sniper's is 0.9
# Until a bound is given up, or three times those of the other tool. Of a search, by the clock.
MOST_SECONDS = 20.0
MOST_GAMES = 10**9
PAIRS_SEEDS = 1  # of searches, which take longer
LIMIT_GAMES = 10**6  # at which bounds are compared with the information limit
_SOME = 0.01  # a claim for audits whose bound is wanted whatever it is

Row = dict[str, Any]


class _EnoughSeconds(Exception):
    pass


def processor_seconds() -> float:
    """Of this process and of those that it started and waited for."""
    return sum(os.times()[:4])


def audit_function(case: Case | Claim, epsilon: float, seed: int, **how: Any) -> Verdict:
    """A black-box audit of a claim ε."""
    return audits.audit(
        case.mechanism,
        data=case.worlds[0],
        neighbour=case.worlds[1],
        neighbours=case.neighbours,
        settings={"vectorised": True, "receives": "points"},
        epsilon=epsilon,
        seed=seed,
        announce=lambda text: None,
        **{"confidence": CONFIDENCE, **how},
    )


def audit_likelihood(case: Case, epsilon: float, seed: int, **how: Any) -> Verdict:
    build_likelihood_ratio.cache_clear()  # so that each audit pays for it
    return audits.audit(
        case.learner,
        against="statdp",
        settings={"adversary.pattern": case.pattern, "adversary.swapped": case.swapped},
        epsilon=epsilon,
        confidence=CONFIDENCE,
        seed=seed,
        distinguisher=LIKELIHOOD,
        announce=lambda text: None,
        **how,
    )


def time_until(
    audit: Callable[..., Verdict], case: Case | Claim, target: float, seed: int, most: float, **how: Any
) -> float:
    """The processor seconds until an audit certifies ε > target; infinite if `most` do not suffice."""
    start = processor_seconds()

    def watch(progress: RunProgress) -> None:
        if processor_seconds() - start > most:
            raise _EnoughSeconds

    try:
        verdict = audit(case, target, seed, games=MOST_GAMES, until_refuted=True, progress=watch, **how)
    except _EnoughSeconds:
        return math.inf
    return processor_seconds() - start if verdict.epsilon_lower >= target else math.inf


def time_seeds(
    audit: Callable[..., Verdict], case: Case | Claim, target: float, theirs: float, **how: Any
) -> list[float]:
    """`time_until` for all seeds, or until most have not reached the bound, and so the median has not."""
    most, found = max(MOST_SECONDS, 3 * theirs), list[float]()
    for seed in range(SEEDS):
        found.append(time_until(audit, case, target, seed, most, **how))
        if 2 * found.count(math.inf) > SEEDS:
            break
    return found + [math.inf] * (SEEDS - len(found))


def certify_within(case: Case, seconds: float, seed: int, **how: Any) -> float:
    """The ε that a black-box audit has certified when it has used so many processor seconds."""
    start, bounds = processor_seconds(), [0.0]

    def watch(progress: RunProgress) -> None:
        if processor_seconds() - start > seconds:
            raise _EnoughSeconds
        bounds.append(progress.epsilon_lower)

    with contextlib.suppress(_EnoughSeconds):
        audit_function(case, _SOME, seed, games=MOST_GAMES, progress=watch, **how)
    return bounds[-1]


def measure_row(name: str, checkout: str) -> Row:
    """All figures of one mechanism: DP-Sniper's seeds, then ours."""
    case, seeds = CASES[name], range(SEEDS)
    theirs = run_peer("dp-sniper", "dp_sniper", name, DP_SNIPER=checkout)
    median = {
        key: statistics.median(run[key] for run in theirs) for key in ("bound", "seconds", "seconds_both")
    }
    row = {"mechanism": name, "theirs": theirs, **median, "likelihood": None, "black_box": None}
    until = partial(time_seeds, case=case, target=median["bound"], theirs=median["seconds"])
    if median["bound"] > 0:
        row["black_box"] = until(audit_function)
        row["likelihood"] = until(audit_likelihood) if case.learner else None
    row["certified"] = [certify_within(case, median["seconds"], seed) for seed in seeds]
    row["limit"] = information_limit(*find_laws(name), LIMIT_GAMES, CONFIDENCE)
    row["at_limit"] = [audit_function(case, _SOME, seed, games=LIMIT_GAMES).epsilon_lower for seed in seeds]
    return {**row, **describe_setup()}


def search_pairs(name: str, theirs: Row, seed: int, confidence: float = CONFIDENCE) -> Row:
    """Whether our search refutes the other tool's bound, on which pair, its seconds, and the ε that an audit
    of the pair then certifies in the rest of the other tool's seconds."""
    case, domain = CASES[name], DOMAINS[name]
    least, most = domain.values
    entries = st.integers(least + 1, most - 1)  # whose neighbours are in the domain, too
    start = processor_seconds()
    result = audits.search(
        case.mechanism,
        data=audits.vector(len(case.data), metric=domain.metric, values=entries),
        settings={"vectorised": True},
        epsilon=max(theirs["bound"], _SOME),
        error=1 - confidence,
        seed=seed,
        max_seconds=max(MOST_SECONDS, 3 * theirs["seconds"]),
        announce=lambda text: None,
    )
    row: Row = {
        "refuted": result.refuted,
        "seconds": processor_seconds() - start,
        "examples": result.examples,
    }
    if result.adversary is None or result.verdict is None:
        return {**row, "certified": 0.0}
    pair = [
        tuple(map(float, world.records[0])) for world in (result.adversary.world_0, result.adversary.world_1)
    ]
    found = replace(case, data=pair[0], neighbour=pair[1])
    certified = certify_within(found, theirs["seconds"] - row["seconds"], seed, confidence=confidence)
    return {**row, "pair": pair, "certified": max(certified, result.verdict.epsilon_lower)}


def measure_pairs(name: str, checkout: str) -> Row:
    (theirs,) = run_peer("dp-sniper", "dp_sniper", name, "--pairs", DP_SNIPER=checkout)
    ours = [search_pairs(name, theirs, seed) for seed in range(PAIRS_SEEDS)]
    return {"mechanism": name, "theirs": theirs, "ours": ours, **describe_setup()}


def run_peer(tool: str, module: str, *arguments: str, **variables: str) -> list[Row]:
    """The lines of JSON that a module prints in a tool's environment."""
    output = subprocess.run(
        [
            ROOT / f".venv-anchors-{tool}" / "bin" / "python",
            "-m",
            f"benchmarks.anchors.peers.{module}",
            *arguments,
        ],
        cwd=ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def find_checkout(variable: str, repository: str) -> str | None:
    """The checkout that an environment variable names; without one, says what is left out."""
    if os.environ.get(variable):
        return os.path.abspath(os.environ[variable])
    print(f"{repository} is left out: name a checkout of it, {variable}=path")
    return None


def describe_setup() -> dict[str, str]:
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    model = next(
        (line.partition(": ")[2].strip() for line in _read("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{model}, {os.cpu_count()} cores",
        "commit": commit,
        "versions": f"Python {platform.python_version()}, numpy {np.__version__}",
    }


def _read(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []


def format_row(row: Row) -> list[str]:
    seconds = row["seconds"]
    cells = []
    for key in ("black_box", "likelihood"):
        if row[key] is None:
            cells += ["–", "–"]
            continue
        spent = statistics.median(row[key])
        reached = spent < math.inf
        cells += [f"{spent:.2f}", f"{seconds / spent:.1f}"] if reached else ["not reached", "–"]
    share = statistics.median(row["at_limit"]) / row["limit"]
    return [
        row["mechanism"],
        f"{row['bound']:.4f}",
        f"{seconds:.1f}",
        f"{row['seconds_both']:.1f}",
        *cells,
        f"{statistics.median(row['certified']):.4f}",
        f"{row['limit']:.4f}",
        f"{share:.2f}",
    ]


HEADERS = [
    "mechanism",
    "DP-Sniper's ε",
    "its s",
    "both orders",
    "black box, s",
    "times faster",
    "likelihood, s",
    "times faster",
    "black box, ε at its s",
    "limit",
    "share",
]


PAIRS_HEADERS = [
    "mechanism",
    "pairs",
    "DP-Sniper's ε",
    "its s",
    "our search, s",
    "times faster",
    "ε in its s",
]


def format_pairs(row: Row) -> list[str]:
    theirs, ours = row["theirs"], row["ours"]
    seconds = statistics.median(run["seconds"] if run["refuted"] else math.inf for run in ours)
    reached = seconds < math.inf
    return [
        row["mechanism"],
        str(theirs["tried"]),
        f"{theirs['bound']:.4f}",
        f"{theirs['seconds']:.1f}",
        f"{seconds:.2f}" if reached else "not reached",
        f"{theirs['seconds'] / seconds:.1f}" if reached else "–",
        f"{statistics.median(run['certified'] for run in ours):.4f}",
    ]


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--pairs", is_flag=True)
def main(names: tuple[str, ...], pairs: bool) -> None:
    checkout = find_checkout("DP_SNIPER", "github.com/eth-sri/dp-sniper")
    if checkout is None:
        return
    audit_function(CASES["SVT3"], _SOME, 0, games=20_000)  # so that no import is timed
    audit_likelihood(CASES["SVT3"], _SOME, 0, games=20_000)
    if pairs:
        search_pairs("SVT5", {"bound": 1.0, "seconds": 0.0}, 0)
    measure, show, headers = (
        (measure_pairs, format_pairs, PAIRS_HEADERS) if pairs else (measure_row, format_row, HEADERS)
    )
    for name in names or CASES:
        start = time.perf_counter()
        file = FOLDER / ("sniper_pairs.json" if pairs else "side_by_side.json")
        rows = keep_row(file, name, measure(name, checkout))
        print(*show(rows[name]), f"({time.perf_counter() - start:.0f} s)", sep=" | ", flush=True)
    table = [show(rows[name]) for name in CASES if name in rows]
    write_table("benchmarks/dp_sniper_pairs" if pairs else "benchmarks/dp_sniper", headers, table)


if __name__ == "__main__":
    main()
