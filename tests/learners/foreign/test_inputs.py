"""What a function receives where nobody says it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from support.foreign_mechanisms import play_releases

from arena.errors import InvalidArgument
from arena.sample import Sample
from arena.schemas.forms import ArrayForm, ListForm
from learners.foreign.function import Function

SAMPLE = Sample([0.5, 2.0], [0, 1], [1, 2])


def annotated(annotation: Any) -> Callable[..., Any]:
    def release(data: Any, rng: Any) -> float:
        return 0.0

    release.__annotations__["data"] = annotation
    return release


def called(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = eval(f"lambda {name}, rng: 0.0")
    return function


@pytest.mark.parametrize("name", ["points", "data", "x", "values", "ages", "salaries", "amounts"])
def test_a_function_receives_numbers_unless_something_says_otherwise(name: str) -> None:
    learner = Function(function=called(name))
    assert (learner.receives, learner.schema, learner.reads) == ("points", None, "points")
    assert learner.received.startswith("arrays of numbers")


@pytest.mark.parametrize("name", ["labels", "y", "bits", "votes", "true_labels", "Y"])
def test_a_name_says_that_these_are_labels(name: str) -> None:
    learner = Function(function=called(name))
    assert learner.receives == "labels"
    assert f"0 and 1 only, as its parameter is called {name}" in learner.received
    chosen = Function(function=called(name), receives="points")
    assert (chosen.receives, chosen.received) == ("points", "arrays of numbers")


@pytest.mark.parametrize(
    ("annotation", "receives"),
    [
        (np.ndarray, "points"),
        ("np.ndarray", "points"),
        ("numpy_that_is_not_imported.ndarray", "points"),
        (npt.ArrayLike, "points"),
        (npt.NDArray[np.float32], "points"),
        (np.ndarray | None, "points"),
        (tuple[np.ndarray, np.ndarray], "both"),
        (int, "ones"),
        (Any, "points"),
        (object, "points"),
    ],
)
def test_an_annotation_says_what_part_it_is(annotation: Any, receives: str) -> None:
    learner = Function(function=annotated(annotation))
    assert (learner.receives, learner.schema) == (receives, None)


@pytest.mark.parametrize(
    ("annotation", "form", "values"),
    [
        (list[float], ListForm(), {0.5, -1e6, 1e6}),
        (list, ListForm(), {0.5}),
        (Sequence[int], ListForm(), {0, 1, 7 - 3, 10**6}),
        (tuple[str, ...], ListForm(tuple), {"", "a"}),
        (list[bool], ListForm(), {False, True}),
        (list[Literal["a", "b"]], ListForm(), {"a", "b"}),
        (list[tuple[int, str]], ListForm(), {(0, "")}),
        (npt.NDArray[np.int64], ArrayForm("<i8"), {0, 10**6}),
        (npt.NDArray[np.uint8], ArrayForm("|u1"), {0, 100}),
        (npt.NDArray[np.bool_], ArrayForm("|b1"), {False, True}),
    ],
)
def test_an_annotation_declares_records(annotation: Any, form: Any, values: set[Any]) -> None:
    learner = Function(function=annotated(annotation))
    assert learner.schema is not None
    assert learner.receives_records
    assert learner.schema.form == form
    assert values <= set(learner.schema.examples)
    packed = form.pack(learner.schema.examples)  # which holds all of them
    assert len(packed) == len(learner.schema.examples)
    assert "as its parameter is annotated" in learner.received
    assert Function(function=annotated(annotation), receives="points").schema is None


def test_labels_in_a_list_are_0_and_1() -> None:
    def count(bits: list[int], rng: Any) -> int:
        return sum(bits)

    learner = Function(function=count)
    assert learner.schema is not None
    assert learner.schema.examples == (0, 1)
    assert "0 and 1 only" in learner.received


@pytest.mark.parametrize(
    "function",
    [
        called("df"),
        called("people_table"),
        annotated("pd.DataFrame"),
        annotated(dict[str, int]),
        annotated(list[dict[str, int]]),
        annotated(str),
    ],
)
def test_what_only_the_user_can_describe_is_asked_for(function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"its parameter is .*data=.*receives="):
        Function(function=function)
    assert Function(function=function, receives="points").receives == "points"


def test_a_function_of_points_and_labels_receives_both_on_their_own() -> None:
    def release(X: Any, y: Any, rng: Any) -> float:  # noqa: N803
        return float(X[:, 0] @ y)

    def vectorised(points: Any, labels: Any, games: int, rng: Any) -> Any:
        return np.full(games, float(points @ labels))

    for learner in (Function(function=release), Function(function=vectorised, vectorised=True)):
        assert play_releases(learner, SAMPLE, games=2).tolist() == [4.0, 4.0]
    assert Function(function=lambda x, y: 0.0).receives == "both"  # the second one is no generator


def test_annotations_are_read_though_another_one_names_what_is_not_there() -> None:
    def release(values: list[float], rng: missing.Generator) -> float:  # type: ignore[name-defined] # noqa: F821
        return 0.0

    assert Function(function=release).schema is not None


def test_a_pair_with_a_table_or_with_lists_is_asked_for() -> None:
    def of_lists(X: list[float], y: list[int], rng: Any) -> float:  # noqa: N803
        return 0.0

    for function in (of_lists, lambda df, labels, rng: 0.0):
        with pytest.raises(InvalidArgument, match="must be said"):
            Function(function=function)
