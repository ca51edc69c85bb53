"""Students: what is learnt from labels that an aggregator of votes releases for public points.

A student is a function of a labelling service (anything with `predict` and `halted`, for instance a seated
aggregator) and of public points, so that learners before Release and experiments can use it alike.
"""

from learners.students.active import ActiveStudent, Lesson, learn
from learners.students.disagreement import Disagreement
from learners.students.forced import ForcedLabel
from learners.students.gradient import GradientSteps
from learners.students.passive import Service, answers_of, taught
from learners.students.public import PublicPoints
from learners.students.rules import Rule, fitted, rule_class
from learners.students.spending import gaussian_epsilon, odometer

__all__ = [
    "ActiveStudent",
    "Disagreement",
    "ForcedLabel",
    "GradientSteps",
    "Lesson",
    "PublicPoints",
    "Rule",
    "Service",
    "answers_of",
    "fitted",
    "gaussian_epsilon",
    "learn",
    "odometer",
    "rule_class",
    "taught",
]
