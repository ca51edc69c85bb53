"""The last rounds of a two-world game in closed form, and bounds on what a coordinate adds to its value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from audits.solver.linear_game import LinearGame

FINAL = 2  # rounds that are solved in closed form
_PIECE = 2**19
_EXACT = 12 * 68**2  # histories whose vectors are followed to bound what a coordinate reveals
_FLAT = 1e-15  # singular values of functionals that are taken as 0


class FinalRounds:
    """Values of a game with at most two rounds left, from tables of probabilities.

    The game is taken in orthonormal coordinates in which the probabilities of the last rounds depend on few
    leading ones.

    Shapes: kernels (κ, k, m, m), those in use. number: (2, moves) that of each move in each world. one:
    (κ·k, m), from measures to the probabilities of an outcome; two: (κ·k·k·κ, rank), of two outcomes, from
    the leading coordinates. Axes of the latter: the first kernel, both outcomes, the second kernel.
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
        for piece in np.array_split(np.arange(len(first)), -(-len(first) * len(self.two) // _PIECE)):
            p, q = (self._follow_two(measures[piece]) for measures in (first, second))
            for move, (one, other) in enumerate(self.number.T):
                for outcome in np.flatnonzero(~self.halts):
                    total[piece, move] += self._gain_last(p[one, outcome], q[other, outcome])
        return np.asarray(total)

    def _follow_two(self, measures: np.ndarray) -> np.ndarray:
        """(κ, k, k, κ, n): the probabilities of two outcomes, for measures (n, m)."""
        kinds, outcomes = self.shape
        two = self.two @ measures[:, : self.two.shape[1]].T
        return two.reshape(kinds, outcomes, outcomes, kinds, len(measures))

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
        """The best first move for measures (m,), and the line (2, m) of the best adversary.

        A line (f, g) holds the probabilities of a guess "world 0" from each hidden state, so that the value
        is f·first - g·second for all measures, with this adversary.
        """
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

        moves: of which the first is one; None: any.
        """
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
        """For 0 to T rounds left, weights (2, m): f·r - g·s ≤ (Σr - Σs)/2 + Σ_j u_j·|c_j| + v_j·|d_j|.

        c = (r + s)/2 is the part that vectors r and s of the two worlds have in common, d = (r - s)/2. The
        weights are exact for each of the leading coordinates alone, while histories are few.

        moves: one of any two that are worth the same for all coordinates; None: all.
        """
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
