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
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.anchors.peers import find_commit
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


def load_package(checkout: str, folder: str) -> None:
    """Make `dpsniper` importable; it works in this process, and writes to the folder."""
    sys.path.insert(0, checkout)
    from dpsniper.utils.my_logging import log
    from dpsniper.utils.my_multiprocessing import the_parallel_executor
    from dpsniper.utils.paths import set_output_directory
    from dpsniper.utils.torch import torch_initialize

    torch_initialize(torch_threads=1)
    log.configure("ERROR")
    the_parallel_executor.execute = lambda function, inputs, chunk_size=1: [function(i) for i in inputs]
    set_output_directory(folder)


def seed_generators(seed: int) -> None:
    import torch

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - which its mechanisms draw from
    torch.manual_seed(seed)


def load_mechanism(name: str, seed: int) -> Any:
    path, settings, _, _ = SETTINGS[name]
    module, _, kind = path.partition(".")
    if module == "rappor":
        settings = {"prng": np.random.default_rng(seed)}
    return getattr(import_module(f"dpsniper.mechanisms.{module}"), kind)(**settings)


def build_sniper(
    mechanism: Any,
    *,
    width: int,
    flags: Sequence[float] = (),
    search_games: int = SEARCH_GAMES,
    final_games: int = FINAL_GAMES,
) -> Any:
    """DP-Sniper's attack on a mechanism, which has the attributes mechanism and config.

    width: of the classifier's input, the numbers of a release and as many again for each flag.
    flags: values that are no numbers.
    """
    from dpsniper.attack.dpsniper import DPSniper
    from dpsniper.classifiers.classifier_factory import LogisticRegressionFactory
    from dpsniper.classifiers.feature_transformer import FlagsFeatureTransformer
    from dpsniper.classifiers.torch_optimizer_factory import SGDOptimizerFactory
    from dpsniper.search.ddconfig import DDConfig

    sizes = dict.fromkeys(("n_train", "n", "n_check"), search_games)
    config = DDConfig(**sizes, n_final=final_games, n_processes=1, confidence=CONFIDENCE)
    factory = LogisticRegressionFactory(
        feature_transform=FlagsFeatureTransformer(list(flags)) if flags else None,
        in_dimensions=width,
        optimizer_factory=SGDOptimizerFactory(learning_rate=0.3, momentum=0.3, step_size=500),
        regularization_weight=0.001,
        epochs=10,
    )
    return DPSniper(mechanism, factory, config)


def build_pairs(length: int, values: tuple[float, float], *, whole: bool, all_differ: bool) -> Any:
    """Its patterns of pairs: vectors that differ by at most 1 in one entry, or in all."""
    from dpsniper.input.input_domain import InputBaseType, InputDomain
    from dpsniper.input.pattern_generator import PatternGenerator

    kind = InputBaseType.INT if whole else InputBaseType.FLOAT
    return PatternGenerator(InputDomain(length, kind, list(values)), component_wise_neighborhood=all_differ)


def attack(sniper: Any, worlds: Sequence[np.ndarray]) -> dict[str, float]:
    """The larger bound of both orders of the data sets, the processor seconds of that order, and of both."""
    from dpsniper.search.ddwitness import DDWitness

    found = []
    for order in (worlds, worlds[::-1]):
        start = time.process_time()
        witness = DDWitness(*order, sniper.best_attack(*order))
        witness.compute_eps_high_precision(sniper.mechanism, sniper.config)
        found.append((float(witness.lower_bound), time.process_time() - start))
    bound, seconds = max(found)
    return {"bound": bound, "seconds": seconds, "seconds_both": sum(spent for _, spent in found)}


def attack_pairs(sniper: Any, pairs: Any) -> dict[str, Any]:
    """The bound of the best pair, that pair, and the processor seconds of all of it."""
    from dpsniper.search.ddsearch import DDSearch

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


def measure(name: str, seed: int, *, pairs: bool) -> dict[str, Any]:
    whole, case, domain = name in WHOLE_NUMBERS, CASES[name], DOMAINS[name]
    _, _, width, flags = SETTINGS[name]
    sniper = build_sniper(load_mechanism(name, seed), width=width, flags=flags)
    if pairs:
        all_differ = domain.metric == "linf"
        return attack_pairs(
            sniper, build_pairs(len(case.data), domain.values, whole=whole, all_differ=all_differ)
        )
    return attack(sniper, [data.astype(int if whole else float) for data in case.worlds])


def main(name: str, *, pairs: bool) -> None:
    checkout = os.environ["DP_SNIPER"]
    commit = find_commit(checkout)
    with tempfile.TemporaryDirectory() as folder:
        load_package(checkout, folder)
        import torch

        for seed in range(1 if pairs else SEEDS):
            seed_generators(seed)
            row = measure(name, seed, pairs=pairs)
            print(json.dumps({**row, "commit": commit, "torch": torch.__version__}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], pairs="--pairs" in sys.argv)
