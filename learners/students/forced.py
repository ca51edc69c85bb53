"""Active learning with an oracle that fits rules to weighted labels, and no version space."""

from __future__ import annotations

from math import log, sqrt

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.replies import NO_LABEL, UNSTABLE
from learners.ensemble import Teacher
from learners.students.active import ActiveStudent, Lesson, Questions
from learners.students.public import PublicPoints
from learners.students.rules import Rule, recalled


@attrs.frozen(kw_only=True)
class ForcedLabel(ActiveStudent):
    """Asks about a point if the best rule that labels it otherwise is nearly as good as the best rule.

    With t points behind, of which the best rule errs on a share e, let the rule that is fitted with the new
    point, too, under the label that the best rule does not give it and with a weight of t + 1, err on a share
    e' of the t. It asks if e' − e ≤ β² + β·√e with β² = c·ln(t + 1)/t. A point that it does not ask about
    gets the label of the best rule, and counts among the t. A point whose answer was ⊥
    does not.

    The reduction is that of Dasgupta, Hsu and Monteleoni, A general agnostic active learning algorithm
    (2007). That labels which were not asked for are ordinary examples, and the shape of the threshold, are
    as in the experiments of Yan, Chaudhuri and Javidi, Active Learning with Logged Data (2018), which those
    of Liu, Zhu, Chaudhuri, Wang follow. Deviations from the latter: the rule that is forced is
    fitted anew, where they estimate its error by one step of gradient descent; the best rule is fitted anew
    after every answer, not in batches.

    With the minimiser of a class the rule is forced exactly (if some concept labels the point so; a point
    that all concepts label alike is not asked about). Logistic regression minimises another loss, and may
    miss a rule that is better.

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
        cut = False
        for place in range(len(points)):
            guess = notes.guess(place)
            forced = notes.forced_errors(place, not guess)
            if forced is None or not self.near(notes.errors, forced, int(notes.weights.sum())):
                notes.labels[place], notes.weights[place] = guess, 1
                continue
            answer = yield place
            if answer == NO_LABEL:
                cut = True
                break
            notes.told(place, answer)
        seen = place if cut else len(points)
        return Lesson(notes.fit(), tuple(notes.asked), tuple(notes.answers), seen, cut)


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

    def guess(self, place: int) -> bool:
        """How the best rule labels a point."""
        return bool(self._guesses[place])

    def forced_errors(self, place: int, label: bool) -> int | None:
        """The errors of the best rule that labels a point so; None if there is no such rule."""
        labels, weights = self.labels.copy(), self.weights.copy()
        labels[place], weights[place] = label, weights.sum() + 1
        said = self._fitted(labels, weights)[1]
        return self._wrong(said) if said[place] == label else None

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
