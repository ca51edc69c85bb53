"""Experiments with votes of teachers on a data set: splits, figures of every repetition, tables, a picture.

Section 5 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. What teaches and learns is
handed in (`audits.experiments.players`); the command line binds it.
"""

from audits.experiments.plan import METHODS, Experiment, Row
from audits.experiments.result import Result
from audits.experiments.run import run

__all__ = ["METHODS", "Experiment", "Result", "Row", "run"]
