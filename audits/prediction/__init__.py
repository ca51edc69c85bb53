"""Races of predictors: the error of every hypothesis by rounds, and what theorems promise of it."""

from audits.prediction.games import run
from audits.prediction.plan import PredictorRace, predictor_race
from audits.prediction.result import PredictorResult, PredictorStanding
from audits.prediction.watched import Watched

__all__ = ["PredictorRace", "PredictorResult", "PredictorStanding", "Watched", "predictor_race", "run"]
