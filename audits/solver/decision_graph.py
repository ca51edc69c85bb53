"""The best adversary that was found, as a graph of decisions."""

from __future__ import annotations

import attrs
import numpy as np

from audits.solver.game_value import GameSolution, Values

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


def extract_decisions(solution: GameSolution, root: int) -> DecisionGraph:
    """The adversary of the lower bound at the log ratio number `root`."""
    return _Extraction(solution, root).graph


class _Extraction:
    def __init__(self, solution: GameSolution, root: int) -> None:
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
