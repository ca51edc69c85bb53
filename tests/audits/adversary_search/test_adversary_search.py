"""Searches: what they find, that they repeat, how they spend their error, how they begin, their power."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants.runs import RunsLearner
from support.simple_players import Copying, HalfTheNoise, HaltsOnTheCount, OnePoint, RaisesOnLabels

from arena import (
    Claim,
    InvalidArgument,
    Learner,
    NotConforming,
    NothingTested,
    PrivacyUnit,
    Sample,
    Training,
    Voting,
)
from audits.adversary_search import (
    SPACES,
    Ask,
    Challenge,
    Score,
    Script,
    SearchProgress,
    SearchResult,
    adversary_search,
    exploration,
    script_strategies,
    search,
    share_of_error,
)
from audits.adversary_search.detectable_loss import Rung, detectable_loss
from audits.adversary_search.evidence import confirming_seed, exploring_seed
from audits.adversary_search.solved_start import find_solved_start
from audits.exact_loss.exact_audit import exact
from audits.registry.players import configure_learner
from audits.runs.limits import Limits
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.online.noisy_majority import NoisyMajority
from learners.predictors.vote_predictors import BetweenThresholdsPredictor, StaticErm
from learners.releases.choices import RandomisedResponse
from learners.releases.counts import LaplaceCount

CLAIM = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))


def figures(result: SearchResult) -> dict[str, Any]:
    return json.loads(json.dumps(result.to_dict()))


@pytest.mark.slow
def test_everlasting_v1_falls_to_the_smallest_game() -> None:
    found = search(EverlastingV1(), seed=1)
    assert found.refuted
    assert found.adversary is not None
    challenge, ask = found.adversary.steps
    assert isinstance(challenge, Challenge)
    assert isinstance(ask, Ask)
    assert (ask.times, found.adversary.rounds) == (7, 8)  # with the challenge, the eighth outcome ⊤
    assert isinstance(found.adversary.score, Score)
    assert attrs.evolve(found.adversary.score, sign=1) == Score("halted")
    assert found.verdict is not None
    assert found.verdict.epsilon_lower > found.claim.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_everlasting_v1_falls_from_every_seed(seed: int) -> None:
    assert search(EverlastingV1(), seed=seed).refuted


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "feature"),
    [
        (HalfTheNoise(), "value"),
        (HaltsOnTheCount(), "halted"),
        pytest.param(RaisesOnLabels(), "failed", marks=pytest.mark.slow),
        (Copying(), "hypothesis 2"),
        (OnePoint(), "answers 1"),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_leaks_are_found(learner: Learner, feature: str) -> None:
    found = search(learner, seed=2)
    assert found.refuted
    assert found.adversary is not None
    assert isinstance(found.adversary.score, Score)
    assert found.adversary.score.feature == feature
    assert len(found.adversary.steps) <= 2
    assert found.plan is not None
    assert found.plan.faults == (feature == "failed")


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["ignores-counts", "counts-runs", "last-run"])
def test_a_search_divides_lists_into_other_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = RunsLearner(name)
    with pytest.raises(NotConforming, match="however that is divided into runs"):
        search(learner)
    monkeypatch.setattr(adversary_search, "check_learner_first", lambda learner: None)
    # One search in fifty may miss it.
    results = (search(learner, examples=120, pairs=64, seed=seed) for seed in range(3))
    found = next(result for result in results if result.refuted)
    assert found.adversary is not None
    # The last run also becomes shorter where the last example is another one.
    assert found.adversary.pieces == 16 or name == "last-run"


@pytest.mark.thorough
def test_a_learner_without_privacy_falls_at_once() -> None:
    found = search(StaticErm(), claim=CLAIM)
    assert found.refuted
    assert found.examples < 20


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [EverlastingV2(), BetweenThresholdsPredictor(), LaplaceCount(), NoisyMajority()],
    ids=lambda one: one.name,
)
def test_what_holds_is_not_refuted(learner: Learner) -> None:
    found = search(learner, examples=60)
    assert not found.refuted
    assert (found.adversary, found.plan, found.verdict) == (None, None, None)
    assert 0 < found.examples <= 60
    assert found.games >= found.examples


@pytest.mark.thorough
def test_the_same_seed_gives_the_same_search() -> None:
    one, again, other = (search(HaltsOnTheCount(), seed=seed) for seed in (3, 3, 4))
    assert figures(one) == figures(again)
    assert one.adversary == again.adversary
    assert figures(one) != figures(other)


@pytest.mark.thorough
def test_jobs_do_not_change_what_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adversary_search, "_RUN_EXAMPLES", 8)
    learner = LaplaceCount()
    found = [figures(search(learner, examples=24, pairs=32, jobs=jobs)) for jobs in (1, 2)]
    assert found[0] == found[1]
    found = [figures(search(StaticErm(), claim=CLAIM, examples=24, jobs=jobs)) for jobs in (1, 2)]
    assert found[0] == found[1]


# --- error ------------------------------------------------------------------------------------------------


def test_confirmations_together_spend_at_most_the_error() -> None:
    shares = [share_of_error(1e-6, number) for number in range(1, 10_001)]
    assert shares[0] == 5e-7
    assert sum(shares) <= 1e-6
    assert sum(shares) > 0.999e-6


def test_no_confirmation_plays_a_game_that_was_seen() -> None:
    assert {exploring_seed(seed, "first", str(seed)) % 2 for seed in range(50)} == {0}
    confirming = {confirming_seed(seed, number) for seed in range(50) for number in range(1, 5)}
    assert {seed % 2 for seed in confirming} == {1}
    assert len(confirming) == 200


@pytest.mark.slow
def test_what_looks_bad_but_holds_is_confirmed_again_and_again_and_not_refuted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exploration, "EVIDENCE_THRESHOLD", 0.0)  # so low that everything passes it
    monkeypatch.setattr(adversary_search, "_RUN_EXAMPLES", 20)
    results = [
        search(LaplaceCount(), examples=60, pairs=64, confirm_games=400, error=0.02, seed=seed)
        for seed in range(3)
    ]
    assert sum(result.confirmations for result in results) >= 3
    assert not any(result.refuted for result in results)


@pytest.mark.slow
def test_many_searches_of_a_tight_learner_never_refute_it() -> None:
    results = [search(LaplaceCount(), examples=15, pairs=64, error=0.01, seed=seed) for seed in range(300)]
    assert not any(result.refuted for result in results)


@pytest.mark.thorough
def test_later_confirmations_are_stricter(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Plan] = []

    def never_refute(plan: Plan, limits: Limits, **options: Any) -> Verdict:
        seen.append(plan)
        return attrs.evolve(run(attrs.evolve(plan, games=10)), refuted=False)

    monkeypatch.setattr("audits.adversary_search.confirmation.run", never_refute)
    monkeypatch.setattr(adversary_search, "_RUN_EXAMPLES", 10)
    found = search(HalfTheNoise(), examples=30, error=0.06)
    assert not found.refuted
    assert found.confirmations == len(seen) > 3  # three runs, and more with what they left of the budget
    assert found.examples >= 30
    assert [1 - plan.confidence for plan in seen[:3]] == pytest.approx([0.03, 0.01, 0.005])
    assert len({plan.seed for plan in seen}) == len(seen)


# --- on the way -------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_progress_is_reported() -> None:
    seen: list[SearchProgress] = []
    found = search(LaplaceCount(), examples=20, pairs=32, watch=seen.append)
    assert [now.examples for now in seen] == sorted(now.examples for now in seen)
    assert seen[-1].examples == found.examples
    assert seen[-1].best == found.best
    assert {now.of for now in seen} == {20}


def test_an_interrupt_gives_what_there_is() -> None:
    def stop(now: SearchProgress) -> None:
        if now.examples == 5:
            raise KeyboardInterrupt

    found = search(LaplaceCount(), examples=50, pairs=32, watch=stop)
    assert found.interrupted
    assert not found.refuted
    assert found.examples == 5


@pytest.mark.thorough
def test_within_a_test_of_hypothesis_a_search_is_the_same_and_may_be_interrupted(
    request: pytest.FixtureRequest,
) -> None:
    ignored = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # what runs in the background ignores it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, ignored))
    asked: dict[str, Any] = {"examples": 30, "pairs": 32, "seed": 4}
    outside = search(LaplaceCount(), **asked)
    results = []

    def stop(now: SearchProgress) -> None:
        if now.examples == 5:
            os.kill(os.getpid(), signal.SIGINT)

    @settings(max_examples=1, deadline=None, database=None)
    @given(st.none())
    def run_searches(none: None) -> None:
        results.append(search(LaplaceCount(), **asked))
        results.append(search(LaplaceCount(), **asked | {"examples": 2_000}, watch=stop))

    run_searches()
    inside, interrupted = results
    assert inside == outside
    assert interrupted.interrupted
    assert 5 <= interrupted.examples < 2_000


@pytest.mark.thorough
def test_a_search_whose_adversaries_are_all_declined_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_strategies, "samples", lambda *arguments: st.just(Sample([0.0], [0], [3])))
    monkeypatch.setitem(
        SPACES, "Release", attrs.evolve(SPACES["Release"], obvious=lambda *arguments: iter(()))
    )
    with pytest.raises(NothingTested, match="configured for 12 examples, got 3"):
        search(RandomisedResponse(size=12), examples=5, pairs=8)


# --- bad input --------------------------------------------------------------------------------------------


PROTOCOLS = ", ".join(SPACES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"examples": 0}, "examples must be at least 1, got 0"),
        ({"pairs": 1}, "pairs must be at least 2, got 1"),
        ({"confirm_games": 0}, "confirm_games must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        ({"error": 0.0}, "error must be more than 0, got 0.0"),
        ({"protocol": "Figure1"}, "learner laplace-count does not play Figure1. It plays Release."),
        ({"protocol": "Adaptive"}, f"Adaptive has only one world. A search needs one of {PROTOCOLS}."),
        ({"protocol": "Chess"}, f"Chess is not a protocol. A search needs one of {PROTOCOLS}."),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        search(LaplaceCount(), **arguments)
    assert str(refusal.value) == message


def test_a_claim_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="give the claim to test"):
        search(StaticErm())


def test_scripts_refuse_what_makes_no_game() -> None:
    sample = Sample([0.0], [0])
    with pytest.raises(InvalidArgument, match=f"protocol must be one of {PROTOCOLS}"):
        Script(protocol="Adaptive")
    with pytest.raises(InvalidArgument, match="a script has a training set if and only if"):
        Script(protocol="Release")
    with pytest.raises(InvalidArgument, match="Release has no such step"):
        Script(protocol="Release", world_0=sample, steps=(Ask(0.0),))
    with pytest.raises(InvalidArgument, match="feature must be the name"):
        Score("the weather")


RUNGS = (Rung(1_024, 31, 0.5), Rung(4_096, 15, 0.5), Rung(16_384, 7, 1.0))


@attrs.frozen
class FlipState:
    loss: float
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        first = np.array([sample.rows()[1][0] for sample in training.samples])[training.which]
        truth = self.rng.random(training.games) < 1 / (1 + np.exp(-self.loss))
        return np.where(truth, first, 1 - first).astype(float)


@attrs.frozen
class Flips(Learner):
    """Releases the first label by randomised response with a loss of `loss`, and claims ε = 1."""

    name = "flips"
    protocols = ("Release",)
    loss: float = 1.0
    claim = CLAIM

    def start(self, games: int, rng: np.random.Generator) -> FlipState:
        return FlipState(self.loss, rng)


def test_more_games_show_smaller_losses() -> None:
    losses = [detectable_loss(RUNGS[:rungs], CLAIM, pairs=256, threshold=10.0) for rungs in (1, 2, 3)]
    assert None not in losses
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.3


def test_a_rung_that_nothing_reaches_leaves_no_power() -> None:
    assert detectable_loss((Rung(64, 8, 1e6), *RUNGS), CLAIM, pairs=64, threshold=10.0) is None


@pytest.mark.thorough
def test_a_search_that_finds_nothing_states_its_power() -> None:
    result = search(Flips(), examples=40, pairs=64)
    assert not result.refuted
    assert result.detectable is not None
    assert 0.05 < result.detectable < 2


@pytest.mark.thorough
def test_a_loss_little_above_the_claim_is_found() -> None:
    assert search(Flips(loss=1.05), seed=1).refuted


@pytest.mark.slow
def test_the_stated_loss_is_found_nine_times_in_ten() -> None:
    stated = search(Flips(), examples=60, pairs=64).detectable
    assert stated is not None
    leaky = Flips(loss=1 + stated)
    refuted = sum(search(leaky, examples=60, pairs=64, seed=seed).refuted for seed in range(40))
    assert refuted >= 29  # of 40 at 0.9, fewer by chance once in 10,000


LEARNER = configure_learner(
    "pate-svt", {"teachers": 15, "queries": 3, "threshold": 4.0, "scale": 1.0, "unstable": 1}
)
OPTIMUM = 0.63  # ε of the best adversary of three queries at this δ
BELOW = attrs.evolve(LEARNER.claim, epsilon=0.8 * OPTIMUM, delta=0.0874)


@pytest.mark.thorough
def test_it_needs_more_than_the_claim() -> None:
    start = find_solved_start(LEARNER, "Voting", BELOW)
    assert start is not None
    audited = exact(LEARNER, start.script, Voting(), epsilons=[BELOW.epsilon])
    (needed,) = [bracket.lower for bracket in audited.deltas if bracket.epsilon == BELOW.epsilon]
    assert needed - BELOW.delta == pytest.approx(start.excess)
    assert start.excess > 0.02


@pytest.mark.thorough
def test_a_search_confirms_it_before_it_draws_others() -> None:
    result = search(LEARNER, claim=BELOW, examples=1)
    assert result.refuted
    assert (result.examples, result.confirmations) == (1, 1)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("learner", "protocol", "claim"),
    [
        (LEARNER, "Voting", attrs.evolve(BELOW, epsilon=1.1 * OPTIMUM)),
        (LEARNER, "SpecialRound", BELOW),
        (attrs.evolve(LEARNER, teachers=41), "Voting", BELOW),
    ],
    ids=["true", "not of queries", "many examples"],
)
def test_there_may_be_none(learner: Learner, protocol: str, claim: Claim) -> None:
    assert find_solved_start(learner, protocol, claim) is None
