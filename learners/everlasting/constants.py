"""The printed constants of GenericBBL, in both versions of Private Everlasting Prediction."""

from __future__ import annotations

from math import log

import attrs

from arena.errors import InvalidArgument
from arena.settings import check_value, one_of
from learners.mechanisms.accounting.composition import bbl_subsampling_rate

V1, V2 = "v1", "v2"  # 16 May 2023, and NeurIPS 2023
THEOREM_LIMIT = 1 / 16  # α, β and δ of Theorems 5.1 and 6.1 are smaller


@attrs.frozen(kw_only=True)
class PaperConstants:
    """The constants of round 1 in the printed algorithm.

    n: labelled examples of the initial input, as printed there (in v2, twice what its step 2 uses). chunk:
    λ_1.
    teachers: T_1. answers: R_1. halts: c_1 (v1 only).
    """

    version: str
    tau: float
    n: float
    chunk: float
    teachers: float
    answers: float
    halts: float | None

    def __str__(self) -> str:
        halts = "" if self.halts is None else f', halting after c_1 = {self.halts:.2g} outcomes "between"'
        gigabytes = self.n * 9 / 1e9  # 8 bytes for a point and 1 for a label
        return (
            f"n = {self.n:.2g} labelled examples ({gigabytes:.2g} GB): λ_1 = {self.chunk:.3g} for each of "
            f"T_1 = {self.teachers:.2g} teachers, R_1 = {self.answers:.2g} answers in round 1{halts}"
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
    """The constants of steps 1 to 3(c) for error α, failure probability β, (ε, δ) and VC dimension `vc`.

    version: "v1" or "v2". tau: τ, default its printed lower bound. Logarithms are natural where the paper
    writes log.
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
