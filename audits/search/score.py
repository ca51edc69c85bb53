"""Scores that say what they look at: one feature of a view, by its name in `audits.distinguishers.view_features`, and what is made
of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arena import InvalidArgument, Reply
from arena.replies import list_answers
from arena.settings import one_of
from audits.distinguishers.view_features import ViewCounts, numbers_shown

AS_IT_IS, DISTANCE, EQUAL, AT_MOST, WEIGHED = FORMS = ("as it is", "distance", "equal", "at most", "weighed")
HYPOTHESES = "hypotheses"  # all of them: the form "at most" counts them
_INFINITE = 1e299  # beyond it a feature stands for an infinite value
_NAMED = re.compile(
    r"halted|answers|answers 1|failed|hypotheses|answer (\d+)|(?:value|hypothesis (\d+))(?:\[(\d+)\])?"
)
_MOST_EQUAL = 3
_MOST_WEIGHED = 64  # numbers of one value
_RIDGE = 1e-6  # of the variance: what keeps numbers with the same noise apart from numbers with none
_LIGHT = 0.05  # of the weightiest number


@attrs.frozen
class Score:
    """One number a game.

    feature: "halted", "answers" (how many there were), "answers 1" (how many were 1), "answer 3" (the
        third, -1 for none), "failed" (the learner raised), "value" or "value[2]" (of what was released),
        "hypothesis 4" or "hypothesis 4[2]" (of its concept), "hypotheses".
    form: the feature "as it is"; its "distance" from `centre`, whether it is "equal" to it; of "hypotheses",
        how many have a concept "at most" `centre`; of the numbers of "value" or "hypothesis 4", the sum
        "weighed" by `weights`.
    sign: 1, or -1 where little looks like world 1.
    """

    feature: str
    form: str = attrs.field(default=AS_IT_IS, validator=one_of(*FORMS))
    centre: float = 0.0
    sign: int = 1
    weights: tuple[float, ...] = ()

    def __attrs_post_init__(self) -> None:
        if not _NAMED.fullmatch(self.feature) or (self.feature == HYPOTHESES) != (self.form == AT_MOST):
            raise InvalidArgument("a score looks at a feature of the view that it knows", value=self.feature)
        if bool(self.weights) != (self.form == WEIGHED):
            raise InvalidArgument('a score has weights where its form is "weighed"', value=self.weights)

    @property
    def part(self) -> tuple[int, int]:
        """Which answer or hypothesis, from 1 on, and which of its numbers; 0 where there is one only."""
        found = _NAMED.fullmatch(self.feature)
        assert found is not None
        return int(found[1] or found[2] or 1), int(found[3] or 0)

    def of(self, replies: Sequence[Reply], games: int) -> np.ndarray:
        """The scores (games,) of a table, from its replies."""
        if self.feature == "failed":
            return np.zeros(games)  # the engine gives infinity to games that the learner's failure ended
        if self.feature == HYPOTHESES:
            counted = [concept <= self.centre for concept in numbers_shown(replies)]
            return self.sign * np.sum([np.zeros(games), *counted], axis=0)
        return self.sign * self._formed(self._seen(replies, games).astype(np.float64))

    def column(self, views: ViewCounts) -> np.ndarray:
        """(m,): the scores of the distinct views of a block, as features have them: finite."""
        if self.feature == HYPOTHESES:
            names = tuple(name for name in views.names if name.startswith("hypothesis "))
            columns = views.columns(names)
            centre = float(np.nan_to_num(self.centre, posinf=1e300, neginf=-1e300))
            return self.sign * (columns <= centre).sum(axis=1).astype(float)
        if self.form == WEIGHED:
            columns = views.columns(tuple(f"{self.feature}[{i}]" for i in range(len(self.weights))))
            return self.sign * (columns @ self.weights)
        column = views.columns((self.feature,))[:, 0]
        return column if self.feature == "failed" else self.sign * self._formed(column)

    def _formed(self, column: np.ndarray) -> np.ndarray:
        if self.form == DISTANCE:
            return np.abs(column - self.centre)
        return (column == self.centre).astype(float) if self.form == EQUAL else column

    def _seen(self, replies: Sequence[Reply], games: int) -> np.ndarray:
        number, place = self.part
        answers = list_answers(replies)
        if self.feature == "halted":
            return answers[-1].halted
        if self.feature == "answers 1":
            return np.sum([answer.label == 1 for answer in answers], axis=0)
        if self.feature == "answers":
            return np.sum([np.isin(answer.label, (0, 1)) for answer in answers], axis=0)
        if self.feature.startswith("answer "):
            return answers[number - 1].label
        shown = np.reshape(numbers_shown(replies)[number - 1], (games, -1))
        return shown @ self.weights if self.form == WEIGHED else shown[:, place]


def simple_scores(views: ViewCounts) -> list[Score]:
    """Scores that may tell the worlds of these views apart, the easiest to read first."""
    known = [name for name in views.names if _NAMED.fullmatch(name)]
    usual = [name for name in ("failed", "halted", "answers 1", "answers") if name in known]
    later = sorted((name for name in known if name not in usual), key=lambda name: name.startswith("answer "))
    scores = [Score(name) for name in [*usual, *later]]
    scores += [*_weighed(views), *_counted(views)]
    for name in known:
        if name.startswith(("value", "hypothesis")):
            scores += _centred(name, views)
    return scores


def _weighed(views: ViewCounts) -> Iterator[Score]:
    """Where several numbers are shown at once, the sum of them that tells the worlds apart best: Fisher's
    discriminant. Noise that numbers share cancels in it."""
    for shown in dict.fromkeys(name.partition("[")[0] for name in views.names if name.endswith("]")):
        names = tuple(name for name in views.names if name.startswith(f"{shown}["))
        if len(names) <= _MOST_WEIGHED:
            weights = _discriminant(np.stack([views.columns(names)[w] for w in views.which.T]), views.counts)
            if np.count_nonzero(weights) > 1:
                yield Score(shown, WEIGHED, weights=tuple(weights.tolist()))


def _discriminant(worlds: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(F,): the weights, rounded for people, the largest 1; 0 for numbers that never change, are infinite or
    say next to nothing. Shapes: worlds (2, k, F), counts (k,)."""
    worlds = worlds * (np.abs(worlds) < _INFINITE).all(axis=(0, 1))
    share = (counts / counts.sum())[:, None]
    means = (worlds * share).sum(axis=1, keepdims=True)
    within = np.concatenate((worlds - means) * np.sqrt(share / 2))
    deviation = np.sqrt((within**2).sum(axis=0))
    scale = np.where(deviation > 0, deviation, 1.0)
    spread = (within / scale).T @ (within / scale) + _RIDGE * np.eye(len(scale))
    weights = np.linalg.solve(spread, (means[1] - means[0])[0] / scale) * (deviation > 0)
    heavy = np.abs(weights) > _LIGHT * np.abs(weights).max()
    weights = np.where(heavy, weights / scale, 0.0)
    return np.array([float(f"{weight:.2g}") for weight in weights / max(np.abs(weights).max(), 1e-300)])


def _counted(views: ViewCounts) -> list[Score]:
    """How many hypotheses lie low, where there are several of one number each."""
    names = tuple(n for n in views.names if n.startswith("hypothesis ") and "[" not in n)
    if len(names) < 2:
        return []
    values = np.unique(views.columns(names))
    centres = dict.fromkeys(_unlimited(float(v)) for v in (values[0], values[(len(values) - 1) // 2]))
    return [Score(HYPOTHESES, AT_MOST, centre) for centre in centres]


def _centred(name: str, views: ViewCounts) -> list[Score]:
    column = views.columns((name,))[:, 0]
    seen = views.by_world()
    values, place = np.unique(column, return_inverse=True)
    times = np.zeros((len(values), 2), np.int64)
    np.add.at(times, place.ravel(), seen)
    if len(values) <= 2 or np.abs(values[[0, -1]]).max() > _INFINITE:
        return []
    middle = np.argmax(np.cumsum(times, axis=0) * 2 >= times.sum(axis=0), axis=0)
    centres = [values[i] for i in dict.fromkeys(middle.tolist())]
    common = np.argsort(-times.sum(axis=1), kind="stable")[:_MOST_EQUAL]
    equal = [Score(name, EQUAL, float(values[i])) for i in common if times[i].sum() > 1]
    return [*equal, *(Score(name, DISTANCE, float(centre)) for centre in centres)]


def _unlimited(value: float) -> float:
    """What a feature stands for."""
    return float(np.copysign(np.inf, value)) if abs(value) > _INFINITE else value
