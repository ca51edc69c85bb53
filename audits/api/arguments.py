"""Settings and data as the verbs take them, and the extras that results need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena import InvalidArgument, Sample
from audits.registry.given_players import is_function, is_labelled, read_sample
from audits.registry.match import PlayerSettings


def split_settings(settings: Mapping[str, Any] | None, *labels: str) -> PlayerSettings:
    """Settings by player and name, of {name: value} and {"adversary.name": value}, as `--set` has them.

    Raises: InvalidArgument.
    """
    players: PlayerSettings = {player: {} for player in ("learner", "adversary", *labels)}
    if settings is not None and not isinstance(settings, Mapping):
        raise InvalidArgument(
            "settings must be a mapping of names to values",
            value=settings,
            remedy='Write settings={"epsilon": 0.5}, or {"adversary.rounds": 100} for the adversary.',
        )
    for path, value in (settings or {}).items():
        player, _, name = str(path).rpartition(".")
        if (player or "learner") not in players:
            raise InvalidArgument(f"no player is called {player}", value=path)
        players[player or "learner"][name] = value
    return players


def read_data(
    learner: object, data: object, neighbour: object, settings: PlayerSettings
) -> tuple[Sample | None, PlayerSettings]:
    """The user's data as a sample, and the settings with what follows from data and neighbour.

    A function receives what is given: the points, or points and labels.
    """
    if data is None:
        if neighbour is not None:
            raise InvalidArgument("neighbour is given without data", remedy="Give data=, too.")
        return None, settings
    sample = read_sample("data", data)
    own, opponent = dict(settings["learner"]), dict(settings["adversary"])
    if is_function(learner):
        own.setdefault("receives", "both" if is_labelled(data) else "points")
        if sample.points.ndim > 1:
            own.setdefault("dimension", sample.points.shape[1])
    if neighbour is not None:
        opponent["neighbour"] = read_sample("neighbour", neighbour)
    return sample, {**settings, "learner": own, "adversary": opponent}


def claim_for_function(
    learner: object, settings: PlayerSettings, epsilon: object, delta: object
) -> PlayerSettings:
    """The settings with the claim under test as that of a function, which has none unless they give one."""
    if not is_function(learner):
        return settings
    claim = {name: value for name, value in (("epsilon", epsilon), ("delta", delta)) if value is not None}
    return {**settings, "learner": {**claim, **settings["learner"]}}
