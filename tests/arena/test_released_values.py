"""Released values that are not numbers."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pytest

from adversaries.release.point_swap import CountSwap
from arena import Claim, GameLearner, PrivacyUnit, Release, Unsupported, play
from arena.referees.transcript import format_value
from arena.released import encode_values, hash_values, is_category
from audits.runs.plan import LEARNED, Plan
from audits.runs.run import run
from learners.foreign.function import Function


def test_numbers_stay_as_they_are() -> None:
    for values in (
        [1, 2],
        [0.5, math.inf],
        [[1, 2], [3, 4]],
        np.array([True, False]),
        [],
        np.zeros((0, 2, 3)),
    ):
        assert np.array_equal(encode_values(values), np.asarray(values))
        assert encode_values(values).dtype == np.asarray(values).dtype


@pytest.mark.parametrize(
    "values",
    [
        ["yes", "no", "yes"],
        np.array(["yes", "no", "yes"]),
        [None, 0.0, None],
        [b"a", "a", b"a"],
        [1, "1", 1],
        [True, "True", True],
        [None, "None", None],
        [("a", 1), ("a", 2), ("a", 1)],
        [["a"], ["a", "b"], ["a"]],
        [["a", "b"], [], ["a", "b"]],
        [["a", {"b", "c"}], ["a"], ["a", {"c", "b"}]],
        [{"a", "b", "c"}, {"a"}, {"c", "b", "a"}],
        [{"a": 1, "b": None}, {"a": 2, "b": None}, {"b": None, "a": 1}],
        [("x", [1], [2, 3]), ("x", [1, 2], [3]), ("x", [1], [2, 3])],
        [10**400, 10**401, 10**400],
        ["", "\ud800", ""],
    ],
)
def test_each_distinct_value_is_an_event(values: Any) -> None:
    encoded = encode_values(values)
    first, second, third = hash_values(encoded)
    assert first == third
    assert first != second
    assert np.isfinite(encoded).all()


def test_a_code_does_not_depend_on_the_other_games() -> None:
    assert encode_values(["no", None])[0] == encode_values([2.5, "no"])[1] == encode_values([("no", 1)])[0, 0]
    assert encode_values([None, 2.5])[1] == 2.5
    assert hash_values(encode_values([["a"]]))[0] == hash_values(encode_values([["a", "b"], ["a"]]))[1]
    assert is_category(encode_values([2.5, "no", None])).tolist() == [False, True, True]


def test_values_are_shown_as_they_were_released() -> None:
    assert format_value(encode_values([("yes", 1.5, None)])[0]) == "['yes' 1.5 None]"
    assert format_value(encode_values(["yes"])[0]) == "'yes'"
    assert format_value(np.array([1.0, 2.0])) == "[1 2]"


@pytest.mark.parametrize("value", [object(), iter("ab"), len, int, np.ma.array([1.0, 2.0], mask=[1, 0])])
def test_objects_of_unknown_types_are_refused(value: Any) -> None:
    with pytest.raises(Unsupported, match="a release must be made of numbers, text and None"):
        encode_values([value, value])


# --- through functions and game-style learners --------------------------------------------------------------


def as_text(data: Any, rng: np.random.Generator) -> Any:
    return "many" if np.sum(data) + rng.laplace(scale=0.1) > 0.5 else "few"


def as_none(data: Any, rng: np.random.Generator) -> Any:
    return None if np.sum(data) + rng.laplace(scale=0.1) > 0.5 else 0.5


def as_mixture(data: Any, rng: np.random.Generator) -> Any:
    return ("a" if rng.random() < 0.5 else None, as_text(data, rng), float(rng.random() < 0.5))


def as_list(data: Any, rng: np.random.Generator) -> Any:
    return ["a"] * (1 + (np.sum(data) + rng.laplace(scale=0.1) > 0.5))


@attrs.frozen
class InGameStyle(GameLearner):
    name = "in-game-style"
    protocols = ("Release",)
    claim = Claim(epsilon=1.0, delta=0.0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    mechanism: Any

    def start_one(self, rng: np.random.Generator) -> Any:
        return SimpleNamespace(release=lambda sample: self.mechanism(sample.rows()[1], rng))


@pytest.mark.thorough
@pytest.mark.parametrize("mechanism", [as_text, as_none, as_mixture, as_list])
@pytest.mark.parametrize("in_game_style", [False, True])
def test_text_and_mixtures_are_audited(mechanism: Any, in_game_style: bool) -> None:
    learner = InGameStyle(mechanism) if in_game_style else Function(function=mechanism)
    plan = Plan(
        learner=learner,
        adversary=CountSwap(),
        referee=Release(),
        epsilon=1.0,
        games=1_500,
        distinguisher=LEARNED,
        delta=0.0,
    )
    assert run(plan).refuted


@pytest.mark.parametrize("mechanism", [as_text, as_mixture, as_list])
def test_a_transcript_shows_text(mechanism: Any) -> None:
    played = play(InGameStyle(mechanism), CountSwap(), Release(), games=2, seed=1, record=True)
    assert played.transcript is not None
    assert "'" in played.transcript.table(0, 1)
