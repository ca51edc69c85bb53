"""Games that our test needs where papers state how many theirs needs, and ε certified on the zoo.

python -m benchmarks.anchors.games_to_refute measures what is missing, and keeps it in build/theorems.
"""

from __future__ import annotations

import time

import numpy as np

from arena import Release
from arena.privacy_curves.gaussian_curve import GaussianCurve
from audits.registry.players import LEARNERS
from audits.runs.plan import LIKELIHOOD, Plan
from audits.runs.run import run
from audits.statistics.betting import Betting
from audits.statistics.score_pairs import PairCounts
from benchmarks.anchors.printed_figures import SEQUENTIAL_FDP_STOPS, SEQUENTIAL_MMD_STOPS, ZOO
from benchmarks.suite import worst_input
from benchmarks.theorems.measurement import measure_cases

CONFIDENCE = 0.95
MOST_PAIRS = 10_000  # as in the repository of the sequential f-DP tests
SMALLEST_BLOCK = 10  # pairs; likewise
DELTA = 1e-5  # of the claims about means
FALSE_AUDITS, TRUE_AUDITS = 200, 1_000

ZOO_PAIRS = 10_000_000
ZOO_CONFIDENCE = 0.9  # that of DP-Sniper

NO_LAW = ("noisy SGD",)  # of which the figures are only quoted


def draw_scores(law: str, claim: float, rng: np.random.Generator, pairs: int) -> np.ndarray:
    """Scores (2, pairs) of a mechanism that is compared with what it claims.

    "mean by true n" releases the mean of the data sets (0) and (0, 1) with noise of scale 2/(n·ε), where ε is
    the claim; the true n shows in the scale. Its score is the log-likelihood ratio, that of the others the
    output.
    """
    if law == "Gaussian":
        return rng.normal([[0.0], [1.0]], 1.0, (2, pairs))
    if law == "Laplace":
        return rng.laplace([[0.0], [1.0]], 1.0, (2, pairs))
    means, scales = np.array([[0.0], [0.5]]), np.array([[2.0], [1.0]]) / claim
    if law == "mean by true n, Gaussian":
        outputs = means + scales * rng.standard_normal((2, pairs))
        distances = ((outputs[None] - means[:, None]) / scales[:, None]) ** 2 / 2
    else:
        outputs = rng.laplace(means, scales, (2, pairs))
        distances = np.abs(outputs[None] - means[:, None]) / scales[:, None]
    return distances[0] - distances[1]


def measure_stop(seed: int, law: str, claim: float) -> list[float]:
    """Pairs until a claim is refuted or `MOST_PAIRS` are played, and whether it is.

    The claim is μ-GDP for Gaussian noise, (ε, 0)-DP for Laplace noise, and (ε, DELTA)-DP for means.
    """
    rng = np.random.default_rng(seed)
    if law == "Gaussian":
        test = Betting(delta=DELTA, confidence=CONFIDENCE, curve=GaussianCurve(claim), claim_only=True)
    else:
        delta = 0.0 if law == "Laplace" else DELTA
        test = Betting(delta=delta, confidence=CONFIDENCE, epsilon_claim=claim, epsilon_max=claim)
    while test.pairs < MOST_PAIRS and not test.refuted:
        size = max(SMALLEST_BLOCK, test.pairs // 20)
        test.update(PairCounts.of(*draw_scores(law, claim, rng, size)))
    return [test.pairs, test.refuted]


def measure_zoo(seed: int, learner: str) -> list[float]:
    """The exact ε on the worst input of StatDP, the ε certified there, and the seconds of both."""
    start = time.perf_counter()
    player = LEARNERS.find(learner)()
    adversary, exact = worst_input(player)
    plan = Plan(
        learner=player,
        adversary=adversary,
        referee=Release(),
        epsilon=ZOO[learner].sniper,
        delta=0.0,
        confidence=ZOO_CONFIDENCE,
        games=ZOO_PAIRS,
        seed=seed,
        distinguisher=LIKELIHOOD,
        block=65_536,
    )
    verdict = run(plan)
    return [exact, verdict.epsilon_lower, time.perf_counter() - start]


def stop_cases() -> dict[tuple[str, float], np.ndarray]:
    """For each law and claim: (audits, 2), as `measure_stop` returns them."""
    wanted = [(p.law, p.claim, p.mean is None) for p in (*SEQUENTIAL_FDP_STOPS, *SEQUENTIAL_MMD_STOPS)]
    found = {}
    for holds, audits in ((False, FALSE_AUDITS), (True, TRUE_AUDITS)):
        keys = dict.fromkeys(
            (law, claim) for law, claim, true in wanted if true == holds and law not in NO_LAW
        )
        cases = [{"law": law, "claim": claim} for law, claim in keys]
        found |= dict(zip(keys, measure_cases(measure_stop, cases, audits), strict=True))
    return found


def zoo_cases() -> dict[str, np.ndarray]:
    """For each mechanism: (3,), as `measure_zoo` returns it."""
    found = measure_cases(measure_zoo, [{"learner": learner} for learner in ZOO], 1, jobs=1)
    return dict(zip(ZOO, found[:, 0], strict=True))


if __name__ == "__main__":
    stop_cases()
    zoo_cases()
