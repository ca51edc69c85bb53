"""Bounds on the value of a two-world game on its belief graph, by induction from the end, and the adversary.

With mass z in world 1 for each 1 in world 0, the value is the largest P_0(guess "world 0") - z·P_1(guess
"world 0") of all adversaries, which is convex in z: above it are chords between the log ratios of a family,
below it lines, each the two probabilities of one adversary. See docs/proofs/solver.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import attrs
import numpy as np

from audits.solver.belief_graph import NEGLIGIBLE, BeliefGraph, Stage
from audits.solver.linear_game import Watch, ignore_progress

_CHUNK = 2**24  # values that are kept at the same time
_CACHED = 2**13  # values that are computed together: their arrays fit into a processor's cache
END = -1  # the game is over after this outcome


@attrs.frozen(eq=False)
class Values:
    """Bounds on the value of the rest of a game, for pairs of beliefs with p log ratios. Shapes (..., p):
    upper, an upper bound; of the best adversary known, accepts_0 and accepts_1, the probabilities of a guess
    "world 0"; error, by how much its value may be less, since beliefs were merged; its first move."""

    upper: np.ndarray
    accepts_0: np.ndarray
    accepts_1: np.ndarray
    error: np.ndarray
    move: np.ndarray

    def select(self, pairs: slice) -> Values:
        """Views of the values of some pairs."""
        return Values(*(getattr(self, field.name)[pairs] for field in attrs.fields(Values)))


@attrs.frozen(eq=False)
class FamilyValues:
    """The values of the first pair of a family, at its log ratios (p,)."""

    ratios: np.ndarray
    values: Values

    def lower(self) -> np.ndarray:
        """(p,): the lower bounds at the log ratios."""
        value = self.values.accepts_0 - np.exp(self.ratios) * self.values.accepts_1
        return np.asarray(value - self.values.error)

    def best_line(self, ratios: np.ndarray) -> np.ndarray:
        """The number of the adversary that does best at each log ratio, of those of the two neighbours."""
        right = np.clip(np.searchsorted(self.ratios, ratios), 0, len(self.ratios) - 1)
        left = np.maximum(right - 1, 0)
        z = np.exp(np.minimum(ratios, 700))
        one, other = (self.values.accepts_0[line] - z * self.values.accepts_1[line] for line in (left, right))
        return np.where(other > one, right, left)

    def split_values(self, masses: Sequence[np.ndarray], own: np.ndarray) -> tuple[np.ndarray, ...]:
        """The parts of upper, accepts_0, accepts_1 and error that an outcome adds which leads to the pair.
        masses: two or more of (n, 1), its probability in both worlds. own: (n, p), z before it."""
        _, accepts_0, accepts_1 = _guess(masses, own)
        upper, error = np.repeat(masses[0], own.shape[1], axis=1), np.zeros(own.shape)
        # Negligible outcomes are not followed.
        (on,) = np.nonzero(((masses[0] > NEGLIGIBLE) & (masses[1] > NEGLIGIBLE))[:, 0])
        mass_0, mass_1 = masses[0][on], masses[1][on]
        ratios = np.log(own[on] * (mass_1 / mass_0))
        line = self.best_line(ratios)
        # By the chord of neighbours, or from the value 1 at z = 0; beyond the last it is at most the last.
        z = np.exp(np.append(-np.inf, self.ratios))
        upper[on] = mass_0 * np.interp(np.exp(ratios), z, np.append(1.0, self.values.upper))
        accepts_0[on] = mass_0 * self.values.accepts_0[line]
        accepts_1[on] = mass_1 * self.values.accepts_1[line]
        # Errors in world 1 weigh by the ratio.
        error[on] = mass_0 * self.values.error[line] * np.maximum(1, np.exp(ratios - self.ratios[line]))
        return upper, accepts_0, accepts_1, error


class GameSolution:
    """The values of all families of a graph."""

    def __init__(
        self,
        graph: BeliefGraph,
        *,
        ends: Mapping[int, Sequence[FamilyValues]] | None = None,
        watch: Watch = ignore_progress,
    ) -> None:
        """ends: for outcomes that end the game of the graph but not the whole game, the values of what
        follows with 1, 2, ... rounds left."""
        self.graph = graph
        self._ends = ends or {}
        self.families: dict[int, FamilyValues] = {}
        self.places = [_place_in_family(stage) for stage in graph.stages]
        ratios = np.array([len(family.ratios) for family in graph.families])
        self._watch, self._done = watch, 0
        self._total = sum(int(ratios[stage.family].sum()) for stage in graph.stages)
        for number in reversed(range(len(graph.families))):
            self.families[number] = self._solve(number)
        self._watch = ignore_progress

    @property
    def root(self) -> FamilyValues:
        return self.families[0]

    def _solve(self, family: int) -> FamilyValues:
        head = self.graph.families[family]
        # Pieces of the log ratios whose values can be kept at the same time.
        largest = max(int((stage.family == family).sum()) for stage in self.graph.stages[head.time :])
        pieces = min(len(head.ratios), -(-len(head.ratios) * largest // _CHUNK))
        parts = [self.stage_values(family, piece)[0] for piece in np.array_split(head.ratios, pieces)]
        joined = (
            np.concatenate([getattr(part, name)[0] for part in parts])
            for name in ("upper", "accepts_0", "accepts_1", "error", "move")
        )
        return FamilyValues(head.ratios, Values(*joined))

    def stage_values(self, family: int, ratios: np.ndarray) -> list[Values]:
        """The values (n, p) of the n pairs of a family in each stage from its first on, at p log ratios."""
        time = self.graph.families[family].time
        found: list[Values] = []
        for stage in reversed(range(time, len(self.graph.stages))):
            members = np.flatnonzero(self.graph.stages[stage].family == family)
            if len(members):
                found.append(self._induce(stage, members, family, ratios, found[-1] if found else None))
        return found[::-1]

    def _induce(
        self, time: int, members: np.ndarray, family: int, ratios: np.ndarray, later: Values | None
    ) -> Values:
        shape = len(members), len(ratios)
        best = Values(
            upper=np.full(shape, -np.inf),
            accepts_0=np.zeros(shape),
            accepts_1=np.zeros(shape),
            error=np.zeros(shape),
            move=np.full(shape, -1, np.int16),
        )
        rows = max(1, _CACHED // len(ratios))
        for start in range(0, len(members), rows):
            piece = slice(start, start + rows)
            self._watch("values", self._done, self._total)
            self._done += members[piece].size * len(ratios)
            self._induce_nodes(time, members[piece], family, ratios, later, best.select(piece))
        return best

    def _induce_nodes(
        self,
        time: int,
        members: np.ndarray,
        family: int,
        ratios: np.ndarray,
        later: Values | None,
        best: Values,
    ) -> None:
        """Find the values of some members of a family, and write them to `best`."""
        graph, stage = self.graph, self.graph.stages[time]
        left = graph.game.rounds - time - 1  # rounds after this one
        if not left:
            self._guess_after(stage, members, ratios, best)
            return
        own = np.exp(stage.offset[members])[:, None] * np.exp(ratios)  # z of each point
        lower = np.full(own.shape, -np.inf)
        tables = [
            world.masses[:, :, beliefs]
            for world, beliefs in zip(stage.worlds, stage.beliefs[:, members], strict=True)
        ]
        for move in range(graph.game.moves):
            total = [np.zeros(own.shape) for _ in range(4)]
            for outcome in range(len(graph.game.halts)):
                after = stage.after[move][outcome] if stage.after else None
                masses = [
                    table[kernel, outcome][:, None]
                    for table, kernel in zip(tables, graph.kernels[:, move], strict=True)
                ]
                if not (masses[0].any() or masses[1].any()):
                    continue
                if outcome in self._ends:
                    parts: Sequence[np.ndarray] = self._ends[outcome][left - 1].split_values(masses, own)
                elif after is None:
                    parts = _guess(masses, own)
                else:
                    masses = [part[:, None] for part in graph.branch(stage, move, outcome, members)]
                    parts = self._go_on(time + 1, after[members], masses, own, family, later)
                for sum_, part in zip(total, parts, strict=False):  # a guess has no error
                    sum_ += part
            upper, accepts_0, accepts_1, error = total
            np.maximum(best.upper, upper, out=best.upper)
            value = accepts_0 - own * accepts_1 - error
            better = value > lower
            kept = lower, best.accepts_0, best.accepts_1, best.error
            for old, new in zip(kept, (value, accepts_0, accepts_1, error), strict=True):
                np.copyto(old, new, where=better)
            best.move[better] = move

    def _guess_after(self, stage: Stage, members: np.ndarray, ratios: np.ndarray, best: Values) -> None:
        """As `_induce_nodes` for pairs of the last stage, which are worth a guess: both bounds are equal."""
        own = np.exp(stage.offset[members])[:, None] * np.exp(ratios)
        first, second = (
            world.masses[:, :, beliefs, None]
            for world, beliefs in zip(stage.worlds, stage.beliefs[:, members], strict=True)
        )
        possible = [
            mass_0.any() or mass_1.any()
            for mass_0, mass_1 in zip(first.swapaxes(0, 1), second.swapaxes(0, 1), strict=True)
        ]
        first, second = first[:, possible], second[:, possible]
        weighed = second * own
        for move, (one, other) in enumerate(self.graph.kernels.T):
            total: np.ndarray = np.zeros(own.shape)
            for mass_0, mass_1 in zip(first[one], weighed[other], strict=True):
                gain = mass_0 - mass_1
                total += np.maximum(gain, 0, out=gain)
            better = total > best.upper
            np.copyto(best.upper, total, where=better)
            best.move[better] = move
        node = np.arange(len(own))[:, None]
        one, other = self.graph.kernels[:, best.move]
        for outcome in range(first.shape[1]):
            mass_0, mass_1 = first[one, outcome, node, 0], second[other, outcome, node, 0]
            accept = mass_0 > own * mass_1
            best.accepts_0[:] += accept * mass_0
            best.accepts_1[:] += accept * mass_1

    def _go_on(
        self,
        time: int,
        after: np.ndarray,
        masses: list[np.ndarray],
        own: np.ndarray,
        family: int,
        later: Values | None,
    ) -> tuple[np.ndarray, ...]:
        """The parts of upper, accepts_0, accepts_1 and error that one outcome adds."""
        mass_0, mass_1, error_0, error_1 = masses
        upper, accepts_0, accepts_1 = _guess(masses, own)
        upper[after < 0] = mass_0[after < 0]  # negligible outcomes are not followed
        error = np.zeros(own.shape)
        families = np.full(len(after), -1)
        families[after >= 0] = self.graph.stages[time].family[after[after >= 0]]
        (same,) = np.nonzero(families == family)
        if len(same):
            assert later is not None
            place = self.places[time][after[same]]
            upper[same] = mass_0[same] * later.upper[place]
            accepts_0[same] = mass_0[same] * later.accepts_0[place]
            accepts_1[same] = mass_1[same] * later.accepts_1[place]
            error[same] = mass_0[same] * later.error[place]
        for other in np.unique(families[(families >= 0) & (families != family)]):
            (on,) = np.nonzero(families == other)
            parts = self.families[other].split_values([mass[on] for mass in masses], own[on])
            for part, new in zip((upper, accepts_0, accepts_1, error), parts, strict=True):
                part[on] = new
        merging = (error_0 + own * error_1) / 2 + self.graph.rounding * own * mass_1
        return upper + merging, accepts_0, accepts_1, error + merging


def _guess(masses: Sequence[np.ndarray], own: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The value of a game that ends, and the probabilities of a guess "world 0"."""
    mass_0, mass_1 = masses[:2]
    value = mass_0 - own * mass_1
    accept = value > 0
    return np.maximum(value, 0), accept * mass_0, accept * mass_1


def _place_in_family(stage: Stage) -> np.ndarray:
    """(d,): the place of each pair among those of its family."""
    order = np.argsort(stage.family, kind="stable")
    counts = np.bincount(stage.family)
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place


@attrs.frozen(eq=False)
class DecisionGraph:
    """A deterministic adversary: in each node it makes a move, and the outcome leads to the next node, in the
    order of rounds. Shapes: move (v,); after (v, k), END where the game is over; score (v, k), there the log
    P_0/P_1 of the history, infinite for what only one world can show, NaN for what neither can."""

    move: np.ndarray
    after: np.ndarray
    score: np.ndarray


def extract_decisions(solution: GameSolution, root: int, most: int = 2_000) -> DecisionGraph | None:
    """The adversary of the lower bound at the log ratio number `root`; None if it has too many nodes."""
    graph = solution.graph
    outcomes = len(graph.game.halts)

    @cache
    def compute_values(family: int, line: int) -> list[Values]:
        return solution.stage_values(family, graph.families[family].ratios[line : line + 1])

    move: list[int] = []
    after, score = [], []
    # (family, log ratio of the family, round, node of the stage, log ratio of the history)
    waiting: list[tuple[int, int, int, int, float]] = [(0, root, 0, 0, 0.0)]
    numbers = {waiting[0]: 0}
    for family, line, time, node, ratio in waiting:  # the list grows while it is traversed
        stage = graph.stages[time]
        values = compute_values(family, line)[time - graph.families[family].time]
        chosen = int(values.move[solution.places[time][node], 0])
        move.append(chosen)
        after.append(np.full(outcomes, END))
        score.append(np.full(outcomes, np.nan))
        for outcome in range(outcomes):
            mass_0, mass_1, *_ = (float(part[node]) for part in graph.branch(stage, chosen, outcome))
            with np.errstate(divide="ignore", invalid="ignore"):
                reached = ratio + float(np.log(mass_1) - np.log(mass_0))
            following = stage.after[chosen][outcome] if stage.after else None
            place = END if following is None else int(following[node])
            if place == END:
                score[-1][outcome] = -reached
                continue
            own, number = family, line
            other = int(graph.stages[time + 1].family[place])
            if other != family:  # another family has its own adversaries to choose from
                here = graph.families[family].ratios[line] + stage.offset[node] + np.log(mass_1 / mass_0)
                own, number = other, int(solution.families[other].best_line(np.array([here]))[0])
            state = own, number, time + 1, place, round(reached, 9)
            if state not in numbers:
                numbers[state] = len(waiting)
                waiting.append(state)
            after[-1][outcome] = numbers[state]
        if len(waiting) > most:
            return None
    return DecisionGraph(np.array(move), np.array(after), np.array(score))


def end_before_second_challenge(graph: DecisionGraph, differs: np.ndarray) -> DecisionGraph:
    """The graph in which a move that differs between the worlds, as in differs (moves,), is not made twice: a
    second one, which the rules refuse, ends the game in the matrices."""
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
