"""`check_adversary` passes sound adversaries and catches each broken one, with the right message."""

from __future__ import annotations

import re

import pytest
from mutants import asking_adversaries as askers
from mutants import players as mutants
from support.simple_players import GameScripted

from arena import Adversary, Figure1, Moves, NotConforming, PlayerError, ProtocolViolation, Query, Train
from arena.testing import check_adversary


def ask_once(rng: object) -> Moves:
    yield Train(askers.SAMPLE)
    reply = yield Query(0.0)
    return reply.label


@pytest.mark.parametrize("adversary", [askers.Asker(), GameScripted(ask_once)])
def test_sound_adversaries_pass(adversary: Adversary) -> None:
    check_adversary(adversary, mutants.Coin(), Figure1())


SCORE = "asker does not conform: a game's score depends on the replies of that game alone"
DECLARED = "asker does not conform: returns_score says whether play returns a score; returns_score is "
GLOBAL = "all random numbers come from the generator that a player is given, none from a global one"
REFUSALS = {
    askers.TouchyAsker: PlayerError,
    askers.ForgetfulAsker: ProtocolViolation,
    askers.CheatingAsker: ProtocolViolation,
}


@pytest.mark.parametrize(
    ("adversary", "message"),
    [
        (askers.LooksAside(), SCORE),
        (askers.LooksAtItsNeighbour(), SCORE),
        (askers.MovesAside(), "a game's moves depend on the replies of that game alone; move 2 of a game "),
        (askers.GlobalAsker(), f"asker does not conform: {GLOBAL}"),
        (askers.UnseededAsker(), "the same random numbers give the same game; scores differ"),
        (askers.SecretAsker(), f"{DECLARED}False, but play returned a score"),
        (askers.MuteAsker(), f"{DECLARED}True, but play returned no score"),
        (askers.TouchyAsker(), "adversary asker raised RuntimeError"),
        (askers.ForgetfulAsker(), "a score is one number for each game"),
        (askers.CheatingAsker(), "after the flag both queries are equal"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_broken_adversaries_are_caught(adversary: askers.Asker, message: str) -> None:
    with pytest.raises(REFUSALS.get(type(adversary), NotConforming), match=re.escape(message)):
        check_adversary(adversary, mutants.Coin(), Figure1())


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (mutants.GlobalNumpy(), f"coin does not conform: {GLOBAL}"),
        (mutants.Unseeded(), "views differ (a function of yours may draw its own, with coins=own)"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_sound_adversary_is_not_blamed_for_its_learner(learner: mutants.Coin, message: str) -> None:
    with pytest.raises(NotConforming, match=re.escape(message)) as caught:
        check_adversary(askers.Asker(), learner, Figure1())
    assert caught.value.player == "coin"
