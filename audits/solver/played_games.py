"""Games of a solved learner, played and compared with the output distribution that was solved.

What is computed speaks of the declared distribution. So the learner plays games of the solved length: along
the best adversary that was found, and along sequences of its moves that repeat, alternate, change once and
mix, since a learner may answer by the declared distribution at first and not later.
"""

from __future__ import annotations

import attrs
import numpy as np

from arena import REFEREES, Adversary, AnswerLaw, Example, OnlineLaw, Query, Ready, Sample, Train
from arena.players import Moves
from arena.testing import RATE
from arena.testing.laws.comparison import compare_with_law
from arena.testing.laws.goodness_of_fit import Comparison
from audits.registry.pairing import find_protocol
from audits.solver.decision_graph import END, DecisionGraph
from audits.solver.posed_game import (
    GameMoves,
    PosedGame,
    QueryGame,
    number_answers,
    number_hypotheses,
)

_SEQUENCES = 32  # of moves in a batch of games, so that games share histories


@attrs.frozen(eq=False)
class PlayedMoves(Adversary):
    """Makes the moves of a solved game as one of its worlds does, in both worlds alike.

    A quarter of the games follow the decisions of `graph`, if there are any; the others follow one of some
    sequences of moves. world: whose points and labels are taken. sample: to train on, None online.
    """

    moves: GameMoves
    rounds: int
    world: int
    sample: Sample | None
    graph: DecisionGraph | None

    name = "played-moves"
    protocols = tuple(REFEREES)
    returns_score = True

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        return (yield from (self._ask if self.moves.labels is None else self._give_examples)(games, rng))

    def _ask(self, games: int, rng: np.random.Generator) -> Moves:
        move, node = self._draw_moves(games, rng)
        assert self.sample is not None
        yield Train(self.sample)
        for t in range(self.rounds):
            self._decide(move[:, t], node)
            reply = yield Query(self.moves.points[move[:, t], self.world])
            outcome = number_answers(reply, self.moves.answers)
            outcome[self.moves.differ[move[:, t]]] = len(self.moves.answers)
            self._follow(node, outcome)
        return np.zeros(games)

    def _give_examples(self, games: int, rng: np.random.Generator) -> Moves:
        """The first decision only asks for h_1; move t makes the example of round t - 1."""
        assert self.moves.labels is not None
        assert self.moves.hypotheses is not None
        hypotheses = self.moves.hypotheses.reshape(len(self.moves.hypotheses), -1)
        move, node = self._draw_moves(games, rng)
        shown = yield Ready()
        for t in range(self.rounds):
            self._follow(node, number_hypotheses(shown, hypotheses))
            self._decide(move[:, t], node)
            x = self.moves.points[move[:, t], self.world]
            shown = yield Example(x, self.moves.labels[move[:, t], self.world])
        return np.zeros(games)

    def _draw_moves(self, games: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """(n, T): the moves of sequences; (n,): the nodes at which games begin that follow decisions."""
        sequences = np.stack([self._draw_sequence(number % 4, rng) for number in range(_SEQUENCES)])
        node = np.full(games, END)
        if self.graph is not None:
            node[: games // 4] = 0
        return sequences[rng.integers(_SEQUENCES, size=games)], node

    def _draw_sequence(self, kind: int, rng: np.random.Generator) -> np.ndarray:
        """(T,): one move, two in turn, one and from some round on another, or any."""
        every, times = len(self.moves.names), np.arange(self.rounds)
        if kind == 3:
            return rng.integers(every, size=self.rounds)
        one, other = rng.integers(every, size=2)
        change = (times < 0, times % 2 == 1, times >= rng.integers(1, self.rounds + 1))[kind]
        return np.where(change, other, one)

    def _decide(self, move: np.ndarray, node: np.ndarray) -> None:
        if self.graph is not None:
            follows = node != END
            move[follows] = self.graph.move[node[follows]]

    def _follow(self, node: np.ndarray, outcome: np.ndarray) -> None:
        if self.graph is not None:
            follows = (node != END) & (outcome < self.graph.after.shape[1])
            node[:] = np.where(follows, self.graph.after[node, np.where(follows, outcome, 0)], END)


def compare_solved_game(
    posed: PosedGame, moves: GameMoves, rounds: int, graph: DecisionGraph | None
) -> Comparison:
    """Compare games of so many rounds, in both worlds, with the distribution that the learner declares.

    Raises: NotConforming; whatever a referee raises in a game.
    """
    learner = posed.learner
    worlds = []
    for world in range(2):
        sample = posed.samples[world] if isinstance(posed, QueryGame) else None
        adversary = PlayedMoves(moves, rounds, world, sample, graph)
        kind = find_protocol(learner, OnlineLaw if sample is None else AnswerLaw)
        assert kind is not None
        referee = kind.with_rounds(rounds)
        worlds.append(compare_with_law(learner, adversary, referee, rate=RATE / 2, worlds=(bool(world),)))
    first, second = worlds
    assert first is not None  # since the points are those of the distribution
    assert second is not None
    return Comparison(
        games=min(first.games, second.games), events=max(first.events, second.events), rate=RATE / 2
    )
