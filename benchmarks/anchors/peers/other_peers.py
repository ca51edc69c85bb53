"""StatDP and DP-Auditorium beside black-box audits, on one machine.

STATDP=checkout DP_AUDITORIUM=checkout python -m benchmarks.anchors.peers.other_peers [MECHANISM ...]
[--pairs], or make bench-peers; mechanisms are those of StatDP. Keeps rows with commits, machine and date in
build/anchors, and writes statdp.csv and dp_auditorium.csv of docs/tables/benchmarks. Seconds are processor
time of one core without imports; medians of three seeds. All at 95 %.

--pairs: no data sets are given, as in `side_by_side`; statdp_pairs.csv.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

import click

from benchmarks.anchors.peers.dp_auditorium import CLAIMS, SEEDS, SIZES, TESTERS, Claim
from benchmarks.anchors.peers.information_limit import find_laws, information_limit
from benchmarks.anchors.peers.side_by_side import (
    PAIRS_HEADERS,
    PAIRS_SEEDS,
    Row,
    audit_function,
    describe_setup,
    find_checkout,
    format_pairs,
    processor_seconds,
    run_peer,
    search_pairs,
    time_seeds,
)
from benchmarks.anchors.peers.sniper_mechanisms import CASES
from benchmarks.anchors.peers.statdp_detection import ALGORITHMS, DETECTION_GAMES
from benchmarks.anchors.score_cases import FOLDER
from benchmarks.tables import keep_row, write_table

CONFIDENCE = 0.95
_LARGEST_CLAIM = 2.0  # against which StatDP chooses events; larger ones leave it no event frequent enough


def run_statdp(name: str, checkout: str, *options: str) -> list[Row]:
    """What StatDP finds. It chooses events against 0.9 of the limit."""
    limit = information_limit(*find_laws(name), DETECTION_GAMES, CONFIDENCE)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "claims.json")
        file.write_text(json.dumps({name: min(_LARGEST_CLAIM, 0.9 * limit)}), encoding="utf-8")
        return run_peer("statdp", "statdp_detection", str(file), *options, STATDP=checkout)


def compare_with_statdp(name: str, checkout: str) -> Row:
    """ε that StatDP refutes, and seconds until ours certify it."""
    runs = run_statdp(name, checkout)
    row: Row = {key: statistics.median(run[key] for run in runs) for key in ("refuted", "seconds")}
    ours = time_seeds(audit_function, CASES[name], row["refuted"], row["seconds"], confidence=CONFIDENCE)
    return {"mechanism": name, **row, "ours": ours, "runs": runs, **describe_setup()}


def compare_pairs(name: str, checkout: str) -> Row:
    """The same if both choose the data sets."""
    (theirs,) = run_statdp(name, checkout, "--pairs")
    theirs["bound"] = theirs["refuted"]
    ours = [search_pairs(name, theirs, seed, CONFIDENCE) for seed in range(PAIRS_SEEDS)]
    return {"mechanism": name, "theirs": theirs, "ours": ours, **describe_setup()}


def format_statdp(row: Row) -> list[str]:
    ours = statistics.median(row["ours"])
    reached = ours < float("inf")
    return [
        row["mechanism"],
        f"{row['refuted']:.4f}",
        f"{row['seconds']:.1f}",
        f"{ours:.2f}" if reached else "not reached",
        f"{row['seconds'] / ours:.1f}" if reached else "–",
    ]


def compare_with_auditorium(checkout: str) -> list[Row]:
    """For each claim, what each tester and a black-box audit say at equal games."""
    theirs = run_peer("dp-auditorium", "dp_auditorium", DP_AUDITORIUM=checkout, TF_CPP_MIN_LOG_LEVEL="3")
    rows = []
    for name, claim in CLAIMS.items():
        row: Row = {"claim": name, "epsilon": claim.epsilon, "delta": claim.delta}
        row |= {f"{run['tester']}, {run['games']}": run["runs"] for run in theirs if run["claim"] == name}
        row |= {
            f"ours, {games}": [_audit_claim(claim, games, seed) for seed in range(SEEDS)] for games in SIZES
        }
        rows.append({**row, **describe_setup()})
    return rows


def _audit_claim(claim: Claim, games: int, seed: int) -> tuple[bool, float]:
    start = processor_seconds()
    how = {"games": games, "delta": claim.delta, "confidence": CONFIDENCE, "until_refuted": True}
    verdict = audit_function(claim, claim.epsilon, seed, **how)
    return verdict.refuted, processor_seconds() - start


def format_auditorium(row: Row) -> list[str]:
    claim = f"{row['epsilon']:g}" if not row["delta"] else f"({row['epsilon']:g}, {row['delta']:g})"
    cells = [row["claim"], claim]
    for tool in (*TESTERS, "ours"):
        for games in SIZES:
            runs = row[f"{tool}, {games}"]
            seconds = statistics.median(spent for _, spent in runs) if runs else 0.0
            cells.append(f"{sum(refuted for refuted, _ in runs)} ({seconds:.2f})" if runs else "–")
    return cells


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--pairs", is_flag=True)
def main(names: tuple[str, ...], pairs: bool) -> None:
    audit_function(CASES["SVT3"], 0.01, 0, games=20_000)  # so that no import is timed
    if pairs:
        search_pairs("SVT5", {"bound": 1.0, "seconds": 0.0}, 0)
    if checkout := find_checkout("STATDP", "github.com/cmla-psu/statdp"):
        measure, show = (compare_pairs, format_pairs) if pairs else (compare_with_statdp, format_statdp)
        table = "statdp_pairs" if pairs else "statdp"
        for name in names or ALGORITHMS:
            rows = keep_row(FOLDER / f"{table}.json", name, measure(name, checkout))
            print(*show(rows[name]), sep=" | ", flush=True)
        headers = ["mechanism", "StatDP's ε", "its s", "black box, s", "times faster"]
        if pairs:
            headers = ["mechanism", "pairs", "StatDP's ε", *PAIRS_HEADERS[3:]]
        write_table(f"benchmarks/{table}", headers, [show(rows[name]) for name in ALGORITHMS if name in rows])
    if pairs:
        return
    if checkout := find_checkout("DP_AUDITORIUM", "github.com/google/differential-privacy"):
        for row in compare_with_auditorium(checkout):
            rows = keep_row(FOLDER / "dp_auditorium.json", row["claim"], row)
            print(*format_auditorium(row), sep=" | ", flush=True)
        headers = ["mechanism", "claim"]
        headers += [f"{tool}, {games:,}" for tool in (*TESTERS, "ours") for games in SIZES]
        write_table("benchmarks/dp_auditorium", headers, [format_auditorium(rows[name]) for name in CLAIMS])


if __name__ == "__main__":
    main()
