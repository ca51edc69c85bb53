"""Tournaments: every learner against every adversary that it can meet, in an audit or a race of each pair."""

from audits.tournaments.cell_result import CellResult
from audits.tournaments.tournament_plan import Cell, Tournament, plan_tournament
from audits.tournaments.tournament_result import TournamentResult
from audits.tournaments.tournament_run import run_tournament

__all__ = ["Cell", "CellResult", "Tournament", "TournamentResult", "plan_tournament", "run_tournament"]
