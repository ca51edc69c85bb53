"""Bounds on the value of the rest of a game everywhere, from its value at some pairs of measures.

The value V(a, b) is the largest f·a - g·b of all adversaries, whose lines (f, g) hold the probabilities of a
guess "world 0" from each hidden state. Lines are lower bounds. V is sublinear, so that a decomposition of
(a, b) into pairs of known values and a remainder gives an upper bound. See docs/proofs/solver.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from audits.solver.linear_game import LinearGame

FINAL = 2  # rounds that are solved in closed form
_TABLE = 2**19  # numbers of a table of probabilities that are computed together
_EXACT = 12 * 68**2  # histories whose vectors are followed to bound what a coordinate reveals
_FLAT = 1e-15  # singular values of functionals that are taken as 0
_NEIGHBOURS = 60  # of the known pairs, from which a pair is composed
_LEADING = 12  # coordinates of each world by which a decomposition is chosen
_LINES = 64  # coordinates of each world by which lines are compared
_PULL = 0.03  # weight of the value of a decomposition beside that of its remainder, when it is chosen
_LEAST = 1e-15  # pairs of less mass are scaled as if they had this one
_SAME = 1e-9  # pairs whose leading coordinates differ by less share their bounds in the search
_KEY = 8  # leading coordinates of each world that tell pairs apart
_SIGNS = np.array([[1.0], [-1.0]])  # of f and g in a value


class FinalRounds:
    """Values of a game with at most two rounds left, in closed form, from tables of probabilities, in
    orthonormal coordinates in which those of the last rounds depend on few leading ones.

    Shapes: kernels (κ, k, m, m), those in use. number: (2, moves) that of each move in each world. one:
    (κ·k, m), from measures to probabilities of an outcome; two: (κ·k·k·κ, rank), of two outcomes.
    """

    def __init__(self, game: LinearGame) -> None:
        used, number = np.unique(game.which, return_inverse=True)
        kernels = game.kernels[used]
        self.number: np.ndarray = number.reshape(game.which.shape)
        kinds, outcomes, size, _ = kernels.shape
        one = (game.masses @ kernels).reshape(-1, size)
        two = np.einsum(
            "akij,blj->aklbi", kernels.swapaxes(-1, -2), one.reshape(kinds, outcomes, size)
        ).reshape(-1, size)
        _, strength, axes = np.linalg.svd(np.concatenate([two, one]), full_matrices=True)
        self.start = game.start @ axes.T
        self.masses = axes @ game.masses
        self.kernels = axes @ kernels @ axes.T
        self.halts = game.halts
        self.shape = kinds, outcomes
        self.one = one @ axes.T
        self.two = np.ascontiguousarray((two @ axes.T)[:, : (strength > _FLAT * strength[0]).sum()])

    def follow(self, measures: np.ndarray) -> np.ndarray:
        """Measures (n, m) after one round, (n, κ, k, m)."""
        reached = measures @ self.kernels.reshape(-1, measures.shape[-1]).T
        return reached.reshape(len(measures), *self.shape, -1)

    def guess(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(...): the value of a game that is over, for measures (..., m) of the two worlds."""
        return np.asarray(np.maximum((first - second) @ self.masses, 0))

    def move_values(self, left: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(n, moves): the values of measures (n, m) with one or two rounds left, for each first move."""
        p, q = ((measures @ self.one.T).reshape(-1, *self.shape) for measures in (first, second))
        ends = np.maximum(p[:, self.number[0]] - q[:, self.number[1]], 0)
        if left == 1:
            return np.asarray(ends.sum(axis=-1))
        total = ends[..., self.halts].sum(axis=-1)
        for piece in np.array_split(np.arange(len(first)), -(-len(first) * len(self.two) // _TABLE)):
            shape, rank = (*self.shape, *self.shape[::-1], len(piece)), self.two.shape[1]
            p, q = ((self.two @ part[piece][:, :rank].T).reshape(shape) for part in (first, second))
            for move, (one, other) in enumerate(self.number.T):
                for outcome in np.flatnonzero(~self.halts):
                    total[piece, move] += self._gain_last(p[one, outcome], q[other, outcome])
        return np.asarray(total)

    def _gain_last(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(n,): the value of the last round, for the probabilities (k, κ, n) of its outcomes."""
        total = np.zeros((self.number.shape[1], first.shape[2]))
        for one, other in zip(first, second, strict=True):
            gains = one[self.number[0]]
            gains -= other[self.number[1]]
            total += np.maximum(gains, 0, out=gains)
        return np.asarray(total.max(axis=0))

    def values(self, left: int, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(n,): the values of measures (n, m) with at most two rounds left."""
        return self.move_values(left, first, second).max(axis=1) if left else self.guess(first, second)

    def best_line(self, left: int, first: np.ndarray, second: np.ndarray) -> tuple[int, np.ndarray]:
        """The best first move for measures (m,), and the line (2, m) of the best adversary."""
        if not left:
            accept = float(self.guess(first, second) > 0)
            return -1, np.array([accept * self.masses] * 2)
        move = int(self.move_values(left, first[None], second[None])[0].argmax())
        one, other = (self.kernels[number] for number in self.number[:, move])
        after = [
            self.best_line(0 if halts else left - 1, one[outcome] @ first, other[outcome] @ second)[1]
            for outcome, halts in enumerate(self.halts)
        ]
        return move, self.join_lines(move, after)

    def join_lines(self, move: int, after: Sequence[np.ndarray]) -> np.ndarray:
        """The line (2, m) of an adversary that makes a move and goes on with a line after each outcome."""
        return np.array(
            [
                sum(line[world] @ self.kernels[number, outcome] for outcome, line in enumerate(after))
                for world, number in enumerate(self.number[:, move])
            ]
        )

    def deep_values(
        self, left: int, first: np.ndarray, second: np.ndarray, moves: np.ndarray | None = None
    ) -> np.ndarray:
        """(n,): the values of vectors (n, m) with any number of rounds left, by following all histories.
        moves: of which the first is one; None: any."""
        if left <= FINAL:
            return self.values(left, first, second)
        numbers = self.number if moves is None else self.number[:, moves]
        total = np.zeros((len(first), numbers.shape[1]))
        for outcome, halts in enumerate(self.halts):
            one, other = (
                (vectors @ self.kernels[:, outcome].swapaxes(-1, -2))[number].swapaxes(0, 1)
                for vectors, number in zip((first, second), numbers, strict=True)
            )  # (n, moves, m)
            size = first.shape[1]
            rest = 0 if halts else left - 1
            after = self.deep_values(rest, one.reshape(-1, size), other.reshape(-1, size))
            total += after.reshape(total.shape)
        return np.asarray(total.max(axis=1))

    def bound_coordinates(self, rounds: int, moves: np.ndarray | None = None) -> list[np.ndarray]:
        """For 0 to T rounds left, weights (2, m): f·r - g·s ≤ (Σr - Σs)/2 + Σ_j u_j·|c_j| + v_j·|d_j|, with
        c = (r + s)/2 and d = (r - s)/2; exact for each leading coordinate alone, while histories are few.
        moves: one of any two that are worth the same for all coordinates; None: all."""
        axes = np.eye(len(self.masses))
        largest = np.ones((2, len(axes)))  # no measure has a larger l1 than l2 norm
        branches = self.number.shape[1] * max(1, int((~self.halts).sum()))
        weights: list[np.ndarray] = []
        for left in range(rounds + 1):
            bounds = (
                np.minimum(largest, self._pull_weights(weights[-1], weights[0])) if left else largest.copy()
            )
            # Few pairs are composed from others with all rounds left.
            few = axes[: _EXACT // branches ** max(left - FINAL, 0) if left < rounds else 0]
            for own, sign in zip(bounds[:, : len(few)], (1, -1), strict=True):
                if len(few):
                    exact = (
                        self.deep_values(left, few, sign * few, moves) - few @ self.masses * (1 - sign) / 2
                    )
                    np.minimum(own, exact, out=own)
            weights.append(bounds)
        return weights

    def _pull_weights(self, after: np.ndarray, ended: np.ndarray) -> np.ndarray:
        """Weights (2, m) with one round more than those after it, or after an outcome that ends the game."""
        totals = np.zeros((self.number.shape[1], *after.shape))
        for total, one, other in zip(totals, *self.number, strict=True):
            for outcome, halts in enumerate(self.halts):
                first, second = self.kernels[one, outcome], self.kernels[other, outcome]
                same, apart = np.abs(first + second) / 2, np.abs(first - second) / 2
                common, difference = ended if halts else after
                total += common @ same + difference @ apart, common @ apart + difference @ same
        return np.asarray(totals.max(axis=0))


class BeliefPoints:
    """Pairs of measures, scaled such that both masses sum to 1, with bounds on their values for one number of
    rounds left. Shapes: pairs (n, 2, m); upper bounds (n, moves) for each first move, and (n,); lines
    (l, 2, m), with the signs of f and -g."""

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
        """Shares (n, known pairs) ≥ 0 in pairs (n, 2, m), and what the remainders add at most, (n,)."""
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
