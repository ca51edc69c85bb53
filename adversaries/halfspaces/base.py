"""What the adversaries of halfspaces share: the class they play on, random points of small integers, and
points at which shown weights are at a loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.online.random_sequences import ADAPTIVE, OBLIVIOUS
from arena import Adversary, Commit, Example, InvalidArgument, Learner, Moves, Unsupported, setting
from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.cube.halfspaces import TOLERANCE
from arena.settings import at_least, one_of, whole

JUST = 1e-5  # of a sum of weights, which learners may add up in single precision
USUAL = Halfspaces(64, 0.2)
_SLAB = 2**15  # numbers that are balanced at once, so that they stay in a core's cache
_TIES = 1e-12  # by which a later weight counts for more, so that no two are equal


@attrs.frozen
class HalfspaceAdversary(Adversary):
    """Base of the adversaries with a halfspace as the target, which they name beside every example."""

    returns_score = False
    realizable = True

    rounds: int = setting(1_000, help="T", check=[whole, at_least(1)])
    concepts: ConceptClass | None = setting(None, help="the halfspaces; default: the learner's")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    @property
    def halfspaces(self) -> Halfspaces:
        """The class to play on: `concepts`, else the learner's, else 64 dimensions and a margin of 0.2."""
        return playable(self.name, self.concepts, self.learner)

    def refuse_margin(self, what: str, reached: float) -> InvalidArgument:
        """What to raise where a target does not reach the margin of the class."""
        return InvalidArgument(
            f"{what} has a margin of {reached:.4g}, and {self.halfspaces} asks for more",
            remedy=f"Choose a class of a margin of {reached:.4g} or less.",
        )


@attrs.frozen
class HalfspaceStream(HalfspaceAdversary):
    """Base of the streams: examples that do not depend on the learner.

    They play Oblivious, where they commit to an iterator; with `protocol` set to Adaptive they hand out the
    same examples round by round. A subclass writes `_examples`.
    """

    protocols = (OBLIVIOUS, ADAPTIVE)

    protocol: str = setting(
        OBLIVIOUS,
        help="Oblivious: commits beforehand; Adaptive: gives the same examples round by round",
        check=one_of(OBLIVIOUS, ADAPTIVE),
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        examples = self._examples(self.halfspaces, games, rng)
        if self.protocol == OBLIVIOUS:
            yield Commit(examples=examples, show_hypotheses=False)
            return None
        for example in examples:  # noqa: UP028 - "yield from" would send the replies on to them
            yield example
        return None

    @abstractmethod
    def _examples(self, halfspaces: Halfspaces, games: int, rng: np.random.Generator) -> Iterator[Example]:
        """T examples, with their target."""


def playable(name: str, own: ConceptClass | None, learner: Learner | None) -> Halfspaces:
    """The class that the adversary `name` plays on: `own`, else the learner's, else the usual one.

    Raises: Unsupported if it is of another kind; InvalidArgument if the learner's points have another shape.
    """
    given = own or getattr(learner, "concepts", None) or USUAL
    if not isinstance(given, Halfspaces):
        raise Unsupported(
            f"{name} plays halfspaces with margin, not {given}",
            remedy="Choose a learner of halfspaces, or set concepts, as in "
            f"halfspaces:{USUAL.dimension},{USUAL.margin}.",
        )
    if learner is not None and given.point_shape != learner.point_shape:
        raise InvalidArgument(
            f"{learner.name} receives points of shape {learner.point_shape}",
            value=given,
            remedy="Leave `concepts` to the learner's.",
        )
    return given


def reaches(margin: float, halfspaces: Halfspaces) -> bool:
    """Whether a target of this margin is one of the class."""
    return margin >= halfspaces.margin - TOLERANCE


# --- random points ----------------------------------------------------------------------------------------


def fair_bits(games: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """(games, size) int8, each 1 with chance 1/2: a coin of the generator for each."""
    return unpacked(rng.integers(0, 256, (games, -(-size // 8)), np.uint8), size)


def unpacked(packed: np.ndarray, size: int) -> np.ndarray:
    """(games, size) int8 of 0 and 1, from bytes of eight."""
    return np.unpackbits(packed, axis=1, count=size).view(np.int8)


def biased_bits(games: int, size: int, chance: float, rng: np.random.Generator) -> np.ndarray:
    """(games, size) int8, each 1 with so much chance.

    A byte decides, and a double where the byte alone cannot: the chance is exact to that of a double.
    """
    whole_bytes = int(chance * 256)
    drawn = rng.integers(0, 256, (games, size), np.uint8)
    if whole_bytes == 256:
        return np.ones((games, size), np.int8)
    bits = (drawn < whole_bytes).view(np.int8)
    open_ones = np.flatnonzero(drawn == whole_bytes)
    bits.flat[open_ones] = rng.random(len(open_ones)) < chance * 256 - whole_bytes
    return bits


def subsets(games: int, size: int, of: int, rng: np.random.Generator) -> np.ndarray:
    """(games, size): for each game so many of the numbers below `of`, in random order (Floyd's algorithm)."""
    chosen = np.empty((games, size), np.intp)
    for j, last in enumerate(range(of - size, of)):
        drawn = rng.integers(0, last, games, endpoint=True)
        taken = (chosen[:, :j] == drawn[:, None]).any(axis=1)
        chosen[:, j] = np.where(taken, last, drawn)
    return rng.permuted(chosen, axis=1)


# --- points at which weights are at a loss ------------------------------------------------------------------


def balanced(
    weights: np.ndarray, z: np.ndarray, free: np.ndarray, before: np.ndarray, aim: float
) -> np.ndarray:
    """`z` with the free coordinates chosen from [-1, 1] such that w·z = aim, or as near as it gets.

    z = y'x is what an example says of each coordinate. If Σ w z = 0 and all z = ±1, a multiplicative update
    at the rate η divides the weights by their sum cosh(η), the least that a mistake can do. Of the heaviest
    half of the weights z is -1, so that they shrink and none gets the better of the others; one coordinate
    has a fraction, so that the sum is met.

    `before` is the z of the last example, after which w may have been updated unseen. The sum is balanced
    among coordinates with before > 0 and among the others, so that w·z is as negative after the update too,
    whatever its rate, as long as the former can make up for the coordinates that are not free; but for what
    the one or two of a fraction have gained or lost.

    Shapes: weights (n, d) of sum 1; z, before (n, d); free (n, d) bool; result (n, d).
    """
    filled = np.empty(z.shape)
    step = max(1, _SLAB // z.shape[1])
    for start in range(0, len(z), step):
        slab = slice(start, start + step)
        filled[slab] = _balanced(weights[slab], z[slab], free[slab], before[slab], aim)
    return filled


def _balanced(
    weights: np.ndarray, z: np.ndarray, free: np.ndarray, before: np.ndarray, aim: float
) -> np.ndarray:
    lacking = aim - np.vecdot(weights, np.where(free, 0.0, z))
    z = z.astype(float)
    for part in (free & (before > 0), free & (before <= 0)):
        masses = np.where(part, weights, 0.0)
        total = masses.sum(axis=1)
        wanted = np.clip(lacking, -total, total)
        np.copyto(z, _signs(masses, (total - wanted) / 2), where=part)
        lacking -= wanted
    return z


def _signs(masses: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """(n, d): -1 for the heaviest, up to the mass `negative`, a fraction where it ends, 1 for the others."""
    rows, keys = np.arange(len(masses)), masses * (1 + _TIES * np.arange(masses.shape[1]))
    descending = np.sort(keys, axis=1)[:, ::-1]
    reached = descending.cumsum(axis=1)
    last = np.minimum((reached < negative[:, None]).sum(axis=1), masses.shape[1] - 1)
    ends = descending[rows, last]
    share = (negative - (reached[rows, last] - ends)) / np.where(ends > 0, ends, 1.0)
    signs = np.where(keys > ends[:, None], -1.0, 1.0)
    np.copyto(signs, (1 - 2 * share.clip(0, 1))[:, None], where=keys == ends[:, None])
    return signs


def normalised(shown: np.ndarray) -> np.ndarray:
    """Shown weights, or counts of draws, as doubles of sum 1."""
    weights = shown.astype(float)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


__all__ = [
    "ADAPTIVE",
    "JUST",
    "OBLIVIOUS",
    "HalfspaceAdversary",
    "HalfspaceStream",
    "balanced",
    "biased_bits",
    "fair_bits",
    "normalised",
    "playable",
    "reaches",
    "subsets",
    "unpacked",
]
