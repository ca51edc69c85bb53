"""The conformance checks pass sound players and catch each broken one, with the right words."""

from __future__ import annotations

import re

import pytest
from mutants import players as mutants
from players import Echo, GameEcho, GameScripted, LastLabel

from arena import (
    ArenaError,
    Figure1,
    Learner,
    Moves,
    NotConforming,
    PlayerError,
    ProtocolViolation,
    Query,
    Train,
)
from arena.testing import check_adversary, check_learner

SOUND = [mutants.Coin(), Echo(), GameEcho(), LastLabel()]


@pytest.mark.parametrize("learner", SOUND, ids=lambda learner: learner.name)
def test_sound_learners_pass(learner: Learner) -> None:
    check_learner(learner)


BROKEN_LEARNERS = [
    (mutants.Thawed(), NotConforming, "coin does not conform: the spec of a learner is a frozen attrs class"),
    (
        mutants.Nameless(),
        NotConforming,
        "Nameless does not conform: a learner has a name and names its protocols",
    ),
    (
        mutants.Homeless(),
        NotConforming,
        "coin does not conform: protocols are names of referees (Figure1, Release, Oblivious, Adaptive, "
        "SpecialRound); got ['Figure2']",
    ),
    (mutants.Unpicklable(), NotConforming, "coin does not conform: a spec can be hashed and pickled; got "),
    (
        mutants.Unequal(),
        NotConforming,
        "coin does not conform: a copy of a spec is equal to it and has the same hash",
    ),
    (mutants.Boaster(), NotConforming, "coin does not conform: claim is a Claim; got float"),
    (
        mutants.GlobalNumpy(),
        NotConforming,
        "coin does not conform: every coin comes from the generator it was given, none from a global one",
    ),
    (
        mutants.GlobalPython(),
        NotConforming,
        "coin does not conform: every coin comes from the generator it was given, none from a global one",
    ),
    (
        mutants.Unseeded(),
        NotConforming,
        "coin does not conform: the same coins give the same game; views differ",
    ),
    (
        mutants.SharedCoin(),
        NotConforming,
        "coin does not conform: every game has coins of its own; the means of whole tables vary more than "
        "independent games could",
    ),
    (
        mutants.CrossTalk(),
        NotConforming,
        "coin does not conform: a game does not depend on the other games of its table; feature ",
    ),
    (
        mutants.Lonely(),
        NotConforming,
        "coin does not conform: a table plays the game that a single game plays; feature ",
    ),
    (mutants.Scribbler(), PlayerError, "learner coin raised ValueError: assignment destination is read-only"),
    (mutants.PairOnly(), ProtocolViolation, "learner coin, round 1: predict returns one label a game"),
]


@pytest.mark.parametrize(("learner", "kind", "message"), BROKEN_LEARNERS, ids=lambda v: type(v).__name__)
def test_broken_learners_are_caught(learner: Learner, kind: type[ArenaError], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        check_learner(learner)


def test_sound_adversaries_pass() -> None:
    check_adversary(mutants.Asker(), mutants.Coin(), Figure1())


def test_game_style_adversaries_pass() -> None:
    check_adversary(GameScripted(ask_once), mutants.Coin(), Figure1())


def ask_once(rng: object) -> Moves:
    yield Train(mutants.SAMPLE)
    reply = yield Query(0.0)
    return reply.label


BROKEN_ADVERSARIES = [
    (
        mutants.LooksAside(),
        NotConforming,
        "asker does not conform: a game's score depends on the replies of that game alone",
    ),
    (
        mutants.LooksAtItsNeighbour(),
        NotConforming,
        "asker does not conform: a game's score depends on the replies of that game alone",
    ),
    (
        mutants.MovesAside(),
        NotConforming,
        "asker does not conform: a game's moves depend on the replies of that game alone; move 2 of game ",
    ),
    (
        mutants.GlobalAsker(),
        NotConforming,
        "asker does not conform: every coin comes from the generator it was given, none from a global one",
    ),
    (
        mutants.UnseededAsker(),
        NotConforming,
        "asker does not conform: the same coins give the same game; scores differ",
    ),
    (mutants.TouchyAsker(), PlayerError, "adversary asker raised RuntimeError"),
    (mutants.ForgetfulAsker(), ProtocolViolation, "a score is one number a game"),
    (mutants.CheatingAsker(), ProtocolViolation, "after the flag both queries are equal"),
]


@pytest.mark.parametrize(("adversary", "kind", "message"), BROKEN_ADVERSARIES, ids=lambda v: type(v).__name__)
def test_broken_adversaries_are_caught(
    adversary: mutants.Asker, kind: type[ArenaError], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        check_adversary(adversary, mutants.Coin(), Figure1())
