"""The constants of Theorem 3.1 of Li, Wang, Ye (2025), which bounds the mistakes of `realizable`."""

from __future__ import annotations

from math import inf, log

from arena.errors import InvalidArgument


def lwy_pairs(layer: int) -> float:
    """M_s/N_s of Li, Wang, Ye (2025): the part of a layer of which Lemma B.3 is sure to agree on a function.

    Algorithm 2 prints 128·2^(-6·2^s), with which M_0 = 2 N_0, though layer 0 has N_0/2 pairs. Lemma B.1 gives
    M_{s+1} = M_s²/(512 N_{s+1}), and from M_0 = N_0/2 on that is 128·2^(-8·2^s), which is used here.
    """
    return float(128 * 2.0 ** -(8 * 2**layer))


def lwy_nodes(depth: int, *, epsilon: float, delta: float, beta: float, rounds: int) -> float:
    """The N_0 for which Lemma B.3 of Li, Wang, Ye (2025) is proved, for Littlestone dimension d ≥ 1.

    The largest of what its steps ask for, with 8 for the printed 6 and 32 for 24, as in `lwy_pairs`, with
    ε_0 = ε/2: that histograms err by M_s/4 at most, that M_s is at least 48 and 4 ln(3T/β), and that all
    applications of Lemma B.1 together fail with probability β/3. Infinite where it is no double.

    Raises: InvalidArgument if a parameter is out of range.

    >>> [f"{lwy_nodes(d, epsilon=1, delta=1e-6, beta=0.05, rounds=10_000):.0e}" for d in (1, 2, 3)]
    ['7e+21', '1e+42', '2e+81']
    """
    if depth < 1:
        raise InvalidArgument("the theorem is about a Littlestone dimension of at least 1", value=depth)
    for name, value in (("delta", delta), ("beta", beta)):
        if not 0 < value < 1:
            raise InvalidArgument(f"{name} must be a probability between 0 and 1", value=value)
    if not epsilon > 0 or rounds < 1:
        raise InvalidArgument("epsilon is positive and rounds at least 1", value=(epsilon, rounds))
    if depth > 4:
        return inf
    layers, union = 2.0 ** (8 * 2**depth + depth), 2.0 ** (32 * 2**depth + depth)
    return max(
        depth * layers * log(8 * depth / delta) / (epsilon / 2),
        layers * max(48, 4 * log(3 * rounds / beta)) / 128,
        4 * union * depth * log(2 * depth * union) + 2 * union * (depth * log(7) + log(6 * depth / beta)),
    )
