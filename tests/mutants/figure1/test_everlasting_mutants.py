"""Everlasting predictors that count by halves: each slip is refuted, and the correct predictor is not."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from mutants.figure1.everlasting import (
    EVERY,
    LOOSE,
    MARKED,
    QUIET,
    QUIET_FRESH,
    RARE,
    ROUND,
    STEADY,
    AsksOnePoint,
    AsksTheChallengeAgain,
    CounterRefreshes,
    CounterRefreshesLate,
    CountsHalf,
    CountsKinds,
    DrawsAgain,
    FirstShare,
    LeaksQueries,
    NeverHalts,
    NoiseByVotes,
    PaysForOneMark,
    RemembersMarked,
    TrueTopsPredictor,
    WaitsForTheHalt,
)
from mutants.learners import run_audit
from mutants.refuting_adversaries import AskQueries
from mutants.scores import last
from support.simple_players import NamedByClass, copy_settings

from adversaries.common.training_samples import build_separable_sample
from adversaries.figure1.swaps import StaleThresholds, TrainingSwap, UnlabelledSwap
from arena import (
    Adversary,
    Claim,
    Figure1,
    Learner,
    Moves,
    PrivacyUnit,
    Queries,
    Query,
    Sample,
    Train,
    Unlabelled,
)
from learners.everlasting.paper_versions import EverlastingFresh


def first_two_differ(values: np.ndarray) -> np.ndarray:
    return values[:, 0] != values[:, 1]


AT_THE_EDGE = Sample([0.0, 0.0], [0, 1], [181, 19])  # one vote short of the lower threshold of STEADY
TIED = Sample([0.5, 0.5], [1, 0], [1_001, 1_000])
ONE_HALT = attrs.evolve(STEADY, halts=1)
# The slip, the correct one, the adversary, games.
SLIPS: list[tuple[Learner, Learner, Adversary, int]] = [
    (copy_settings(CounterRefreshes, ROUND), ROUND, StaleThresholds(), 8_000),
    (copy_settings(CounterRefreshesLate, ROUND), ROUND, StaleThresholds(), 8_000),
    (copy_settings(CountsHalf, ROUND), ROUND, WaitsForTheHalt(before=92, after=5), 32_000),
    (copy_settings(PaysForOneMark, MARKED), MARKED, TrainingSwap(queries=800), 8_000),
    (copy_settings(DrawsAgain, LOOSE), LOOSE, AsksOnePoint(times=5_000), 2_000),
    (
        copy_settings(NoiseByVotes, MARKED),
        MARKED,
        AskQueries(TIED, TIED.replace_one(0, 0.6, 1), first_two_differ, queries=(0.55, 0.65)),
        2_000,
    ),
    (copy_settings(RemembersMarked, QUIET), QUIET, AsksTheChallengeAgain(times=6), 8_000),
    (copy_settings(NeverHalts, STEADY), STEADY, TrainingSwap(queries=800), 4_000),
    (
        copy_settings(TrueTopsPredictor, ONE_HALT),
        ONE_HALT,
        AskQueries(AT_THE_EDGE, AT_THE_EDGE.replace_one(0, 0.0, 1), last, queries=(0.0,)),
        2_000,
    ),
]
PLAYED = [
    pytest.param(*row, id=row[0].name, marks=[pytest.mark.slow] * (row[0].name == "pays-for-one-mark"))
    for row in SLIPS
]


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "twin", "adversary", "games"), PLAYED)
def test_the_slip_is_refuted(slip: Learner, twin: Learner, adversary: Adversary, games: int) -> None:
    assert slip.claim.epsilon == pytest.approx(twin.claim.epsilon, abs=0.001)
    assert slip.claim.delta == twin.claim.delta
    assert run_audit(slip, adversary, Figure1(), games=games).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(("slip", "twin", "adversary", "games"), PLAYED)
def test_the_twin_is_not(slip: Learner, twin: Learner, adversary: Adversary, games: int) -> None:
    assert not run_audit(twin, adversary, Figure1(), games=games).refuted


@pytest.mark.thorough
def test_the_steady_predictor_survives_what_refutes_the_printed_thresholds() -> None:
    """The same votes, the same questions: no more is seen of the query than the count shows."""
    for learner in (ROUND, attrs.evolve(ROUND, noise=0.03, training_rate=0.001)):
        verdict = run_audit(learner, StaleThresholds(firing=0.5), Figure1(), games=4_000)
        assert not verdict.refuted
        assert verdict.epsilon_lower < 0.1


@attrs.frozen
class BeforeThePool(NamedByClass, Adversary):
    """A query differs, and comes before all unlabelled points; the score is the number of later answers 1."""

    protocols = ("Figure1",)

    learner: Learner

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(build_separable_sample(self.learner))
        yield Query(0.0, 1.0)
        yield Query(0.0)
        yield Unlabelled(np.zeros(40))
        reply = yield Queries(np.ones(8))
        return (reply.label == 1).sum(axis=1)


# The slip, the correct one, the adversary, and the claim if it is another than its own.
FRESH: list[tuple[Any, EverlastingFresh, Any, Claim | None]] = [
    (FirstShare, RARE, lambda spec: UnlabelledSwap(learner=spec, probes=32), None),
    (CountsKinds, QUIET_FRESH, lambda spec: UnlabelledSwap(learner=spec, probes=8), None),
    (LeaksQueries, EVERY, BeforeThePool, Claim(epsilon=0.01, delta=0, protects=(PrivacyUnit.QUERY,))),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "spec", "made", "claim"), FRESH, ids=[kind.name for kind, *_ in FRESH])
def test_the_fresh_slip_is_refuted_and_the_learner_itself_is_not(
    kind: Any, spec: EverlastingFresh, made: Any, claim: Claim | None
) -> None:
    broken = copy_settings(kind, spec)
    assert broken.claim == spec.claim
    assert run_audit(broken, made(broken), Figure1(), games=20_000, claim=claim).refuted
    assert not run_audit(spec, made(spec), Figure1(), games=4_000, claim=claim).refuted
