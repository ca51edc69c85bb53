"""The printed constants of GenericBBL, and what they cost."""

from __future__ import annotations

from math import log

import attrs

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.composition import bbl_subsampling_rate

THEOREM_LIMIT = 1 / 16  # α, β and δ of Theorems 5.1 and 6.1 are below it


@attrs.frozen(kw_only=True)
class PaperConstants:
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
    ) -> PaperConstants:
        """Steps 1 to 3(c) for error α, failure β and (ε, δ), a class of VC dimension `vc`.

        Logarithms are natural where the paper writes log. `tau` is τ, by default its printed lower bound.
        Raises InvalidArgument outside α, β, δ < 1/16, ε ≤ 1 (Theorems 5.1 and 6.1).
        """
        for name, value in (("alpha", alpha), ("beta", beta), ("delta", delta)):
            if not 0 < value < THEOREM_LIMIT:
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
        return PaperConstants(
            version=self.version,
            tau=tau,
            n=(1 if first else 2) * chunk * teachers / bbl_subsampling_rate(epsilon),
            chunk=chunk,
            teachers=teachers,
            answers=answers,
            halts=64 * alpha_1 * answers if first else None,
        )
