"""An active student of linear rules that takes one gradient step for each answer."""

from __future__ import annotations

from math import log, sqrt

import attrs
import numpy as np

from arena.messages import NO_LABEL, UNSTABLE
from arena.settings import more_than
from learners.pate.rules import LearnedRule
from learners.pate.students import ActiveStudent, Questions


@attrs.frozen(kw_only=True)
class GradientStepStudent(ActiveStudent):
    """Queries a point if few gradient steps would change its label; goes through the points once.

    The rule is 1[w·x > 0], where x has a last coordinate 1, and w = 0 at first. An answer y = ±1 is one step
    of size s on the logistic loss, w ← w + s·y·x/(1 + exp(y·w·x)). A step changes w·x by at most s·‖x‖², so
    at least |w·x|/(s·‖x‖²) steps are needed to relabel x. These stand for the additional errors of a rule
    that labels x differently: point t is queried if

        |w·x|/(s·‖x‖²·t) ≤ β² + β·√e,  β² = c·ln(t + 1)/t,

    the threshold of `ForcedLabelStudent`, where e is the share of answers that the rule of the time predicted
    wrongly.

    Source: gradient steps in place of the forced rule are from Karampatziakis and Langford (2011). Section 5
    of Liu, Zhu, Chaudhuri, Wang states no steps or constants; the defaults follow its figures
    (docs/voting.md).

    step: s. constant: c.
    """

    step: float = attrs.field(default=1.0, validator=more_than(0))
    constant: float = attrs.field(default=0.1, validator=more_than(0))

    def questions(self, points: np.ndarray) -> Questions:
        rows = np.column_stack([points.reshape(len(points), -1), np.ones(len(points))])
        step_sizes = self.step * (rows**2).sum(axis=1)
        weights = np.zeros(rows.shape[1])
        asked, wrong = 0, 0
        for position, x in enumerate(rows):
            margin = float(weights @ x)
            steps = abs(margin) / step_sizes[position]
            if not self.near(steps, wrong / max(1, asked), position + 1):
                continue
            answer = yield position
            if answer == NO_LABEL:
                break
            asked += 1
            if answer != UNSTABLE:
                wrong += (margin > 0) != answer
                sign = 2 * answer - 1
                weights = weights + self.step * sign * _logistic(-sign * margin) * x
        return _linear_rule(weights)

    def near(self, steps: float, errors: float, points: int) -> bool:
        """Whether the last of `points` points is queried, if `steps` steps would relabel it."""
        square = self.constant * log(points + 1) / points
        return steps / points <= square + sqrt(square * errors)


def _linear_rule(weights: np.ndarray) -> LearnedRule:
    slopes, offset = weights[:-1], weights[-1]
    return LearnedRule(lambda points: points.reshape(len(points), -1) @ slopes + offset > 0, weights)


def _logistic(z: float) -> float:
    from scipy.special import expit  # slow to import; it does not overflow

    return float(expit(z))
