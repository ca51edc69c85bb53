"""The conformance checks pass sound players and catch each broken one, with the right words."""

from __future__ import annotations

import re

import pytest
from mutants import players as mutants
from support.players import Echo, GameEcho, GameScripted, LastLabel

from arena import (
    ArenaError,
    Figure1,
    InvalidArgument,
    Learner,
    Moves,
    NotConforming,
    PlayerError,
    ProtocolViolation,
    Query,
    Train,
)
from arena.testing import check_adversary, check_learner

SOUND = [
    mutants.Coin(),
    mutants.InStep(),
    mutants.Planar(),
    mutants.ToldCoin(),
    mutants.Budget(),
    mutants.Halting(mutants.HaltingLaw()),
    mutants.HaltingBudget(),
    mutants.Value("number", mutants.exponential),
    mutants.Value("pair", mutants.pair),
    mutants.Value("bit", lambda: mutants.finite(0.75, 0.25, 0.0)),
    mutants.Value("branch", lambda: mutants.branches(0.25, 0.75)),
    Echo(),
    GameEcho(),
    LastLabel(),
]


@pytest.mark.parametrize("learner", SOUND, ids=lambda learner: f"{type(learner).__name__}-{learner.name}")
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
        "coin does not conform: protocols are names of referees (Figure1, Release, Voting, Oblivious, "
        "Adaptive, SpecialRound); got ['Figure2']",
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
        mutants.UnseededGuess(),
        NotConforming,
        "last-label does not conform: the same coins give the same game; views differ",
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


# What a learner says of itself, and how it is told that this is not so.
SELF_DECEIVED = [
    (
        mutants.WrongShape(),
        "coin does not conform: some_points are one or more points of shape (); got an array of shape (2, 3)",
    ),
    (
        mutants.Pointless(),
        "coin does not conform: some_points are one or more points of shape (); got an array of shape (0,)",
    ),
    (
        mutants.Listed(),
        "coin does not conform: some_points are one or more points of shape (); got tuple",
    ),
    (
        mutants.Narrow(),
        "coin does not conform: it can be trained on some_points and asked about them; learner coin raised "
        "ValueError: between in round 2",
    ),
    (
        mutants.Sparing(),
        "coin does not conform: in step, a game has the same coins whatever other games are told; "
        "other replies",
    ),
    (
        mutants.Wasteful(),
        "coin does not conform: in step, a game has the same coins whatever other games are told; "
        "the generator is left in another state",
    ),
    (
        mutants.ToldCoin(mutants.CoinLaw(low=0.5)),
        "coin does not conform: its answers follow the law that it tells; answer 1 = 0 came in 0.7",
    ),
    (
        mutants.ToldCoin(mutants.CoinLaw(high=1.5)),
        "coin does not conform: the law that it tells has chances of at least 0 and of sum 1; of sum 1, "
        "the least is -0.5",
    ),
    (
        mutants.ToldCoin(mutants.CoinLaw(mass=0.5)),
        "coin does not conform: the law that it tells has chances of at least 0 and of sum 1; of sum 0.5, "
        "the least is 0.5",
    ),
    (
        mutants.ToldCoin(mutants.ShortLaw()),
        "coin does not conform: a step of the law that it tells has a part for every outcome and measure; "
        "shape (1, 1, 1) for 2 outcomes and 1 measures",
    ),
    (
        mutants.Halting(),
        "coin does not conform: its answers follow the law that it tells; answer 1 of no known outcome "
        "came in 0.2",
    ),
    (
        mutants.Budget(mutants.CoinLaw(low=0.5)),
        "coin does not conform: its answers follow the law that it tells; answer 1 = 0 came in 0.7",
    ),
    (
        mutants.HaltingBudget(mutants.LastLaw(answers=5)),
        "coin does not conform: its answers follow the law that it tells; answer 4 of no known outcome came",
    ),
    (
        mutants.HaltingBudget(mutants.LastLaw(answers=3)),
        "coin does not conform: its answers follow the law that it tells; a game that goes on after the last "
        "answer came in 0.",
    ),
    (
        mutants.HaltingBudget(mutants.LastLaw(low=0.5)),
        "coin does not conform: its answers follow the law that it tells; answer 1 = 0 came in 0.7",
    ),
    (
        mutants.Stuck(),
        "coin does not conform: its answers follow the law that it tells; answer 1 = 0 with "
        "answer 4 = 0 came in 0.7",
    ),
    (
        mutants.Value("number", lambda: mutants.exponential(rate=1.5)),
        "value does not conform: what it releases follows the law that it tells; a value ≤ 0.3292 came in 0.",
    ),
    (
        mutants.Value("number", lambda: mutants.exponential(share=0.5)),
        "value does not conform: the law that it tells has chances of at least 0 and of sum 1; of sum 0.5, "
        "the least is 0",
    ),
    (
        mutants.Value("number", mutants.Impossible),
        "value does not conform: by the law that it tells, what it releases is possible",
    ),
    (
        mutants.Value("bit", lambda: mutants.finite(0.25, 0.75)),
        "value does not conform: what it releases follows the law that it tells; value 0 came in 0.7",
    ),
    (
        mutants.Value("bit", lambda: mutants.finite(1.0)),
        "value does not conform: what it releases follows the law that it tells; a value that the law does "
        "not know came in 0.2",
    ),
    (
        mutants.Value("branch", lambda: mutants.branches(0.75, 0.25)),
        "value does not conform: what it releases follows the law that it tells; branch 0 came in 0.2",
    ),
    (
        mutants.Value("branch", lambda: mutants.branches(0.25, 0.5)),
        "value does not conform: the law that it tells has chances of at least 0 and of sum 1; of sum 0.75, "
        "the least is 0.25",
    ),
    (
        mutants.Value("branch", lambda: mutants.branches(-0.25, 1.25)),
        "value does not conform: the law that it tells has chances of at least 0 and of sum 1; of sum 1, "
        "the least is -0.25",
    ),
    (
        mutants.Value("one for both", mutants.pair),
        "value does not conform: what it releases follows the law that it tells; in parts 0 and 1, a "
        "value ≤ 0.4938 with a value ≤ 0.4938 came in 0.",
    ),
]


@pytest.mark.parametrize(("learner", "message"), SELF_DECEIVED, ids=lambda v: type(v).__name__)
def test_what_a_learner_says_of_itself_is_checked(learner: Learner, message: str) -> None:
    with pytest.raises(NotConforming) as caught:
        check_learner(learner)
    assert str(caught.value).startswith(message)


def test_chances_that_are_none_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="probabilities must be at least 0 and have sum 1"):
        check_learner(mutants.Value("bit", lambda: mutants.finite(0.75, 0.5)))


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
    (
        mutants.SecretAsker(),
        NotConforming,
        "asker does not conform: returns_score says whether play returns a score; returns_score is False, but "
        "play returned a score",
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
        (mutants.GlobalNumpy(), "coin does not conform: every coin comes from the generator it was given, "),
        (
            mutants.Unseeded(),
            "coin does not conform: the same coins give the same game; views differ (a function of yours may "
            "draw its own, with coins=own)",
        ),
    ],
    ids=lambda v: type(v).__name__,
)
def test_a_sound_adversary_is_not_blamed_for_its_learner(learner: mutants.Coin, message: str) -> None:
    with pytest.raises(NotConforming, match=re.escape(message)):
        check_adversary(mutants.Asker(), learner, Figure1())
