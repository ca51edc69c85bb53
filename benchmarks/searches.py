"""How often searches refute true claims, over many seeds per learner, and how fast they are.

python benchmarks/searches.py [NAME ...] [--searches N] [--bar NATS]
python benchmarks/searches.py [NAME ...] --protocol Session [--examples N] [--pairs N] [--results FILE]

The claim of every learner is true, so with error 5 % at most one search in twenty refutes it. Few adversaries
of such a learner pass the evidence threshold by chance; a lower threshold lets more of them pass. With a
protocol, the learners are the shipped ones that play it. Results in a file are not computed again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scipy.stats import binom
from tabulate import tabulate
from tqdm import tqdm

ROOT = Path(__file__).parents[1]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests")]  # as pytest has them

from mutants.small_searches import CORRECT, ERROR, SMALL, Correct  # noqa: E402 - the path comes first

from audits.adversary_search import exploration  # noqa: E402
from audits.registry.players import LEARNERS  # noqa: E402

SEARCHES, EXAMPLES = 1_000, 60
HEAD = (
    "learner",
    "searches",
    "refuted",
    "allowed",
    "confirmations",
    "adversaries",
    "best",
    "CPU seconds each",
)


def main() -> None:
    options = argparse.ArgumentParser(description="Searches of correct learners.")
    options.add_argument("names", nargs="*")
    options.add_argument("--searches", type=int, default=SEARCHES)
    options.add_argument("--bar", type=float, default=exploration.EVIDENCE_THRESHOLD)
    options.add_argument("--protocol", help="search the shipped learners of this protocol, as they are")
    options.add_argument("--examples", type=int, default=EXAMPLES, help="adversaries, with a protocol")
    options.add_argument("--pairs", type=int, help="of games of an adversary, with a protocol")
    options.add_argument("--results", type=Path, help="file of the results so far, which it continues")
    arguments = options.parse_args()
    exploration.EVIDENCE_THRESHOLD = arguments.bar
    budget = SMALL
    if arguments.protocol is not None:
        budget = {"examples": arguments.examples, "pairs": arguments.pairs}
    known = CORRECT if arguments.protocol is None else list_shipped(arguments.protocol, budget)
    chosen = [each for each in known if not arguments.names or each.name in arguments.names]
    print(f"{arguments.searches:,} searches each, error {ERROR}, bar {arguments.bar:g} nats, budget {budget}")
    rows = [
        summarise(correct, search_all(correct, arguments.searches, arguments.results)) for correct in chosen
    ]
    print(tabulate(rows, HEAD, tablefmt="plain"))
    if any(row[2] > row[3] for row in rows):
        raise SystemExit("searches refute true claims too often")


def list_shipped(protocol: str, budget: dict[str, Any]) -> list[Correct]:
    """The shipped learners of a protocol whose claims are proved, with their default settings."""
    kinds = [kind for kind in LEARNERS.load_all().values() if isinstance(kind, type)]
    proved = [kind for kind in kinds if protocol in kind.protocols and not kind.theorem.startswith("none")]
    return [
        Correct(kind(), protocol, budget)
        for kind in proved
        if not getattr(kind, "packages", ())  # which need a measurement
    ]


def search_all(correct: Correct, searches: int, file: Path | None) -> Iterator[dict[str, Any]]:
    """The results of so many seeds; those that the file lacks are added to it one by one."""
    key = {"learner": repr(correct.spec), "protocol": correct.protocol, "budget": correct.budget}
    lines = file.read_text().splitlines() if file is not None and file.exists() else []
    stored = [row for row in map(json.loads, lines) if {name: row[name] for name in key} == key]
    found = {row["seed"]: row for row in stored}
    for seed in tqdm(range(searches), correct.name, disable=not sys.stderr.isatty()):
        if seed not in found:
            started = time.process_time()
            result = correct.search(seed)
            figures = ("refuted", "confirmations", "examples", "best")
            row = key | {"seed": seed} | {name: getattr(result, name) for name in figures}
            found[seed] = row | {"seconds": time.process_time() - started}
            if file is not None:
                with file.open("a") as stream:
                    stream.write(json.dumps(found[seed]) + "\n")
        yield found[seed]


def summarise(correct: Correct, results: Iterator[dict[str, Any]]) -> tuple[Any, ...]:
    """The results of the searches of one learner."""
    rows = list(results)
    refuted, confirmations, adversaries, seconds = (
        sum(row[what] for row in rows) for what in ("refuted", "confirmations", "examples", "seconds")
    )
    most = int(binom.isf(1e-6, len(rows), ERROR))
    best, each = max(row["best"] for row in rows), seconds / len(rows)
    figures = (
        correct.name,
        len(rows),
        refuted,
        most,
        confirmations,
        adversaries,
        f"{best:.1f}",
        f"{each:.2f}",
    )
    print(*figures, file=sys.stderr, flush=True)
    return figures


if __name__ == "__main__":
    main()
