"""Referees: one protocol each. None of them lets a player hold the other, the worlds, or the other's
coins.
"""

from arena.referees.base import LearnerStates, Referee, Table
from arena.referees.figure1 import Figure1
from arena.referees.online import Adaptive, Oblivious, SpecialRound
from arena.referees.realizable import Realizable
from arena.referees.release import Release
from arena.referees.voting import Voting

REFEREES: dict[str, type[Referee]] = {
    referee.name: referee for referee in (Figure1, Release, Voting, Oblivious, Adaptive, SpecialRound)
}

__all__ = [
    "REFEREES",
    "Adaptive",
    "Figure1",
    "LearnerStates",
    "Oblivious",
    "Realizable",
    "Referee",
    "Release",
    "SpecialRound",
    "Table",
    "Voting",
]
