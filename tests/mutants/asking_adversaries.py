"""Broken adversaries, one for each check of `check_adversary`, which must catch them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import Adversary, Moves, Query, Sample, Train

SAMPLE = Sample([0.0, 1.0], [0, 1], [2, 2])


@attrs.frozen
class Asker(Adversary):
    """A sound adversary, which asks 1, and then 1 again in the games that answered 1, and 0 in the others."""

    name = "asker"
    protocols = ("Figure1",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, SAMPLE.replace_one(0, 0.0, 1))
        reply = yield Query(1.0)
        reply = yield Query(self.then(reply.label, rng))
        return self.score(reply.label, rng)

    def then(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return (label == 1).astype(float)

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + 0.1 * rng.random(len(label))


@attrs.frozen
class LooksAside(Asker):
    """Scores a game by comparison with the other games of the batch."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label - label.mean()


@attrs.frozen
class LooksAtItsNeighbour(Asker):
    """Scores a game by the other game of its pair."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label - label.reshape(-1, 2)[:, ::-1].ravel()


@attrs.frozen
class MovesAside(Asker):
    """Asks the answer of the majority of the batch."""

    def then(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return float(np.mean(label) > 0.5)


@attrs.frozen
class TouchyAsker(Asker):
    """Raises if any game of the batch has halted."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        reply = yield Query(1.0)
        if reply.halted.any():
            raise RuntimeError("not again")
        return reply.label


@attrs.frozen
class GlobalAsker(Asker):
    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + np.random.rand(len(label))  # noqa: NPY002 - this is the mutation


@attrs.frozen
class UnseededAsker(Asker):
    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + np.random.default_rng().random(len(label))


@attrs.frozen
class ForgetfulAsker(Asker):
    """Returns one score for the whole batch."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return 1.0


@attrs.frozen
class SecretAsker(Asker):
    """Declares that it returns no score, and returns one."""

    returns_score = False


@attrs.frozen
class MuteAsker(Asker):
    """Declares that it returns a score, and returns none."""

    returns_score = True

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return None


@attrs.frozen
class CheatingAsker(Asker):
    """Makes a second challenge."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, SAMPLE.replace_one(0, 0.0, 1))
        yield Query(0.0, 1.0)
        return None
