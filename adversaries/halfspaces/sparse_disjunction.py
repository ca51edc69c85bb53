"""sparse-disjunction: x_i or ... or x_j of a few among many variables."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import attrs
import numpy as np

from adversaries.halfspaces.base import (
    HalfspaceStream,
    biased_bits,
    fair_bits,
    reaches,
    subsets,
    unpacked,
)
from arena import Example, InvalidArgument, setting
from arena.concepts import Halfspaces
from arena.concepts.cube.embeddings import disjunction
from arena.settings import at_least, one_of, whole

EVEN, UNIFORM, DECOYS = "even", "uniform", "decoys"


@attrs.frozen
class SparseDisjunction(HalfspaceStream):
    """The target is the disjunction of k of d - 1 variables, drawn for each game; points are (x, -1), with x
    in {0, 1}^(d-1) as small integers. Its margin is 1/(2k + 1): the example that Winnow was made for.

    points: "uniform" has fair bits, so that a share 1 - 2^-k of the labels is 1; "even" has bits of a chance
    of 1 - 2^(-1/k), so that half of the labels are. In "decoys" the label is a fair coin, and one relevant
    variable is 1 or none, which is where the margin is reached. Of the others each is on the side of the
    label, or against it, with chance 3/4; which of the two is drawn anew every `stretch` rounds, so that what
    a learner believes of them must be unlearned.

    Raises: InvalidArgument where points have fewer variables, or the disjunction has less than the margin.
    """

    name = "sparse-disjunction"

    relevant: int | None = setting(
        None, help="k; default: the most that the margin allows", check=[whole, at_least(1)]
    )
    points: str = setting(
        EVEN, help="how points are drawn: even, uniform or decoys", check=one_of(EVEN, UNIFORM, DECOYS)
    )
    stretch: int = setting(
        50, unit="rounds", help="how long decoys stay on a side", check=[whole, at_least(1)]
    )

    @property
    def size(self) -> int:
        """k, the relevant variables."""
        halfspaces = self.halfspaces
        variables = halfspaces.dimension - 1
        most = int((1 / halfspaces.margin - 1) / 2 + 1e-6)
        size = self.relevant or max(1, min(most, variables))
        if size > variables:
            raise InvalidArgument(
                f"points (x, -1) of {halfspaces} have {variables} variables",
                value=size,
                remedy="Choose a class of more dimensions, or fewer relevant variables.",
            )
        if not reaches(1 / (2 * size + 1), halfspaces):
            raise self.refuse_margin(f"a disjunction of {size} variables", 1 / (2 * size + 1))
        return size

    def _examples(self, halfspaces: Halfspaces, games: int, rng: np.random.Generator) -> Iterator[Example]:
        size, variables = self.size, halfspaces.dimension - 1
        relevant = subsets(games, size, variables, rng)
        rows = np.arange(games)[:, None]
        target = np.zeros((games, variables + 1))
        weights = disjunction(size, range(size)).weights
        target[rows, relevant], target[:, -1] = weights[:-1], weights[-1]
        for x in self._points(relevant, variables, rng):
            x[:, -1] = -1
            yield Example(x, x[rows, relevant].any(axis=1), target=target)

    def _points(self, relevant: np.ndarray, variables: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """(games, d) int8 for each round, but for the last coordinate."""
        if self.points == DECOYS:
            yield from self._decoys(relevant, variables, rng)
            return
        games, size = relevant.shape
        draw = fair_bits if self.points == UNIFORM else partial(biased_bits, chance=1 - 0.5 ** (1 / size))
        for _ in range(self.rounds):
            yield draw(games, variables + 1, rng=rng)

    def _decoys(self, relevant: np.ndarray, variables: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        games, size = relevant.shape
        rows, packed = np.arange(games), (games, variables // 8 + 1)
        for t in range(self.rounds):
            if t % self.stretch == 0:
                with_label = rng.integers(0, 256, packed, np.uint8)
            y = fair_bits(1, games, rng)[0]
            side = np.where(y[:, None] == 1, with_label, ~with_label)
            one, two = rng.integers(0, 256, (2, *packed), np.uint8)
            # The majority of a bit and two fair coins is that bit with chance 3/4.
            x = unpacked((one & two) | (side & (one | two)), variables + 1)
            x[rows[:, None], relevant] = 0
            x[rows, relevant[rows, rng.integers(0, size, games)]] = y
            yield x
