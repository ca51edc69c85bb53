"""Referees, one for each protocol. No player gets hold of the other, of its generator, or of the worlds."""

from arena.referees.batch import Batch, BatchSetup, Referee
from arena.referees.online import Adaptive, Oblivious, Realizable, SpecialRound
from arena.referees.predictor import Figure1, Voting
from arena.referees.release import Release
from arena.referees.training_run import OneRun, TrainingRun

REFEREES: dict[str, type[Referee]] = {
    referee.name: referee
    for referee in (Figure1, Release, Voting, TrainingRun, OneRun, Oblivious, Adaptive, SpecialRound)
}

__all__ = [
    "REFEREES",
    "Adaptive",
    "Batch",
    "BatchSetup",
    "Figure1",
    "Oblivious",
    "OneRun",
    "Realizable",
    "Referee",
    "Release",
    "SpecialRound",
    "TrainingRun",
    "Voting",
]
