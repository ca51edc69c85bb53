"""The estimators that a report shows beside the betting test. A new one is a file here, and a line below."""

from audits.statistics.estimates import Estimator
from audits.statistics.estimators.bands import SimultaneousBand
from audits.statistics.estimators.held_out import GaussianEvent, OneEvent

ESTIMATORS: list[type[Estimator]] = [
    OneEvent,
    SimultaneousBand,
    GaussianEvent,
]
