"""Students: rules learned from an aggregator's answers on public points.

A student is a function of a labelling service (an object with `predict` and `halted`, such as a running
aggregator) and of public points, so that learners for Release and experiments can use it alike.
"""

from learners.pate.students.active import ActiveStudent, LearningResult, learn
from learners.pate.students.disagreement_student import DisagreementStudent
from learners.pate.students.forced_label_student import ForcedLabelStudent
from learners.pate.students.gradient_step_student import GradientStepStudent
from learners.pate.students.odometer import gaussian_epsilon, odometer
from learners.pate.students.passive import LabellingService, collect_answers, fit_answers
from learners.pate.students.public_points import PublicPoints
from learners.pate.students.rules import LearnedRule, fit_rule, rule_class

__all__ = [
    "ActiveStudent",
    "DisagreementStudent",
    "ForcedLabelStudent",
    "GradientStepStudent",
    "LabellingService",
    "LearnedRule",
    "LearningResult",
    "PublicPoints",
    "collect_answers",
    "fit_answers",
    "fit_rule",
    "gaussian_epsilon",
    "learn",
    "odometer",
    "rule_class",
]
