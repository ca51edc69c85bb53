"""No adversary of `support.cheats` has a correct learner refuted; docs/security.md lists them."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from support import cheats
from support.cheats import (
    CHEATS,
    NEIGHBOUR,
    ONES,
    ZEROS,
    BatchNoise,
    Cheat,
    IndependentCount,
    LateCount,
    Plain,
    RememberedGame,
)

from arena import (
    ArenaError,
    InvalidArgument,
    Learner,
    Moves,
    NotConforming,
    NothingTested,
    ProtocolViolation,
    Train,
)
from arena.testing import check_learner
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run
from learners.foreign.function import Function
from learners.releases.counts import LaplaceCount

SECURITY = Path(__file__).parents[4] / "docs" / "security.md"
# What stops an attack, where it is an error; the others are played, and find nothing.
ERRORS: dict[str, tuple[type[ArenaError], str]] = {
    "OverriddenDifferences": (ProtocolViolation, "differ in at most one place"),
    "NegativeZero": (NothingTested, "the same in both worlds"),
    "LyingLabels": (ProtocolViolation, "differ in at most one place"),
    "LargeIntegers": (InvalidArgument, "integers must lie within"),
    "ChangingDigest": (ArenaError, "cannot set WRITEABLE flag"),
    "BatchMean": (NotConforming, "a game's score depends on the replies of that game alone"),
    "NextGame": (NotConforming, "a game's score depends on the replies of that game alone"),
    "CountedCalls": (NotConforming, "vary more than independent games could"),
    "Plain": (NotConforming, "vary more than independent games could"),
}


def plan_attack(cheat: Any, seed: int) -> Plan:
    return Plan(
        learner=cheat.learner,
        adversary=deepcopy(cheat),  # it may change the learner that it has
        referee=cheat.referee,
        epsilon=1.0,
        delta=0.0,
        # A correct learner may be refuted by chance, a learner that breaks the contract not even then.
        confidence=0.95 if isinstance(cheat, Plain) else 1 - 1e-6,
        games=20_000,
        seed=seed,
        distinguisher=LEARNED if cheat.returns_score is False else SCORE,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(
            cheat, id=type(cheat).__name__, marks=[pytest.mark.slow] * isinstance(cheat, RememberedGame)
        )
        for cheat in CHEATS
    ],
)
def test_no_cheat_refutes_a_correct_learner(cheat: Any, seed: int) -> None:
    for state in (cheats.CountedCalls.calls, RememberedGame.values):
        state.clear()
    kind, text = ERRORS.get(type(cheat).__name__, (None, ""))
    if kind is not None:
        with pytest.raises(kind, match=text):
            run(plan_attack(cheat, seed))
    else:
        assert not run(plan_attack(cheat, seed)).refuted


def release_ones(ones: int, rng: np.random.Generator) -> float:
    return ones + rng.laplace()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "cheat", [cheats.BatchMean(smallest=1_000), cheats.NextGame(), cheats.CountedCalls()]
)
def test_no_cheat_refutes_a_function_whose_checks_are_games_that_count(cheat: Any) -> None:
    cheats.CountedCalls.calls.clear()
    learner = Function(function=release_ones, receives="ones", epsilon=1.0)
    kind, text = ERRORS[type(cheat).__name__]
    plan = attrs.evolve(plan_attack(attrs.evolve(cheat, learner=learner), 3), block=1_250)
    with pytest.raises(kind, match=text):
        run(plan)
    with pytest.raises(kind, match=text):
        run(attrs.evolve(plan, until_refuted=True, first_block=16))


def test_every_cheat_is_in_the_guide() -> None:
    text = SECURITY.read_text()
    assert [name for name in {type(cheat).__name__ for cheat in CHEATS} if f"`{name}`" not in text] == []


@pytest.mark.thorough
@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("games", [2, 3, 100])
def test_a_learner_with_one_coin_for_a_batch_is_caught_in_few_blocks(common: bool, games: int) -> None:
    cheat = Plain(learner=BatchNoise(common=common))
    plan = attrs.evolve(plan_attack(cheat, 0), games=100 * games, block=100)
    with pytest.raises(NotConforming, match="vary more than independent games could"):
        run(plan)
    with pytest.raises(NotConforming):
        check_learner(cheat.learner)


@pytest.mark.thorough
def test_the_correct_learners_conform() -> None:
    for learner in (cheats.IndependentCount(), cheats.OddCount(), cheats.SignCount(), cheats.ClippedSum()):
        check_learner(learner, sample=cheats.ZEROS)
    assert LateCount().claim.epsilon == 1


@attrs.frozen
class OneSampleForAll(Cheat):
    """Sound: draws one of two pairs of samples for all games of a batch."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        pair = (ZEROS, NEIGHBOUR) if rng.integers(2) else (ONES, ONES.replace_one(0, 0.0, 0))
        reply = yield Train(*pair)
        return reply.value


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [LaplaceCount(), IndependentCount()], ids=lambda learner: learner.name)
@pytest.mark.parametrize("games", [300, 20_000])
def test_an_adversary_may_draw_for_a_whole_batch(learner: Learner, games: int) -> None:
    plan = plan_attack(OneSampleForAll(learner=learner), 1)
    assert not run(plan).refuted
    assert not run(attrs.evolve(plan, seed=0, games=games, block=games // 3)).refuted
