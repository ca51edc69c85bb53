"""What adversaries of halfspaces share: their class, random points of small integers, and balanced points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.common.shared_settings import ADAPTIVE, OBLIVIOUS, choose_concept_class, protocol_setting
from arena import (
    Adversary,
    Commit,
    Example,
    InvalidArgument,
    Learner,
    Moves,
    Unsupported,
    count_setting,
    setting,
)
from arena.concepts import ConceptClass, Halfspaces
from arena.concepts.halfspaces import TOLERANCE
from arena.players import read_concepts

SLACK = 1e-5  # relative to a sum of weights, which learners may compute in single precision
DEFAULT_CLASS = Halfspaces(64, 0.2)  # if neither player has one
_SLAB_NUMBERS = 2**15  # numbers that are balanced at a time, so that they stay in a core's cache
_TIE_BREAK = 1e-12  # relative increase of the weights by index, so that no two are equal


@attrs.frozen
class HalfspaceAdversary(Adversary):
    """Base of the adversaries with a halfspace as the target, which accompanies every example."""

    returns_score = False
    realizable = True

    rounds: int = count_setting(1_000, help="T, the number of rounds")
    concepts: ConceptClass | None = setting(None, help="the halfspaces; default: the learner's")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    @property
    def halfspaces(self) -> Halfspaces:
        """The class to play on: `concepts`, otherwise the learner's, otherwise the default.

        Raises: Unsupported unless it is one of halfspaces; InvalidArgument as `choose_concept_class`.
        """
        chosen = self.concepts or read_concepts(self.learner) or DEFAULT_CLASS
        if not isinstance(chosen, Halfspaces):
            raise Unsupported(
                f"{self.name} plays halfspaces with margin, not {chosen}",
                remedy="Choose a learner of halfspaces, or set concepts, as in "
                f"halfspaces:{DEFAULT_CLASS.dimension},{DEFAULT_CLASS.margin}.",
            )
        choose_concept_class(chosen, self.learner, DEFAULT_CLASS)
        return chosen

    def refuse_margin(self, target: str, margin: float) -> InvalidArgument:
        return InvalidArgument(
            f"{target} has a margin of {margin:.4g}, and {self.halfspaces} requires more",
            remedy=f"Choose a class with a margin of {margin:.4g} or less.",
        )


@attrs.frozen
class HalfspaceStream(HalfspaceAdversary):
    """Base of the adversaries that draw all examples beforehand, and commit to them or give them in turn."""

    protocols = (OBLIVIOUS, ADAPTIVE)

    rounds: int = count_setting(10_000, help="T; in 1,000 rounds dp-winnow cannot learn")
    protocol: str = protocol_setting()

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        examples = self._draw_examples(self.halfspaces.dimension, games, rng)
        if self.protocol == OBLIVIOUS:
            yield Commit(examples=examples, show_hypotheses=False)
            return None
        for example in examples:  # noqa: UP028 - "yield from" would pass the replies on to them
            yield example
        return None

    @abstractmethod
    def _draw_examples(self, dimension: int, games: int, rng: np.random.Generator) -> Iterator[Example]:
        """T examples, with their target."""


def reaches_margin(margin: float, halfspaces: Halfspaces) -> bool:
    return margin >= halfspaces.margin - TOLERANCE


def target_weights(coordinates: np.ndarray, dimension: int) -> np.ndarray:
    """(games, d): equal weights of sum 1 at each game's coordinates (games, k), 0 elsewhere."""
    target = np.zeros((len(coordinates), dimension))
    np.put_along_axis(target, coordinates, 1 / coordinates.shape[1], axis=1)
    return target


def draw_fair_bits(games: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """(games, size) int8, each 1 with probability 1/2, from one random bit each."""
    return unpack_bits(rng.integers(0, 256, (games, -(-size // 8)), np.uint8), size)


def unpack_bits(packed: np.ndarray, size: int) -> np.ndarray:
    return np.unpackbits(packed, axis=1, count=size).view(np.int8)


def draw_biased_bits(games: int, size: int, chance: float, rng: np.random.Generator) -> np.ndarray:
    """(games, size) int8, each 1 with probability `chance`: a random byte decides, or a double if it
    cannot."""
    threshold = int(chance * 256)
    drawn = rng.integers(0, 256, (games, size), np.uint8)
    if threshold == 256:
        return np.ones((games, size), np.int8)
    bits = (drawn < threshold).view(np.int8)
    undecided = np.flatnonzero(drawn == threshold)
    bits.flat[undecided] = rng.random(len(undecided)) < chance * 256 - threshold
    return bits


def draw_subsets(games: int, size: int, of: int, rng: np.random.Generator) -> np.ndarray:
    """(games, size): distinct numbers below `of` for each game, in random order (Floyd's algorithm)."""
    chosen = np.empty((games, size), np.intp)
    for j, last in enumerate(range(of - size, of)):
        drawn = rng.integers(0, last, games, endpoint=True)
        is_taken = (chosen[:, :j] == drawn[:, None]).any(axis=1)
        chosen[:, j] = np.where(is_taken, last, drawn)
    return rng.permuted(chosen, axis=1)


def balance_points(
    weights: np.ndarray, z: np.ndarray, free: np.ndarray, before: np.ndarray, aim: float
) -> np.ndarray:
    """`z` with its free coordinates chosen from [-1, 1] such that w·z = aim, or as close as possible.

    It is balanced separately among the coordinates with before > 0, the z of the last example, and the
    others, so that w·z mostly keeps its sign if w was updated unseen: docs/proofs/margin_adaptive.md. Shapes:
    weights (n, d) of sum 1; z, before (n, d); free (n, d) bool; result (n, d).
    """
    balanced = np.empty(z.shape)
    step = max(1, _SLAB_NUMBERS // z.shape[1])
    for start in range(0, len(z), step):
        slab = slice(start, start + step)
        balanced[slab] = _balance_slab(weights[slab], z[slab], free[slab], before[slab], aim)
    return balanced


def _balance_slab(
    weights: np.ndarray, z: np.ndarray, free: np.ndarray, before: np.ndarray, aim: float
) -> np.ndarray:
    missing = aim - np.vecdot(weights, np.where(free, 0.0, z))
    z = z.astype(float)
    for part in (free & (before > 0), free & (before <= 0)):
        masses = np.where(part, weights, 0.0)
        total = masses.sum(axis=1)
        share = np.clip(missing, -total, total)
        np.copyto(z, _choose_signs(masses, (total - share) / 2), where=part)
        missing -= share
    return z


def _choose_signs(masses: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """(n, d): -1 at the heaviest masses up to the sum `negative`, a fraction where it ends, 1 elsewhere."""
    rows, keys = np.arange(len(masses)), masses * (1 + _TIE_BREAK * np.arange(masses.shape[1]))
    descending = np.sort(keys, axis=1)[:, ::-1]
    sums = descending.cumsum(axis=1)
    last = np.minimum((sums < negative[:, None]).sum(axis=1), masses.shape[1] - 1)
    ends = descending[rows, last]
    share = (negative - (sums[rows, last] - ends)) / np.where(ends > 0, ends, 1.0)
    signs = np.where(keys > ends[:, None], -1.0, 1.0)
    np.copyto(signs, (1 - 2 * share.clip(0, 1))[:, None], where=keys == ends[:, None])
    return signs


def normalise_weights(weights: np.ndarray) -> np.ndarray:
    """Weights (n, d), or counts of draws, as doubles of sum 1."""
    normalised = weights.astype(float)
    normalised /= normalised.sum(axis=1, keepdims=True)
    return normalised
