"""Voting, in what it differs from Figure 1: public points, and the answer ⊥."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from support.simple_players import SAMPLE, EchoState, Scripted, script

from arena import (
    NO_LABEL,
    UNSTABLE,
    Claim,
    Learner,
    PrivacyUnit,
    ProtocolViolation,
    Query,
    Ready,
    Sample,
    Train,
    Voting,
    play,
)
from arena.engine import Played

GAMES = 6


class UnsureState(EchoState):
    """Answers 0 below 1/3, 1 above 2/3, ⊥ between; halts when asked `halt_at`."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        super().predict(x)
        return np.select([x < 1 / 3, x > 2 / 3], [0, 1], UNSTABLE)


@attrs.frozen
class Unsure(Learner):
    name = "unsure"
    protocols = ("Voting",)
    kind: type = UnsureState
    halt_at: float = 9.0
    states: list[EchoState] = attrs.field(factory=list, eq=False, repr=False)

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> EchoState:
        state = self.kind(games, self.halt_at)
        self.states.append(state)
        return state


def asks(*moves: object) -> Scripted:
    return attrs.evolve(script(*moves), protocols=("Voting",))


def play_recorded(
    *moves: object, ell: int | None = None, learner: Learner | None = None, games: int = GAMES
) -> Played:
    return play(learner or Unsure(), asks(*moves), Voting(ell), games=games, seed=1, record=True)


def replies(*moves: object, learner: Learner | None = None) -> list:
    return list(play_recorded(*moves, learner=learner).replies)


def catch_violation(
    *moves: object, ell: int | None = None, learner: Learner | None = None
) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        play_recorded(*moves, ell=ell, learner=learner)
    return caught.value


def test_points_are_public() -> None:
    x = np.array([0.0, 1.0, 0.5, 0.5, 0.5, 0.5])
    error = catch_violation(Train(SAMPLE), Query(x, np.where(np.arange(GAMES) == 1, 0.0, x)))
    assert (error.rule, error.games, error.round) == ("the points of Voting are public", [1], 1)
    assert (error.expected, error.got) == ("the same point in both worlds", "two different points")


@pytest.mark.parametrize("x", [0.5, np.linspace(0, 1, GAMES)])
def test_a_point_may_be_said_once_or_for_both_worlds(x: object) -> None:
    learner = Unsure()
    play_recorded(Train(SAMPLE, SAMPLE.replace_one(0, 0.0, 1)), Query(x, x), Query(x), learner=learner)
    first, second = learner.states[0].queries
    assert first.tolist() == second.tolist() == np.broadcast_to(x, GAMES).tolist()


def test_points_have_the_learners_shape() -> None:
    @attrs.frozen
    class Planar(Unsure):
        point_shape = (2,)

    assert catch_violation(Train(Sample([(0.0, 1.0)], [1])), Query(0.5), learner=Planar()).round == 1
    assert catch_violation(Train(SAMPLE), learner=Planar()).round == 0


def test_ell_questions_are_allowed_and_no_more() -> None:
    asked = [Train(SAMPLE), Query(0.0), Query(0.0)]
    assert play_recorded(*asked, ell=2).rounds == 2
    error = catch_violation(*asked, Query(0.0), ell=2)
    assert (error.rule, error.round) == ("Voting with ell = 2 has at most 2 rounds", 3)


def test_other_moves_are_refused() -> None:
    error = catch_violation(Train(SAMPLE), Ready())
    assert (error.rule, error.got) == ("Voting knows the moves Train, Query and Queries", "Ready")


def test_an_answer_is_0_1_or_unstable() -> None:
    _, answer = replies(Train(SAMPLE), Query(np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])))
    assert answer.label.tolist() == [0, 0, UNSTABLE, UNSTABLE, 1, 1]
    assert not answer.halted.any()
    with pytest.raises(ValueError, match="read-only"):
        answer.label[0] = 1


class Broken(EchoState):
    answer: object = None

    def predict(self, x: np.ndarray) -> np.ndarray:
        super().predict(x)
        return self.answer  # type: ignore[return-value]


@pytest.mark.parametrize("answer", [3, -1])
def test_labels_are_checked(answer: int) -> None:
    kind = type("Answers", (Broken,), {"answer": np.full(GAMES, answer)})
    error = catch_violation(Train(SAMPLE), Query(0.0), learner=Unsure(kind=kind))
    assert (error.rule, error.got, error.round) == ("labels are 0, 1 or 2 (⊥)", [answer], 1)


def test_under_figure_1_unstable_is_not_a_label() -> None:
    from arena import Figure1

    @attrs.frozen
    class Elsewhere(Unsure):
        protocols = ("Figure1",)

    with pytest.raises(ProtocolViolation, match=r"labels are 0 or 1; got \[2\]"):
        play(Elsewhere(), script(Train(SAMPLE), Query(0.5)), Figure1(), games=GAMES, seed=1)


def test_a_halt_shows_with_its_answer_and_then_as_silence_in_its_games_alone() -> None:
    halting = np.where(np.arange(GAMES) < 2, 0.5, 0.9)
    _, first, second = replies(Train(SAMPLE), Query(halting), Query(0.1), learner=Unsure(halt_at=0.5))
    assert first.label.tolist() == [UNSTABLE, UNSTABLE, 1, 1, 1, 1]
    assert first.halted.tolist() == [True, True, False, False, False, False]
    assert second.label.tolist() == [NO_LABEL, NO_LABEL, 0, 0, 0, 0]
    assert second.halted.tolist() == first.halted.tolist()


def test_a_halt_while_training_is_silence_from_the_first_question_on() -> None:
    class Refuses(UnsureState):
        def train(self, training: object) -> None:
            self.halted = np.ones(GAMES, bool)

    _, answer = replies(Train(SAMPLE), Query(0.1), learner=Unsure(kind=Refuses))
    assert answer.label.tolist() == [NO_LABEL] * GAMES
    assert answer.halted.all()
