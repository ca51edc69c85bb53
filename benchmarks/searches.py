"""How often searches refute what holds, over 1,000 seeds a learner, and how fast they are.

python benchmarks/searches.py [NAME ...] [--searches N] [--bar NATS]

Every learner keeps its claim, so at an error of 5 % a search refutes it at most one time in twenty. Few
adversaries of such a learner ever pass the bar and are confirmed; a lower bar lets chance pass it.
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

from support.small_searches import CORRECT, ERROR, SMALL, Correct  # noqa: E402 - the path comes first

from audits.search import exploration  # noqa: E402

SEARCHES = 1_000
HEAD = ("learner", "refuted", "allowed", "confirmations", "adversaries", "best", "searches a second")


def main() -> None:
    options = argparse.ArgumentParser(description="Searches of correct learners.")
    options.add_argument("names", nargs="*")
    options.add_argument("--searches", type=int, default=SEARCHES)
    options.add_argument("--bar", type=float, default=exploration.EVIDENCE_THRESHOLD)
    asked = options.parse_args()
    exploration.EVIDENCE_THRESHOLD = asked.bar
    most = int(binom.isf(1e-6, asked.searches, ERROR))
    print(f"{asked.searches:,} searches of each at error {ERROR}, bar {asked.bar:g} nats, budget {SMALL}")
    rows = [row(one, asked.searches, most) for one in CORRECT if not asked.names or one.name in asked.names]
    print(tabulate(rows, HEAD, tablefmt="plain"))
    if any(refuted > most for _, refuted, *_ in rows):
        raise SystemExit("searches refute what holds")


def row(one: Correct, searches: int, most: int) -> tuple[object, ...]:
    """What the searches of one learner came to."""
    started = time.perf_counter()
    found = [one.search(seed) for seed in tqdm(range(searches), one.name, disable=not sys.stderr.isatty())]
    rate = searches / (time.perf_counter() - started)
    refuted, confirmations, adversaries = (
        sum(getattr(result, what) for result in found) for what in ("refuted", "confirmations", "examples")
    )
    best = max(result.best for result in found)
    figures = (one.name, refuted, most, confirmations, adversaries, f"{best:.1f}", f"{rate:.2f}")
    print(*figures, file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    main()
