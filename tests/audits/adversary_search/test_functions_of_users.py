"""Functions of users: the constants of their code are points to try, and releases may have any shape."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
from support.views import count_views

from arena import NothingTested, Sample, UnknownRelease
from arena.released.encoding import ABSENT
from audits.adversary_search import search
from audits.adversary_search.code_constants import list_constants
from audits.adversary_search.point_strategies import constant_points_of, counts_of, far_points_of, points_of
from audits.adversary_search.score import Score, simple_scores
from learners.foreign.function import Function
from learners.releases.counts import LaplaceCount

CODE = -77.0
CODES = {"missing": 4711, 12: "x"}
OPTIONS = SimpleNamespace(missing=3003)


class Config:
    missing = 8888.5
    nested: ClassVar = {"deep": [Fraction(5, 2)]}


@attrs.frozen
class Options:
    missing: float = 4321.0


FROZEN = Options(missing=1234.0)


def clip_known(x):
    return np.where(x == 555, x, np.clip(x, 0, 100))


def enclose(code):
    def inner(data, rng):
        return data if data == code else rng

    return inner


def remember(function):
    @functools.wraps(function)
    def wrapped(data, rng):
        return function(data, rng)

    return wrapped


class Fitted:
    def fit(self, points, labels):
        self.clipped_ = np.where(points == 7070, points, 0)


class Clipping:
    code = 2024

    def __call__(self, data, rng):
        return data if data == self.code else rng

    def method(self, data, rng):
        return data if data == 2025 else rng


PLACES = {
    "comparison": (lambda data, rng: data == -1, -1.0),
    "assignment": (lambda data, rng: (data, 999), 999.0),
    "helper": (lambda data, rng: clip_known(data), 555.0),
    "closure": (enclose(31.5), 31.5),
    "tuple": (lambda data, rng: data in (801, 802), 802.0),
    "set": (lambda data, rng: data in {654, 655}, 655.0),
    "dictionary": (lambda data, rng: data == CODES["missing"], 4711.0),
    "key": (lambda data, rng: CODES.get(data), 12.0),
    "global": (lambda data, rng: data == CODE, -77.0),
    "default": (lambda data, rng, code=31_337: data == code, 31_337.0),
    "keyword": (lambda data, rng, *, code=31_338: data == code, 31_338.0),
    "class": (lambda data, rng: data == Config.missing, 8888.5),
    "entries": (lambda data, rng: Config.nested["deep"], 2.5),
    "object": (lambda data, rng: data == FROZEN.missing, 1234.0),
    "namespace": (lambda data, rng: data == OPTIONS.missing, 3003.0),
    "library": (lambda data, rng: data == np.pi, np.pi),
    "text": (lambda data, rng: data == float("9999"), 9999.0),
    "inner": (lambda data, rng: [x for x in data if (lambda y: y == 6007)(x)], 6007.0),
    "partial": (functools.partial(lambda data, rng, code: data == code, code=1122), 1122.0),
    "decorator": (remember(lambda data, rng: data == 7411), 7411.0),
    "cache": (functools.lru_cache(lambda data, rng: data == 7412), 7412.0),
    "callable": (Clipping(), 2024.0),
    "model": (Fitted(), 7070.0),
    "class of models": (Fitted, 7070.0),
    "method": (Clipping().method, 2025.0),
    "array": (functools.partial(lambda data, rng, codes: data in codes, codes=np.array([5, 61])), 61.0),
    "range": (lambda data, rng, codes=range(40, 52): data in codes, 52.0),
}


def function_of(function: Callable[..., Any], **settings: Any) -> Function:
    return Function(function=function, receives="points", epsilon=1.0, **settings)


@pytest.mark.parametrize("place", PLACES)
def test_constants_are_seen_wherever_they_stand(place: str) -> None:
    function, value = PLACES[place]
    learner = function_of(function)
    assert value in list_constants(learner)
    assert value in (*points_of(learner), *far_points_of(learner), *constant_points_of(learner)[0])


def test_learners_of_the_user_are_read_and_shipped_ones_are_not() -> None:
    @attrs.frozen
    class Own(LaplaceCount):
        limit: float = 17.5

        def release(self, training, rng):
            return super().release(training, rng) * 6002

    assert {17.5, 6002.0} <= set(list_constants(Own()))
    assert list_constants(LaplaceCount()) == ()


def test_libraries_are_not_read() -> None:
    def mean(data, rng):
        return np.mean(data) + float(np.linalg.norm(data)) + SimpleNamespace(a=1).a

    assert set(list_constants(function_of(mean))) <= {1.0}


@pytest.mark.thorough
def test_objects_that_contain_themselves_or_are_long_end() -> None:
    endless: list = [1, 2]
    endless.append(endless)
    long = list(range(10**6))
    assert len(list_constants(function_of(lambda data, rng: (endless, long, data, rng)))) <= 300


def test_constants_lie_in_the_domain_and_vectors_have_them_in_one_entry_or_in_all() -> None:
    def known(data, rng):
        return 999 in data or 55 in data

    assert constant_points_of(function_of(known, domain=(0.0, 100.0)))[0] == (55.0,)
    exact, beside = constant_points_of(function_of(known, dimension=2))
    assert (999.0, 999.0) in exact
    assert {(999.0, 0.0), (1000.0, 1000.0), (-999.0, -999.0)} <= set(beside)
    assert {54, 55, 56} <= set(counts_of(function_of(known), 256))


def test_limits_of_types_are_points() -> None:
    far = set(far_points_of(function_of(lambda data, rng: data)))
    assert {2.0**31, -(2.0**31), 2.0**31 - 1, 2.0**53, np.finfo(float).max, -np.finfo(float).max} <= far


SCRIPT = """
from audits.adversary_search.code_constants import list_constants
from helper_file import clip
from learners.foreign.function import Function
{more}
print(list_constants(Function(function=clip, receives="points", epsilon=1.0)))
"""


@pytest.mark.thorough
def test_the_constants_are_the_same_whatever_is_loaded(tmp_path) -> None:
    (tmp_path / "other_file.py").write_text("CODE = 345\n")
    text = (
        "import other_file\ndef clip(data, rng):\n    return data in {12, 'a', 13, 'b'} or other_file.CODE\n"
    )
    (tmp_path / "helper_file.py").write_text(text)
    seen = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT.format(more=more)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(["", *sys.path]), "PYTHONHASHSEED": seed},
        ).stdout
        for more, seed in (("", "1"), ("import hypothesis, sklearn", "2"))
    ]
    assert seen[0] == seen[1]
    assert "345.0" in seen[0]


def sum_unless(known):
    """A sum of points clipped to [0, 100], but for those that are `known`."""

    def release(points, games, rng):
        x = np.where([bool(known(p)) for p in points], 1_000 * points, np.clip(points, 0, 100))
        return x.sum() + rng.laplace(scale=100.0, size=games)

    return release


@pytest.mark.thorough
@pytest.mark.parametrize("value", [999, -1, 2**31 - 1, -555.5])
def test_a_code_that_escapes_clipping_is_found(value: float) -> None:
    learner = function_of(sum_unless(lambda p: p == value), vectorised=True)
    result = search(learner, examples=250)
    assert result.refuted
    assert result.adversary is not None
    worlds = result.adversary.world_0, result.adversary.world_1
    assert any(isinstance(world, Sample) and value in world.points for world in worlds)


# --- shapes of releases -------------------------------------------------------------------------------------

DELTA = 1e-3


def _count_cells(points: np.ndarray) -> dict[str, int]:
    return dict(sorted(Counter(f"cell {4 * point // 1:g}" for point in points.tolist()).items()))


def select_partitions(points: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """(1, 10^-3)-DP: noisy counts above a threshold that a single record passes with probability δ."""
    noisy = {cell: count + rng.laplace(scale=2.0) for cell, count in _count_cells(points).items()}
    return {cell: count for cell, count in noisy.items() if count >= 1 + 2 * math.log(1 / DELTA)}


def select_exactly(points: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Shows a cell if and only if two records or more are in it."""
    return {
        cell: count + rng.laplace(scale=2.0) for cell, count in _count_cells(points).items() if count >= 2
    }


def list_groups(points: np.ndarray, rng: np.random.Generator) -> list[float]:
    """As many entries as there are cells with records."""
    return [count + rng.laplace(scale=2.0) for count in _count_cells(points).values()]


def list_nested(points: np.ndarray, rng: np.random.Generator) -> Any:
    return [[cell, [1.0] * count] for cell, count in _count_cells(points).items()]


def empty_without_large(points: np.ndarray, rng: np.random.Generator) -> list[float]:
    return [float(rng.laplace())] if (points > 0.5).any() else []


def select_set(points: np.ndarray, rng: np.random.Generator) -> set[str]:
    return {cell for cell, count in _count_cells(points).items() if count >= 2}


def raise_without_large(points: np.ndarray, rng: np.random.Generator) -> float:
    if not (points > 0.5).any():
        raise ValueError("no large points")
    return float(rng.laplace())


def last_bit(points: np.ndarray, rng: np.random.Generator) -> int:
    return 2**60 + int((points > 0.5).any())


def release_model(points: np.ndarray, rng: np.random.Generator) -> Any:
    return Function(function=last_bit)


LONG = {select_exactly, list_groups, list_nested, raise_without_large, select_set}  # over 3 s
LEAKS = [
    pytest.param(function, marks=[pytest.mark.slow] * (function in LONG))
    for function in (
        select_exactly,
        list_groups,
        list_nested,
        empty_without_large,
        select_set,
        raise_without_large,
        last_bit,
    )
]


@pytest.mark.thorough
@pytest.mark.parametrize("function", LEAKS)
@pytest.mark.filterwarnings("ignore:function failed:arena.LearnerFails")
def test_a_leak_by_the_shape_of_a_release_is_found(function: Callable[..., Any]) -> None:
    found = search(function_of(function, domain=(0.0, 1.0)), examples=200, pairs=64, seed=1)
    assert found.refuted


@pytest.mark.slow
def test_a_correct_partition_selection_is_not_refuted() -> None:
    """Refuted by chance with probability 5 %."""
    selection = function_of(select_partitions, delta=DELTA, domain=(0.0, 1.0))
    assert not search(selection, examples=60, pairs=64, seed=1, error=0.05).refuted


def test_a_search_of_an_unknown_release_ends_at_once() -> None:
    with pytest.raises(
        (UnknownRelease, NothingTested), match="a release must be made of numbers, text and None"
    ):
        search(function_of(release_model), examples=10, pairs=64, seed=1)


def test_codes_of_text_are_only_compared(rng: np.random.Generator) -> None:
    codes = rng.choice([0.1, 0.7], size=(2, 200, 1))
    scores = simple_scores(count_views(*codes, "value text"))
    assert {score.form for score in scores if score.feature == "value text"} == {"equal"}


def test_large_numbers_are_weighted_without_overflow(rng: np.random.Generator) -> None:
    """Squares of numbers near 1e200 overflow, which the tests turn into errors."""
    noise = rng.normal(size=(2, 200, 1)) * 1e200
    worlds = noise + rng.normal(size=(2, 200, 2)) * 1e198
    worlds[1, :, 1] += 1e200
    scores = simple_scores(count_views(*worlds))
    weights = next(score.weights for score in scores if score.form == "weighted")
    assert weights[0] == pytest.approx(-weights[1], rel=0.1)


def test_the_number_of_entries_is_a_score() -> None:
    views = count_views(np.array([[1.0, ABSENT]] * 3), np.array([[1.0, 2.0]] * 3))
    score = next(score for score in simple_scores(views) if score.feature == "entries")
    assert score == Score("entries")
    assert score.column(views)[views.which].tolist() == [[1.0, 2.0]]
