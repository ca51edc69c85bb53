"""How often searches refute true claims, over 1,000 seeds per learner, and how fast they are.

python benchmarks/searches.py [NAME ...] [--searches N] [--bar NATS]

The claim of every learner is true, so with error 5 % at most one search in twenty refutes it. Few adversaries
of such a learner pass the evidence threshold by chance; a lower threshold lets more of them pass.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from scipy.stats import binom
from tabulate import tabulate
from tqdm import tqdm

ROOT = Path(__file__).parents[1]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests")]  # as pytest has them

from mutants.small_searches import CORRECT, ERROR, SMALL, Correct  # noqa: E402 - the path comes first

from audits.adversary_search import exploration  # noqa: E402

SEARCHES = 1_000
HEAD = ("learner", "refuted", "allowed", "confirmations", "adversaries", "best", "searches a second")


def main() -> None:
    options = argparse.ArgumentParser(description="Searches of correct learners.")
    options.add_argument("names", nargs="*")
    options.add_argument("--searches", type=int, default=SEARCHES)
    options.add_argument("--bar", type=float, default=exploration.EVIDENCE_THRESHOLD)
    arguments = options.parse_args()
    exploration.EVIDENCE_THRESHOLD = arguments.bar
    most = int(binom.isf(1e-6, arguments.searches, ERROR))
    print(
        f"{arguments.searches:,} searches each at error {ERROR}, bar {arguments.bar:g} nats, budget {SMALL}"
    )
    rows = [
        row(correct, arguments.searches, most)
        for correct in CORRECT
        if not arguments.names or correct.name in arguments.names
    ]
    print(tabulate(rows, HEAD, tablefmt="plain"))
    if any(refuted > most for _, refuted, *_ in rows):
        raise SystemExit("searches refute true claims too often")


def row(correct: Correct, searches: int, most: int) -> tuple[object, ...]:
    """The results of the searches of one learner."""
    started = time.perf_counter()
    results = [
        correct.search(seed) for seed in tqdm(range(searches), correct.name, disable=not sys.stderr.isatty())
    ]
    rate = searches / (time.perf_counter() - started)
    refuted, confirmations, adversaries = (
        sum(getattr(result, what) for result in results) for what in ("refuted", "confirmations", "examples")
    )
    best = max(result.best for result in results)
    figures = (correct.name, refuted, most, confirmations, adversaries, f"{best:.1f}", f"{rate:.2f}")
    print(*figures, file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    main()
