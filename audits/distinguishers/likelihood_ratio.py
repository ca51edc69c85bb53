"""The log-likelihood ratio of a view: no distinguisher tells the worlds apart better.

It takes a learner that tells its law, and an adversary without coins. The ratio is worked out once, for
every view or for the cells of a fine grid of values, and sorted into at most 512 levels: to play a block then
takes a look-up a game. A test that knows the level of a score instead of the score is as valid, and hardly
less sharp: levels are narrow where views are rare.

Under Figure1 and Voting views are listed as `arena exact` lists them. LevelScores come from rounded ratios; else
events would be chosen by the last bits of released values, and noise that was added in floating point gives
worlds away by those: true of the code, but not what the told law says.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np

from arena import (
    Adversary,
    Branches,
    Density,
    Finite,
    Independent,
    Learner,
    Played,
    Referee,
    Released,
    Unsupported,
    ValueLaw,
)
from audits.exact.path_enumeration import ANSWERING, PRUNE, PathEnumeration, answer_letters
from audits.exact.view_laws import released_value_laws

MOST_LEVELS = 512
_MOST_PATHS = 50_000
_CELLS = 16_384  # of the grid over a density
_DECIMALS = 9

Place = Callable[[np.ndarray], np.ndarray]


@attrs.frozen(eq=False)
class LevelScores:
    """Scores by level.

    Shapes: levels (k,), rising, the ratio at which each begins; of_game (n,), the level of each game.
    """

    levels: np.ndarray
    of_game: np.ndarray

    def __getitem__(self, games: np.ndarray) -> LevelScores:
        return LevelScores(self.levels, self.of_game[games])


@attrs.frozen(eq=False)
class LikelihoodRatio:
    """log P(view in world 1) - log P(view in world 0), for listed views or cells.

    Shapes: levels (k,); level (m,), of each listed view; place: views or values (n, ...) -> which (n,).
    """

    levels: np.ndarray
    level: np.ndarray
    place: Place

    def __call__(self, seen: np.ndarray) -> LevelScores:
        return LevelScores(self.levels, self.level[self.place(seen)])


def likelihood_ratios(
    learner: Learner, adversary: Adversary, referee: Referee, played: Played
) -> LevelScores:
    """The log-likelihood ratios of the views of a recorded table, by level; infinite where a view is
    impossible in one world.

    Raises: Unsupported if the learner does not tell its law, if the adversary draws coins, if there are too
    many views to list, or before an online referee.
    """
    assert played.view is not None
    ratio = build_likelihood_ratio(learner, adversary, referee)
    if referee.name in ANSWERING:
        return ratio(answer_letters(played).T)
    (reply,) = (reply for reply in played.view.replies if isinstance(reply, Released))
    (values,) = reply.parts
    return ratio(values)


@lru_cache(maxsize=64)
def build_likelihood_ratio(learner: Learner, adversary: Adversary, referee: Referee) -> LikelihoodRatio:
    """The ratio for these players; raises as `likelihood_ratios` does."""
    if referee.name in ANSWERING:
        return _of_answers(learner, adversary, referee)
    if referee.name != "Release":
        raise Unsupported(
            f"a likelihood ratio is to be had under Figure1, Voting and Release, not under {referee.name}",
            remedy="Let a distinguisher be learned, or return a score.",
        )
    return _of_values(*released_value_laws(learner, adversary, referee))


# --- answers ------------------------------------------------------------------------------------------------


def _of_answers(learner: Learner, adversary: Adversary, referee: Referee) -> LikelihoodRatio:
    walk = PathEnumeration(learner, adversary, referee, prune=PRUNE, most_paths=_MOST_PATHS)
    walk.walk()
    views, masses = walk.listed()
    rows = np.zeros((len(views), max(len(view) for view in views)))
    for row, view in zip(rows, views, strict=True):
        row[: len(view)] = list(view)
    known = Finite(rows, np.full(len(rows), 1 / len(rows)))
    # After a halt nothing is shown, whatever the letters of the table say.
    return _listed(masses, known, lambda letters: _cut(letters, rows.shape[1]))


def _cut(letters: np.ndarray, rounds: int) -> np.ndarray:
    """The letters of each game (n, rounds) up to the one that shows a halt, as views have them."""
    shown = letters[:, :rounds].astype(np.float64)
    over = np.cumsum(shown >= 4, axis=1) - (shown >= 4) > 0
    shown[over] = 0.0
    return shown


# --- values -------------------------------------------------------------------------------------------------


def _of_values(world_0: ValueLaw, world_1: ValueLaw) -> LikelihoodRatio:
    if isinstance(world_0, Finite) and isinstance(world_1, Finite):
        both = np.unique(np.concatenate([world_0.values, world_1.values]), axis=0)
        masses = np.exp([law.log_density(both) for law in (world_0, world_1)])
        return _listed(masses, Finite(both, np.full(len(both), 1 / len(both))), lambda values: values)
    if isinstance(world_0, Density) and isinstance(world_1, Density):
        line = _Line.of(world_0, world_1)
        return _levelled(line.loss, line.p0, line.p1, lambda values: line.place(values.reshape(-1)))
    if isinstance(world_0, Branches) and isinstance(world_1, Branches):
        return _of_branches(world_0, world_1)
    if isinstance(world_0, Independent) and isinstance(world_1, Independent):
        return _of_parts(world_0, world_1)
    raise Unsupported(
        "the laws of both worlds must be of one kind for a likelihood ratio",
        value=[type(world_0).__name__, type(world_1).__name__],
    )


@attrs.frozen(eq=False)
class _Line:
    """A grid over the values of a density, with a cell beyond each end: ratio and masses of every cell."""

    low: float
    per_unit: float
    loss: np.ndarray
    p0: np.ndarray
    p1: np.ndarray

    @classmethod
    def of(cls, world_0: Density, world_1: Density) -> _Line:
        low, high = min(world_0.low, world_1.low), max(world_0.high, world_1.high)
        width = (high - low) / _CELLS
        middle = low + width * (np.arange(-1, _CELLS + 1) + 0.5)
        logs = [law.log_density(middle) for law in (world_0, world_1)]
        masses = (width * np.exp(log) for log in logs)
        return cls(low, 1 / width, _difference(*logs), *masses)

    def place(self, values: np.ndarray) -> np.ndarray:
        cell = (np.asarray(values, np.float64) - self.low) * self.per_unit
        return np.clip(np.floor(cell), -1, _CELLS).astype(np.intp) + 1


def _of_branches(world_0: Branches, world_1: Branches) -> LikelihoodRatio:
    """The cells of all branches in a row; a branch without a number is one cell."""
    starts, parts = [0], []
    lines: list[_Line | None] = []
    for one, other in zip(world_0.parts, world_1.parts, strict=True):
        if isinstance(one, Density) and isinstance(other, Density):
            line = _Line.of(one, other)
            lines.append(line)
            parts.append((line.loss, line.p0, line.p1))
        elif not isinstance(one, Density) and not isinstance(other, Density):
            lines.append(None)
            masses = np.array([[one], [other]], float)
            parts.append((_difference(*_logs(masses)), *masses))
        else:
            raise Unsupported("a branch shows a number in both worlds or in none")
        starts.append(starts[-1] + len(parts[-1][0]))

    def place(values: np.ndarray) -> np.ndarray:
        branch, number = world_0.read(values)
        found = np.take(starts, branch)
        for index, line in enumerate(lines):
            here = branch == index
            if line is not None and here.any():
                found[here] += line.place(number[here])
        return np.asarray(found)

    loss, p0, p1 = (np.concatenate(column) for column in zip(*parts, strict=True))
    return _levelled(loss, p0, p1, place)


def _of_parts(world_0: Independent, world_1: Independent) -> LikelihoodRatio:
    """Of a vector that differs in one coordinate, that coordinate's; else the sum over the coordinates."""
    ratios = [_of_values(*pair) for pair in zip(world_0.parts, world_1.parts, strict=True)]
    telling = [index for index, ratio in enumerate(ratios) if ratio.levels.any()]
    if len(telling) == 1:
        (index,) = telling
        alone = ratios[index]
        return LikelihoodRatio(alone.levels, alone.level, lambda values: alone.place(values[:, index]))
    most = sum(float(np.abs(_finite(ratio.levels)).max(initial=0.0)) for ratio in ratios)
    grid = np.linspace(-most, most, MOST_LEVELS - 2) if most else np.zeros(1)

    def place(values: np.ndarray) -> np.ndarray:
        total = np.zeros(len(values))
        for index in telling:
            part = ratios[index]
            total += part.levels[part.level[part.place(values[:, index])]]
        return np.searchsorted(grid, total, side="right")

    levels = np.concatenate([[-np.inf], grid])
    return LikelihoodRatio(levels, np.arange(len(levels)), place)


# --- levels -------------------------------------------------------------------------------------------------


def _listed(masses: np.ndarray, known: Finite, rows: Place) -> LikelihoodRatio:
    """For listed views of masses (2, v); one that is not listed says nothing."""
    loss = np.append(_difference(*_logs(masses)), 0.0)

    def place(seen: np.ndarray) -> np.ndarray:
        index, found = known.place(rows(seen))
        return np.where(found, index, len(loss) - 1)

    p0, p1 = np.column_stack([masses, np.zeros(2)])
    return _levelled(loss, p0, p1, place)


def _levelled(loss: np.ndarray, p0: np.ndarray, p1: np.ndarray, place: Place) -> LikelihoodRatio:
    """Sort the ratios (m,) of cells of masses p0, p1 (m,) into levels, narrow where little lies beyond."""
    values, which = np.unique(np.round(loss, _DECIMALS), return_inverse=True)
    which = which.ravel()
    if len(values) <= MOST_LEVELS:
        return LikelihoodRatio(values, which, place)
    weight = np.zeros(len(values))
    for masses in (p0, p1):
        mass = np.bincount(which, weights=masses, minlength=len(values))
        below = np.cumsum(mass)
        beyond = np.minimum(below, below[-1] - below + mass)
        weight += np.divide(mass, beyond, out=np.zeros_like(mass), where=beyond > 0)
    so_far = np.cumsum(weight)
    group = np.minimum((so_far - weight) / so_far[-1] * MOST_LEVELS, MOST_LEVELS - 1).astype(np.intp)
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return LikelihoodRatio(
        values[first], (np.cumsum(np.isin(np.arange(len(group)), first)) - 1)[which], place
    )


def _logs(masses: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(masses))


def _difference(log_0: np.ndarray, log_1: np.ndarray) -> np.ndarray:
    """log_1 - log_0; 0 where a view is impossible in both worlds."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(log_1 - log_0, nan=0.0, posinf=np.inf, neginf=-np.inf)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.asarray(values[np.isfinite(values)])
