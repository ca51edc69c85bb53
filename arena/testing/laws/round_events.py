"""Events of what a learner shows round by round, for a comparison with the distribution that it declares.

The chances of the outcomes of a round are given what the game has shown before. So an event of earlier
rounds together with an outcome of this one has a declared probability, whatever the event of earlier rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from arena.testing.laws.goodness_of_fit import EventSums
from arena.testing.laws.predictions import Predictions

_MOST_FEATURES = 8  # outcomes, or groups of outcomes, that are compared
_MOST_ROUNDS = 96  # of which all pairs are compared
_MOST_QUERIES = 64  # queries, or groups of queries, that are compared one by one
_DIRECTIONS = 32  # random combinations of earlier rounds


class RoundEvents:
    """Sums over games of events of rounds; games may come in several batches."""

    def __init__(self, outcomes: Sequence[str], rounds: int) -> None:
        """outcomes: the texts of the H outcomes of a round."""
        self._rounds = rounds
        self._features, self._texts = _choose_features(outcomes)
        self._chosen = np.unique(np.round(np.linspace(0, rounds - 1, min(rounds, _MOST_ROUNDS))).astype(int))
        rng = np.random.default_rng(0)
        width = self._features.shape[1]
        directions = rng.choice([-1.0, 1.0], (_DIRECTIONS, rounds, width))
        steady = np.repeat(np.eye(width)[:, None], rounds, axis=1)
        self._directions = np.concatenate([steady, directions])
        self._sums: dict[str, EventSums] = {}

    @property
    def sums(self) -> Iterable[EventSums]:
        """The sums so far."""
        return self._sums.values()

    def update(self, predicted: Sequence[Predictions]) -> None:
        """Add games, which may have other numbers of rounds than T; of more rounds only the first T count."""
        outcomes, chances, queries = (
            np.concatenate([self._pad(getattr(part, field), blank) for part in predicted])
            for field, blank in (("outcomes", -1), ("chances", 0), ("queries", 0))
        )
        live = outcomes >= 0
        happened = np.where(live[:, :, None], self._features[outcomes], 0.0)
        expected = chances @ self._features
        self._add_rounds(happened, expected, live)
        self._add_pairs(happened, expected)
        self._add_queries(happened, expected, live, queries)
        self._add_repeats(happened, expected, live, queries)
        self._add_directions(happened, expected, live)

    def _pad(self, part: np.ndarray, blank: int) -> np.ndarray:
        """(n, T, ...): rounds that were not played are as if the games had halted."""
        missing = max(0, self._rounds - part.shape[1])
        widths = [(0, 0), (0, missing), *[(0, 0)] * (part.ndim - 2)]
        return np.pad(part, widths, constant_values=blank)[:, : self._rounds]

    def _add(
        self,
        key: str,
        sums: Sequence[np.ndarray],
        terms: np.ndarray,
        describe: Callable[[tuple[int, ...]], str],
    ) -> None:
        """sums: what happened, and what was expected."""
        new = EventSums.of(sums[0], sums[1], terms, describe)
        self._sums[key] = self._sums[key].add(new) if key in self._sums else new

    def _add_rounds(self, happened: np.ndarray, expected: np.ndarray, live: np.ndarray) -> None:
        self._add(
            "rounds",
            [part.sum(axis=0) for part in (happened, expected)],
            live.sum(axis=0)[:, None],
            lambda at: f"round {at[0] + 1} with {self._texts[at[1]]}",
        )
        self._add(
            "all",
            [part.sum(axis=(0, 1)) for part in (happened, expected)],
            np.array(live.sum()),
            lambda at: f"a round with {self._texts[at[0]]}",
        )

    def _add_pairs(self, happened: np.ndarray, expected: np.ndarray) -> None:
        """An outcome of an earlier round and one of a later round, in given rounds and at a distance."""
        chosen, width = self._chosen, happened.shape[2]
        if len(chosen) < 2:
            return
        before = happened[:, chosen].reshape(len(happened), -1)
        shape = len(chosen), width, len(chosen), width
        sums = [
            (before.T @ part[:, chosen].reshape(len(part), -1)).reshape(shape).swapaxes(1, 2)
            for part in (happened, expected)
        ]
        first, second = np.triu_indices(len(chosen), 1)
        given = happened.sum(axis=0)
        self._add(
            "pairs",
            [part[first, second] for part in sums],
            given[chosen][first][:, :, None],
            lambda at: (
                f"round {chosen[first[at[0]]] + 1} with {self._texts[at[1]]}, and then "
                f"round {chosen[second[at[0]]] + 1} with {self._texts[at[2]]}"
            ),
        )
        if len(chosen) == self._rounds:
            after = [np.array([np.trace(part, lag) for lag in range(1, self._rounds)]) for part in sums]
            terms = given.cumsum(axis=0)[-2::-1]
        else:
            after, terms = _sum_by_lag(happened, expected)
        self._add(
            "lags",
            after,
            terms[:, :, None],
            lambda at: (
                f"a round with {self._texts[at[1]]}, and {at[0] + 1} later one with {self._texts[at[2]]}"
            ),
        )

    def _add_queries(
        self, happened: np.ndarray, expected: np.ndarray, live: np.ndarray, queries: np.ndarray
    ) -> None:
        """An outcome of each query."""
        number, width = np.abs(queries[live]) % _MOST_QUERIES, happened.shape[2]
        sums = [
            np.stack(
                [np.bincount(number, part[live][:, feature], _MOST_QUERIES) for feature in range(width)],
                axis=1,
            )
            for part in (happened, expected)
        ]
        terms = np.bincount(number, minlength=_MOST_QUERIES)[:, None]
        self._add("queries", sums, terms, lambda at: f"query {at[0]} with {self._texts[at[1]]}")

    def _add_repeats(
        self, happened: np.ndarray, expected: np.ndarray, live: np.ndarray, queries: np.ndarray
    ) -> None:
        """An outcome of a query that was asked before, and the last outcome of it."""
        kinds, numbers = np.unique(queries, return_inverse=True)
        numbers = numbers.reshape(queries.shape)
        games, width = np.arange(len(queries)), happened.shape[2]
        last = np.zeros((len(queries), len(kinds), width), np.float32)
        sums = np.zeros((2, width, width))
        terms = np.zeros((width, 1))
        for t in range(self._rounds):
            on = live[:, t]
            before = last[games, numbers[:, t]].astype(float) * on[:, None]
            sums += before.T @ happened[:, t], before.T @ expected[:, t]
            terms[:, 0] += before.sum(axis=0)
            last[games[on], numbers[on, t]] = happened[on, t]
        self._add(
            "repeats",
            list(sums),
            terms,
            lambda at: f"a query with {self._texts[at[1]]} whose last answer was {self._texts[at[0]]}",
        )

    def _add_directions(self, happened: np.ndarray, expected: np.ndarray, live: np.ndarray) -> None:
        """An outcome where a combination of the surprises of earlier rounds was positive."""
        width = happened.shape[2]
        columns = np.concatenate([happened, expected, live[:, :, None]], axis=2)
        running = np.zeros((len(happened), len(self._directions)))
        totals = np.zeros((2, len(self._directions), 2 * width + 1))
        for t in range(1, self._rounds):
            running += (happened[:, t - 1] - expected[:, t - 1]) @ self._directions[:, t - 1].T
            for sign, past in enumerate((running > 0, running < 0)):
                totals[sign] += past.T.astype(float) @ columns[:, t]
        sums = totals[:, :, :width], totals[:, :, width:-1]
        terms = totals[:, :, -1:]
        self._add(
            "directions",
            sums,
            terms,
            lambda at: (
                f"a round with {self._texts[at[2]]} after {('more', 'fewer')[at[0]]} of some outcomes "
                f"(combination {at[1]}) than expected"
            ),
        )


def _sum_by_lag(happened: np.ndarray, expected: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Sums (lags, f, f) over rounds of an outcome, times what happened or was expected so many rounds later.

    Also how often the first outcome had a round so much later, (lags, f).
    """
    rounds, size = happened.shape[1], 2 * happened.shape[1]
    first = np.fft.rfft(happened, size, axis=1).conj()
    after = [
        np.einsum("ntf,ntg->tfg", first, np.fft.rfft(part, size, axis=1)) for part in (happened, expected)
    ]
    sums = [np.maximum(np.fft.irfft(part, size, axis=0)[1:rounds], 0) for part in after]
    return sums, happened.sum(axis=0).cumsum(axis=0)[-2::-1]


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
