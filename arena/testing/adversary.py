"""Conformance checks of adversaries, and of any player's configuration."""

from __future__ import annotations

import pickle

import attrs

from arena.engine import Played
from arena.errors import CannotBeSent, NotConforming
from arena.parcels import pack, unpack
from arena.players import Adversary, GameAdversary, Learner
from arena.referees import REFEREES, Referee
from arena.testing.independence import (
    check_games_independent,
    check_plays_alike,
    check_repeats,
    forbid_global_randomness,
    suggest_coins,
)


def check_configuration(player: Learner | Adversary, kind: str) -> None:
    """Check that a player ("learner" or "adversary") is a frozen attrs class with a name and known protocols,
    and that copies are equal to it."""
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


def check_adversary(adversary: Adversary, learner: Learner, referee: Referee, *, games: int = 8) -> None:
    """Check an adversary in a few games against `learner`, whose fault is told from its own. games: in a
    batch that checks whether they are independent; an audit gives the size of its blocks."""
    # A frozen, hashable attrs class that can be pickled, with a name and known protocols.
    check_configuration(adversary, "adversary")
    # Legal moves, and the same game for the same random numbers; nothing from global generators.
    if learner.own_coins:
        played = forbid_global_randomness(
            adversary.name, lambda: check_plays_alike(adversary, learner, referee)
        )
    else:
        played = _check_repeats(adversary, learner, referee)
    # A score in every game or in none, as declared.
    declared, scored = adversary.returns_score, played is not None and played.score is not None
    if played is not None and declared not in (None, scored):
        raise NotConforming(
            adversary.name,
            "returns_score says whether play returns a score",
            f"returns_score is {declared}, but play returned {'a' if scored else 'no'} score",
        )
    # Independent games; otherwise an audit would certify too much.
    if not referee.one_run:  # whose canaries are scored together
        check_games_independent(adversary, learner, referee, games=games)


def _check_repeats(adversary: Adversary, learner: Learner, referee: Referee) -> Played:
    """Check that the games repeat, and blame the learner if the adversary repeats on recorded replies."""
    try:
        return check_repeats(learner, adversary, referee, adversary.name)
    except NotConforming as error:
        if isinstance(adversary, GameAdversary):
            raise
        try:
            check_plays_alike(adversary, learner, referee)
        except NotConforming:
            raise error from None
        is_global = "global" in error.rule
        hint = "" if is_global else " (a function of yours may draw its own, with coins=own)"
        lacking = suggest_coins(learner, "global" if is_global else "own")
        raise NotConforming(learner.own_name, error.rule, error.got + hint, lacking=lacking) from error
