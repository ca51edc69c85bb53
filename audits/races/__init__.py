"""Races: several learners against one adversary, compared round by round.

Online learners are compared by mistakes or regret, predictors by the errors of their hypotheses.
"""

from audits.races.observed_learner import ObservedLearner
from audits.races.online_race import OnlineRace, OnlineStanding, plan_online_race, spread_marks
from audits.races.predictor_race import PredictorRace, PredictorStanding, plan_predictor_race
from audits.races.race_result import BoundTest, RaceResult, run_race
from audits.statistics.quantiles import Quantile

__all__ = [
    "BoundTest",
    "ObservedLearner",
    "OnlineRace",
    "OnlineStanding",
    "PredictorRace",
    "PredictorStanding",
    "Quantile",
    "RaceResult",
    "plan_online_race",
    "plan_predictor_race",
    "run_race",
    "spread_marks",
]
