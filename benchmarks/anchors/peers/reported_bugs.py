"""Other auditors on the re-created bugs whose releases are numbers: `make bench-bugs-peers`.

python -m benchmarks.anchors.peers.reported_bugs TOOL [NAME ...] [--seconds S] [--again], with the packages of
the tool; DP_SNIPER, STATDP and DP_AUDITORIUM name checkouts. Records what each tool finds in
benchmarks/bugs/data/peers.csv, and writes docs/bugs.md anew; what is recorded is not run again.

A tool gets the claim, at most S processor seconds without imports, and the error that it usually has.
DP-Sniper and StatDP choose among their own pairs of data sets, where these are neighbours within the schema;
in all other cases a tool is given the pair that shows the bug, and of a session also the queries. A tenth of
the seconds goes to a first try with few games. Numbers of games follow from what a call costs.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.anchors.peers import dp_auditorium, dp_sniper, statdp_detection
from benchmarks.bugs import page
from benchmarks.bugs.bug import FUNCTION, Bug, build_data, play
from benchmarks.bugs.collection import BUGS
from benchmarks.bugs.page import CANNOT, FAILED, FOUND, LATE, NOT_FOUND

MARK = -1000.0  # in place of a missing number, as DP-Sniper's mechanisms have it
SHARES = (0.1, 0.9)  # of the seconds, for a first and a second try
PLAYED = 0.7  # of the seconds that a tool is expected to need, so that it ends in time
PILOT = 0.1  # of the games, by which releases are scaled
LENGTH = 5  # of the vectors that tools choose, as of most of DP-Sniper's mechanisms
MOST_GAMES = 10**6  # of a step in each world
MEMORY = 4 * 2**30  # bytes, of what a tool may allocate
_TRIALS = 100  # games that show what a release looks like, and what it costs


@dataclass(frozen=True)
class OwnData:
    """The vectors among which a tool chooses: entries in `values`, of which one differs, or all do."""

    length: int
    values: tuple[float, float]
    whole: bool
    all_differ: bool


def find_own_data(bug: Bug) -> OwnData | None:
    """None if the data are no vectors of numbers, or the pairs of DP-Sniper and StatDP no neighbours."""
    kind, all_differ = bug.schema["kind"], bug.relation == "at Linf distance at most 1"
    fitting = all_differ or bug.relation in ("replace one", "at L1 distance at most 1")
    if bug.form != FUNCTION or kind not in ("list", "vector") or not fitting:
        return None
    record, most = bug.schema["record"], bug.schema["most"]
    values = record.get("values") or (record["low"], record["high"])
    if any(isinstance(value, str) for value in values):
        return None
    length = max(bug.schema["least"], min(LENGTH, most or LENGTH))
    return OwnData(length, (min(values), max(values)), record.get("type") != "number", all_differ)


def read_numbers(release: Any) -> list[float] | None:
    """The numbers of a release, with MARK for None; None if it is not a number or a vector of numbers."""
    if isinstance(release, list | tuple):
        release = [MARK if value is None else value for value in release]
    try:
        numbers = np.asarray(release)
    except ValueError:
        return None
    if numbers.dtype.kind not in "biuf" or not np.isfinite(numbers).all():
        return None
    return [float(number) for number in numbers.ravel()]


def releases_numbers(bug: Bug, games: int = 20) -> bool:
    """Whether the pair that shows the bug leads to numbers in each of some games, and to no error."""
    try:
        return all(
            read_numbers(play(bug, records, np.random.default_rng(seed))) is not None
            for seed in range(games)
            for records in bug.worlds
        )
    except (ValueError, IndexError):
        return False


def list_numeric_bugs() -> list[Bug]:
    return [bug for bug in BUGS if releases_numbers(bug)]


class Target:
    """A bug's mechanism as other tools play it: a function from vectors to vectors.

    own: what a tool may choose among; if None, the vectors (0,) and (1,) stand for the pair of the entry.
    width: how many numbers a release has; shorter ones are filled with MARK.
    marked: whether that occurs, or numbers are missing. cost: the processor seconds of a game.
    """

    def __init__(self, bug: Bug, own: OwnData | None = None) -> None:
        self.bug, self.own = bug, own
        self._data: dict[tuple[float, ...], Any] = {}
        self._rng = np.random.default_rng(0)
        self.width = 0
        vectors = [(0,), (1,)] if own is None else [(1,) * own.length]
        shown = [self._play(vector, self._rng) for vector in vectors for _ in range(_TRIALS)]
        self.width = max(map(len, shown))
        self.marked = any(MARK in numbers or len(numbers) < self.width for numbers in shown)
        start = time.process_time()
        self.sample(vectors[-1], _TRIALS)
        self.cost = (time.process_time() - start) / _TRIALS

    def draw(self, vector: Sequence[float], rng: Generator) -> list[float]:
        numbers = self._play(tuple(vector), rng)[: self.width]
        return numbers + [MARK] * (self.width - len(numbers))

    def sample(self, vector: Sequence[float], games: int) -> np.ndarray:
        """(games, width)."""
        key = tuple(np.asarray(vector).tolist())
        return np.array([self.draw(key, self._rng) for _ in range(games)])

    def count_games(self, seconds: float, weight: float, overhead: float, most: int) -> int:
        """How many games, each of them played `weight` times, end in time; overhead: a play, in seconds."""
        return max(100, min(most, int(PLAYED * seconds / (self.cost + overhead) / weight)))

    def _play(self, vector: tuple[float, ...], rng: Generator) -> list[float]:
        bug = self.bug
        records = list(vector) if self.own else bug.worlds[int(vector[0])]
        if bug.form != FUNCTION or bug.coins == "own":
            release = play(bug, records, rng)
        else:
            if vector not in self._data:
                self._data[vector] = build_data(bug.schema, records)
            release = bug.mechanism(self._data[vector], rng)
        numbers = read_numbers(release)
        if numbers is None:
            raise ValueError("a release is not a vector of numbers")
        return numbers


@dataclass(frozen=True)
class _SniperMechanism:
    target: Target

    def m(self, a: np.ndarray, n_samples: int = 1) -> np.ndarray:
        return self.target.sample(a, n_samples)


def judge_by_sniper(target: Target, seconds: float) -> bool:
    own, pairs = target.own, None
    # In both orders three steps of the search, and the bound, which takes 20 times the games in each world.
    weight = 2 * (3 + 2 * 20)
    if own is not None:
        pairs = dp_sniper.build_pairs(own.length, own.values, whole=own.whole, all_differ=own.all_differ)
        weight = 5 * len(list(pairs.get_input_pairs())) + 2 * 20
    games = target.count_games(seconds, weight, 2e-6, MOST_GAMES)
    step = 1000 if games >= 10_000 else 50  # it asks for multiples of 1000 above 10,000
    games = max(games // step * step, min(games, step))
    dp_sniper.seed_generators(0)
    sniper = dp_sniper.build_sniper(
        _SniperMechanism(target),
        width=target.width * (1 + target.marked),
        flags=(MARK,) if target.marked else (),
        search_games=games,
        final_games=20 * games,
    )
    if pairs is not None:
        return bool(dp_sniper.attack_pairs(sniper, pairs)["bound"] > target.bug.epsilon)
    return dp_sniper.attack(sniper, np.array([[0], [1]]))["bound"] > target.bug.epsilon


def judge_by_statdp(target: Target, seconds: float) -> bool:
    from statdp.generators import ALL_DIFFER, ONE_DIFFER, generate_databases
    from statdp.hypotest import test_statistics

    def algorithm(prng: Generator, data: list[float], epsilon: float) -> float | list[float]:
        numbers = target.draw(data, prng)
        return numbers if target.width > 1 else numbers[0]

    own, settings = target.own, {"epsilon": target.bug.epsilon}
    tasks: Sequence[Any] = [([0], [1], settings)]
    if own is not None:
        low, high = own.values
        tasks = [
            task
            for task in generate_databases(
                algorithm, own.length, settings, ALL_DIFFER if own.all_differ else ONE_DIFFER
            )
            if all(low <= value <= high for value in (*task[0], *task[1]))
        ]
    ratio = statdp_detection.DETECTION_GAMES // statdp_detection.EVENT_GAMES
    weight = 2 * (len(tasks) + ratio)
    games = target.count_games(seconds, weight, 2e-6 * target.width, MOST_GAMES)
    _, high, low = statdp_detection.detect_violation(
        algorithm, tasks, target.bug.epsilon, games, ratio * games
    )
    p_value = test_statistics(high, low, target.bug.epsilon, ratio * games)
    return bool(p_value < statdp_detection.LEVEL)


def judge_by_auditorium(target: Target, seconds: float) -> bool:
    """Whether one of its testers refutes the claim; releases are scaled, since it squeezes them by tanh."""
    import tensorflow as tf

    tf.keras.utils.set_random_seed(0)
    games = target.count_games(max(seconds - 5.0, 0.5), 2, 40e-6, MOST_GAMES)
    pilot, worlds = sample_worlds(target, games)
    spread = pilot.std(axis=(0, 1))
    scaled = (worlds - pilot.mean(axis=(0, 1))) / np.where(spread > 0, spread, 1.0)
    claim = dp_auditorium.Claim(
        lambda data, games, rng: scaled[int(data[0])].squeeze(),
        (0.0,),
        (1.0,),
        target.bug.epsilon,
        target.bug.delta,
    )
    testers = [kind for kind in dp_auditorium.TESTERS if target.width == 1 or kind != "histogram"]
    results = (dp_auditorium.run_tester(kind, claim, scaled.shape[1], 0) for kind in testers)
    return any(result is not None and result[0] for result in results)


def judge_by_jax_privacy(target: Target, seconds: float) -> bool:
    """Its scores are projections on the difference of the mean releases, by the variance of each entry."""
    from benchmarks.anchors.jax_privacy_estimators import clopper_pearson

    games = target.count_games(seconds, 2, 1e-6, MOST_GAMES)
    pilot, worlds = sample_worlds(target, games)
    variance = pilot.var(axis=1).mean(axis=0)
    direction = (pilot[1].mean(axis=0) - pilot[0].mean(axis=0)) / np.where(variance > 0, variance, 1.0)
    out_of, held_in = worlds @ (direction if direction.any() else np.ones(target.width))
    orders = ((out_of, held_in), (-held_in, -out_of))
    bounds = [clopper_pearson("Bonferroni", *order, target.bug.delta) for order in orders]
    return max(bounds) > target.bug.epsilon


def sample_worlds(target: Target, games: int) -> tuple[np.ndarray, np.ndarray]:
    """(2, games, width) of the pair of the entry: of first games by which others are scaled, and of these."""
    worlds = np.stack([target.sample((world,), games) for world in (0, 1)])
    first = int(PILOT * games)
    return worlds[:, :first], worlds[:, first:]


JUDGES: dict[str, Callable[[Target, float], bool]] = {
    "dp-sniper": judge_by_sniper,
    "statdp": judge_by_statdp,
    "dp-auditorium": judge_by_auditorium,
    "jax-privacy": judge_by_jax_privacy,
}
CHOOSING = ("dp-sniper", "statdp")  # They choose data, and test claims with δ = 0 only.


def try_twice(judge: Callable[[Target, float], bool], target: Target, seconds: float) -> bool:
    return any(judge(target, share * seconds) for share in SHARES)


def run_limited(function: Callable[[], bool], seconds: float) -> tuple[str, str, float]:
    """The result of a function in a process of its own, why it failed, and its processor seconds."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    before = _children_seconds()
    process = context.Process(target=_report, args=(function, seconds, sender))
    process.start()
    sender.close()
    try:
        result, why = receiver.recv()
    except EOFError:
        result, why = LATE, ""
    process.join()
    return result, why, _children_seconds() - before


def _report(function: Callable[[], bool], seconds: float, sender: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds),) * 2)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY,) * 2)
    try:
        sender.send((FOUND if function() else NOT_FOUND, ""))
    except Exception as error:  # that a tool fails is a result
        sender.send((FAILED, textwrap.shorten(f"{type(error).__name__}: {error}", 80, placeholder=" …")))


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_tool(tool: str, bug: Bug, seconds: float) -> dict[str, Any]:
    """A row of the records."""
    own = find_own_data(bug) if tool in CHOOSING else None
    row = {"bug": bug.name, "tool": tool, "data": "own" if own else "given", "seconds": seconds}
    if bug.delta and tool in CHOOSING:
        return {**row, "result": CANNOT, "cpu": "0.0", "why": "a claim with δ > 0"}
    target = Target(bug, own)
    result, why, cpu = run_limited(partial(try_twice, JUDGES[tool], target, seconds), seconds)
    return {**row, "result": result, "cpu": f"{cpu:.1f}", "why": why}


def load_tool(tool: str, folder: str) -> None:
    """Import what a tool needs, so that no import is counted."""
    if tool == "dp-sniper":
        dp_sniper.load_package(os.environ["DP_SNIPER"], folder)
        dp_sniper.build_sniper(None, width=1)
    elif tool == "statdp":
        sys.path.insert(0, os.environ["STATDP"])
        from statdp.hypotest import test_statistics

        test_statistics(10, 5, 1.0, 100)  # compiles it
    elif tool == "dp-auditorium":
        dp_auditorium.load_package(os.environ["DP_AUDITORIUM"])
        import tensorflow as tf
        from dp_auditorium.testers import hockey_stick_tester, mmd_tester, renyi_tester  # noqa: F401

        tf.keras.utils.disable_interactive_logging()
    else:
        import benchmarks.anchors.jax_privacy_estimators  # noqa: F401


def run_missing(tool: str, names: Sequence[str], seconds: float, again: bool) -> Iterator[dict[str, Any]]:
    known = {
        row["bug"]
        for row in page.read_records(page.PEERS)
        if row["tool"] == tool and (row["result"] in (FOUND, CANNOT) or float(row["seconds"]) >= seconds)
    }
    for bug in list_numeric_bugs():
        if bug.name in (names or [bug.name]) and (again or bug.name not in known):
            yield run_tool(tool, bug, seconds)


def keep_row(row: dict[str, Any]) -> None:
    rows = [
        old for old in page.read_records(page.PEERS) if (old["bug"], old["tool"]) != (row["bug"], row["tool"])
    ]
    order = [bug.name for bug in BUGS]
    rows = sorted([*rows, row], key=lambda each: (order.index(each["bug"]), list(JUDGES).index(each["tool"])))
    page.write_rows(rows, page.PEERS, page.PEERS_COLUMNS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool", choices=JUDGES)
    parser.add_argument("names", nargs="*", metavar="NAME", help="Bugs; all, if none is named.")
    parser.add_argument("--seconds", type=float, default=60.0, help="Processor seconds of each bug, at most.")
    parser.add_argument("--again", action="store_true", help="Run again what is recorded.")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        load_tool(given.tool, folder)
        for row in run_missing(given.tool, given.names, given.seconds, given.again):
            keep_row(row)
            print(
                f"{row['tool']:14} {row['bug']:32} {row['result']:12} {row['cpu']:>6} s {row['why']}",
                flush=True,
            )
    page.write_page()


if __name__ == "__main__":
    main()
