"""`check_learner` passes sound learners and catches each broken one, with the right message."""

from __future__ import annotations

import re

import pytest
from mutants import declared_laws as laws
from mutants import players as mutants
from support.simple_players import Echo, GameEcho, LastLabel

from arena import InvalidArgument, Learner, NotConforming, PlayerError, ProtocolViolation, Sample
from arena.testing import check_learner
from learners.online.noisy_majority import NoisyMajority

SOUND = [
    mutants.Coin(),
    mutants.CommonRandomNumbers(),
    mutants.Planar(),
    laws.CoinWithLaw(),
    laws.Budget(),
    laws.Halting(laws.HaltingLaw()),
    laws.HaltingBudget(),
    laws.Value("number", laws.exponential),
    laws.Value("pair", laws.pair),
    laws.Value("bit", lambda: laws.finite(0.75, 0.25, 0.0)),
    laws.Value("branch", lambda: laws.branches(0.25, 0.75)),
    Echo(),
    GameEcho(),
    LastLabel(),
]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", SOUND, ids=lambda learner: f"{type(learner).__name__}-{learner.name}")
def test_sound_learners_pass(learner: Learner) -> None:
    check_learner(learner)


GLOBAL = "all random numbers come from the generator that a player is given, none from a global one"
OWN = (
    "every game draws its own random numbers; the means of batches vary more than those of independent games"
)
SAME = "the same random numbers give the same game; views differ"
BROKEN_LEARNERS = [
    (mutants.Thawed(), "coin does not conform: the class of a learner is a frozen attrs class"),
    (mutants.Nameless(), "Nameless does not conform: a learner has a name and names its protocols"),
    (mutants.Homeless(), "TrainingRun, OneRun); got ['Figure2']"),
    (mutants.Unpicklable(), "a learner can be hashed and pickled; got "),
    (mutants.Unequal(), "a copy of this learner is equal to it and has the same hash"),
    (mutants.Boaster(), "claim is a Claim; got float"),
    (mutants.GlobalNumpy(), GLOBAL),
    (mutants.GlobalPython(), GLOBAL),
    (mutants.Unseeded(), f"coin does not conform: {SAME}"),
    (mutants.UnseededGuess(), f"last-label does not conform: {SAME}"),
    (mutants.SharedCoin(), OWN),
    (mutants.CrossTalk(), "a game does not depend on the other games of its batch; feature "),
    (mutants.Lonely(), "a game of a batch is distributed as a single game; feature "),
    (mutants.Scribbler(), "learner coin raised ValueError: assignment destination is read-only"),
    (mutants.PairOnly(), "learner coin, round 1: predict returns one label a game"),
]
REFUSALS = {mutants.Scribbler: PlayerError, mutants.PairOnly: ProtocolViolation}  # of a referee

# Declarations of learners that are false, and what the checks say.
POINTS = "some_points are one or more points of shape (); got "
COMMON = "with common random numbers, a game draws the same whatever other games receive; "
FOLLOW = "its answers follow the output distribution that it declares; "
VALUES = "its values follow the output distribution that it declares; "
SUM = "the probabilities that it declares are at least 0 and have sum 1; the sum is "
OUTCOMES = "its answers are outcomes of the distribution that it declares; "
FALSE_DECLARATIONS = [
    (mutants.WrongShape(), f"{POINTS}an array of shape (2, 3)"),
    (mutants.Pointless(), f"{POINTS}an array of shape (0,)"),
    (mutants.Listed(), f"{POINTS}tuple"),
    (mutants.Narrow(), "trained on some_points and asked about them; learner coin raised ValueError: "),
    (mutants.Sparing(), f"{COMMON}other replies"),
    (mutants.Wasteful(), f"{COMMON}the generator ends in another state"),
    (laws.CoinWithLaw(laws.CoinLaw(low=0.5)), f"{FOLLOW}round 1 with answer 0 has frequency 0.7"),
    (laws.CoinWithLaw(laws.CoinLaw(high=1.5)), f"{SUM}1, the least is -0.5"),
    (laws.CoinWithLaw(laws.CoinLaw(mass=0.5)), f"{SUM}0.5, the least is 0.5"),
    (laws.CoinWithLaw(laws.ShortLaw()), "shape (1, 1, 1) for 2 outcomes and 1 measures"),
    (laws.Halting(), f"{OUTCOMES}label 1 with a halt in round 1"),
    (laws.Budget(laws.CoinLaw(low=0.5)), f"{FOLLOW}round 1 with answer 0 has frequency 0.7"),
    (laws.HaltingBudget(laws.LastLaw(last=5)), f"{OUTCOMES}label 0 with a halt in round 4"),
    (laws.HaltingBudget(laws.LastLaw(last=3)), "every game halts with answer 3, which it declares"),
    (laws.HaltingBudget(laws.LastLaw(low=0.5)), f"{FOLLOW}round 1 with answer 0 has frequency 0.7"),
    (laws.Stuck(), f"{FOLLOW}round 2 with answer 0, and then round 3 with answer 1 has frequency 0 in "),
    (
        laws.Value("number", lambda: laws.exponential(rate=1.5)),
        f"{VALUES}the value at most at its declared 0.",
    ),
    (laws.Value("number", lambda: laws.exponential(share=0.5)), f"{SUM}0.5, the least is 0"),
    (
        laws.Value("number", laws.Impossible),
        "its values are possible by the output distribution that it declares",
    ),
    (laws.Value("bit", lambda: laws.finite(0.25, 0.75)), f"{VALUES}a value 0 has frequency 0.7"),
    (
        laws.Value("bit", lambda: laws.finite(1.0)),
        "possible by the output distribution that it declares; 1 has the declared probability 0, and such",
    ),
    (
        laws.Value("branch", lambda: laws.branches(0.75, 0.25)),
        f"{VALUES}the value at most at its declared 0.75-quantile has frequency 0.2",
    ),
    (laws.Value("branch", lambda: laws.branches(0.25, 0.5)), f"{SUM}0.75, the least is 0.25"),
    (laws.Value("branch", lambda: laws.branches(-0.25, 1.25)), f"{SUM}1, the least is -0.25"),
    (
        laws.Value("one for both", laws.pair),
        f"{VALUES}parts 0 and 1 of the value at the same quantile, or at opposite ones, has frequency 1 ",
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (mutants.FarVotes(), "votes are one share in [0, 1] for each game; got ["),
        (mutants.OneVote(), "votes are one share in [0, 1] for each game; got 0.5"),
        (mutants.EmptyRounds(), "a round answers at least one query; got 0"),
        (mutants.NegativeCosts(), "other_costs are ε of at least 0 nats; got {'other': -1"),
        (mutants.Mute(), "explain returns a text for each topic; got {'rate': 0.5}"),
        (mutants.BareBound(), "bound is a Bound or None; got int"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_capabilities_are_checked(learner: Learner, message: str) -> None:
    with pytest.raises(NotConforming, match=re.escape(message)):
        check_learner(learner, games=100)


@pytest.mark.thorough
def test_instructions_reach_a_learner_that_takes_them() -> None:
    learner = mutants.Instructed()
    check_learner(learner, games=100)
    assert learner.updates == {True, False}


@pytest.mark.thorough
@pytest.mark.parametrize(("learner", "message"), FALSE_DECLARATIONS, ids=lambda v: type(v).__name__)
def test_declarations_of_a_learner_are_checked(learner: Learner, message: str) -> None:
    with pytest.raises(NotConforming, match=re.escape(message)):
        check_learner(learner)


def test_invalid_probabilities_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="probabilities must be at least 0 and have sum 1"):
        check_learner(laws.Value("bit", lambda: laws.finite(0.75, 0.5)))


@pytest.mark.thorough
@pytest.mark.parametrize(("learner", "message"), BROKEN_LEARNERS, ids=lambda v: type(v).__name__)
def test_broken_learners_are_caught(learner: Learner, message: str) -> None:
    with pytest.raises(REFUSALS.get(type(learner), NotConforming), match=re.escape(message)):
        check_learner(learner)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (laws.NoisyShare(noise=1_000), "its values follow the output distribution that it declares"),
        (laws.NoisyShare(one_coin=2), "its values follow the output distribution that it declares"),
        (laws.NoisyShare(one_coin=2), "every game draws its own random numbers"),
    ],
)
def test_samples_of_other_sizes_and_balances_show_what_the_first_hides(
    learner: Learner, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_learner(laws.NoisyShare())
    sample = Sample([0.0, 1.0], [0, 1], [500, 500])
    check_learner(learner, sample=sample)  # which is the first that is tried
    if "draws" in message:
        monkeypatch.setattr(laws.NoisyShare, "law", Learner.law)
    with pytest.raises(NotConforming, match=message):
        check_learner(learner)


@pytest.mark.thorough
@pytest.mark.parametrize("rounds", [1, 2, 8, 12, 13])
def test_games_are_as_long_as_the_budget_allows(rounds: int) -> None:
    check_learner(NoisyMajority(rounds=rounds), games=100)
