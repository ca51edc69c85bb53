"""The figures of seeded commands, compared with a recording: a change of structure must not change a figure.

`python -P tests/test_recorded_figures.py` writes the recording anew, after a change that is meant to change
figures. A recording holds every number of a command's JSON, or of the files that it writes, except times.
Neither the words nor the order of fields matter, and a command may print more than was recorded. Other
versions of the libraries round otherwise and search otherwise, so nothing is compared with them.
"""

from __future__ import annotations

import csv
import json
import math
import os
import shlex
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from arena.testing.laws import comparison
from audits.cli import arena

ROOT = Path(__file__).parent.parent
RECORDING = Path(__file__).with_name("recorded_figures.json")
DATA = ROOT / "audits" / "data" / "examples"
VERSIONS = "versions"  # of the libraries, with which the recording was made

# Learner and adversary of each audit, with settings. Every shipped player is in at least one command.
AUDITS = """
above-threshold --against reconstruct
above-threshold --against training-swap
between-thresholds --against reconstruct
between-thresholds --against training-swap
steady-thresholds --against reconstruct
noisy-votes --against membership
static-erm --against membership
everlasting-v1 --against halt-counter --estimators
everlasting-v1 --against stale-thresholds
everlasting-v2 --against query-swap
everlasting-counter --against reconstruct
everlasting-counter --against membership
everlasting-fresh --against halt-counter
distance-to-instability --against small-margin
distance-to-instability --against repeat-point
distance-to-instability --against disagreement
distance-to-instability --against vote-inference
distance-to-instability --against canary
pate-gaussian --against repeat-point
pate-svt --against small-margin
sparse-vector --against canary
sparse-vector --against opposite-votes --set teachers=31 --set queries=8 --set scale=2 --set threshold=6
sparse-vector-printed --against canary
agnostic-batched --against special-swap
agnostic-experts --against special-swap
bps-experts --against update-swap
confident-winnow --against special-swap
dp-winnow --against update-swap
dp-winnow --against first-swap
noisy-majority --against update-swap
realizable --against special-swap
doubling --against special-swap
geometric-count --against count-swap
geometric-count --against low-bits
gaussian-count --against low-bits
laplace-count --against low-bits
laplace-count --against count-swap --distinguisher learned
laplace-count --against count-swap --distinguisher likelihood
laplace-count --against count-swap --distinguisher score --until-refuted --set epsilon=3
randomised-response --against count-swap --set size=10
everlasting-fresh --against unlabelled-swap --set teachers=21 --set answers=60 --set rate=0.5 --set pool=100
exponential-choice --against low-bits
list-choice --against statdp
logistic --against statdp
rivest --against cover-swap
private-decision-list --against cover-swap
noisy-hist-1 --against statdp
noisy-hist-2 --against statdp
report-noisy-max-1 --against statdp
report-noisy-max-2 --against statdp
report-noisy-max-3 --against statdp
report-noisy-max-4 --against statdp
svt-1 --against statdp
svt-2 --against statdp
svt-3 --against statdp
svt-4 --against statdp
svt-5 --against statdp
svt-6 --against statdp
zoo-laplace --against statdp
"""
RACES = """
agnostic-batched --against sorted
agnostic-experts --against adaptive
bps-experts --against point-functions
bps-experts --against contrarian
bps-experts --against drift
bps-experts --against shattered-tree
golowich-livni --against forest-breaker
halving soa sparse-majority --against adaptive
realizable noisy=weighted-majority --against iid --agnostic
soa --against iid --set adversary.noise=0
confident-winnow winnow dp-winnow --against sparse-disjunction
confident-winnow --against hidden-coordinate
confident-winnow --against shrinking-margin
confident-winnow --against margin-adaptive
winnow --against short-lists
"""
OTHERS = [
    "list --json",
    "exact laplace-count --against count-swap --epsilon 0.5 --json --quiet",
    "exact between-thresholds --against training-swap --set size=50 --set adversary.queries=6 --delta 1e-6"
    " --json --quiet --csv views.csv",
    "exact static-erm --against training-swap --json --quiet",
    "exact pate-gaussian --against repeat-point --set adversary.queries=3 --json --quiet",
    "exact private-decision-list --against cover-swap --json --quiet",
    "search everlasting-v1 --examples 100 --seed 3 --json --quiet",
    "search laplace-count --examples 30 --seed 3 --json --quiet",
    "search static-erm --epsilon 1 --examples 60 --seed 5 --json --quiet",
    "race everlasting-v2 everlasting-counter --rounds 2 --games 4 --seed 3 --json --quiet",
    "race everlasting-v2 --rounds 2 --games 3 --agnostic --seed 4 --json --quiet",
    "race everlasting-v2 --against poison --set adversary.fraction=0.5 --rounds 2 --games 2 --json --quiet",
    "fit private-decision-list --data DATA/mushroom.csv.gz --y Poisonous/Edible --set epsilon=1 --json",
    "fit rivest --data DATA/mushroom.csv.gz --y Poisonous/Edible --splits 2 --json",
    "fit pate-psq --data DATA/mushroom.csv.gz --y Poisonous/Edible --set epsilon=2 --set teachers=65 --json",
    "fit pate-asq --data DATA/mushroom.csv.gz --y Poisonous/Edible --set epsilon=2 --set teachers=65 --json",
    "audit everlasting-v2 --against halt-counter --data DATA/adult.csv.gz --x education-num --y income"
    " --positive >50K --epsilon 1 --delta 1e-5 --games 300 --seed 7 --json --quiet",
]
PLAYED = [
    "play everlasting-v1 --against halt-counter --seed 5 --quiet",
    "play noisy-majority --against contrarian --rounds 20 --seed 5 --quiet",
    "play laplace-count --against count-swap --seed 5 --quiet",
    "play pate-gaussian --against disagreement --seed 5 --quiet",
    "play noisy-majority --against committed --rounds 8 --seed 5 --quiet",
    "play dp-winnow --against first-swap --seed 5 --quiet",
]
_RUN = "audit laplace-count --against count-swap --games 400 --seed 5"
LEDGERS = [
    f"{_RUN} --ledger whole.ledger --json --quiet",
    f"{_RUN} --ledger a.ledger --part 1/2 --json --quiet",
    f"{_RUN} --ledger b.ledger --part 2/2 --json --quiet",
    "runs merge a.ledger b.ledger --into merged.ledger --json --quiet",
    "runs resume merged.ledger --json --quiet",
    "runs resume whole.ledger --json --quiet",
    "runs verify merged.ledger --blocks 3 --seed 0 --json --quiet",
    "runs export merged.ledger games.csv --figures figures.csv --json --quiet",
    "runs watch merged.ledger --json --quiet",
    "runs list . --json --quiet",
    "runs report merged.ledger -o page.html",
]
FILES = ("views.csv", "games.csv", "figures.csv")
TIME = "second"
COMPARED = 500  # games in each world, with a declared distribution, as in all tests that are not slow


def stories() -> Iterator[list[str]]:
    """Commands that share a folder, in order."""
    for line in AUDITS.split("\n")[1:-1]:
        yield [f"audit {line} --games 200 --seed 5 --epsilon 1 --json --quiet"]
    for line in RACES.split("\n")[1:-1]:
        yield [f"race {line} --games 5 --rounds 60 --seed 5 --json --quiet"]
    for line in OTHERS + PLAYED:
        yield [line]
    yield LEDGERS


def numbers_of(value: object, key: str = "") -> Iterator[float]:
    """Every number in parsed JSON, except times."""
    if TIME in key:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            yield from numbers_of(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from numbers_of(item, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def cells_of(text: str) -> Iterator[float]:
    """Every cell of a text that is a number by itself."""
    for word in text.replace(",", " ").split():
        try:
            yield float(word)
        except ValueError:
            continue


def figures_of(command: str) -> dict[str, Any]:
    """The exit status of a command, run in this folder, and its figures."""
    for name in FILES:
        Path(name).unlink(missing_ok=True)
    result = CliRunner().invoke(arena, shlex.split(command.replace("DATA", str(DATA))))
    if "--json" in command:
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        figures = [number for line in lines for number in numbers_of(line)]
    else:
        figures = list(cells_of(result.stdout))
    for path in filter(Path.exists, map(Path, FILES)):
        for row in csv.reader(path.read_text().splitlines()):
            figures += [number for cell in row for number in cells_of(cell)]
    return {"status": result.exit_code, "figures": sorted(figures)}


def record(commands: list[str], folder: Path) -> list[dict[str, Any]]:
    """What commands come to, run one after the other in a folder."""
    home = Path.cwd()
    os.chdir(folder)
    try:
        return [figures_of(command) for command in commands]
    finally:
        os.chdir(home)


def find_missing(recorded: list[float], figures: list[float]) -> list[float]:
    """The recorded figures that are not among the others, each of which counts once. Both are sorted.

    Figures are equal up to the rounding of sums: numpy adds in an order that depends on the processor.
    """
    missing, others = [], iter(figures)
    other = next(others, math.inf)
    for figure in recorded:
        while other < figure and not is_equal(other, figure):
            other = next(others, math.inf)
        if is_equal(other, figure):
            other = next(others, math.inf)
        else:
            missing.append(figure)
    return missing


def is_equal(figure: float, other: float) -> bool:
    return math.isclose(figure, other, rel_tol=1e-11, abs_tol=1e-12)


def versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn", "hypothesis")}


@pytest.mark.thorough
@pytest.mark.parametrize("commands", list(stories()), ids=lambda commands: commands[0])
def test_figures_are_those_of_the_recording(commands: list[str], tmp_path: Path) -> None:
    recording = json.loads(RECORDING.read_text())
    others = {name for name, version in versions().items() if recording[VERSIONS][name] != version}
    if others - {"hypothesis"} or (others and commands[0].startswith("search")):  # only searches draw with it
        pytest.skip(f"the figures were recorded with {recording[VERSIONS]}")
    for command, result in zip(commands, record(commands, tmp_path), strict=True):
        recorded = recording[command]
        assert result["status"] == recorded["status"]
        assert find_missing(recorded["figures"], result["figures"]) == []


if __name__ == "__main__":
    comparison.MOST_GAMES = COMPARED
    written: dict[str, Any] = {VERSIONS: versions()}
    for commands in stories():
        with tempfile.TemporaryDirectory() as folder:
            written |= dict(zip(commands, record(commands, Path(folder)), strict=True))
    rows = ",\n".join(f"{json.dumps(command)}: {json.dumps(result)}" for command, result in written.items())
    RECORDING.write_text(f"{{\n{rows}\n}}\n")
