"""StatDP on the mechanisms that it ships: the ε that it refutes at its defaults, and processor seconds.

STATDP=path/to/checkout python -m benchmarks.anchors.peers.statdp_detection CLAIM_FILE [--pairs], with the
packages of requirements-statdp.txt; the file says {"MECHANISM": ε}, and lines of JSON are printed for each.
StatDP is given DP-Sniper's pair of data sets, chooses an event against the claim ε, and counts it in fresh
games; with --pairs it chooses a pair and an event, once, among all pairs that it generates.
Patched: its pool of processes works in this process. It draws from generators that cannot be seeded.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.anchors.peers import find_commit
from benchmarks.anchors.peers.sniper_mechanisms import CASES, DOMAINS, EPSILON

REPEATS = 3
EVENT_GAMES, DETECTION_GAMES = 100_000, 500_000  # in each world, the defaults of `detect_counterexample`
LEVEL = 0.05  # of the p-value below which it reports a violation
_STEPS = 14  # of the bisection for the largest ε that is refuted
# The function in `statdp.algorithms`; thresholds as DP-Sniper has them.
ALGORITHMS: dict[str, tuple[str, dict[str, float]]] = {
    "NoisyHist1": ("histogram", {}),
    "NoisyHist2": ("histogram_eps", {}),
    "ReportNoisyMax1": ("noisy_max_v1a", {}),
    "ReportNoisyMax2": ("noisy_max_v2a", {}),
    "ReportNoisyMax3": ("noisy_max_v1b", {}),
    "ReportNoisyMax4": ("noisy_max_v2b", {}),
    "SVT1": ("SVT", {"N": 1, "T": 0.5}),
    "SVT3": ("iSVT4", {"N": 1, "T": 1}),
    "SVT4": ("iSVT3", {"N": 1, "T": 1}),
    "SVT5": ("iSVT1", {"N": 1, "T": 1}),
    "SVT6": ("iSVT2", {"N": 1, "T": 1}),
}


class _OneProcess:
    """In place of the pool of processes that StatDP expects."""

    _processes = 1

    def imap_unordered(self, function: Callable[..., Any], tasks: Iterable[Any]) -> Iterator[Any]:
        return map(function, tasks)


def detect_violation(
    algorithm: Callable[..., Any],
    tasks: Sequence[tuple[Any, Any, dict[str, Any]]],
    claim: float,
    event_games: int = EVENT_GAMES,
    detection_games: int = DETECTION_GAMES,
) -> tuple[list[Any], int, int]:
    """The pair of the tasks that has the best event against the claim, and how often it occurred in each.

    tasks: (data, neighbour, keywords of the algorithm).
    """
    from statdp.core import run_algorithm
    from statdp.selectors import select_event

    *pair, keywords, event = select_event(algorithm, tasks, claim, event_games, _OneProcess(), quiet=True)
    ((high, low),), _ = run_algorithm(algorithm, *pair, keywords, event, detection_games)
    return pair, high, low


def detect(name: str, claim: float, *, pairs: bool) -> dict[str, Any]:
    """The p-value against the claim, and the largest ε that the same counts refute."""
    from statdp import algorithms
    from statdp.generators import ALL_DIFFER, ONE_DIFFER, generate_databases
    from statdp.hypotest import test_statistics

    function, settings = ALGORITHMS[name]
    algorithm, settings = getattr(algorithms, function), {"epsilon": EPSILON, **settings}
    case = CASES[name]
    tasks = [(*[data.tolist() for data in case.worlds], settings)]
    start = time.process_time()
    if pairs:
        sensitivity = ALL_DIFFER if DOMAINS[name].metric == "linf" else ONE_DIFFER
        tasks = list(generate_databases(algorithm, len(case.data), settings, sensitivity))
    pair, high, low = detect_violation(algorithm, tasks, claim)
    p_value = test_statistics(high, low, claim, DETECTION_GAMES)
    seconds = time.process_time() - start
    refuted, accepted = 0.0, 20.0
    for _ in range(_STEPS):
        middle = (refuted + accepted) / 2
        if test_statistics(high, low, middle, DETECTION_GAMES) < LEVEL:
            refuted = middle
        else:
            accepted = middle
    found = {"p_value": float(p_value), "refuted": refuted, "seconds": seconds}
    return {"mechanism": name, "tried": len(tasks), "pair": pair, **found}


def main(claims: dict[str, float], *, pairs: bool) -> None:
    checkout = os.environ["STATDP"]
    sys.path.insert(0, checkout)
    commit = find_commit(checkout)
    for name, claim in claims.items():
        for _ in range(1 if pairs else REPEATS):
            print(json.dumps({**detect(name, claim, pairs=pairs), "commit": commit}), flush=True)


if __name__ == "__main__":
    file = Path(sys.argv[1])
    main(json.loads(file.read_text(encoding="utf-8")), pairs="--pairs" in sys.argv)
