"""The chances of what a learner shows next, given what it has shown, by the distribution that it declares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

import attrs
import numpy as np

from arena.errors import NotConforming
from arena.laws import AnswerLaw, OnlineLaw
from arena.points import hash_rows

_TOLERANCE = 1e-6  # the error of probabilities and their sum that quadratures may leave


@attrs.frozen(eq=False)
class Predictions:
    """What n games showed in T rounds, and the chances of the H outcomes given the rounds before.

    outcomes: (n, T), -1 after a halt. chances: (n, T, H), 0 after a halt. cost: how many probabilities of
    hidden states were computed for them. queries: (n, T), whole numbers that tell the queries or the examples
    of the rounds apart.
    """

    outcomes: np.ndarray
    chances: np.ndarray
    cost: int
    queries: np.ndarray = attrs.field(factory=lambda: np.zeros((0, 0), np.int64))


def describe_outcomes(law: AnswerLaw) -> list[str]:
    """The outcomes of an answer as text."""
    return [f"answer {label}{', halting' if halts else ''}" for label, halts in law.outcomes]


def predict_answers(
    name: str, law: AnswerLaw, x: np.ndarray, labels: np.ndarray, halted: np.ndarray
) -> Predictions:
    """The chances of the answers to queries x (n, T, ...), whose labels and halts (n, T) are known.

    A learner that halts in all games at once may declare a distribution without halts; then its labels count
    until it does. With the answer that the distribution calls its last, every game halts, and only labels
    count.

    Raises: NotConforming if a step is no distribution, or what happened is impossible.
    """
    games, rounds = labels.shape
    goes_on = np.array([not halts for _, halts in law.outcomes])
    measures = np.asarray(law.start(), float)[None]
    _check_distribution(name, measures)
    group, cost = np.zeros(games, np.intp), 0  # the place of each game among the measures, -1 after a halt
    outcomes = np.full((games, rounds), -1)
    chances = np.zeros((games, rounds, len(goes_on)))
    for t in range(rounds):
        (live,) = np.nonzero(group >= 0)
        if not len(live):
            break
        points, point = _distinct_points(x[live, t])
        pairs, pair = _distinct_numbers(group[live] * len(points) + point, len(measures) * len(points))
        before, asked = measures[pairs // len(points)], points[pairs % len(points)]
        parts = _step(name, law, before, asked)
        cost += parts.size
        masses = parts.sum(axis=2).T / before.sum(axis=1)[:, None]
        at_end = t + 1 == law.last or bool(goes_on.all() and halted[live, t].all())
        if t + 1 == law.last and not halted[live, t].all():
            raise NotConforming(
                name, f"every game halts with answer {law.last}, which it declares as the last"
            )
        if at_end:
            masses = _add_by_label(law, masses)
        shown = _match(law, labels[live, t], None if at_end else halted[live, t])
        if (shown < 0).any():
            game = live[int(np.argmin(shown))]
            raise NotConforming(
                name,
                "its answers are outcomes of the distribution that it declares",
                f"label {labels[game, t]}{' with a halt' * bool(halted[game, t])} in round {t + 1}",
            )
        outcomes[live, t] = shown
        chances[live, t] = masses[pair]
        group[:] = -1
        if at_end:
            break
        on, kinds = goes_on[shown], len(goes_on)
        reached, place = _distinct_numbers((pair * kinds + shown)[on], len(pairs) * kinds)
        group[live[on]] = place
        measures = parts[reached % kinds, reached // kinds]
        mass = measures.sum(axis=1, keepdims=True)
        if not (mass > 0).all():
            raise NotConforming(
                name, "its answers are possible by the distribution that it declares", f"round {t + 1}"
            )
        measures = measures / mass
    return Predictions(outcomes, chances, cost)


def predict_hypotheses(
    name: str, law: OnlineLaw[Any], examples: np.ndarray, shown: np.ndarray
) -> Predictions:
    """The chances of the hypotheses shown, by their numbers (n, T), before the examples (n, T).

    examples: place of the point times 2, plus the label.

    Raises: NotConforming if probabilities do not sum to 1, or what happened is impossible.
    """
    games, rounds = shown.shape
    chances = np.zeros((games, rounds, len(law.hypotheses.concepts)))
    beliefs: list[dict[Hashable, float]] = [{law.start(): 1.0}]
    group, cost = np.zeros(games, np.intp), 0
    for t in range(rounds):
        rows, after = np.zeros((len(beliefs), chances.shape[2])), []
        for row, belief in zip(rows, beliefs, strict=True):
            following: list[dict[Hashable, float]] = [defaultdict(float) for _ in row]
            for state, weight in belief.items():
                for number, later, p in law.show(state):
                    row[number] += weight * p
                    following[number][later] += weight * p
                    cost += 1
            after.append(following)
        _check_distribution(name, rows)
        chances[:, t] = rows[group]
        if (chances[np.arange(games), t, shown[:, t]] <= 0).any():
            raise NotConforming(
                name, "its hypotheses are possible by the distribution that it declares", f"round {t + 1}"
            )
        if t + 1 == rounds:
            break
        numbers: dict[frozenset[tuple[Hashable, float]], int] = {}
        new: list[dict[Hashable, float]] = []
        kinds = rows.shape[1] * 2 * len(law.points)
        keys, which = _distinct_numbers(
            group * kinds + shown[:, t] * 2 * len(law.points) + examples[:, t], len(beliefs) * kinds
        )
        places = []
        for key in keys.tolist():
            place, rest = divmod(key, kinds)
            number, example = divmod(rest, 2 * len(law.points))
            belief = _observe(name, law, after[place][number], *divmod(example, 2))
            cost += len(belief)
            content = frozenset((state, round(weight, 12)) for state, weight in belief.items())
            if content not in numbers:
                numbers[content] = len(new)
                new.append(belief)
            places.append(numbers[content])
        beliefs, group = new, np.array(places)[which]
    return Predictions(shown, chances, cost)


def _distinct_points(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of points (n, ...), and the place of each (n,)."""
    if (x == x[:1]).all():
        return x[:1], np.zeros(len(x), np.intp)
    hashes = hash_rows(np.asarray(x, float).reshape(len(x), -1) + 0.0)
    _, first, place = np.unique(hashes, return_index=True, return_inverse=True)
    return x[first], place.ravel()


def _distinct_numbers(numbers: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones of whole numbers (n,) from 0 to most - 1, in order, and the place of each (n,)."""
    if most > 16 * len(numbers) + 1_024:
        distinct, place = np.unique(numbers, return_inverse=True)
        return distinct, place.ravel()
    distinct = np.flatnonzero(np.bincount(numbers, minlength=most))
    places = np.zeros(most, np.intp)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[numbers]


def _observe(
    name: str, law: OnlineLaw[Any], belief: dict[Hashable, float], point: int, label: int
) -> dict[Hashable, float]:
    """The chances of the states after an example, of those with these weights before it."""
    after: dict[Hashable, float] = defaultdict(float)
    total = sum(belief.values())
    for state, weight in belief.items():
        alternatives = list(law.observe(state, point, label))
        _check_distribution(name, np.array([[p for _, p in alternatives]]))
        for later, p in alternatives:
            if weight * p:
                after[later] += weight / total * p
    return after


def _step(name: str, law: AnswerLaw, measures: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(k, n, m): a step of the hidden Markov chain, checked."""
    parts = np.asarray(law.step(measures, x))
    if parts.shape[:2] != (len(law.outcomes), len(measures)):
        raise NotConforming(
            name,
            "a step of its output distribution has a part for every outcome and measure",
            f"shape {parts.shape} for {len(law.outcomes)} outcomes and {len(measures)} measures",
        )
    _check_masses(name, parts.sum(axis=(0, 2)) / measures.sum(axis=1), parts.min(axis=(0, 2), initial=0.0))
    return parts


def _check_distribution(name: str, masses: np.ndarray) -> None:
    """Check that each row (n, k) holds probabilities."""
    _check_masses(name, masses.sum(axis=1), masses.min(axis=1, initial=1.0))


def _check_masses(name: str, sums: np.ndarray, least: np.ndarray) -> None:
    wrong = ~((least >= -_TOLERANCE) & (np.abs(sums - 1.0) <= _TOLERANCE))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise NotConforming(
            name,
            "the probabilities that it declares are at least 0 and have sum 1",
            f"the sum is {sums[row]:.6g}, the least is {least[row]:.6g}",
        )


def _match(law: AnswerLaw, labels: np.ndarray, halted: np.ndarray | None) -> np.ndarray:
    """(n,): the index of the first outcome with each label, and each halt unless None; -1 without one."""
    outcome = np.full(len(labels), -1)
    for index, (label, halts) in reversed(list(enumerate(law.outcomes))):
        outcome[(labels == label) & (True if halted is None else halted == halts)] = index
    return outcome


def _add_by_label(law: AnswerLaw, masses: np.ndarray) -> np.ndarray:
    """(n, k): probabilities (n, k) of the outcomes, those with one label added up at the first of them."""
    first = _match(law, np.array([label for label, _ in law.outcomes]), None)
    sums = np.zeros_like(masses)
    np.add.at(sums.T, first, masses.T)
    return sums
