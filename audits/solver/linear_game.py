"""A two-world game as matrices: finitely many moves, outcomes and hidden states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import attrs
import numpy as np

from arena import Unsupported

_NEGLIGIBLE = 1e-13  # of a measure that has mass 1: what is dropped when hidden states are compressed
MOST_ROUNDS = 16  # of a game with hidden states that are compressed, or whose histories are searched
_SMALL = 4  # hidden states that are not compressed
_ROUNDING = 1e-15  # of probabilities; a move that tells more by less than this is taken as dominated
_SKETCH = 200  # combinations of measures from which their axes are found
_MOST_NUMBERS = 2**28  # of the measures that one round leads to, 2 GB

Watch = Callable[[str, int, int], None]  # receives a stage of a computation, how much is done, and the whole
Step = Callable[[np.ndarray], np.ndarray]  # from measures (n, m) those after each outcome, (k, n, m)


def ignore_progress(stage: str, done: int, total: int) -> None:
    """A `Watch` that shows nothing."""


@attrs.frozen(eq=False, kw_only=True)
class LinearGame:
    """A game of T rounds in which an adversary chooses one of finitely many moves a round.

    In world w and with measure a (m,) over the hidden states, move x has outcome o with the measure
    kernels[which[w, x], o] @ a over the next states, whose mass is `masses @ a'`. Every outcome is shown.

    start: (2, m). kernels: (distinct kernels, k, m, m). which: (2, moves). masses: (m,). halts: (k,) bool,
    the outcomes that end the game. dropped: (distinct kernels, k, m), the l2 norm of what is left out of the
    measure that a kernel makes of each unit vector. No measure's l1 norm exceeds its coordinates' l2 norm.
    """

    rounds: int
    start: np.ndarray
    kernels: np.ndarray
    which: np.ndarray
    masses: np.ndarray
    halts: np.ndarray
    dropped: np.ndarray = attrs.field(
        default=attrs.Factory(lambda self: np.zeros(self.kernels.shape[:3]), takes_self=True)
    )

    @property
    def moves(self) -> int:
        return int(self.which.shape[1])

    @property
    def exchanged(self) -> LinearGame:
        return attrs.evolve(self, start=self.start[::-1], which=self.which[::-1])

    @property
    def mirrored_moves(self) -> np.ndarray | None:
        """(moves,): the number of each move with the worlds exchanged, if that gives the same game."""
        numbers = {(int(one), int(other)): move for move, (one, other) in enumerate(self.which.T)}
        if not (self.start[0] == self.start[1]).all() or any(pair[::-1] not in numbers for pair in numbers):
            return None
        return np.array([numbers[int(other), int(one)] for one, other in self.which.T])


def compress(
    steps: Sequence[Step],
    which: np.ndarray,
    start: np.ndarray,
    *,
    rounds: int,
    halts: np.ndarray,
    watch: Watch = ignore_progress,
) -> LinearGame:
    """The game with the fewest coordinates that hold all measures of T rounds, but for parts below 1e-13,
    noted in `dropped`: 2,000 nodes of a hidden number become some 40 coordinates. steps: of each kernel.
    start: (2, m). Raises: Unsupported if there are too many rounds for that, or too many moves."""
    size = start.shape[1]
    if size <= _SMALL:
        # The l1 norm is at most √m times the l2 norm.
        scale = math.sqrt(size)
        return LinearGame(
            rounds=rounds,
            start=start * scale,
            kernels=np.array([step(np.eye(size)).swapaxes(-1, -2) for step in steps]),
            which=which,
            masses=np.full(size, 1 / scale),
            halts=halts,
        )
    if rounds > MOST_ROUNDS:
        raise Unsupported(
            f"the game of a learner with {size:,} hidden states is solved for at most {MOST_ROUNDS} rounds",
            value=rounds,
            remedy=f"Allow at most {MOST_ROUNDS} rounds.",
        )

    def step_all(measures: np.ndarray) -> np.ndarray:
        if len(steps) * len(halts) * len(measures) * size > _MOST_NUMBERS:
            raise Unsupported(
                f"{len(steps):,} moves on {size:,} hidden states lead to more measures than memory holds",
                remedy="Solve it for fewer rounds, or with fewer teachers.",
            )
        return np.concatenate([step(measures / scale) * scale for step in steps])

    weights = _mean_measure(steps, start, rounds)
    if not weights.all():
        reached = np.flatnonzero(weights)
        among = [partial(_step_among, step, reached, size) for step in steps]
        return compress(among, which, start[:, reached], rounds=rounds, halts=halts, watch=watch)
    # By Cauchy-Schwarz, a measure f has Σ|f_i| ≤ √(Σ f_i²/w_i), for weights w that sum to 1.
    scale = 1 / np.sqrt(weights)
    basis = _reachable_axes(start * scale, 1 / scale, step_all, rounds, _NEGLIGIBLE, watch)
    kernels, dropped = [], []
    for step in steps:
        reached = step(basis / scale) * scale
        held = reached @ basis.T
        kernels.append(held.swapaxes(-1, -2))
        dropped.append(np.linalg.norm(reached - held @ basis, axis=2))
    return LinearGame(
        rounds=rounds,
        start=start * scale @ basis.T,
        kernels=np.array(kernels),
        which=which,
        masses=(basis / scale).sum(axis=1),
        halts=halts,
        dropped=np.array(dropped),
    )


def span_game(game: LinearGame, kernels: np.ndarray, negligible: float) -> np.ndarray:
    """Axes (d, m) of what a game reaches with some kernels (κ, k, m, m), but for negligible parts."""
    transposed = kernels.swapaxes(-1, -2)
    return _reachable_axes(game.start, game.masses, lambda m: m @ transposed, game.rounds, negligible)


def project_game(game: LinearGame, basis: np.ndarray) -> LinearGame:
    """The game in the coordinates of an orthonormal basis (d, m), without regard to what that drops."""
    kernels = basis @ game.kernels @ basis.T
    return attrs.evolve(
        game,
        start=game.start @ basis.T,
        kernels=kernels,
        masses=basis @ game.masses,
        dropped=np.zeros(kernels.shape[:3]),
    )


def _reachable_axes(
    start: np.ndarray,
    masses: np.ndarray,
    follow: Step,
    rounds: int,
    negligible: float,
    watch: Watch = ignore_progress,
) -> np.ndarray:
    """Axes (d, m) of the measures before each round but for small parts, with `masses` in their span."""
    size = start.shape[1]
    basis, reached = np.empty((0, size)), start
    for done in range(rounds):
        watch("matrices", done, rounds)
        axes, sizes = _principal_axes(reached, basis, negligible if done else _ROUNDING)
        if not len(axes):
            break
        basis = np.vstack([basis, axes])
        reached = follow(sizes[:, None] * axes).reshape(-1, size)
    return np.vstack([basis, _principal_axes(masses[None], basis, negligible)[0]])


def _principal_axes(
    measures: np.ndarray, basis: np.ndarray, negligible: float
) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal axes (r, m) of measures (n, m) outside a basis (d, m), and their singular values (r,)."""
    found, sizes = np.empty((0, measures.shape[1])), np.empty(0)
    generator = np.random.default_rng(0)
    while True:
        known = np.vstack([basis, found])
        rest = measures - measures @ known.T @ known
        if len(rest) > _SKETCH:  # random combinations span the same axes, if those are few
            rest = generator.standard_normal((_SKETCH, len(rest))) / np.sqrt(_SKETCH) @ rest
        _, values, axes = np.linalg.svd(rest, full_matrices=False)
        axes, values = axes[values > negligible], values[values > negligible]
        for _ in range(2):  # axes of small singular values are rounding to some extent
            axes = np.linalg.qr((axes - axes @ known.T @ known).T)[0].T
        found, sizes = np.vstack([found, axes]), np.append(sizes, values)
        if len(axes) < _SKETCH:
            return found, sizes


def _mean_measure(steps: Sequence[Step], start: np.ndarray, rounds: int) -> np.ndarray:
    """(m,) weights that sum to 1: the states during a game of random moves, in random rounds and worlds; 0 of
    states that no game reaches."""
    total = measure = start.mean(axis=0)
    for _ in range(rounds):  # states that are first reached in the last round have mass too
        measure = np.mean([step(measure[None]).sum(axis=(0, 1)) for step in steps], axis=0)
        total = total + measure
    return np.asarray(total / total.sum())


def _step_among(step: Step, states: np.ndarray, size: int, measures: np.ndarray) -> np.ndarray:
    """The step of some of the states, which lead to these alone within T rounds."""
    whole = np.zeros((len(measures), size))
    whole[:, states] = measures
    return step(whole)[..., states]


def drop_dominated(game: LinearGame) -> tuple[LinearGame, np.ndarray]:
    """The game without moves that tell less than another, and the numbers of the moves that are kept.

    Where nothing is remembered (m = 1) and no outcome ends the game, a move tells no more than another if its
    δ(ε) is nowhere larger (Blackwell), in particular not at the kinks of the other. Other games are kept.
    """
    every = np.arange(game.moves)
    if len(game.masses) > 1 or game.halts.any():
        return game, every
    first, second = (game.kernels[which, :, 0, 0] for which in game.which)  # (moves, k) probabilities
    kept: list[int] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        kinks = np.where(second > 0, first / second, 0)
    own = np.array([_hockey_sticks(first[move], second[move], kinks[move]) for move in every])
    for move in np.argsort(-own.sum(axis=1), kind="stable"):
        theirs = _hockey_sticks(first[move], second[move], kinks[kept])
        # Also z = 0 and infinite z: what only one world can show.
        sure = (
            (first * (second == 0)).sum(axis=1)[kept] >= first[move][second[move] == 0].sum() - _ROUNDING
        ) & ((second * (first == 0)).sum(axis=1)[kept] >= second[move][first[move] == 0].sum() - _ROUNDING)
        if not (sure & (own[kept] >= theirs - _ROUNDING).all(axis=1)).any():
            kept.append(int(move))
    places = np.sort(kept)
    return attrs.evolve(game, which=game.which[:, places]), places


def _hockey_sticks(first: np.ndarray, second: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Σ_o max(0, p_o - z·q_o) for probabilities (k,) and any shape of z."""
    return np.asarray(np.maximum(first - z[..., None] * second, 0).sum(axis=-1))
