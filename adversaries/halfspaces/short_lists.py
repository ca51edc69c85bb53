"""short-lists and sparse-disjunction: halfspaces that depend on a few of many variables."""

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
from arena.concepts.halfspaces import HalfspaceTarget, decision_list, disjunction
from arena.settings import at_least, one_of, whole

FIRING, UNIFORM = "firing", "uniform"


@attrs.frozen
class ShortLists(HalfspaceStream):
    """The target is a list "if x_i then b_i, else if ..., else default" of r of the (d - 2)/2 variables.

    Variables, their order and the default's label are drawn for each game. Points are (x, -1, -x, 1). The
    label changes D times, after blocks of terms as equal in length as possible. points: with "firing" each
    term and the default decide equally often; with "uniform" all variables are fair bits, so that late terms
    rarely decide.
    """

    name = "short-lists"

    length: int | None = count_setting(None, help="r, the terms; default: the most that the margin allows")
    alternations: int | None = count_setting(None, help="D, changes of the label; default: 2, or else 1")
    points: str = setting(FIRING, help="points: firing or uniform", check=one_of(FIRING, UNIFORM))

    @property
    def labels(self) -> tuple[int, ...]:
        """b_1 ... b_r of a list with the default 0. With the default 1 they are flipped."""
        halfspaces = self.halfspaces
        variables = halfspaces.dimension // 2 - 1
        if halfspaces.dimension % 2 or variables < 1:
            raise InvalidArgument(
                "points (x, -1, -x, 1) must have an even number of dimensions, 4 or more",
                value=halfspaces,
                remedy=f"Choose a class of {max(4, halfspaces.dimension + 1)} dimensions.",
            )
        changes = self.alternations or (2 if self._fits(self._shortest_labels(2), variables) else 1)
        labels = self._shortest_labels(changes)
        if self.length is None:
            while self._fits(longer := _block_labels(len(labels) + 1, changes), variables):
                labels = longer
        if len(labels) > variables or len(labels) < changes:
            raise InvalidArgument(
                f"a list of {halfspaces} with {changes} alternations needs {changes} to {variables} terms",
                value=len(labels) if self.length is None else self.length,
                remedy="Choose a class of more dimensions, or another length.",
            )
        if not self._fits(labels, variables):
            raise self.refuse_margin(
                f"a list of {len(labels)} terms with {changes} alternations", _build_target(labels).margin
            )
        return labels

    @property
    def reached(self) -> float:
        """The margin of such a list."""
        return _build_target(self.labels).margin

    def _shortest_labels(self, changes: int) -> tuple[int, ...]:
        return _block_labels(self.length or changes, changes)

    def _fits(self, labels: tuple[int, ...], variables: int) -> bool:
        if not 0 < len(labels) <= variables:
            return False
        return reaches_margin(_build_target(labels).margin, self.halfspaces)

    def _draw_examples(self, dimension: int, games: int, rng: np.random.Generator) -> Iterator[Example]:
        half, labels = dimension // 2, np.array(self.labels)
        terms = draw_subsets(games, len(labels), half - 1, rng)
        default = draw_fair_bits(1, games, rng)[0]
        label_of_term = np.append(labels, 0) ^ default[:, None]
        target = self._build_targets(terms, default, half)
        rows = np.arange(games)
        for _ in range(self.rounds):
            x = np.empty((games, 2 * half), np.int8)
            x[:, :half] = draw_fair_bits(games, half, rng)
            x[:, half - 1] = -1
            if self.points == FIRING:
                deciding = rng.integers(0, len(labels), games, endpoint=True)
                place = np.arange(len(labels)) - deciding[:, None]
                x[rows[:, None], terms] = np.where(place == 0, 1, x[rows[:, None], terms] * (place > 0))
            else:
                fires = x[rows[:, None], terms]
                deciding = np.where(fires.any(axis=1), fires.argmax(axis=1), len(labels))
            np.negative(x[:, :half], out=x[:, half:])
            yield Example(x, label_of_term[rows, deciding], target=target)

    def _build_targets(self, terms: np.ndarray, default: np.ndarray, half: int) -> np.ndarray:
        """(games, d): the weights of (x, -1), then those of (-x, 1). The default 1 exchanges them."""
        games, size = terms.shape
        weights = _build_target(self.labels).weights.reshape(2, size + 1)
        places = np.column_stack([terms, np.full(games, half - 1)])
        target, rows = np.zeros((games, 2 * half)), np.arange(games)[:, None]
        target[rows, places] = weights[default]
        target[rows, half + places] = weights[1 - default]
        return target


def _block_labels(length: int, changes: int) -> tuple[int, ...]:
    blocks = np.array_split(np.arange(length), changes)[::-1]
    return tuple((changes - k) % 2 for k, block in enumerate(blocks) for _ in block)


def _build_target(labels: tuple[int, ...]) -> HalfspaceTarget:
    return decision_list(len(labels), list(enumerate(labels)), 0)


EVEN, DECOYS = "even", "decoys"


@attrs.frozen
class SparseDisjunction(HalfspaceStream):
    """The target is a disjunction of k of d - 1 variables, drawn for each game, with margin 1/(2k + 1).

    Points are (x, -1), with x in {0, 1}^(d-1). points: "uniform", fair bits; "even", bits such that half of
    the labels are 1; "decoys", at most one relevant variable is 1, where the margin is attained, and each
    other one agrees with the label, or disagrees, with probability 3/4, redrawn every `stretch` rounds.
    """

    name = "sparse-disjunction"

    relevant: int | None = count_setting(None, help="k; default: the most that the margin allows")
    points: str = setting(EVEN, help="points: even, uniform or decoys", check=one_of(EVEN, UNIFORM, DECOYS))
    stretch: int = setting(50, unit="rounds", help="how long decoys agree or not", check=[whole, at_least(1)])

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
