"""Runs: the same figures whatever the workers, the interruptions and the ledger."""

from __future__ import annotations

import signal
from pathlib import Path

import attrs
import numpy as np
import pytest
from support.processes import figures, interrupt_at
from support.simple_players import Echo

from adversaries.figure1.swaps import HaltCounter, QuerySwap, TrainingSwap
from adversaries.release.point_swap import CountSwap
from arena import Adversary, Figure1, InvalidArgument, Learner, Moves, Query, Release, Sample, Train
from audits.runs.blocks import play_block
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.run_history import read_history
from audits.statistics.betting import Betting
from audits.statistics.score_pairs import PairCounts
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.predictors.vote_predictors import StaticErm
from learners.releases.counts import LaplaceCount

V1 = EverlastingV1()


def plan_of(learner: Learner, adversary: Adversary, **settings: object) -> Plan:
    referee = Release() if "Release" in adversary.protocols else Figure1()
    chosen = {"epsilon": 1.0, "delta": 1e-5, "confidence": 0.999, "games": 5_000, "seed": 7} | settings
    return Plan(learner=learner, adversary=adversary, referee=referee, **chosen)  # type: ignore[arg-type]


NUMBERS = plan_of(LaplaceCount(), CountSwap(), delta=0.0, confidence=0.95, games=20_000, block=2_000)


@pytest.mark.thorough
def test_v1_is_refuted_and_v2_stands() -> None:
    first = run(plan_of(V1, HaltCounter(learner=V1), games=50_000))
    assert first.refuted
    assert first.epsilon_lower >= 7
    assert first.epsilon_lower <= first.ceiling
    v2 = EverlastingV2()
    second = run(plan_of(v2, HaltCounter(learner=v2), games=50_000))
    assert not second.refuted
    assert second.epsilon_lower == 0.0
    assert second.ceiling >= 7


@pytest.mark.thorough
def test_a_true_epsilon_is_approached_and_not_exceeded() -> None:
    verdict = run(attrs.evolve(NUMBERS, games=100_000))
    assert 0.9 <= verdict.epsilon_lower <= 1.0
    assert verdict.clopper_pearson is not None
    assert 0.8 <= verdict.clopper_pearson <= 1.0
    assert not verdict.refuted


@pytest.mark.thorough
def test_a_fixed_number_of_games_certifies_its_own_bound(tmp_path: Path) -> None:
    """Pairs share random numbers, so it is the bound of pairs. A ledger gives it without the players."""
    settings = {"delta": 0.0, "confidence": 0.95, "games": 3_000, "epsilon": 0.9, "fixed_games": True}
    plan = plan_of(LaplaceCount(), CountSwap(), **settings)
    assert plan.paired
    verdict = run(plan, ledger=tmp_path / "run.ledger")
    assert verdict.refuted
    assert 0.9 < verdict.epsilon_lower <= 1.0 < verdict.ceiling
    assert verdict.clopper_pearson is None
    assert "valid at this number of games only, fixed beforehand" in verdict.headline
    read = read_history(tmp_path / "run.ledger")
    assert (read.verdict.epsilon_lower, read.verdict.refuted) == (verdict.epsilon_lower, True)
    assert read.epsilon_lower[-1] == verdict.epsilon_lower
    assert not read.epsilon_lower[:-1].any()  # nothing holds before the last game


@pytest.mark.thorough
def test_a_learner_that_claims_nothing_is_refuted_at_a_claim_of_the_users() -> None:
    learner = StaticErm()
    assert run(plan_of(learner, TrainingSwap(learner=learner), games=2_000)).refuted


def test_scores_go_to_their_worlds() -> None:
    """The score is the world itself, read off a halt: every pair must come out as (0, 1)."""

    @attrs.frozen
    class Reader(Adversary):
        name = "reader"
        protocols = ("Figure1",)

        def play(self, games: int, rng: np.random.Generator) -> Moves:
            yield Train(Sample([0.0], [0], [5]))
            yield Query(0.0, 9.0)
            reply = yield Query(0.0)
            return reply.halted

    counts = play_block(plan_of(Echo(), Reader(), games=1_000), 0)
    assert counts.scores.tolist() == [[0.0, 1.0]]


def test_a_score_by_place_tells_nothing() -> None:
    @attrs.frozen
    class Placed(Adversary):
        name = "placed"
        protocols = ("Figure1",)

        def play(self, games: int, rng: np.random.Generator) -> Moves:
            yield Train(Sample([0.0], [0], [5]))
            yield Query(0.0, 1.0)
            return np.arange(games) % 2

    verdict = run(plan_of(Echo(), Placed(), games=20_000))
    assert verdict.epsilon_lower == 0.0


@pytest.mark.thorough
def test_figures_do_not_depend_on_the_jobs(tmp_path: Path) -> None:
    one = figures(run(NUMBERS))
    assert figures(run(NUMBERS, jobs=2)) == one
    assert figures(run(NUMBERS, jobs=2, ledger=tmp_path / "run.ledger")) == one


@pytest.mark.thorough
def test_figures_do_not_depend_on_a_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    one = figures(run(NUMBERS))
    assert figures(run(NUMBERS, ledger=ledger)) == one
    again = run(NUMBERS, ledger=ledger)
    assert figures(again) == one
    assert again.played_now == 0


@pytest.mark.thorough
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    part = run(NUMBERS, ledger=ledger, watch=interrupt_at(8_000))
    assert part.interrupted
    assert part.games == 8_000
    rest = run(NUMBERS, ledger=ledger)
    assert rest.played_now == 12_000
    assert figures(rest) == figures(run(NUMBERS))


def test_an_interrupt_amid_a_block_waits_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games that are told and games that were bet on are the same ones."""
    update, interrupts = Betting.update, [signal.SIGINT]
    # A suite that was started in the background has it ignored.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)

    def update_and_interrupt(betting: Betting, block: PairCounts) -> None:
        if betting.pairs == 4_000 and interrupts:
            signal.raise_signal(interrupts.pop())
        update(betting, block)

    monkeypatch.setattr(Betting, "update", update_and_interrupt)
    try:
        part = run(NUMBERS)
    finally:
        signal.signal(signal.SIGINT, ignored)
        monkeypatch.undo()

    assert (part.interrupted, part.games) == (True, 6_000)
    assert figures(part) == figures(run(NUMBERS, watch=interrupt_at(6_000)))


@pytest.mark.thorough
def test_blocks_that_were_finished_out_of_order_are_used(tmp_path: Path) -> None:
    from audits.runs.ledger import Ledger

    ledger = tmp_path / "run.ledger"
    with Ledger.open(ledger, NUMBERS.describe()) as book:
        for index in (7, 2, 4):
            book.add(index, play_block(NUMBERS, index))
    verdict = run(NUMBERS, ledger=ledger)
    assert verdict.played_now == 14_000
    assert figures(verdict) == figures(run(NUMBERS))


def test_until_refuted_stops_at_the_first_block_that_refutes() -> None:
    plan = plan_of(V1, HaltCounter(learner=V1), games=1_000_000, until_refuted=True)
    verdict = run(plan)
    assert verdict.refuted
    assert verdict.games < 20_000
    assert figures(run(plan, jobs=2)) == figures(verdict)


def test_a_challenge_that_the_claim_does_not_speak_of_is_refused() -> None:
    learner = StaticErm()
    with pytest.raises(
        InvalidArgument,
        match="halt-counter lets the worlds differ in a query, which static-erm does not promise to protect",
    ):
        run(plan_of(learner, HaltCounter(learner=learner)))


@pytest.mark.thorough
def test_every_shipped_adversary_leaves_v2_standing() -> None:
    v2 = EverlastingV2(answers=1_515)
    for adversary in (HaltCounter(learner=v2), TrainingSwap(learner=v2), QuerySwap(learner=v2)):
        assert not run(plan_of(v2, adversary, games=2_000)).refuted
