"""Active learning with an oracle that fits rules to weighted labels, and no version space."""

from __future__ import annotations

from math import log, sqrt

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.replies import NO_LABEL, UNSTABLE
from learners.pate.ensemble import Teacher
from learners.pate.students.active import ActiveStudent, Lesson, Questions
from learners.pate.students.public_points import PublicPoints
from learners.pate.students.rules import Rule, recalled

_HEAVIER = 4  # from one weight to the next


@attrs.frozen(kw_only=True)
class ForcedLabel(ActiveStudent):
    """Asks about a point if the best rule that labels it otherwise is nearly as good as the best rule.

    With t points behind, of which the best rule errs on a share e, let the best rule that labels the new
    point otherwise err on a share e'. It asks if e' − e ≤ β² + β·√e with β² = c·ln(t + 1)/t. A point that it
    does not ask about gets the label of the best rule, and counts among the t. A point whose answer was ⊥
    does not.

    The other rule is had by fitting the new point with the other label and a weight of 1, 4, 16, ... until it
    is labelled so. With the minimiser of a class this is exact: errors do not fall as the weight grows, so
    the search may end, too, where they are too many already; and a weight above t forces the label if any
    concept can (a point that all concepts label alike is not asked about). Logistic regression minimises
    another loss, and may miss a rule that is better.

    The reduction is that of Dasgupta, Hsu and Monteleoni, A general agnostic active learning algorithm
    (2007). That labels which were not asked for are ordinary examples, and the shape of the threshold, are
    as in the experiments of Yan, Chaudhuri and Javidi, Active Learning with Logged Data (2018), which those
    of Liu, Zhu, Chaudhuri, Wang follow. Deviations from the latter: the other rule is fitted, where they
    estimate its error from one step of gradient descent; the best rule is fitted anew after every answer,
    not in batches.

    student: what rules are fitted by; it must take weights. constant: c.
    """

    student: Teacher
    constant: float = 0.5

    def __attrs_post_init__(self) -> None:
        if not self.constant > 0:
            raise InvalidArgument("constant is more than 0", value=self.constant)

    def near(self, errors: int, forced: int, points: int) -> bool:
        """Whether a rule with `forced` errors on so many points is nearly as good as one with `errors`."""
        if not points:
            return True
        square = self.constant * log(points + 1) / points
        return (forced - errors) / points <= square + sqrt(square * errors / points)

    def questions(self, points: np.ndarray) -> Questions:
        notes = _Notes(self.student, points)
        seen, cut = len(points), False
        for place in range(len(points)):
            if not self._asks(notes, place):
                notes.guess(place)
                continue
            answer = yield place
            if answer == NO_LABEL:
                seen, cut = place, True
                break
            notes.told(place, answer)
        return Lesson(notes.fit(), tuple(notes.asked), tuple(notes.answers), seen, cut)

    def _asks(self, notes: _Notes, place: int) -> bool:
        known, weight = int(notes.weights.sum()), 1
        while True:
            errors, forced = notes.forced(place, weight)
            near = self.near(notes.errors, errors, known)
            if forced or not near:
                return near
            if weight > known:
                return False
            weight *= _HEAVIER


class _Notes:
    """What one student has written down: labels (m,), and weights (m,) of 1 where there is one.

    errors: of the best rule.
    """

    def __init__(self, student: Teacher, points: np.ndarray) -> None:
        self._student = student
        self._points = PublicPoints(points)
        self.labels = np.zeros(len(points), np.int8)
        self.weights = np.zeros(len(points), np.int64)
        self.asked: list[int] = []
        self.answers: list[int] = []
        self._keep()

    def fit(self) -> Rule:
        """The best rule."""
        return self._fitted(self.labels, self.weights)[0]

    def guess(self, place: int) -> None:
        """Give a point the label of the best rule."""
        self.labels[place], self.weights[place] = self._guesses[place], 1

    def forced(self, place: int, weight: int) -> tuple[int, bool]:
        """The errors of a rule that is fitted with a point as well, under the label that the best rule does
        not give it; and whether it gives it that label."""
        labels, weights = self.labels.copy(), self.weights.copy()
        labels[place], weights[place] = not self._guesses[place], weight
        said = self._fitted(labels, weights)[1]
        return self._wrong(said), bool(said[place] == labels[place])

    def told(self, place: int, answer: int) -> None:
        self.asked.append(place)
        self.answers.append(answer)
        if answer != UNSTABLE:
            self.labels[place], self.weights[place] = answer, 1
            self._keep()

    def _keep(self) -> None:
        self._guesses = self._fitted(self.labels, self.weights)[1]
        self.errors = self._wrong(self._guesses)

    def _fitted(self, labels: np.ndarray, weights: np.ndarray) -> tuple[Rule, np.ndarray]:
        return recalled(self._student, self._points, labels, weights)

    def _wrong(self, said: np.ndarray) -> int:
        return int((said != self.labels) @ self.weights)
