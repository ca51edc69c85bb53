"""first-swap, hidden-coordinate, margin-adaptive and shrinking-margin: a few coordinates decide."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.common.shared_settings import (
    ADAPTIVE,
    ALL,
    ONE,
    decoys_setting,
    draw_start_rounds,
    start_setting,
)
from adversaries.halfspaces.base import (
    SLACK,
    HalfspaceAdversary,
    HalfspaceStream,
    balance_points,
    draw_fair_bits,
    draw_subsets,
    normalise_weights,
    target_weights,
)
from arena import Example, InvalidArgument, Moves, Ready, count_setting, setting
from arena.concepts import Halfspaces
from arena.settings import at_least, at_most, one_of

_SAME = 1e-9  # weights that differ by less have not been redrawn


@attrs.frozen
class FirstSwap(HalfspaceAdversary):
    """The first mistake has opposite z = y'x in the two worlds at nearly every coordinate.

    It comes after `correct` rounds of examples that all weights >= 0 label correctly. In world 0, z is 1 at
    the first `coordinates` and -1 at the others; in world 1, -1 at the first, and 1 at as many others as
    leave it a mistake. All later examples are mistakes that favour no coordinate and bring on updates.

    The score is the sum, over all changes of the shown weights, of the share of the first coordinates before
    the special round minus that now, until the weights become uniform.
    """

    name = "first-swap"
    protocols = ("SpecialRound",)
    returns_score = True
    realizable = False

    rounds: int = count_setting(1_000, help="T, the number of rounds", least=2)
    coordinates: int | None = count_setting(None, help="how many the swap affects; default: (d - 1)/2")
    correct: int = count_setting(0, help="rounds without a mistake before the special round", least=0)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        halfspaces = self.halfspaces
        size = self._choose_size(halfspaces)
        weights = normalise_weights((yield Ready()).hypothesis.concepts)
        ones = np.ones(halfspaces.dimension, np.int8)
        correct = min(self.correct, self.rounds - 1)
        for _ in range(correct):
            weights = normalise_weights((yield Example(ones, 1)).hypothesis.concepts)
        first_share = weights[:, :size].sum(axis=1)
        up, down = build_opposite_mistakes(weights, size)
        score, used = np.zeros(games), np.ones(games, bool)
        move = Example(-up, 0, -down, 0)
        for _ in range(self.rounds - correct):
            hypothesis = (yield move).hypothesis
            if hypothesis is None:
                break
            before, weights = weights, normalise_weights(hypothesis.concepts)
            changed = (np.abs(weights - before) > _SAME).any(axis=1)
            used &= ~changed | (np.ptp(weights, axis=1) > _SAME)
            score += np.where(changed & used, first_share - weights[:, :size].sum(axis=1), 0.0)
            move = Example(ones, 0)
        return score

    def _choose_size(self, halfspaces: Halfspaces) -> int:
        largest = (halfspaces.dimension - 1) // 2
        size = self.coordinates or largest
        if not 0 < size <= largest:
            raise InvalidArgument(
                f"coordinates must be from 1 to {largest} of the {halfspaces.dimension} dimensions, so that "
                "uniform weights err",
                value=size,
                remedy="Choose a class of more dimensions, or fewer coordinates.",
            )
        return size


def build_opposite_mistakes(weights: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two z of {-1, 1}^d with w·z < 0, opposite at as many coordinates as the weights allow: 1 and -1 at the
    first `size`, -1 and as often as possible 1 at the others. Shapes: weights (n, d) of sum 1; results (n, d)
    int8."""
    up, down = np.full(weights.shape, -1, np.int8), np.full(weights.shape, -1, np.int8)
    up[:, :size] = 1
    down[:, size:] = (weights[:, size:].cumsum(axis=1) < 0.5 - SLACK).astype(np.int8) * 2 - 1
    return up, down


@attrs.frozen
class HiddenCoordinate(HalfspaceStream):
    """The embedding of point functions of section 4.4 of Bun and Fang, with a hidden point i.

    The point j is 1 in coordinate j and -1 elsewhere; the target is the weight 1 at i. Until round t* other
    points come up, with label 0, and then only the point i, with label 1, except in a share `decoys` of the
    games. What this forces on a private learner: docs/proofs/hidden_point.md.
    """

    name = "hidden-coordinate"

    background: str = setting(ALL, help="one other point, or random ones", check=one_of(ONE, ALL))
    start: str = start_setting()
    decoys: float = decoys_setting()

    def _draw_examples(self, dimension: int, games: int, rng: np.random.Generator) -> Iterator[Example]:
        if dimension < 2:
            raise InvalidArgument("a point can hide only in 2 or more dimensions", value=self.halfspaces)
        rows, hidden = np.arange(games), rng.integers(0, dimension, games)
        start = draw_start_rounds(self.start, self.rounds, games, rng)
        start[rng.random(games) < self.decoys] = self.rounds + 1
        target = target_weights(hidden[:, None], dimension)
        for t in range(1, self.rounds + 1):
            if t == 1 or self.background == ALL:
                other = rng.integers(0, dimension - 1, games)
                other += other >= hidden
            late = t >= start
            x = np.full((games, dimension), -1, np.int8)
            x[rows, np.where(late, hidden, other)] = 1
            yield Example(x, late, target=target)


@attrs.frozen
class MarginAdaptive(HalfspaceAdversary):
    """Forces nearly as many mistakes on Winnow as its bound, 2 ln d/ρ², allows
    (docs/proofs/margin_adaptive.md).

    The target is one coordinate, drawn for each game, with y'ρ in every example. The others are ±1, except
    for a fraction or two, such that y'(w·x) is just below 0 for the weights shown last, and mostly also after
    an update by the last example. Labels are fair coins. A learner that cannot be contradicted gets its last
    point again.
    """

    name = "margin-adaptive"
    protocols = ("Adaptive",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        halfspaces = self.halfspaces
        d, rows = halfspaces.dimension, np.arange(games)
        hidden = rng.integers(0, d, games)
        target = target_weights(hidden[:, None], d)
        free = target == 0
        z = np.where(free, 1.0, halfspaces.margin)
        weights = np.full((games, d), 1 / d)
        for _ in range(self.rounds):
            at_target = weights[rows, hidden]
            possible = np.flatnonzero(at_target * halfspaces.margin + SLACK < 1 - at_target)
            z[possible] = balance_points(
                weights[possible], z[possible], free[possible], z[possible], aim=-SLACK
            )
            y = draw_fair_bits(1, games, rng)[0]
            x = np.where(y[:, None] == 1, z, -z)
            weights = normalise_weights((yield Example(x, y, target=target)).hypothesis.concepts)
        return None


@attrs.frozen
class ShrinkingMargin(HalfspaceStream):
    """The target is the majority of k coordinates, drawn for each game, k the largest odd number up to 1/ρ.

    Points are in {-1, 1}^d, and labels fair coins. At first all k coordinates vote for the label, and in each
    stretch one more against it, until |v·x| = 1/k. The others are fair coins, or, under Adaptive, chosen such
    that y'(w·x) is `confidence`·ρ, or just below 0. Every example has b_t = 1: with a confidence between 0
    and c, ConfidentWinnow updates without having erred, the worst case of its theorem.
    """

    name = "shrinking-margin"

    confidence: float = setting(
        0.0, unit="margins", help="of the weights shown last; 0: just wrong", check=[at_least(0), at_most(1)]
    )

    @property
    def size(self) -> int:
        """k, the number of coordinates that vote."""
        halfspaces = self.halfspaces
        largest = min(int(1 / halfspaces.margin + 1e-6), halfspaces.dimension)
        return largest - 1 + largest % 2

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if self.protocol != ADAPTIVE:
            return (yield from super().play(games, rng))
        halfspaces = self.halfspaces
        d = halfspaces.dimension
        relevant = draw_subsets(games, self.size, d, rng)
        target = target_weights(relevant, d)
        free = target == 0
        weights, z = np.full((games, d), 1 / d), np.ones((games, d))
        aim = self.confidence * halfspaces.margin or -SLACK
        for t in range(self.rounds):
            votes = self._draw_votes(relevant, t, d, rng)
            z = balance_points(weights, votes, free, z, aim)
            y = draw_fair_bits(1, games, rng)[0]
            x = np.where(y[:, None] == 1, z, -z)
            reply = yield Example(x, y, target=target, update=np.ones(games, bool))
            weights = normalise_weights(reply.hypothesis.concepts)
        return None

    def _draw_examples(self, dimension: int, games: int, rng: np.random.Generator) -> Iterator[Example]:
        relevant = draw_subsets(games, self.size, dimension, rng)
        target = target_weights(relevant, dimension)
        for t in range(self.rounds):
            y = draw_fair_bits(1, games, rng)[0]
            x = self._draw_votes(relevant, t, dimension, rng)
            x *= (2 * y - 1)[:, None]
            yield Example(x, y, target=target)

    def _draw_votes(self, relevant: np.ndarray, t: int, d: int, rng: np.random.Generator) -> np.ndarray:
        """(games, d) int8, z = y'x of round t + 1: -1 at relevant coordinates that vote against the label."""
        games, size = relevant.shape
        against = t * (size // 2 + 1) // self.rounds
        z = 2 * draw_fair_bits(games, d, rng) - 1
        rows, order = np.arange(games)[:, None], rng.permuted(relevant, axis=1)
        z[rows, order[:, :against]] = -1
        z[rows, order[:, against:]] = 1
        return z
