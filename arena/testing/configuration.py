"""Checks of a player's configuration, that of a learner or of an adversary."""

from __future__ import annotations

import pickle

import attrs

from arena.errors import CannotBeSent, NotConforming
from arena.parcels import pack, unpack
from arena.players import Adversary, Learner
from arena.referees import REFEREES


def check_configuration(player: Learner | Adversary, kind: str) -> None:
    """Check that it is a frozen attrs class with a name and known protocols, and that copies are equal to it.

    kind: "learner" or "adversary".

    Raises: NotConforming.
    """
    name = player.name or type(player).__name__
    if not attrs.has(type(player)) or not _is_frozen(player):
        raise NotConforming(name, f"the class of a {kind} is a frozen attrs class")
    if not player.name or not player.protocols:
        raise NotConforming(name, f"a {kind} has a name and names its protocols")
    unknown = set(player.protocols) - set(REFEREES)
    if unknown:
        raise NotConforming(
            name, f"protocols are names of referees ({', '.join(REFEREES)})", f"got {sorted(unknown)}"
        )
    try:
        # The way to worker processes, which takes classes of a session or a test along.
        equal = _holds_unsendable_function(player) or unpack(pack(player)) == player
        equal = equal and hash(player) == hash(attrs.evolve(player))
    except (TypeError, AttributeError, pickle.PickleError, CannotBeSent) as error:
        raise NotConforming(name, f"a {kind} can be hashed and pickled", f"got {error}") from error
    if not equal:
        raise NotConforming(name, f"a copy of this {kind} is equal to it and has the same hash")


def _holds_unsendable_function(player: Learner | Adversary) -> bool:
    """Whether a setting is a function that cannot be pickled: games with it are played in one process."""
    for field in attrs.fields(type(player)):
        value = getattr(player, field.name, None)
        if isinstance(value, Learner):  # the opponent's configuration
            if _holds_unsendable_function(value):
                return True
        elif callable(value):
            try:
                pack(value)
            except CannotBeSent:
                return True
    return False


def _is_frozen(player: object) -> bool:
    fields = attrs.fields(type(player))  # type: ignore[arg-type]
    name = fields[0].name if fields else "anything"
    try:
        setattr(player, name, getattr(player, name, None))
    except (attrs.exceptions.FrozenInstanceError, AttributeError):
        return True
    return False
