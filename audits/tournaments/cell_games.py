"""The games of one pair of a tournament: a race, or an audit, with exact figures where they are quick."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import attrs
import numpy as np

from arena import Adversary, ArenaError, GameAdversary, LearnerFails, Moves, Sample, Unsupported, play
from arena.errors import RAISED
from audits.races import Race, run_race
from audits.registry.match import Match
from audits.runs.blocks import choose_distinguisher
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.tournaments.cell_result import AUDITED, RACED, CellResult, explain
from audits.tournaments.tournament_plan import Cell, Tournament

MAX_NUMBERS = 10**7  # coordinates of examples and queries in one game: a second or two
_MAX_PATHS = 2_000  # of an exact ε: a second or two
SOLVED_ROUNDS, _MAX_PAIRS = 4, 20_000  # of a game that is solved for δ*, and pairs of beliefs in it


def play_cell(tournament: Tournament, index: int) -> CellResult:
    """Play cell `index`. An exception of a player is part of the result."""
    cell, start = tournament.cells[index], time.perf_counter()
    if cell.refusal is not None:
        return cell.refusal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LearnerFails)
            result = _play(cell, tournament.confidence)
    except RAISED as error:
        result = CellResult.of_error(error)
    return attrs.evolve(result, seconds=time.perf_counter() - start)


def _play(cell: Cell, confidence: float) -> CellResult:
    """The figures: the same as those of the cell's command."""
    match = cell.game
    assert match is not None
    if isinstance(match, Race):
        race = run_race(match)
        return CellResult(outcome=RACED, mean=float(race.standings[0].mean[-1]), refuted=race.broken)
    _check_size(match)
    plan = Plan(
        learner=match.learner,
        adversary=match.adversary,
        referee=match.referee,
        epsilon=cell.epsilon,
        delta=cell.delta,
        confidence=confidence,
        games=cell.games,
        seed=cell.seed,
        distinguisher=choose_distinguisher(match.learner, match.adversary, match.referee),
    )
    verdict = run(plan)
    exact, exact_reason = _find_exact(match, cell.delta)
    delta_star, delta_star_reason = _find_delta_star(match, cell.epsilon)
    return CellResult(
        outcome=AUDITED,
        epsilon_lower=verdict.epsilon_lower,
        ceiling=verdict.ceiling,
        refuted=verdict.refuted,
        exact=exact,
        exact_reason=exact_reason,
        delta_star=delta_star,
        delta_star_reason=delta_star_reason,
    )


def _find_exact(match: Match, delta: float) -> tuple[float | None, str]:
    """The exact ε of the adversary's view at δ, or None and the reason."""
    from audits.exact_loss.exact_audit import exact  # slow to import

    try:
        audit = exact(match.learner, match.adversary, match.referee, delta=delta, max_paths=_MAX_PATHS)
    except ArenaError as error:
        return None, explain(error)
    epsilon = audit.epsilon_at.lower + 0.0  # -0 is 0
    return epsilon, "infinite" if math.isinf(epsilon) else ""


def _find_delta_star(match: Match, epsilon: float) -> tuple[float | None, str]:
    """δ*, the least δ at ε that holds against every adversary of a few rounds, or None and the reason."""
    from audits.solver.belief_graph import GraphLimits  # slow to import
    from audits.solver.choice_of_samples import pose_against
    from audits.solver.posed_game import ExampleGame, PosedGame
    from audits.solver.solution import TOLERANCE, solve

    try:
        if "T" in attrs.fields_dict(type(match.referee)):
            posed: PosedGame = ExampleGame(learner=match.learner, text="examples of its domain")
        else:
            posed = pose_against(match.learner, match.adversary)
        limits = GraphLimits(pairs=_MAX_PAIRS)
        solution = solve(posed, rounds=SOLVED_ROUNDS, epsilons=(epsilon,), limits=limits, search=False)
    except ArenaError as error:
        return None, explain(error)
    (point,) = (point for point in solution.curve if point.epsilon == epsilon)
    return point.upper if point.upper > TOLERANCE else 0.0, ""


def _check_size(match: Match) -> None:
    """Play a first game, to refuse players whose games are too large for a tournament.

    An adversary in game style is not measured. Raises: Unsupported; whatever `arena.play` raises.
    """
    if not isinstance(match.adversary, GameAdversary):
        measured = _MeasuredAdversary(match.adversary, match.adversary.name, match.adversary.protocols)
        play(match.learner, measured, match.referee, games=1, seed=0)


@attrs.frozen(eq=False)
class _MeasuredAdversary(Adversary):
    """Plays as the adversary does, and raises Unsupported when it has handed over too many numbers."""

    adversary: Adversary
    name: str  # type: ignore[misc]
    protocols: tuple[str, ...]  # type: ignore[misc]

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        moves = self.adversary.play(games, rng)
        numbers, reply = 0, None
        while True:
            try:
                move = moves.send(reply)
            except StopIteration as end:
                return end.value
            numbers += _count_numbers(move)
            if numbers > MAX_NUMBERS:
                raise Unsupported(
                    f"a game of {self.name} hands over more than {MAX_NUMBERS:,} numbers",
                    remedy="Audit the pair by itself.",
                )
            reply = yield move


def _count_numbers(move: Any) -> int:
    if isinstance(move, Sample):
        return np.size(move.points)
    if isinstance(move, list | tuple):
        return sum(map(_count_numbers, move))
    if attrs.has(type(move)):
        return sum(_count_numbers(getattr(move, field.name)) for field in attrs.fields(type(move)))
    return np.size(move) if isinstance(move, np.ndarray) else 1
