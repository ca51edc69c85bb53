"""Games that our test needs where papers state how many theirs needs.

`tables` measures what is missing, and keeps it in build/theorems.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import laplace, norm

from arena.privacy_curves.gaussian_curves import GaussianCurve
from audits.statistics.betting import Betting
from audits.statistics.score_pairs import PairCounts
from benchmarks.anchors.printed_figures import SEQUENTIAL_FDP_STOPS, SEQUENTIAL_MMD_STOPS
from benchmarks.theorems.measurement import measure_cases

CONFIDENCE = 0.95
MOST_PAIRS = 10_000  # as in the repository of the sequential f-DP tests
SMALLEST_BLOCK = 10  # pairs; likewise
DELTA = 1e-5  # of the claims about means with Gaussian noise
FALSE_AUDITS, TRUE_AUDITS = 200, 1_000

_SMALLEST_SIZE = 1e-12  # of "mean by noisy n"
NO_LAW = ("noisy SGD",)  # of which the figures are only quoted


def draw_scores(law: str, claim: float, rng: np.random.Generator, pairs: int) -> np.ndarray:
    """Log-likelihood ratios (2, pairs) of the outputs of a mechanism that is compared with what it claims.

    "mean by true n" releases the mean of the data sets (0) and (0, 1) with noise of scale 2/(n·ε), where ε is
    the claim; the true n shows in the scale. "mean by noisy n" divides the scale 2/ε by n with noise of that
    scale, at least 10⁻¹², in place of n.
    """
    if law == "Gaussian":
        return rng.normal([[-0.5], [0.5]], 1.0, (2, pairs))
    if law == "Laplace":
        outputs = rng.laplace([[0.0], [1.0]], 1.0, (2, pairs))
        return np.clip(2 * outputs - 1, -1.0, 1.0)  # |x| − |x − 1| would show low bits of x
    means, scales = np.array([[0.0], [0.5]]), np.array([[2.0], [1.0]]) / claim
    if law.startswith("mean by noisy n"):
        draw = rng.normal if law.endswith("Gaussian") else rng.laplace
        sizes = np.maximum(_SMALLEST_SIZE, draw([[1.0], [2.0]], 2 / claim, (2, pairs)))
        outputs = means + draw(0.0, 2 / (sizes * claim))
        grid, ratios = _tabulate_noisy_mean(law, claim)
        return np.interp(np.arcsinh(outputs), grid, ratios)
    if law == "mean by true n, Gaussian":
        outputs = means + scales * rng.standard_normal((2, pairs))
        distances = ((outputs[None] - means[:, None]) / scales[:, None]) ** 2 / 2
    else:
        outputs = rng.laplace(means, scales, (2, pairs))
        distances = np.abs(outputs[None] - means[:, None]) / scales[:, None]
    return distances[0] - distances[1] + math.log(2)


@lru_cache
def _tabulate_noisy_mean(law: str, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood ratios of "mean by noisy n", and the inverse hyperbolic sines of their outputs."""
    noise = norm if law.endswith("Gaussian") else laplace
    grid = np.linspace(-36, 36, 3_601)
    sizes = np.geomspace(_SMALLEST_SIZE, 100 / epsilon, 2_000)
    scales = 2 / (sizes * epsilon)
    logs = np.zeros((2, len(grid)))
    for world in (0, 1):
        weights = noise.pdf(sizes, world + 1, 2 / epsilon) * sizes * np.log(sizes[1] / sizes[0])
        weights[0] += noise.cdf(_SMALLEST_SIZE, world + 1, 2 / epsilon)
        logs[world] = logsumexp(noise.logpdf(np.sinh(grid)[:, None], world / 2, scales), b=weights, axis=1)
    ratios = logs[1] - logs[0]
    return grid, ratios


def measure_stop(seed: int, law: str, claim: float, log_ratios: bool) -> list[float]:
    """Pairs until a claim is refuted or `MOST_PAIRS` are played, and whether it is.

    The claim is μ-GDP of "Gaussian", (ε, 0)-DP with Laplace noise, and (ε, DELTA)-DP of Gaussian means.
    """
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {"confidence": CONFIDENCE, "log_ratios": log_ratios}
    if law == "Gaussian":
        test = Betting(delta=DELTA, curve=GaussianCurve(claim), claim_only=True, **given)
    else:
        delta = 0.0 if law.endswith("Laplace") else DELTA
        test = Betting(delta=delta, epsilon_claim=claim, epsilon_max=claim, **given)
    while test.pairs < MOST_PAIRS and not test.refuted:
        size = max(SMALLEST_BLOCK, test.pairs // 20)
        test.update(PairCounts.of(*draw_scores(law, claim, rng, size)))
    return [test.pairs, test.refuted]


def stop_cases() -> dict[tuple[str, float, bool], np.ndarray]:
    """For each law, claim, and use of scores: (audits, 2), as `measure_stop` returns them."""
    wanted = [(p.law, p.claim, p.mean is None) for p in (*SEQUENTIAL_FDP_STOPS, *SEQUENTIAL_MMD_STOPS)]
    found = {}
    for holds, audits in ((False, FALSE_AUDITS), (True, TRUE_AUDITS)):
        keys = dict.fromkeys(
            (law, claim, log_ratios)
            for law, claim, true in wanted
            if true == holds and law not in NO_LAW
            for log_ratios in (False, True)
        )
        cases = [{"law": law, "claim": claim, "log_ratios": on} for law, claim, on in keys]
        found |= dict(zip(keys, measure_cases(measure_stop, cases, audits), strict=True))
    return found
