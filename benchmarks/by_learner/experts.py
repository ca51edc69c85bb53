"""Private agnostic learners: their regret, and what each part of agnostic-experts does beside its bound.

ε = 3, δ = 1e-6, thresholds on 16 points; limits are at 95 %.

1. Regret. `iid` has uniform points and the labels of a threshold drawn for each game, a tenth of them
   flipped. At T = 4,000 points come in other orders as well, or the threshold changes three times. The last
   learner is Hedge over the 17 concepts at the rate that the same ε pays for: `exponential_experts.cost` is
   what it costs.
2. Counters of 31 ends, as 32 stretches have: the largest error over all ends beside the accuracy told.
3. Candidates: a point comes up in one stretch only, the 16th, and is missed if any of the 256 intervals with
   that stretch in it does not have it. This has probability at most β from `largest_missed_count` + 1
   occurrences on.
4. The expert that follows a concept: at each end it moves to the first candidate at which it differs from the
   concept. Occurrences since its last move of a point at which it differs and which is no candidate; rounds
   in which it differs; and how many of the pairs (state, end of the last move) hold an expert.
"""

from __future__ import annotations

import math
import os
import time

import attrs
import numpy as np
from tabulate import tabulate

from adversaries.online.random_sequences import (
    DriftingExamples,
    IidExamples,
    PreparedExamples,
    SortedExamples,
)
from arena import Learner
from arena.concepts import Thresholds
from arena.randomness import block_seed, generator
from audits.races.online_race import OnlineStanding, plan_online_race
from audits.races.race_result import run_race
from audits.statistics.estimates import clopper_pearson
from audits.statistics.quantiles import quantile
from learners.mechanisms import exponential_experts
from learners.mechanisms.counters import BinaryCounter, binary_counter_error
from learners.online.agnostic_batched import AgnosticBatched
from learners.online.agnostic_experts import (
    LAZY,
    AgnosticExperts,
    Candidates,
    counter_noise_scale,
    largest_missed_count,
)
from learners.online.hedge import WeightedMajority
from learners.online.merged_experts import MergedExperts, Transitions

CLASS = Thresholds(range(16))
POINTS = 16
EPSILON, DELTA, STRETCHES = 3.0, 1e-6, 32
GAMES = 200
BATCHES = {1_000: 250, 4_000: 500, 16_000: 1_000, 64_000: 2_000}
ORDERED = 4_000
OTHERS = {
    "points in order": SortedExamples(noise=0.1),
    "points inward": SortedExamples(noise=0.1, order="inward"),
    "four targets": DriftingExamples(noise=0.1, every=ORDERED // 4),
}
ENDS, COUNTERS = 31, 100_000
FOLLOWED = (10_000, 100_000)
JOBS = os.cpu_count() or 1
LEVEL = 0.025  # of a limit on one side


# --- regret -------------------------------------------------------------------------------------------------


def make_experts(rounds: int) -> AgnosticExperts:
    return AgnosticExperts(concepts=CLASS, rounds=rounds, epsilon=EPSILON, delta=DELTA, stretches=STRETCHES)


def players(rounds: int) -> dict[str, Learner]:
    experts = make_experts(rounds)
    rate = exponential_experts.largest_rate(rounds, epsilon=EPSILON, delta=DELTA)
    best = WeightedMajority(concepts=CLASS, rounds=rounds).eta
    return {
        "fresh": experts,
        "lazy": attrs.evolve(experts, draws=LAZY),
        "fresh, no counters": attrs.evolve(experts, share=0.0),
        "agnostic-batched": AgnosticBatched(
            concepts=CLASS, rounds=rounds, batch=BATCHES[rounds], epsilon=EPSILON, delta=DELTA
        ),
        "Hedge over concepts": WeightedMajority(concepts=CLASS, rounds=rounds, rate=min(rate, best)),
    }


def regrets() -> str:
    found = {rounds: race_learners(IidExamples(noise=0.1), rounds) for rounds in BATCHES}
    rows = [row for rounds, standings in found.items() for row in rows_of("iid", rounds, standings)]
    for label, adversary in OTHERS.items():
        rows += rows_of(label, ORDERED, race_learners(adversary, ORDERED))
    headers = ("game", "T", "learner", "mean", "median (limits)", "bound on the mean")
    return tabulate(rows, headers, disable_numparse=True) + "\n\n" + growth(found)


def race_learners(adversary: PreparedExamples, rounds: int) -> tuple[OnlineStanding, ...]:
    entrants = [(label, learner, adversary) for label, learner in players(rounds).items()]
    return run_race(plan_online_race(entrants, rounds=rounds, games=GAMES, marks=1), jobs=JOBS).standings


def rows_of(label: str, rounds: int, standings: tuple[OnlineStanding, ...]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for one in standings:
        median, bound = one.median, one.bounds[-1]
        limits = f"{median.values[-1]:,.0f} ({median.lower[-1]:,.0f} to {median.upper[-1]:,.0f})"
        promised = f"{bound:,.0f}" if bound < rounds else ""
        rows.append((label, f"{rounds:,}", one.entrant.label, f"{one.mean[-1]:,.0f}", limits, promised))
    return rows


def growth(found: dict[int, tuple[OnlineStanding, ...]]) -> str:
    """Least squares of ln(mean regret) on ln T, over all T and over the last two."""
    rounds = np.log(list(found))
    means = np.log([[one.mean[-1] for one in standings] for standings in found.values()])
    every, late = (np.polyfit(rounds[part], means[part], 1)[0] for part in (slice(None), slice(-2, None)))
    labels = [one.entrant.label for one in found[ORDERED]]
    rows = [
        (label, f"{power:.2f}", f"{last:.2f}") for label, power, last in zip(labels, every, late, strict=True)
    ]
    first, *_, before, end = found
    headers = ("power of T", f"{first:,} to {end:,}", f"{before:,} to {end:,}")
    return tabulate(rows, headers, disable_numparse=True)


# --- counters and candidates --------------------------------------------------------------------------------


def counters(rng: np.random.Generator) -> str:
    counter = BinaryCounter((COUNTERS,), rng, horizon=ENDS, epsilon=1.0)
    worst = np.zeros(COUNTERS)
    for _ in range(ENDS):
        np.maximum(worst, np.abs(counter.add(0.0)), out=worst)
    ordered = np.sort(worst)[None] / counter.scale
    rows = []
    for beta in (0.1, 0.01, 0.001):
        told = binary_counter_error(ENDS, beta, epsilon=1.0) / counter.scale
        found = quantile(ordered, 1 - beta, LEVEL)
        beyond = int(np.count_nonzero(ordered > told))
        rows.append(
            (
                beta,
                f"{told:.2f}",
                f"{found.values[0]:.2f} ({found.lower[0]:.2f} to {found.upper[0]:.2f})",
                _share(beyond, COUNTERS),
            )
        )
    headers = ("β", "accuracy told", "quantile at 1 − β", "counters beyond what is told")
    return tabulate(rows, headers, disable_numparse=True)


def compare_missed_counts(rng: np.random.Generator) -> str:
    games, epsilon = 20_000, AgnosticExperts(epsilon=EPSILON).counters_epsilon
    threshold = 2 * counter_noise_scale(ENDS, epsilon)
    rows = []
    for beta in (0.1, 0.01):
        told = largest_missed_count(ENDS, epsilon, threshold=threshold, beta=beta) + 1
        for part in (1, 0.75, 0.5):
            occurs = math.ceil(part * told)
            lost = _count_lost(rng, games, occurs, epsilon=epsilon, threshold=threshold)
            rows.append((beta, f"{threshold:.1f}", f"{told}", f"{occurs}", _share(lost, games)))
    headers = (
        "β",
        "threshold",
        "told: missed by β of the games",
        "occurrences",
        "games in which it was missed",
    )
    return tabulate(rows, headers, disable_numparse=True)


def _count_lost(
    rng: np.random.Generator, games: int, occurs: int, *, epsilon: float, threshold: float
) -> int:
    """The games in which some interval that holds all occurrences of a point does not have it."""
    middle = (ENDS + 1) // 2
    candidates = Candidates(games, 1, rng, ends=ENDS, length=occurs, epsilon=epsilon, threshold=threshold)
    lost = np.zeros(games, bool)
    for end in range(1, ENDS + 1):
        for _ in range(occurs if end == middle else 0):
            candidates.observe(np.zeros(games, np.intp))
        found = candidates.end_stretch()[:, :middle]
        if end >= middle:
            lost |= ~found.all(axis=(1, 2))
    return int(np.count_nonzero(lost))


def _share(count: int, games: int) -> str:
    low, high = clopper_pearson(np.array([count]), games, LEVEL)
    return f"{count / games:.3%} ({low[0]:.3%} to {high[0]:.3%})"


# --- experts that follow a concept --------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Followed:
    """Of every game, (n,): the most occurrences of a point that were missed since a move, the rounds in which
    the expert differs from its concept, its moves, and the pairs that hold an expert at the last end."""

    missed: np.ndarray
    differs: np.ndarray
    moves: np.ndarray
    pairs: np.ndarray


def follow(spec: AgnosticExperts, skew: float, rng: np.random.Generator) -> Followed:
    moves, rows = spec.transitions, np.arange(GAMES)
    candidates = Candidates(
        GAMES,
        POINTS,
        rng,
        ends=spec.ends,
        length=spec.stretch_length,
        epsilon=spec.counters_epsilon,
        threshold=spec.candidate_threshold,
    )
    experts = MergedExperts(moves, GAMES, ends=spec.ends, rate=1.0, move_probability=spec.move_probability)
    labels = moves.wrong[:POINTS].T == 1  # a state that labels 1 errs on label 0
    concepts = CLASS.dichotomies(np.array(CLASS.domain)).labels
    concept = concepts[rng.integers(len(concepts), size=GAMES)]
    chance = np.arange(1, POINTS + 1) ** -skew
    seen = np.zeros((spec.ends + 1, GAMES, POINTS), np.int64)  # up to each end
    state, since, made = np.zeros((3, GAMES), np.intp)
    most, differs = np.zeros((2, GAMES), np.int64)
    for end in range(1, spec.ends + 2):
        length = min(spec.stretch_length, spec.rounds - (end - 1) * spec.stretch_length)
        points = rng.choice(POINTS, (length, GAMES), p=chance / chance.sum())
        counts = np.stack([np.bincount(points[:, game], minlength=POINTS) for game in rows])
        wrong = labels[state] != concept
        differs += (counts * wrong).sum(axis=1)
        if end > spec.ends:
            break
        seen[end] = seen[end - 1] + counts
        for place in points:
            candidates.observe(place)
        told = candidates.end_stretch()
        experts.end_stretch(told)
        options = told[rows, since] & wrong
        occurred = seen[end] - seen[since, rows]
        most = np.maximum(most, np.where(wrong & ~options, occurred, 0).max(axis=1))
        moved = options.any(axis=1)
        state[moved] = moves.after[state, options.argmax(axis=1)][moved]
        since[moved] = end
        made += moved
    logs = experts.last_move_scores(rows[:, None], np.arange(len(moves.states)))
    return Followed(most, differs, made, np.isfinite(logs).sum(axis=(1, 2)))


def compare_regret(rng: np.random.Generator) -> str:
    rows = []
    for rounds in FOLLOWED:
        spec = make_experts(rounds)
        told = largest_missed_count(
            spec.ends, spec.counters_epsilon, threshold=spec.candidate_threshold, beta=1 / (rounds * POINTS)
        )
        least = spec.automaton.mistakes
        for skew in (0.0, 2.0):
            found = follow(spec, skew, rng)
            rows.append(
                (
                    f"{rounds:,}",
                    f"{skew:g}",
                    _median(found.missed),
                    f"{told:,}",
                    _median(found.differs),
                    f"{least * (told * spec.width + spec.stretch_length):,}",
                    f"{found.moves.max()} of {least}",
                    f"{np.median(found.pairs):,.0f} of {len(spec.transitions.states) * (spec.ends + 1):,}",
                )
            )
    headers = (
        "T",
        "skew",
        "missed: median (limits), most",
        "told",
        "rounds that differ",
        "bound",
        "moves",
        "pairs alive",
    )
    return tabulate(rows, headers, disable_numparse=True)


def _median(figures: np.ndarray) -> str:
    found = quantile(np.sort(figures)[None], 0.5, LEVEL)
    limits = f"{found.lower[0]:,.0f} to {found.upper[0]:,.0f}"
    return f"{found.values[0]:,.0f} ({limits}), {figures.max():,}"


def experts() -> str:
    """How many there are: in the paper's set J, and here if every point is a candidate."""
    rows = []
    for rounds in FOLLOWED:
        spec = make_experts(rounds)
        most = spec.automaton.mistakes
        here = sum(math.comb(spec.ends, m) * many for m, many in enumerate(ways(spec.transitions, most)))
        rows.append((f"{rounds:,}", f"{math.comb(rounds + most, 2 * most):.2g}", f"{here:.2g}"))
    return tabulate(rows, ("T", "experts of Algorithm 7", "experts here, at most"), disable_numparse=True)


def ways(moves: Transitions, most: int) -> list[int]:
    """In how many ways 0, 1, … `most` moves can follow each other."""
    at = np.zeros(len(moves.states), np.int64)
    at[0] = 1
    found = [1]
    for _ in range(most):
        at = np.bincount(moves.target, weights=at[moves.source], minlength=len(at)).astype(np.int64)
        found.append(int(at.sum()))
    return found


def main() -> None:
    start = time.perf_counter()
    rng = generator(block_seed(0, 0))
    print(f"Regret over {GAMES} games\n", regrets(), sep="\n")
    print(f"\n{COUNTERS:,} counters of {ENDS} ends, in scales of a node's noise\n", counters(rng), sep="\n")
    print("\nA point that comes up in one stretch\n", compare_missed_counts(rng), sep="\n")
    print("\nThe expert that follows a concept; medians of games\n", compare_regret(rng), sep="\n")
    print("", experts(), sep="\n")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
