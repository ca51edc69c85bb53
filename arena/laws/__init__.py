"""Output distributions of learners, for exact audits and likelihood ratios.

Under `Release` it is the distribution of the released value (`ValueLaw`), or of the concept if a hypothesis
is released. Under `Figure1` and `Voting` it is that of the answers, given as a hidden Markov chain
(`AnswerLaw`). An online learner that shows one of finitely many hypotheses has an `OnlineLaw`. No game shows
an output distribution.
"""

from arena.laws.round_laws import AnswerLaw, OnlineLaw
from arena.laws.value_laws import (
    Branches,
    Density,
    Finite,
    Independent,
    Mixture,
    Transformed,
    ValueLaw,
    check_same_function,
    project,
    simplify_laws,
)

__all__ = [
    "AnswerLaw",
    "Branches",
    "Density",
    "Finite",
    "Independent",
    "Mixture",
    "OnlineLaw",
    "Transformed",
    "ValueLaw",
    "check_same_function",
    "project",
    "simplify_laws",
]
