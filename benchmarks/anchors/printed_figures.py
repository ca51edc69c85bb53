"""What papers and repositories state about other tools, with their sources; none of it is measured here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import attrs

SEQUENTIAL_FDP = (
    "Kutta, Dunsche, Wei, Zikas: Sequential Auditing for f-Differential Privacy (2026), arXiv 2602.06518; "
    "experiments_log/results/*/stops_*.csv of github.com/martindunsche/sequential_fdp_auditing at 4be62e4"
)
SEQUENTIAL_MMD = (
    "González, Dulce-Rubio, Ramdas, Ribero: Sequentially Auditing Differential Privacy (NeurIPS 2025), "
    "arXiv 2509.07055, its table of additive-noise mechanisms"
)
DP_SNIPER = (
    "Bichsel, Steffen, Bogunovic, Vechev: DP-Sniper (IEEE S&P 2021); "
    "eval_sp2021/reference-results/*.log of github.com/eth-sri/dp-sniper at ee087b2"
)


@attrs.frozen
class PrintedStops:
    """Pairs of games until a sequential test at 95 % refutes a claim, over all its repetitions that do.

    law, claim: as `games_to_refute` names them. mean: None if it is not stated. refuted of `audits`.
    """

    source: str
    law: str
    claim: float
    mean: float | None
    refuted: int | float
    audits: int


# Means of `stopped_at_n`, at least 50 (the burn-in). The claim of noisy SGD is its own curve, written as 1.
SEQUENTIAL_FDP_STOPS = (
    PrintedStops(SEQUENTIAL_FDP, "Gaussian", 0.5, 188, 1_000, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "Gaussian", 0.8, 1_453, 1_000, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "Gaussian", 1.0, None, 11, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "Laplace", 0.5, 220, 1_000, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "Laplace", 0.8, 1_700, 1_000, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "Laplace", 1.0, None, 33, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "noisy SGD", 1.0, None, 27, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "mean by true n, Gaussian", 0.01, 61, 1_000, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "mean by true n, Gaussian", 0.1, 72, 1_000, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "mean by true n, Laplace", 0.01, 81, 1_000, 1_000),
    PrintedStops(SEQUENTIAL_FDP, "mean by true n, Laplace", 0.1, 115, 1_000, 1_000),
)

# 20 repetitions; NonDPGaussian1, NonDPLaplace1, NonDPGaussian2 and NonDPLaplace2 of the paper.
SEQUENTIAL_MMD_STOPS = (
    PrintedStops(SEQUENTIAL_MMD, "mean by true n, Gaussian", 0.01, 264, 20, 20),
    PrintedStops(SEQUENTIAL_MMD, "mean by true n, Gaussian", 0.1, 562, 20, 20),
    PrintedStops(SEQUENTIAL_MMD, "mean by true n, Laplace", 0.01, 331, 20, 20),
    PrintedStops(SEQUENTIAL_MMD, "mean by true n, Laplace", 0.1, 920, 20, 20),
    PrintedStops(SEQUENTIAL_MMD, "mean by noisy n, Gaussian", 0.01, 1_139, 17, 20),
    PrintedStops(SEQUENTIAL_MMD, "mean by noisy n, Gaussian", 0.1, 4_776, 1, 20),
    PrintedStops(SEQUENTIAL_MMD, "mean by noisy n, Laplace", 0.01, 192, 20, 20),
    PrintedStops(SEQUENTIAL_MMD, "mean by noisy n, Laplace", 0.1, 770, 19, 20),
)


# The lower confidence limit on ε at 90 % of the better of DP-Sniper's two classifiers, ε = 0.1, verified with
# 2·10⁸ games in each world. Source: `DP_SNIPER`.
ZOO: Mapping[str, float] = MappingProxyType(
    {
        "zoo-laplace": 0.0976,
        "noisy-hist-1": 0.0978,
        "noisy-hist-2": 4.602,
        "report-noisy-max-1": 0.0925,
        "report-noisy-max-2": 0.0979,
        "report-noisy-max-3": 0.2488,
        "report-noisy-max-4": 0.3534,
        "svt-1": 0.0858,
        "svt-2": 0.0859,
        "svt-3": 0.1822,
        "svt-4": 0.1696,
        "svt-5": 1.761,
        "svt-6": 0.2720,
    }
)
