"""Ensembles of teachers: how they are trained, on which part of a sample, and how they vote."""

from learners.pate.ensemble.ensemble import Ensemble
from learners.pate.ensemble.teacher import Classifier, Minimiser, Teacher
from learners.pate.ensemble.voters import Voters, VotersState, VotingLaw

__all__ = ["Classifier", "Ensemble", "Minimiser", "Teacher", "Voters", "VotersState", "VotingLaw"]
