"""Adversaries, one file per strategy; the names exported here are imported when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adversaries.common.training_samples import build_two_label_sample, plant_example
    from adversaries.figure1.base import Figure1Adversary
    from adversaries.figure1.memorisation import Membership, Reconstruct
    from adversaries.figure1.swaps import HaltCounter, QuerySwap, TrainingSwap
    from adversaries.release.point_swap import CountSwap, LowBits, PointSwap
    from adversaries.release.statdp import StatDP

# Against functions and mechanisms that release once.
__all__ = ["CountSwap", "LowBits", "PointSwap", "StatDP"]
# Against predictors that answer queries; `arena list` has all.
__all__ += ["HaltCounter", "Membership", "QuerySwap", "Reconstruct", "TrainingSwap"]
# For authors: a base, and neighbouring samples.
__all__ += ["Figure1Adversary", "build_two_label_sample", "plant_example"]

_MODULE_OF = {
    "CountSwap": "release.point_swap",
    "Figure1Adversary": "figure1.base",
    "HaltCounter": "figure1.swaps",
    "LowBits": "release.point_swap",
    "Membership": "figure1.memorisation",
    "PointSwap": "release.point_swap",
    "QuerySwap": "figure1.swaps",
    "Reconstruct": "figure1.memorisation",
    "StatDP": "release.statdp",
    "TrainingSwap": "figure1.swaps",
    "build_two_label_sample": "common.training_samples",
    "plant_example": "common.training_samples",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'adversaries' has no attribute {name!r}")
    return getattr(importlib.import_module(f"adversaries.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
