"""How runs scale: time and memory by games, workers by backends, the share of the ledger, and 10^12 games.

    python benchmarks/speed/scale.py [TOP [PARTS]]

TOP: the largest number of games, by default 1e8. PARTS: some of growth, backends, ledger; by default all.
Backends whose package is not installed are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import attrs
from tabulate import tabulate

from adversaries.figure1.swaps import QuerySwap
from adversaries.release.point_swap import CountSwap
from arena import Figure1, Release
from audits.runs.audit_estimators import AuditEstimators
from audits.runs.blocks import play_block
from audits.runs.ledger import Ledger
from audits.runs.plan import MAX_BLOCK_PAIRS, Plan
from audits.runs.run import run
from audits.runs.workers import Workers, map_in_order
from audits.runs.workers.pools import DASK_UNWATCHED
from learners.everlasting.paper_versions import EverlastingV2
from learners.releases.counts import GeometricCount

ROUNDS = 3  # of each backend, in turns
_CORE_HOUR = 3600.0


def make_cheap_plan(games: int) -> Plan:
    """A count with geometric noise: some forty different scores, a hundred million games in minutes."""
    learner = GeometricCount()
    claim = learner.claim
    return Plan(
        learner=learner,
        adversary=CountSwap(),
        referee=Release(),
        epsilon=claim.epsilon,
        delta=0.0,
        games=games,
    )


def make_expensive_plan(blocks: int) -> Plan:
    """Blocks of about a second."""
    learner = EverlastingV2()
    return Plan(
        learner=learner,
        adversary=QuerySwap(learner=learner),
        referee=Figure1(),
        epsilon=1.0,
        delta=1e-5,
        games=blocks * MAX_BLOCK_PAIRS,
        seed=7,
    )


# --- cost and memory by games ---------------------------------------------------------------------------


def measure_run(games: int) -> None:
    """Play, and print the seconds and the peak memory in KiB."""
    import resource

    plan = make_cheap_plan(games)
    start = time.perf_counter()
    run(plan)
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def measure_growth(top: int) -> float:
    """Print a row for every power of ten; return the seconds per game in the last row."""
    rows, per_game = [], 0.0
    for power in range(4, len(str(top))):
        done = subprocess.run(
            [sys.executable, __file__, "child", str(10**power)], capture_output=True, text=True, check=True
        )
        seconds, memory = json.loads(done.stdout)
        per_game = seconds / 10**power
        rows.append([f"10^{power}", f"{seconds:.2f}", f"{1e6 * per_game:.3f}", f"{memory / 1024:.0f}"])
    print(tabulate(rows, ["games in each world", "s", "µs a game", "peak MiB"], disable_numparse=True))
    return per_game


# --- workers --------------------------------------------------------------------------------------------


@contextmanager
def start_workers() -> Iterator[dict[str, Workers]]:
    """Two workers of each installed backend, started beforehand."""
    workers_by_name = {
        "one": Workers(),
        "loky": Workers(jobs=2),
        "threading": Workers(backend="threading", jobs=2),
    }
    with ExitStack() as stack:
        if find_spec("distributed"):
            from dask import config
            from distributed import LocalCluster

            with config.set(DASK_UNWATCHED):
                local = stack.enter_context(
                    LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
                )
            workers_by_name["dask"] = Workers(backend="dask", cluster=local.scheduler_address)
        yield workers_by_name


def compare_backends(blocks: int = 16) -> None:
    """Compare the backends in turns: on blocks of games, and on waits, which need no core."""
    plan = make_expensive_plan(blocks)
    with start_workers() as workers_by_name:
        for workers in workers_by_name.values():
            run(attrs.evolve(plan, games=4 * plan.block), jobs=workers)  # starts and imports
        played = time_in_turns(workers_by_name, lambda workers: run(plan, jobs=workers))
        waited = time_in_turns(
            workers_by_name, lambda workers: deque(map_in_order(time.sleep, [1.0] * blocks, workers))
        )
    rows = [[name, *format_speeds(played, name), *format_speeds(waited, name)] for name in workers_by_name]
    print(
        f"{blocks} blocks, two workers; games, {median(played['one']) / blocks:.2f} s a block; waits of 1 s"
    )
    headers = ["workers", "games, s", "by one", "by loky", "waits, s", "by one", "by loky"]
    print(tabulate(rows, headers, disable_numparse=True))


def time_in_turns(
    workers_by_name: dict[str, Workers], work: Callable[[Workers], object]
) -> dict[str, list[float]]:
    """The seconds that each backend takes, in every round."""
    seconds: dict[str, list[float]] = {name: [] for name in workers_by_name}
    for _ in range(ROUNDS):
        for name, workers in workers_by_name.items():
            start = time.perf_counter()
            work(workers)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def format_speeds(seconds: dict[str, list[float]], name: str) -> list[str]:
    """Seconds, and the speed relative to one worker and to loky: medians over rounds."""
    ratios = [
        median(a / b for a, b in zip(seconds[other], seconds[name], strict=True)) for other in ("one", "loky")
    ]
    return [f"{median(seconds[name]):.1f}", *(f"{ratio:.2f}" for ratio in ratios)]


# --- the work of the process that computes the figures ------------------------------------------------------


def measure_shares(per_game: float) -> None:
    """Print what it costs to play, test and store a block, and how many workers one process can serve."""
    rows = []
    for name, plan, count in (
        ("forty counts", make_cheap_plan(10**6), 60),
        ("labels and halts, 1 s", make_expensive_plan(40), 4),
    ):
        play, test, keep = measure_costs(plan, count)
        rows.append(
            [
                name,
                f"{1e3 * play:.1f}",
                f"{1e3 * test:.2f}",
                f"{1e3 * keep:.2f}",
                f"{keep / (play + test + keep):.2%}",
                f"{play / (test + keep):,.0f}",
            ]
        )
    headers = ["block", "play, ms", "test, ms", "ledger, ms", "ledger's share", "workers served"]
    print(tabulate(rows, headers, disable_numparse=True))
    if per_game:
        print(f"10^12 games at {1e6 * per_game:.3f} µs each: {1e12 * per_game / _CORE_HOUR:,.0f} core-hours")


def measure_costs(plan: Plan, count: int) -> tuple[float, float, float]:
    """Seconds per block, in the middle of a run, for playing, for testing, and for adding to a ledger."""
    start = time.perf_counter()
    blocks = [play_block(plan, index) for index in range(count)]
    play = (time.perf_counter() - start) / count
    estimators = AuditEstimators(plan)
    for _ in range(4):  # the more games there are, the more rarely bets are chosen
        for block in blocks:
            estimators.update(block)
    start = time.perf_counter()
    for _ in range(4):
        for block in blocks:
            estimators.update(block)
    test = (time.perf_counter() - start) / (4 * count)
    with (
        tempfile.TemporaryDirectory() as folder,
        Ledger.open(Path(folder, "run.ledger"), plan.describe()) as ledger,
    ):
        start = time.perf_counter()
        for index, block in enumerate(blocks):
            ledger.add(index, block)
        keep = (time.perf_counter() - start) / count
    return play, test, keep


def main() -> None:
    top, parts = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8, sys.argv[2:]
    per_game = measure_growth(top) if not parts or "growth" in parts else 0.0
    if not parts or "ledger" in parts:
        measure_shares(per_game)
    if not parts or "backends" in parts:
        compare_backends()


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        measure_run(int(sys.argv[2]))
    else:
        main()
