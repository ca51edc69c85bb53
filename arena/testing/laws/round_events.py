"""The chances of what a learner shows next, by the distribution that it declares, and events to compare.

The chances of a round are given what the game has shown before. So an event of earlier rounds together with
an outcome of this one has a declared probability, whatever the event of earlier rounds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arena.errors import NotConforming
from arena.laws import AnswerLaw, OnlineLaw
from arena.sample import hash_rows
from arena.testing.laws.goodness_of_fit import EventSums
from arena.testing.laws.history_events import list_history_events
from arena.testing.laws.uniform_events import ROUNDS, list_set_events

_TOLERANCE = 1e-6  # the error of probabilities and their sum that quadratures may leave

_MOST_FEATURES = 8  # outcomes, or groups of outcomes, that are compared
_MOST_ROUNDS = 96  # of which all pairs are compared
_MOST_QUERIES = 64  # queries, or groups of queries, that are compared one by one
_DIRECTIONS = 32  # random combinations of earlier rounds


@attrs.frozen(eq=False)
class Predictions:
    """What n games showed in T rounds, and the chances of the H outcomes given the rounds before: outcomes
    (n, T), -1 after a halt; chances (n, T, H), 0 after a halt; queries (n, T), numbers that tell queries or
    examples apart. cost: how many probabilities of hidden states were computed."""

    outcomes: np.ndarray
    chances: np.ndarray
    cost: int
    queries: np.ndarray = attrs.field(factory=lambda: np.zeros((0, 0), np.int64))


def predict_answers(
    name: str, law: AnswerLaw, x: np.ndarray, labels: np.ndarray, halted: np.ndarray
) -> Predictions:
    """The chances of the answers to queries x (n, T, ...), whose labels and halts (n, T) are known.

    A learner that halts in all games at once may declare a distribution without halts; then, and at the
    answer that the distribution calls its last, only labels count. Raises: NotConforming if a step is no
    distribution, or what happened is impossible.
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
        _check_possible(name, law.shown, chances[live, t], shown, t, law.describe_outcomes())
        group[:] = -1
        if at_end:
            break
        on, kinds = goes_on[shown], len(goes_on)
        reached, place = _distinct_numbers((pair * kinds + shown)[on], len(pairs) * kinds)
        group[live[on]] = place
        measures = parts[reached % kinds, reached // kinds]
        measures = measures / measures.sum(axis=1, keepdims=True)
    return Predictions(outcomes, chances, cost)


def predict_hypotheses(
    name: str, law: OnlineLaw[Any], examples: np.ndarray, shown: np.ndarray
) -> Predictions:
    """The chances of the hypotheses shown, by their numbers (n, T), before the examples (n, T), each the
    place of the point times 2 plus the label. Raises: NotConforming as `predict_answers`."""
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
        texts = [f"hypothesis {number}" for number in range(chances.shape[2])]
        _check_possible(name, law.shown, chances[:, t], shown[:, t], t, texts)
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
    parts = np.asarray(law.step(measures, x))
    if parts.shape[:2] != (len(law.outcomes), len(measures)):
        raise NotConforming(
            name,
            "a step of its output distribution has a part for every outcome and measure",
            f"shape {parts.shape} for {len(law.outcomes)} outcomes and {len(measures)} measures",
        )
    _check_masses(name, parts.sum(axis=(0, 2)) / measures.sum(axis=1), parts.min(axis=(0, 2), initial=0.0))
    return parts


def _check_possible(
    name: str, shown: str, chances: np.ndarray, outcomes: np.ndarray, t: int, texts: Sequence[str]
) -> None:
    """Raises: NotConforming at one outcome (n,) whose chance (n, k) is 0, also if the game ends with it."""
    impossible = ~(chances[np.arange(len(outcomes)), outcomes] > 0)
    if impossible.any():
        text = texts[outcomes[int(np.argmax(impossible))]]
        raise NotConforming(
            name,
            f"its {shown} are possible by the distribution that it declares",
            f"{text} in round {t + 1} has the declared probability 0 after the rounds before, and is shown "
            f"in {int(impossible.sum()):,} of {len(outcomes):,} games",
        )


def _check_distribution(name: str, masses: np.ndarray) -> None:
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
    first = _match(law, np.array([label for label, _ in law.outcomes]), None)
    sums = np.zeros_like(masses)
    np.add.at(sums.T, first, masses.T)
    return sums


class RoundEvents:
    """Sums over games, in several batches, of events of rounds. outcomes: the texts of one round's."""

    def __init__(self, outcomes: Sequence[str], rounds: int) -> None:
        self._rounds = rounds
        self._features, self._texts = _choose_features(outcomes)
        self._groups = np.arange(len(outcomes))
        if len(outcomes) > _MOST_FEATURES:
            self._groups = self._groups * _MOST_FEATURES // len(outcomes)
        self._kinds = self._texts[: min(len(outcomes), _MOST_FEATURES)]
        self._chosen = np.unique(np.round(np.linspace(0, rounds - 1, min(rounds, _MOST_ROUNDS))).astype(int))
        rng = np.random.default_rng(0)
        width = self._features.shape[1]
        directions = rng.choice([-1.0, 1.0], (_DIRECTIONS, rounds, width))
        steady = np.repeat(np.eye(width)[:, None], rounds, axis=1)
        self._directions = np.concatenate([steady, directions])
        self._sums: dict[str, EventSums] = {}
        self._rng = np.random.default_rng(2)  # of where in the interval of an outcome a number lies
        self._columns: list[np.ndarray] = []

    def list_sums(self) -> Iterator[EventSums]:
        """The events of all games so far."""
        yield from self._sums.values()
        yield from list_set_events(np.concatenate(self._columns), np.random.default_rng(3), ROUNDS)

    def update(self, predicted: Sequence[Predictions]) -> None:
        """Add games, which may have other numbers of rounds than T; of more rounds only the first T count."""
        outcomes, chances, queries = (
            np.concatenate([self._pad(getattr(part, field), blank) for part in predicted])
            for field, blank in (("outcomes", -1), ("chances", 0), ("queries", 0))
        )
        live = outcomes >= 0
        happened = np.where(live[:, :, None], self._features[outcomes], 0.0)
        both = np.stack([happened, chances @ self._features])  # what happened, and what was expected
        self._add_rounds(both, live)
        self._add_pairs(both)
        self._add_queries(both, live, queries)
        self._add_directions(both, live)
        self._columns.append(self._spread_uniformly(outcomes, chances))
        self._add_histories(outcomes, both, queries)

    def _spread_uniformly(self, outcomes: np.ndarray, chances: np.ndarray) -> np.ndarray:
        """(n, T): numbers that are independent and uniform if the chances are right: one within the interval
        of the probability of what was shown, and after a halt any."""
        numbers = self._rng.random(outcomes.shape)
        live = outcomes >= 0
        place = np.maximum(outcomes, 0)[:, :, None]
        above = np.take_along_axis(chances.cumsum(axis=2), place, axis=2)[:, :, 0]
        own = np.take_along_axis(chances, place, axis=2)[:, :, 0]
        return np.where(live, np.clip(above - numbers * own, 0, 1), numbers)

    def _add_histories(self, outcomes: np.ndarray, both: np.ndarray, queries: np.ndarray) -> None:
        symbols = np.where(outcomes >= 0, self._groups[outcomes], -1)
        for number, sums in enumerate(
            list_history_events(symbols, both[0], both[1], self._kinds, self._texts, queries)
        ):
            self._store(f"history {number}", sums)

    def _pad(self, part: np.ndarray, blank: int) -> np.ndarray:
        """(n, T, ...): rounds that were not played are as if the games had halted."""
        missing = max(0, self._rounds - part.shape[1])
        widths = [(0, 0), (0, missing), *[(0, 0)] * (part.ndim - 2)]
        return np.pad(part, widths, constant_values=blank)[:, : self._rounds]

    def _add(
        self,
        key: str,
        way: str,
        sums: np.ndarray,
        terms: np.ndarray,
        describe: Callable[[tuple[int, ...]], str],
    ) -> None:
        """sums (2, ...): what happened, and what was expected."""
        self._store(key, EventSums.of(way, sums[0], sums[1], terms, describe))

    def _store(self, key: str, new: EventSums) -> None:
        self._sums[key] = self._sums[key].add(new) if key in self._sums else new

    def _add_rounds(self, both: np.ndarray, live: np.ndarray) -> None:
        self._add(
            "rounds",
            "single outcomes",
            both.sum(axis=1),
            live.sum(axis=0)[:, None],
            lambda at: f"round {at[0] + 1} with {self._texts[at[1]]}",
        )
        self._add(
            "all",
            "single outcomes",
            both.sum(axis=(1, 2)),
            np.array(live.sum()),
            lambda at: f"a round with {self._texts[at[0]]}",
        )

    def _add_pairs(self, both: np.ndarray) -> None:
        """An outcome of an earlier round and one of a later round, in given rounds and at a distance."""
        chosen, (_, games, _, width) = self._chosen, both.shape
        if len(chosen) < 2:
            return
        columns = both[:, :, chosen].reshape(2, games, -1)
        shape = 2, len(chosen), width, len(chosen), width
        sums = (columns[0].T @ columns).reshape(shape).swapaxes(2, 3)
        first, second = np.triu_indices(len(chosen), 1)
        given = both[0].sum(axis=0)
        self._add(
            "pairs",
            "pairs of outcomes",
            sums[:, first, second],
            given[chosen][first][:, :, None],
            lambda at: (
                f"round {chosen[first[at[0]]] + 1} with {self._texts[at[1]]}, and then "
                f"round {chosen[second[at[0]]] + 1} with {self._texts[at[2]]}"
            ),
        )
        if len(chosen) == self._rounds:
            lags = range(1, self._rounds)
            after = np.stack([np.trace(sums, lag, axis1=1, axis2=2) for lag in lags], axis=1)
        else:
            after = _sum_by_lag(both)
        self._add(
            "lags",
            "pairs of outcomes",
            after,
            given.cumsum(axis=0)[-2::-1][:, :, None],
            lambda at: (
                f"a round with {self._texts[at[1]]}, and {at[0] + 1} later one with {self._texts[at[2]]}"
            ),
        )

    def _add_queries(self, both: np.ndarray, live: np.ndarray, queries: np.ndarray) -> None:
        number = np.abs(queries[live]) % _MOST_QUERIES
        sums = [[np.bincount(number, column, _MOST_QUERIES) for column in part[live].T] for part in both]
        terms = np.bincount(number, minlength=_MOST_QUERIES)[:, None]
        totals = np.array(sums).swapaxes(1, 2)
        self._add(
            "queries", "single outcomes", totals, terms, lambda at: f"query {at[0]} with {self._texts[at[1]]}"
        )

    def _add_directions(self, both: np.ndarray, live: np.ndarray) -> None:
        """An outcome where a combination of the surprises of earlier rounds was positive."""
        width = both.shape[3]
        columns = np.concatenate([*both, live[:, :, None]], axis=2)
        running = np.zeros((len(live), len(self._directions)))
        totals = np.zeros((2, len(self._directions), 2 * width + 1))
        for t in range(1, self._rounds):
            running += (both[0, :, t - 1] - both[1, :, t - 1]) @ self._directions[:, t - 1].T
            for sign, past in enumerate((running > 0, running < 0)):
                totals[sign] += past.T.astype(float) @ columns[:, t]
        self._add(
            "directions",
            "outcomes after more or fewer of others",
            np.stack([totals[:, :, :width], totals[:, :, width:-1]]),
            totals[:, :, -1:],
            lambda at: (
                f"a round with {self._texts[at[2]]} after {('more', 'fewer')[at[0]]} of some outcomes "
                f"(combination {at[1]}) than expected"
            ),
        )


def _sum_by_lag(both: np.ndarray) -> np.ndarray:
    """(2, lags, f, f): sums over rounds of an outcome, times what happened or was expected so much later."""
    rounds, size = both.shape[2], 2 * both.shape[2]
    first = np.fft.rfft(both[0], size, axis=1).conj()
    after = [np.einsum("ntf,ntg->tfg", first, np.fft.rfft(part, size, axis=1)) for part in both]
    return np.array([np.maximum(np.fft.irfft(part, size, axis=0)[1:rounds], 0) for part in after])


def _choose_features(outcomes: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    """(H, f): each outcome by itself, or groups of them if they are many; the text of each."""
    kinds = len(outcomes)
    if kinds <= _MOST_FEATURES:
        return np.eye(kinds), list(outcomes)
    numbers = np.arange(kinds)
    groups = numbers * _MOST_FEATURES // kinds, numbers % _MOST_FEATURES
    features = np.concatenate([np.eye(_MOST_FEATURES)[group] for group in groups], axis=1)
    texts = [
        f"one of {len(members)} outcomes such as {outcomes[members[0]]}"
        for group in groups
        for members in (np.flatnonzero(group == number) for number in range(_MOST_FEATURES))
    ]
    return features, texts
