"""The best of all adversaries with one challenge or one special round, by trying them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from arena import Adversary, AnswerLaw, Hypothesis, Learner, OnlineLaw, SpecialRound, StreamLaw, play
from audits.exact_loss.answer_paths import PresetStates

Measure = dict[Any, float]  # from states of a learner


class _ShownPath:
    """The state of a learner in one game that shows prescribed hypotheses; further ones are the first."""

    def __init__(self, law: OnlineLaw, path: list[int]) -> None:
        self._law = law
        self._path = path
        self._measure: dict[Hashable, float] = {law.start(): 1.0}
        self._round = 0
        self.masses: list[np.ndarray] = []

    def hypothesis(self) -> Hypothesis:
        count = len(self._law.hypotheses.concepts)
        parts: list[defaultdict[Hashable, float]] = [defaultdict(float) for _ in range(count)]
        for state, mass in self._measure.items():
            for number, after, p in self._law.show(state):
                parts[number][after] += mass * p
        self.masses.append(np.array([sum(part.values()) for part in parts]))
        if self._round == len(self._path):
            self._path.append(int(self.masses[-1].argmax()))
        number = self._path[self._round]
        self._round += 1
        self._measure = dict(parts[number])
        return Hypothesis(self._law.hypotheses.concept_class, self._law.hypotheses.concepts[[number]])

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        point = int(np.flatnonzero(self._law.points == x[0])[0])
        measure: defaultdict[Hashable, float] = defaultdict(float)
        for state, mass in self._measure.items():
            for after, p in self._law.observe(state, point, int(y[0])):
                measure[after] += mass * p
        self._measure = dict(measure)


def delta_of_scores(learner: Learner, adversary: Adversary, rounds: int, epsilon: float) -> float:
    """δ(ε) of an adversary's score, from real games along every path of hypotheses."""
    law = learner.online_law()  # type: ignore[attr-defined]
    scores: defaultdict[float, np.ndarray] = defaultdict(lambda: np.zeros(2))
    for world in (0, 1):
        waiting: list[list[int]] = [[]]
        while waiting:
            path = waiting.pop()
            given = len(path)
            state = _ShownPath(law, path)
            played = play(
                PresetStates.of(learner, state),
                adversary,
                SpecialRound(T=rounds),
                games=1,
                seed=0,
                worlds=np.array([world], bool),
            )
            for round in range(given, rounds):
                others = [n for n, mass in enumerate(state.masses[round]) if mass and n != path[round]]
                waiting += [[*path[:round], other] for other in others]
            scores[round_score(played.score[0])][world] += state.masses[-1][path[-1]]
    return float(sum(max(0.0, own - np.exp(epsilon) * other) for own, other in scores.values()))


def round_score(score: float) -> float:
    """Scores that differ by rounding are equal."""
    return float(np.round(score, 9))


def best_online(law: OnlineLaw, rounds: int, epsilon: float) -> float:
    """The value of the best of all adversaries with one special round, by trying them."""
    examples = list(product(range(len(law.points)), (0, 1)))

    def observe(measure: Measure, example: tuple[int, int]) -> Measure:
        after: defaultdict[Any, float] = defaultdict(float)
        for state, mass in measure.items():
            for following, p in law.observe(state, *example):
                after[following] += mass * p
        return after

    def shown(first: Measure, second: Measure, flag: bool, left: int) -> float:
        """The value before a hypothesis is shown, and `left` examples."""
        parts: defaultdict[int, tuple[Measure, Measure]] = defaultdict(
            lambda: (defaultdict(float), defaultdict(float))
        )
        for world, measure in enumerate((first, second)):
            for state, mass in measure.items():
                for number, after, p in law.show(state):
                    parts[number][world][after] += mass * p
        return sum(value(own, other, flag, left) for own, other in parts.values())

    def value(first: Measure, second: Measure, flag: bool, left: int) -> float:
        if not left:
            return max(0.0, sum(first.values()) - float(np.exp(epsilon)) * sum(second.values()))
        pairs = [(one, one, flag) for one in examples]
        if not flag:
            pairs += [(one, other, True) for one in examples for other in examples if one != other]
        return max(
            shown(observe(first, one), observe(second, other), after, left - 1) for one, other, after in pairs
        )

    return shown({law.start(): 1.0}, {law.start(): 1.0}, False, rounds - 1)


def best_with_challenge(law: AnswerLaw, points: np.ndarray, rounds: int, epsilon: float) -> float:
    """The value of the best of all adversaries with one challenge, by trying them."""

    def guess(first: np.ndarray, second: np.ndarray, silent: np.ndarray) -> float:
        own, other = first.sum() + silent[0], second.sum() + silent[1]
        return max(0.0, float(own - np.exp(epsilon) * other))

    def ask(measure: np.ndarray, point: np.ndarray) -> np.ndarray:
        return np.asarray(law.step(measure[None], point[None]))[:, 0]

    halts = np.array([halt for _, halt in law.outcomes])
    none = np.zeros(2)

    def value(first: np.ndarray, second: np.ndarray, silent: np.ndarray, flag: bool, left: int) -> float:
        if not left:
            return guess(first, second, silent)
        values = []
        for point in points:
            total = guess(0 * first, 0 * second, silent)
            for own, other, halt in zip(ask(first, point), ask(second, point), halts, strict=True):
                total += guess(own, other, none) if halt else value(own, other, none, flag, left - 1)
            values.append(total)
        if flag:
            return max(values)
        for one in points:
            for two in points:
                own, other = ask(first, one), ask(second, two)
                hidden = np.array([own[halts].sum(), other[halts].sum()])
                values.append(
                    value(own[~halts].sum(axis=0), other[~halts].sum(axis=0), hidden, True, left - 1)
                )
        return max(values)

    start = np.asarray(law.start())
    return value(start, start, none, False, rounds)


def best_of_stream(law: StreamLaw, rounds: int, epsilon: float, *, blank: bool) -> float:
    """The value of the best of all adversaries whose streams differ in one record, by trying them. blank: one
    of the records that differ is 0."""

    def arrive(measure: np.ndarray, record: np.ndarray) -> np.ndarray:
        return np.asarray(law.step(measure[None], record[None]))[:, 0]

    def value(first: np.ndarray, second: np.ndarray, flag: bool, left: int) -> float:
        if not left:
            return max(0.0, float(first.sum() - np.exp(epsilon) * second.sum()))
        return max(
            sum(
                map(
                    partial(value, flag=flag or one != other, left=left - 1),
                    arrive(first, one),
                    arrive(second, other),
                )
            )
            for one, other in product(law.records, repeat=2)
            if one == other or not (flag or (blank and one and other))
        )

    start = np.asarray(law.start())
    return value(start, start, False, rounds)
