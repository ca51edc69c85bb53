"""Halfspaces with margin for tests: targets, points that they classify with it, and plain learners."""

from __future__ import annotations

import math

import numpy as np

from arena.concepts.halfspaces import products

KINDS = ("signs", "cube", "trits")


def target(rng: np.random.Generator, dimension: int, *, relevant: int) -> np.ndarray:
    """(d,): weights of sum 1 on `relevant` coordinates, in unequal parts."""
    weights = np.zeros(dimension)
    weights[rng.choice(dimension, min(relevant, dimension), replace=False)] = 1
    weights *= rng.uniform(0.3, 1, dimension)
    return weights / weights.sum()


def pool(
    rng: np.random.Generator, v: np.ndarray, margin: float, *, kind: str = "signs", size: int = 400
) -> tuple[np.ndarray, np.ndarray]:
    """Points of which v has the margin, with its labels: (k, d), (k,) of 0 and 1, k at most `size`."""
    shape = (4 * size, len(v))
    if kind == "signs":
        points = rng.integers(0, 2, shape) * 2.0 - 1
    elif kind == "trits":
        points = rng.integers(-1, 2, shape).astype(float)
    else:
        points = rng.uniform(-1, 1, shape)
        # Two relevant coordinates of uniform points seldom have much of a product together.
        points[:size] = np.sign(points[:size])
    product = points @ v
    clear = np.flatnonzero(np.abs(product) >= margin)[:size]
    return points[clear], (product[clear] > 0).astype(int)


def products_with(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(k,): the products of one game's weights (d,) with points (k, d), rounded as at a table."""
    return products(np.broadcast_to(weights, points.shape), points)


class OneWinnow:
    """ConfidentWinnow for one game, as it is printed: products, exponentials, a division."""

    def __init__(self, dimension: int, *, rate: float, unsure: float = 0.0) -> None:
        self.weights = [1 / dimension] * dimension
        self.rate, self.unsure, self.updates = rate, unsure, 0

    def product(self, x: np.ndarray) -> float:
        return math.fsum(w * float(c) for w, c in zip(self.weights, x, strict=True))

    def generic(self, rng: np.random.Generator, points: np.ndarray) -> np.ndarray:
        """One of the points, (d,), at which rounding decides nothing."""
        while True:
            x: np.ndarray = points[rng.integers(len(points))]
            product = abs(self.product(x))
            if product > 1e-9 and abs(product - self.unsure) > 1e-9:
                return x

    def observe(self, x: np.ndarray, y: int, bit: bool = False) -> None:
        sign = 1 if y == 1 else -1
        product = self.product(x)
        mistake = (product >= 0) != (y == 1)
        if mistake or (bit and sign * product <= self.unsure):
            self.update(sign * np.asarray(x, float))

    def update(self, z: np.ndarray) -> None:
        grown = [w * math.exp(self.rate * c) for w, c in zip(self.weights, z, strict=True)]
        total = math.fsum(grown)
        self.weights = [w / total for w in grown]
        self.updates += 1
