"""The printed constants of Theorem 3.1 of Li, Wang, Ye (2025), which bounds the mistakes of `realizable`."""

from __future__ import annotations

from math import inf, log

from arena.settings import at_least, check_value, less_than, more_than


def lwy_pairs(layer: int) -> float:
    """M_s/N_s of Li, Wang, Ye (2025): the share of a layer that agrees on one function by Lemma B.3.

    Algorithm 2 prints 128·2^(-6·2^s). That would make M_0 = 2 N_0, but layer 0 has only N_0/2 pairs. Lemma
    B.1 gives M_{s+1} = M_s²/(512 N_{s+1}); starting from M_0 = N_0/2 this is 128·2^(-8·2^s), which is used
    here.
    """
    return float(128 * 2.0 ** -(8 * 2**layer))


def lwy_nodes(depth: int, *, epsilon: float, delta: float, beta: float, rounds: int) -> float:
    """The N_0 for which Lemma B.3 of Li, Wang, Ye (2025) is proved, for Littlestone dimension d ≥ 1.

    The maximum of the requirements of its steps, with 8 for the printed 6 and 32 for 24, as in `lwy_pairs`,
    and with ε_0 = ε/2: histograms err by at most M_s/4, M_s is at least 48 and 4 ln(3T/β), and all
    applications of Lemma B.1 together fail with probability at most β/3. Infinite if it exceeds the range of
    doubles.

    Raises: InvalidArgument if a parameter is out of range.

    >>> [f"{lwy_nodes(d, epsilon=1, delta=1e-6, beta=0.05, rounds=10_000):.0e}" for d in (1, 2, 3)]
    ['7e+21', '1e+42', '2e+81']
    """
    check_value("depth", depth, at_least(1))
    check_value("rounds", rounds, at_least(1))
    check_value("delta", delta, more_than(0), less_than(1))
    check_value("beta", beta, more_than(0), less_than(1))
    check_value("epsilon", epsilon, more_than(0))
    if depth > 4:
        return inf
    layers, union = 2.0 ** (8 * 2**depth + depth), 2.0 ** (32 * 2**depth + depth)
    return max(
        depth * layers * log(8 * depth / delta) / (epsilon / 2),
        layers * max(48, 4 * log(3 * rounds / beta)) / 128,
        4 * union * depth * log(2 * depth * union) + 2 * union * (depth * log(7) + log(6 * depth / beta)),
    )
