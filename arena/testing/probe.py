"""An adversary that plays every protocol, to check learners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from arena.moves import Advance, Commit, Example, Move, Queries, Query, Ready, Train, Unlabelled
from arena.players import Adversary, Moves
from arena.referees import REFEREES
from arena.sample import Sample

ROUNDS = 12  # of online games, if the learner allows so many
_UNLABELLED = 10  # times that every point is handed over


@attrs.frozen
class Probe(Adversary):
    """Plays any protocol with one sample and some points.

    mixed: every other game of the batch gets another sample and other points.
    in_a_row: queries are asked together. unlabelled: unlabelled points are handed over before the queries.
    instructed: online games come with instructions. rounds: of online games.
    """

    sample: Sample
    points: tuple[Any, ...]
    protocol: str
    mixed: bool = False
    in_a_row: bool = False
    unlabelled: bool = False
    instructed: bool = False
    rounds: int = ROUNDS

    name = "probe"
    protocols = tuple(REFEREES)
    returns_score = True

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        protocols: dict[str, Callable[[int], Iterator[Move]]] = {
            "Figure1": self._ask,
            "Voting": self._ask,
            "Release": self._train,
            "TrainingRun": self._run_training,
            "Oblivious": self._commit,
            "Adaptive": self._give_examples,
            "SpecialRound": self._get_ready,
        }
        yield from protocols[self.protocol](games)
        return np.zeros(games)

    def _ask(self, games: int) -> Iterator[Move]:
        yield Train(self._mix_samples(games))
        if self.unlabelled:
            points = [self._mix_points(x, games) for x in self.points]
            yield Unlabelled(np.stack(points * _UNLABELLED, axis=1))
        if self.in_a_row:
            yield Queries(np.array(self.points))
            return
        for x in self.points:
            yield Query(self._mix_points(x, games))

    def _train(self, games: int) -> Iterator[Move]:
        yield Train(self._mix_samples(games))

    def _run_training(self, games: int) -> Iterator[Move]:
        yield Train(self._mix_samples(games))
        if not self.in_a_row:
            yield Advance(1)
        yield Advance()

    def _commit(self, games: int) -> Iterator[Move]:
        rounds = range(self.rounds)
        x = np.stack([self._mix_points(self._point(t), games) for t in rounds], axis=1)
        yield Commit(x, np.stack([self._mix_labels(t, games) for t in rounds], axis=1))

    def _give_examples(self, games: int) -> Iterator[Move]:
        for t in range(self.rounds):
            update = t % 2 == 0 if self.instructed else None
            x = self._mix_points(self._point(t), games)
            yield Example(x, self._mix_labels(t, games), update=update)

    def _get_ready(self, games: int) -> Iterator[Move]:
        yield Ready()
        yield from self._give_examples(games)

    def _point(self, t: int) -> Any:
        return self.points[t % len(self.points)]

    def _mix_labels(self, t: int, games: int) -> np.ndarray:
        labels = np.full(games, t % 2)
        labels[1::2] ^= self.mixed
        return labels

    def _mix_points(self, x: Any, games: int) -> np.ndarray:
        points = np.repeat(np.asarray(x)[None], games, axis=0)
        if self.mixed:  # the other extreme of the points
            farthest = self.points[min(2, len(self.points) - 1)]
            points[1::2] = farthest if np.array_equal(x, self.points[0]) else self.points[0]
        return points

    def _mix_samples(self, games: int) -> Sample | list[Sample]:
        if not self.mixed or games < 2:
            return self.sample
        labels = self.sample.labels
        other = Sample(self.sample.points, 0 * labels + 1 - labels[0], self.sample.counts)
        return [other if game % 2 else self.sample for game in range(games)]
