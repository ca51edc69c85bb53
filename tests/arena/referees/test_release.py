"""Release: one sample in two worlds, one value."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.simple_players import SAMPLE, Echo, EchoState, script

from arena import PrivacyUnit, ProtocolViolation, Query, Release, Train, play

OTHER = SAMPLE.replace_one(0, 0.0, 1)


def test_the_value_of_the_games_world_is_released() -> None:
    played = play(Echo(), script(Train(SAMPLE, OTHER)), Release(), games=6, seed=1, record=True)
    assert played.replies[0].value.tolist() == (2.0 + played.worlds).tolist()
    assert played.challenges == {PrivacyUnit.TRAINING_EXAMPLE}


def test_there_is_one_round_and_one_move() -> None:
    with pytest.raises(ProtocolViolation, match="Release begins with Train, which is made once"):
        play(Echo(), script(Train(SAMPLE), Train(SAMPLE)), Release(), games=2, seed=1)
    with pytest.raises(ProtocolViolation, match="Release knows the move Train"):
        play(Echo(), script(Query(0.0)), Release(), games=2, seed=1)


def test_samples_are_neighbours() -> None:
    with pytest.raises(ProtocolViolation, match="differ in at most one place"):
        play(Echo(), script(Train(SAMPLE, OTHER.replace_one(2, 1.0, 0))), Release(), games=2, seed=1)


@pytest.mark.parametrize("value", [3.0, np.zeros(3), None, [1.0, 2.0]])
def test_values_are_checked(value: object) -> None:
    class State(EchoState):
        def release(self, training: object) -> np.ndarray:
            return value  # type: ignore[return-value]

    @attrs.frozen
    class Odd(Echo):
        def start(self, games: int, rng: np.random.Generator) -> EchoState:
            return State(games, 9.0)

    with pytest.raises(ProtocolViolation, match="release returns one value a game"):
        play(Odd(), script(Train(SAMPLE)), Release(), games=2, seed=1)
