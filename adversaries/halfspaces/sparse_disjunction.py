"""sparse-disjunction: x_i or ... or x_j of a few among many variables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import attrs
import numpy as np

from adversaries.halfspaces.base import (
    HalfspaceStream,
    draw_biased_bits,
    draw_fair_bits,
    draw_subsets,
    reaches_margin,
    unpack_bits,
)
from arena import Example, InvalidArgument, count_setting, setting
from arena.concepts.cube.embeddings import disjunction
from arena.settings import at_least, one_of, whole

EVEN, UNIFORM, DECOYS = "even", "uniform", "decoys"


@attrs.frozen
class SparseDisjunction(HalfspaceStream):
    """The target is a disjunction of k of d - 1 variables, drawn for each game, with margin 1/(2k + 1).

    This is the problem for which Winnow was made. Points are (x, -1), with x in {0, 1}^(d-1) as small
    integers.

    points: "uniform" has fair bits, so that a share 1 - 2^-k of the labels is 1. "even" has bits that are 1
    with probability 1 - 2^(-1/k), so that half of the labels are 1. With "decoys" the label is a fair coin,
    and one relevant variable is 1 or none, which is where the margin is attained; each other variable agrees
    with the label, or disagrees with it, with probability 3/4, and which of the two is redrawn every
    `stretch` rounds, so that what a learner has learned about these must be unlearned.

    Raises: InvalidArgument if points have fewer than k variables, or the disjunction does not reach the
    margin.
    """

    name = "sparse-disjunction"

    relevant: int | None = count_setting(None, help="k; default: the most that the margin allows")
    points: str = setting(
        EVEN, help="how points are drawn: even, uniform or decoys", check=one_of(EVEN, UNIFORM, DECOYS)
    )
    stretch: int = setting(
        50, unit="rounds", help="how long decoys agree or disagree", check=[whole, at_least(1)]
    )

    @property
    def size(self) -> int:
        """k, the number of relevant variables."""
        halfspaces = self.halfspaces
        variables = halfspaces.dimension - 1
        largest = int((1 / halfspaces.margin - 1) / 2 + 1e-6)
        size = self.relevant or max(1, min(largest, variables))
        if size > variables:
            raise InvalidArgument(
                f"points (x, -1) of {halfspaces} have {variables} variables",
                value=size,
                remedy="Choose a class of more dimensions, or fewer relevant variables.",
            )
        if not reaches_margin(1 / (2 * size + 1), halfspaces):
            raise self.refuse_margin(f"a disjunction of {size} variables", 1 / (2 * size + 1))
        return size

    def _draw_examples(self, dimension: int, games: int, rng: np.random.Generator) -> Iterator[Example]:
        size, variables = self.size, dimension - 1
        relevant = draw_subsets(games, size, variables, rng)
        rows = np.arange(games)[:, None]
        target = np.zeros((games, variables + 1))
        weights = disjunction(size, range(size)).weights
        target[rows, relevant], target[:, -1] = weights[:-1], weights[-1]
        for x in self._draw_points(relevant, variables, rng):
            x[:, -1] = -1
            yield Example(x, x[rows, relevant].any(axis=1), target=target)

    def _draw_points(
        self, relevant: np.ndarray, variables: int, rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """(games, d) int8 for each round; the last coordinate is arbitrary."""
        if self.points == DECOYS:
            yield from self._draw_decoys(relevant, variables, rng)
            return
        games, size = relevant.shape
        biased = partial(draw_biased_bits, chance=1 - 0.5 ** (1 / size))
        draw = draw_fair_bits if self.points == UNIFORM else biased
        for _ in range(self.rounds):
            yield draw(games, variables + 1, rng=rng)

    def _draw_decoys(
        self, relevant: np.ndarray, variables: int, rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        games, size = relevant.shape
        rows, packed = np.arange(games), (games, variables // 8 + 1)
        for t in range(self.rounds):
            if t % self.stretch == 0:
                agrees = rng.integers(0, 256, packed, np.uint8)
            y = draw_fair_bits(1, games, rng)[0]
            side = np.where(y[:, None] == 1, agrees, ~agrees)
            first, second = rng.integers(0, 256, (2, *packed), np.uint8)
            # The majority of a bit and two fair coins is that bit with probability 3/4.
            x = unpack_bits((first & second) | (side & (first | second)), variables + 1)
            x[rows[:, None], relevant] = 0
            x[rows, relevant[rows, rng.integers(0, size, games)]] = y
            yield x
