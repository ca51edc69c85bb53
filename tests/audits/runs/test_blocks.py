"""Blocks: pairs that share their coins, and the three distinguishers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats
from support.simple_players import SAMPLE, Echo, Fragile, Scripted, script

from arena import (
    Adversary,
    Claim,
    Density,
    Figure1,
    Learner,
    Moves,
    NotConforming,
    PrivacyUnit,
    Query,
    Release,
    Sample,
    Train,
    Training,
    Unsupported,
)
from audits.distinguishers.view_features import ViewCounts
from audits.reports.json_form import to_data
from audits.runs.blocks import choose_distinguisher, play_block, uses_common_random_numbers
from audits.runs.plan import LEARNED, LIKELIHOOD, SCORE, Plan
from audits.runs.run import run
from audits.statistics.score_pairs import PairCounts


@attrs.frozen
class CountState:
    spec: Any
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        counts = np.array([float(s.counts @ s.labels) for s in training.samples])[training.which]
        return counts + self.noise(training, len(counts))

    def noise(self, training: Training, games: int) -> np.ndarray:
        return self.rng.laplace(0, self.spec.scale, games)


@attrs.frozen
class NoisyCount(Learner):
    """The number of labels 1 with noise Lap(scale): exactly 1/scale-DP."""

    name = "noisy-count"
    protocols = ("Release",)
    state_class = CountState
    scale: float = 1.0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1 / self.scale, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        return True

    def start(self, games: int, rng: np.random.Generator) -> CountState:
        return self.state_class(self, rng)

    def law(self, sample: Sample) -> Density:
        count = float(sample.counts @ sample.labels)
        return Density(
            log=lambda x: stats.laplace.logpdf(x, count, self.scale),
            kinks=(count,),
            low=count - 40 * self.scale,
            high=count + 40 * self.scale,
            scale=self.scale,
        )


class OutOfStepState(CountState):
    def noise(self, training: Training, games: int) -> np.ndarray:
        noise = np.zeros(games)
        more = training.which == training.which.max()
        noise[more] = self.rng.laplace(0, 1, more.sum())
        noise[~more] = self.rng.laplace(0, 1, (~more).sum())
        return noise


@attrs.frozen
class OutOfStep(NoisyCount):
    """Says that it is in step, and draws for one kind of games first."""

    state_class = OutOfStepState


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


# --- pairs that share their coins -----------------------------------------------------------------------


def test_the_games_of_a_pair_share_their_coins() -> None:
    block = play_block(plan(NoisyCount(), Giver(), distinguisher=LEARNED), 0)
    assert isinstance(block, ViewCounts)
    values = block.rows[block.which, 0]
    assert values[:, 1] - values[:, 0] == pytest.approx(1.0)
    assert len(np.unique(values[:, 0])) == block.pairs


def test_only_learners_in_step_share_coins_and_only_where_the_table_is_one() -> None:
    assert uses_common_random_numbers(plan(NoisyCount(), Giver()))
    assert not uses_common_random_numbers(plan(NoisyCount(), Giver(), faults=True))
    assert not uses_common_random_numbers(plan(Echo(), Giver()))


def test_a_learner_that_is_out_of_step_is_refused() -> None:
    with pytest.raises(NotConforming, match="draws the same whatever other games receive"):
        run(plan(OutOfStep(), Giver(), distinguisher=LEARNED))


def test_shared_coins_certify_more_and_not_too_much() -> None:
    alone = attrs.make_class(
        "Alone", [], bases=(NoisyCount,), frozen=True, class_body={"common_random_numbers": False}
    )
    found = [
        run(plan(learner, Giver(), distinguisher=LIKELIHOOD, games=100_000)).epsilon_lower
        for learner in (NoisyCount(scale=10.0), alone(scale=10.0))
    ]
    assert 0.093 < found[0] <= 0.1
    assert found[1] < 0.092


# --- distinguishers -----------------------------------------------------------------------------------------


def test_the_likelihood_ratio_is_that_of_the_law() -> None:
    block = play_block(plan(NoisyCount(), Giver(), distinguisher=LIKELIHOOD), 0)
    assert isinstance(block, PairCounts)
    assert np.abs(block.scores).max() == pytest.approx(1.0)
    assert block.scores.min() == pytest.approx(-1.0)


def test_without_a_score_a_distinguisher_is_learned_or_told() -> None:
    scored = script(Train(SAMPLE), score=np.zeros(2))
    assert choose_distinguisher(Echo(), scored, Release()) == SCORE
    assert choose_distinguisher(Echo(), Giver(), Release()) == LEARNED
    assert choose_distinguisher(NoisyCount(), Giver(), Release()) == LIKELIHOOD
    assert choose_distinguisher(Echo(), Giver(asks=((0.5,),)), Figure1()) == LEARNED


def test_a_score_that_is_missing_is_missed() -> None:
    with pytest.raises(Unsupported, match="or have a distinguisher learned"):
        play_block(plan(Echo(), Giver()), 0)


def test_a_learner_that_tells_no_law_has_no_likelihood() -> None:
    with pytest.raises(Unsupported, match="echo does not declare its output distribution"):
        play_block(plan(Echo(), Giver(), distinguisher=LIKELIHOOD), 0)


def test_adversaries_with_coins_have_no_likelihood() -> None:
    def moves(games: int, rng: np.random.Generator) -> Any:
        yield Train(SAMPLE, SAMPLE.replace_one(0, 0.0, int(rng.integers(2))))

    adversary = Scripted(moves)
    with pytest.raises(Unsupported, match="without randomness, and scripted draws random numbers"):
        play_block(plan(NoisyCount(), adversary, distinguisher=LIKELIHOOD), 0)


def test_a_learned_distinguisher_refutes_what_has_no_privacy() -> None:
    verdict = run(plan(Echo(), Giver(), distinguisher=LEARNED, epsilon=3.0))
    assert verdict.refuted
    assert verdict.clopper_pearson is not None
    assert verdict.clopper_pearson > 3


@pytest.mark.thorough
def test_a_learned_distinguisher_is_the_same_for_any_jobs_and_after_interruptions(tmp_path: Path) -> None:
    what = plan(NoisyCount(), Giver(), distinguisher=LEARNED, games=6_000, block=500)
    alone = to_data(run(what))
    ledger = tmp_path / "run.ledger"
    stopped = 0

    def stop(progress: object) -> None:
        nonlocal stopped
        stopped += 1
        if stopped == 5:
            raise KeyboardInterrupt

    assert run(what, ledger=ledger, watch=stop).interrupted
    for verdict in (run(what, jobs=2), run(what, ledger=ledger)):
        again = to_data(verdict)
        for name in ("seconds", "games_per_second"):
            again[name] = alone[name]
        assert again == alone


def test_a_learner_that_fails_in_one_world_is_refuted_by_its_failing() -> None:
    adversary = Giver(other=None, asks=((0.0, 7.0), (0.0,)))
    verdict = run(
        plan(Fragile(), adversary, Figure1(), distinguisher=LEARNED, faults=True, epsilon=2.0, games=400)
    )
    assert verdict.refuted
