"""Private experts beside dp-winnow for sparse disjunctions, by d.

The target is a disjunction of 2 of d − 1 variables, half of the labels are 1 (`sparse-disjunction`), ε = 1
and δ = 1e-6 for one replaced example, T = 20,000. Every pair of variables is an expert: N = C(d − 1, 2).

- experts, sparse vector: after Asi, Feldman, Koren, Talwar (2023), for games in which some expert is never
  wrong. One expert predicts until AboveThreshold has counted L = ln N/rate of its mistakes; then another is
  drawn by the exponential mechanism on the losses since the last restart. After `DRAWS` draws it restarts, as
  dp-winnow does, so that an example is paid for in so many draws.
- experts, lazy: the private shrinking dartboard (`learners.mechanisms.lazy_experts`) with the largest
  rate that ε allows. It does not use that some expert is never wrong.
- dp-winnow by default.

Losses of all experts are needed only where one is drawn. Each round costs an expert-based learner N
comparisons; dp-winnow needs d. The picture is docs/disjunction_experts.svg.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adversaries.halfspaces.short_lists import SparseDisjunction
from arena.concepts import Halfspaces
from arena.engine import play
from arena.referees import Oblivious
from benchmarks.by_learner.charts import BLUE, GREEN, GREY, RED, panels, save
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from learners.halfspaces.dp_winnow import DpWinnow
from learners.mechanisms import lazy_experts
from learners.mechanisms.accounting import largest_width

SEEDS, GAMES = 10, 4
ROUNDS = 20_000
EPSILON, DELTA = 1.0, 1e-6
WATCHING = 0.25  # share of ε for AboveThreshold, as in dp-winnow
DRAWS = 4
DIMENSIONS = [16, 32, 64, 128, 256]
MARGIN = 0.2
BY_EXPERTS, BY_LAZY, BY_WINNOW = "experts, sparse vector", "experts, lazy", "dp-winnow"


def count_winnow(seed: int, dimension: int) -> Sequence[float]:
    """The mean mistakes of the games of this seed."""
    learner = DpWinnow(concepts=Halfspaces(dimension, MARGIN), rounds=ROUNDS, epsilon=EPSILON, delta=DELTA)
    adversary = SparseDisjunction(rounds=ROUNDS, learner=learner, relevant=2)
    mistakes = play(learner, adversary, Oblivious(ROUNDS), games=GAMES, seed=seed).mistakes
    assert mistakes is not None
    return [float(mistakes.mean())]


class Game:
    """Examples of one game, and the losses of all pairs of variables."""

    def __init__(self, dimension: int, rng: np.random.Generator) -> None:
        self.size = dimension - 1
        self.off = rng.random((ROUNDS, self.size)) >= 1 - 0.5**0.5
        first, second = rng.choice(self.size, 2, replace=False)
        self.y = ~(self.off[:, first] & self.off[:, second])
        self.pairs = np.triu_indices(self.size, 1)

    def mistakes(self, expert: int) -> np.ndarray:
        """(T,) bool: the rounds in which this pair is wrong."""
        first, second = self.pairs[0][expert], self.pairs[1][expert]
        return np.asarray((self.off[:, first] & self.off[:, second]) == self.y)

    def losses(self, begin: int, end: int) -> np.ndarray:
        """(N,): of each pair in the rounds from `begin` to before `end`."""
        y, off = self.y[begin:end], self.off[begin:end].astype(np.float32)
        silent = off[y].T @ off[y]  # wrong where the label is 1 and both are off
        losses = silent + (~y).sum() - off[~y].T @ off[~y]
        return np.asarray(losses[self.pairs], float)

    def draw(self, losses: np.ndarray, rate: float, rng: np.random.Generator) -> int:
        return int(np.argmax(rng.gumbel(size=len(losses)) - rate * losses))


def count_experts(seed: int, dimension: int) -> Sequence[float]:
    """Mistakes with AboveThreshold, and draws of an expert."""
    rng = np.random.default_rng(seed)
    game = Game(dimension, rng)
    watch = WATCHING * EPSILON
    # A replaced example moves a loss by at most 1 either way, so a draw has range 2·rate.
    rate = largest_width(DRAWS, epsilon=EPSILON - watch, slack=DELTA) / 2
    threshold = math.log(len(game.pairs[0])) / rate
    mistakes, draws, begin, t = 0, 0, 0, 0
    expert = int(rng.integers(len(game.pairs[0])))
    while t < ROUNDS:
        counts = np.cumsum(game.mistakes(expert)[t:])
        noisy = counts + rng.laplace(scale=1 / watch, size=len(counts))
        above = np.flatnonzero(noisy >= threshold + rng.laplace(scale=1 / watch))
        used = int(above[0]) + 1 if above.size else len(counts)
        mistakes += int(counts[used - 1])
        t += used
        if draws and draws % DRAWS == 0:
            begin = t
        expert = game.draw(game.losses(begin, t), rate, rng)
        draws += 1
    return [float(mistakes), float(draws)]


def count_lazy(seed: int, dimension: int) -> Sequence[float]:
    """Mistakes of the shrinking dartboard, and draws of an expert."""
    rng = np.random.default_rng(seed)
    game = Game(dimension, rng)
    found = lazy_experts.largest_rate(ROUNDS, epsilon=EPSILON, delta=DELTA)
    mistakes, draws, t = 0, 0, 0
    expert, losses = int(rng.integers(len(game.pairs[0]))), np.zeros(len(game.pairs[0]))
    while t < ROUNDS:
        wrong = game.mistakes(expert)[t:]
        keep = (1 - found.redraw) * np.exp(-found.rate * wrong)
        redrawn = np.flatnonzero(rng.random(len(wrong)) >= keep)
        used = int(redrawn[0]) + 1 if redrawn.size and draws < found.max_draws else len(wrong)
        mistakes += int(wrong[:used].sum())
        losses += game.losses(t, t + used)
        t += used
        expert = game.draw(losses, found.rate, rng)
        draws += 1
    return [float(mistakes), float(draws)]


COUNTS = {BY_EXPERTS: count_experts, BY_LAZY: count_lazy, BY_WINNOW: count_winnow}


def describe_mean(samples: np.ndarray) -> str:
    mean = Mean.of(samples)
    return f"{mean.value:,.0f} ({mean.lower:,.0f} to {mean.upper:,.0f})"


def main() -> None:
    cases = [{"dimension": dimension} for dimension in DIMENSIONS]
    found = {name: measure_cases(count, cases, SEEDS)[:, :, 0] for name, count in COUNTS.items()}
    rows = [
        (dimension, f"{math.comb(dimension - 1, 2):,}", *(describe_mean(found[name][k]) for name in COUNTS))
        for k, dimension in enumerate(DIMENSIONS)
    ]
    logs = [math.log(dimension) for dimension in DIMENSIONS]
    laws = {name: fit_power(logs, samples) for name, samples in found.items()}
    rows.append(("power of ln d", "", *laws.values()))
    write_table("halfspaces/disjunction_experts", ("d", "experts", *COUNTS), rows)
    figure, (left, right) = panels(
        "Private experts need fewer mistakes than dp-winnow for disjunctions of two variables, and the work "
        "of all N pairs\n(ε = 1, δ = 1e-6, T = 20,000; means with 95 % limits)"
    )
    for (name, samples), colour, marker in zip(found.items(), (BLUE, GREEN, RED), "oDs", strict=True):
        means = [Mean.of(row) for row in samples]
        values = np.array([mean.value for mean in means])
        off = [values - [m.lower for m in means], np.array([m.upper for m in means]) - values]
        style = {"color": colour, "marker": marker, "markersize": 4, "capsize": 3}
        left.errorbar(DIMENSIONS, values, yerr=off, label=name, **style)
    left.axhline(ROUNDS / 2, color=GREY, linestyle=":", label="a fair coin")
    left.set(title="mistakes", ylabel=f"mistakes in {ROUNDS:,} rounds", ylim=(5, 15_000))
    right.plot(DIMENSIONS, [math.comb(d - 1, 2) for d in DIMENSIONS], color=BLUE, marker="o", markersize=4)
    right.text(DIMENSIONS[-1], 1_500, "experts of two variables", color=BLUE, ha="right", fontsize=9)
    right.plot(DIMENSIONS, [math.comb(d - 1, 4) for d in DIMENSIONS], color=GREY, marker="^", markersize=4)
    right.text(DIMENSIONS[-1], 3e5, "experts of four variables", color=GREY, ha="right", fontsize=9)
    right.plot(DIMENSIONS, DIMENSIONS, color=RED, marker="s", markersize=4)
    right.text(DIMENSIONS[-1], 30, "weights of dp-winnow", color=RED, ha="right", fontsize=9)
    right.set(title="numbers that are kept in a game", ylabel="experts or weights")
    for axis in (left, right):
        axis.set(xlabel="dimension d", xscale="log", yscale="log")
        axis.set_xticks(DIMENSIONS, [str(dimension) for dimension in DIMENSIONS])
        axis.minorticks_off()
    left.yaxis.set_major_formatter("{x:,.0f}")
    left.legend(loc="lower left")
    print(f"Written: {save(figure, 'theorems/disjunction_experts.svg')}")


if __name__ == "__main__":
    main()
