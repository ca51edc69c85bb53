"""The parameters of a round of GenericBBL: printed constants, and practical ones
(docs/proofs/practical_constants.md)."""

from __future__ import annotations

from math import ceil, log

import attrs

from arena.errors import InvalidArgument
from arena.settings import check_value, one_of
from learners.mechanisms.accounting import bbl_subsampling_rate


@attrs.frozen(kw_only=True)
class BBLRound:
    """Round i: α_i, β_i, λ_i (chunk), T_i (teachers), R_i (answers), and ε′_i (noise), of an answer or a
    halt."""

    index: int
    alpha: float
    beta: float
    chunk: int
    teachers: int
    answers: int
    noise: float

    @property
    def examples(self) -> int:
        """|S_i| = λ_i T_i."""
        return self.chunk * self.teachers


V1, V2 = "v1", "v2"  # 16 May 2023, and NeurIPS 2023
THEOREM_LIMIT = 1 / 16  # α, β and δ of Theorems 5.1 and 6.1 are smaller

PRACTICAL_ALPHA_1 = PRACTICAL_BETA_1 = 0.03  # so that α = β = 0.06 lies within the theorems
PRACTICAL_ROUNDS = 3
HALTS_FACTOR = 4  # in halts = 4·α_i·R_i, where v1 prints 64·α_i·R_i
FRESH_ANSWERS = 10_000  # R_1 of a learner whose next round is not trained on answers
ITERATIONS = 20  # T and R depend on each other; each iteration changes T by a logarithm of the last change
_BAD_TEACHERS = 1 / 16  # the fraction of teachers that may err by more than α_1


@attrs.frozen(kw_only=True)
class PaperConstants:
    """The constants of round 1 as printed. n: labelled examples of the initial input (in v2, twice what step
    2 uses)."""

    version: str
    tau: float
    n: float
    chunk: float
    teachers: float
    answers: float
    halts: float | None

    def __str__(self) -> str:
        halts = "" if self.halts is None else f', halting after c_1 = {self.halts:.2g} outcomes "between"'
        return (
            f"n = {self.n:.2g} labelled examples ({9 * self.n / 1e9:.2g} GB): λ_1 = {self.chunk:.3g} for "
            f"each of T_1 = {self.teachers:.2g} teachers, R_1 = {self.answers:.2g} answers in round 1{halts}"
        )


def paper_constants(
    version: str,
    *,
    alpha: float,
    beta: float,
    epsilon: float,
    delta: float,
    vc: int = 1,
    tau: float | None = None,
) -> PaperConstants:
    """The constants of steps 1 to 3(c). tau: τ, default its printed lower bound; log is taken as natural.

    Raises: InvalidArgument unless α, β, δ < 1/16 and ε ≤ 1 (Theorems 5.1 and 6.1).
    """
    check_value("version", version, one_of(V1, V2))
    for name, value in (("alpha", alpha), ("beta", beta), ("delta", delta)):
        if not 0 < value < THEOREM_LIMIT:
            raise InvalidArgument(f"the theorem requires {name} in (0, 1/16)", value=value)
    if not 0 < epsilon <= 1:
        raise InvalidArgument("the theorem requires epsilon in (0, 1]", value=epsilon)
    first = version == V1
    tau = (1.1e10 if first else 50.0) if tau is None else tau
    alpha_1, beta_1 = alpha / 2, beta / 2
    chunk = (8 * vc * log(13 / alpha_1) + 4 * log(2 / beta_1)) / alpha_1
    squared_log = log(chunk / (epsilon * alpha_1 * beta_1 * delta)) ** 2
    teachers = tau * chunk * log(1 / delta) * squared_log / (epsilon * (alpha_1 if first else 1.0))
    answers = (25_600 if first else 12_800) * chunk * teachers / epsilon
    return PaperConstants(
        version=version,
        tau=tau,
        n=(1 if first else 2) * chunk * teachers / bbl_subsampling_rate(epsilon),
        chunk=chunk,
        teachers=teachers,
        answers=answers,
        halts=64 * alpha_1 * answers if first else None,
    )


def practical_chunk(alpha: float, vc: int) -> int:
    """The chunk size λ at which a teacher errs by more than `alpha` with probability at most 1/16."""
    from scipy.stats import gamma  # slow to import

    return ceil(float(gamma.isf(_BAD_TEACHERS, max(1, vc))) / alpha)
