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


@attrs.frozen
class ZooFigures:
    """The lower confidence limit on ε at 90 % and the seconds of DP-Sniper and of StatDP, ε = 0.1.

    sniper: the better of its two classifiers. statdp: the better of two runs by the authors of DP-Sniper.
    Both are verified with 2·10⁸ games in each world. Source: `DP_SNIPER`.
    """

    sniper: float
    sniper_seconds: float
    statdp: float
    statdp_seconds: float


ZOO: Mapping[str, ZooFigures] = MappingProxyType(
    {
        "zoo-laplace": ZooFigures(0.0976, 217, 0.0998, 409),
        "noisy-hist-1": ZooFigures(0.0978, 38, 0.0994, 912),
        "noisy-hist-2": ZooFigures(4.602, 41, 10.0022, 1_223),
        "report-noisy-max-1": ZooFigures(0.0925, 492, 0.0921, 456),
        "report-noisy-max-2": ZooFigures(0.0979, 423, 0.0997, 454),
        "report-noisy-max-3": ZooFigures(0.2488, 437, 0.1991, 567),
        "report-noisy-max-4": ZooFigures(0.3534, 451, 0.1988, 559),
        "svt-1": ZooFigures(0.0858, 126, 0.0298, 762),
        "svt-2": ZooFigures(0.0859, 160, 0.0407, 832),
        "svt-3": ZooFigures(0.1822, 880, 0.1793, 6_287),
        "svt-4": ZooFigures(0.1696, 815, 0.1719, 1_002),
        "svt-5": ZooFigures(1.761, 59, 14.3143, 725),
        "svt-6": ZooFigures(0.2720, 96, 0.3220, 1_378),
    }
)
