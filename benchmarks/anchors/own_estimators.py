"""The estimators of dp-arena on the scores of all cases.

python -m benchmarks.anchors.own_estimators
"""

from __future__ import annotations

import numpy as np

import audits
from benchmarks.anchors.measure_estimators import measure_tool
from benchmarks.anchors.score_cases import CONFIDENCE


def certify(scores_0: np.ndarray, scores_1: np.ndarray, delta: float) -> float:
    return audits.certify(scores_0, scores_1, delta=delta, confidence=CONFIDENCE).epsilon_lower


def certify_fixed(scores_0: np.ndarray, scores_1: np.ndarray, delta: float) -> float:
    settings = {"delta": delta, "confidence": CONFIDENCE}
    return audits.certify(scores_0, scores_1, **settings, fixed_games=True).epsilon_lower


def certify_one_run(scores: np.ndarray, included: np.ndarray, delta: float) -> float:
    return audits.certify_one_run(scores, included, delta=delta, confidence=CONFIDENCE).epsilon_lower


def main() -> None:
    one_run = {"certify_one_run": certify_one_run}
    two_worlds = {"certify": certify, "certify, fixed_games": certify_fixed}
    measure_tool("dp-arena", ["dp-arena"], two_worlds, one_run, complete=(*two_worlds, *one_run))


if __name__ == "__main__":
    main()
