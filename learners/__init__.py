"""Learners, one file per algorithm, named as in its paper; `learners.mechanisms` has their noise.

What users and authors of learners need is exported here, and imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from learners.common.learner_bases import ReleaseLearner
    from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
    from learners.foreign.diffprivlib import Diffprivlib
    from learners.foreign.function import Function
    from learners.foreign.opendp import OpenDP
    from learners.mechanisms.sparse_vector import AboveThreshold, BetweenThresholds
    from learners.online.realizable import RealizableLearner
    from learners.releases.choices import RandomisedResponse
    from learners.releases.counts import GaussianCount, LaplaceCount

# Your own code, and that of libraries, as learners.
__all__ = ["Diffprivlib", "Function", "OpenDP"]
# For authors: the base of learners that release once, and mechanisms to build on.
__all__ += ["AboveThreshold", "BetweenThresholds", "ReleaseLearner"]
# Learners to compare with; `arena list` has all.
__all__ += ["EverlastingV1", "EverlastingV2", "GaussianCount"]
__all__ += ["LaplaceCount", "RandomisedResponse", "RealizableLearner"]

_MODULE_OF = {
    "AboveThreshold": "mechanisms.sparse_vector",
    "BetweenThresholds": "mechanisms.sparse_vector",
    "Diffprivlib": "foreign.diffprivlib",
    "EverlastingV1": "everlasting.paper_versions",
    "EverlastingV2": "everlasting.paper_versions",
    "Function": "foreign.function",
    "GaussianCount": "releases.counts",
    "LaplaceCount": "releases.counts",
    "OpenDP": "foreign.opendp",
    "RandomisedResponse": "releases.choices",
    "RealizableLearner": "online.realizable",
    "ReleaseLearner": "common.learner_bases",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'learners' has no attribute {name!r}")
    return getattr(importlib.import_module(f"learners.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
