"""An active student of linear rules that takes one gradient step an answer."""

from __future__ import annotations

from math import log, sqrt

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.replies import NO_LABEL, UNSTABLE
from learners.pate.students.active import ActiveStudent, Lesson, Questions
from learners.pate.students.rules import Rule


@attrs.frozen(kw_only=True)
class GradientSteps(ActiveStudent):
    """Goes through the points once; asks about one if few steps would change how the rule labels it.

    The rule is 1[w·x > 0], x with a last coordinate 1, w = 0 at first. An answer y = ±1 is one step of size s
    on the logistic loss, w ← w + s·y·x/(1 + exp(y·w·x)). A step moves w·x by s·‖x‖² at most, so it takes
    |w·x|/(s·‖x‖²) steps or more to relabel x. Over t points these stand for the errors that a rule which
    labels x otherwise would add, and point t is asked about if

        |w·x|/(s·‖x‖²·t) ≤ β² + β·√e,  β² = c·ln(t + 1)/t,

    the threshold of `ForcedLabel`, e the share of answers that the rule of the time had not foreseen. That a
    gradient step stands in for the rule that is forced is the shortcut of Karampatziakis and Langford, Online
    importance weight aware updates (2011), which experiments with linear models took up. Section 5 of Liu,
    Zhu, Chaudhuri, Wang (PATE) follows such experiments and gives neither steps nor constants. Those here
    were chosen by its figures on Mushroom, to which they come nearer than `ForcedLabel` (docs/voting.md).

    step: s. constant: c.
    """

    step: float = 1.0
    constant: float = 0.1

    def __attrs_post_init__(self) -> None:
        for name in ("step", "constant"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} is more than 0", value=getattr(self, name))

    def questions(self, points: np.ndarray) -> Questions:
        rows = np.column_stack([points.reshape(len(points), -1), np.ones(len(points))])
        reach = self.step * (rows**2).sum(axis=1)
        weights = np.zeros(rows.shape[1])
        asked: list[int] = []
        answers: list[int] = []
        wrong, cut = 0, False
        for place, x in enumerate(rows):
            margin = float(weights @ x)
            steps = abs(margin) / reach[place]
            if not self.near(steps, wrong / max(1, len(asked)), place + 1):
                continue
            answer = yield place
            if answer == NO_LABEL:
                cut = True
                break
            asked.append(place)
            answers.append(answer)
            if answer != UNSTABLE:
                wrong += (margin > 0) != answer
                sign = 2 * answer - 1
                weights = weights + self.step * sign * _logistic(-sign * margin) * x
        return Lesson(_rule(weights), tuple(asked), tuple(answers), place if cut else len(points), cut)

    def near(self, steps: float, errors: float, points: int) -> bool:
        """Whether so few steps would relabel the last of so many points that it is asked about."""
        square = self.constant * log(points + 1) / points
        return steps / points <= square + sqrt(square * errors)


def _rule(weights: np.ndarray) -> Rule:
    slopes, offset = weights[:-1], weights[-1]
    return Rule(lambda points: points.reshape(len(points), -1) @ slopes + offset > 0, weights)


def _logistic(z: float) -> float:
    from scipy.special import expit  # slow to import; it does not overflow

    return float(expit(z))
