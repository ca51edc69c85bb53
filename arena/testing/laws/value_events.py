"""Events of released values, for a comparison with the distribution that a learner declares.

Values become numbers that are independent and uniform in [0, 1] if it is right (Rosenblatt 1952); atoms are
spread at random. Events of these find a wrong margin, dependence at any distance, and noise that is shared,
missing or too small: docs/proofs/declared_distributions.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import attrs
import numpy as np
from scipy.special import chdtr, expit, ndtr, ndtri

from arena.errors import NotConforming
from arena.laws import (
    Branches,
    Density,
    Finite,
    GaussianVector,
    Independent,
    Mixture,
    Transformed,
    ValueLaw,
    simplify_laws,
)
from arena.testing.laws.goodness_of_fit import EventSums

_MOST_COLUMNS = 64  # of which all pairs are compared
_FEW_COLUMNS = 12  # of which all triples are compared
_RANDOM = 32  # random projections, combinations of columns or coordinates, and sets of values
_CELLS = 32  # of equal width, between which numbers are counted
_NARROW = 1_024  # cells of equal width in which numbers are counted, where one value is too frequent
_MOST_NARROW = 2**16  # of them in all columns
_TAILS = np.array([1e-4, 1e-3, 1e-2])
_LEVELS = np.concatenate([np.arange(1, _CELLS) / _CELLS, _TAILS, 1 - _TAILS])

_TOLERANCE = 1e-6  # the error of probabilities and their sum that quadratures may leave
_PANELS = 8_192  # of a quadrature, evenly spaced
_NEAR = np.geomspace(1e-3, 1e3, 512)  # distances from a kink at which more panels begin, in scales
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_MOST_VALUES = 1_000  # values, or groups of neighbouring values, of a finite distribution
_BINS = 32  # of likelihood ratios
_DECIMALS = 9  # of likelihood ratios


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
    """Means of cos and sin of aθ ± bθ', for θ = 2π times a number, a and b in {1, 2}: 0 for all pairs. With
    all integers these functions determine the joint distribution of two numbers (Weyl)."""
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
    *first, last = numbers.tolist()
    return f"{', '.join(map(str, first))} and {last}" if first else str(last)


def list_value_events(name: str, law: ValueLaw, values: np.ndarray) -> Iterator[EventSums]:
    """Events of independent values (n, ...) of one distribution; none if its kind is not known here. Raises:
    NotConforming if probabilities do not sum to 1, or a value is impossible."""
    rng = np.random.default_rng(0)  # of where in an atom a value lies
    (law,) = simplify_laws(law)
    while isinstance(law, Transformed):
        values, law = np.asarray(law.inverse(values)), law.law
    if isinstance(law, Finite):
        yield from _list_finite_events(law, values, "a value")
        yield from _list_subset_events(law, values)
    if isinstance(law, Independent):
        for index, (part, column) in enumerate(
            zip(law.parts, values.reshape(len(values), -1).T, strict=True)
        ):
            (part,) = simplify_laws(part)
            if isinstance(part, Finite):
                yield from _list_finite_events(part, column, f"in part {index}, a value")
    columns = _spread_uniformly(name, law, values, rng)
    if columns is not None:
        yield from list_uniform_events(columns, rng)


def list_ratio_events(logs: np.ndarray, values: np.ndarray) -> Iterator[EventSums]:
    """Events of values (2, n, ...) in worlds 0 and 1 for the ratio of their declared densities.

    logs (2, 2, n): the log densities of the values (second index) in each world (first index). Each game is
    one of the two at the same place, by a fair coin. Given its value, the chance of world 1 is p1/(p0 + p1);
    so it must be on every set of values.
    """
    rng = np.random.default_rng(0)
    games, place = logs.shape[2], np.arange(logs.shape[2])
    world = rng.integers(2, size=games)
    with np.errstate(invalid="ignore"):  # what is impossible in both worlds is refused elsewhere
        ratio = logs[1, world, place] - logs[0, world, place]
    # Rounded, since the last bits of numbers to which noise was added in floating point show the world.
    ratio = np.round(np.where(np.isnan(ratio), 0.0, ratio), _DECIMALS)
    chance, own = expit(ratio), values[world, place].reshape(games, -1)
    columns = {"the likelihood ratio": ratio}
    for column in choose_columns(own.shape[1]).tolist():
        columns[f"part {column} of the value"] = own[:, column]
    if own.shape[1] > 1:
        weights = rng.standard_normal((_RANDOM, own.shape[1])) / np.maximum(own.std(axis=0), 1e-300)
        for number, weight in enumerate(weights):
            columns[f"random combination {number} of the value"] = own @ weight
    texts, parts = list(columns), np.array([_rank_bins(column) for column in columns.values()])
    counts, expected, terms = (
        np.array([np.bincount(part, weights=what, minlength=_BINS) for part in parts])
        for what in (world, chance, np.ones(games))
    )
    yield EventSums.of(
        counts,
        expected,
        terms,
        lambda at: f"world 1, where {texts[at[0]]} is in part {at[1] + 1} of {_BINS} by size,",
    )


def _rank_bins(numbers: np.ndarray) -> np.ndarray:
    numbers = np.nan_to_num(np.asarray(numbers, float))
    cuts = np.sort(numbers)[len(numbers) * np.arange(1, _BINS) // _BINS]
    return np.asarray(np.searchsorted(cuts, numbers, side="left"))


def _list_finite_events(law: Finite, values: np.ndarray, name: str) -> Iterator[EventSums]:
    cells, possible = law.place(values.reshape(len(values), *law.values.shape[1:]))
    group = np.arange(len(law.values)) * min(len(law.values), _MOST_VALUES) // len(law.values)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    yield EventSums.of(
        np.bincount(group[cells[possible]], minlength=len(starts)),
        len(values) * np.bincount(group, weights=law.probabilities),
        len(values),
        lambda at: f"{name} {law.values[starts[at[0]]]}{' or one of the next' * (len(starts) < len(group))}",
    )
    yield EventSums.of([(~possible).sum()], 0.0, len(values), lambda at: f"{name} of probability 0")


def _list_subset_events(law: Finite, values: np.ndarray) -> Iterator[EventSums]:
    cells, possible = law.place(values.reshape(len(values), *law.values.shape[1:]))
    counts = np.bincount(cells[possible], minlength=len(law.values))
    flat = law.values.reshape(len(law.values), -1)
    rng = np.random.default_rng(1)
    columns = [rng.integers(2, size=len(flat)).astype(float) for _ in range(_RANDOM)]
    texts = [f"a value of random set {number}" for number in range(_RANDOM)]
    for column in choose_columns(flat.shape[1]):
        for cut in np.unique(np.quantile(flat[:, column], [0, 0.25, 0.5, 0.75], method="nearest")):
            columns.append((flat[:, column] <= cut).astype(float))
            texts.append(f"a value whose part {column} is at most {cut:.4g}")
    sets = np.array(columns)
    yield EventSums.of(
        sets @ counts, len(values) * (sets @ law.probabilities), len(values), lambda at: texts[at[0]]
    )


def _spread_uniformly(
    name: str, law: ValueLaw, values: np.ndarray, rng: np.random.Generator
) -> np.ndarray | None:
    """(n, k): numbers that are independent and uniform if values follow the distribution; None: unknown."""
    if isinstance(law, Mixture):
        return _spread_mixture(name, law, values.reshape(len(values), -1), rng)
    if isinstance(law, Independent):
        columns: list[np.ndarray] = []
        tables: dict[int, _Table] = {}
        for part, column in zip(law.parts, values.reshape(len(values), -1).T, strict=True):
            (part,) = simplify_laws(part)
            if not isinstance(part, Finite | Density | Branches):
                return None
            if id(part) not in tables:
                tables[id(part)] = _Table.of(name, part)
            columns.append(tables[id(part)].spread(column, rng))
        return np.stack(columns, axis=1)
    if isinstance(law, Finite | Density | Branches):
        return _Table.of(name, law).spread(values, rng)[:, None]
    if isinstance(law, GaussianVector):
        return np.asarray(ndtr(law.standardise(values)))
    return None


def _spread_mixture(
    name: str, law: Mixture, values: np.ndarray, rng: np.random.Generator
) -> np.ndarray | None:
    """The same for a mixture of vectors: each coordinate given those before it."""
    parts = [part for part in law.laws if isinstance(part, Independent)]
    if len(parts) < len(law.laws) or len({len(part.parts) for part in parts}) > 1:
        return None
    weights = np.repeat(np.asarray(law.weights)[:, None], len(values), axis=1)
    columns = []
    for index, column in enumerate(values.T):
        single = [simplify_laws(part.parts[index])[0] for part in parts]
        if not all(isinstance(part, Finite | Density | Branches) for part in single):
            return None
        tables = [_Table.of(name, part) for part in single]
        within = rng.random(len(values))
        spread = np.array([table.spread_at(column, within) for table in tables])
        weights = weights / weights.sum(axis=0)
        columns.append((weights * spread).sum(axis=0))
        logs = np.array([part.log_density(column) for part in single])
        weights = weights * np.exp(logs - np.maximum(logs.max(axis=0), -1e300))
        if not (weights.sum(axis=0) > 0).all():
            raise NotConforming(name, "its values are possible by the output distribution that it declares")
    return np.stack(columns, axis=1)


@attrs.frozen(eq=False)
class _Table:
    """The distribution function of one number: of atoms, and of densities between cuts. A value is in an
    interval [below, below + mass] of probability; atoms fill theirs at random."""

    law: ValueLaw
    starts: np.ndarray
    order: np.ndarray
    tables: tuple[tuple[np.ndarray, np.ndarray] | None, ...]
    masses: np.ndarray

    @classmethod
    def of(cls, name: str, law: ValueLaw) -> _Table:
        if isinstance(law, Finite):
            order = np.lexsort(law.values.reshape(len(law.values), -1).T[::-1])
            masses: np.ndarray = law.probabilities
            tables: tuple[tuple[np.ndarray, np.ndarray] | None, ...] = ()
        else:
            parts: Sequence[float | Density] = law.parts if isinstance(law, Branches) else (law,)  # type: ignore[assignment]
            tables = tuple(_integrate(part) if isinstance(part, Density) else None for part in parts)
            masses = np.array(
                [part if table is None else table[1][-1] for part, table in zip(parts, tables, strict=True)],
                float,
            )
            order = np.arange(len(masses))
        if not ((masses >= -_TOLERANCE).all() and abs(masses.sum() - 1.0) <= _TOLERANCE):
            raise NotConforming(
                name,
                "the probabilities that it declares are at least 0 and have sum 1",
                f"the sum is {masses.sum():.6g}, the least is {masses.min():.6g}",
            )
        starts = np.empty(len(masses))
        starts[order] = np.cumsum(masses[order]) - masses[order]
        return cls(law, starts, order, tables, masses)

    def spread(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.spread_at(values, rng.random(len(values)))

    def spread_at(self, values: np.ndarray, within: np.ndarray) -> np.ndarray:
        """(n,): values (n, ...) as numbers in [0, 1]; within (n,): places in the intervals of atoms."""
        if isinstance(self.law, Finite) and self.law.values.ndim == 1:
            known = self.law.values[self.order]
            place = np.searchsorted(known, values)
            mass = np.append(self.masses[self.order], 0.0)[place]
            below = np.append(self.starts[self.order], 1.0)[place]
            return np.asarray(
                np.clip(below + within * mass * (np.append(known, np.inf)[place] == values), 0, 1)
            )
        if isinstance(self.law, Finite):
            cell, _ = self.law.place(values.reshape(len(values), *self.law.values.shape[1:]))
            return np.asarray(np.clip(self.starts[cell] + within * self.masses[cell], 0, 1))
        if isinstance(self.law, Branches):
            cell, number = self.law.read(values)
        else:
            cell, number = np.zeros(len(values), np.intp), np.asarray(values, float).reshape(len(values))
        spread = self.starts[cell] + within * self.masses[cell]
        for index, table in enumerate(self.tables):
            if table is not None:
                rows = cell == index
                spread[rows] = self.starts[index] + np.interp(number[rows], *table)
        return np.asarray(np.clip(spread, 0, 1))


def _integrate(law: Density) -> tuple[np.ndarray, np.ndarray]:
    """(k,) numbers, and (k,) the mass below each. Between cuts a density is nearly constant."""
    kinks = np.array(law.kinks, float)
    near = (kinks[:, None] + law.scale * np.concatenate([-_NEAR, [0.0], _NEAR])).ravel()
    cuts = np.unique([*np.linspace(law.low, law.high, _PANELS + 1), *near])
    cuts = cuts[(cuts >= law.low) & (cuts <= law.high)]
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    nodes = middle[:, None] + half[:, None] * _NODES
    heights = np.exp(law.log_density(nodes.ravel())).reshape(nodes.shape)
    return cuts, np.append(0.0, np.cumsum(half * (heights @ _WEIGHTS)))
