"""Unlabelled points of Figure 1: for each rule a game that breaks it, and one that stays just inside."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.simple_players import SAMPLE, Echo, EchoState, Scripted, script

from arena import NO_LABEL, Figure1, PrivacyUnit, ProtocolViolation, Query, Received, Train, Unlabelled, play
from arena.engine import Played

GAMES = 6
POINTS = np.array([0.1, 0.2, 0.3])
OTHERS = np.array([0.1, 0.9, 0.3])


class TakingState(EchoState):
    """Keeps what it is handed; halts when handed `halt_at`."""

    def receive_unlabelled(self, x: np.ndarray) -> None:
        self.handed = x
        self.halted = self.halted | (x == self.halt_at).any(axis=1)


@attrs.frozen
class Taking(Echo):
    name = "taking"

    def start(self, games: int, rng: np.random.Generator) -> TakingState:
        state = TakingState(games, self.halt_at)
        self.states.append(state)
        return state


def play_recorded(*moves: object, learner: Echo | None = None) -> Played:
    return play(learner or Taking(), script(*moves), Figure1(), games=GAMES, seed=1, record=True)


def catch_violation(adversary: Scripted, learner: Echo | None = None) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        play(learner or Taking(), adversary, Figure1(), games=GAMES, seed=1)
    return caught.value


def test_a_learner_that_takes_no_unlabelled_points_is_refused_with_a_remedy() -> None:
    error = catch_violation(script(Train(SAMPLE), Unlabelled(POINTS)), learner=Echo())
    assert error.rule == "echo takes no unlabelled points"
    assert error.remedy.startswith("Hand them to a learner that learns from them")


def test_each_game_gets_the_points_of_its_world() -> None:
    learner = Taking()
    found = play_recorded(Train(SAMPLE), Unlabelled(POINTS, OTHERS), learner=learner)
    handed = learner.states[0].handed  # type: ignore[attr-defined]
    assert (handed == np.where(found.worlds[:, None], OTHERS, POINTS)).all()
    assert found.challenges == {PrivacyUnit.UNLABELLED_EXAMPLE}
    assert found.flag.all()
    assert found.rounds == 0  # it is no round


def test_points_that_are_equal_raise_no_flag() -> None:
    found = play_recorded(Train(SAMPLE), Unlabelled(POINTS, POINTS.copy()), Query(0.0, 1.0))
    assert found.challenges == {PrivacyUnit.QUERY}


def test_the_flag_is_each_games_own() -> None:
    own = np.tile(POINTS, (GAMES, 1))
    other = own.copy()
    other[2, 0] = 7.0
    assert play_recorded(Train(SAMPLE), Unlabelled(own, other)).flag.tolist() == [
        g == 2 for g in range(GAMES)
    ]


def test_worlds_differ_in_one_place_at_most() -> None:
    error = catch_violation(script(Train(SAMPLE), Unlabelled(POINTS, POINTS + 1)))
    assert error.rule == "unlabelled points of the two worlds differ in at most one place"
    assert error.got == "3 places"
    error = catch_violation(script(Train(SAMPLE), Unlabelled(POINTS, POINTS[:2])))
    assert (error.rule, error.expected, error.got) == ("both worlds have as many unlabelled points", 3, 2)


@pytest.mark.parametrize("first", [Unlabelled(POINTS, OTHERS), Query(0.0, 1.0)], ids=["unlabelled", "query"])
def test_after_the_flag_they_are_equal(first: object) -> None:
    error = catch_violation(script(Train(SAMPLE), first, Unlabelled(POINTS, OTHERS)))
    assert error.rule == "after the flag both worlds' unlabelled points are equal"
    play_recorded(Train(SAMPLE), first, Unlabelled(POINTS, POINTS))


def test_after_an_unlabelled_challenge_queries_are_equal() -> None:
    error = catch_violation(script(Train(SAMPLE), Unlabelled(POINTS, OTHERS), Query(0.0, 1.0)))
    assert error.rule == "after the flag both queries are equal"


def test_nothing_is_shown_but_halts() -> None:
    found = play_recorded(Train(SAMPLE), Unlabelled(POINTS, np.array([0.1, 9.0, 0.3])), Query(0.7))
    _, received, answer = found.replies
    assert isinstance(received, Received)
    assert received.halted.tolist() == found.worlds.tolist()
    assert answer.label.tolist() == [NO_LABEL if world else 1 for world in found.worlds]  # type: ignore[attr-defined]


@pytest.mark.parametrize("x", [0.5, [], [[0.1, 0.2]], [np.nan], "points"])
def test_what_is_no_row_of_points_is_refused(x: object) -> None:
    catch_violation(script(Train(SAMPLE), Unlabelled(x)))


def test_a_transcript_shows_unlabelled_points() -> None:
    found = play_recorded(Train(SAMPLE), Unlabelled(np.arange(6.0)), Unlabelled([9.0]), Query(0.0))
    table = found.transcript.table(0)
    assert "unlabelled 0, 1, 2, 3 and 2 more" in table
    assert "unlabelled 9" in table
    assert "halted" in table
