"""Decision lists as halfspaces, learned online by dp-winnow: Lemma 4.10, Theorems 4.11, 4.12.

The picture is online_lists.svg.

- The margin of a list of r terms whose label changes D times, computed. No weights have a larger one in the
  cases that tests/arena/concepts tries.
- Mistakes of dp-winnow, by r and D: `short-lists`, ε = 4, d = 64.
- Mistakes by the number of features |F|: lists of two conjunctions of exactly k literals over n variables,
  among all conjunctions of up to k. Labels are fair coins; a point is drawn among those with the label.
  Points are the features, with the coordinate −1, doubled.

K = 40 and m = 16 for all lists, the other settings are the defaults. T = 30,000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from tabulate import tabulate

from adversaries.halfspaces.short_lists import ShortLists
from arena import Oblivious, play
from arena.concepts import Conjunctions, Halfspaces
from arena.concepts.halfspaces import decision_list, double_points
from benchmarks.by_learner.charts import BLUE, GREEN, GREY, RED, panels, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from learners.halfspaces.dp_winnow import DpWinnow

SEEDS, GAMES = 6, 4
ROUNDS = 30_000
LARGEST = {1: 32, 2: 32, 3: 32}  # r, by D
LISTS = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 6), (2, 2), (2, 3), (2, 4)]  # D, r
FEATURES = [(4, 1), (8, 1), (16, 1), (4, 2), (6, 2), (8, 2), (12, 2), (6, 3)]  # n, k


def build_learner(dimension: int, margin: float) -> DpWinnow:
    concepts = Halfspaces(dimension, margin)
    return DpWinnow(concepts=concepts, rounds=ROUNDS, epsilon=4.0, updates=40, draws=16)


def find_margin(length: int, changes: int) -> float:
    """The margin of a list whose blocks of equal labels are as equal in length as possible."""
    blocks = np.array_split(np.arange(length), changes)[::-1]
    labels = [(changes - k) % 2 for k, block in enumerate(blocks) for _ in block]
    return decision_list(length, list(enumerate(labels)), 0).margin


def count_on_lists(seed: int, changes: int, length: int) -> Sequence[float]:
    """The mean mistakes of the games of this seed."""
    learner = build_learner(64, find_margin(length, changes))
    adversary = ShortLists(rounds=ROUNDS, learner=learner, length=length, alternations=changes)
    mistakes = play(learner, adversary, Oblivious(ROUNDS), games=GAMES, seed=seed).mistakes
    assert mistakes is not None
    return [float(mistakes.mean())]


def count_on_features(seed: int, variables: int, literals: int) -> Sequence[float]:
    """The mean mistakes for a list of two features and a default of the other label."""
    rng, coins = np.random.default_rng(seed).spawn(2)
    features = Conjunctions(variables, literals)
    cube = np.array(list(product((0, 1), repeat=variables)), np.int8)
    holds = features.evaluate(cube).astype(np.int8)
    longest = np.flatnonzero(np.isclose(holds.mean(axis=0), 0.5**literals))
    points = double_points(np.insert(holds, holds.shape[1], -1, axis=1)).astype(np.int8)
    pools = []  # for each game and label, the points with it
    for _ in range(GAMES):
        labels = np.zeros(len(cube), bool)
        while labels.all() or not labels.any():
            labels = holds[:, rng.choice(longest, 2, replace=False)].any(axis=1)
        pools.append([np.flatnonzero(labels == y) for y in (False, True)])
    learner = build_learner(points.shape[1], find_margin(2, 1))
    state, mistakes = learner.start(GAMES, coins), np.zeros(GAMES)
    for _ in range(ROUNDS):
        y = rng.integers(0, 2, GAMES)
        x = points[[rng.choice(pool[label]) for pool, label in zip(pools, y, strict=True)]]
        mistakes += state.hypothesis()(x) != y
        state.observe(x, y)
    return [float(mistakes.mean())]


def describe_mean(samples: np.ndarray) -> str:
    mean = Mean.of(samples)
    return f"{mean.value:,.0f} ({mean.lower:,.0f} to {mean.upper:,.0f})"


def print_margins() -> None:
    rows = []
    for changes, largest in LARGEST.items():
        lengths = [changes * 2**k for k in range(6) if changes * 2**k <= largest]
        inverse = [1 / find_margin(length, changes) for length in lengths]
        late = np.polyfit(np.log(lengths[-3:]), np.log(inverse[-3:]), 1)[0]
        values = ", ".join(f"{value:,.0f} (r = {r})" for r, value in zip(lengths, inverse, strict=True))
        rows.append((changes, values, f"{late:.2f}"))
    print(tabulate(rows, ("D", "1/ρ", "power of r, last three"), tablefmt="github", disable_numparse=True))


def main() -> None:
    print_margins()
    cases = [{"changes": changes, "length": length} for changes, length in LISTS]
    on_lists = measure_cases(count_on_lists, cases, SEEDS)[:, :, 0]
    inverse = [1 / find_margin(length, changes) for changes, length in LISTS]
    bounds = [find_updates(64, 1 / value) for value in inverse]
    rows = [
        (changes, length, f"{value:.0f}", describe_mean(samples), f"{bound:,.0f}")
        for (changes, length), value, samples, bound in zip(LISTS, inverse, on_lists, bounds, strict=True)
    ]
    headers = ("D", "r", "1/ρ", "mistakes (95 %)", "updates of winnow, 2 ln d/ρ²")
    write_table("lists/online_lists", headers, rows)
    learned = [k for k, samples in enumerate(on_lists) if samples.mean() < ROUNDS / 4]
    order = sorted(learned, key=lambda k: inverse[k])
    law = fit_power([inverse[k] for k in order], on_lists[order])
    print(f"mistakes as a power of 1/ρ, where fewer than a quarter of the rounds: {law}")

    cases = [{"variables": n, "literals": k} for n, k in FEATURES]
    on_features = measure_cases(count_on_features, cases, SEEDS)[:, :, 0]
    counts = [Conjunctions(n, k).count for n, k in FEATURES]
    rows = [
        (n, k, count, 2 * (count + 1), describe_mean(samples))
        for (n, k), count, samples in zip(FEATURES, counts, on_features, strict=True)
    ]
    headers = ("n", "k", "features", "d", "mistakes (95 %)")
    write_table("lists/online_lists_of_features", headers, rows)
    logs = [math.log(2 * (count + 1)) for count in counts]
    by_features = fit_power(logs, on_features)
    print(f"mistakes as a power of ln d: {by_features}")
    draw(on_lists, inverse, on_features, counts)


def find_updates(dimension: int, margin: float) -> float:
    """2·ln d/ρ², the bound of Winnow."""
    return 2 * math.log(dimension) / margin**2


def draw(on_lists: np.ndarray, inverse: list[float], on_features: np.ndarray, counts: list[int]) -> None:
    figure, (left, right) = panels(
        "dp-winnow learns short lists with few changes of label; more features cost it little\n"
        "(ε = 4, δ = 1e-6, T = 30,000; means with 95 % limits)"
    )
    for changes, colour, marker in ((1, BLUE, "o"), (2, RED, "s")):
        places = [k for k, (number, _) in enumerate(LISTS) if number == changes]
        _errors(left, [inverse[k] for k in places], on_lists[places], colour, marker, f"D = {changes}")
        for k in places:
            place, style = (inverse[k], on_lists[k].mean()), {"fontsize": 8, "color": colour}
            offset = (4, -14) if changes == 1 else (4, 8)
            left.annotate(f"r = {LISTS[k][1]}", place, offset, textcoords="offset points", **style)
    left.axhline(ROUNDS / 2, color=GREY, linestyle=":", label="a fair coin")
    left.set(title="lists of r terms whose label changes D times, d = 64", xlabel="inverse margin 1/ρ")
    for literals, colour, marker in ((1, BLUE, "o"), (2, RED, "s"), (3, GREEN, "D")):
        places = [k for k, (_, number) in enumerate(FEATURES) if number == literals]
        label = f"conjunctions of up to {literals}" if literals > 1 else "single literals"
        _errors(right, [counts[k] for k in places], on_features[places], colour, marker, label)
    right.set(title="lists of two features", xlabel="features |F|")
    for axis in (left, right):
        axis.set(xscale="log", yscale="log", ylabel=f"mistakes in {ROUNDS:,} rounds", ylim=(150, 25_000))
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.legend(loc="lower right")
    left.set_xticks([3, 5, 7, 9, 13], ["3", "5", "7", "9", "13"])
    right.set_xticks([10, 30, 100, 300], ["10", "30", "100", "300"])
    for axis in (left, right):
        axis.minorticks_off()
    print(f"Written: {save(figure, 'theorems/online_lists.svg')}")


def _errors(axis, x: list[float], samples: np.ndarray, colour: str, marker: str, label: str) -> None:  # type: ignore[no-untyped-def]
    means = [Mean.of(row) for row in samples]
    values = np.array([mean.value for mean in means])
    off = [values - [mean.lower for mean in means], np.array([mean.upper for mean in means]) - values]
    axis.errorbar(x, values, yerr=off, color=colour, marker=marker, markersize=4, capsize=3, label=label)


if __name__ == "__main__":
    main()
