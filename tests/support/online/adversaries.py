"""Adversaries of online games, for tests of what learners learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.simple_players import Scripted

from arena import Commit, Example, Moves, Oblivious, play
from arena.concepts import ConceptClass
from arena.littlestone.concept_sets import labellings


def err_on_a_concept(concepts: ConceptClass, rounds: int) -> Scripted:
    """Errs on the last function, at a random point of a concept drawn beforehand.

    Scores whether that concept is what is shown in the end.
    """
    matrix, domain = labellings(concepts), np.array(concepts.domain)

    def moves(games: int, rng: np.random.Generator) -> Moves:
        target = matrix[rng.integers(0, len(matrix), games)]
        labels = np.zeros_like(target)
        for _ in range(rounds):
            weights = np.cumsum((labels != target) + 1e-9, axis=1)
            x = (weights >= rng.random((games, 1)) * weights[:, -1:]).argmax(axis=1)
            reply = yield Example(domain[x], target[np.arange(games), x])
            labels = np.stack([reply.hypothesis(point) for point in domain], axis=1)
        return (labels == target).all(axis=1)

    return Scripted(moves)


def measure_regret(learner: Any, games: int) -> np.ndarray:
    """(games,): the regret on uniform points, labelled by the threshold 6 with a tenth flipped."""
    points, rounds = len(learner.concepts.domain), learner.rounds

    def moves(games: int, rng: np.random.Generator) -> Moves:
        x = rng.integers(0, points, size=(games, rounds))
        y = (x >= 6) ^ (rng.random((games, rounds)) < 0.1)
        yield Commit(x.astype(float), y)
        return np.stack([((x >= t) != y).sum(axis=1) for t in range(points + 1)]).min(axis=0)

    played = play(learner, Scripted(moves), Oblivious(rounds), games=games, seed=1)
    return played.mistakes - played.score
