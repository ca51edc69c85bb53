"""Numbers behind `GenericBBL.with_practical_constants`: small errors with as few examples as possible.

Derivation: docs/proofs/practical_constants.md.
"""

from __future__ import annotations

from math import ceil, log

ALPHA_1 = BETA_1 = 0.03  # so that α = β = 0.06 lies within the theorems
ROUNDS = 3
HALTS_FACTOR = 4  # in halts = 4·α_i·R_i, where v1 prints 64·α_i·R_i
FRESH_ANSWERS = 10_000  # R_1 of a learner whose next round is not trained on answers
ITERATIONS = 20  # T and R depend on each other; each iteration changes T by a logarithm of the last change
_BAD_TEACHERS = 1 / 16  # the fraction of teachers that may err by more than α_1


def practical_chunk(alpha: float, vc: int) -> int:
    """The chunk size λ at which a teacher errs by more than `alpha` with probability at most 1/16."""
    from scipy.stats import gamma  # slow to import

    return ceil(float(gamma.isf(_BAD_TEACHERS, max(1, vc))) / alpha)


def teachers_for_epsilon(epsilon: float, *, answers_each: float, beta: float, delta: float) -> float:
    """The T_1 with which v2's answers of round 1 cost `epsilon` and none of their noise exceeds 1/16.

    R_1 is `answers_each`·T_1, √(2R ln(2/δ))·ε′ = `epsilon`, and ε′ = 16·ln(R/β)/T.

    >>> f"{teachers_for_epsilon(1.0, answers_each=4 * 93, beta=0.03, delta=1e-5):.1e}"
    '2.2e+09'
    """
    teachers = 1.0
    for _ in range(ITERATIONS):
        noise = 16 * log(max(answers_each * teachers, 2.0) / beta)
        teachers = 2 * answers_each * log(2 / delta) * (noise / epsilon) ** 2
    return teachers
