"""short-lists: a random decision list of a few among many variables, as a halfspace over doubled points."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.halfspaces.base import HalfspaceStream, fair_bits, reaches, subsets
from arena import Example, InvalidArgument, setting
from arena.concepts import Halfspaces
from arena.concepts.cube.embeddings import HalfspaceTarget, decision_list
from arena.settings import at_least, one_of, whole

FIRING, UNIFORM = "firing", "uniform"


@attrs.frozen
class ShortLists(HalfspaceStream):
    """The target is a list "if x_i then b_i, else if ..., else default" of r of the (d - 2)/2 variables,
    drawn for each game, their order and the default's label too; points are (x, -1, -x, 1), small integers.

    The label changes D times, that to the default counted, after equally many terms as nearly as can be, the
    later blocks the longer ones. Its margin is that of `arena.concepts.cube.embeddings.decision_list`.

    points: of "firing" each term and the default decide as often; later ones and other variables are fair
    bits. "uniform" has fair bits only, so that late terms are seldom heard.

    Raises: InvalidArgument where points of the class are no doubled ones, or no such list has the margin.
    """

    name = "short-lists"

    length: int | None = setting(
        None, help="r, the terms; default: the most that the margin allows", check=[whole, at_least(1)]
    )
    alternations: int | None = setting(
        None,
        help="D, the changes of the label; default: 2, or 1 if the margin does not allow 2",
        check=[whole, at_least(1)],
    )
    points: str = setting(
        FIRING, help="how points are drawn: firing or uniform", check=one_of(FIRING, UNIFORM)
    )

    @property
    def labels(self) -> tuple[int, ...]:
        """b_1 ... b_r of a list with the default 0; with the default 1 they are the others."""
        halfspaces = self.halfspaces
        variables = halfspaces.dimension // 2 - 1
        if halfspaces.dimension % 2 or variables < 1:
            raise InvalidArgument(
                "points (x, -1, -x, 1) have an even number of dimensions, 4 or more",
                value=halfspaces,
                remedy=f"Choose a class of {max(4, halfspaces.dimension + 1)} dimensions.",
            )
        changes = self.alternations or (2 if self._fits(self._blocks(2), variables) else 1)
        labels = self._blocks(changes)
        if self.length is None:
            while self._fits(longer := _labels(len(labels) + 1, changes), variables):
                labels = longer
        if len(labels) > variables or len(labels) < changes:
            raise InvalidArgument(
                f"a list of {halfspaces} with {changes} alternations has {changes} to {variables} terms",
                value=len(labels) if self.length is None else self.length,
                remedy="Choose a class of more dimensions, or another length.",
            )
        if not self._fits(labels, variables):
            raise self.refuse_margin(
                f"a list of {len(labels)} terms with {changes} alternations", _target(labels).margin
            )
        return labels

    @property
    def reached(self) -> float:
        """The margin of such a list."""
        return _target(self.labels).margin

    def _blocks(self, changes: int) -> tuple[int, ...]:
        """The labels of the shortest list to think of."""
        return _labels(self.length or changes, changes)

    def _fits(self, labels: tuple[int, ...], variables: int) -> bool:
        return len(labels) <= variables and bool(labels) and reaches(_target(labels).margin, self.halfspaces)

    def _examples(self, halfspaces: Halfspaces, games: int, rng: np.random.Generator) -> Iterator[Example]:
        half, labels = halfspaces.dimension // 2, np.array(self.labels)
        terms = subsets(games, len(labels), half - 1, rng)
        default = fair_bits(1, games, rng)[0]
        said = np.append(labels, 0) ^ default[:, None]
        target = self._targets(terms, default, half)
        rows = np.arange(games)
        for _ in range(self.rounds):
            x = np.empty((games, 2 * half), np.int8)
            x[:, :half] = fair_bits(games, half, rng)
            x[:, half - 1] = -1
            if self.points == FIRING:
                deciding = rng.integers(0, len(labels), games, endpoint=True)
                place = np.arange(len(labels)) - deciding[:, None]
                fired = np.where(place == 0, 1, x[rows[:, None], terms] * (place > 0))
                x[rows[:, None], terms] = fired
            else:
                fired = x[rows[:, None], terms]
                deciding = np.where(fired.any(axis=1), fired.argmax(axis=1), len(labels))
            np.negative(x[:, :half], out=x[:, half:])
            yield Example(x, said[rows, deciding], target=target)

    def _targets(self, terms: np.ndarray, default: np.ndarray, half: int) -> np.ndarray:
        """(games, d): the weights, those of (x, -1) before those of (-x, 1); the default 1 swaps them."""
        games, size = terms.shape
        weights = _target(self.labels).weights.reshape(2, size + 1)
        places = np.column_stack([terms, np.full(games, half - 1)])
        target, rows = np.zeros((games, 2 * half)), np.arange(games)[:, None]
        target[rows, places] = weights[default]
        target[rows, half + places] = weights[1 - default]
        return target


def _labels(length: int, changes: int) -> tuple[int, ...]:
    """The labels of `length` terms in `changes` blocks, before the default 0."""
    blocks = np.array_split(np.arange(length), changes)[::-1]
    return tuple((changes - k) % 2 for k, block in enumerate(blocks) for _ in block)


def _target(labels: tuple[int, ...]) -> HalfspaceTarget:
    """The weights of the list of these labels, over so many variables, and the default 0."""
    return decision_list(len(labels), list(enumerate(labels)), 0)
