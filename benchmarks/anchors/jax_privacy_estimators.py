"""The estimators of jax-privacy's `auditing` on the scores of all cases.

python -m benchmarks.anchors.jax_privacy_estimators, with the packages of requirements-jax-privacy.txt. The
module `auditing` is loaded from its file, since the package would import JAX, which `auditing` does not use.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks.anchors.measure_estimators import Estimator, measure_tool
from benchmarks.anchors.score_cases import CONFIDENCE

SIGNIFICANCE = 1 - CONFIDENCE
SEED = 1  # of the random splits


def load_auditing() -> ModuleType:
    package = importlib.util.find_spec("jax_privacy")
    assert package is not None
    assert package.submodule_search_locations is not None
    file = Path(package.submodule_search_locations[0]) / "auditing.py"
    spec = importlib.util.spec_from_file_location("jax_privacy_auditing", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


auditing = load_auditing()
STRATEGIES = {
    "Bonferroni": auditing.Bonferroni(),
    "Split": auditing.Split(seed=SEED),
    "MultiSplit": auditing.MultiSplit(seed=SEED),
}


def clopper_pearson(strategy: str, scores_0: np.ndarray, scores_1: np.ndarray, delta: float) -> float:
    auditor = auditing.CanaryScoreAuditor(scores_1, scores_0)
    return auditor.epsilon_clopper_pearson(SIGNIFICANCE, delta, threshold_strategy=STRATEGIES[strategy])


def raw_counts(scores_0: np.ndarray, scores_1: np.ndarray, delta: float) -> float:
    return auditing.CanaryScoreAuditor(scores_1, scores_0).epsilon_raw_counts(delta=delta)


def from_gdp(scores_0: np.ndarray, scores_1: np.ndarray, delta: float) -> float | None:
    if delta == 0:
        return None
    return auditing.CanaryScoreAuditor(scores_1, scores_0).epsilon_from_gdp(SIGNIFICANCE, delta)


def one_run(method: str, strategy: str, scores: np.ndarray, included: np.ndarray, delta: float) -> float:
    auditor = auditing.CanaryScoreAuditor(scores[included], scores[~included])
    return getattr(auditor, method)(SIGNIFICANCE, delta, threshold_strategy=STRATEGIES[strategy])


def main() -> None:
    two_worlds: dict[str, Estimator] = {
        f"epsilon_clopper_pearson, {strategy}": partial(clopper_pearson, strategy) for strategy in STRATEGIES
    }
    two_worlds |= {"epsilon_from_gdp": from_gdp, "epsilon_raw_counts (no bound)": raw_counts}
    one_runs: dict[str, Estimator] = {
        f"{method}, {strategy}": partial(one_run, method, strategy)
        for method in ("epsilon_one_run", "epsilon_one_run_fdp")
        for strategy in STRATEGIES
    }
    measure_tool("jax-privacy", ["jax-privacy", "dp-accounting", "numpy", "scipy"], two_worlds, one_runs)


if __name__ == "__main__":
    main()
