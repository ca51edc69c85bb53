"""Races of predictors: the error of every hypothesis by rounds, and what theorems promise of it."""

from audits.races.errors.games import run
from audits.races.errors.plan import PredictorRace, predictor_race
from audits.races.errors.result import PredictorResult, PredictorStanding
from audits.races.errors.watched import Watched

__all__ = ["PredictorRace", "PredictorResult", "PredictorStanding", "Watched", "predictor_race", "run"]
