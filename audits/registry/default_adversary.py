"""The usual adversary of a learner, for audits that name none."""

from __future__ import annotations

import inspect

import attrs

from arena import (
    REFEREES,
    Adversary,
    ArenaError,
    InvalidArgument,
    Learner,
    Sample,
    play,
)
from arena.capabilities import ReceivesPart
from audits.registry.pairing import choose_protocol, configure_game
from audits.registry.players import ADVERSARIES
from audits.registry.settings_text import build_player

LABEL_SWAP, POINT_SWAP = "count-swap", "point-swap"
_LABEL_PARTS = ("ones", "labels")  # of a sample, which no change of a point changes
_GAMES = 16  # which show whether the worlds differ


def choose_adversary(learner: Learner, sample: Sample | None, protocol: str | None = None) -> str:
    """The name of the usual adversary of a learner.

    For a function or a wrapped mechanism, it changes one record of the data: its label if the function
    receives labels only. For other learners it is the first of `arena list` that plays against them, in two
    worlds that differ.

    Raises: InvalidArgument, which names candidates, if there is none.
    """
    if isinstance(learner, ReceivesPart) and protocol in (None, "Release"):
        return LABEL_SWAP if learner.receives in _LABEL_PARTS else POINT_SWAP
    candidates = []
    for name, player in ADVERSARIES.load_all().items():
        if not (inspect.isclass(player) and issubclass(player, Adversary)):
            continue  # a package's that cannot be loaded
        if not set(player.protocols) & set(learner.protocols):
            continue
        if sample is not None and "sample" not in attrs.fields_dict(player):
            continue
        candidates.append(name)
        if _plays(learner, player, sample, protocol):
            return name
    remedy = f"Name one: {', '.join(candidates)}." if candidates else "Write one: docs/testing.md."
    raise InvalidArgument(f"no adversary with its usual settings plays against {learner.name}", remedy=remedy)


def _plays(learner: Learner, player: type[Adversary], sample: Sample | None, protocol: str | None) -> bool:
    try:
        adversary: Adversary = build_player(player, {}, sample=sample, learner=learner)
        referee_class = REFEREES[choose_protocol(learner, adversary, protocol)]
        if not referee_class.two_worlds:
            return False
        adversary, referee = configure_game(referee_class, adversary)
        return bool(play(learner, adversary, referee, games=_GAMES, seed=0).challenges)
    except ArenaError:
        return False
