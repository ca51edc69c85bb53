"""The printed constants of GenericBBL, of the realizable learner of Li, Wang, Ye, and of dp-winnow of Bun and
Fang, and what they cost.
"""

from __future__ import annotations

from math import ceil, inf, log

import attrs

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.bisection import largest
from learners.mechanisms.accounting.composition import advanced, rate_of

LIMIT = 1 / 16  # α, β and δ of Theorems 5.1 and 6.1 are below it


@attrs.frozen(kw_only=True)
class Constants:
    """The constants of the printed algorithm in round 1.

    n: the labelled examples of the initial input, as printed there (v2 prints twice what its step 2 uses).
    chunk: λ_1. teachers: T_1. answers: R_1. halts: c_1 (v1 only).
    """

    version: str
    tau: float
    n: float
    chunk: float
    teachers: float
    answers: float
    halts: float | None

    def __str__(self) -> str:
        halts = "" if self.halts is None else f", halting after c_1 = {self.halts:.2g} outcomes ⊤"
        gigabytes = self.n * 9 / 1e9  # a point of 8 bytes and a label of 1
        return (
            f"n = {self.n:.2g} labelled examples ({gigabytes:.2g} GB): λ_1 = {self.chunk:.3g} for each of "
            f"T_1 = {self.teachers:.2g} teachers, R_1 = {self.answers:.2g} answers in round 1{halts}"
        )


@attrs.frozen
class Paper:
    """Algorithm GenericBBL as printed: `version` "v1" (16 May 2023) or "v2" (NeurIPS 2023)."""

    version: str = attrs.field(validator=attrs.validators.in_(("v1", "v2")))

    def constants(
        self,
        *,
        alpha: float,
        beta: float,
        epsilon: float,
        delta: float,
        vc: int = 1,
        tau: float | None = None,
    ) -> Constants:
        """Steps 1 to 3(c) for error α, failure β and (ε, δ), a class of VC dimension `vc`.

        Logarithms are natural where the paper writes log. `tau` is τ, by default its printed lower bound.
        Raises InvalidArgument outside α, β, δ < 1/16, ε ≤ 1 (Theorems 5.1 and 6.1).
        """
        for name, value in (("alpha", alpha), ("beta", beta), ("delta", delta)):
            if not 0 < value < LIMIT:
                raise InvalidArgument(f"the theorem takes {name} in (0, 1/16)", value=value)
        if not 0 < epsilon <= 1:
            raise InvalidArgument("the theorem takes epsilon in (0, 1]", value=epsilon)
        first = self.version == "v1"
        tau = (1.1e10 if first else 50.0) if tau is None else tau
        alpha_1, beta_1 = alpha / 2, beta / 2
        chunk = (8 * vc * log(13 / alpha_1) + 4 * log(2 / beta_1)) / alpha_1
        spread = log(chunk / (epsilon * alpha_1 * beta_1 * delta)) ** 2
        teachers = tau * chunk * log(1 / delta) * spread / (epsilon * (alpha_1 if first else 1.0))
        answers = (25_600 if first else 12_800) * chunk * teachers / epsilon
        return Constants(
            version=self.version,
            tau=tau,
            n=(1 if first else 2) * chunk * teachers / rate_of(epsilon),
            chunk=chunk,
            teachers=teachers,
            answers=answers,
            halts=64 * alpha_1 * answers if first else None,
        )


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


@attrs.frozen(kw_only=True)
class WinnowConstants:
    """The constants of Theorem 4.5 of Bun and Fang, and the mistakes that it bounds with them.

    rate: η. updates: K. draws: m. watch_epsilon: of one AboveThreshold. threshold: L.
    """

    rate: float
    updates: float
    draws: float
    watch_epsilon: float
    threshold: float

    @property
    def mistakes(self) -> float:
        """K stretches of L and AboveThreshold's error, which is L."""
        return 2 * self.updates * self.threshold

    def __str__(self) -> str:
        return (
            f"η = {self.rate:.2g}, K = {self.updates:.2g} updates of m = {self.draws:.2g} draws, "
            f"L = {self.threshold:.2g} at {self.watch_epsilon:.2g} nats: {self.mistakes:.2g} mistakes"
        )


def winnow_constants(
    dimension: int, margin: float, *, c: float, epsilon: float, delta: float, beta: float, rounds: int
) -> WinnowConstants:
    """The constants of Theorem 4.5 of Bun and Fang (2026), rebuilt from the proofs that use them.

    m = 2 ln(2T/β)/(cρ)² (Lemma 4.6). K = 2 ln d/(η(1 - c)ρ) (Lemma 4.2, for η of at most (1 - c)ρ). η and the
    ε of AboveThreshold are the largest at which K·m draws that are 4η-DP, and K instances, cost ε/2 each by
    advanced composition with δ/2 (Theorem 4.4). L is its error 8 (ln T + ln(2K/β))/ε (Lemma 4.3).

    Raises: InvalidArgument if a parameter is out of range.

    >>> constants = winnow_constants(1024, 0.2, c=0.5, epsilon=1, delta=1e-6, beta=0.05, rounds=1000)
    >>> f"{constants.rate:.1e} {constants.updates:.1e} {constants.mistakes:.1e}"
    '1.8e-09 7.8e+10 1.4e+20'
    """
    if dimension < 2 or rounds < 1:
        raise InvalidArgument("there are at least 2 dimensions and 1 round", value=(dimension, rounds))
    for name, value in (("c", c), ("delta", delta), ("beta", beta)):
        if not 0 < value < 1:
            raise InvalidArgument(f"{name} must lie between 0 and 1", value=value)
    draws = ceil(2 * log(2 * rounds / beta) / (c * margin) ** 2)
    lead = (1 - c) * margin

    def updates(rate: float) -> int:
        return ceil(2 * log(dimension) / (rate * lead))

    def cost(rate: float) -> float:
        if rate > lead:
            return inf
        return advanced(updates(rate) * draws, 4 * rate, slack=delta / 2).epsilon

    rate = largest(cost, epsilon / 2)
    most = updates(rate)
    watch = largest(lambda each: advanced(most, each, slack=delta / 2).epsilon, epsilon / 2)
    return WinnowConstants(
        rate=rate,
        updates=most,
        draws=draws,
        watch_epsilon=watch,
        threshold=8 * (log(rounds) + log(2 * most / beta)) / watch,
    )
