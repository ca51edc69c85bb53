"""Solved games that are played: by the best adversary, and to compare with their law.

Games of the solved length are compared with the declared distribution, since a learner may follow it at
first and not later: along the best adversary, and along moves that repeat, alternate, change once and mix.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import REFEREES, Adversary, InvalidArgument, Sample
from arena.players import Moves
from arena.testing import RATE
from arena.testing.laws.comparison import compare_with_law
from arena.testing.laws.goodness_of_fit import Comparison
from audits.registry.match import find_protocol
from audits.solver.game_value import END, DecisionGraph
from audits.solver.posed_games import GAMES, GameMoves, PosedGame

_SEQUENCES = 32  # of moves in a batch of games, so that games share histories


class _Walk:
    """Games that walk through decisions. live: (n,), those that do; score: (n,), of those that have ended."""

    def __init__(self, graph: DecisionGraph, live: np.ndarray) -> None:
        self.live, self.score = live, np.zeros(len(live))
        self._graph, self._node = graph, np.zeros(len(live), int)

    @property
    def move(self) -> np.ndarray:
        """(n,): the move of each game; of games that have ended, the last one."""
        return self._graph.move[self._node]

    def follow(self, outcome: np.ndarray) -> None:
        """Go on after an outcome (n,) of each game."""
        outcome = np.minimum(outcome, self._graph.after.shape[1] - 1)  # others occur in games that have ended
        after = self._graph.after[self._node, outcome]
        self.score = np.where(self.live & (after == END), self._graph.score[self._node, outcome], self.score)
        self.live = self.live & (after != END)
        self._node = np.where(self.live, after, self._node)


@attrs.frozen
class Decision:
    """What an adversary does at one point of a game, and what follows each outcome.

    world_0, world_1: the query or record in each world; online, the example (point, label). after: the number
    of the next decision, -1 where the game is over. scores: there, the log-likelihood ratio of world 1
    against 0.
    """

    world_0: Any
    world_1: Any
    after: tuple[int, ...]
    scores: tuple[float, ...]


@attrs.frozen(kw_only=True)
class BestAdversary(Adversary):
    """Does what tells most of the world, given all that it has seen.

    world_0, world_1: the training sample of each world, if there is one; world_1=None: the same. answers,
    shown: the outcomes, as in `GameMoves`. decisions: the game begins with the first.
    """

    name = "best-adversary"
    returns_score = True

    protocol: str
    rounds: int
    world_0: Sample | None = None
    world_1: Sample | None = None
    answers: tuple[tuple[int, bool], ...] = ()
    shown: tuple[Any, ...] = ()
    decisions: tuple[Decision, ...]

    @property
    def protocols(self) -> tuple[str, ...]:  # type: ignore[override]
        """The one that it plays."""
        return (self.protocol,)

    @classmethod
    def of(
        cls, posed: PosedGame, moves: GameMoves, graph: DecisionGraph | None, rounds: int
    ) -> BestAdversary:
        """The adversary of some decisions. Raises: InvalidArgument if they were too many to be listed."""
        if graph is None:
            raise InvalidArgument(
                f"the best adversary of {rounds:,} rounds makes too many different decisions for a file",
                remedy="Allow fewer rounds.",
            )
        samples = posed.training
        worlds = [_list_plain(moves.points[:, world]) for world in range(2)]
        if moves.labels is not None:
            worlds = [[*zip(x, y, strict=True)] for x, y in zip(worlds, moves.labels.T.tolist(), strict=True)]
        scores = np.where(np.isnan(graph.score), 0.0, graph.score)
        rows = zip(graph.move.tolist(), graph.after.tolist(), scores.tolist(), strict=True)
        kind = find_protocol(posed.learner, posed.law)
        assert kind is not None  # since the game of the learner was solved
        return cls(
            protocol=kind.name,
            rounds=rounds,
            world_0=samples[0],
            world_1=None if samples[0] == samples[1] else samples[1],
            answers=moves.answers,
            shown=() if moves.shown is None else tuple(_list_plain(moves.shown)),
            decisions=tuple(
                Decision(worlds[0][move], worlds[1][move], tuple(after), tuple(ends))
                for move, after, ends in rows
            ),
        )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        made = [(decision.world_0, decision.world_1) for decision in self.decisions]
        law = REFEREES[self.protocol].law
        assert law is not None
        points, labels = GAMES[law].read_moves(made)
        shown = np.array(self.shown) if self.shown else None
        moves = GameMoves(
            names=(), outcomes=(), points=points, labels=labels, answers=self.answers, shown=shown
        )
        after, scores = ([getattr(d, name) for d in self.decisions] for name in ("after", "scores"))
        graph = DecisionGraph(np.arange(len(made)), np.array(after), np.array(scores))
        walk = _Walk(graph, np.ones(games, bool))

        def choose(t: int) -> tuple[np.ndarray, int, np.ndarray]:
            return walk.move, 0, walk.live.astype(int)  # no second challenge in games that have ended

        yield from GAMES[law].play(moves, (self.world_0, self.world_1), self.rounds, choose, walk.follow)
        return walk.score


def _list_plain(points: np.ndarray) -> list[Any]:
    """Points as plain data: numbers, or nested tuples of numbers."""

    def plain(value: Any) -> Any:
        return tuple(map(plain, value)) if isinstance(value, list) else value

    return [plain(point) for point in points.tolist()]


@attrs.frozen(eq=False)
class PlayedMoves(Adversary):
    """Makes the moves of a solved game as one of its worlds does, in both worlds alike: in a quarter of the
    games by the decisions of `graph`, if there are any, in the others by one of some sequences of moves.
    world: whose points and labels are taken. sample: to train on, None online."""

    game: type[PosedGame]
    moves: GameMoves
    rounds: int
    world: int
    sample: Sample | None
    graph: DecisionGraph | None

    name = "played-moves"
    protocols = tuple(REFEREES)
    returns_score = True

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sequences = np.stack([self._draw_sequence(number % 4, rng) for number in range(_SEQUENCES)])
        moves = sequences[rng.integers(_SEQUENCES, size=games)]
        walk = None if self.graph is None else _Walk(self.graph, np.arange(games) < games // 4)

        def choose(t: int) -> tuple[np.ndarray, int, int]:
            move = moves[:, t] if walk is None else np.where(walk.live, walk.move, moves[:, t])
            return move, self.world, self.world

        follow = (lambda outcome: None) if walk is None else walk.follow
        yield from self.game.play(self.moves, (self.sample,), self.rounds, choose, follow)
        return np.zeros(games)

    def _draw_sequence(self, kind: int, rng: np.random.Generator) -> np.ndarray:
        """(T,): one move, two in turn, one and from some round on another, or any."""
        every, times = len(self.moves.names), np.arange(self.rounds)
        if kind == 3:
            return rng.integers(every, size=self.rounds)
        one, other = rng.integers(every, size=2)
        change = (times < 0, times % 2 == 1, times >= rng.integers(1, self.rounds + 1))[kind]
        return np.where(change, other, one)


def compare_solved_game(
    posed: PosedGame, moves: GameMoves, rounds: int, graph: DecisionGraph | None
) -> Comparison:
    """Compare games of so many rounds, in both worlds, with the distribution that the learner declares.
    Raises: NotConforming; whatever a referee raises in a game."""
    learner = posed.learner
    worlds = []
    for world in range(2):
        adversary = PlayedMoves(type(posed), moves, rounds, world, posed.training[world], graph)
        kind = find_protocol(learner, posed.law)
        assert kind is not None
        referee = kind.with_rounds(rounds)
        worlds.append(compare_with_law(learner, adversary, referee, rate=RATE / 2, worlds=(bool(world),)))
    first, second = worlds
    assert first is not None  # since the points are those of the distribution
    assert second is not None
    return first.merge(second)
