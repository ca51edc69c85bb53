"""Races: learners before one adversary, their mistakes or regret by rounds, and bounds beside them."""

from audits.race.plan import Entrant, Race, race_of, spread_marks
from audits.race.quantiles import Quantile
from audits.race.result import Held, RaceResult, Standing
from audits.race.run import run

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
