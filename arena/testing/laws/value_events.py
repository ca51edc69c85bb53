"""Events of released values, for a comparison with the distribution that a learner declares.

Values become numbers that are independent and uniform in [0, 1] if it is right (Rosenblatt 1952); atoms are
spread at random. Values of finitely many, repeated values, and likelihood ratios have events of their own:
docs/proofs/declared_distributions.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from scipy.special import expit, ndtr, softmax

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
from arena.testing.laws.uniform_events import (
    RANDOM,
    choose_columns,
    list_uniform_events,
    transform_walsh,
)

_EDGE = 1e-9  # of its scale: rounding may place a number that far beyond the support of a density
_MOST_CHANCE = 1e-6  # of one value of a density, by rounding
_WALSH = 16  # coordinates of a finite distribution of which all parities are compared
_CHOICES = 4  # random choices of `_WALSH` coordinates, if there are more coordinates
_TOLERANCE = 1e-6  # the error of probabilities and their sum that quadratures may leave
_PANELS = 8_192  # of a quadrature, evenly spaced
_NEAR = np.geomspace(1e-3, 1e3, 512)  # distances from a kink at which more panels begin, in scales
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)
_MOST_VALUES = 2**16  # values, or groups of neighbouring values, of a finite distribution
_BINS = 32  # of likelihood ratios
_DECIMALS = 9  # of likelihood ratios


def list_value_events(name: str, law: ValueLaw, values: np.ndarray) -> Iterator[EventSums]:
    """Events of independent values (n, ...) of one distribution; none if its kind is not known here. Raises:
    NotConforming if probabilities do not sum to 1."""
    rng = np.random.default_rng(0)  # of where in an atom a value lies
    (law,) = simplify_laws(law)
    while isinstance(law, Transformed):
        values, law = np.asarray(law.inverse(values)), law.law
        (law,) = simplify_laws(law)
    if isinstance(law, Finite):
        yield from _list_finite_events(law, values, "a value", "each value")
        yield from _list_subset_events(law, values)
    if isinstance(law, Independent):
        for index, (part, column) in enumerate(
            zip(law.parts, values.reshape(len(values), -1).T, strict=True)
        ):
            (part,) = simplify_laws(part)
            if isinstance(part, Finite):
                yield from _list_finite_events(
                    part, column, f"in part {index}, a value", "each value of each coordinate"
                )
    spread = _spread_uniformly(name, law, values, rng)
    if spread is not None:
        yield from list_uniform_events(spread.columns, rng, slack=spread.slack)
    yield from _list_repeated_values(law, values)


def is_possible(law: ValueLaw, values: np.ndarray) -> np.ndarray:
    """(n,): whether each of values (n, ...) is possible, or so near to a possible one that only rounding in
    floating point tells them apart."""
    (law,) = simplify_laws(law)
    if isinstance(law, Transformed):
        return is_possible(law.law, np.asarray(law.inverse(values)))
    if isinstance(law, Mixture):
        return np.asarray(np.any([is_possible(part, values) for part in law.laws], axis=0))
    if isinstance(law, Independent):
        columns = values.reshape(len(values), len(law.parts)).T
        parts = [is_possible(part, column) for part, column in zip(law.parts, columns, strict=True)]
        return np.asarray(np.all(parts, axis=0))
    if isinstance(law, Branches):
        branch, number = law.read(values)
        possible = law.log_density(values) > -np.inf
        for index, part in enumerate(law.parts):
            if isinstance(part, Density):
                rows = (branch == index) & ~possible
                possible[rows] = is_possible(part, number[rows])
        return possible
    possible = np.asarray(law.log_density(values)) > -np.inf
    if isinstance(law, Density) and not possible.all():
        numbers = np.asarray(values, float).reshape(len(values))
        for side in (-1, 1):
            near = numbers + side * (_EDGE * law.scale + 4 * np.spacing(np.abs(numbers)))
            possible |= law.log_density(near) > -np.inf
    return possible


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
        weights = rng.standard_normal((RANDOM, own.shape[1])) / np.maximum(own.std(axis=0), 1e-300)
        for number, weight in enumerate(weights):
            columns[f"random combination {number} of the value"] = own @ weight
    texts, parts = list(columns), np.array([_rank_bins(column) for column in columns.values()])
    counts, expected, terms = (
        np.array([np.bincount(part, weights=what, minlength=_BINS) for part in parts])
        for what in (world, chance, np.ones(games))
    )
    yield EventSums.of(
        "likelihood ratios",
        counts,
        expected,
        terms,
        lambda at: f"world 1, where {texts[at[0]]} is in part {at[1] + 1} of {_BINS} by size,",
        games=games,
    )


def _rank_bins(numbers: np.ndarray) -> np.ndarray:
    numbers = np.nan_to_num(np.asarray(numbers, float))
    cuts = np.sort(numbers)[len(numbers) * np.arange(1, _BINS) // _BINS]
    return np.asarray(np.searchsorted(cuts, numbers, side="left"))


def _list_finite_events(law: Finite, values: np.ndarray, name: str, way: str) -> Iterator[EventSums]:
    cells, possible = law.place(values.reshape(len(values), *law.values.shape[1:]))
    group = np.arange(len(law.values)) * min(len(law.values), _MOST_VALUES) // len(law.values)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    yield EventSums.of(
        way,
        np.bincount(group[cells[possible]], minlength=len(starts)),
        len(values) * np.bincount(group, weights=law.probabilities),
        len(values),
        lambda at: f"{name} {law.values[starts[at[0]]]}{' or one of the next' * (len(starts) < len(group))}",
    )


def _list_subset_events(law: Finite, values: np.ndarray) -> Iterator[EventSums]:
    cells, possible = law.place(values.reshape(len(values), *law.values.shape[1:]))
    counts = np.bincount(cells[possible], minlength=len(law.values))
    flat = law.values.reshape(len(law.values), -1)
    rng = np.random.default_rng(1)
    columns = [rng.integers(2, size=len(flat)).astype(float) for _ in range(RANDOM)]
    texts = [f"a value of random set {number}" for number in range(RANDOM)]
    for column in choose_columns(flat.shape[1]):
        for cut in np.unique(np.quantile(flat[:, column], [0, 0.25, 0.5, 0.75], method="nearest")):
            columns.append((flat[:, column] <= cut).astype(float))
            texts.append(f"a value whose part {column} is at most {cut:.4g}")
    sets = np.array(columns)
    yield EventSums.of(
        "sets of values",
        sets @ counts,
        len(values) * (sets @ law.probabilities),
        len(values),
        lambda at: texts[at[0]],
    )
    yield from _list_parities(law, flat, counts, rng)


def _list_parities(
    law: Finite, flat: np.ndarray, counts: np.ndarray, rng: np.random.Generator
) -> Iterator[EventSums]:
    """Whether an odd number of the coordinates of a set are above their medians, for all sets of up to 16
    coordinates, or of several choices of 16 of them."""
    k = flat.shape[1]
    if k < 3:
        return
    order = np.argsort(flat, axis=0, kind="stable")
    below = np.cumsum(law.probabilities[order], axis=0)
    places = np.minimum((below < 0.5).sum(axis=0), len(flat) - 1)
    medians = flat[order[places, np.arange(k)], np.arange(k)]
    lowest = flat.min(axis=0)
    # Of two values the larger one is above, also where it has most of the probability.
    large = np.where(medians > lowest, flat >= medians, flat > medians)
    choices = [np.arange(k)]
    if k > _WALSH:
        choices = [np.sort(rng.choice(k, _WALSH, replace=False)) for _ in range(_CHOICES)]
    games = counts.sum()
    for chosen in choices:
        codes = large[:, chosen] @ (1 << np.arange(len(chosen)))
        tables = [np.bincount(codes, weights, 2 ** len(chosen)) for weights in (counts, law.probabilities)]
        shown, declared = (transform_walsh(table)[1:] for table in tables)
        yield EventSums.of(
            f"parities of {'all' if k <= _WALSH else 'some'} sets of coordinates",
            (games - shown) / 2,
            games * (1 - declared) / 2,
            games,
            lambda at, chosen=chosen: (  # type: ignore[misc]
                "an odd number of the parts "
                f"{', '.join(str(part) for place, part in enumerate(chosen) if (at[0] + 1) >> place & 1)} "
                "of the value above their medians"
            ),
        )


def _list_repeated_values(law: ValueLaw, values: np.ndarray) -> Iterator[EventSums]:
    """The most frequent number of one half of the games, in the other half, where a density yields none."""
    columns = values.reshape(len(values), -1)
    if isinstance(law, Density | GaussianVector):
        continuous = np.ones(columns.shape[1], bool)
    elif isinstance(law, Independent):
        continuous = np.array([isinstance(simplify_laws(part)[0], Density) for part in law.parts])
    else:
        return
    half = len(values) // 2
    counts: list[int] = []
    shown: list[float] = []
    for column in columns.T[continuous]:
        ordered = np.sort(column[:half])
        begins = np.flatnonzero(np.diff(ordered, prepend=np.nan))
        if len(begins) == half:  # no number is repeated
            continue
        number = ordered[begins[np.argmax(np.diff(np.append(begins, half)))]]
        counts.append(int((column[half:] == number).sum()))
        shown.append(float(number))
    games = len(values) - half
    yield EventSums.of(
        "equal values",
        [0, *counts],
        games * _MOST_CHANCE,
        games,
        lambda at: f"the single value {shown[at[0] - 1]:.10g}",
        at_most=True,
        games=games,
    )


@attrs.frozen(eq=False)
class _Spread:
    """columns: (n, k), independent and uniform if values follow a distribution; slack: by how much the sum of
    its probabilities, as a quadrature computes it, differs from 1."""

    columns: np.ndarray
    slack: float = 0.0


def _spread_uniformly(
    name: str, law: ValueLaw, values: np.ndarray, rng: np.random.Generator
) -> _Spread | None:
    """Numbers that are independent and uniform if values follow the distribution; None: unknown."""
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
        slack = max((table.slack for table in tables.values()), default=0.0)
        return _Spread(np.stack(columns, axis=1), slack)
    if isinstance(law, Finite | Density | Branches):
        table = _Table.of(name, law)
        return _Spread(table.spread(values, rng)[:, None], table.slack)
    if isinstance(law, GaussianVector):
        return _Spread(np.asarray(ndtr(law.standardise(values))))
    return None


def _spread_mixture(name: str, law: Mixture, values: np.ndarray, rng: np.random.Generator) -> _Spread | None:
    """The same for a mixture of vectors: each coordinate given those before it."""
    parts = [part for part in law.laws if isinstance(part, Independent)]
    if len(parts) < len(law.laws) or len({len(part.parts) for part in parts}) > 1:
        return None
    with np.errstate(divide="ignore"):
        weights = np.maximum(np.log(law.weights), -1e300)
    logs = np.repeat(weights[:, None], len(values), axis=1)
    columns, slack = [], 0.0
    for index, column in enumerate(values.T):
        single = [simplify_laws(part.parts[index])[0] for part in parts]
        if not all(isinstance(part, Finite | Density | Branches) for part in single):
            return None
        tables = [_Table.of(name, part) for part in single]
        slack = max(slack, *(table.slack for table in tables))
        within = rng.random(len(values))
        spread = np.array([table.spread_at(column, within) for table in tables])
        columns.append((softmax(logs, axis=0) * spread).sum(axis=0))
        # Sums of logarithms do not underflow, as products of many densities do.
        logs = np.maximum(logs + np.array([part.log_density(column) for part in single]), -1e300)
    return _Spread(np.stack(columns, axis=1), slack)


@attrs.frozen(eq=False)
class _Table:
    """The distribution function of one number: of atoms, and of densities between cuts. A value is in an
    interval [below, below + mass] of probability; atoms fill theirs at random."""

    law: ValueLaw
    starts: np.ndarray
    order: np.ndarray
    tables: tuple[tuple[np.ndarray, np.ndarray] | None, ...]
    masses: np.ndarray

    @property
    def slack(self) -> float:
        return abs(float(self.masses.sum()) - 1.0)

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
