"""Events of rows of numbers that are independent and uniform in [0, 1] if a declared distribution is right.

They find wrong margins, dependence of parts at any distance and of several at once, and noise that is too
small everywhere. docs/proofs/declared_distributions.md says why these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy.special import chdtr, ndtr, ndtri

from arena.testing.laws.goodness_of_fit import EventSums

_MOST_COLUMNS = 64  # of which all pairs are compared
_FEW_COLUMNS = 12  # of which all triples are compared
_RANDOM = 32  # random projections, and random combinations of more than two columns
_CELLS = 32  # of equal width, between which numbers are counted
_NARROW = 1_024  # cells of equal width in which numbers are counted, where one value is too frequent
_MOST_NARROW = 2**16  # of them in all columns
_TAILS = np.array([1e-4, 1e-3, 1e-2])
_LEVELS = np.concatenate([np.arange(1, _CELLS) / _CELLS, _TAILS, 1 - _TAILS])


def list_uniform_events(columns: np.ndarray, rng: np.random.Generator) -> Iterator[EventSums]:
    """Events of rows (n, k) of independent uniform numbers: of each, of pairs, of several and of all."""
    n, k = columns.shape
    of_part = (lambda part: f"part {part} of the value") if k > 1 else (lambda part: "the value")
    yield _count_levels(columns, of_part)
    yield _count_cells(columns, of_part)
    if k < 2:
        return
    chosen = choose_columns(k)
    yield from _list_characters(columns[:, chosen], chosen)
    yield from _list_several(columns[:, chosen], chosen, rng)
    scores = ndtri(np.clip(columns, 1e-12, 1 - 1e-12))
    weights = np.vstack(
        [np.ones(k), rng.standard_normal((_RANDOM, k)), rng.choice([-1.0, 1.0], (_RANDOM, k))]
    )
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    yield _count_levels(ndtr(scores @ weights.T), lambda row: f"weighted sum {row} of the parts of the value")
    joint = [chdtr(k, (scores**2).sum(axis=1)), columns.max(axis=1) ** k, 1 - (1 - columns.min(axis=1)) ** k]
    texts = "the distance of the value from its centre", "the largest part", "the least part"
    yield _count_levels(np.stack(joint, axis=1), lambda row: texts[row])
    largest = np.bincount(columns.argmax(axis=1), minlength=k)
    yield EventSums.of(largest, n / k, n, lambda at: f"part {at[0]} of the value as the largest")


def choose_columns(k: int) -> np.ndarray:
    """Some columns of k, the first and the last among them."""
    return np.unique(np.round(np.linspace(0, k - 1, min(k, _MOST_COLUMNS))).astype(int))


def _count_levels(columns: np.ndarray, describe: Callable[[int], str]) -> EventSums:
    """How often each column (n, c) is at most some levels."""
    width = columns.shape[1]
    cells = np.minimum((columns * _CELLS).astype(np.intp), _CELLS - 1) + _CELLS * np.arange(width)
    below = np.bincount(cells.ravel(), minlength=_CELLS * width).reshape(width, _CELLS).cumsum(axis=1)[:, :-1]
    tails = [(columns <= level).sum(axis=0) for level in _LEVELS[_CELLS - 1 :]]
    return EventSums.of(
        np.column_stack([below, *tails]),
        len(columns) * _LEVELS,
        len(columns),
        lambda at: f"{describe(at[0])} at most at its declared {_LEVELS[at[1]]:.4g}-quantile",
    )


def _count_cells(columns: np.ndarray, describe: Callable[[int], str]) -> EventSums:
    """How often each column (n, c) is in narrow cells."""
    n, width = columns.shape
    cells = max(2, min(_NARROW, _MOST_NARROW // width))
    places = np.minimum((columns * cells).astype(np.intp), cells - 1) + cells * np.arange(width)
    return EventSums.of(
        np.bincount(places.ravel(), minlength=cells * width).reshape(width, cells),
        n / cells,
        n,
        lambda at: (
            f"{describe(at[0])} between its declared quantiles {at[1]}/{cells} and {at[1] + 1}/{cells}"
        ),
    )


def _list_characters(columns: np.ndarray, numbers: np.ndarray) -> Iterator[EventSums]:
    """Means of cos and sin of aθ ± bθ', for θ = 2π times a number, a and b in {1, 2}: 0 for all pairs.

    With all integers these functions determine the joint distribution of two numbers (Weyl).
    """
    n, k = columns.shape
    angles = 2 * np.pi * np.concatenate([columns, 2 * columns], axis=1)
    cos, sin = np.cos(angles), np.sin(angles)
    cc, ss, sc = cos.T @ cos, sin.T @ sin, sin.T @ cos
    pairs = np.array([(i, j) for i, j in combinations(range(2 * k), 2) if i % k != j % k])
    first, second = pairs.T
    even, odd = (cc[first, second], ss[first, second]), (sc[first, second], sc[second, first])
    sums = np.array([even[0] - even[1], even[0] + even[1], odd[0] + odd[1], odd[0] - odd[1]])
    yield EventSums.of(
        (n + sums) / 2,
        n / 2,
        n,
        lambda at: f"an event of parts {_format_parts(numbers[pairs[at[1]] % k])} of the value together",
    )
    signs = np.where(columns > 0.5, 1.0, -1.0)
    agree = (n + signs.T @ signs) / 2
    upper = np.triu_indices(k, 1)
    yield EventSums.of(
        agree[upper],
        n / 2,
        n,
        lambda at: (
            f"parts {numbers[upper[0][at[0]]]} and {numbers[upper[1][at[0]]]} of the value on one side of "
            "their medians"
        ),
    )


def _list_several(columns: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> Iterator[EventSums]:
    """The same for three numbers with factors ±1, and for random combinations of more."""
    n, k = columns.shape
    if k < 3:
        return
    triples = np.array(list(combinations(range(k), 3)))
    if k > _FEW_COLUMNS:
        triples = np.array([np.sort(rng.choice(k, 3, replace=False)) for _ in range(4 * _RANDOM)])
    factors = rng.integers(-1, 2, (_RANDOM, k))
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
            (n + np.stack([total.real, total.imag])[..., used]) / 2,
            n / 2,
            n,
            lambda at, groups=groups: (  # type: ignore[misc]
                f"an event of parts {_format_parts(numbers[groups[at[-1]]])} of the value together"
            ),
        )


def _format_parts(numbers: np.ndarray) -> str:
    """Numbers as text."""
    *first, last = numbers.tolist()
    return f"{', '.join(map(str, first))} and {last}" if first else str(last)
