"""Views as rows of features, and a block's pairs of views, counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.simple_players import SAMPLE, Echo, Fragile, GameScripted, LastLabel, script

from arena import (
    Adaptive,
    Commit,
    Example,
    Figure1,
    InvalidArgument,
    Moves,
    Oblivious,
    Query,
    Release,
    Train,
    play,
)
from arena.released.encoding import ABSENT
from audits.distinguishers.view_features import (
    MAX_ROUNDS,
    ViewCounts,
    ViewFeatures,
    decode_block,
    distinct,
    view_features,
)
from audits.statistics.score_pairs import PairCounts


def features_of_play(*players: Any, **options: Any) -> ViewFeatures:
    return view_features(play(*players, seed=1, record=True, **options))


def test_answers_are_told_one_by_one_and_in_sum() -> None:
    moves = [Train(SAMPLE), Query(0.7), Query(0.0, 9.0), Query(0.2)]
    told = features_of_play(Echo(), script(*moves), Figure1(), games=2, worlds=[0, 1])
    assert told.names == ("answer 1", "answer 2", "answer 3", "answers 1", "answers", "halted")
    assert told.rows.tolist() == [[1, -1, 0, 1, 2, 0], [1, -1, -1, 1, 1, 1]]


def test_of_a_long_game_stretches_are_summed() -> None:
    moves = [Train(SAMPLE), *(Query(float(t % 2)) for t in range(200))]
    told = features_of_play(Echo(), script(*moves), Figure1(), games=1)
    assert len(told.names) == MAX_ROUNDS + 3
    assert told.names[:2] == ("answers 1 in 1 to 3", "answers 1 in 4 to 6")
    assert told.rows[0, :MAX_ROUNDS].sum() == 100
    assert told.rows[0, MAX_ROUNDS:].tolist() == [100, 200, 0]


def test_released_values_and_hypotheses_are_numbers() -> None:
    told = features_of_play(Echo(), script(Train(SAMPLE)), Release(), games=2)
    assert (told.names, told.rows.tolist()) == (("value",), [[2], [2]])
    shown = features_of_play(LastLabel(), script(Example(0.0, 1), Example(0.0, 0)), Adaptive(2), games=1)
    assert shown.names == ("hypothesis 1", "hypothesis 2")
    assert shown.rows.tolist() == [[1e300, -1e300]]
    stream = features_of_play(LastLabel(), script(Commit([0.0, 0.0], [1, 1])), Oblivious(2), games=1)
    assert stream.rows.tolist() == [[1e300, -1e300]]


def test_games_played_one_by_one_may_see_different_things() -> None:
    def moves(rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        for _ in range(rng.integers(1, 4)):
            yield Query(1.0)

    told = features_of_play(Echo(), GameScripted(moves), Figure1(), games=30)
    rounds = told.rows[:, told.names.index("answers")]
    assert set(rounds) == {1, 2, 3}
    assert (told.rows[rounds == 1, told.names.index("answer 3")] == -2).all()


def test_a_failure_is_part_of_the_view() -> None:
    adversary = script(Train(SAMPLE), Query(0.0, 7.0), Query(0.0), score=np.zeros(1))
    played = play(Fragile(), adversary, Figure1(), games=4, seed=1, faults=True, record=True)
    told = view_features(played)
    failed = told.rows[:, told.names.index("failed")]
    assert failed.tolist() == played.worlds.tolist()


def test_views_must_be_recorded() -> None:
    with pytest.raises(InvalidArgument, match="were not recorded"):
        view_features(play(Echo(), script(Train(SAMPLE)), Figure1(), games=2, seed=1))


def test_what_is_not_finite_becomes_a_number_of_its_own() -> None:
    class Odd(Echo):
        def start(self, games: int, rng: np.random.Generator) -> object:
            state = super().start(games, rng)
            state.release = lambda training: np.array([np.nan, np.inf, -np.inf, -0.0])
            return state

    told = features_of_play(Odd(), script(Train(SAMPLE)), Release(), games=4)
    assert np.isfinite(told.rows).all()
    assert told.names == ("value", "value sign")
    assert len(np.unique(told.rows[:, 0])) == 4
    assert told.rows[:, 1].tolist() == [ABSENT, ABSENT, ABSENT, -1.0]
    assert not np.signbit(told.rows[3, 0])


small = hnp.arrays(
    np.float64, st.tuples(st.integers(0, 8), st.integers(0, 3)), elements=st.sampled_from([-1.0, 0, 2])
)


@given(rows=small)
def test_distinct_rows_are_those_of_numpy(rows: np.ndarray) -> None:
    found, place = distinct(rows)
    assert np.array_equal(found[place], rows)
    if rows.shape[1]:
        assert np.array_equal(found, np.unique(rows, axis=0))


def features_of(rows: list[list[float]], names: tuple[str, ...] = ("a", "b")) -> ViewFeatures:
    return ViewFeatures(np.array(rows, float).reshape(-1, len(names)), names)


def test_pairs_of_views_are_counted() -> None:
    block = ViewCounts.of(features_of([[0, 0], [1, 0], [0, 0]]), features_of([[1, 0], [1, 1], [1, 0]]))
    assert block.pairs == 3
    assert block.rows.tolist() == [[0, 0], [1, 0], [1, 1]]
    assert block.which.tolist() == [[0, 1], [1, 2]]
    assert block.counts.tolist() == [2, 1]
    assert block.by_world().tolist() == [[2, 0], [1, 2], [0, 1]]
    scored = block.count_scores(np.array([0.0, 5.0, 5.0]))
    assert scored.scores.tolist() == [[0, 5], [5, 5]]
    assert scored.counts.tolist() == [2, 1]


def test_worlds_may_have_seen_different_things() -> None:
    block = ViewCounts.of(features_of([[0, 0]]), features_of([[3]], ("b",)))
    assert block.names == ("a", "b")
    assert block.rows.tolist() == [[-2, 3], [0, 0]]
    assert block.columns(("b", "c")).tolist() == [[3, -2], [0, -2]]


@given(
    rows=hnp.arrays(np.float64, (6, 2), elements=st.floats(allow_nan=False, allow_infinity=False)),
    games=st.integers(0, 3),
)
def test_bytes_and_back(rows: np.ndarray, games: int) -> None:
    block = ViewCounts.of(features_of(rows[:games]), features_of(rows[3 : 3 + games]))
    again = decode_block(block.to_bytes())
    assert isinstance(again, ViewCounts)
    for name in ("names", "rows", "which", "counts"):
        assert np.array_equal(getattr(again, name), getattr(block, name))
    assert again.to_bytes() == block.to_bytes()


def test_either_kind_of_block_is_told_by_its_bytes() -> None:
    scores = PairCounts.of(np.zeros(3), np.ones(3))
    assert isinstance(decode_block(scores.to_bytes()), PairCounts)
    views = ViewCounts.of(features_of([[0, 0]]), features_of([[1, 1]]))
    for blob in (b"view", b"viewxxxx", b"", views.to_bytes()[:-1]):
        with pytest.raises(InvalidArgument):
            decode_block(blob)
