"""Students: what is learned from labels that an aggregator of votes releases for public points.

A student is a function of a labelling service (anything with `predict` and `halted`, for instance a seated
aggregator) and of public points, so that learners before Release and experiments can use it alike.
"""

from learners.pate.students.active import ActiveStudent, Lesson, learn
from learners.pate.students.disagreement import Disagreement
from learners.pate.students.forced_label import ForcedLabel
from learners.pate.students.gradient_steps import GradientSteps
from learners.pate.students.odometer import gaussian_epsilon, odometer
from learners.pate.students.passive import Service, answers_of, taught
from learners.pate.students.public_points import PublicPoints
from learners.pate.students.rules import Rule, fitted, rule_class

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
