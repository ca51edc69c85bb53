"""The parameters of a round of GenericBBL."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class BBLRound:
    """The parameters of round i.

    alpha, beta: α_i, β_i. chunk, teachers, answers: λ_i, T_i, R_i. noise: ε′_i, of an answer or of a halt.
    """

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
