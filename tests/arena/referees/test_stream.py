"""Stream and FixedStream: what arrives in each world, what is published when, and what is refused."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from support.simple_players import script

from arena import (
    Arrive,
    Claim,
    FixedStream,
    GameLearner,
    InvalidArgument,
    Learner,
    Moves,
    PrivacyUnit,
    ProtocolViolation,
    Stream,
    play,
)
from arena.claims import read_relation
from arena.players import Adversary
from arena.records import BLANK_RECORD, Records
from arena.testing import check_learner

STREAM = (PrivacyUnit.STREAM_EXAMPLE,)


@attrs.frozen
class Summer(GameLearner):
    """Publishes the sum of all records so far, without noise, in game style."""

    name = "summer"
    protocols = ("Stream", "FixedStream")
    common_random_numbers = True
    neighbours: str = "replace one"

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=STREAM, neighbours=read_relation(self.neighbours))

    def users_of(self, points: np.ndarray) -> np.ndarray:
        return np.floor(points)  # user 1 has the records 1, 1.5, ...

    def start_one(self, rng: np.random.Generator) -> Any:
        return Total()


class Total:
    total = 0.0

    def update(self, record: float) -> float:
        self.total += record
        return self.total


@attrs.frozen
class Lister(Learner):
    """Publishes the records themselves."""

    name = "lister"
    protocols = ("Stream", "FixedStream")
    common_random_numbers = True
    receives_records = True
    schema = None
    some_records = (Records([1, 2, 3]), Records([4]))
    neighbours: str = "replace one"

    claim = property(lambda self: Summer.claim.fget(self))  # type: ignore[attr-defined]

    def users_of(self, points: Any) -> np.ndarray:
        return np.array([-1 if point == BLANK_RECORD else point // 10 for point in points])

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return Listing()


class Listing:
    def update(self, records: Any) -> np.ndarray:
        return self.update_many(records)[0]

    def update_many(self, records: Any) -> list[np.ndarray]:
        rows = [[0 if row == BLANK_RECORD else row for row in sample.rows()] for sample in records.samples]
        return [np.array([rows[which][t] for which in records.which]) for t in range(len(rows[0]))]


def replay(learner: Learner, *moves: Arrive, referee: Any = None, games: int = 4) -> Any:
    return play(learner, script(*moves), referee or Stream(), games=games, seed=1, record=True)


def test_each_world_receives_its_own_stream() -> None:
    played = replay(Summer(), Arrive([1.0, 2.0]), Arrive([3.0], [4.0]))
    sums = [release.tolist() for reply in played.replies for release in reply.releases]
    assert sums == [[1.0] * 4, [3.0] * 4, (6.0 + played.worlds).tolist()]
    assert played.challenges == {PrivacyUnit.STREAM_EXAMPLE}
    assert played.rounds == 3
    assert played.flag.all()


def test_games_may_receive_streams_of_their_own() -> None:
    points = np.array([[1.0, 2.0], [3.0, 4.0]])
    played = replay(Summer(), Arrive(points), games=2)
    assert np.stack(played.replies[0].releases, axis=1).tolist() == [[1.0, 3.0], [3.0, 7.0]]
    assert not played.flag.any()


def test_records_are_those_of_each_world() -> None:
    played = replay(Lister(), Arrive(Records([1, 2]), Records([1, 7])))
    assert played.replies[0].releases[1].tolist() == np.where(played.worlds, 7, 2).tolist()
    table = played.transcript.table(0, 1)
    assert "world 1: gets" in table
    assert "7" in table


def test_the_adversary_sees_a_release_before_it_chooses_the_next_record() -> None:
    @attrs.frozen
    class Doubling(Adversary):
        name, protocols, returns_score = "doubling", ("Stream",), True

        def play(self, games: int, rng: np.random.Generator) -> Moves:
            reply = yield Arrive([1.0])
            for _ in range(3):
                reply = yield Arrive(reply.releases[-1][:, None])
            return np.asarray(reply.releases[-1])

    assert play(Summer(), Doubling(), Stream(), games=2, seed=1).score.tolist() == [8.0, 8.0]  # type: ignore[union-attr]


def test_a_fixed_stream_is_committed_in_one_move() -> None:
    with pytest.raises(ProtocolViolation, match="FixedStream begins with Arrive, which is made once"):
        replay(Summer(), Arrive([1.0]), Arrive([1.0]), referee=FixedStream())
    assert replay(Summer(), Arrive([1.0, 1.0]), referee=FixedStream()).rounds == 2


@pytest.mark.parametrize(
    ("neighbours", "moves", "rule"),
    [
        ("replace one", [Arrive([1.0], [2.0]), Arrive([1.0], [2.0])], "the worlds differ in at most 1 round"),
        ("replace one", [Arrive([1.0, 1.0], [2.0, 2.0])], "the worlds differ in at most 1 round"),
        ("replace a group of 2", [Arrive([1.0] * 3, [2.0] * 3)], "the worlds differ in at most 2 rounds"),
        ("zero out one", [Arrive([1.0], [2.0])], "in a round in which the worlds differ, one of them has no"),
        (
            "add or remove one",
            [Arrive([1.0], [2.0])],
            "in a round in which the worlds differ, one of them has no",
        ),
        ("replace one", [Arrive([1.0, 2.0], [1.0])], "as many records arrive in both worlds"),
        ("at L1 distance at most 1", [Arrive([1.0], [2.0])], "streams are no vectors at a distance"),
        (
            "add or remove a user of at most 2",
            [Arrive([1.0, 1.5, 1.0], [0.0, 0.0, 0.0])],
            "a user has at most 2 records",
        ),
        (
            "add or remove a user of at most 2",
            [Arrive([1.0, 2.0], [0.0, 0.0])],
            "the worlds differ in the records of one user",
        ),
        (
            "add or remove a user of at most 2",
            [Arrive([1.0, 0.0], [0.0, 1.0])],
            "the worlds differ in the records of one user",
        ),
        (
            "add or remove a user of at most 2",
            [Arrive([1.5]), Arrive([1.0], [0.0])],
            "a user who is added or removed has no record in the other world",
        ),
        (
            "add or remove a user of at most 2",
            [Arrive([1.0], [0.0]), Arrive([1.5])],
            "a user who is added or removed has no record in the other world",
        ),
    ],
)
def test_streams_that_are_no_neighbours_are_refused(neighbours: str, moves: list[Arrive], rule: str) -> None:
    with pytest.raises(ProtocolViolation, match=rule):
        replay(Summer(neighbours=neighbours), *moves)


@pytest.mark.parametrize(
    ("neighbours", "first", "second", "rule"),
    [
        ("replace one", [1, BLANK_RECORD], [1, 2], "there are rounds without a record only where"),
        ("zero out one", [1, 3], [1, 2], "one of them has no record"),
        ("replace one", [1], [1, 2], "as many records arrive"),
        (
            "add or remove a user of at most 2",
            [11, 11, 12],
            [BLANK_RECORD] * 3,
            "a user has at most 2 records",
        ),
        ("add or remove a user of at most 2", [11, 12], [BLANK_RECORD, 12], "no record in the other world"),
        ("add or remove a user of at most 2", [11, 21], [BLANK_RECORD] * 2, "the records of one user"),
    ],
)
def test_records_that_are_no_neighbours_are_refused(
    neighbours: str, first: list[Any], second: list[Any], rule: str
) -> None:
    with pytest.raises(ProtocolViolation, match=rule):
        replay(Lister(neighbours=neighbours), Arrive(Records(first), Records(second)))


@pytest.mark.parametrize(
    ("neighbours", "first", "second"),
    [
        ("replace a group of 2", [1, 2, 3], [1, 8, 9]),
        ("zero out one", [1, 3], [1, BLANK_RECORD]),
        ("add or remove one", [1, BLANK_RECORD], [1, 2]),
        ("add or remove a user of at most 2", [11, 25, 12], [BLANK_RECORD, 25, BLANK_RECORD]),
    ],
)
def test_neighbouring_streams_are_played(neighbours: str, first: list[Any], second: list[Any]) -> None:
    assert replay(Lister(neighbours=neighbours), Arrive(Records(first), Records(second))).flag.all()


def test_games_are_checked_one_by_one() -> None:
    points, others = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[2.0, 1.0], [2.0, 2.0]])
    with pytest.raises(ProtocolViolation, match="game 1: the worlds differ in at most 1 round; got 2"):
        replay(Summer(), Arrive(points, others), games=2)


def test_a_stream_has_at_most_t_rounds() -> None:
    with pytest.raises(ProtocolViolation, match="Stream with T = 2 has at most 2 rounds"):
        replay(Summer(), Arrive([1.0] * 3), referee=Stream(T=2))
    with pytest.raises(InvalidArgument, match="T must be at least 1"):
        Stream(T=0)


def test_other_moves_and_other_kinds_of_records_are_refused() -> None:
    with pytest.raises(ProtocolViolation, match="training sets are given as Records"):
        replay(Lister(), Arrive([1.0]))
    with pytest.raises(ProtocolViolation, match="points in a row are given once"):
        replay(Summer(), Arrive(1.0))


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [Summer(), Lister()])
def test_learners_in_game_style_and_of_records_conform(learner: Learner) -> None:
    check_learner(learner)


def test_a_learner_that_publishes_too_little_is_refused() -> None:
    class Short(Listing):
        def update_many(self, records: Any) -> list[np.ndarray]:
            return super().update_many(records)[:1]

    @attrs.frozen
    class Odd(Lister):
        def start(self, games: int, rng: np.random.Generator) -> Any:
            return Short()

    with pytest.raises(ProtocolViolation, match="update_many returns one release a round; expected 2; got 1"):
        replay(Odd(), Arrive(Records([1, 2])))
