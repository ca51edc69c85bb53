"""A learner for one-hot encoded data: its sizes from the data, and public points set aside for it."""

from __future__ import annotations

from collections.abc import Sized
from typing import Protocol, runtime_checkable

import attrs
import numpy as np

from arena import InvalidArgument, Learner, Release
from arena.concepts import DecisionLists
from arena.randomness import block_seed, generator
from arena.settings import at_least, check_value, less_than
from audits.data.one_hot import OneHotData
from audits.registry.players import LEARNERS
from audits.registry.settings_text import build_player

PUBLIC_FRACTION = 0.02  # of the examples, as in section 5 of the paper of pate-psq and pate-asq
_PUBLIC_BLOCK = 1  # of the seed; block 0 draws the splits


@runtime_checkable
class UsesPublicPoints(Protocol):
    """A learner that asks about public points, its setting `public`."""

    @property
    def public(self) -> Sized | None:
        """The public points, if they are set."""

    def with_public_points(self, points: np.ndarray) -> Learner:
        """The same learner with these public points (m, ...)."""


def build_data_learner(name: str, settings: dict[str, str], data: OneHotData, *, features: str) -> Learner:
    """The learner called `name`, sized for points of the data.

    features: the features of rules, as in `lists:4:literals`.

    Raises: InvalidArgument if there is no such learner, or it does not learn from one-hot encoded data.
    """
    player: type[Learner] = LEARNERS.find(name)
    variables = len(data.names)
    sizes = {
        "teacher": f"LogisticRegression:{variables}",
        "concepts": f"{DecisionLists.name}:{variables}:{features}",
        "variables": str(variables),
    }
    own = {name: text for name, text in sizes.items() if name in attrs.fields_dict(player)}
    if not own or Release.name not in player.protocols:
        raise InvalidArgument(
            f"{player.name} does not learn from columns of data",
            remedy="For instance private-decision-list, rivest or logistic does.",
        )
    return build_player(player, {**own, **settings})


def set_public_points_aside(
    learner: Learner, data: OneHotData, fraction: float | None, seed: int
) -> tuple[Learner, OneHotData]:
    """Give the learner the points of a random fraction of the data as public points; and the other data.

    fraction: default 0.02 for a learner that has such a setting and no public points yet, otherwise 0.

    Raises: InvalidArgument if the fraction is not in [0, 1), or the learner uses no public points.
    """
    if fraction is None:
        needs_points = isinstance(learner, UsesPublicPoints) and learner.public is None
        fraction = PUBLIC_FRACTION if needs_points else 0.0
    check_value("public", fraction, at_least(0), less_than(1))
    if not fraction:
        return learner, data
    if not isinstance(learner, UsesPublicPoints):
        raise InvalidArgument(f"{learner.name} uses no public points", remedy="Leave out --public.")
    count = max(1, round(fraction * len(data.labels)))
    order = generator(block_seed(seed, _PUBLIC_BLOCK)).permutation(len(data.labels))
    rest = np.sort(order[count:])
    kept = attrs.evolve(data, points=data.points[rest], labels=data.labels[rest])
    return learner.with_public_points(data.points[order[:count]]), kept
