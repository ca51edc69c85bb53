"""Events of what is shown after histories: the last outcomes, all since the beginning, counts, and gaps.

Given what a game has shown before, each outcome has a declared probability. So after any history it must be
as frequent as these probabilities say: docs/proofs/declared_distributions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from arena.testing.laws.goodness_of_fit import EventSums

_MOST_HISTORIES = 4_096  # of one kind that are told apart
_LONGEST = 255  # counts and gaps that are told apart; longer ones are called this
_MOST_ASKED = 7  # times that a query was asked before, which are told apart
_QUERIES = 64  # groups of queries, together with the last outcome

Histories = tuple[str, np.ndarray, int, Callable[[int], str]]


def list_history_events(
    symbols: np.ndarray,
    happened: np.ndarray,
    expected: np.ndarray,
    kinds: Sequence[str],
    texts: Sequence[str],
    queries: np.ndarray | None = None,
    *,
    games: int | None = None,
) -> Iterator[EventSums]:
    """Events of n games of T rounds: an outcome after a history.

    symbols: (n, T), of which kind each outcome is, by its number; -1 after a halt.
    happened, expected: (n, T, f), whether each of some events was so, and its declared probability given the
        rounds before.
    kinds, texts: the texts of the kinds and of these events.
    queries: (n, T), numbers that tell them apart.
    games: how many in each world these are, if fewer than all.
    """
    live = symbols >= 0
    columns = [*np.moveaxis(happened[live].astype(float), 1, 0), *np.moveaxis(expected[live], 1, 0)]
    width = len(texts)
    for way, codes, size, describe in _list_histories(symbols, live, kinds, queries):
        code = codes[live]
        known = code >= 0
        numbers = code[known]
        sums = np.array([np.bincount(numbers, column[known], size) for column in columns])
        yield EventSums.of(
            way,
            sums[:width].T,
            sums[width:].T,
            np.bincount(numbers, minlength=size)[:, None],
            lambda at, describe=describe: f"{texts[at[1]]} {describe(at[0])}",  # type: ignore[misc]
            games=games,
        )


def _list_histories(
    symbols: np.ndarray, live: np.ndarray, texts: Sequence[str], queries: np.ndarray | None
) -> Iterator[Histories]:
    """Kinds of histories: the name of the way; codes (n, T), -1 where there is none; how many; texts."""
    games, rounds = symbols.shape
    kinds = max(2, len(texts))
    if rounds < 2:
        return
    longest = int(np.log(_MOST_HISTORIES) / np.log(kinds))
    shown = np.maximum(symbols, 0)

    def spell(code: int, length: int) -> str:
        digits = [code // kinds**place % kinds for place in reversed(range(length))]
        return ", ".join(texts[digit] for digit in digits)

    length = min(longest, rounds - 1)
    way = f"outcomes after each history of {length}" if length > 1 else "outcomes after each other"
    codes = np.full((games, rounds), -1)
    recent = np.zeros((games, rounds), np.int64)
    for place in range(length):
        recent[:, length:] += shown[:, length - 1 - place : rounds - 1 - place] * kinds**place
    codes[:, length:] = recent[:, length:]
    yield (
        way,
        codes,
        kinds**length,
        lambda code: f"after {spell(code, length)}",
    )
    if length > 3:
        # Shorter histories are more frequent, so that less is noticed of each.
        few = min(3, length)
        yield (
            way,
            np.where(codes >= 0, codes % kinds**few, -1),
            kinds**few,
            lambda code: f"after {spell(code, few)}",
        )
    first, start, begin = np.full((games, rounds), -1), 0, [0]
    total = np.zeros(games, np.int64)
    for t in range(1, length + 1):
        total = total * kinds + shown[:, t - 1]
        first[:, t] = start + total
        start += kinds**t
        begin.append(start)

    def describe_first(code: int) -> str:
        t = int(np.searchsorted(begin, code, side="right"))
        return f"in round {t + 1} after {spell(code - begin[t - 1], t)}"

    yield way, first, start, describe_first
    for kind, text in enumerate(texts):
        is_kind = (symbols == kind) & live
        before = np.cumsum(is_kind, axis=1) - is_kind
        yield (
            "outcomes after counts so far",
            np.minimum(before, _LONGEST),
            _LONGEST + 1,
            lambda code, text=text: f"after {code} rounds with {text} so far",  # type: ignore[misc]
        )
        times = np.where(is_kind, np.arange(1, rounds + 1), 0)
        last = np.maximum.accumulate(times, axis=1)
        last = np.concatenate([np.zeros((games, 1), last.dtype), last[:, :-1]], axis=1)
        gap = np.where(last > 0, np.arange(rounds) - last, -1)
        yield (
            "outcomes by the time since another",
            np.minimum(gap, _LONGEST),
            _LONGEST + 1,
            lambda code, text=text: f"{code} rounds after the last with {text}",  # type: ignore[misc]
        )
    if queries is not None and queries.size:
        yield from _list_query_histories(shown, texts, queries)


def _list_query_histories(
    shown: np.ndarray, texts: Sequence[str], queries: np.ndarray
) -> Iterator[Histories]:
    games, rounds = shown.shape
    kinds = max(2, len(texts))
    group = np.abs(queries) % _QUERIES
    last = np.concatenate([np.zeros((games, 1), np.int64), shown[:, :-1]], axis=1)
    yield (
        "outcomes after one to another query",
        np.where(np.arange(rounds) > 0, group * kinds + last, -1),
        _QUERIES * kinds,
        lambda code: f"to query {code // kinds} after {texts[code % kinds]}",
    )
    # The rounds of a game in the order of queries, and of times for each: so the same query follows itself.
    order = np.argsort(queries, axis=1, kind="stable")
    ordered = np.take_along_axis(queries, order, axis=1)
    begins = np.concatenate([np.ones((games, 1), bool), ordered[:, 1:] != ordered[:, :-1]], axis=1)
    times = np.arange(rounds)
    asked = times - np.maximum.accumulate(np.where(begins, times, 0), axis=1)
    answers = np.take_along_axis(shown, order, axis=1)
    before = np.concatenate([np.zeros((games, 1), np.int64), answers[:, :-1]], axis=1)
    sorted_codes = np.where(asked > 0, (np.minimum(asked, _MOST_ASKED) - 1) * kinds + before, -1)
    codes = np.empty_like(sorted_codes)
    np.put_along_axis(codes, order, sorted_codes, axis=1)
    yield (
        "outcomes after earlier ones to the same query",
        np.where(codes >= 0, codes % kinds, -1),
        kinds,
        lambda code: f"to a query whose last outcome was {texts[code]}",
    )
    yield (
        "outcomes after earlier ones to the same query",
        codes,
        _MOST_ASKED * kinds,
        lambda code: (
            f"to a query asked {code // kinds + 1} times before, the last time with {texts[code % kinds]}"
        ),
    )
