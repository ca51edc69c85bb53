"""Tournaments: every learner against every adversary that it can meet, in an audit or a race of each pair."""

from audits.tournaments.cells import Cell
from audits.tournaments.tournament_plan import Tournament, plan_tournament
from audits.tournaments.tournament_result import TournamentResult, run_tournament

__all__ = ["Cell", "Tournament", "TournamentResult", "plan_tournament", "run_tournament"]
