"""Bounds on the value of the rest of a game everywhere, from its value at some pairs of measures.

The value V(a, b) of a pair of measures is the largest f·a - g·b of all adversaries. The line (f, g) of an
adversary holds the probabilities of a guess "world 0" from each hidden state of the two worlds. Every line is
a lower bound. V is sublinear, so a decomposition (a, b) = Σ λ_i (a_i, b_i) + (r, s) with λ ≥ 0 into pairs of
known values and a remainder gives an upper bound. See docs/proofs/solver.md.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from audits.solver.final_rounds import FinalRounds

_NEIGHBOURS = 60  # of the known pairs, from which a pair is composed
_LEADING = 12  # coordinates of each world by which a decomposition is chosen
_LINES = 64  # coordinates of each world by which lines are compared
_PULL = 0.03  # weight of the value of a decomposition beside that of its remainder, when it is chosen
_LEAST = 1e-15  # pairs of less mass are scaled as if they had this one
_SAME = 1e-9  # pairs whose leading coordinates differ by less share their bounds in the search
_KEY = 8  # leading coordinates of each world that tell pairs apart


class BeliefPoints:
    """Pairs of measures with bounds on their values, for one number of rounds left.

    Pairs are scaled such that both masses sum to 1. Shapes: pairs (n, 2, m); upper bounds (n, moves), for
    each first move, and (n,) for the best; lines (l, 2, m), with the signs of f and -g.
    """

    def __init__(self, game: FinalRounds, weights: np.ndarray) -> None:
        """weights: (2, m) as of `FinalRounds.bound_coordinates`."""
        size, moves = len(game.masses), game.number.shape[1]
        self._game, self._weights = game, weights
        self._pairs, self._leading = _Rows(2, size), _Rows(2 * min(_LEADING, size))
        self._upper, self._values = _Rows(moves), _Rows()
        self._lines, self._short = _Rows(2, size), _Rows(2 * min(_LINES, size))
        self._moves: list[int] = []
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    @property
    def pairs(self) -> np.ndarray:
        """(n, 2, m): those with known bounds."""
        return self._pairs.rows

    def bound_moves(self, pairs: np.ndarray) -> np.ndarray:
        """(n, moves): upper bounds on the values of pairs (n, 2, m) for each first move."""
        return self._bound_by(self._upper.rows, pairs)

    def bound(self, pairs: np.ndarray) -> np.ndarray:
        """(n,): upper bounds on the values of pairs (n, 2, m)."""
        return self._bound_by(self._values.rows[:, None], pairs)[:, 0]

    def _bound_by(self, known: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """(n, k): bounds for pairs (n, 2, m), from those (known pairs, k) of the known ones."""
        mass = self._mass(pairs)
        pairs = pairs / mass[:, None, None]
        shares, remainder = self._compose(pairs)
        upper = shares @ known + remainder[:, None]
        for own, key in enumerate(_keys(pairs)):
            if key in self._places:
                place = self._places[key]
                apart = self._bound_remainders(pairs[own] - self._pairs.rows[place])
                upper[own] = np.minimum(upper[own], known[place] + apart)
        return np.asarray(np.minimum(upper, (pairs[:, 0] @ self._game.masses)[:, None]) * mass[:, None])

    def best_lines(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,): lower bounds on the values of pairs (n, 2, m), and the best line, -1 for a guess at once."""
        guess = self._game.guess(pairs[:, 0], pairs[:, 1])
        if not self._moves:
            return guess, np.full(len(pairs), -1)
        line = (_lead(pairs, _LINES) @ self._short.rows.T).argmax(axis=1)
        value = np.einsum("nwm,nwm->n", pairs, self._lines.rows[line])
        return np.maximum(guess, value), np.where(value > guess, line, -1)

    def line(self, number: int) -> tuple[int, np.ndarray]:
        """The first move of a line, and its (f, g), (2, m)."""
        return self._moves[number], self._lines.rows[number] * _SIGNS

    def add_line(self, move: int, line: np.ndarray) -> None:
        """Add an adversary (f, g), (2, m), with this first move."""
        self._moves.append(move)
        self._lines.append(line * _SIGNS)
        self._short.append(_lead((line * _SIGNS)[None], _LINES)[0])

    def add_bounds(self, pairs: np.ndarray, upper: np.ndarray, values: np.ndarray) -> None:
        """Add pairs (n, 2, m) with upper bounds for each first move (n, moves) and for the best (n,)."""
        mass = self._mass(pairs)
        pairs, upper, values = pairs / mass[:, None, None], upper / mass[:, None], values / mass
        for pair, key, moves, value in zip(pairs, _keys(pairs), upper, values, strict=True):
            place = self._places.setdefault(key, len(self))
            if place == len(self._pairs.rows):
                self._pairs.append(pair)
                self._leading.append(self._weigh(pair[None])[0])
                self._upper.append(moves)
                self._values.append(value)
                continue
            apart = self._bound_remainders(self._pairs.rows[place] - pair)
            self._upper.rows[place] = np.minimum(self._upper.rows[place], moves + apart)
            self._values.rows[place] = min(self._values.rows[place], value + apart)

    def _mass(self, pairs: np.ndarray) -> np.ndarray:
        return np.maximum((pairs @ self._game.masses).sum(axis=1), _LEAST)

    def _weigh(self, pairs: np.ndarray) -> np.ndarray:
        return _lead(_split(pairs) * self._weights, _LEADING)

    def _bound_remainders(self, remainders: np.ndarray) -> np.ndarray:
        """(...): the largest f·r - g·s of all adversaries, at most, for remainders (..., 2, m)."""
        mass = remainders @ self._game.masses
        by_coordinates = (np.abs(_split(remainders)) * self._weights).sum(axis=(-2, -1))
        by_norms = np.linalg.norm(remainders, axis=-1).sum(axis=-1) / 2
        return np.asarray(np.minimum(by_coordinates, by_norms) + (mass[..., 0] - mass[..., 1]) / 2)

    def _compose(self, pairs: np.ndarray) -> tuple[csr_array, np.ndarray]:
        """Decompose pairs (n, 2, m) into known ones.

        Shares (n, known pairs), not negative, and what the remainder adds to the value at most, (n,).
        """
        known = self._leading.rows
        if not len(known):
            return csr_array((len(pairs), 0)), self._bound_remainders(pairs)
        wanted = self._weigh(pairs)
        count = min(_NEIGHBOURS, len(known))
        distance = (known**2).sum(axis=1) - 2 * wanted @ known.T
        nearest = np.argpartition(distance, count - 1, axis=1)[:, :count]
        shares = np.zeros((len(pairs), count))
        for own, places in enumerate(nearest):
            matrix = np.vstack([known[places].T, _PULL * self._values.rows[places]])
            try:
                shares[own] = nnls(matrix, np.append(wanted[own], 0.0))[0]
            except RuntimeError:  # it did not converge: all is remainder
                continue
        start = np.arange(len(pairs) + 1) * count
        composed = csr_array((shares.ravel(), nearest.ravel(), start), shape=(len(pairs), len(known)))
        composed.eliminate_zeros()
        flat = self._pairs.rows.reshape(len(known), -1)
        return composed, self._bound_remainders(pairs - (composed @ flat).reshape(pairs.shape))


_SIGNS = np.array([[1.0], [-1.0]])  # of f and g in a value


def _split(pairs: np.ndarray) -> np.ndarray:
    """What the vectors of both worlds (..., 2, m) have in common, and half of their difference."""
    first, second = pairs[..., 0, :], pairs[..., 1, :]
    return np.stack([first + second, first - second], axis=-2) / 2


class _Rows:
    """Rows of one shape, of which more can be appended."""

    def __init__(self, *shape: int) -> None:
        self._data, self._count = np.empty((16, *shape)), 0

    @property
    def rows(self) -> np.ndarray:
        return self._data[: self._count]

    def append(self, row: np.ndarray | float) -> None:
        if self._count == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self._count] = row
        self._count += 1


def _lead(pairs: np.ndarray, coordinates: int) -> np.ndarray:
    """(n, ...) the leading coordinates of each world."""
    return np.ascontiguousarray(pairs[..., :coordinates]).reshape(len(pairs), -1)


def _keys(pairs: np.ndarray) -> list[bytes]:
    """What is equal for pairs (n, 2, m) that hardly differ, in most cases."""
    return [row.tobytes() for row in np.round(_lead(pairs, _KEY) / _SAME).astype(np.int64)]
