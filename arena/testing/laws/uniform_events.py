"""Events of numbers that are independent and uniform in [0, 1] if a declared distribution is right.

Released values and what is shown in rounds become such numbers (Rosenblatt 1952). Events of these find a
wrong margin, dependence of two, of several and of many numbers, tails, and noise that is shared, missing or
too small: docs/proofs/declared_distributions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import comb

import attrs
import numpy as np
from scipy import sparse
from scipy.special import chdtr, ndtr, ndtri

from arena.testing.laws.goodness_of_fit import EventSums
from arena.testing.laws.history_events import list_history_events

_MOST_COLUMNS = 64  # of which all pairs, triples and quadruples are compared
_WALSH = 16  # binary digits of all coordinates together, of which all parities are compared
_FEW_COLUMNS = 12  # of which all triples are compared by more than their halves
RANDOM = 32  # random projections, combinations of columns or coordinates, and sets of values
_RANDOM_SETS = 1_024  # of five coordinates or more, if not all are compared
_MOST_WORDS = 2**25  # of 64 games, that are read for the parities of all sets of one size
_MOST_IN_HISTORIES = 1_000_000  # numbers whose histories are compared
_SIDES = ("below its median", "above its median")
_MOST_WAVES = 60_000  # games in which sums of three angles are compared, which is slow
_CELLS = 32  # of equal width, between which numbers are counted
_NARROW = 1_024  # cells of equal width in which numbers are counted, where one value is too frequent
_MOST_NARROW = 2**16  # of them in all columns
_TAILS = np.array([1e-4, 1e-3, 1e-2])
_LEVELS = np.concatenate([np.arange(1, _CELLS) / _CELLS, _TAILS, 1 - _TAILS])
_FAR_TAILS = np.array([1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10])
_JOINT_TAILS = np.array([1e-3, 1e-2])
_ROUNDING = 1e-12  # the error of a uniform number, beside that of the sum of the probabilities
_CLOSE = 2.5e-7  # the distance of uniform numbers that are called equal
_MOST_SEARCHED = 512  # columns among which dependences of any number are searched
_MOST_FOUND = 64  # parities that are found in some games and compared in others
_SPARE = 24  # games more than columns; a parity of independent bits holds in all with probability 2**-24
_BLOCKS = 6  # of games, in each of which a parity is searched
_DIRECTIONS = 3  # with the largest, and with the least variance


@attrs.frozen
class Unit:
    """What the columns are: "coordinate" or "round"; and a text of some of them by their numbers."""

    name: str
    describe: Callable[[Sequence[int]], str]


def _describe_parts(numbers: Sequence[int]) -> str:
    *first, last = numbers
    return (
        f"parts {', '.join(map(str, first))} and {last} of the value"
        if first
        else f"part {last} of the value"
    )


def _describe_rounds(numbers: Sequence[int]) -> str:
    *first, last = (number + 1 for number in numbers)
    return f"rounds {', '.join(map(str, first))} and {last}" if first else f"round {last}"


COORDINATES = Unit("coordinates", _describe_parts)
ROUNDS = Unit("rounds", _describe_rounds)


def list_uniform_events(
    columns: np.ndarray, rng: np.random.Generator, *, slack: float = 0.0
) -> Iterator[EventSums]:
    """Events of rows (n, k) of independent uniform numbers: of each, of pairs, of several and of all.

    slack: by how much the sum of the declared probabilities differs from 1.
    """
    k = columns.shape[1]
    of_part = (lambda part: COORDINATES.describe([part])) if k > 1 else (lambda part: "the value")
    way = "the quantiles of each coordinate" if k > 1 else "the quantiles of the value"
    yield _count_levels(columns, of_part, way)
    yield _count_cells(columns, of_part, way)
    yield _count_far_tails(columns, of_part, slack + _ROUNDING)
    if k > 1:
        yield _count_equal(columns)
        yield from list_joint_events(columns, rng)


def list_joint_events(columns: np.ndarray, rng: np.random.Generator) -> Iterator[EventSums]:
    """Events of rows (n, k) of independent uniform numbers that tell of more than one of them."""
    n, k = columns.shape
    chosen = choose_columns(k)
    yield from _list_pairs(columns[:, chosen], chosen)
    yield _count_joint_tails(columns[:, chosen], chosen)
    yield from list_set_events(columns, rng, COORDINATES)
    if k > 2:
        if 2 * k > _WALSH:
            yield from _list_waves(columns[:, chosen], chosen, rng)
            far = np.abs(columns - 0.5) > 0.25
            yield from _list_parities(far, chosen, "in their outer halves", COORDINATES, rng)
        games = min(n, max(1, _MOST_IN_HISTORIES // k))
        large = columns[:games] > 0.5
        half = np.full((games, k, 1), 0.5)
        yield from list_history_events(
            large.astype(np.int64),
            large[:, :, None],
            half,
            _SIDES,
            ["a number above its median"],
            games=games,
        )
    yield from _list_sums(columns, rng)


def list_set_events(columns: np.ndarray, rng: np.random.Generator, unit: Unit) -> Iterator[EventSums]:
    """Events of sets of three or more of independent uniform numbers (n, k), by where the half or the quarter
    of each number is."""
    n, k = columns.shape
    if k < 3 or not n:
        return
    large = columns > 0.5
    if 2 * k <= _WALSH:
        yield from _list_all_sets(columns, unit)
    else:
        yield from _list_parities(large, choose_columns(k), "above their medians", unit, rng)
    yield from _find_parities(large, np.abs(columns - 0.5) > 0.25, unit)


def choose_columns(k: int) -> np.ndarray:
    """Some columns of k, the first and the last among them."""
    return np.unique(np.round(np.linspace(0, k - 1, min(k, _MOST_COLUMNS))).astype(int))


# --- each number --------------------------------------------------------------------------------------------


def _count_levels(
    columns: np.ndarray, describe: Callable[[int], str], way: str, games: int | None = None
) -> EventSums:
    width = columns.shape[1]
    cells = np.minimum((columns * _CELLS).astype(np.intp), _CELLS - 1) + _CELLS * np.arange(width)
    below = np.bincount(cells.ravel(), minlength=_CELLS * width).reshape(width, _CELLS).cumsum(axis=1)[:, :-1]
    tails = [(columns <= level).sum(axis=0) for level in _LEVELS[_CELLS - 1 :]]
    return EventSums.of(
        way,
        np.column_stack([below, *tails]),
        len(columns) * _LEVELS,
        len(columns),
        lambda at: f"{describe(at[0])} at most at its declared {_LEVELS[at[1]]:.4g}-quantile",
        games=games,
    )


def _count_cells(columns: np.ndarray, describe: Callable[[int], str], way: str) -> EventSums:
    n, width = columns.shape
    cells = max(2, min(_NARROW, _MOST_NARROW // width))
    places = np.minimum((columns * cells).astype(np.intp), cells - 1) + cells * np.arange(width)
    return EventSums.of(
        way,
        np.bincount(places.ravel(), minlength=cells * width).reshape(width, cells),
        n / cells,
        n,
        lambda at: (
            f"{describe(at[0])} between its declared quantiles {at[1]}/{cells} and {at[1] + 1}/{cells}"
        ),
    )


def _count_far_tails(columns: np.ndarray, describe: Callable[[int], str], slack: float) -> EventSums:
    """Numbers that are nearly 0 or 1. A quadrature moves them by as much as its sum is off, so that their
    declared probabilities are at most the level and that much."""
    outer = (columns <= _FAR_TAILS[0]) | (columns >= 1 - _FAR_TAILS[0])
    games, places = np.nonzero(outer)
    numbers = columns[games, places]
    counts = np.zeros((2, len(_FAR_TAILS), columns.shape[1]))
    for side, distance in enumerate((numbers, 1 - numbers)):
        for row, level in enumerate(_FAR_TAILS):
            counts[side, row] = np.bincount(places[distance <= level], minlength=columns.shape[1])
    return EventSums.of(
        f"tails down to {_FAR_TAILS[-1]:g}",
        counts,
        len(columns) * (_FAR_TAILS[:, None] + slack),
        len(columns),
        lambda at: (
            f"{describe(at[2])} among the declared {_FAR_TAILS[at[1]]:g} of probability with the "
            f"{('least', 'largest')[at[0]]} values"
        ),
        at_most=True,
    )


# --- pairs --------------------------------------------------------------------------------------------------


def _count_equal(columns: np.ndarray) -> EventSums:
    """Pairs of numbers that are equal or opposite, and next to each other among the distances from 0 or 1."""
    n, k = columns.shape
    chosen = choose_columns(k)
    folded = np.minimum(columns[:, chosen], 1 - columns[:, chosen])
    order = np.argsort(folded, axis=1)
    rows, places = np.nonzero(np.diff(np.take_along_axis(folded, order, axis=1), axis=1) < _CLOSE)
    first, second = order[rows, places], order[rows, places + 1]
    size = len(chosen)
    counts = np.bincount(np.minimum(first, second) * size + np.maximum(first, second), minlength=size**2)
    upper = np.triu_indices(size, 1)
    return EventSums.of(
        "equal values",
        counts.reshape(size, size)[upper],
        n * 4 * _CLOSE,
        n,
        lambda at: (
            f"{COORDINATES.describe([chosen[upper[0][at[0]]], chosen[upper[1][at[0]]]])} at the same "
            "quantile, or at opposite ones,"
        ),
        at_most=True,
    )


def _list_pairs(columns: np.ndarray, numbers: np.ndarray) -> Iterator[EventSums]:
    """Means of cos and sin of aθ ± bθ', for θ = 2π times a number, a and b in {1, 2}: 0 for all pairs. With
    all integers these functions determine the joint distribution of two numbers (Weyl)."""
    n, k = columns.shape
    way = "pairs of coordinates"
    angles = 2 * np.pi * np.concatenate([columns, 2 * columns], axis=1)
    cos, sin = np.cos(angles), np.sin(angles)
    cc, ss, sc = cos.T @ cos, sin.T @ sin, sin.T @ cos
    pairs = np.array([(i, j) for i, j in combinations(range(2 * k), 2) if i % k != j % k])
    first, second = pairs.T
    even, odd = (cc[first, second], ss[first, second]), (sc[first, second], sc[second, first])
    sums = np.array([even[0] - even[1], even[0] + even[1], odd[0] + odd[1], odd[0] - odd[1]])
    yield EventSums.of(
        way,
        (n + sums) / 2,
        n / 2,
        n,
        lambda at: f"an event of {COORDINATES.describe(numbers[pairs[at[1]] % k])} together",
    )
    signs = np.where(columns > 0.5, 1.0, -1.0)
    agree = (n + signs.T @ signs) / 2
    upper = np.triu_indices(k, 1)
    yield EventSums.of(
        way,
        agree[upper],
        n / 2,
        n,
        lambda at: (
            f"{COORDINATES.describe([numbers[upper[0][at[0]]], numbers[upper[1][at[0]]]])} on one side of "
            "their medians"
        ),
    )
    if k == numbers[-1] + 1:
        lags = np.arange(1, k)
        yield EventSums.of(
            way,
            [np.trace(agree, lag) for lag in lags],
            n * (k - lags) / 2,
            n * (k - lags),
            lambda at: f"two coordinates at the distance {at[0] + 1} on one side of their medians",
        )


def _count_joint_tails(columns: np.ndarray, numbers: np.ndarray) -> EventSums:
    n, k = columns.shape
    levels = np.concatenate([_JOINT_TAILS, _JOINT_TAILS])
    parts = [columns <= level for level in _JOINT_TAILS] + [columns >= 1 - level for level in _JOINT_TAILS]
    inside = sparse.csr_matrix(np.concatenate(parts, axis=1).astype(np.float64))
    counts = (inside.T @ inside).toarray()
    place = np.tile(np.arange(k), len(levels))
    chance = np.repeat(levels, k)
    first, second = np.nonzero(place[:, None] < place)
    return EventSums.of(
        "pairs of coordinates",
        counts[first, second],
        n * chance[first] * chance[second],
        n,
        lambda at: (
            f"{COORDINATES.describe([numbers[place[first[at[0]]]], numbers[place[second[at[0]]]]])} both in "
            f"their outer {chance[first[at[0]]]:g} and {chance[second[at[0]]]:g} of probability"
        ),
    )


# --- sets of several ----------------------------------------------------------------------------------------


def _list_all_sets(columns: np.ndarray, unit: Unit) -> Iterator[EventSums]:
    """Products of binary digits, and of cos and sin, of each number's quarter, for all sets of numbers."""
    n, k = columns.shape
    quarters = np.minimum((columns * 4).astype(np.intp), 3)
    table = np.bincount(quarters @ 4 ** np.arange(k), minlength=4**k).astype(float)
    way = f"all sets of {unit.name}"
    moments = transform_walsh(table)
    yield EventSums.of(
        way,
        (n + moments[1:]) / 2,
        n / 2,
        n,
        lambda at: f"an even number of digits of {unit.describe(_list_quarters(at[0] + 1, k))}",
    )
    waves = np.fft.rfftn(table.reshape((4,) * k)).reshape(-1)[1:]
    shape = (*[4] * (k - 1), 3)

    def describe(at: tuple[int, ...]) -> str:
        frequencies = np.array(np.unravel_index(at[1] + 1, shape))[::-1]
        return f"an event of {unit.describe(np.flatnonzero(frequencies).tolist())} together"

    yield EventSums.of(way, (n + np.stack([waves.real, waves.imag])) / 2, n / 2, n, describe)


def _list_quarters(code: int, k: int) -> list[int]:
    return [place for place in range(k) if (code >> (2 * place)) & 3]


def transform_walsh(table: np.ndarray) -> np.ndarray:
    """The Walsh-Hadamard transform of (2**k,): at each set of digits, the sum with the signs of parities."""
    values, width = table.copy(), 1
    while width < len(values):
        pairs = values.reshape(-1, 2, width)
        values = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        width *= 2
    return values


def _list_waves(columns: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> Iterator[EventSums]:
    """Means of cos and sin of sums of three angles with factors ±1, and of random combinations of more."""
    columns = columns[:_MOST_WAVES]
    n, k = columns.shape
    triples = np.array(list(combinations(range(k), 3)))
    if k > _FEW_COLUMNS:
        triples = np.array([np.sort(rng.choice(k, 3, replace=False)) for _ in range(4 * RANDOM)])
    factors = rng.integers(-1, 2, (RANDOM, k))
    sums, single = np.zeros((4, len(triples)), complex), np.zeros(len(factors), complex)
    for piece in np.array_split(columns, -(-n * max(len(triples), k * k) // 2**22)):
        turns = np.exp(2j * np.pi * piece)
        first, second, third = (turns[:, place] for place in triples.T)
        for row, (b, c) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            one, other = (part if sign > 0 else part.conj() for part, sign in ((second, b), (third, c)))
            sums[row] += (first * one * other).sum(axis=0)
        single += np.exp(2j * np.pi * (piece @ factors.T)).sum(axis=0)
    for total, groups in (
        (sums, triples.tolist()),
        (single, [np.flatnonzero(row).tolist() for row in factors]),
    ):
        used = np.array([len(group) > 0 for group in groups])
        yield EventSums.of(
            "some sets of coordinates",
            (n + np.stack([total.real, total.imag])[..., used]) / 2,
            n / 2,
            n,
            lambda at, groups=groups: (  # type: ignore[misc]
                f"an event of {COORDINATES.describe(numbers[groups[at[-1]]])} together"
            ),
            games=n,
        )


def _list_parities(
    bits: np.ndarray, chosen: np.ndarray, side: str, unit: Unit, rng: np.random.Generator
) -> Iterator[EventSums]:
    """How often an odd number of the bits (n, k) of a set are 1, each of which is so with probability 1/2:
    for all sets, or for those of three and four of some columns, and for random ones."""
    n, k = bits.shape

    def name(numbers: Sequence[int]) -> str:
        return f"an odd number of {unit.describe(numbers)} {side}"

    if k <= _WALSH:
        moments = transform_walsh(np.bincount(bits @ (1 << np.arange(k)), minlength=2**k).astype(float))
        yield EventSums.of(
            f"parities of all sets of {unit.name}",
            (n - moments[1:]) / 2,
            n / 2,
            n,
            lambda at: name([place for place in range(k) if (at[0] + 1) >> place & 1]),
        )
        return
    packed = _pack(bits)
    for size in (3, 4):
        words = min(packed.shape[1], max(8, _MOST_WORDS // comb(len(chosen), size)))
        games = min(n, 64 * words)
        odd, sets = _count_odd(packed[chosen, :words], size)
        yield EventSums.of(
            f"parities of all sets of {('three', 'four')[size - 3]} {unit.name}",
            odd,
            games / 2,
            games,
            lambda at, sets=sets: name(chosen[sets[at[0]]].tolist()),  # type: ignore[misc]
            games=games,
        )
    sizes = rng.integers(5, min(k, _MOST_COLUMNS) + 1, _RANDOM_SETS)
    groups = [np.sort(rng.choice(k, size, replace=False)) for size in sizes]
    yield EventSums.of(
        f"parities of {_RANDOM_SETS:,} sets of more",
        [_count_parity(packed[group]) for group in groups],
        n / 2,
        n,
        lambda at: name(groups[at[0]].tolist()),
    )


def _pack(bits: np.ndarray) -> np.ndarray:
    """(k, words): the bits (n, k) of 64 games in each word; bits after the last game are 0."""
    padded = np.zeros((bits.shape[1], -(-len(bits) // 64) * 64), bool)
    padded[:, : len(bits)] = bits.T
    return np.packbits(padded, axis=1).view(np.uint64)


def _count_parity(rows: np.ndarray) -> int:
    return int(np.bitwise_count(np.bitwise_xor.reduce(rows, axis=0)).sum(dtype=np.int64))


def _count_odd(packed: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """How often the parity of each set of three or four rows is odd, and the sets (s, size)."""
    k = len(packed)
    pairs = np.array(list(combinations(range(k), 2)))
    first = packed[pairs[:, 0]] ^ packed[pairs[:, 1]]
    last, places = (packed, np.arange(k)[:, None]) if size == 3 else (first, pairs)
    counts, sets = [], []
    for row, pair in zip(first, pairs, strict=True):
        start = int(np.searchsorted(places[:, 0], pair[1] + 1))  # those behind both
        if start < len(last):
            counts.append(np.bitwise_count(last[start:] ^ row).sum(axis=1, dtype=np.int64))
            sets.append(np.column_stack([np.broadcast_to(pair, (len(last) - start, 2)), places[start:]]))
    return np.concatenate(counts), np.concatenate(sets)


# --- dependences that are searched in half of the games and compared in the other ---------------------------


def _find_parities(large: np.ndarray, far: np.ndarray, unit: Unit) -> Iterator[EventSums]:
    """Parities of any number of bits that are constant in some games of one half, in the other half."""
    n, k = large.shape
    bits = np.concatenate([large, far], axis=1)
    size, half = 2 * k + 1 + _SPARE, n // 2
    if k > _MOST_SEARCHED or size > half:
        return
    groups: dict[tuple[int, ...], None] = {}
    for block in range(min(_BLOCKS, half // size)):
        part = bits[block * size : (block + 1) * size]
        for row in _solve_parities(np.column_stack([part, np.ones(size, bool)]))[:_MOST_FOUND]:
            groups[tuple(np.flatnonzero(row[:-1]).tolist())] = None
    listed = [group for group in groups if group][:_MOST_FOUND]
    # One more event stands for the search, so that this way of comparing is always stated.
    packed, games = _pack(bits[half:]), n - half
    yield EventSums.of(
        f"constant parities of any number of {unit.name}",
        [games / 2, *(_count_parity(packed[list(group)]) for group in listed)],
        games / 2,
        games,
        lambda at: (
            f"an odd number of halves of {unit.describe(sorted({part % k for part in listed[at[0] - 1]}))}"
        ),
        games=games,
    )


def _solve_parities(bits: np.ndarray) -> np.ndarray:
    """(r, k): a basis of the sets of columns (m, k) whose sum is even in every row."""
    m, k = bits.shape
    rows = np.packbits(np.concatenate([bits.T, np.eye(k, dtype=bool)], axis=1), axis=1)
    used = np.zeros(k, bool)
    for column in range(m):
        has = (rows[:, column // 8] >> (7 - column % 8) & 1).astype(bool)
        candidates = np.flatnonzero(has & ~used)
        if len(candidates):
            pivot = candidates[0]
            has[pivot] = False
            rows[has] ^= rows[pivot]
            used[pivot] = True
    return np.unpackbits(rows[~used], axis=1)[:, m : m + k].astype(bool)


def _list_sums(columns: np.ndarray, rng: np.random.Generator) -> Iterator[EventSums]:
    """Weighted sums of normal scores, of the numbers and of their distances from 1/2; and extremes."""
    n, k = columns.shape
    way = "sums of many coordinates"
    scores = ndtri(np.clip(columns, 1e-12, 1 - 1e-12))
    weights = np.vstack([np.ones(k), rng.standard_normal((RANDOM, k)), rng.choice([-1.0, 1.0], (RANDOM, k))])
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    of_sum = lambda row: f"weighted sum {row} of the coordinates"  # noqa: E731
    yield _count_levels(ndtr(scores @ weights.T), of_sum, way)
    signs = np.vstack([np.ones(k), rng.choice([-1.0, 0.0, 1.0], (RANDOM, k))])
    signs = signs[np.abs(signs).sum(axis=1) > 1]
    signs /= np.linalg.norm(signs, axis=1, keepdims=True)
    magnitudes = ndtri(np.clip(np.abs(2 * columns - 1), 1e-12, 1 - 1e-12))
    of_magnitudes = lambda row: f"sum {row} of the magnitudes of the coordinates"  # noqa: E731
    yield _count_levels(ndtr(magnitudes @ signs.T), of_magnitudes, way)
    if 2 < k <= min(_MOST_SEARCHED, n // 8):
        half = n // 2
        for part in (scores, magnitudes):
            _, vectors = np.linalg.eigh(part[:half].T @ part[:half])
            ends = np.unique(np.arange(-_DIRECTIONS, _DIRECTIONS) % k)
            yield _count_levels(
                ndtr(part[half:] @ vectors[:, ends]),
                lambda row: f"the combination of the coordinates with principal component {row}",
                "principal components of coordinates",
                games=n - half,
            )
    joint = [chdtr(k, (scores**2).sum(axis=1)), columns.max(axis=1) ** k, 1 - (1 - columns.min(axis=1)) ** k]
    texts = "the distance of the coordinates from their centre", "the largest", "the least"
    yield _count_levels(np.stack(joint, axis=1), lambda row: texts[row], way)
    largest = np.bincount(columns.argmax(axis=1), minlength=k)
    yield EventSums.of(way, largest, n / k, n, lambda at: f"{COORDINATES.describe([at[0]])} as the largest")
