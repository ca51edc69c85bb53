"""Ensembles of teachers: what they are trained to be, on which part of a sample, and how they vote."""

from learners.ensemble.ensemble import Ensemble
from learners.ensemble.teacher import Classifier, Minimiser, Teacher
from learners.ensemble.voters import SeatedVoters, Voters, VotingLaw

__all__ = ["Classifier", "Ensemble", "Minimiser", "SeatedVoters", "Teacher", "Voters", "VotingLaw"]
