"""`realizable` with other learners than the SOA: where it is proper, and what that costs.

A class is drawn for each seed: up to 8 random labellings of 5 points. Whether each base makes the learner
proper, its layers M, and the mistakes of games against an adversary that errs as long as it can, at ε = 16,
δ = 1e-6 and N_0 = 2,048.
"""

from __future__ import annotations

import numpy as np

from adversaries.online.adaptive import AdaptiveConsistent
from arena.concepts import FiniteClass
from arena.randomness import block_seed, generator
from audits.races.online_race import plan_online_race
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, measure_cases
from learners.online.conservative import AUTOMATA
from learners.online.realizable import RealizableLearner

CLASSES, PLAYED, GAMES, ROUNDS = 200, 12, 10, 10_000


def make_learner(seed: int, base: str) -> RealizableLearner:
    rng = generator(block_seed(seed, 0))
    rows = np.unique(rng.integers(0, 2, (int(rng.integers(4, 9)), 5)), axis=0)
    concepts = FiniteClass(rows.tolist())
    return RealizableLearner(concepts=concepts, base=base, rounds=ROUNDS, epsilon=16.0, nodes=2_048)


def measure_class(*, seed: int, base: str) -> tuple[float, float]:
    """Whether the learner of a random class is proper, and its layers."""
    learner = make_learner(seed, base)
    return float(learner.proper), float(learner.tables.depth)


def measure_mistakes(*, seed: int, base: str) -> list[float]:
    """The mean mistakes of some games, and whether nobody errs in the last tenth."""
    race = plan_online_race(
        [(base, make_learner(seed, base), AdaptiveConsistent())],
        rounds=ROUNDS,
        games=GAMES,
        marks=10,
        seed=seed,
    )
    mistakes = race.play_block(0, 0)
    return [float(mistakes[-1].mean()), float((mistakes[-1] == mistakes[-2]).mean())]


def main() -> None:
    cases = [{"base": base} for base in AUTOMATA]
    found = measure_cases(measure_class, cases, CLASSES)
    played = measure_cases(measure_mistakes, cases, PLAYED)
    rows = []
    for base, figures, games in zip(AUTOMATA, found, played, strict=True):
        mistakes, settled = Mean.of(games[:, 0]), Mean.of(games[:, 1])
        rows.append(
            (
                base,
                f"{int(figures[:, 0].sum())} of {CLASSES}",
                f"{figures[:, 1].mean():.2f}",
                f"{int((figures[:, 1] > found[0, :, 1]).sum())}",
                f"{mistakes.value:,.0f} ({mistakes.lower:,.0f} to {mistakes.upper:,.0f})",
                f"{settled.value:.0%}",
            )
        )
    headers = (
        "base",
        "proper on",
        "mean M",
        "classes with M > d",
        f"mistakes in {ROUNDS:,} rounds (limits)",
        "games without mistakes at the end",
    )
    write_table("online/proper_realizable", headers, rows)
