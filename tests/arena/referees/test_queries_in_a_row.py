"""Queries in a row: k rounds in one move, to the letter of the protocol."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import SAMPLE, Echo, EchoState, script

from arena import (
    NO_LABEL,
    Answers,
    Figure1,
    GameAdversary,
    Moves,
    ProtocolViolation,
    Queries,
    Query,
    Sample,
    Train,
    play,
)
from arena.messages import list_answers
from arena.testing import check_adversary
from audits.distinguishers.view_features import view_features

GAMES = 4
ASKED = (0.0, 1.0, 0.7, 3.0, 0.2, 1.0)  # 3.0 halts


class InStretches(EchoState):
    """Answers at most three queries at a time, and none behind a halt."""

    def predict_many(self, x: np.ndarray) -> np.ndarray:
        halts = np.flatnonzero((x == self.halt_at).any(axis=0))
        x = x[:, : min([3, x.shape[1], *(halts[:1] + 1).tolist()])]
        return np.stack([self.predict(column) for column in x.T], axis=1)


@attrs.frozen
class Stretches(Echo):
    name = "stretches"
    state_class: type[EchoState] = InStretches

    def start(self, games: int, rng: np.random.Generator) -> EchoState:
        self.states.append(self.state_class(games, self.halt_at))
        return self.states[-1]


def play_recorded(learner: Echo, *moves: Any, t: int | None = None) -> Any:
    return play(learner, script(Train(SAMPLE), *moves), Figure1(t), games=GAMES, seed=1, record=True)


def catch_violation(learner: Echo, *moves: Any, t: int | None = None) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        play(learner, script(*moves), Figure1(t), games=GAMES, seed=1)
    return caught.value


@pytest.mark.parametrize("learner", [Echo(halt_at=3.0), Stretches(halt_at=3.0)], ids=["one by one", "many"])
def test_they_are_answered_as_they_are_one_by_one(learner: Echo) -> None:
    together = play_recorded(learner, Query(0.6), Queries(ASKED), Query(1.0))
    apart = play_recorded(learner, Query(0.6), *map(Query, ASKED), Query(1.0))
    both = [list_answers(one.replies) for one in (together, apart)]
    assert len(both[0]) == len(both[1]) == 8
    for one, other in zip(*both, strict=True):
        assert np.array_equal(one.label, other.label)
        assert np.array_equal(one.halted, other.halted)
    assert together.rounds == apart.rounds == 8
    assert together.transcript.table(0, 1) == apart.transcript.table(0, 1)
    assert view_features(together).names == view_features(apart).names
    assert np.array_equal(view_features(together).rows, view_features(apart).rows)
    states = learner.states[-2:]
    assert np.array_equal(*(np.array(state.queries) for state in states))


def test_games_halt_apart() -> None:
    x = np.tile([0.0, 0.0, 1.0, 1.0], (GAMES, 1))
    x[1, 1] = x[2, 2] = 3.0
    reply = play_recorded(Stretches(halt_at=3.0), Queries(x)).replies[-1]
    assert isinstance(reply, Answers)
    assert reply.label.tolist() == [
        [0, 0, 1, 1],
        [0, 1, NO_LABEL, NO_LABEL],
        [0, 0, 1, NO_LABEL],
        [0, 0, 1, 1],
    ]
    assert reply.halted.tolist() == [[0, 0, 0, 0], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0]]
    assert reply.select_game(1).label.tolist() == [0, 1, NO_LABEL, NO_LABEL]
    assert not reply.label.flags.writeable
    assert not reply.halted.flags.writeable


def test_a_halt_that_was_withheld_shows_at_once() -> None:
    game = play_recorded(Stretches(halt_at=3.0), Query(0.0, 3.0), Queries([0.0, 1.0]))
    withheld, after = game.replies[1:]
    assert not withheld.halted.any()
    assert np.array_equal(after.halted, np.repeat(game.worlds[:, None], 2, axis=1))
    assert (after.label[game.worlds] == NO_LABEL).all()


def test_they_count_as_so_many_rounds() -> None:
    assert play_recorded(Echo(), Query(0.0), Queries([0.0, 1.0]), t=3).rounds == 3
    error = catch_violation(Echo(), Train(SAMPLE), Query(0.0), Queries([0.0, 1.0, 1.0]), t=3)
    assert (error.rule, error.round) == ("Figure1 with t = 3 has at most 3 rounds", 1)


@pytest.mark.parametrize("x", [0.5, [], np.zeros((GAMES, 0)), np.zeros((3, 2)), np.zeros((GAMES, 2, 1))])
def test_other_shapes_are_refused(x: Any) -> None:
    error = catch_violation(Echo(), Train(SAMPLE), Queries(x))
    assert error.rule == "points in a row are given once for all games or once for each"
    assert error.expected == "shape ('k',) or (4, 'k'), k ≥ 1"


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        (np.zeros(GAMES, bool), "predict_many returns the labels of the first of the queries"),
        (np.zeros((GAMES, 3), bool), "predict_many returns"),
        (np.zeros((GAMES, 0), bool), "predict_many returns"),
        (np.zeros((GAMES, 2)), "labels are bool or integers"),
        (np.full((GAMES, 2), 2), "labels are 0 or 1"),
        (None, "predict_many returns"),
    ],
)
def test_what_a_learner_answers_is_checked(said: Any, rule: str) -> None:
    class Liar(InStretches):
        def predict_many(self, x: np.ndarray) -> np.ndarray:
            return said  # type: ignore[no-any-return]

    error = catch_violation(Stretches(state_class=Liar), Train(SAMPLE), Queries([0.0, 1.0]))
    assert error.rule.startswith(rule)
    assert error.player == "learner stretches"


@attrs.frozen
class Alone(GameAdversary):
    name = "alone"
    protocols = ("Figure1",)

    def play_one(self, rng: np.random.Generator) -> Moves:
        yield Train(Sample([0.0, 1.0], [0, 1]))
        reply = yield Queries([0.0, 1.0, 1.0])
        return float(reply.label.sum())  # type: ignore[return-value]


def test_one_game_sees_rows() -> None:
    score = play(Stretches(), Alone(), Figure1(), games=3, seed=1).score
    assert score.tolist() == [2, 2, 2]
    check_adversary(Alone(), Stretches(), Figure1())
