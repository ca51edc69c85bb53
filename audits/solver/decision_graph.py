"""The best adversary that was found, as a graph of decisions."""

from __future__ import annotations

import attrs
import numpy as np

from audits.solver.game_value import GameSolution, Values
from audits.solver.posed_game import GameMoves

END = -1  # the game is over after this outcome


@attrs.frozen(eq=False)
class DecisionGraph:
    """A deterministic adversary: in each node it makes a move, and the outcome leads to the next node.

    Nodes are in the order of rounds; the first is the start. Shapes: move (v,); after (v, k), END where the
    game is over; score (v, k), the log-likelihood ratio log P_0/P_1 of the history at such an end, where
    infinities stand for what only one world can show, and NaN for what neither can.
    """

    move: np.ndarray
    after: np.ndarray
    score: np.ndarray


def extract_decisions(solution: GameSolution, root: int, most: int = 2_000) -> DecisionGraph | None:
    """The adversary of the lower bound at the log ratio number `root`; None if it has too many nodes."""
    return _Extraction(solution, root, most).graph


def end_before_second_challenge(graph: DecisionGraph, differs: np.ndarray) -> DecisionGraph:
    """The graph in which a move that differs between the worlds is not made twice in a game.

    A second one, which the rules refuse, ends the game in the matrices, so it stands for not caring what
    follows. differs: (moves,) bool.
    """
    flag, ends = np.zeros(len(graph.move), bool), np.zeros(len(graph.move), bool)
    for number, (move, following) in enumerate(zip(graph.move, graph.after, strict=True)):
        ends[number] = flag[number] and differs[move]
        flag[following[following != END]] |= flag[number] or differs[move]
    after, score = graph.after.copy(), graph.score.copy()
    for node in np.flatnonzero(ends):
        arrivals = after == node
        score[arrivals] = graph.score[node][~np.isnan(graph.score[node])].max(initial=-np.inf)
        after[arrivals] = END
    reached = np.zeros(len(ends) + 1, bool)  # the last entry is END
    reached[0] = True
    for number in range(len(ends)):
        reached[after[number]] |= reached[number]
    kept = np.flatnonzero(reached[:-1])
    numbers = np.append(np.cumsum(reached[:-1]) - 1, END)
    return DecisionGraph(graph.move[kept], numbers[after[kept]], score[kept])


class _Extraction:
    def __init__(self, solution: GameSolution, root: int, most: int) -> None:
        self.graph: DecisionGraph | None = None
        self._solution = solution
        self._values: dict[tuple[int, int], list[Values]] = {}
        outcomes = len(solution.graph.game.halts)
        move: list[int] = []
        after, score = [], []
        # (family, log ratio of the family, round, node of the stage, log ratio of the history)
        waiting: list[tuple[int, int, int, int, float]] = [(0, root, 0, 0, 0.0)]
        numbers = {waiting[0]: 0}
        for family, line, time, node, ratio in waiting:  # the list grows while it is traversed
            stage = solution.graph.stages[time]
            values = self._values_of(family, line)[time - solution.graph.families[family].time]
            chosen = int(values.move[solution.places[time][node], 0])
            move.append(chosen)
            after.append(np.full(outcomes, END))
            score.append(np.full(outcomes, np.nan))
            for outcome in range(outcomes):
                mass_0, mass_1, *_ = (
                    float(part[node]) for part in solution.graph.branch(stage, chosen, outcome)
                )
                with np.errstate(divide="ignore", invalid="ignore"):
                    reached = ratio + float(np.log(mass_1) - np.log(mass_0))
                following = stage.after[chosen][outcome] if stage.after else None
                place = END if following is None else int(following[node])
                if place == END:
                    score[-1][outcome] = -reached
                    continue
                here = solution.graph.families[family].ratios[line] + stage.offset[node]
                state = self._follow(family, line, time + 1, place, here + np.log(mass_1 / mass_0), reached)
                if state not in numbers:
                    numbers[state] = len(waiting)
                    waiting.append(state)
                after[-1][outcome] = numbers[state]
            if len(waiting) > most:
                return
        self.graph = DecisionGraph(np.array(move), np.array(after), np.array(score))

    def _follow(
        self, family: int, line: int, time: int, node: int, ratio: float, reached: float
    ) -> tuple[int, int, int, int, float]:
        """What is known of the next node: another family has its own adversaries to choose from."""
        other = int(self._solution.graph.stages[time].family[node])
        if other != family:
            family, line = other, int(self._solution.families[other].best_line(np.array([ratio]))[0])
        return family, line, time, node, round(reached, 9)

    def _values_of(self, family: int, line: int) -> list[Values]:
        if (family, line) not in self._values:
            ratios = self._solution.graph.families[family].ratios[line : line + 1]
            self._values[family, line] = self._solution.stage_values(family, ratios)
        return self._values[family, line]


@attrs.frozen(eq=False)
class Strategy:
    """The best adversary that was found for one ε, in nats: it reaches the lower bound delta there.

    graph: its decisions, None if there are more than 2,000; the scores are log-likelihood ratios of world 1
    against world 0. moves: of the game.
    """

    epsilon: float
    delta: float
    graph: DecisionGraph | None
    moves: GameMoves
