"""Lemmas 3, 4, 13, 14, 46 and 49, and Remark 21: what teachers miss, and whether aggregators answer.

The first table: 64 teachers of thresholds, each with n/K examples, and 1,000 public points; Lemmas 13 and 14
bound what they miss against h*, Lemma 4 how many points have K/3 wrong votes, Remark 21 how many have an
expected margin of 1/6 or less. The second: how often an aggregator fails to answer a point of the margin that
its lemma asks for, after T − 1 points at a tie, in 20,000 games.
"""

from __future__ import annotations

from math import ceil, log, sqrt
from typing import Any

import numpy as np
from scipy.stats import binomtest

from arena.messages import UNSTABLE
from arena.randomness import generator
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, fit_power, measure_cases
from benchmarks.theorems.pate.setup.sources import Tsybakov
from benchmarks.theorems.pate.setup.students import DELTA, GAMMA, ThresholdVotes, draw_teachers
from learners.pate.independent_answers import DistanceToInstability
from learners.pate.screening import PateSvt, SparseVector
from learners.pate.voters import Voters

SOURCES = {"realizable": Tsybakov(1.0), "τ = 1/2": Tsybakov(0.5), "τ = 1/3": Tsybakov(1 / 3)}
SIZES = [64, 256, 1_024, 4_096, 16_384]
TEACHERS, POINTS, SEEDS = 64, 1_000, 40
GAMES, ANSWERS = 2_000, 100


def measure_teachers(seed: int, source: str, size: int) -> tuple[float, ...]:
    """The largest Dis(teacher, h*), Lemma 14's and Lemma 4's ratios to their bounds, and ν at ξ = 1/6."""
    drawn, rng = SOURCES[source], generator(np.random.SeedSequence([seed, size]))
    teachers = np.minimum(draw_teachers(drawn, TEACHERS, size, rng), 1.0)
    points = rng.random((POINTS, 1))
    wrong = (points >= teachers) != (points >= drawn.best)
    mistakes = int(wrong.sum(axis=0).max())
    worst = float(drawn.disagreement(teachers).max())
    split = int((wrong.sum(axis=1) >= TEACHERS / 3).sum())
    near = teachers[2 * TEACHERS // 3] - teachers[TEACHERS // 3]  # where K/3 to 2K/3 votes are for 1
    bound = max(POINTS * worst, log(TEACHERS / GAMMA))
    return worst, mistakes / bound, split / max(1, 3 * mistakes), float(near)


def build_lemma(name: str) -> tuple[Voters, int]:
    """The aggregator, and the margin of its lemma in votes from a tie."""
    settings: dict[str, Any] = {"queries": ANSWERS, "epsilon": 1.0, "delta": DELTA}
    if name == "Lemma 49":
        stable = DistanceToInstability(teachers=10**6, **settings | {"queries": 1})
        return stable, ceil(log(1 / DELTA) + log(1 / GAMMA))
    unstable = 10
    if name == "Lemma 3":
        many = 136 * log(4 * ANSWERS * unstable / min(DELTA, GAMMA / 2)) * sqrt(unstable * log(2 / DELTA))
        return PateSvt(teachers=ceil(many), unstable=unstable, **settings), ceil(many / 6)
    learner = SparseVector(teachers=10**6, unstable=unstable, **settings)
    reach = log(2 * ANSWERS * unstable / GAMMA) * sqrt(512 * unstable * log(1 / DELTA))
    return learner, ceil(learner.effective_threshold + reach)


def measure_lemma(seed: int, lemma: str) -> tuple[float]:
    """The games in which a point of that margin was not answered."""
    learner, margin = build_lemma(lemma)
    half = learner.teachers // 2
    thresholds = np.repeat([0.1, 0.3, np.inf], [half, margin + 1, learner.teachers - half - margin - 1])
    service = learner.start(GAMES, generator(np.random.SeedSequence(seed)))
    service.use_ensembles([ThresholdVotes(thresholds)], np.zeros(GAMES, np.intp))
    failed = np.zeros(GAMES, bool)
    ties = 0 if lemma == "Lemma 49" else learner.unstable - 1  # type: ignore[attr-defined]
    for place in range(learner.queries):
        answers = service.predict(np.full(GAMES, 0.2 if place < ties else 0.5))
        failed |= (place >= ties) & (answers == UNSTABLE)
    return (float(failed.sum()),)


def main() -> None:
    rows = []
    for name, source in SOURCES.items():
        found = measure_cases(measure_teachers, [{"source": name, "size": size} for size in SIZES], SEEDS)
        ratios = [
            f"{Mean.of(found[:, :, k].ravel()).value:.2f}, at most {found[:, :, k].max():.2f}" for k in (1, 2)
        ]
        powers = [fit_power(SIZES, found[:, :, k]) for k in (0, 3)]
        rows.append((name, f"{-source.tau / (2 - source.tau):.2f}", *powers, *ratios))
    headers = (
        "source",
        "exponent of n/K, Lemma 13 and Remark 21",
        "of the worst teacher's Dis",
        "of ν at 1/6",
    )
    headers += (
        "mistakes of the worst over max(m·Dis, ln(K/γ)), Lemma 14",
        "points with K/3 wrong over 3B, Lemma 4",
    )
    write_table("pate/pate_lemmas", headers, rows)
    rows = []
    for name in ("Lemma 3", "Lemma 46", "Lemma 49"):
        failed = int(measure_cases(measure_lemma, [{"lemma": name}], 10).sum())
        low, high = binomtest(failed, 10 * GAMES).proportion_ci()
        learner, margin = build_lemma(name)
        rows.append(
            (
                name,
                learner.name,
                f"{margin:,}",
                f"{GAMMA:g}",
                f"{failed / GAMES / 10:.4f}",
                f"{low:.4f} to {high:.4f}",
            )
        )
    headers = (
        "statement",
        "aggregator",
        "votes from a tie",
        "failures promised at most",
        "measured",
        "limits",
    )
    write_table("pate/pate_lemma_failures", headers, rows)


if __name__ == "__main__":
    main()
