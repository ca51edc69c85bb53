"""`check_adversary` passes sound adversaries and catches each broken one, with the right message."""

from __future__ import annotations

import re

import pytest
from mutants import players as mutants
from support.simple_players import GameScripted

from arena import ArenaError, Figure1, Moves, NotConforming, PlayerError, ProtocolViolation, Query, Train
from arena.testing import check_adversary


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
        "asker does not conform: a game's moves depend on the replies of that game alone; move 2 of a game ",
    ),
    (
        mutants.GlobalAsker(),
        NotConforming,
        "asker does not conform: all random numbers come from the generator that a player is given, none "
        "from a global one",
    ),
    (
        mutants.UnseededAsker(),
        NotConforming,
        "asker does not conform: the same random numbers give the same game; scores differ",
    ),
    (
        mutants.SecretAsker(),
        NotConforming,
        "asker does not conform: returns_score says whether play returns a score; returns_score is False, "
        "but play returned a score",
    ),
    (
        mutants.MuteAsker(),
        NotConforming,
        "asker does not conform: returns_score says whether play returns a score; returns_score is True, but "
        "play returned no score",
    ),
    (mutants.TouchyAsker(), PlayerError, "adversary asker raised RuntimeError"),
    (mutants.ForgetfulAsker(), ProtocolViolation, "a score is one number for each game"),
    (mutants.CheatingAsker(), ProtocolViolation, "after the flag both queries are equal"),
]


@pytest.mark.parametrize(("adversary", "kind", "message"), BROKEN_ADVERSARIES, ids=lambda v: type(v).__name__)
def test_broken_adversaries_are_caught(
    adversary: mutants.Asker, kind: type[ArenaError], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        check_adversary(adversary, mutants.Coin(), Figure1())


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (
            mutants.GlobalNumpy(),
            "coin does not conform: all random numbers come from the generator that a player is given, ",
        ),
        (
            mutants.Unseeded(),
            "coin does not conform: the same random numbers give the same game; views differ (a function of "
            "yours may draw its own, with coins=own)",
        ),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_sound_adversary_is_not_blamed_for_its_learner(learner: mutants.Coin, message: str) -> None:
    with pytest.raises(NotConforming, match=re.escape(message)):
        check_adversary(mutants.Asker(), learner, Figure1())
