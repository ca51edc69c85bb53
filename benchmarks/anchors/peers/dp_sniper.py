"""DP-Sniper on one mechanism: its certified bound and processor seconds, one line of JSON for each seed.

DP_SNIPER=path/to/checkout python -m benchmarks.anchors.peers.dp_sniper MECHANISM [--pairs], with the packages
of requirements-dp-sniper.txt. Its logistic regression with its own settings, on the pair of data sets of
`CASES` in both orders; with --pairs, one seed of its search over all pairs of its patterns, and the bound of
the best pair. Patched: its pool of processes executes in this process. Everything is seeded.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.anchors.peers.sniper_mechanisms import BELOW, CASES, DOMAINS, EPSILON, STOPPED, WHOLE_NUMBERS

SEEDS = 3
SEARCH_GAMES, FINAL_GAMES = 250_000, 5_000_000  # in each world
CONFIDENCE = 0.9
# Of its `exp_default`: module and class, settings, width of the classifier's input, values that are flags.
SETTINGS: dict[str, tuple[str, dict[str, Any], int, tuple[float, ...]]] = {
    "LaplaceMechanism": ("laplace.LaplaceMechanism", {}, 1, ()),
    "TruncatedGeometric": ("geometric.TruncatedGeometricMechanism", {}, 1, ()),
    "NoisyHist1": ("noisy_hist.NoisyHist1", {}, 5, ()),
    "NoisyHist2": ("noisy_hist.NoisyHist2", {}, 5, ()),
    **{f"ReportNoisyMax{i}": (f"report_noisy_max.ReportNoisyMax{i}", {}, 1, ()) for i in (1, 2, 3, 4)},
    "SVT1": ("sparse_vector_technique.SparseVectorTechnique1", {"c": 1, "t": 0.5}, 20, (-1,)),
    "SVT2": ("sparse_vector_technique.SparseVectorTechnique2", {"c": 1, "t": 1}, 20, (-1,)),
    "SVT3": ("sparse_vector_technique.SparseVectorTechnique3", {"c": 1, "t": 1}, 30, (BELOW, STOPPED)),
    "SVT4": ("sparse_vector_technique.SparseVectorTechnique4", {"c": 1, "t": 1}, 20, (-1,)),
    "SVT5": ("sparse_vector_technique.SparseVectorTechnique5", {"c": 1, "t": 1}, 10, ()),
    "SVT6": ("sparse_vector_technique.SparseVectorTechnique6", {"c": 1, "t": 1}, 10, ()),
    "RAPPOR": ("rappor.Rappor", {}, 20, ()),
    "OneTimeRAPPOR": ("rappor.OneTimeRappor", {}, 20, ()),
    "LaplaceParallel": ("parallel.LaplaceParallel", {"n_parallel": 20, "eps": EPSILON / 20}, 20, ()),
    "SVT34Parallel": ("parallel.SVT34Parallel", {}, 80, (-1, BELOW, STOPPED)),
    "PrefixSum": ("prefix_sum.PrefixSum", {}, 10, ()),
    "NumericalSVT": ("sparse_vector_technique.NumericalSVT", {}, 10, ()),
}


def build_sniper(name: str, seed: int) -> Any:
    """DP-Sniper's attack on a mechanism, which has the attributes mechanism and config."""
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
    from dpsniper.classifiers.feature_transformer import FlagsFeatureTransformer
    from dpsniper.classifiers.torch_optimizer_factory import SGDOptimizerFactory
    from dpsniper.search.ddconfig import DDConfig

    path, settings, width, flags = SETTINGS[name]
    module, _, kind = path.partition(".")
    if module == "rappor":
        settings = {"prng": np.random.default_rng(seed)}
    mechanism = getattr(import_module(f"dpsniper.mechanisms.{module}"), kind)(**settings)
    sizes = dict.fromkeys(("n_train", "n", "n_check"), SEARCH_GAMES)
    config = DDConfig(**sizes, n_final=FINAL_GAMES, n_processes=1, confidence=CONFIDENCE)
    factory = LogisticRegressionFactory(
        feature_transform=FlagsFeatureTransformer(list(flags)) if flags else None,
        in_dimensions=width,
        optimizer_factory=SGDOptimizerFactory(learning_rate=0.3, momentum=0.3, step_size=500),
        regularization_weight=0.001,
        epochs=10,
        label=name,
    )
    return DPSniper(mechanism, factory, config)


def attack(name: str, seed: int) -> dict[str, float]:
    """The larger bound of both orders of the data sets, the processor seconds of that order, and of both."""
    from dpsniper.search.ddwitness import DDWitness

    sniper = build_sniper(name, seed)
    worlds = [data.astype(int if name in WHOLE_NUMBERS else float) for data in CASES[name].worlds]
    found = []
    for order in (worlds, worlds[::-1]):
        start = time.process_time()
        witness = DDWitness(*order, sniper.best_attack(*order))
        witness.compute_eps_high_precision(sniper.mechanism, sniper.config)
        found.append((float(witness.lower_bound), time.process_time() - start))
    bound, seconds = max(found)
    return {"bound": bound, "seconds": seconds, "seconds_both": sum(spent for _, spent in found)}


def attack_pairs(name: str, seed: int) -> dict[str, Any]:
    """The bound of the best pair of its patterns, that pair, and the processor seconds of all of it."""
    from dpsniper.input.input_domain import InputBaseType, InputDomain
    from dpsniper.input.pattern_generator import PatternGenerator
    from dpsniper.search.ddsearch import DDSearch

    sniper, domain = build_sniper(name, seed), DOMAINS[name]
    kind = InputBaseType.INT if name in WHOLE_NUMBERS else InputBaseType.FLOAT
    values = InputDomain(len(CASES[name].data), kind, list(domain.values))
    pairs = PatternGenerator(values, component_wise_neighborhood=domain.metric == "linf")
    start = time.process_time()
    best = DDSearch(sniper.mechanism, sniper, pairs, sniper.config).run()
    searched = time.process_time() - start
    best.compute_eps_high_precision(sniper.mechanism, sniper.config)
    return {
        "bound": float(best.lower_bound),
        "pair": [best.a1.tolist(), best.a2.tolist()],
        "tried": len(list(pairs.get_input_pairs())),
        "search_seconds": searched,
        "seconds": time.process_time() - start,
    }


def main(name: str, *, pairs: bool) -> None:
    checkout = os.environ["DP_SNIPER"]
    sys.path.insert(0, checkout)
    import torch
    from dpsniper.utils.my_logging import log
    from dpsniper.utils.my_multiprocessing import the_parallel_executor
    from dpsniper.utils.paths import set_output_directory
    from dpsniper.utils.torch import torch_initialize

    torch_initialize(torch_threads=1)
    log.configure("ERROR")
    the_parallel_executor.execute = lambda function, inputs, chunk_size=1: [function(i) for i in inputs]
    commit = subprocess.run(
        ["git", "-C", checkout, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        set_output_directory(folder)
        for seed in range(1 if pairs else SEEDS):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002 - which its mechanisms draw from
            torch.manual_seed(seed)
            row = attack_pairs(name, seed) if pairs else attack(name, seed)
            print(json.dumps({**row, "commit": commit, "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], pairs="--pairs" in sys.argv)
