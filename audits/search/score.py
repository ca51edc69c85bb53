"""Simple scores: one feature of a view, by its name in `view_features`, possibly transformed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from arena import InvalidArgument, Reply
from arena.replies import list_answers
from arena.settings import one_of
from audits.distinguishers.view_features import ViewCounts, collect_values

FORMS = ("as it is", "distance", "equal", "at most", "weighted")
AS_IT_IS, DISTANCE, EQUAL, AT_MOST, WEIGHTED = FORMS
HYPOTHESES = "hypotheses"  # all of them: the form "at most" counts them
_INFINITE = 1e299  # larger features stand for infinite values
_FEATURE = re.compile(
    r"halted|answers|answers 1|failed|hypotheses|answer (\d+)|(?:value|hypothesis (\d+))(?:\[(\d+)\])?"
)
_MAX_EQUAL = 3  # values of a feature that are tested for equality
_MAX_WEIGHTED = 64  # numbers of one released value
_RIDGE = 1e-6  # relative to the variance; makes the covariance matrix of numbers with common noise invertible
_MIN_WEIGHT = 0.05  # relative to the largest weight; smaller ones are set to 0


@attrs.frozen
class Score:
    """A simple score: one number per game.

    feature: "halted", "answers" (their number), "answers 1" (how many were 1), "answer 3" (the third, −1 if
        there is none), "failed" (the learner raised), "value" or "value[2]" (of the released value),
        "hypothesis 4" or "hypothesis 4[2]" (of its concept), "hypotheses" (all of them).
    form: "as it is"; the "distance" from `centre`; whether it is "equal" to it; for "hypotheses", the number
        of concepts "at most" `centre`; for the numbers of "value" or "hypothesis 4", their sum "weighted" by
        `weights`.
    sign: 1, or −1 if small values indicate world 1.

    Raises: InvalidArgument.
    """

    feature: str
    form: str = attrs.field(default=AS_IT_IS, validator=one_of(*FORMS))
    centre: float = 0.0
    sign: int = 1
    weights: tuple[float, ...] = ()

    def __attrs_post_init__(self) -> None:
        if not _FEATURE.fullmatch(self.feature) or (self.feature == HYPOTHESES) != (self.form == AT_MOST):
            raise InvalidArgument("feature must be the name of a feature of views", value=self.feature)
        if bool(self.weights) != (self.form == WEIGHTED):
            raise InvalidArgument('weights are given if and only if form is "weighted"', value=self.weights)

    @property
    def part(self) -> tuple[int, int]:
        """The number of the answer or hypothesis, from 1, and the index of the number within it."""
        match = _FEATURE.fullmatch(self.feature)
        assert match is not None
        return int(match[1] or match[2] or 1), int(match[3] or 0)

    def of(self, replies: Sequence[Reply], games: int) -> np.ndarray:
        """The scores (games,) of a batch, from its replies."""
        if self.feature == "failed":
            return np.zeros(games)  # the engine gives infinity to games that the learner failed
        if self.feature == HYPOTHESES:
            low = [concept <= self.centre for concept in collect_values(replies)]
            return self.sign * np.sum([np.zeros(games), *low], axis=0)
        return self.sign * self._apply_form(self._read_feature(replies, games).astype(np.float64))

    def column(self, views: ViewCounts) -> np.ndarray:
        """(m,): the scores of the distinct views of a block; finite, as features are."""
        if self.feature == HYPOTHESES:
            names = tuple(name for name in views.names if name.startswith("hypothesis "))
            columns = views.columns(names)
            centre = float(np.nan_to_num(self.centre, posinf=1e300, neginf=-1e300))
            return self.sign * (columns <= centre).sum(axis=1).astype(float)
        if self.form == WEIGHTED:
            columns = views.columns(tuple(f"{self.feature}[{i}]" for i in range(len(self.weights))))
            return self.sign * (columns @ self.weights)
        column = views.columns((self.feature,))[:, 0]
        return column if self.feature == "failed" else self.sign * self._apply_form(column)

    def _apply_form(self, column: np.ndarray) -> np.ndarray:
        if self.form == DISTANCE:
            return np.abs(column - self.centre)
        return (column == self.centre).astype(float) if self.form == EQUAL else column

    def _read_feature(self, replies: Sequence[Reply], games: int) -> np.ndarray:
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
        values = np.reshape(collect_values(replies)[number - 1], (games, -1))
        return values @ self.weights if self.form == WEIGHTED else values[:, place]


def simple_scores(views: ViewCounts) -> list[Score]:
    """Scores that may distinguish the worlds of these views, the simplest first."""
    names = [name for name in views.names if _FEATURE.fullmatch(name)]
    simplest = [name for name in ("failed", "halted", "answers 1", "answers") if name in names]
    rest = [name for name in names if name not in simplest]
    rest.sort(key=lambda name: name.startswith("answer "))
    scores = [Score(name) for name in [*simplest, *rest]]
    scores += [*_discriminant_scores(views), *_hypothesis_scores(views)]
    for name in names:
        if name.startswith(("value", "hypothesis")):
            scores += _centre_scores(name, views)
    return scores


def _discriminant_scores(views: ViewCounts) -> Iterator[Score]:
    """Fisher's linear discriminant of numbers released at once, in which noise that they share cancels."""
    for value in dict.fromkeys(name.partition("[")[0] for name in views.names if name.endswith("]")):
        names = tuple(name for name in views.names if name.startswith(f"{value}["))
        if len(names) <= _MAX_WEIGHTED:
            weights = _discriminant(np.stack([views.columns(names)[w] for w in views.which.T]), views.counts)
            if np.count_nonzero(weights) > 1:
                yield Score(value, WEIGHTED, weights=tuple(weights.tolist()))


def _discriminant(worlds: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(F,): rounded weights, the largest 1, from worlds (2, k, F), counts (k,); 0 for useless numbers."""
    worlds = worlds * (np.abs(worlds) < _INFINITE).all(axis=(0, 1))
    share = (counts / counts.sum())[:, None]
    means = (worlds * share).sum(axis=1, keepdims=True)
    within = np.concatenate((worlds - means) * np.sqrt(share / 2))
    deviation = np.sqrt((within**2).sum(axis=0))
    scale = np.where(deviation > 0, deviation, 1.0)
    spread = (within / scale).T @ (within / scale) + _RIDGE * np.eye(len(scale))
    weights = np.linalg.solve(spread, (means[1] - means[0])[0] / scale) * (deviation > 0)
    heavy = np.abs(weights) > _MIN_WEIGHT * np.abs(weights).max()
    weights = np.where(heavy, weights / scale, 0.0)
    return np.array([float(f"{weight:.2g}") for weight in weights / max(np.abs(weights).max(), 1e-300)])


def _hypothesis_scores(views: ViewCounts) -> list[Score]:
    """The number of hypotheses with a small concept, if there are several of one number each."""
    names = tuple(n for n in views.names if n.startswith("hypothesis ") and "[" not in n)
    if len(names) < 2:
        return []
    values = np.unique(views.columns(names))
    values = np.where(np.abs(values) > _INFINITE, np.copysign(np.inf, values), values)
    centres = dict.fromkeys((float(values[0]), float(values[(len(values) - 1) // 2])))
    return [Score(HYPOTHESES, AT_MOST, centre) for centre in centres]


def _centre_scores(name: str, views: ViewCounts) -> list[Score]:
    column = views.columns((name,))[:, 0]
    by_world = views.by_world()
    values, place = np.unique(column, return_inverse=True)
    times = np.zeros((len(values), 2), np.int64)
    np.add.at(times, place.ravel(), by_world)
    if len(values) <= 2 or np.abs(values[[0, -1]]).max() > _INFINITE:
        return []
    middle = np.argmax(np.cumsum(times, axis=0) * 2 >= times.sum(axis=0), axis=0)
    centres = [values[i] for i in dict.fromkeys(middle.tolist())]
    common = np.argsort(-times.sum(axis=1), kind="stable")[:_MAX_EQUAL]
    equal = [Score(name, EQUAL, float(values[i])) for i in common if times[i].sum() > 1]
    return [*equal, *(Score(name, DISTANCE, float(centre)) for centre in centres)]
