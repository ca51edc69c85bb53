"""Adversaries that follow the decision graph of a solved game, and a search of all adversaries."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from arena import NO_LABEL, Adversary, AnswerLaw, Moves, Query, Sample, Train
from audits.solver.decision_graph import END, DecisionGraph

Value = Callable[[np.ndarray, np.ndarray], float]


@attrs.frozen(eq=False)
class FollowsDecisions(Adversary):
    """Follows a decision graph with a challenge round; its score is that of the graph.

    queries: (moves, 2, ...) in both worlds. outcomes: the label of each outcome, and whether it halts.
    """

    name = "follows-decisions"
    protocols = ("Figure1",)

    graph: DecisionGraph
    sample: Sample
    queries: np.ndarray
    outcomes: tuple[tuple[int, bool], ...]
    rounds: int

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(self.sample)
        node, score, over = np.zeros(games, int), np.zeros(games), np.zeros(games, bool)
        flag = np.zeros(games, bool)
        withheld, silence = len(self.outcomes), len(self.outcomes) + 1
        for _ in range(self.rounds):
            move = self.graph.move[node]
            query = self.queries[move]
            differ = query[:, 0] != query[:, 1]
            stops = differ & flag & ~over  # a second challenge ends the game
            score = np.where(stops, self.graph.score[node, silence], score)
            over |= stops
            differ &= ~over
            flag |= differ
            answer = yield Query(query[:, 0], np.where(differ, query[:, 1], query[:, 0]))
            outcome = np.where(differ, withheld, silence)
            for number, (label, halted) in enumerate(self.outcomes):
                outcome[~differ & (answer.label == label) & (answer.halted == halted)] = number
            assert (answer.label[(outcome == silence) & ~over] == NO_LABEL).all()
            after = self.graph.after[node, outcome]
            score = np.where(~over & (after == END), self.graph.score[node, outcome], score)
            over |= after == END
            node = np.where(over, node, after)
        return score


def best_with_challenge(law: AnswerLaw, points: np.ndarray, rounds: int, epsilon: float) -> float:
    """The value of the best of all adversaries with one challenge, by trying them."""

    def guess(first: np.ndarray, second: np.ndarray, silent: np.ndarray) -> float:
        own, other = first.sum() + silent[0], second.sum() + silent[1]
        return max(0.0, float(own - np.exp(epsilon) * other))

    def ask(measure: np.ndarray, point: np.ndarray) -> np.ndarray:
        return np.asarray(law.step(measure[None], point[None]))[:, 0]

    halts = np.array([halt for _, halt in law.outcomes])
    none = np.zeros(2)

    def value(first: np.ndarray, second: np.ndarray, silent: np.ndarray, flag: bool, left: int) -> float:
        if not left:
            return guess(first, second, silent)
        values = []
        for point in points:
            total = guess(0 * first, 0 * second, silent)
            for own, other, halt in zip(ask(first, point), ask(second, point), halts, strict=True):
                total += guess(own, other, none) if halt else value(own, other, none, flag, left - 1)
            values.append(total)
        if flag:
            return max(values)
        for one in points:
            for two in points:
                own, other = ask(first, one), ask(second, two)
                hidden = np.array([own[halts].sum(), other[halts].sum()])
                values.append(
                    value(own[~halts].sum(axis=0), other[~halts].sum(axis=0), hidden, True, left - 1)
                )
        return max(values)

    start = np.asarray(law.start())
    return value(start, start, none, False, rounds)
