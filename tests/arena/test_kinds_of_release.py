"""Releases of many kinds of object: a leak in each is found, or the object is refused with a way out."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import pickle
import random
import types
import uuid
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from threading import Lock
from types import SimpleNamespace
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

import audits
from adversaries.release.point_swap import CountSwap
from arena import (
    Claim,
    GameLearner,
    LearnerFails,
    NotConforming,
    PrivacyUnit,
    Release,
    UnknownRelease,
    Unsupported,
    play,
)
from arena.released.encoding import (
    describe_feature,
    encode_values,
    has_unique_text,
    hash_values,
    value_columns,
)
from audits.distinguishers.view_features import view_features
from audits.runs.plan import LEARNED, Plan
from audits.runs.run import run
from learners.foreign.function import Function


class Pair(NamedTuple):
    total: float
    note: str


class Size(enum.Enum):
    SMALL = 0
    LARGE = 1


@dataclasses.dataclass(repr=False)
class Summary:
    total: float


@attrs.define(repr=False)
class Counted:
    total: float


class Quiet:
    """An object whose text leaves out what it holds."""

    def __init__(self, total: float) -> None:
        self.total_ = total

    def __repr__(self) -> str:
        return "Quiet()"


class Text(str):
    """A text with an attribute that its text leaves out."""

    total: float


def make_text(x: float) -> Text:
    text = Text("text")
    text.total = x
    return text


def make_exception(x: float) -> Exception:
    error = ValueError("a note")
    error.add_note(str(round(x)))
    return error


def make_sparse(x: float) -> Any:
    from scipy.sparse import csr_array

    return csr_array(np.array([[0.0, x], [1.0, 0.0]]))


def make_model(x: float) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit([[0.0], [1.0]], [0.0, x])


def make_model_of(coefficients: Any) -> Any:
    model = make_model(1.0)
    model.coef_ = coefficients
    return model


def make_unfitted_model(x: float) -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def make_pipeline(x: float) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler()).fit([[0.0], [x]])


def make_forest(x: float) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(1, random_state=0, bootstrap=False).fit([[0.0], [1.0]], [0.0, x])


class Fits:
    """A model of a user's own: what `fit` adds is given, by name."""

    def __init__(self, tolerance: float = 0.1) -> None:
        self.tolerance = tolerance

    def fit(self, **state: Any) -> Fits:
        vars(self).update(state)
        return self


class Slotted:
    __slots__ = ("total",)

    def __init__(self, total: float) -> None:
        self.total = total


class Node:
    def __init__(self, total: float) -> None:
        self.child = SimpleNamespace(parent=self, total=total)


class Table(dict[str, float]):
    def __init__(self, total: float) -> None:
        super().__init__(total=total)
        self.name = "table"


def enclose(x: float) -> Callable[[], float]:
    return lambda: x


# What `fit` may leave in a model, of a number near 0 in world 0 and near 1 in world 1.
FITTED: dict[str, Callable[[float], Any]] = {
    "public attribute": lambda x: Fits().fit(coef_=x),
    "attribute without underscore": lambda x: Fits().fit(classes_=[0, 1], weights=[x]),
    "private attribute": lambda x: Fits().fit(classes_=[0, 1], _w=np.array([x, 1.0])),
    "private attribute alone": lambda x: Fits().fit(_w=x),
    "attribute with a name of the class": lambda x: Fits().fit(_Fits__w=x),
    "changed parameter": lambda x: Fits().fit(classes_=[0, 1], tolerance=x),
    "parameter that is kept or not": lambda x: Fits().fit(n_=1, tolerance=0.1 if x > 0.5 else 0.2),
    "object of no known type": lambda x: Fits().fit(_inner=Quiet(x)),
    "object with slots": lambda x: Fits().fit(_inner=Slotted(x)),
    "object that contains the model's part again": lambda x: Fits().fit(_tree=Node(x)),
    "dictionary with an attribute": lambda x: Fits().fit(_table=Table(x)),
    "function that encloses it": lambda x: Fits().fit(_predict=enclose(x)),
    "partial": lambda x: Fits().fit(_predict=functools.partial(max, x)),
    "bound method": lambda x: Fits().fit(_predict=Quiet(x).__repr__),
    "masked array": lambda x: Fits().fit(_table=np.ma.array([x, 1.0], mask=[x > 0.5, 0])),
    "model within a model": lambda x: Fits().fit(_inner=[Fits().fit(_w=x)]),
}
# What `fit` may leave in a model that is no release.
UNPUBLISHED: dict[str, Callable[[int], dict[str, Any]]] = {
    "generator that advanced": lambda n: {"_rng": advance(np.random.default_rng(0), n)},
    "legacy generator": lambda n: {"random_state_": advance(np.random.RandomState(0), n)},
    "generator of Python": lambda n: {"_coins": [random.Random(n)]},
    "seed": lambda n: {"random_state": n, "_random_seed": np.uint64(n)},
    "durations": lambda n: {"refit_time_": n / 7, "cv_results_": {"mean_fit_time": [n / 7]}},
    "address": lambda n: address_of(Quiet(0.0)),
}


def advance(rng: Any, draws: int) -> Any:
    rng.random(draws)
    return rng


def address_of(part: object) -> dict[str, Any]:
    return {"_part": part, "_part_id": id(part)}


def make_neighbours(algorithm: str) -> Callable[[float], Any]:
    def make(x: float) -> Any:
        from sklearn.neighbors import KNeighborsClassifier

        points = [[0.0, 1.0], [1.0, 1.0], [3.0, x]]
        return KNeighborsClassifier(1, algorithm=algorithm).fit(points, [0, 1, 1])

    return make


def make_annotated(x: float) -> collections.OrderedDict[str, Any]:
    """A dictionary with an attribute, as the state of a PyTorch module is."""
    state: Any = collections.OrderedDict(weight=1.0)
    state.version = x
    return state


async def make_coroutine(x: float) -> float:
    return x


def make_structured(x: float) -> np.ndarray:
    return np.array([(x, "a")], [("total", "f8"), ("note", "U1")])


def nest(x: float) -> list[Any]:
    inner: list[Any] = [x]
    inner.append(inner)
    return inner


# By the name of the kind: what makes it of a number near 0 in world 0 and near 1 in world 1.
AUDITED: dict[str, Callable[[float], Any]] = {
    "float": float,
    "int": lambda x: round(8 * x),
    "bool": lambda x: x > 0.5,
    "complex": lambda x: complex(1, x),
    "integer beyond 2^53": lambda x: 2**60 + (x > 0.5),
    "negative integer beyond 2^63": lambda x: -(2**70) + (x > 0.5),
    "numpy uint64 beyond 2^53": lambda x: np.uint64(2**63 + (x > 0.5)),
    "array of int64 beyond 2^53": lambda x: np.array([2**53, 2**53 + (x > 0.5)]),
    "integer without a float": lambda x: 10**400 + (x > 0.5),
    "Decimal": lambda x: decimal.Decimal(repr(x)),
    "Decimal of 25 digits": lambda x: (
        decimal.Decimal("1.000000000000000000000001") + (x > 0.5) * decimal.Decimal("1e-24")
    ),
    "Fraction": lambda x: fractions.Fraction(round(8 * x), 3),
    "numpy scalar": np.float32,
    "longdouble": lambda x: np.longdouble(1) + np.longdouble(2) ** -60 * (x > 0.5),
    "text": lambda x: "many" if x > 0.5 else "few",
    "bytes": lambda x: b"many" if x > 0.5 else b"few",
    "NaN": lambda x: float("nan") if x > 0.5 else 1.0,
    "infinity": lambda x: float("inf") if x > 0.5 else 1.0,
    "None": lambda x: None if x > 0.5 else 1.0,
    "nothing": lambda x: [] if x > 0.5 else [1.0],
    "a number or a list of it": lambda x: [1.0] if x > 0.5 else 1.0,
    "list": lambda x: [x, 1.0],
    "list of changing length": lambda x: [1.0] * (2 + (x > 0.5)),
    "ragged lists": lambda x: [[1.0, 2.0], [3.0]] if x > 0.5 else [[1.0], [2.0, 3.0]],
    "matrix of changing shape": lambda x: np.ones((2, 3) if x > 0.5 else (3, 2)),
    "tuple of text and number": lambda x: ("a", None, x),
    "dictionary": lambda x: {"total": x, "note": None},
    "dictionary of changing keys": lambda x: {"a": 1.0, **({"b": 1.0} if x > 0.5 else {})},
    "nested dictionaries": lambda x: {"a": {"b": [{"c": x}]}},
    "Counter": lambda x: collections.Counter("ab" if x > 0.5 else "aa"),
    "deque": lambda x: collections.deque([x]),
    "dictionary with an attribute": make_annotated,
    "mapping proxy": lambda x: types.MappingProxyType({1: x}),
    "set": lambda x: {"a", "b"} if x > 0.5 else {"a"},
    "set of numbers": lambda x: {x, 5.0},
    "range": lambda x: range(2 + (x > 0.5)),
    "named tuple": lambda x: Pair(x, "a"),
    "data class": Summary,
    "attrs class": Counted,
    "namespace": lambda x: types.SimpleNamespace(total=x),
    "enum": lambda x: Size(int(x > 0.5)),
    "datetime": lambda x: datetime.datetime(2020, 1, 1) + datetime.timedelta(seconds=x),
    "date": lambda x: datetime.date(2020, 1, 1 + (x > 0.5)),
    "duration": lambda x: datetime.timedelta(seconds=x),
    "exception": make_exception,
    "array": lambda x: np.array([x, 0.0]),
    "object array": lambda x: np.array([x], object),
    "structured array": make_structured,
    "datetime64": lambda x: np.datetime64("2020-01-01") + np.timedelta64(round(8 * x), "D"),
    "array of text": lambda x: np.array(["many" if x > 0.5 else "few"]),
    "sparse matrix": make_sparse,
    "fitted model": make_model,
    "fitted pipeline": make_pipeline,
    "fitted forest": make_forest,
    "nearest neighbours, all records": make_neighbours("brute"),
    "nearest neighbours, a tree": make_neighbours("kd_tree"),
    "nearest neighbours, balls": make_neighbours("ball_tree"),
    **{f"model, {name}": make for name, make in FITTED.items()},
    "model in a dictionary": lambda x: {"model": make_model(x), "note": "a"},
}
if find_spec("pandas"):
    import pandas as pd

    AUDITED |= {
        "pandas frame": lambda x: pd.DataFrame({"a": [x, 1.0], "b": ["u", None]}),
        "pandas series of changing index": lambda x: pd.Series([1.0], index=["b" if x > 0.5 else "a"]),
        "pandas categories": lambda x: pd.Series(pd.Categorical(["a"], ["a", "b"] if x > 0.5 else ["a"])),
        "pandas intervals": lambda x: pd.Series([1.0], index=pd.IntervalIndex.from_tuples([(0.0, x)])),
        "pandas array": lambda x: pd.array([round(x), None]),
        "pandas time": lambda x: pd.Timestamp("2020-01-01") + pd.Timedelta(seconds=x),
    }
if find_spec("polars"):
    import polars as pl

    AUDITED |= {
        "polars frame": lambda x: pl.DataFrame({"a": [x, 1.0]}),
        "polars series": lambda x: pl.Series("a", [x]),
    }

# What is refused, and the words of the remedy that say what to release instead.
REFUSED: dict[str, tuple[Callable[[float], Any], str]] = {
    "model that is not fitted": (make_unfitted_model, "Fit the model"),
    "object with a silent text": (Quiet, "such as (model.total_)"),
    "text with an attribute": (make_text, "vars(value)"),
    "object": (lambda x: object(), "vars(value)"),
    "generator": (lambda x: (y for y in [x]), "Return list(value)."),
    "iterator": (lambda x: itertools.repeat(x), "Return list(value)."),
    "function": (lambda x: lambda: x, "not the function itself"),
    "class": (lambda x: Quiet, "not the function itself"),
    "masked array": (lambda x: np.ma.array([x, 1.0], mask=[1, 0]), "value.filled(nan)"),
    "list that contains itself": (nest, "a few levels deep"),
}

# Text that is another in every game, of which no event can be counted.
UNIQUE: dict[str, Callable[[float], Any]] = {
    "text with a number": lambda x: f"total: {x}",
    "packed bytes": lambda x: np.float64(x).tobytes(),
    "identifier": lambda x: uuid.UUID(int=int(abs(x) * 2**100)),
    "keys with noise": lambda x: {str(x): 1},
}


class Sorry(ValueError):
    pass


# What a mechanism raises, of a number that is 1 or 2: the view shows it.
RAISED: dict[str, Callable[[int], BaseException]] = {
    "type": lambda n: ValueError("sorry") if n == 1 else Sorry("sorry"),
    "text": lambda n: ValueError("few" if n == 1 else "many"),
    "whole number": lambda n: ValueError(f"{n} rows"),
    "fraction": lambda n: ValueError(f"a mean of {n / 7}"),
    "number within a word": lambda n: KeyError(f"column_{n}"),
    "integer that no float equals": lambda n: ValueError(2**60 + n),
    "how many numbers": lambda n: ValueError([0] * n),
}


def list_failures(error: BaseException) -> dict[str, float]:
    def fail(labels: np.ndarray, rng: np.random.Generator) -> None:
        raise error

    played = play(
        Function(function=fail, epsilon=1.0),
        CountSwap(),
        Release(),
        games=1,
        seed=1,
        faults=True,
        record=True,
    )
    views = view_features(played)
    return dict(zip(views.names, views.rows[0].tolist(), strict=True))


@pytest.mark.parametrize("name", RAISED)
def test_exceptions_are_compared_by_type_and_text(name: str) -> None:
    first, second = (list_failures(RAISED[name](n)) for n in (1, 2))
    assert first != second
    assert first["failed"] == second["failed"] == 1.0


def test_numbers_in_the_text_of_an_exception_are_numbers_and_addresses_are_left_out() -> None:
    first, second = (list_failures(ValueError(f"{object()} lacks {n} of -2.5e3")) for n in (1, 2))
    assert first["failure text"] == second["failure text"]
    assert (first["failure 1"], second["failure 1"], first["failure 2"]) == (1.0, 2.0, -2500.0)


@pytest.mark.thorough
def test_what_the_text_of_an_exception_shows_is_refuted() -> None:
    def fail_half(labels: np.ndarray, rng: np.random.Generator) -> float:
        if rng.random() < 0.5:
            raise ValueError(f"{np.sum(labels)} of them")
        return 0.0

    with pytest.warns(LearnerFails):
        verdict = audits.audit(Function(function=fail_half, epsilon=1.0), CountSwap(), games=500)
    assert verdict.refuted


@pytest.mark.parametrize("name", UNPUBLISHED)
def test_generators_seeds_durations_and_addresses_of_a_model_are_no_release(name: str) -> None:
    first, second = (Fits().fit(coef_=1.0, **UNPUBLISHED[name](n)) for n in (1, 2))
    hashes = hash_values(encode_values([first, second]))
    assert hashes[0] == hashes[1]


def learner(make: Callable[[float], Any], scale: float = 0.01) -> Function:
    def release(labels: np.ndarray, rng: np.random.Generator) -> Any:
        return make(float(np.sum(labels) + rng.laplace(scale=scale)))

    return Function(function=release, epsilon=1.0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", AUDITED)
def test_a_value_is_an_event_of_its_game_alone(name: str) -> None:
    """Another value is another event, and what else is in the batch, or how often, does not matter."""
    zero, one = AUDITED[name](0.0), AUDITED[name](1.0)
    hashes = hash_values(encode_values([zero, one, zero]))
    assert hashes[0] == hashes[2] != hashes[1]
    others = ["text", {"a": [[1], 2]}, 1.0, None, [3.0] * 5, 2**60 + 1]
    assert np.array_equal(hash_values(encode_values([zero, one, *others]))[:2], hashes[:2])
    assert hash_values(encode_values([one])) == hashes[1]


@pytest.mark.thorough
@pytest.mark.parametrize("name", AUDITED)
def test_a_leak_in_any_kind_of_release_is_refuted(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = audits.audit(learner(AUDITED[name]), CountSwap(), games=2_000, until_refuted=True)
    assert report.refuted
    assert report.epsilon_lower > 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", ["float", "text", "NaN", "nothing", "dictionary of changing keys", "Fraction"]
)
def test_a_private_release_of_that_kind_is_not_refuted(name: str) -> None:
    """Refuted by chance with probability 5 %."""
    assert not audits.audit(learner(AUDITED[name], scale=1.0), CountSwap(), games=2_000).refuted


@pytest.mark.parametrize("name", REFUSED)
def test_other_objects_are_refused_with_a_way_out(name: str) -> None:
    make, remedy = REFUSED[name]
    with pytest.raises(Unsupported, match="a release must be made of numbers, text and None") as refused:
        play(learner(make), CountSwap(), Release(), games=4, seed=1)
    assert remedy in str(refused.value)


REFUSED_INSIDE: dict[str, tuple[Callable[[], Any], str]] = {
    "dictionary": (lambda: {"model": Quiet(1.0), "n": 1}, 'release["model"]'),
    "nested": (lambda: {"a": [1, ("b", {3: Quiet(1.0)})]}, 'release["a"][1][1][3]'),
    "data class": (lambda: Summary(Quiet(1.0)), "release.total"),  # type: ignore[arg-type]
    "named tuple": (lambda: Pair(1.0, Quiet(1.0)), "release[1]"),  # type: ignore[arg-type]
    "object array": (lambda: np.array([1.0, Quiet(1.0)], object), "release[1]"),
    "exception": (lambda: ValueError(Quiet(1.0)), "release.args[0]"),
    "model": (lambda: {"fit": make_model_of([Lock()])}, 'release["fit"].coef_[0]'),
    "coroutine": (lambda: [make_coroutine(1.0)], "release[0]"),
}
if find_spec("pandas"):
    REFUSED_INSIDE["frame"] = (lambda: [pd.DataFrame({"a": [1.0], "b": [Quiet(1.0)]})], 'release[0]["b"][0]')


@pytest.mark.parametrize("name", REFUSED_INSIDE)
def test_a_refusal_says_where_in_the_release_the_object_is(name: str) -> None:
    make, place = REFUSED_INSIDE[name]
    with pytest.raises(UnknownRelease) as refused:
        encode_values([1.0, make()])
    text = "a release must be made of numbers, text and None"
    assert str(refused.value).startswith(f"{text}, and {place} is not, got '")
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


# A value in each world, and what the features that differ are called.
DESCRIBED: dict[str, tuple[Any, Any, set[str]]] = {
    "number": (1.0, 2.0, {"the number"}),
    "text": ("a", "b", {"the text"}),
    "entry": ([1.0, "a"], [2.0, "b"], {"entry 0", "the text of entry 1"}),
    "key": ({"a": 1.0, "k3": 1.0}, {"a": 1.0, "k3": 2.0}, {'key "k3"'}),
    "missing key": ({"a": 1.0}, {"a": 1.0, 7: 2.0}, {"entry 7"}),
    "nested": ({"a": {"b c": [1]}}, {"a": {"b c": [2]}}, {'release["a"]["b c"][0]'}),
    "coefficients": (
        make_model_of(np.array([[1.0, 2.0]])),
        make_model_of(np.array([[1.0, 3.0]])),
        {"coef_[1]"},
    ),
    "data class": (Summary(1.0), Summary(2.0), {"total"}),
    "attribute": ({"m": Counted(1.0)}, {"m": Counted(2.0)}, {'release["m"].total'}),
    "shape": (np.ones((2, 3, 1)), np.ones((3, 2, 1)), {"the shape of the release"}),
    "empty": ([[[]]], [[{}]], {"whether release[0][0] is a list or a dictionary, both empty"}),
    "digits": (2**60, 2**60 + 1, {"the last digits"}),
}
if find_spec("pandas"):
    DESCRIBED |= {
        "cell": (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [1, 3]}), {"row 1 of column 0"}),
        "rows": (pd.Series([1.0]), pd.Series([1.0, 2.0]), {"row count", "entry 1"}),
        "column": (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}), {"the text of the name of column 0"}),
    }


@pytest.mark.parametrize("name", DESCRIBED)
def test_features_are_described_in_the_terms_of_the_user(name: str) -> None:
    zero, one, words = DESCRIBED[name]
    columns = value_columns(encode_values([zero, one]), "value")
    assert {describe_feature(feature) for feature, (a, b) in columns.items() if a != b} == words


def test_the_hash_of_a_key_that_no_value_had_is_shown() -> None:
    assert describe_feature("value{0123456789abc}[1]") == "release{0123456789abc}[1]"


@pytest.mark.parametrize("name", UNIQUE)
def test_text_that_differs_in_every_game_is_refused(name: str, rng: np.random.Generator) -> None:
    make = UNIQUE[name]
    assert has_unique_text(encode_values([make(x) for x in rng.laplace(size=200)]))
    with pytest.raises(NotConforming) as refused:
        audits.audit(learner(make), CountSwap(), games=2_000)
    assert "return the numbers in it as numbers" in str(refused.value)


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


def as_mixture(data: Any, rng: np.random.Generator) -> Any:
    text = "many" if np.sum(data) + rng.laplace(scale=0.1) > 0.5 else "few"
    return ("a" if rng.random() < 0.5 else None, text, float(rng.random() < 0.5))


@attrs.frozen
class InGameStyle(GameLearner):
    name = "in-game-style"
    protocols = ("Release",)
    claim = Claim(epsilon=1.0, delta=0.0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    mechanism: Any

    def start_one(self, rng: np.random.Generator) -> Any:
        return SimpleNamespace(release=lambda sample: self.mechanism(sample.rows()[1], rng))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner", [InGameStyle(as_mixture), Function(function=as_mixture, receives="labels")]
)
def test_mixtures_of_text_and_numbers_are_audited(learner: Any) -> None:
    """Without a claim, the loss that the text shows is certified by a learned distinguisher."""
    options: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "games": 1_500, "distinguisher": LEARNED}
    assert run(Plan(learner=learner, adversary=CountSwap(), referee=Release(), **options)).refuted
