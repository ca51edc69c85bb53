"""OneRun: coins of the referee, the training set that they choose, and scores that are checked."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import Scripted

from arena import (
    BLANK,
    Advance,
    Adversary,
    Claim,
    InvalidArgument,
    Learner,
    Moves,
    Neighbours,
    OneRun,
    Played,
    PrivacyUnit,
    ProtocolViolation,
    Sample,
    Train,
    Training,
    TrainingRun,
    TrainWithCanaries,
    Unsupported,
    play,
)
from learners.training.dp_sgd import DPSGD

SAMPLE = Sample([0.5, 0.25], [1, 0], [2, 1])
CANARIES = Sample([1.0, 2.0, 3.0, 4.0], [0, 1, 0, 1])
PLANT = TrainWithCanaries(SAMPLE, CANARIES)
WORLDS = np.array([True, False, False, True])


class SumState:
    """A model is the number of steps so far and the sum of all examples."""

    steps = 5

    def __init__(self, received: list[Training]) -> None:
        self._received = received
        self._done = 0

    def train(self, training: Training) -> None:
        self._received.append(training)

    def advance(self, steps: int, canaries: Any) -> np.ndarray:
        self._done += steps
        (sample,) = self._received[-1].samples
        return np.array([[self._done, float(sample.counts @ sample.points)]])


@attrs.frozen
class Sums(Learner):
    name = "sums"
    protocols = ("TrainingRun",)

    neighbours: Neighbours = Neighbours.ADD_OR_REMOVE_ONE
    received: list[Training] = attrs.field(factory=list, eq=False)

    @property
    def claim(self) -> Claim:
        protects = (PrivacyUnit.TRAINING_EXAMPLE,)
        return Claim(epsilon=1, delta=0, protects=protects, neighbours=self.neighbours)

    def start(self, games: int, rng: np.random.Generator) -> SumState:
        assert games == 1
        return SumState(self.received)


def script(*moves: Any, score: Any = None) -> Adversary:
    def make(games: int, rng: np.random.Generator) -> Moves:
        for move in moves:  # noqa: UP028 - "yield from" would send the replies on to the tuple
            yield move
        return score

    return Scripted(make, protocols=("OneRun", "TrainingRun"))


def run(*moves: Any, score: Any = None, learner: Learner | None = None, **given: Any) -> Played:
    given = {"games": 4, "seed": 1, "record": True} | given
    return play(learner or Sums(), script(*moves, score=score), OneRun(every=2), **given)


def toss(canaries: int, seed: int, draws: int = 0) -> np.ndarray:
    """The coins of a run whose adversary draws so many random numbers."""

    def make(games: int, rng: np.random.Generator) -> Moves:
        rng.integers(2, size=draws)
        yield TrainWithCanaries(SAMPLE, Sample(np.ones(games), np.ones(games)))
        return None

    return play(Sums(), Scripted(make, protocols=("OneRun",)), OneRun(), games=canaries, seed=seed).worlds


def test_coins_are_fair_and_independent() -> None:
    coins = toss(40_000, seed=3)
    assert abs(coins.mean() - 0.5) < 0.0125  # five standard deviations
    assert abs((coins[::2] == coins[1::2]).mean() - 0.5) < 0.0177
    assert len({int(toss(1_000, seed).sum()) for seed in range(5)}) > 1


def test_coins_follow_from_the_seed_and_not_from_the_players() -> None:
    assert (toss(100, 1) == toss(100, 1, draws=7)).all()
    assert (toss(100, 1) != toss(100, 2)).any()


def test_included_canaries_follow_the_data_and_others_are_absent() -> None:
    learner = Sums()
    run(PLANT, learner=learner, worlds=WORLDS)
    (training,) = learner.received
    assert training.samples == (Sample([0.5, 0.25, 1, 4], [1, 0, 0, 1], [2, 1, 1, 1]),)
    assert training.which.tolist() == [0]


def test_canaries_that_are_zeroed_out_are_blank() -> None:
    learner = Sums(Neighbours.ZERO_OUT_ONE)
    run(PLANT, learner=learner, worlds=WORLDS)
    labels = [1, 0, 0, BLANK, BLANK, 1]
    assert learner.received[0].samples == (Sample([0.5, 0.25, 1, 0, 0, 4], labels, [2, 1, 1, 1, 1, 1]),)


def test_the_adversary_sees_models_of_one_run() -> None:
    played = run(PLANT, Advance(3), Advance(), Advance(), score=[1, 2, 3, 4], worlds=WORLDS)
    shown = [reply.parameters for reply in played.replies[1:]]
    assert [models[0, :, 0].tolist() for models in shown] == [[2], [4, 5], []]
    assert {models.shape[0] for models in shown} == {1}
    assert shown[0][0, 0, 1] == 2 * 0.5 + 0.25 + 1 + 4
    assert (played.score.tolist(), played.worlds.tolist()) == ([1, 2, 3, 4], WORLDS.tolist())
    assert played.flag.all()
    assert played.challenges == {PrivacyUnit.TRAINING_EXAMPLE}


@pytest.mark.parametrize(
    ("moves", "score", "rule"),
    [
        ((Advance(),), None, "OneRun begins with TrainWithCanaries, which is made once"),
        ((PLANT, PLANT), None, "OneRun begins with TrainWithCanaries, which is made once"),
        ((Train(SAMPLE),), None, "OneRun knows the moves TrainWithCanaries and Advance"),
        ((TrainWithCanaries(SAMPLE, SAMPLE),), None, "there is one canary for each coin"),
        ((TrainWithCanaries([SAMPLE] * 4, CANARIES),), None, "training sets are given once for all games"),  # type: ignore[arg-type]
        ((TrainWithCanaries(SAMPLE, [1.0]),), None, "training sets are given as Sample"),  # type: ignore[arg-type]
        (
            (TrainWithCanaries(SAMPLE, Sample([0.0], [BLANK], [4])),),
            None,
            "training sets have blank examples",
        ),
        ((TrainWithCanaries(SAMPLE, Sample(np.ones((4, 2)), [0] * 4)),), None, "the points of a sample have"),
        ((PLANT,), [1.0, 2.0, 3.0], "a score is one number for each game"),
        ((PLANT,), [1.0, 2.0, 3.0, np.nan], "a score is a number"),
        ((PLANT,), ["a", "b", "c", "d"], "a score is one number for each game"),
    ],
)
def test_illegal_moves_and_scores_are_refused(moves: tuple[Any, ...], score: Any, rule: str) -> None:
    with pytest.raises(ProtocolViolation) as refused:
        run(*moves, score=score)
    assert refused.value.rule.startswith(rule)
    assert refused.value.player == "adversary scripted"


@pytest.mark.parametrize("relation", [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE_USER])
def test_claims_about_other_neighbours_are_refused(relation: Neighbours) -> None:
    with pytest.raises(Unsupported, match="other neighbours than those with and without a canary"):
        run(PLANT, learner=Sums(relation))


def test_games_of_one_run_are_not_played_alone() -> None:
    with pytest.raises(Unsupported, match="share one run, so none is played alone"):
        run(PLANT, faults=True)


def test_both_players_must_play_it() -> None:
    with pytest.raises(InvalidArgument, match="does not play OneRun"):
        play(Sums(), Scripted(lambda games, rng: iter(())), OneRun(), games=4, seed=1)  # type: ignore[arg-type, return-value]
    with pytest.raises(ProtocolViolation, match="TrainingRun knows the moves Train and Advance"):
        play(DPSGD(noise=1.0), script(PLANT), TrainingRun(), games=4, seed=1)
