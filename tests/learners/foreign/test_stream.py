"""stream: classes of users as learners: random numbers, what they raise, and the streams of their schema."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from support.simple_players import script

import audits
from arena import Arrive, FixedStream, Learner, NotConforming, Stream, play
from arena.claims import Neighbours
from arena.errors import BudgetExceeded, InvalidArgument
from arena.records import BLANK_RECORD, Records
from arena.testing import check_learner
from arena.testing.batches import check_batches_independent
from audits.api.user_data import read_data
from audits.registry.players import configure_learner, is_function, lacks_records


class Totals:
    def __init__(self, rng: np.random.Generator, scale: float = 1.0) -> None:
        self.rng, self.scale, self.total = rng, scale, 0.0

    def update(self, record: Any) -> Any:
        self.total += record
        return self.total + self.rng.laplace(scale=self.scale)


class Quiet(Totals):
    def update(self, record: Any) -> Any:
        return None if record == 0 else super().update(record)


class Global:
    def __init__(self) -> None:
        self.start = random.random()

    def update(self, record: int) -> list[float]:
        return [self.start, random.random(), float(np.random.rand()), record]  # noqa: NPY002


class Own:
    def __init__(self) -> None:
        self.rng = np.random.default_rng()

    def update(self, record: int) -> float:
        return record + float(self.rng.laplace())


class Raises(Totals):
    def update(self, record: int) -> Any:
        if record == 1:
            raise ValueError(f"noise {self.rng.random()} at user {record}")
        return record


class Lists(Totals):
    """Lists of texts, some of which are longer than all others of their batch."""

    def update(self, record: int) -> list[str]:
        return ["yes"] * min(8, int(self.rng.geometric(0.5)))


class Remembers(Totals):
    shared: ClassVar[list[float]] = []

    def update(self, record: int) -> float:
        self.shared.append(super().update(record))
        return self.shared[0]


def configure(learner: Any, data: Any, **settings: Any) -> Learner:
    given = {"learner": settings, "adversary": {}}
    _, asked = read_data(learner, data, None, given)
    return configure_learner(learner, asked["learner"])


def publish(learner: Learner, first: list[Any], second: Any = None, seed: int = 1, games: int = 4) -> Any:
    moves = Arrive(Records(first), None if second is None else Records(second))
    return play(learner, script(moves), Stream(), games=games, seed=seed, record=True)


BITS = st.integers(0, 1)


def test_each_game_has_an_object_and_random_numbers_of_its_own() -> None:
    learner = configure(audits.stream(Totals), BITS)
    played = publish(learner, [1, 1])
    assert learner.own_name == "Totals"
    first, second = played.replies[0].releases
    assert len(np.unique(first)) == 4
    assert np.array_equal(first, publish(learner, [1, 1]).replies[0].releases[0])
    assert len(np.unique(second - first)) == 4  # of a record and fresh noise


def test_the_noise_of_a_game_is_the_same_in_both_worlds() -> None:
    learner = configure(audits.stream(Totals), BITS)
    assert learner.common_random_numbers
    zero, one = (
        play(learner, script(Arrive(Records([0]))), Stream(), games=3, seed=2, record=True),
        play(learner, script(Arrive(Records([1]))), Stream(), games=3, seed=2, record=True),
    )
    gap = one.replies[0].releases[0] - zero.replies[0].releases[0]
    assert np.allclose(gap, 1.0)


def test_parameters_make_the_object() -> None:
    learner = configure(audits.stream(Totals, scale=1e-9), BITS)
    assert np.allclose(publish(learner, [1, 1]).replies[0].releases[1], 2.0)
    assert isinstance(audits.stream(partial(Totals, scale=2.0)), Learner)


def test_none_text_and_exceptions_are_published() -> None:
    quiet = publish(configure(audits.stream(Quiet), BITS), [0, 1, 0])
    assert "None" in quiet.transcript.table(0)
    raising = publish(configure(audits.stream(Raises), BITS), [0, 1, 0])
    assert "raised ValueError: noise # at user #" in raising.transcript.table(0)
    assert raising.replies[0].releases[2].tolist() == [0.0] * 4  # and the next record arrives


def test_global_random_numbers_are_seeded_for_each_game_and_kept_between_rounds() -> None:
    random.seed(0)
    before = random.getstate()
    learner = configure(audits.stream(Global), BITS, coins="global")
    once = [publish(learner, [0, 1]).replies[0].releases[t] for t in (0, 1)]
    moves = Arrive(Records([0])), Arrive(Records([1]))
    apart = play(learner, script(*moves), Stream(), games=4, seed=1, record=True)
    assert np.array_equal(once[1], apart.replies[1].releases[0])
    assert len(np.unique(once[0][:, 0])) == 4
    assert np.array_equal(once[0][:, 0], once[1][:, 0])
    assert random.getstate() == before


def test_random_numbers_of_its_own_are_declared() -> None:
    learner = configure(audits.stream(Own), BITS)
    assert learner.own_coins
    assert not learner.common_random_numbers


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [Totals, Quiet, Raises, Own])
def test_classes_of_users_conform(kind: Any) -> None:
    check_learner(configure(audits.stream(kind), BITS))


@pytest.mark.thorough
def test_a_class_that_remembers_games_is_refused() -> None:
    with pytest.raises(NotConforming, match="remembers between games"):
        check_learner(configure(audits.stream(Remembers), BITS))


def test_a_stream_has_at_most_the_rounds_of_its_schema() -> None:
    learner = configure(audits.stream(Totals), audits.records(BITS, max_size=2))
    with pytest.raises(BudgetExceeded, match="streams of at most 2 records, and 3 arrive"):
        publish(learner, [0, 0, 0])


def test_a_round_without_a_record_receives_the_blank_one() -> None:
    data = audits.records(BITS, blank=7)
    learner = configure(audits.stream(Totals, scale=1e-9), data, neighbours=str(Neighbours.ZERO_OUT_ONE))
    played = publish(learner, [1, 1], [1, BLANK_RECORD])
    assert np.allclose(played.replies[0].releases[1], np.where(played.worlds, 8.0, 2.0))
    learner = configure(audits.stream(Totals), BITS, neighbours=str(Neighbours.ZERO_OUT_ONE))
    with pytest.raises(InvalidArgument, match="need the record that is received in its place"):
        publish(learner, [1], [BLANK_RECORD])


def test_claims_for_fixed_streams_are_not_played_adaptively() -> None:
    learner = configure(audits.stream(Totals, fixed=True), BITS)
    assert learner.protocols == ("FixedStream",)
    assert play(learner, script(Arrive(Records([1]))), FixedStream(), games=2, seed=1).rounds == 1


def test_a_strategy_of_lists_is_that_of_whole_streams() -> None:
    learner = configure(audits.stream(Totals), st.lists(BITS, min_size=2, max_size=3))
    assert learner.schema.min_size == 2  # type: ignore[attr-defined]
    pairs = configure(audits.stream(Totals), st.tuples(BITS, BITS))
    assert pairs.schema.examples[0] == (0, 0)  # type: ignore[attr-defined]


@pytest.mark.thorough
def test_assertions_take_a_class_and_the_strategy_of_a_record() -> None:
    audits.assert_private(audits.stream(Kept), data=BITS, epsilon=1.0, budget="quick")
    audits.assert_refuted(audits.stream(Totals), data=BITS, epsilon=1.0, budget="quick")


def test_a_stream_in_a_file_takes_records_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import audits\n"
        "class Last:\n"
        "    def __init__(self, rng): self.rng = rng\n"
        "    def update(self, record): return record\n"
        "last = audits.stream(Last)\n"
    )
    assert is_function(f"{path}:last")
    assert lacks_records(f"{path}:last")
    given = {"learner": {"epsilon": "0.5"}, "adversary": {}}
    asked = read_data(f"{path}:last", BITS, None, given)[1]  # type: ignore[arg-type]
    learner = configure_learner(f"{path}:last", asked["learner"])
    assert learner.claim.epsilon == 0.5
    assert publish(learner, [1]).replies[0].releases[0].tolist() == [1.0] * 4


class Kept(Totals):
    def update(self, record: Any) -> float:
        self.total += record + self.rng.laplace()
        return self.total


class NoUpdate:
    def __init__(self, rng: np.random.Generator) -> None:
        pass


class TwoArguments:
    def __init__(self, rng: np.random.Generator, size: int) -> None:
        pass

    def update(self, record: int) -> int:
        return record


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: audits.stream(NoUpdate), "NoUpdate must have the method update"),
        (lambda: audits.stream(TwoArguments), "TwoArguments must take rng"),
        (lambda: audits.stream(3), "make must be a function"),
        (lambda: audits.search(audits.stream(Totals), epsilon=1.0), "Totals needs a strategy of its records"),
        (
            lambda: audits.search(
                audits.stream(Totals), data=BITS, epsilon=1.0, neighbours="add or remove a user of at most 2"
            ),
            "neighbours by user need to know whose a record is",
        ),
    ],
)
def test_bad_input_is_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make()


@pytest.mark.thorough
def test_batches_with_lists_of_other_lengths_are_compared_by_the_same_columns() -> None:
    learner = configure(audits.stream(Lists), st.integers(0, 1))
    moves = Arrive(Records([0] * 12), Records([1] + [0] * 11))
    check_batches_independent(learner, script(moves), Stream(), games=64)
