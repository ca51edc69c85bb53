"""Updates of dp-sgd a second and core; an update is one step of one game. The goal for d = 100 is 50,000.

python benchmarks/by_learner/training_steps.py

Medians of seven runs of 256 games, in processor time. Points are Gaussian in 100 dimensions, or people of
Adult in 125 coordinates of 0 and 1, which are stored as small integers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from threadpoolctl import threadpool_limits

from arena import Sample
from arena.sample import Training
from audits.data.one_hot import load_one_hot
from learners.training.dp_sgd import DPSGD

ADULT = Path(__file__).parents[2] / "audits" / "data" / "examples" / "adult.csv.gz"
GAMES, STEPS, RUNS = 256, 10, 7


def build_cases() -> Iterator[tuple[Sample, int]]:
    """Samples, and the numbers of examples in a batch."""
    rng = np.random.default_rng(0)
    yield Sample(rng.standard_normal((1_000, 100)), np.arange(1_000) % 2), 32
    people = load_one_hot(ADULT, y="income", positive=">50K", quantiles=5)
    points = np.column_stack([people.points, np.ones(len(people.labels))])
    for size, batch in ((1_000, 100), (24_420, 300)):
        yield Sample(points[:size], people.labels[:size]), batch


def measure_rates(sample: Sample, batch: int) -> list[float]:
    """Updates a second of processor time, of each run."""
    learner = DPSGD(features=sample.points.shape[1], size=sample.size, batch=batch, noise=1.0)
    state = learner.start(GAMES, np.random.default_rng(1))
    state.train(Training.of([sample], np.zeros(GAMES, int)))
    state.advance(1, ())
    rates = []
    for _ in range(RUNS):
        start = time.process_time()
        state.advance(STEPS, ())
        rates.append(GAMES * STEPS / (time.process_time() - start))
    return rates


def main() -> None:
    for sample, batch in build_cases():
        with threadpool_limits(1):
            rates = measure_rates(sample, batch)
        name = f"{sample.size:,} examples, d = {sample.points.shape[1]}, batches of {batch}"
        print(f"{name:45} {median(rates):9,.0f} updates a second ({min(rates):,.0f} to {max(rates):,.0f})")


if __name__ == "__main__":
    main()
