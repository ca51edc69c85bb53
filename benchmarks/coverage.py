"""How often each estimator claims too much, and what it certifies, on laws whose ε(δ), trade-off and μ are
exact.

The true loss equals the claim, or the worlds are identical; 10,000 audits each of 4 to 500 pairs. Betting is
inspected after every block, the others at the end. "limits" counts audits in which any limit of the band at
any threshold is wrong; a false claim needs two limits to fail together, which is rarer. A rate above its
limit ends in an error. Then the medians that each estimator certifies show what its caution costs.

python -m benchmarks.coverage [audits]
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable

import attrs
import numpy as np
from scipy import stats
from scipy.special import ndtr, ndtri
from tabulate import tabulate
from tqdm import tqdm

from arena.randomness import generator
from audits.statistics.betting import Betting
from audits.statistics.estimates import EstimatorContext, estimate_epsilon
from audits.statistics.estimators import ESTIMATORS as KINDS
from audits.statistics.estimators.bands import Band, SimultaneousBand, mu_lower_of_band
from audits.statistics.estimators.held_out import GaussianEvent, OneEvent, delta_if_gaussian
from audits.statistics.guess_counts import Guesses
from audits.statistics.score_pairs import PairCounts
from benchmarks.tables import write_table

AUDITS = 10_000
LEVEL = 0.1
RATE = 1e-7  # of a false alarm, for each figure of the table
SIZES = (4, 16, 64, 500)
BLOCKS = 4
POWER_AUDITS, POWER_PAIRS = 9, 100_000
ESTIMATORS = (
    "betting",
    "one event",
    "guesses",
    "limits",
    "band ε",
    "region",
    "trade-off",
    "GDP, one event",
    "GDP, band",
)
_ROUNDING = 1e-9


@attrs.frozen
class Law:
    """Scores with known loss: (epsilon, delta) is tight, and so are the trade-off function and δ(ε).

    draw: scores (2, pairs). below: the probabilities (2, k) of scores below thresholds (k,).
    type2: the trade-off function, for arrays. delta_at: the least δ at an ε.
    """

    epsilon: float
    delta: float
    mu: float
    draw: Callable[[np.random.Generator, int], np.ndarray]
    below: Callable[[np.ndarray], np.ndarray]
    type2: Callable[[np.ndarray], np.ndarray]
    delta_at: Callable[[float], float]


def identical() -> Law:
    def draw(rng: np.random.Generator, pairs: int) -> np.ndarray:
        return rng.normal(size=(2, pairs))

    def below(at: np.ndarray) -> np.ndarray:
        return np.stack([ndtr(at), ndtr(at)])

    return Law(0.0, 0.0, 0.0, draw, below, lambda alpha: 1 - alpha, lambda epsilon: 0.0)


def response(epsilon: float, delta: float = 0.0) -> Law:
    """Randomised response: P₁(1) = e^ε P₀(1) + δ, and the same for 0 with the worlds exchanged."""
    lie = (1 - delta) / (1 + math.exp(epsilon))

    def draw(rng: np.random.Generator, pairs: int) -> np.ndarray:
        return (rng.random((2, pairs)) < [[lie], [1 - lie]]).astype(float)

    def below(at: np.ndarray) -> np.ndarray:
        return np.where(at > 1, 1.0, np.where(at > 0, [[1 - lie], [lie]], 0.0))

    return Law(
        epsilon,
        delta,
        float(-2 * ndtri(lie)),
        draw,
        below,
        lambda alpha: np.interp(alpha, [0, lie, 1], [1, lie, 0]),
        lambda at: max(0.0, 1 - lie - math.exp(at) * lie),
    )


def laplace(epsilon: float) -> Law:
    def draw(rng: np.random.Generator, pairs: int) -> np.ndarray:
        return rng.laplace([[0.0], [1.0]], 1 / epsilon, (2, pairs))

    def below(at: np.ndarray) -> np.ndarray:
        return stats.laplace.cdf(at, [[0.0], [1.0]], 1 / epsilon)

    def type2(alpha: np.ndarray) -> np.ndarray:
        corner, middle = math.exp(-epsilon) / 2, math.exp(-epsilon) / 4 / np.maximum(alpha, 1e-300)
        outer = np.where(alpha <= corner, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
        return np.where((corner < alpha) & (alpha < 0.5), middle, outer)

    # At the test with equal errors, which Φ⁻¹ favours.
    mu = float(-2 * ndtri(math.exp(-epsilon / 2) / 2))
    return Law(epsilon, 0.0, mu, draw, below, type2, lambda at: max(0.0, -math.expm1((at - epsilon) / 2)))


def normal(mu: float, epsilon: float) -> Law:
    def draw(rng: np.random.Generator, pairs: int) -> np.ndarray:
        return rng.normal([[0.0], [mu]], 1.0, (2, pairs))

    def below(at: np.ndarray) -> np.ndarray:
        return np.stack([ndtr(at), ndtr(at - mu)])

    return Law(
        epsilon,
        delta_if_gaussian(epsilon, mu),
        mu,
        draw,
        below,
        lambda alpha: ndtr(-ndtri(alpha) - mu),
        lambda at: delta_if_gaussian(at, mu),
    )


LAWS = {
    "identical worlds": identical(),
    "randomised response": response(1.0),
    "randomised response, δ = 0.1": response(0.5, 0.1),
    "Laplace": laplace(1.0),
    "Gaussian, δ = 0.238": normal(1.0, 0.5),
}


def audits(
    law: Law, rng: np.random.Generator, *, pairs: int, audits: int = AUDITS, played: Law | None = None
) -> Counter[str]:
    """The number of audits in which each estimator claims more than `law` loses; games follow `played`, or
    `law`."""
    false: Counter[str] = Counter()
    for _ in range(audits):
        false.update(_find_wrong(law, (played or law).draw(rng, pairs), int(rng.integers(1 << 62))))
    return false


def max_false(audits: int) -> int:
    """The number of false claims that is exceeded with probability `RATE` at most if an estimator keeps
    its level."""
    return int(stats.binom.isf(RATE, audits, LEVEL))


def _find_wrong(law: Law, scores: np.ndarray, seed: int) -> list[str]:
    """The estimators that claim too much in one audit. seed: of the random numbers of estimators."""
    pairs = scores.shape[1]
    confidence = 1 - LEVEL
    # The grid may end just above the true ε, since one point above it is enough for a false claim.
    top = law.epsilon + 0.05
    betting = Betting(delta=law.delta, confidence=confidence, epsilon_claim=law.epsilon, epsilon_max=top)
    shared = {"delta": law.delta, "confidence": confidence, "epsilon": law.epsilon}
    context = EstimatorContext(**shared, games=pairs, seed=seed)
    one_event, bands, event = OneEvent(context), SimultaneousBand(context), GaussianEvent(context)
    guesses = Guesses(context)
    for part in np.array_split(scores, min(BLOCKS, pairs), axis=1):
        block = PairCounts.of(*part)
        for test in (betting, one_event, bands, event, guesses):
            test.update(block)
    band, gaussian = bands.result(), event.bound
    if band is None or gaussian is None:
        raise AssertionError("all blocks were played")
    wrong = {
        "betting": betting.refuted or betting.epsilon_lower > law.epsilon,
        "one event": (one_event.epsilon_lower or 0.0) > law.epsilon + _ROUNDING,
        "guesses": (guesses.epsilon_lower or 0.0) > law.epsilon + _ROUNDING,
        "limits": _limits_are_wrong(law, band),
        "band ε": band.epsilon(law.delta) > law.epsilon + _ROUNDING,
        "region": _region_is_wrong(law, band),
        "trade-off": _curve_is_wrong(law, band),
        "GDP, one event": gaussian.mu_lower > law.mu + _ROUNDING,
        "GDP, band": mu_lower_of_band(band) > law.mu + _ROUNDING,
    }
    return [name for name, is_wrong in wrong.items() if is_wrong]


def _limits_are_wrong(law: Law, band: Band) -> bool:
    """Whether any limit of the band is wrong."""
    below = law.below(band.events.thresholds)
    chance = np.concatenate([1 - below, below], axis=1)
    return bool((chance < band.lower - _ROUNDING).any() or (chance > band.upper + _ROUNDING).any())


def _region_is_wrong(law: Law, band: Band) -> bool:
    region = band.region()
    by_epsilon = zip(region.epsilons, region.certified_delta, strict=True)
    by_delta = zip(region.deltas, region.refuted_epsilon, strict=True)
    return any(found > law.delta_at(float(at)) + _ROUNDING for at, found in by_epsilon if found) or any(
        # Just below the bound the claim is refuted; it is true if δ suffices there.
        law.delta_at(float(found) - _ROUNDING) <= at
        for at, found in by_delta
        if found > _ROUNDING
    )


def _curve_is_wrong(law: Law, band: Band) -> bool:
    """Whether the curve is wrong at the grid of the plot, or at the points that define it."""
    curve = band.trade_off()
    alpha, beta = band.errors(band.upper)
    low = (curve.upper < law.type2(curve.alpha) - _ROUNDING).any()
    return bool(low or (beta < law.type2(alpha) - _ROUNDING).any())


def power(law: Law, rng: np.random.Generator) -> dict[str, str]:
    """The median figure of each method over `POWER_AUDITS` audits, at confidence 95 % and the law's δ."""
    figures: dict[str, list[float]] = {}
    for _ in range(POWER_AUDITS):
        options = {"delta": law.delta, "confidence": 0.95}
        betting = Betting(**options)
        rest = [kind(EstimatorContext(**options, games=POWER_PAIRS)) for kind in (*KINDS, Guesses)]
        for size in [4_096] * (POWER_PAIRS // 4_096) + [POWER_PAIRS % 4_096]:
            block = PairCounts.of(*law.draw(rng, size))
            for test in (betting, *rest):
                test.update(block)
        rows = [estimate_epsilon("betting", betting.epsilon_lower)]
        for row in rows + [row for estimator in rest for row in estimator.rows()]:
            if row.certified and row.value is not None:
                figures.setdefault(f"{row.method}: {row.quantity}", []).append(row.value)
    return {name: f"{np.median(values):.3f}" for name, values in figures.items()}


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else AUDITS
    rng = generator(np.random.SeedSequence(1))
    most = max_false(count)
    rows, worst = [], 0
    for name, law in tqdm(LAWS.items(), disable=not sys.stderr.isatty()):
        for pairs in SIZES:
            false = audits(law, rng, pairs=pairs, audits=count)
            shares = (f"{100 * false[kind] / count:.2f}" for kind in ESTIMATORS)
            rows.append((name, pairs, f"{count:,}", *shares))
            worst = max(worst, *(false[kind] for kind in ESTIMATORS))
    print(f"coverage: false claims in {count:,} audits, in per cent, each at most {LEVEL:.0%} as stated")
    write_table("benchmarks/coverage", ("law", "pairs", "audits", *ESTIMATORS), rows)
    print(f"at the stated rate, a figure exceeds {most / count:.2%} with probability {RATE:g}")
    print(f"power: medians of {POWER_AUDITS} audits of {POWER_PAIRS:,} pairs at confidence 95 %")
    medians = [
        {
            "law": name,
            "truth": f"ε = {law.epsilon:g}, δ = {law.delta:.3g}, μ = {law.mu:.3f}",
            **power(law, rng),
        }
        for name, law in LAWS.items()
    ]
    print(tabulate(medians, headers="keys", disable_numparse=True))
    if worst > most:
        raise SystemExit("an estimator claims too much")


if __name__ == "__main__":
    main()
