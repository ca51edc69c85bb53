"""flawed-tree, flawed-linear and flawed-sampling: streams whose claims are false, for tests of audits."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from arena.claims import Claim
from arena.errors import Unsupported
from arena.settings import count_setting, one_of, setting
from learners.mechanisms.counters import tree_levels
from learners.mechanisms.factorisations import lowest_bit
from learners.mechanisms.noise import gaussian_sigma, laplace
from learners.streams.base import StreamLearner, claim_pure
from learners.streams.counters import AnnouncedSampling
from learners.streams.linear import LinearStream

SHARED, TOP, RESTART, COMPLETION, POWERS, WINDOW = TREE_FLAWS = (
    "shared node",
    "bare top",
    "repeated restart",
    "bare completion",
    "bare powers",
    "thin window",
)
USER, NORM = LINEAR_FLAWS = ("one event", "wrong norm")


@attrs.frozen
class FlawedTree(StreamLearner):
    """`tree-counter` with a flaw, and the same claim, which is false.

    flaw: "shared node", intervals of one length share their noise in pairs; "bare top", the longest have
    none; "repeated restart", a new tree begins every `epoch` rounds with the noise of the first; "bare
    completion", every `epoch` rounds the finished tree is added without noise; "bare powers", in rounds that
    are powers of 2 the count is published before noise is added; "thin window", the sum of the last `epoch`
    records has the noise of one release.
    """

    name = "flawed-tree"
    theorem = "none: the claim is false"

    flaw: str = setting(SHARED, help=", ".join(TREE_FLAWS), check=one_of(*TREE_FLAWS))
    rounds: int = count_setting(8, help="T, the most rounds of a stream")
    epoch: int = count_setting(4, help="the rounds after which a tree is finished, or those of a window")
    epsilon: float = setting(1.0, unit="nats", help="ε of the claim")

    @property
    def claim(self) -> Claim:
        return claim_pure(self.neighbours, self.epsilon)

    def open(self, games: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        if self.flaw == WINDOW:
            return _open_window(games, rng, self.epoch, 1 / self.epsilon)
        restarts = self.flaw in (RESTART, COMPLETION)
        tree = FlawedNoise(self.flaw, min(self.epoch, self.rounds) if restarts else self.rounds, games, rng)
        scale = tree_levels(tree.rounds) / self.epsilon
        count, t = np.zeros(games), 0

        def publish(records: np.ndarray) -> np.ndarray:
            nonlocal t
            t += 1
            np.add(count, records, out=count)
            if self.flaw == POWERS and t == lowest_bit(t):
                tree.add(t)
                return count.copy()
            place = (t - 1) % tree.rounds + 1
            return np.asarray(count + scale * tree.add(place))

        return publish


class FlawedNoise:
    """The noise Lap(1) of the intervals of a tree, in sum."""

    def __init__(self, flaw: str, rounds: int, games: int, rng: np.random.Generator) -> None:
        self.flaw, self.rounds, self._rng = flaw, rounds, rng
        self._sums: dict[int, np.ndarray] = {0: np.zeros(games)}
        self._kept: dict[int, np.ndarray] = {}
        self._games = games

    def add(self, t: int) -> np.ndarray:
        """(n,): the noise of the count after round t of the tree."""
        length = lowest_bit(t)
        noise = laplace(self._rng, np.empty(self._games))
        if self.flaw == SHARED:
            noise = self._kept.setdefault(length, noise) if t // length % 4 == 3 else noise
            self._kept[length] = noise
        if self.flaw == RESTART:
            noise = self._kept.setdefault(t, noise)
        is_whole = t == self.rounds if self.flaw == COMPLETION else 2 * length > self.rounds
        if self.flaw in (TOP, COMPLETION) and is_whole:
            noise = np.zeros(self._games)
        self._sums[t] = self._sums[t - length] + noise
        return self._sums[t]


def _open_window(
    games: int, rng: np.random.Generator, window: int, scale: float
) -> Callable[[np.ndarray], np.ndarray]:
    last: list[np.ndarray] = []

    def publish(records: np.ndarray) -> np.ndarray:
        last.append(records.copy())
        del last[:-window]
        return np.asarray(np.sum(last, axis=0) + laplace(rng, np.empty(games), scale))

    return publish


@attrs.frozen
class FlawedLinear(LinearStream):
    """`linear-stream` with too little noise for its claim: for a single record where a user has several ("one
    event"), or by the length of the encoder's shortest column ("wrong norm")."""

    name = "flawed-linear"
    theorem = "none: the claim is false"

    flaw: str = setting(NORM, help=", ".join(LINEAR_FLAWS), check=one_of(*LINEAR_FLAWS))

    @property
    def noise(self) -> float:
        norms = self.matrices.norms
        sensitivity = float(norms.min() if self.flaw == NORM else norms.max())
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=sensitivity)

    @property
    def claim(self) -> Claim:
        right = attrs.evolve(
            LinearStream(), **{field.name: getattr(self, field.name) for field in attrs.fields(LinearStream)}
        )
        if self.sigma is not None:
            raise Unsupported("the noise of a flawed stream is computed", remedy="Leave out sigma.")
        return right.claim


@attrs.frozen
class FlawedSampling(AnnouncedSampling):
    """`announced-sampling` with its claim for adaptive streams, which is false."""

    name = "flawed-sampling"
    theorem = "none: the claim is false"
    protocols = ("Stream", "FixedStream")
