"""Learned distinguishers beside the likelihood ratio: certified bound at equal games, and seconds.

python -m benchmarks.distinguishers [NAME ...] [--games N] [--seed S ...]

For every mechanism of the zoo, and for mechanisms whose releases are long vectors, running sums, bits, counts
with clipped tails, or mixtures of discrete and continuous values: the bound that each distinguisher certifies
at 95 % from the same number of games in each world, their ratio, and the processor time of a pair of games.
Medians of the seeds. What is measured is kept in build/distinguishers.json and not measured again.
"""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

import attrs
import click
import numpy as np
from scipy import stats

from adversaries.release.statdp import StatDP
from arena import (
    Density,
    Finite,
    Independent,
    Learner,
    Mixture,
    Release,
    Sample,
    Transformed,
    Unsupported,
    setting,
)
from arena.settings import one_of
from audits.registry.players import LEARNERS
from audits.runs.plan import LEARNED, LIKELIHOOD, Plan
from audits.runs.run import run
from benchmarks.suite import ROWS, worst_input
from benchmarks.tables import BUILD, keep_row, read_rows, write_table
from learners.mechanisms.noise import laplace, laplace_density
from learners.zoo.counting_queries import CountingLearner, QueryValues, queries_setting

LAPLACE, GAUSSIAN, GEOMETRIC, BITS = NOISES = ("laplace", "gaussian", "geometric", "bits")
PLAIN, SUMS, CLIPPED, DROPPED, SIGNED = SHAPES = ("plain", "sums", "clipped", "dropped", "signed")
GAMES = 1_000_000


@attrs.frozen
class NoisyVector(CountingLearner):
    """Releases m counts with independent noise, (n, m) float64, in one of several shapes.

    noise: laplace or gaussian of standard deviation √2/ε; geometric, which is rounded laplace noise; bits,
    which shows instead of a count c one bit that is 1 with probability 1/2 + c ε/4.
    shape: plain; running sums; clipped at one scale below 0 and above 2; each count dropped with probability
    1/2, and then shown as 0; signed, all counts with their sign changed together by a fair coin.
    """

    name = "noisy-vector"
    theorem = "none: a benchmark"
    one_number = False

    queries: int = queries_setting(5)
    noise: str = setting(LAPLACE, help="the noise of a count", check=one_of(*NOISES))
    shape: str = setting(PLAIN, help="what is released", check=one_of(*SHAPES))

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        counts, scale = values.columns(), 1 / self.epsilon
        if self.noise == BITS:
            out[:] = rng.random(out.shape) < 0.5 + counts * self.epsilon / 4
        elif self.noise == GAUSSIAN:
            out[:] = counts + np.sqrt(2) * scale * rng.standard_normal(out.shape)
        else:
            laplace(rng, out, scale)
            out += counts
        if self.noise == GEOMETRIC:
            np.round(out, out=out)
        if self.shape == SUMS:
            np.cumsum(out, axis=1, out=out)
        elif self.shape == CLIPPED:
            np.clip(out, *self.limits, out=out)
        elif self.shape == DROPPED:
            out[rng.random(out.shape) < 0.5] = 0.0
        elif self.shape == SIGNED:
            out *= np.where(rng.random(len(out)) < 0.5, -1.0, 1.0)[:, None]

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value that is shown if values are clipped."""
        return -np.ceil(1 / self.epsilon), 2 + np.ceil(1 / self.epsilon)

    def law(self, sample: Sample) -> Any:
        if (self.noise, self.shape) == (BITS, SIGNED):
            raise Unsupported("the output distribution of bits with a common sign is not declared")
        counts = self.counts(sample)
        vector = Independent(tuple(self.entry(count) for count in counts))
        if self.shape == SUMS:
            return Transformed(vector, inverse=partial(np.diff, axis=1, prepend=0.0))
        if self.shape == SIGNED:
            return Mixture([0.5, 0.5], (vector, Independent(tuple(self.entry(-count) for count in counts))))
        return vector

    def entry(self, count: float) -> Any:
        """The distribution of one entry."""
        noisy = self.noisy_count(count)
        if self.shape == DROPPED:
            return Mixture([0.5, 0.5], (Finite([0.0], [1.0]), noisy))
        return self.clip(count, noisy) if self.shape == CLIPPED and isinstance(noisy, Density) else noisy

    def noisy_count(self, count: float) -> Finite | Density:
        """The distribution of one count with noise; of rounded noise, clipped if the shape is."""
        scale = 1 / self.epsilon
        if self.noise == BITS:
            chance = min(1.0, 0.5 + count * self.epsilon / 4)
            return Finite([0.0, 1.0], [1 - chance, chance])
        if self.noise == GEOMETRIC:
            reach = np.ceil(40 * scale)
            values = np.arange(-reach, reach + 1) + np.round(count)
            if self.shape == CLIPPED:
                values = np.arange(self.limits[0], self.limits[1] + 1)
            below = np.concatenate([[0.0], stats.laplace.cdf(values[:-1] + 0.5, count, scale), [1.0]])
            return Finite(values, np.diff(below))
        noisy = laplace_density(count, scale)
        if self.noise == GAUSSIAN:
            noisy = attrs.evolve(noisy, log=self.noise_family(count).logpdf, kinks=())
        return noisy

    def noise_family(self, count: float) -> Any:
        """The distribution of a count with Laplace or Gaussian noise, of scipy."""
        if self.noise == GAUSSIAN:
            return stats.norm(count, np.sqrt(2) / self.epsilon)
        return stats.laplace(count, 1 / self.epsilon)

    def clip(self, count: float, noisy: Density) -> Mixture:
        """The distribution of a clipped number: the limits have positive probability."""
        low, high = self.limits
        family = self.noise_family(count)
        tails = np.array([family.cdf(low), family.sf(high)])
        inside = max(1 - tails.sum(), np.finfo(float).tiny)
        log = noisy.log
        between = attrs.evolve(noisy, log=lambda x: log(x) - np.log(inside), low=low, high=high)
        return Mixture([*tails, inside], (Finite([low], [1.0]), Finite([high], [1.0]), between))


ALL, ONE, HALF = "all-above", "one-above", "half-half"
# Name, settings and the pattern of the counts in both worlds.
VECTORS = {
    "100 numbers, all differ": ({"queries": 100, "epsilon": 0.005}, ALL),
    "100 numbers, one differs": ({"queries": 100, "epsilon": 0.5}, ONE),
    "100 Gaussian numbers, all differ": ({"queries": 100, "epsilon": 0.005, "noise": GAUSSIAN}, ALL),
    "50 Gaussian sums, one differs": ({"queries": 50, "epsilon": 0.5, "noise": GAUSSIAN, "shape": SUMS}, ONE),
    "50 sums, all differ": ({"queries": 50, "epsilon": 0.02, "shape": SUMS}, ALL),
    "50 sums, one differs": ({"queries": 50, "epsilon": 0.3, "shape": SUMS}, ONE),
    "64 bits, all differ": ({"queries": 64, "epsilon": 0.02, "noise": BITS}, ALL),
    "64 bits, one differs": ({"queries": 64, "epsilon": 0.4, "noise": BITS}, ONE),
    "20 numbers or nothing, half up": ({"queries": 20, "epsilon": 0.05, "shape": DROPPED}, HALF),
    "20 clipped counts, all differ": (
        {"queries": 20, "epsilon": 0.02, "noise": GEOMETRIC, "shape": CLIPPED},
        ALL,
    ),
    "20 clipped numbers, one differs": ({"queries": 20, "epsilon": 0.3, "shape": CLIPPED}, ONE),
    "5 numbers with a common sign": ({"queries": 5, "epsilon": 0.3, "shape": SIGNED}, ALL),
}


def list_matches() -> dict[str, tuple[Learner, StatDP]]:
    """The learners and the adversaries that they are audited with, by name."""
    matches: dict[str, tuple[Learner, StatDP]] = {}
    for row in ROWS:
        learner = LEARNERS.find(row.learner)()
        matches[row.learner] = learner, worst_input(learner)[0]
    for name, (settings, pattern) in VECTORS.items():
        matches[name] = NoisyVector(**settings), StatDP(pattern=pattern, queries=settings["queries"])
    return matches


def measure(learner: Learner, adversary: StatDP, games: int, seed: int) -> list[float]:
    """The certified bounds (nats) of both distinguishers, then their microseconds a pair."""
    bounds, costs = [], []
    for distinguisher in (LIKELIHOOD, LEARNED):
        plan = Plan(
            learner=learner,
            adversary=adversary,
            referee=Release(),
            epsilon=1.0,
            delta=0.0,
            games=games,
            seed=seed,
            distinguisher=distinguisher,
        )
        start = time.process_time()
        bounds.append(run(plan).epsilon_lower)
        costs.append((time.process_time() - start) / games * 1e6)
    return [*bounds, *costs]


def format_row(name: str, runs: list[list[float]]) -> list[str]:
    """runs: what `measure` says of each seed."""
    likelihood, learned, *costs = (statistics.median(column) for column in zip(*runs, strict=True))
    ratios = [run[1] / run[0] for run in runs]
    cells = [f"{likelihood:.4f}", f"{learned:.4f}", f"{min(ratios):.3f}", f"{statistics.median(ratios):.3f}"]
    return [name, str(len(runs)), *cells, *(f"{cost:.1f}" for cost in costs)]


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--games", default=GAMES, show_default=True, help="In each world.")
@click.option("--seed", "seeds", type=int, multiple=True, default=[*range(5)], show_default=True)
def main(names: tuple[str, ...], games: int, seeds: tuple[int, ...]) -> None:
    record, rows = BUILD / "distinguishers.json", []
    for name, (learner, adversary) in list_matches().items():
        if names and name not in names:
            continue
        keys = [f"{name}, {games} games, seed {seed}" for seed in seeds]
        for key, seed in zip(keys, seeds, strict=True):
            if key not in read_rows(record):
                keep_row(record, key, measure(learner, adversary, games, seed))
        rows.append(format_row(name, [read_rows(record)[key] for key in keys]))
        print(*rows[-1], sep=" | ", flush=True)
    headers = ["mechanism", "seeds", "likelihood", "learned", "smallest ratio", "median ratio"]
    headers += ["µs", "learned µs"]
    if not names:
        write_table("benchmarks/distinguishers", headers, rows)


if __name__ == "__main__":
    main()
