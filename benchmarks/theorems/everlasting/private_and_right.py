"""Whether everlasting-gaussian, as it is by default, is both private and right: computed, and played.

Thresholds on the line, (1, 1e-6)-DP, against honest.

- Computed: the probability that a hypothesis of round 1 errs on more than 0.1 of D, and that it halts.
- Drawn: whether one of the first 12 rounds fails so. LabelBoost's concepts, votes and noise are drawn from
  their laws (docs/proofs/everlasting_gaussian.md), for D without atoms, and for D with atoms on both sides of
  the target, which leave LabelBoost few good labellings. Votes of later rounds are clearer still.
- Played: ten games of two rounds of 2.4 million queries each. By rounds: the largest error of a hypothesis
  (on 10,000 fresh points, so ± 0.006), the share of wrong answers, and games that halted early.
- Played: one round each for D on finite domains and with atoms, of several classes.
"""

from __future__ import annotations

from math import ceil, exp, inf, sqrt

import numpy as np
from scipy import integrate, stats

from adversaries.figure1.honest import Honest
from arena import Sample
from arena.concepts import ConceptClass, Intervals, Points, RealPoints, Thresholds
from audits.races.predictor_race import plan_predictor_race
from audits.races.race_result import run_race
from benchmarks.tables import write_table
from benchmarks.theorems.measurement import Mean, measure_cases
from learners.everlasting.bbl_round import BBLRound
from learners.everlasting.everlasting_gaussian import EverlastingGaussian
from learners.mechanisms.steady_thresholds import CHANCE

SEEDS = 10
ROUNDS = 2
ALPHA = 0.1
DRAWN_ROUNDS, RUNS, BLOCKS = 12, 2_000, 5
WIDTHS = (0.0, 0.007, 0.010, 0.013)  # the mass of the atoms on each side of the target
ATOMS = 4  # on each side
NEAR = 0.06  # the mass of D on each side of the target, in which the concept of LabelBoost lies
CONFIDENCE = 0.95
GAMES = 3  # for each D with atoms
FIGURES = (
    "largest error of a hypothesis",
    "mean of the largest (limits)",
    "wrong answers (limits)",
    "halted",
)


# --- computed -----------------------------------------------------------------------------------------------


def chance_of_error(run: BBLRound, votes: np.ndarray) -> np.ndarray:
    """That the noise of some answer outweighs the votes for 1 (a share of T), so that 0 is answered."""
    tail = stats.norm.logsf((votes - 0.5) * run.teachers * run.noise)
    return -np.expm1(-run.answers * np.exp(tail))


def first_round_failure(run: BBLRound) -> float:
    """That a hypothesis of round 1 errs on more than α of D, whatever D: exact for D without atoms."""
    missing = np.arange(run.teachers + 1)  # teachers without an example in the α of D above the target
    chances = stats.binom.pmf(missing, run.teachers, (1 - ALPHA) ** run.chunk)
    return float(chances @ chance_of_error(run, 1 - missing / run.teachers))


def compute_expected_marks(run: BBLRound, gap: float) -> float:
    """Of a round, at most, whatever D: votes grow from 0 to 1 over Exp(λ) of D above the target."""
    width = gap / (run.noise * run.teachers)

    def density(vote: float) -> float:
        return exp(-abs(vote - 0.5) / width) * (1 - vote) ** (1 / run.chunk - 1) / run.chunk

    share = sum(integrate.quad(density, *limits)[0] for limits in ((0, 0.5), (0.5, 1 - 1e-9)))
    return CHANCE * run.answers * (share + exp(-0.5 / width)) + 10


def chance_of_halt(learner: EverlastingGaussian, run: BBLRound) -> float:
    """At most: three deviations, of the marks, of the threshold's noise and of the noise of the counts.

    Of a count that lies y below the threshold a fresh Lap(1/ε) passes it with probability e^{−εy}/2. Counts
    grow by one in R/marks answers, so that all together add up to at most R/(2·marks·ε)·e^{−εy}.
    """
    marks, epsilon = compute_expected_marks(run, learner.gap), learner._bit_epsilon
    room = learner.stopping_count(run.index) - marks
    shares = np.linspace(0.05, 0.9, 18)
    best = inf
    for first in shares:
        for second in shares[shares < 0.95 - first]:
            parts = room * first, room * second, room * (1 - first - second)
            counts = exp(-epsilon * parts[2]) * (1 + run.answers / (2 * marks * epsilon))
            total = stats.poisson.sf(marks + parts[0], marks) + exp(-epsilon * parts[1]) / 2 + counts
            best = min(best, float(total))
    return best


def draw_concepts(
    start: np.ndarray, *, examples: int, pool: int, width: float, rng: np.random.Generator
) -> np.ndarray:
    """The concepts of LabelBoost, as places in D from the target, where the examples have labels of `start`.

    The candidates in a gap between two examples make the same errors, and weigh e^{−errors/2} each. Without
    atoms they are the points of the pool in the gap; within `width` of the target only the edges of atoms.
    """
    games = len(start)
    most = ceil(2 * NEAR * examples + 8 * sqrt(2 * NEAR * examples))
    number = rng.poisson(2 * NEAR * examples, games)[:, None]
    places = rng.uniform(-NEAR, NEAR, (games, most))
    places = np.sort(np.where(np.arange(most) < number, places, NEAR))
    edges = np.linspace(-width, width, 2 * ATOMS + 1) if width else np.empty(0)
    inside = np.abs(places) < width
    places[inside] = edges[np.searchsorted(edges, places[inside])]  # all of an atom is at its upper edge
    side = np.full((games, 1), NEAR)
    low, high = np.concatenate([-side, places], axis=1), np.concatenate([places, side], axis=1)
    free = (high - low) - np.maximum(0, np.minimum(high, width) - np.maximum(low, -width))
    between = np.searchsorted(edges, high) - np.searchsorted(edges, low)  # edges, from low on
    candidates = rng.poisson(pool * free) + (free > 0) + between
    errors = np.abs(np.arange(most + 1) - (places <= start[:, None]).sum(axis=1)[:, None])
    with np.errstate(divide="ignore"):
        weights = np.log(candidates) - errors / 2 + rng.gumbel(size=errors.shape)
    gap = weights.argmax(axis=1)[:, None]
    low, high, free = (np.take_along_axis(each, gap, axis=1)[:, 0] for each in (low, high, free))
    return np.where(free > 0, rng.uniform(low, high), low)


def measure_failures(*, width: float, seed: int) -> list[float]:
    """How many of the runs fail first in round 1, in round 2, …"""
    learner, rng = EverlastingGaussian(), np.random.default_rng(seed)
    concept, failed = np.zeros(RUNS), np.zeros(RUNS, bool)
    counts = []
    for index in range(1, DRAWN_ROUNDS + 1):
        run = learner.round(index)
        # A teacher takes the least example above the concept; it errs on more than α if none is nearer.
        missing = rng.binomial(run.teachers, (1 - (ALPHA - concept)) ** run.chunk)
        wrong = rng.random(RUNS) < chance_of_error(run, 1 - missing / run.teachers)
        wrong |= rng.random(RUNS) < chance_of_halt(learner, run)
        counts.append(float(np.count_nonzero(wrong & ~failed)))
        failed |= wrong
        concept = draw_concepts(
            concept,
            examples=int(learner.labelled_rate_run * run.examples),
            pool=int(learner.rate_run * run.answers),
            width=width,
            rng=rng,
        )
    return counts


# --- played -------------------------------------------------------------------------------------------------


def measure_run(*, seed: int) -> list[float]:
    """Of each round: the worst error, the share of wrong answers, whether it halted."""
    race = plan_predictor_race([("it", EverlastingGaussian(), Honest())], rounds=ROUNDS, games=1, seed=seed)
    found = run_race(race, jobs=1).standings[0]
    return [*found.worst.tolist(), *found.wrong_answers.tolist(), *found.halted.tolist()]


def atom_on_the_line(mass: float, below: float) -> Sample:
    """300,000 points in a row, labelled 1 from 1/2 on, and an atom above as much of D as `below`."""
    points = np.linspace(0, 1, 300_000)
    counts = np.ones(len(points), np.int64)
    counts[np.searchsorted(points, 0.5 + below)] += round(mass / (1 - mass) * len(points))
    return Sample(points, points >= 0.5, counts)


POPULATIONS: dict[str, tuple[ConceptClass, Sample | None]] = {
    **{f"thresholds:1..{size}, uniform": (Thresholds(range(1, size + 1)), None) for size in (6, 15, 22, 60)},
    **{
        f"line, atom of {mass} {f'at {below} above' if below else 'at'} the target": (
            Thresholds(),
            atom_on_the_line(mass, below),
        )
        for mass in (0.02, 0.035, 0.045, 0.07)
        for below in (0.0, 0.02)
    },
    "points of the line, target of mass 0.045": (
        RealPoints(),
        Sample(np.arange(100.0), np.arange(100) == 50, np.where(np.arange(100) == 50, 47, 10)),
    ),
    "points:1..22, uniform": (Points(range(1, 23)), None),
    "intervals:1..22, uniform": (Intervals(range(1, 23)), None),
}


def measure_population(*, population: str, seed: int) -> list[float]:
    """The worst error of round 1, and whether it halted."""
    concepts, sample = POPULATIONS[population]
    learner = EverlastingGaussian(concepts=concepts)
    race = plan_predictor_race([("it", learner, Honest(sample=sample))], rounds=1, games=1, seed=seed)
    found = run_race(race, jobs=1).standings[0]
    return [float(found.worst[0]), float(found.halted[0])]


def main() -> None:
    learner = EverlastingGaussian()
    print(f"n = {learner.sample_size:,}; claim: {learner.claim}")
    for index in (1, 2):
        run = learner.round(index)
        print(
            f"round {index}: at most {compute_expected_marks(run, learner.gap):,.0f} answers are charged "
            f"on average, and it halts at {learner.stopping_count(index):,.0f}: with probability at most "
            f"{chance_of_halt(learner, run):.2g}"
        )
    print(f"round 1 errs on more than {ALPHA} with probability {first_round_failure(learner.round(1)):.2g}")
    failures = measure_cases(measure_failures, [{"width": width} for width in WIDTHS], BLOCKS)
    total = BLOCKS * RUNS
    rows: list[tuple[object, ...]] = []
    for width, counts in zip(WIDTHS, failures.sum(axis=1), strict=True):
        failed = stats.binomtest(int(counts.sum()), total)
        high = failed.proportion_ci(CONFIDENCE, method="exact").high
        early = ", ".join(str(count) for count in counts[:3].astype(int))
        rows.append(
            (
                f"{width:.3f}" if width else "none",
                early,
                int(counts[3:].sum()),
                f"{1 - failed.statistic:.4f}",
                f"{1 - high:.4f}",
            )
        )
    headers = ("mass of the atoms on each side", "failures in round 1, 2, 3", "in later rounds")
    headers += ("probability of success", "at least (95 %, Clopper-Pearson)")
    write_table("everlasting/private_and_right", headers, rows)
    write_table(
        "everlasting/private_and_right_rounds",
        ("round", "teachers", "λ", "σ/T", *FIGURES),
        _list_rounds(learner),
    )
    played = measure_cases(measure_population, [{"population": name} for name in POPULATIONS], GAMES)
    rows = [
        (name, f"{found[:, 0].max():.4f}", f"{int(found[:, 1].sum())} of {GAMES}")
        for name, found in zip(POPULATIONS, played, strict=True)
    ]
    write_table("everlasting/private_and_right_atoms", ["D", "largest error", "halted"], rows)


def _list_rounds(learner: EverlastingGaussian) -> list[list[object]]:
    figures = measure_cases(measure_run, [{}], SEEDS)[0].reshape(SEEDS, 3, ROUNDS)
    rows: list[list[object]] = []
    for index in range(ROUNDS):
        run = learner.round(index + 1)
        worst, wrong, halted = figures[:, :, index].T
        means = [Mean.of(worst), Mean.of(wrong)]
        cells = [f"{mean.value:.4f} ({mean.lower:.4f} to {mean.upper:.4f})" for mean in means]
        noise = f"{1 / (run.noise * run.teachers):.4f}"
        rows.append(
            [
                index + 1,
                f"{run.teachers:,}",
                run.chunk,
                noise,
                f"{worst.max():.4f}",
                *cells,
                int(np.sum(halted)),
            ]
        )
    return rows


if __name__ == "__main__":
    main()
