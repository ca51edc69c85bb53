"""Blocks: pairs that share their coins, and the three distinguishers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from support.processes import figures, interrupt_at
from support.simple_players import SAMPLE, Echo, Fragile, script

from arena import (
    Adversary,
    Figure1,
    Learner,
    Moves,
    NotConforming,
    Query,
    Release,
    Sample,
    Train,
    Training,
    Unsupported,
)
from audits.distinguishers.view_features import ViewCounts
from audits.runs.blocks import choose_distinguisher, play_block, uses_common_random_numbers
from audits.runs.plan import LEARNED, LIKELIHOOD, SCORE, Plan
from audits.runs.run import run
from learners.releases.counts import LaplaceCount, count_ones_by_game


@attrs.frozen
class OutOfStep(LaplaceCount):
    """Says that it is in step, and draws for one kind of games first."""

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        counts, more = count_ones_by_game(training), training.which == training.which.max()
        counts[more] += rng.laplace(size=more.sum())
        counts[~more] += rng.laplace(size=(~more).sum())
        return counts


@attrs.frozen
class Alone(LaplaceCount):
    """Its pairs do not share random numbers."""

    common_random_numbers = False


@attrs.frozen
class Giver(Adversary):
    """Gives two samples that differ in a label, asks a few queries, and returns no score."""

    name = "giver"
    protocols = ("Release", "Figure1")
    asks: tuple[Any, ...] = ()
    other: Sample | None = SAMPLE.replace_one(0, 0.0, 1)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, self.other)
        for points in self.asks:
            yield Query(*points)
        return None


def plan(learner: Learner, adversary: Any, referee: Any = None, **options: Any) -> Plan:
    given = {"epsilon": 1.0, "delta": 0.0, "games": 2_000, "seed": 1, **options}
    return Plan(learner=learner, adversary=adversary, referee=referee or Release(), **given)


def test_the_games_of_a_pair_share_their_coins() -> None:
    block = play_block(plan(LaplaceCount(), Giver(), distinguisher=LEARNED), 0)
    assert isinstance(block, ViewCounts)
    values = block.rows[block.which, 0]
    assert values[:, 1] - values[:, 0] == pytest.approx(1.0)
    assert len(np.unique(values[:, 0])) == block.pairs


def test_only_learners_in_step_share_coins_and_only_where_the_table_is_one() -> None:
    assert uses_common_random_numbers(plan(LaplaceCount(), Giver()))
    assert not uses_common_random_numbers(plan(LaplaceCount(), Giver(), faults=True))
    assert not uses_common_random_numbers(plan(Echo(), Giver()))


def test_a_learner_that_is_out_of_step_is_refused() -> None:
    with pytest.raises(NotConforming, match="draws the same whatever other games receive"):
        run(plan(OutOfStep(), Giver(), distinguisher=LEARNED))


def test_shared_coins_certify_more_and_not_too_much() -> None:
    found = [
        run(plan(learner, Giver(), distinguisher=LIKELIHOOD, games=100_000)).epsilon_lower
        for learner in (LaplaceCount(epsilon=0.1), Alone(epsilon=0.1))
    ]
    assert 0.093 < found[0] <= 0.1
    assert found[1] < 0.092


def test_without_a_score_a_distinguisher_is_learned_or_told() -> None:
    scored = script(Train(SAMPLE), score=np.zeros(2))
    assert choose_distinguisher(Echo(), scored, Release()) == SCORE
    assert choose_distinguisher(Echo(), Giver(), Release()) == LEARNED
    assert choose_distinguisher(LaplaceCount(), Giver(), Release()) == LIKELIHOOD
    assert choose_distinguisher(Echo(), Giver(asks=((0.5,),)), Figure1()) == LEARNED


def test_a_score_that_is_missing_is_missed() -> None:
    with pytest.raises(Unsupported, match="or have a distinguisher learned"):
        play_block(plan(Echo(), Giver()), 0)


def test_a_learned_distinguisher_refutes_what_has_no_privacy() -> None:
    verdict = run(plan(Echo(), Giver(), distinguisher=LEARNED, epsilon=3.0))
    assert verdict.refuted
    assert verdict.clopper_pearson is not None
    assert verdict.clopper_pearson > 3


@pytest.mark.thorough
def test_a_learned_distinguisher_is_the_same_for_any_jobs_and_after_interruptions(tmp_path: Path) -> None:
    what = plan(LaplaceCount(), Giver(), distinguisher=LEARNED, games=6_000, block=500)
    ledger = tmp_path / "run.ledger"
    assert run(what, ledger=ledger, watch=interrupt_at(2_000)).interrupted
    alone = figures(run(what))
    assert alone == figures(run(what, jobs=2)) == figures(run(what, ledger=ledger))


@pytest.mark.thorough
def test_a_learner_that_fails_in_one_world_is_refuted_by_its_failing() -> None:
    adversary = Giver(other=None, asks=((0.0, 7.0), (0.0,)))
    verdict = run(
        plan(Fragile(), adversary, Figure1(), distinguisher=LEARNED, faults=True, epsilon=2.0, games=400)
    )
    assert verdict.refuted
