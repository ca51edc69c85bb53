"""Experiments of papers on the user's data: splits, figures of every repetition, tables and a chart.

Section 5 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. The players are passed in
(`audits.experiments.experiment_players`).
"""

from audits.experiments.experiment_plan import ALL_METHODS, METHODS, ExperimentRow, PateExperiment
from audits.experiments.experiment_result import ExperimentResult
from audits.experiments.experiment_run import run_experiment

__all__ = ["ALL_METHODS", "METHODS", "ExperimentResult", "ExperimentRow", "PateExperiment", "run_experiment"]
