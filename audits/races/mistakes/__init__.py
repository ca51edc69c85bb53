"""Races: learners before one adversary, their mistakes or regret by rounds, and bounds beside them."""

from audits.races.mistakes.games import run
from audits.races.mistakes.plan import Entrant, Race, race_of, spread_marks
from audits.races.mistakes.result import Held, RaceResult, Standing
from audits.statistics.quantiles import Quantile

__all__ = [
    "Entrant",
    "Held",
    "Quantile",
    "Race",
    "RaceResult",
    "Standing",
    "race_of",
    "run",
    "spread_marks",
]
