"""A two-world game as matrices: finitely many moves, outcomes and hidden states."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np

_NEGLIGIBLE = 1e-13  # of a measure that has mass 1: what is dropped when hidden states are compressed
_SMALL = 4  # hidden states that are not compressed
_SKETCH = 200  # combinations of measures from which their axes are found

Step = Callable[[np.ndarray], np.ndarray]  # from measures (n, m) those after each outcome, (k, n, m)


@attrs.frozen(eq=False, kw_only=True)
class LinearGame:
    """A game of T rounds in which an adversary chooses one of finitely many moves a round.

    In world w and with measure a (m,) over the hidden states, move x has outcome o with the measure
    kernels[which[w, x], o] @ a over the next states, whose mass `masses @ a'` is the probability of history
    and outcome. Every outcome is shown.

    rounds: T. start: (2, m). kernels: (distinct kernels, k, m, m). which: (2, moves). masses: (m,). halts:
    (k,) bool, the outcomes that end the game. Coordinates are such that the l1 norm of a measure is at most
    their l2 norm.
    """

    rounds: int
    start: np.ndarray
    kernels: np.ndarray
    which: np.ndarray
    masses: np.ndarray
    halts: np.ndarray

    @property
    def moves(self) -> int:
        """How many moves there are."""
        return int(self.which.shape[1])


def compress(
    steps: Sequence[Step], which: np.ndarray, start: np.ndarray, *, rounds: int, halts: np.ndarray
) -> LinearGame:
    """The game with the fewest coordinates that hold all measures of T rounds, to 1e-13.

    A hidden number with a quadrature of 2,000 nodes becomes some 40 coordinates: probabilities of answers are
    smooth in it, and so are all measures that a game can reach. steps: of each kernel. start: (2, m).
    """
    # By Cauchy-Schwarz, a measure f has Σ|f_i| ≤ √(Σ f_i²/w_i), for weights w that sum to 1.
    scale = 1 / np.sqrt(_mean_measure(steps, start, rounds))
    basis = np.eye(len(scale)) if len(scale) <= _SMALL else np.empty((0, len(scale)))
    reached = start * scale
    for _ in range(rounds if len(basis) < len(scale) else 0):
        axes, sizes = _principal_axes(reached, basis)
        if not len(axes):
            break
        basis = np.vstack([basis, axes])
        reached = np.concatenate([step(sizes[:, None] * axes / scale) * scale for step in steps])
        reached = reached.reshape(-1, len(scale))
    return LinearGame(
        rounds=rounds,
        start=start * scale @ basis.T,
        kernels=np.array([(step(basis / scale) * scale @ basis.T).swapaxes(-1, -2) for step in steps]),
        which=which,
        masses=(basis / scale).sum(axis=1),
        halts=halts,
    )


def _principal_axes(measures: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal axes (r, m) of measures (n, m) outside a basis (d, m), and their singular values (r,)."""
    measures = measures - measures @ basis.T @ basis
    if len(measures) > _SKETCH:  # random combinations span the same axes, and there are few
        mix = np.random.default_rng(0).standard_normal((_SKETCH, len(measures))) / np.sqrt(_SKETCH)
        measures = mix @ measures
    _, values, axes = np.linalg.svd(measures, full_matrices=False)
    axes, values = axes[values > _NEGLIGIBLE], values[values > _NEGLIGIBLE]
    for _ in range(2):  # axes of small singular values are rounding to some extent
        axes = np.linalg.qr((axes - axes @ basis.T @ basis).T)[0].T
    return axes, values


def _mean_measure(steps: Sequence[Step], start: np.ndarray, rounds: int) -> np.ndarray:
    """(m,) weights that sum to 1: the states during a game of random moves, in random rounds and worlds."""
    total = measure = start.mean(axis=0)
    for _ in range(rounds - 1):
        measure = np.mean([step(measure[None]).sum(axis=(0, 1)) for step in steps], axis=0)
        total = total + measure
    total = np.maximum(total, np.finfo(float).tiny)
    return np.asarray(total / total.sum())
