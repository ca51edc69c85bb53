"""The best adversary of a solved game as plain data, which every command can play."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import Adversary, Example, InvalidArgument, Moves, Query, Ready, Sample, Train
from audits.solver.decision_graph import END, Strategy
from audits.solver.posed_game import PosedGame, QueryGame, number_answers, number_hypotheses


@attrs.frozen
class Decision:
    """What an adversary does at one point of a game, and what follows each outcome.

    world_0, world_1: the query in each world; online, the example (point, label). after: for each outcome the
    number of the next decision, -1 where the game is over. scores: where it is over, the log-likelihood ratio
    of world 1 against world 0; elsewhere 0.
    """

    world_0: Any
    world_1: Any
    after: tuple[int, ...]
    scores: tuple[float, ...]


@attrs.frozen(kw_only=True)
class BestAdversary(Adversary):
    """Does what tells most of the world, given all that it has seen.

    protocol: Figure1, Voting or SpecialRound. rounds: of a game. world_0, world_1: the training sample of
    each world, except under SpecialRound; world_1=None: the same.
    answers: the outcomes of a query, as labels and whether the learner halts; then come a withheld answer and
    silence. hypotheses: the outcomes under SpecialRound, as concepts. decisions: the game begins with the
    first.
    """

    name = "best-adversary"
    protocols = ("Figure1", "Voting", "SpecialRound")
    returns_score = True

    protocol: str
    rounds: int
    world_0: Sample | None = None
    world_1: Sample | None = None
    answers: tuple[tuple[int, bool], ...] = ()
    hypotheses: tuple[Any, ...] = ()
    decisions: tuple[Decision, ...]

    @classmethod
    def of(cls, strategy: Strategy, posed: PosedGame, rounds: int) -> BestAdversary:
        """The adversary of a strategy. Raises: InvalidArgument if its decisions are too many to be listed."""
        graph, moves = strategy.graph, strategy.moves
        if graph is None:
            raise InvalidArgument(
                f"the best adversary of {rounds:,} rounds makes too many different decisions for a file",
                remedy="Allow fewer rounds.",
            )
        samples = posed.samples if isinstance(posed, QueryGame) else (None, None)
        worlds = [_list_plain(moves.points[:, world]) for world in range(2)]
        if moves.labels is not None:
            worlds = [[*zip(x, y, strict=True)] for x, y in zip(worlds, moves.labels.T.tolist(), strict=True)]
        scores = np.where(np.isnan(graph.score), 0.0, graph.score)
        rows = zip(graph.move.tolist(), graph.after.tolist(), scores.tolist(), strict=True)
        return cls(
            protocol=next(name for name in cls.protocols if name in posed.learner.protocols),
            rounds=rounds,
            world_0=samples[0],
            world_1=None if samples[0] == samples[1] else samples[1],
            answers=moves.answers,
            hypotheses=() if moves.hypotheses is None else tuple(_list_plain(moves.hypotheses)),
            decisions=tuple(
                Decision(worlds[0][move], worlds[1][move], tuple(after), tuple(ends))
                for move, after, ends in rows
            ),
        )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        walk = _Walk(self.decisions, games)
        if self.world_0 is None:
            hypotheses = np.reshape(self.hypotheses, (len(self.hypotheses), -1))
            points, labels = (
                [np.array([move[part] for move in world]) for world in walk.worlds] for part in range(2)
            )
            shown = yield Ready()
            for _ in range(self.rounds):
                walk.follow(number_hypotheses(shown, hypotheses))
                (x, other_x), (y, other_y) = walk.choose(points), walk.choose(labels)
                shown = yield Example(x, y, other_x, other_y)
            return walk.score
        yield Train(self.world_0, self.world_1)
        queries = [np.array(world) for world in walk.worlds]
        for _ in range(self.rounds):
            x, other = walk.choose(queries)
            reply = yield Query(x, other)
            outcome = number_answers(reply, self.answers)
            outcome[(x != other).reshape(games, -1).any(axis=1)] = len(self.answers)  # withheld
            walk.follow(outcome)
        return walk.score


class _Walk:
    """Games that walk through decisions. worlds: the moves of each. score: (n,), of games that are over."""

    def __init__(self, decisions: tuple[Decision, ...], games: int) -> None:
        self.worlds = [[d.world_0 for d in decisions], [d.world_1 for d in decisions]]
        self.score = np.zeros(games)
        self._after = np.array([decision.after for decision in decisions])
        self._scores = np.array([decision.scores for decision in decisions])
        self._node, self._live = np.zeros(games, int), np.ones(games, bool)

    def choose(self, moves: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The moves of each game in both worlds, which are the same where the game is over."""
        first, second = (world[self._node] for world in moves)
        return first, np.where(self._live.reshape(-1, *(1,) * (first.ndim - 1)), second, first)

    def follow(self, outcome: np.ndarray) -> None:
        """Go on after an outcome (n,) of each game."""
        outcome = np.minimum(outcome, self._after.shape[1] - 1)  # others occur only where it is over
        after = self._after[self._node, outcome]
        self.score = np.where(self._live & (after == END), self._scores[self._node, outcome], self.score)
        self._live &= after != END
        self._node = np.where(self._live, after, self._node)


def _list_plain(points: np.ndarray) -> list[Any]:
    """Points as plain data: numbers, or nested tuples of numbers."""

    def plain(value: Any) -> Any:
        return tuple(map(plain, value)) if isinstance(value, list) else value

    return [plain(point) for point in points.tolist()]
