"""diffprivlib-model: claims, releases and refusals, with stand-ins and with the library."""

from __future__ import annotations

import runpy
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.foreign_mechanisms import (
    MeanModel,
    NothingFitted,
    play_releases,
    read_tree,
    without_the_library,
)
from support.paths import ROOT

from adversaries.release.point_swap import PointSwap
from arena import InvalidArgument, Neighbours, Release, Sample, Unsupported
from arena.testing import check_learner
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.foreign.diffprivlib import DiffprivlibModel

SAMPLE = Sample([0.5, 2.0], [1, 0], [2, 1])
EXAMPLE = ROOT / "examples" / "library_models.py"
QUIET = partial(MeanModel, epsilon=0.5, noise=0.0)


def test_the_claim_is_the_epsilon_of_the_model_for_a_replaced_example() -> None:
    claim = DiffprivlibModel(make=QUIET).claim
    assert (claim.epsilon, claim.delta, claim.neighbours.kind) == (0.5, 0, Neighbours.REPLACE_ONE)


def test_it_releases_the_parameters_that_the_model_has() -> None:
    assert play_releases(DiffprivlibModel(make=QUIET), SAMPLE).tolist() == [[2, 1]] * 3
    two = DiffprivlibModel(make=QUIET, dimension=2)
    assert play_releases(two, Sample([[1.0, 3.0]], [1])).tolist() == [[1, 1, 3]] * 3


def test_a_function_chooses_what_is_released() -> None:
    learner = DiffprivlibModel(make=NothingFitted, release_of=read_tree)
    assert play_releases(learner, SAMPLE).tolist() == [[2, 3]] * 3


def test_a_model_without_known_parameters_is_refused() -> None:
    with pytest.raises(Unsupported) as refused:
        play_releases(DiffprivlibModel(make=NothingFitted), SAMPLE)
    assert str(refused.value) == (
        "a model must have parameters that can be released, got 'NothingFitted'. Set release_of to a "
        "function of the fitted model that returns numbers."
    )


def test_a_model_that_reads_its_bounds_from_the_data_is_refused() -> None:
    with pytest.raises(InvalidArgument) as refused:
        play_releases(DiffprivlibModel(make=partial(MeanModel, bounds=None)), SAMPLE)
    assert str(refused.value) == (
        "MeanModel reads a bound from the data, so that its epsilon is no claim, got 'Bounds have not been "
        "specified.'. Give it data_norm, bounds, bounds_X, bounds_y or classes where it is made."
    )


def test_a_sample_that_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(InvalidArgument) as refused:
        play_releases(DiffprivlibModel(make=QUIET), Sample([0.0], [1], [5_001]))
    assert str(refused.value).startswith("MeanModel could not be fitted, ValueError: too many examples, got ")


def test_a_missing_library_is_named() -> None:
    with pytest.raises(Unsupported, match=r"Run pip install 'dp-arena\[diffprivlib\]'\."):
        DiffprivlibModel(make=lambda random_state: without_the_library()).claim


@pytest.mark.parametrize("release_of", [1, "mean_"])
def test_what_is_released_must_be_a_function(release_of: Any) -> None:
    with pytest.raises(InvalidArgument, match="release_of must be a function"):
        DiffprivlibModel(make=QUIET, release_of=release_of)


@pytest.mark.thorough
def test_it_conforms_and_is_audited() -> None:
    """Bounded noise satisfies no ε, so the claim is refuted."""
    learner = DiffprivlibModel(make=MeanModel, domain=(0, 1))
    check_learner(learner, games=300)
    plan = Plan(
        learner=learner,
        adversary=PointSwap(sample=Sample([0.0], [0]), learner=learner),
        referee=Release(),
        epsilon=1,
        delta=0,
        games=500,
        distinguisher="learned",
    )
    assert run(plan).refuted


# --- the library itself -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_models_of_diffprivlib_conform_and_repeat() -> None:
    models = pytest.importorskip("diffprivlib.models")
    makers = {
        3: partial(models.GaussianNB, bounds=(0, 1)),  # of the only class a count, a mean and a variance
        2: partial(models.StandardScaler, bounds=(0, 1)),
        1: partial(models.KMeans, n_clusters=1, bounds=(0, 1)),
    }
    for numbers, make in makers.items():
        learner = DiffprivlibModel(make=make, domain=(0, 1))
        releases = play_releases(learner, Sample([0.0, 1.0], [0, 0], [5, 5]))
        assert np.array_equal(releases, play_releases(learner, Sample([0.0, 1.0], [0, 0], [5, 5])))
        assert releases.shape == (3, numbers)
        assert len(np.unique(releases, axis=0)) == 3
    tree = partial(models.DecisionTreeClassifier, bounds=(0, 1), classes=(0, 1))
    learner = DiffprivlibModel(make=tree, domain=(0, 1), release_of=predict_labels)
    assert play_releases(learner, Sample([0.0, 1.0], [0, 1], [5, 5])).shape == (3, 5)


def predict_labels(model: Any) -> Any:
    return model.predict(np.linspace(0, 1, 5)[:, None])


@pytest.mark.slow
def test_bounds_that_are_missing_are_refused() -> None:
    models = pytest.importorskip("diffprivlib.models")
    with pytest.raises(InvalidArgument, match="StandardScaler reads a bound from the data"):
        play_releases(DiffprivlibModel(make=models.StandardScaler), SAMPLE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of scipy, which diffprivlib calls with deprecated options
def test_models_whose_claim_is_refuted() -> None:
    """docs/foreign.md says why. A correct claim would be refuted with probability 1 % in each audit."""
    pytest.importorskip("diffprivlib.models")
    example = runpy.run_path(str(EXAMPLE))
    rows = [example["audit_model"](*entry) for entry in example["list_models"]()]
    assert {(row[0], row[1]) for row in rows if row[-1] == "is REFUTED"} == {
        ("GaussianNB, bounds (10, 11)", "label, at 10"),
        ("LinearRegression without intercept", "point 0.01 or 1"),
        ("LogisticRegression", "point -1 or 1, of two"),
        ("KMeans", "point 0 or 1"),
    }
