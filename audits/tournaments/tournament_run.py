"""Running a tournament: cells, played by workers in any order and kept in a ledger."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import cached_property, partial
from typing import Any

import attrs

from arena import ArenaError, LearnerFails
from arena.errors import RAISED
from audits.races import OnlineRace, run_race
from audits.registry.match import Match
from audits.runs.blocks import choose_distinguisher
from audits.runs.ledger import Store
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.workers import Workers, map_missing
from audits.tournaments.cell_result import AUDITED, RACED, CellResult, describe_refusal, explain
from audits.tournaments.first_game import check_size
from audits.tournaments.tournament_plan import Cell, Tournament
from audits.tournaments.tournament_result import TournamentResult

_MAX_PATHS = 2_000  # of an exact ε: a second or two
SOLVED_ROUNDS, _MAX_PAIRS = 4, 20_000  # of a game that is solved for δ*, and pairs of beliefs in it


class TournamentLedger(Store[CellResult]):
    """The ledger of a tournament, with a block for each cell."""

    decode = staticmethod(CellResult.from_bytes)

    @cached_property
    def sizes(self) -> list[int]:
        return [1] * len(self.plan["tournament"])


def run_tournament(
    tournament: Tournament,
    *,
    jobs: int | Workers = 1,
    ledger: str | os.PathLike[str] | None = None,
    watch: Callable[[int], None] | None = None,
    command: str = "",
) -> TournamentResult:
    """Play the cells, or those that a ledger does not hold yet.

    jobs, ledger, interrupts: as in `audits.runs.run.run`. watch: called with the cells so far. command: the
    command line, for the notes of a new ledger.

    Raises: InvalidArgument and `LedgerFailed` of the ledger; WorkersFailed. What the players raise ends their
    cell only.
    """
    cells = range(len(tournament.cells))
    book: Any = nullcontext()
    if ledger is not None:
        book = closing(
            TournamentLedger.open(ledger, tournament.describe(), notes=lambda: {"command": command})
        )
    with book as store:
        results, interrupted = map_missing(
            partial(play_cell, tournament),
            # Cells of few games are long, and come first, so that at the end no worker is left with one.
            sorted(cells, key=lambda index: tournament.cells[index].games),
            {} if store is None else dict(store.blocks()),
            jobs,
            keep=None if store is None else store.add,
            watch=watch,
            unit="cell",
        )
    ordered = tuple(results.get(index) for index in cells)
    return TournamentResult(tournament=tournament, results=ordered, interrupted=interrupted)


def play_cell(tournament: Tournament, index: int) -> CellResult:
    """Play cell `index`. An exception of a player is part of the result."""
    cell, start = tournament.cells[index], time.perf_counter()
    if cell.refusal is not None:
        return cell.refusal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LearnerFails)
            figures = _play(cell, tournament.confidence)
    except RAISED as error:
        return attrs.evolve(describe_refusal(error), seconds=time.perf_counter() - start)
    return CellResult(**figures, seconds=time.perf_counter() - start)


def _play(cell: Cell, confidence: float) -> dict[str, Any]:
    assert cell.game is not None
    if isinstance(cell.game, OnlineRace):
        result = run_race(cell.game)
        return {"outcome": RACED, "mean": float(result.standings[0].mean[-1]), "refuted": result.broken}
    return _audit(cell, cell.game, confidence)


def _audit(cell: Cell, match: Match, confidence: float) -> dict[str, Any]:
    """The figures of an audit: the same as those of the cell's command."""
    check_size(match)
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
    return {
        "outcome": AUDITED,
        "epsilon_lower": verdict.epsilon_lower,
        "ceiling": verdict.ceiling,
        "refuted": verdict.refuted,
        "exact": exact,
        "exact_reason": exact_reason,
        "delta_star": delta_star,
        "delta_star_reason": delta_star_reason,
    }


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
