"""Audits from one run: bounds of ideal canaries, dp-sgd on Adult, and how often true claims are refuted.

python -m benchmarks.by_learner.one_run [FILE.csv] writes the tables of docs/guides/audit_a_training_run.md,
and the scores of the run on Adult to the file, if one is named. It takes a minute.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import attrs
import numpy as np

from adversaries.training.canaries import PlantedCanaries
from arena import OneRun, play
from arena.privacy_curves import GaussianCurve
from audits.api.one_run import certify_one_run
from audits.statistics.bets import Hypotheses
from audits.statistics.betting import CurveFamily, EpsilonGrid
from audits.statistics.estimates import clopper_pearson
from audits.statistics.one_run import RightGuesses, guess_bits, is_claim_excluded
from benchmarks.by_learner.adult_training import load_people
from benchmarks.tables import write_table
from learners.training.dp_sgd import DPSGD

DELTA, CONFIDENCE = 1e-5, 0.95
CLAIMS, CANARIES, SEEDS = (1.0, 2.0, 4.0, 8.0), (1_000, 5_000), 20
PEOPLE, SPARE, STEPS, CLAIMED = 1_000, 2_500, 100, 3.5  # of the run on Adult
NULL_RUNS, NULL_CANARIES = 10_000, 1_000

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def draw_coins(rng: np.random.Generator, m: int) -> np.ndarray:
    return rng.integers(2, size=m).astype(bool)


def draw_gaussian(mu: float) -> Draw:
    """Scores N(b·μ, 1) for bits b: ideal for the Gaussian mechanism."""

    def draw(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        bits = draw_coins(rng, m)
        return rng.standard_normal(m) + mu * bits, bits

    return draw


def draw_responses(epsilon: float, each: float = 0.0, together: float = 0.0) -> Draw:
    """Randomised response that reveals each bit with one probability, and all bits with another."""

    def draw(rng: np.random.Generator, m: int) -> tuple[np.ndarray, np.ndarray]:
        bits = draw_coins(rng, m)
        is_true = rng.random(m) < 1 / (1 + np.exp(-epsilon))
        revealed = (rng.random(m) < each) | (rng.random() < together)
        return np.where(is_true, bits, ~bits) + revealed * np.where(bits, 2, -2), bits

    return draw


def print_ideal() -> None:
    rows = []
    for m in CANARIES:
        for claim in CLAIMS:
            curve = GaussianCurve.of_claim(claim, DELTA)
            bounds = []
            for seed in range(SEEDS):
                scores, bits = draw_gaussian(curve.mu)(np.random.default_rng(seed), m)
                alone = certify_one_run(scores, bits, delta=DELTA, confidence=CONFIDENCE)
                both = certify_one_run(scores, bits, delta=DELTA, confidence=CONFIDENCE, curve=curve)
                bounds.append((alone.epsilon_lower, both.curve_epsilon_lower))
            rows.append((f"{m:,}", f"{claim:g}", *(f"{mean:.2f}" for mean in np.mean(bounds, axis=0))))
    print(f"\nIdeal canaries, δ = {DELTA:g}, confidence {CONFIDENCE:.0%}, means of {SEEDS} runs")
    write_table(
        "training/one_run_ideal", ("canaries", "claim", "certified for (ε, δ)", "for the curve"), rows
    )


def print_adult(path: str | None) -> None:
    start = time.perf_counter()
    sample, _ = load_people().split(PEOPLE, 0, 0)
    learner = DPSGD(
        features=sample.points.shape[1] + SPARE,
        size=PEOPLE,
        batch=PEOPLE,
        steps=STEPS,
        learning_rate=2.0,
        epsilon=CLAIMED,
        delta=DELTA,
    )
    learner = attrs.evolve(learner, noise=learner.noise_run)
    adversary = PlantedCanaries(sample=sample, learner=learner)
    played = play(learner, adversary, OneRun(), games=CANARIES[-1], seed=0)
    scores, bits = played.score, played.worlds
    assert scores is not None
    certificate = certify_one_run(scores, bits, delta=DELTA, confidence=CONFIDENCE, curve=learner.claim.curve)
    print(f"\ndp-sgd on {PEOPLE:,} people of Adult, {STEPS} steps; {time.perf_counter() - start:.1f} s")
    print(certificate.summary())
    if path is not None:
        with open(path, "w", encoding="utf-8") as file:
            file.write("score,included\n")
            file.writelines(
                f"{score!r},{int(bit)}\n" for score, bit in zip(scores.tolist(), bits, strict=True)
            )


def count_refuted(draw: Draw, hypotheses: Hypotheses, runs: int) -> int:
    """How many runs of a mechanism refute a claim that holds for it."""
    known: dict[tuple[RightGuesses, ...], bool] = {}
    refuted = 0
    for seed in range(runs):
        guesses = guess_bits(*draw(np.random.default_rng([1, seed]), NULL_CANARIES))
        if guesses not in known:
            known[guesses] = is_claim_excluded(hypotheses, guesses, 1 - CONFIDENCE)
        refuted += known[guesses]
    return refuted


def print_errors() -> None:
    cases: list[tuple[str, Draw, Hypotheses]] = [
        (
            f"randomised response, ε = {epsilon:g}",
            draw_responses(epsilon),
            EpsilonGrid.make(0.0, claim=epsilon),
        )
        for epsilon in (0.1, 1.0, 3.0)
    ]
    leaks = {"each bit": draw_responses(1.0, each=1e-3), "all bits": draw_responses(1.0, together=1e-3)}
    for what, draw in leaks.items():
        name = f"the same with ε = 1, and {what} revealed with probability 0.001"
        cases.append((name, draw, EpsilonGrid.make(1e-3, claim=1.0)))
    for claim in CLAIMS:
        curve = GaussianCurve.of_claim(claim, DELTA)
        cases.append(
            (
                f"ideal for the curve of ({claim:g}, {DELTA:g})",
                draw_gaussian(curve.mu),
                CurveFamily(curve, DELTA),
            )
        )
    rows = []
    for name, draw, hypotheses in cases:
        refuted = count_refuted(draw, hypotheses, NULL_RUNS)
        limit = float(clopper_pearson(np.array([refuted]), NULL_RUNS, 0.001)[1][0])
        rows.append((name, f"{refuted / NULL_RUNS:.2%}", f"{limit:.2%}"))
    print(f"\nTrue claims refuted, of {NULL_RUNS:,} runs with {NULL_CANARIES:,} canaries; nominal 5 %")
    write_table("training/one_run_errors", ("mechanism", "refuted", "limit at 99.9 %"), rows)


if __name__ == "__main__":
    print_ideal()
    print_adult(sys.argv[1] if len(sys.argv) > 1 else None)
    print_errors()
