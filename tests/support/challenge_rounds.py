"""A search of all adversaries with a challenge round."""

from __future__ import annotations

import numpy as np

from arena import AnswerLaw


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
