"""Choices and settings that adversaries of several protocols share: concept classes, and hidden points."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena import InvalidArgument, Learner, setting
from arena.concepts import ConceptClass
from arena.players import read_concepts
from arena.settings import at_least, at_most, one_of


def choose_concept_class(
    setting: ConceptClass | None, learner: Learner | None, default: ConceptClass
) -> ConceptClass:
    """The setting `concepts`, or the learner's class, or `default`. Raises: InvalidArgument for other
    points."""
    chosen = setting or read_concepts(learner) or default
    if learner is not None and chosen.point_shape != learner.point_shape:
        raise InvalidArgument(
            f"{learner.own_name} receives points of shape {learner.point_shape}",
            value=chosen,
            remedy="Leave out `concepts`, so that the learner's class is used.",
        )
    return chosen


ADAPTIVE, OBLIVIOUS = "Adaptive", "Oblivious"  # protocols
ONE, ALL = "one", "all"  # backgrounds of a hidden point
SCALE, UNIFORM = "scale", "uniform"  # distributions of the round t* from which it is shown


def protocol_setting() -> Any:
    return setting(
        OBLIVIOUS,
        help="Oblivious: commits; Adaptive: gives the same examples round by round",
        check=one_of(OBLIVIOUS, ADAPTIVE),
    )


def start_setting() -> Any:
    return setting(
        SCALE, help="t*: scale (a power of two or a little later) or uniform", check=one_of(SCALE, UNIFORM)
    )


def decoys_setting() -> Any:
    return setting(
        0.25,
        unit="probability",
        help="of a game that is background only",
        check=[at_least(0), at_most(1)],
    )


def draw_start_rounds(start: str, rounds: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """(games,): rounds t* from 1 on, from all, or ("scale") from 2^i to 2^(i+1) - 1 for a random i, so that
    the lower bound for each horizon applies to a share of the games."""
    if start == UNIFORM:
        return rng.integers(1, rounds, games, endpoint=True)
    low = 2 ** rng.integers(0, rounds.bit_length() - 1, games, endpoint=True)
    return rng.integers(low, np.minimum(2 * low - 1, rounds), endpoint=True)
