"""The log-likelihood ratio of a view, which distinguishes the worlds as well as possible.

Ratios are computed once and sorted into at most 512 levels; a block of games then costs one look-up per game.
Why levels are valid and hardly lose power: docs/proofs/likelihood_ratio.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np

from arena import (
    Adversary,
    AnswerLaw,
    Branches,
    Density,
    Finite,
    GaussianVector,
    Independent,
    Learner,
    Played,
    Referee,
    Transformed,
    Unsupported,
    ValueLaw,
)
from arena.engine import read_release
from arena.laws import simplify_laws
from arena.referees import name_protocols
from audits.exact_loss.path_enumeration import PRUNE, PathEnumeration, answer_letters
from audits.exact_loss.view_laws import check_same_function, value_laws

MAX_LEVELS = 512
_MAX_PATHS = 50_000
_GRID_CELLS = 16_384  # of the grid over a density
_SMALLEST_RATIO, _LARGEST_RATIO = 1e-4, 50.0  # nats; between these, sums of ratios are told apart
_RARE = 1e-12  # mass of a tail from which on it is one level
_DECIMALS = 9  # to which ratios are rounded before they are sorted into levels

Locate = Callable[[np.ndarray], np.ndarray]


@attrs.frozen(eq=False)
class LevelScores:
    """Scores as indices of levels.
    levels: (k,), increasing, the smallest ratio of each level; of_game: (n,), the level of each game."""

    levels: np.ndarray
    of_game: np.ndarray

    def __getitem__(self, games: np.ndarray) -> LevelScores:
        return LevelScores(self.levels, self.of_game[games])


@attrs.frozen(eq=False)
class LikelihoodRatio:
    """log P(view in world 1) − log P(view in world 0), by level. Shapes: levels (k,); level (m,), of each
    listed view or cell. locate: maps views or values (n, ...) to their indices (n,) among these."""

    levels: np.ndarray
    level: np.ndarray
    locate: Locate

    def __call__(self, views: np.ndarray) -> LevelScores:
        return LevelScores(self.levels, self.level[self.locate(views)])


def likelihood_ratios(
    learner: Learner, adversary: Adversary, referee: Referee, played: Played
) -> LevelScores:
    """The log-likelihood ratios of recorded views; infinite where a view is impossible in one world. Raises:
    Unsupported, as `view_law` does, or if the worlds have distributions of different kinds."""
    ratio = build_likelihood_ratio(learner, adversary, referee)
    batches = played.single_games or (played,)
    if referee.law is AnswerLaw:
        letters = [answer_letters(batch).T for batch in batches]
        width = max(batch.shape[1] for batch in letters)  # games that are played alone may differ in length
        return ratio(np.concatenate([np.pad(b, ((0, 0), (0, width - b.shape[1]))) for b in letters]))
    return ratio(np.concatenate([read_release(batch) for batch in batches]))


@lru_cache(maxsize=64)
def build_likelihood_ratio(learner: Learner, adversary: Adversary, referee: Referee) -> LikelihoodRatio:
    """The likelihood ratio for these players; cached. Raises as `likelihood_ratios` does."""
    if referee.law is AnswerLaw:
        return _ratio_of_answers(learner, adversary, referee)
    if referee.law is not ValueLaw:
        known = name_protocols(lambda kind: kind.law in (AnswerLaw, ValueLaw))
        raise Unsupported(
            f"the likelihood ratio is known under {known}, not under {referee.name}",
            remedy="Use a learned distinguisher, or return a score.",
        )
    return _ratio_of_values(*value_laws(learner, adversary, referee))


def _ratio_of_answers(learner: Learner, adversary: Adversary, referee: Referee) -> LikelihoodRatio:
    paths = PathEnumeration(learner, adversary, referee, prune=PRUNE, max_paths=_MAX_PATHS)
    paths.run()
    views, masses = paths.views()
    rows = np.zeros((len(views), max(len(view) for view in views)))
    for row, view in zip(rows, views, strict=True):
        row[: len(view)] = list(view)

    def drop_after_halt(letters: np.ndarray) -> np.ndarray:
        """The letters of each game as in enumerated views: after a halt nothing is shown."""
        shown = np.zeros((len(letters), rows.shape[1]))
        shown[:, : letters.shape[1]] = letters[:, : rows.shape[1]]
        shown[np.cumsum(shown >= 4, axis=1) - (shown >= 4) > 0] = 0.0
        return shown

    return _ratio_of_list(rows, masses, drop_after_halt)


def _ratio_of_values(world_0: ValueLaw, world_1: ValueLaw) -> LikelihoodRatio:
    world_0, world_1 = simplify_laws(world_0, world_1)
    if isinstance(world_0, Transformed) and isinstance(world_1, Transformed):
        check_same_function(world_0, world_1)
        ratio, inverse = _ratio_of_values(world_0.law, world_1.law), world_0.inverse
        return attrs.evolve(ratio, locate=lambda values: ratio.locate(np.asarray(inverse(values))))
    if isinstance(world_0, GaussianVector) and isinstance(world_1, GaussianVector):
        weights, constant = world_0.weigh(world_1)
        return _sort_into_fixed_levels(lambda values: np.asarray(values @ weights + constant))
    if isinstance(world_0, Finite) and isinstance(world_1, Finite):
        both = np.unique(np.concatenate([world_0.values, world_1.values]), axis=0)
        masses = np.exp([law.log_density(both) for law in (world_0, world_1)])
        return _ratio_of_list(both, masses, lambda values: values)
    if isinstance(world_0, Density) and isinstance(world_1, Density):
        grid = _DensityGrid.of(world_0, world_1)
        return _sort_into_levels(grid.loss, grid.p0, grid.p1, lambda values: grid.locate(values.reshape(-1)))
    if isinstance(world_0, Branches) and isinstance(world_1, Branches):
        return _ratio_of_branches(world_0, world_1)
    if isinstance(world_0, Independent) and isinstance(world_1, Independent):
        return _ratio_of_parts(world_0, world_1)
    kinds = {type(world_0), type(world_1)}
    if len(kinds) > 1 and kinds & {Finite, Density, Independent, Branches, Transformed}:
        raise Unsupported(
            "a likelihood ratio needs output distributions of the same kind in both worlds",
            value=[type(world_0).__name__, type(world_1).__name__],
            remedy="State a Mixture in both worlds, or distributions of one class.",
        )
    return _sort_into_fixed_levels(
        lambda values: _difference(*(law.log_density(values) for law in (world_0, world_1)))
    )


@attrs.frozen(eq=False)
class _DensityGrid:
    """The ratio and masses of the cells of a grid over a density, with one cell beyond each end."""

    low: float
    per_unit: float
    loss: np.ndarray
    p0: np.ndarray
    p1: np.ndarray

    @classmethod
    def of(cls, world_0: Density, world_1: Density) -> _DensityGrid:
        low, high = min(world_0.low, world_1.low), max(world_0.high, world_1.high)
        width = (high - low) / _GRID_CELLS
        middle = low + width * (np.arange(-1, _GRID_CELLS + 1) + 0.5)
        logs = [law.log_density(middle) for law in (world_0, world_1)]
        masses = (width * np.exp(log) for log in logs)
        return cls(low, 1 / width, _difference(*logs), *masses)

    def locate(self, values: np.ndarray) -> np.ndarray:
        cell = (np.asarray(values, np.float64) - self.low) * self.per_unit
        return np.clip(np.floor(cell), -1, _GRID_CELLS).astype(np.intp) + 1


def _ratio_of_branches(world_0: Branches, world_1: Branches) -> LikelihoodRatio:
    """The cells of all branches one after the other; a branch without a number is one cell."""
    starts, parts = [0], []
    grids: list[_DensityGrid | None] = []
    for part_0, part_1 in zip(world_0.parts, world_1.parts, strict=True):
        if isinstance(part_0, Density) and isinstance(part_1, Density):
            grid = _DensityGrid.of(part_0, part_1)
            grids.append(grid)
            parts.append((grid.loss, grid.p0, grid.p1))
        elif not isinstance(part_0, Density) and not isinstance(part_1, Density):
            grids.append(None)
            masses = np.array([[part_0], [part_1]], float)
            parts.append((_log_ratio(masses), *masses))
        else:
            raise Unsupported("a branch must release a number in both worlds or in neither")
        starts.append(starts[-1] + len(parts[-1][0]))

    def locate(values: np.ndarray) -> np.ndarray:
        branch, number = world_0.read(values)
        cells = np.take(starts, branch)
        for index, grid in enumerate(grids):
            in_branch = branch == index
            if grid is not None and in_branch.any():
                cells[in_branch] += grid.locate(number[in_branch])
        return np.asarray(cells)

    loss, p0, p1 = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _sort_into_levels(loss, p0, p1, locate)


def _ratio_of_parts(world_0: Independent, world_1: Independent) -> LikelihoodRatio:
    """The ratio of the coordinate that differs, or the sum over several."""
    ratios = [_ratio_of_values(*pair) for pair in zip(world_0.parts, world_1.parts, strict=True)]
    differing = [index for index, ratio in enumerate(ratios) if ratio.levels.any()]
    if len(differing) == 1:
        (place,) = differing
        single = ratios[place]
        return LikelihoodRatio(single.levels, single.level, lambda values: single.locate(values[:, place]))

    def add_ratios(values: np.ndarray) -> np.ndarray:
        # Sums of exact ratios: if the games of a pair share their noise, their sums differ by little else.
        total = np.zeros(len(values))
        for index in differing:
            logs = (law.parts[index].log_density(values[:, index]) for law in (world_0, world_1))
            total = total + _difference(*logs)
        return total

    return _sort_into_fixed_levels(add_ratios)


def _ratio_of_list(listed: np.ndarray, masses: np.ndarray, rows: Locate) -> LikelihoodRatio:
    """The ratio of listed views (v, ...) with masses (2, v); any other view gets 0."""
    known = Finite(listed, np.full(len(listed), 1 / len(listed)))
    loss = np.append(_log_ratio(masses), 0.0)

    def locate(views: np.ndarray) -> np.ndarray:
        index, is_known = known.place(rows(views))
        return np.where(is_known, index, len(loss) - 1)

    p0, p1 = np.column_stack([masses, np.zeros(2)])
    return _sort_into_levels(loss, p0, p1, locate)


def _sort_into_levels(loss: np.ndarray, p0: np.ndarray, p1: np.ndarray, locate: Locate) -> LikelihoodRatio:
    """Sort the ratios (m,) of cells with masses p0, p1 (m,) into levels, which are narrow in the tails."""
    values, which = np.unique(np.round(loss, _DECIMALS), return_inverse=True)
    which = which.ravel()
    if len(values) <= MAX_LEVELS:
        return LikelihoodRatio(values, which, locate)
    weight = np.zeros(len(values))
    for masses in (p0, p1):
        mass = np.bincount(which, weights=masses, minlength=len(values))
        below = np.cumsum(mass)
        beyond = np.minimum(below, below[-1] - below + mass)
        weight += mass / (beyond + _RARE)
    so_far = np.cumsum(weight)
    group = np.minimum((so_far - weight) / so_far[-1] * MAX_LEVELS, MAX_LEVELS - 1).astype(np.intp)
    starts = np.diff(group, prepend=-1) != 0
    level = np.cumsum(starts) - 1
    return LikelihoodRatio(values[starts], level[which], locate)


def _sort_into_fixed_levels(find_ratios: Callable[[np.ndarray], np.ndarray]) -> LikelihoodRatio:
    """Sort the ratios (n,) of values (n, ...), whose masses are not known, into levels 5 % apart."""
    above = np.geomspace(_SMALLEST_RATIO, _LARGEST_RATIO, MAX_LEVELS // 2 - 2)
    levels = np.concatenate([[-np.inf], -above[::-1], [0.0], above, [np.inf]])

    def locate(values: np.ndarray) -> np.ndarray:
        ratios = np.round(find_ratios(values), _DECIMALS)
        return np.searchsorted(levels, ratios, side="right") - 1

    return LikelihoodRatio(levels, np.arange(len(levels)), locate)


def _log_ratio(masses: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return _difference(*np.log(masses))


def _difference(log_0: np.ndarray, log_1: np.ndarray) -> np.ndarray:
    """log_1 − log_0; 0 where a view is impossible in both worlds."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(log_1 - log_0, nan=0.0, posinf=np.inf, neginf=-np.inf)
