"""Constants for GenericBBL that keep its errors small with as few examples as a machine can hold.

The printed constants (`learners.everlasting.constants`) are sufficient, and astronomic. These are what the steps of the proof
of Theorem 6.2 (5.2 of the first version) need in practice; privacy follows from them, in the claim, and is
what they give away.

- α_1 = β_1 = 0.03, so that α = β = 0.06 lies within the theorem.
- A teacher errs on more than α_1 with probability 1/16 at most, as the proof of Claim E.4 wants of 15
  teachers in 16: λ_1 = q/α_1, q the 15/16-quantile of a Gamma law of shape VC. That is exact, to leading
  order, for learners whose error is a sum of VC gaps between examples, such as one end of a threshold, two of
  an interval, 2d sides of a box; the benchmarks measure it for other classes.
- The subsets of steps 2 and 3(f) are everything (rates of 1): a round then needs the fewest answers to feed
  the next one, four for each of its examples. LabelBoost sees all of S_i, far more than Lemma C.2 asks for.
- Noise is the most at which, but for a chance of β_i, none of a round's is more than 1/16 (v2, Claim E.3), or
  1/8 for a value and for thresholds alike (v1, Claim D.4). ε′ is at most 1, so that the fewest teachers are
  those whose noise is as small at ε′ = 1; with more of them ε′ falls, and with it the claim.
  The counter answers by a noisy majority, as v2 does, and has the noise of v2.
- v1 and the counter may halt after `_HALTS`·α_i·R_i outcomes ⊤ of a round, where v1 prints 64·α_i·R_i. v1's
  number is the same in every round, so that it is that of the last.
- What everlasting-fresh learns from are its fresh points, and its answers are few.
"""

from __future__ import annotations

from collections.abc import Collection
from math import ceil, log
from typing import Any, TypeVar

import attrs

from learners.everlasting.everlasting_fresh import EverlastingFresh
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.everlasting.generic_bbl import GenericBBL

ALPHA_1 = BETA_1 = 0.03
ROUNDS = 3
_BAD = 1 / 16  # the part of the teachers that may err more
_HALTS = 4
_FRESH = 10_000  # R_1 where answers feed nothing
_TURNS = 20  # T and R follow from one another; each turn changes T by a logarithm of the last change

Spec = TypeVar("Spec", bound=GenericBBL)


def practical(spec: Spec, *, rounds: int = ROUNDS, keep: Collection[str] = ()) -> Spec:
    """The spec with practical constants for rounds 1 ... `rounds`; settings named in `keep` stay as they are.

    Raises: InvalidArgument if what is kept cannot be fitted to.
    """
    wished: dict[str, Any] = {"alpha_1": ALPHA_1, "beta_1": BETA_1, "training_rate": 1.0, "rate": 1.0}
    spec = _with(spec, wished, keep)
    vc = spec.concepts.vc_dimension
    answers = _FRESH if isinstance(spec, EverlastingFresh) else None  # None: what the next round needs
    spec = _with(spec, {"chunk": practical_chunk(spec.alpha_1, vc), "answers": answers}, keep)
    for _ in range(_TURNS):
        product = _noise_product(spec, rounds)
        most = spec.noise if "noise" in keep and spec.noise is not None else 1.0
        spec = _with(spec, {"teachers": ceil(product / most)}, keep)
    noise = min(1.0, _noise_product(spec, rounds) / spec.teachers)
    busiest = spec.round(rounds if isinstance(spec, EverlastingV1) else 1)
    halts = ceil(_HALTS * busiest.alpha * busiest.answers)
    return _with(spec, {"noise": noise, "halts": halts}, keep)


def practical_chunk(alpha: float, vc: int) -> int:
    """λ: the examples of a teacher that errs on more than `alpha` with probability 1/16 at most."""
    from scipy.stats import gamma  # slow to import

    return ceil(float(gamma.isf(_BAD, max(1, vc))) / alpha)


def teachers_for_epsilon(epsilon: float, *, answers_each: float, beta: float, delta: float) -> float:
    """The T_1 at which the answers of round 1 cost `epsilon` and none of their noise is above 1/16, where
    R_1 is `answers_each`·T_1: v2's, by √(2R ln(2/δ))·ε′ = `epsilon` with ε′ = 16·ln(R/β)/T.

    >>> f"{teachers_at(1.0, answers_each=4 * 93, beta=0.03, delta=1e-5):.1e}"
    '2.2e+09'
    """
    teachers = 1.0
    for _ in range(_TURNS):
        noise = 16 * log(max(answers_each * teachers, 2.0) / beta)
        teachers = 2 * answers_each * log(2 / delta) * (noise / epsilon) ** 2
    return teachers


def _noise_product(spec: GenericBBL, rounds: int) -> float:
    """The T_1·ε′_1 at which no noise of a round is too large, but for a chance of β_i."""
    found = []
    for index in range(1, rounds + 1):
        run = spec.round(index)
        if isinstance(spec, EverlastingV1):  # values have noise 6/(Tε′); ε′ stays, T doubles
            found.append(48 * log(2 * run.answers / run.beta) / 2 ** (index - 1))
        else:  # votes have noise 1/(Tε′); as T doubles ε′ is halved
            found.append(16 * log(run.answers / run.beta))
    return max(found)


def _with(spec: Spec, wished: dict[str, Any], keep: Collection[str]) -> Spec:
    """The spec with those settings that it has and that are not kept."""
    fields = attrs.fields_dict(type(spec))
    return attrs.evolve(
        spec, **{name: it for name, it in wished.items() if name in fields and name not in keep}
    )
