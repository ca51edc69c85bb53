"""The estimators of privacy-estimates on the scores of all cases.

python -m benchmarks.anchors.privacy_estimates_estimators, with the packages of
requirements-privacy-estimates.txt. The package takes the counts at one threshold and does not say how to
choose it. Here it is the one with the largest Clopper-Pearson bound, chosen on one half of the scores and
used on the other ("halves"), or chosen and used on all of them ("same scores"), which is not valid.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from privacy_estimates import AttackResults, compute_eps_lo
from scipy.stats import beta

from benchmarks.anchors.measure_estimators import Estimator, measure_tool
from benchmarks.anchors.score_cases import CONFIDENCE

SIGNIFICANCE = 1 - CONFIDENCE


def choose_threshold(scores_0: np.ndarray, scores_1: np.ndarray, delta: float) -> float:
    """The least score that is guessed to be of world 1."""
    thresholds = np.unique(np.concatenate([scores_0, scores_1]))[1:]
    n_0, n_1 = len(scores_0), len(scores_1)
    false_positives = n_0 - np.searchsorted(np.sort(scores_0), thresholds)
    false_negatives = np.searchsorted(np.sort(scores_1), thresholds)
    fpr = beta.ppf(1 - SIGNIFICANCE / 2, false_positives + 1, np.maximum(n_0 - false_positives, 1e-9))
    fnr = beta.ppf(1 - SIGNIFICANCE / 2, false_negatives + 1, np.maximum(n_1 - false_negatives, 1e-9))
    ratio = np.maximum((1 - fnr - delta) / fpr, (1 - fpr - delta) / fnr)
    return float(thresholds[ratio.argmax()])


def count(scores_0: np.ndarray, scores_1: np.ndarray, threshold: float) -> AttackResults:
    positives = int((scores_0 >= threshold).sum()), int((scores_1 >= threshold).sum())
    return AttackResults(
        FN=len(scores_1) - positives[1], FP=positives[0], TN=len(scores_0) - positives[0], TP=positives[1]
    )


def estimate(method: str, split: bool, scores_0: np.ndarray, scores_1: np.ndarray, delta: float) -> float:
    half = len(scores_0) // 2 if split else 0
    chosen = choose_threshold(
        scores_0[:half] if split else scores_0, scores_1[:half] if split else scores_1, delta
    )
    results = count(scores_0[half:], scores_1[half:], chosen)
    return compute_eps_lo(count=results, delta=delta, alpha=SIGNIFICANCE, method=method)


def main() -> None:
    estimators: dict[str, Estimator] = {
        "beta, halves": partial(estimate, "beta", True),
        "jeffreys, halves": partial(estimate, "jeffreys", True),
        "joint-beta, halves": partial(estimate, "joint-beta", True),
        "beta, same scores": partial(estimate, "beta", False),
        "jeffreys, same scores": partial(estimate, "jeffreys", False),
    }
    packages = ["privacy-estimates", "statsmodels", "numpy", "scipy"]
    measure_tool("privacy-estimates", packages, estimators, {})


if __name__ == "__main__":
    main()
