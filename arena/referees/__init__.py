"""Referees, one for each protocol. No player gets hold of the other, of its generator, or of the worlds."""

from importlib import import_module
from pkgutil import iter_modules

from arena.referees.online import Adaptive, Oblivious, Realizable, SpecialRound
from arena.referees.predictor import Figure1, Voting
from arena.referees.referee import REFEREES, Batch, BatchSetup, Probe, Referee, name_protocols
from arena.referees.release import Release

for module in iter_modules(__path__):  # so that every protocol of this folder is known
    import_module(f"{__name__}.{module.name}")

__all__ = ["REFEREES", "Adaptive", "Batch", "BatchSetup", "Figure1", "Oblivious", "Probe", "Realizable"]
__all__ += ["Referee", "Release", "SpecialRound", "Voting", "name_protocols"]
