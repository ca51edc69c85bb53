"""All public mechanisms, tools and models of diffprivlib.

The library does not say between which datasets its ε holds. Here it is the relation for which the sensitivity
in its code is right: replaced records where it divides by their number or uses the width of the bounds, added
or removed ones where it is 1 for counts by bins. Models stand with both relations. Of models, the parameters
with which they predict are released, not other attributes, such as the label of each example.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from audits.data.schemas import labelled, records, vector
from audits.surveys.catalogue import Catalogue

REPLACE, ADD = "replace one", "add or remove one"
_BASES = ("DPMachine", "DPMechanism", "TruncationAndFoldingMixin")
_GRID = np.linspace(0, 1, 5)[:, None]  # on which classifiers predict


def list_public() -> Iterator[str]:
    """The mechanisms, tools and models."""
    from diffprivlib import mechanisms, models, tools

    for module in (mechanisms, tools, models):
        for name, item in vars(module).items():
            public = callable(item) and not name.startswith("_") and name not in _BASES
            if public and item.__module__.startswith("diffprivlib."):
                yield f"{module.__name__.rpartition('.')[2]}.{name}"


catalogue = Catalogue(made_for="0.6.6", public=list_public)


def _seed(rng: np.random.Generator) -> np.random.RandomState:
    return np.random.RandomState(rng.bit_generator)


# --- mechanisms --------------------------------------------------------------------------------------------


def _make_mechanism(name: str, read: Callable[[Any], Any], settings: dict[str, Any]) -> Callable[..., Any]:
    from diffprivlib import mechanisms

    kind = getattr(mechanisms, name)
    return lambda data, rng: kind(**settings, random_state=_seed(rng)).randomise(read(data))


def _add_mechanism(
    name: str,
    data: Any,
    read: Callable[[Any], Any],
    variant: str = "",
    *,
    delta: float = 0.0,
    **settings: Any,
) -> None:
    own = settings if not delta else {**settings, "delta": delta}
    relation = {} if data in (_number, _scores) else {"neighbours": REPLACE}
    catalogue.add(
        f"mechanisms.{name}" + (f": {variant}" if variant else ""),
        partial(_make_mechanism, name, read, own),
        epsilon=settings.get("epsilon", 0.0),
        delta=delta,
        data=data,
        **relation,
    )


_WHOLE = st.integers(-10, 10)  # of data that some mechanisms receive as integers


def _number() -> Any:
    return vector(1, metric="l1", distance=1, values=_WHOLE)


def _scores() -> Any:
    return vector(3, metric="linf", distance=1, values=_WHOLE)


def _letter() -> Any:
    return records(st.sampled_from("abc"), min_size=1, max_size=1)


def _real(numbers: np.ndarray) -> float:
    return float(numbers[0])


def _integer(numbers: np.ndarray) -> int:
    return int(numbers[0])


def _first(items: list[Any]) -> Any:
    return items[0]


one: dict[str, Any] = {"epsilon": 1.0, "sensitivity": 1}
_add_mechanism(
    "Binary",
    lambda: records(st.sampled_from("ab"), min_size=1, max_size=1),
    _first,
    epsilon=1.0,
    value0="a",
    value1="b",
)
_add_mechanism(
    "ExponentialCategorical",
    _letter,
    _first,
    epsilon=1.0,
    utility_list=[("a", "b", 1), ("a", "c", 2), ("b", "c", 2)],
)
_add_mechanism("ExponentialHierarchical", _letter, _first, epsilon=1.0, hierarchy=[["a", "b"], ["c"]])
for _name in ("Laplace", "Staircase"):
    _add_mechanism(_name, _number, _real, **one)
for _name in ("LaplaceBoundedDomain", "LaplaceFolded", "LaplaceTruncated", "Snapping"):
    _add_mechanism(_name, _number, _real, lower=0, upper=3, **one)
for _name in ("Laplace", "LaplaceBoundedDomain"):
    _bounds: dict[str, Any] = {} if _name == "Laplace" else {"lower": 0, "upper": 3}
    _add_mechanism(_name, _number, _real, "with δ", delta=0.1, **_bounds, **one)
_add_mechanism("LaplaceBoundedNoise", _number, _real, delta=0.1, **one)
_add_mechanism("Uniform", _number, _real, delta=0.1, sensitivity=1)
_add_mechanism("Geometric", _number, _integer, **one)
for _name in ("GeometricFolded", "GeometricTruncated"):
    _add_mechanism(_name, _number, _integer, lower=0, upper=3, **one)
for _name in ("Gaussian", "GaussianAnalytic"):
    _add_mechanism(_name, _number, _real, delta=0.01, **one)
_add_mechanism("GaussianDiscrete", _number, _integer, delta=0.01, **one)


def _make_choice(name: str, settings: dict[str, Any]) -> Callable[..., Any]:
    from diffprivlib import mechanisms

    kind = getattr(mechanisms, name)

    def choose(scores: Any, rng: np.random.Generator) -> int:
        utility = [float(score) for score in scores]
        return int(kind(**one, utility=utility, **settings, random_state=_seed(rng)).randomise())

    return choose


def _bincount(letters: list[int]) -> list[int]:
    return [letters.count(letter) for letter in range(3)]


for _name in ("Exponential", "PermuteAndFlip"):
    catalogue.add(f"mechanisms.{_name}", partial(_make_choice, _name, {}), epsilon=1.0, data=_scores)
    catalogue.add(
        f"mechanisms.{_name}: monotonic",
        partial(_make_choice, _name, {"monotonic": True}),
        epsilon=1.0,
        neighbours=ADD,
        data=lambda: records(st.integers(0, 2), pack=_bincount),
    )
catalogue.add(
    "mechanisms.Exponential: measure",
    partial(_make_choice, "Exponential", {"measure": [1.0, 2.0, 5.0]}),
    epsilon=1.0,
    data=_scores,
)


def _points(columns: int, least: int = 1, *, width: float = 1.0) -> Any:
    """Points of a cube, an array (n, columns)."""
    row = st.tuples(*[st.floats(0, width)] * columns)
    return records(row, pack=partial(_make_array, columns), min_size=least)


def _make_array(columns: int, rows: list[Any]) -> np.ndarray:
    return np.array(rows, float).reshape(len(rows), columns)


@catalogue.entry("mechanisms.Bingham", epsilon=1.0, neighbours=ADD, data=partial(_points, 2, 0, width=0.7))
def make_bingham() -> Any:
    from diffprivlib.mechanisms import Bingham

    return lambda points, rng: Bingham(epsilon=1.0, random_state=_seed(rng)).randomise(points.T @ points)


@catalogue.entry(
    "mechanisms.Vector",
    epsilon=1.0,
    neighbours=REPLACE,
    data=lambda: records(st.floats(-1, 1), pack=np.array, min_size=1),
    note="The claim is about the minimum of the function that it returns, here a logistic loss.",
)
def make_vector() -> Any:
    from diffprivlib.mechanisms import Vector
    from scipy.optimize import minimize

    def find_minimum(points: np.ndarray, rng: np.random.Generator) -> float:
        def loss(weight: np.ndarray) -> tuple[float, np.ndarray]:
            margins = weight[0] * points
            slope = -(points * np.exp(-np.logaddexp(0, margins))).mean() + weight[0]
            return float(np.logaddexp(0, -margins).mean() + weight[0] ** 2 / 2), np.array([slope])

        mechanism = Vector(
            epsilon=1.0,
            function_sensitivity=0.25,
            dimension=1,
            alpha=1.0,
            n=len(points),
            random_state=_seed(rng),
        )
        return float(minimize(mechanism.randomise(loss), np.zeros(1), jac=True, method="L-BFGS-B").x[0])

    return find_minimum


# --- tools -------------------------------------------------------------------------------------------------


def _numbers(least: int = 1, *, missing: bool = False) -> Any:
    number = st.floats(0, 1)
    return records(st.one_of(number, st.just(math.nan)) if missing else number, pack=np.array, min_size=least)


def _few_numbers(least: float = 0.0) -> Any:
    """Numbers among data of which eight are missing and one is public."""
    return records(st.floats(least, least + 1), pack=partial(_append_missing, least), min_size=1)


def _append_missing(public: float, numbers: list[float]) -> np.ndarray:
    return np.array([*numbers, public, *[math.nan] * 8])


_MISSING = "Eight values are missing, and one is public, in both worlds."


def _make_tool(name: str, settings: dict[str, Any]) -> Callable[..., Any]:
    from diffprivlib import tools

    tool = getattr(tools, name)
    return lambda data, rng: tool(data, **settings, epsilon=1.0, random_state=_seed(rng))


def _add_tool(
    name: str, data: Any, variant: str = "", neighbours: str = REPLACE, note: str = "", **settings: Any
) -> None:
    catalogue.add(
        f"tools.{name}" + (f": {variant}" if variant else ""),
        partial(_make_tool, name, settings),
        epsilon=1.0,
        neighbours=neighbours,
        data=data,
        note=note,
    )


for _name in ("mean", "var", "std", "sum", "median"):
    _add_tool(_name, _numbers, bounds=(0, 1))
    _add_tool(_name, partial(_points, 2), "by column", bounds=(0, 1), axis=0)
for _name in ("nanmean", "nanvar", "nanstd", "nansum"):
    _add_tool(_name, partial(_numbers, missing=True), bounds=(0, 1))
    _add_tool(_name, _few_numbers, "eight values missing", note=_MISSING, bounds=(0, 1))
_add_tool("count_nonzero", lambda: records(st.integers(0, 1), pack=np.array, min_size=1))
_add_tool("quantile", _numbers, quant=[0.25, 0.75], bounds=(0, 1))
_add_tool("percentile", _numbers, percent=90, bounds=(0, 1))
_add_tool("histogram", partial(_numbers, 0), neighbours=ADD, bins=3, range=(0, 1))
_add_tool("histogram", partial(_numbers, 0), "density", neighbours=ADD, bins=3, range=(0, 1), density=True)
_add_tool("histogramdd", partial(_points, 2, 0), neighbours=ADD, bins=2, range=[(0, 1)] * 2)


@catalogue.entry("tools.histogram2d", epsilon=1.0, neighbours=ADD, data=partial(_points, 2, 0))
def make_histogram2d() -> Any:
    from diffprivlib.tools import histogram2d

    return lambda points, rng: histogram2d(
        *points.T, epsilon=1.0, bins=2, range=[(0, 1)] * 2, random_state=_seed(rng)
    )


@catalogue.entry(
    "tools.histogram: weights",
    epsilon=1.0,
    neighbours=ADD,
    data=lambda: records(st.tuples(st.floats(0, 1), st.integers(0, 5)), pack=partial(_make_array, 2)),
    note="The documentation allows weights of any size, and does not limit ε to weights up to 1.",
)
def make_weighted_histogram() -> Any:
    from diffprivlib.tools import histogram

    return lambda rows, rng: histogram(
        rows[:, 0], weights=rows[:, 1], epsilon=1.0, bins=3, range=(0, 1), random_state=_seed(rng)
    )


# --- models ------------------------------------------------------------------------------------------------


def _make_model(name: str, parameters: tuple[str, ...], settings: dict[str, Any]) -> Callable[..., Any]:
    from diffprivlib import models

    kind = getattr(models, name)

    def fit(data: Any, rng: np.random.Generator) -> Any:
        model = kind(**settings, epsilon=1.0, random_state=_seed(rng))
        model.fit(*data) if isinstance(data, tuple) else model.fit(data)
        if not parameters:
            return model.predict(_GRID)
        return {parameter: np.asarray(getattr(model, parameter)) for parameter in parameters}

    return fit


def _add_model(
    name: str, data: Any, parameters: tuple[str, ...], variant: str = "", note: str = "", **settings: Any
) -> None:
    for relation in (REPLACE, ADD):
        words = [word for word in (variant, relation) if word]
        catalogue.add(
            f"models.{name}: {', '.join(words)}",
            partial(_make_model, name, parameters, settings),
            epsilon=1.0,
            neighbours=relation,
            data=data,
            note=note,
        )


@cache
def _labelled(targets: str) -> Any:
    drawn = {"classes": st.integers(0, 1), "numbers": st.floats(0, 1)}
    return labelled(1, drawn[targets], min_size=2)


_classes, _targets = partial(_labelled, "classes"), partial(_labelled, "numbers")
_add_model("DecisionTreeClassifier", _classes, (), bounds=(0, 1), classes=[0, 1], max_depth=2)
_add_model("RandomForestClassifier", _classes, (), bounds=(0, 1), classes=[0, 1], max_depth=2, n_estimators=3)
_add_model("KMeans", partial(_points, 1, 2), ("cluster_centers_",), bounds=(0, 1), n_clusters=2)
_add_model("LinearRegression", _targets, ("coef_", "intercept_"), bounds_X=(0, 1), bounds_y=(0, 1))
_add_model(
    "LinearRegression",
    _targets,
    ("coef_",),
    "without intercept",
    bounds_X=(0, 1),
    bounds_y=(0, 1),
    fit_intercept=False,
)
_add_model("LogisticRegression", _classes, ("coef_", "intercept_"), data_norm=1)
_add_model("LogisticRegression", _classes, ("coef_",), "without intercept", data_norm=1, fit_intercept=False)
_add_model(
    "PCA",
    partial(_points, 2, 2),
    ("components_", "explained_variance_", "mean_"),
    bounds=(0, 1),
    data_norm=1.5,
    n_components=1,
)
_add_model("StandardScaler", partial(_points, 1, 2), ("mean_", "var_"), bounds=(0, 1))
_CLASSES = "The classes of the training labels are read from the data, without a warning."
_add_model("GaussianNB", _classes, ("theta_", "var_", "class_count_"), bounds=(0, 1), note=_CLASSES)


def _make_naive_bayes() -> Any:
    from diffprivlib.models import GaussianNB

    def fit(data: Any, rng: np.random.Generator) -> Any:
        model = GaussianNB(bounds=(0, 1), epsilon=1.0, random_state=_seed(rng))
        model.partial_fit(*data, classes=[0, 1])
        return {name: getattr(model, name) for name in ("theta_", "var_", "class_count_")}

    return fit


for _relation in (REPLACE, ADD):
    catalogue.add(
        f"models.GaussianNB: classes given, {_relation}",
        _make_naive_bayes,
        epsilon=1.0,
        neighbours=_relation,
        data=_classes,
    )
