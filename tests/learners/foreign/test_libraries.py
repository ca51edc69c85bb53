"""opendp, diffprivlib and diffprivlib-model: claims, data and refusals, with stand-ins and the libraries."""

from __future__ import annotations

import re
import runpy
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.foreign_mechanisms import (
    MeanModel,
    Measurement,
    Mechanism,
    NothingFitted,
    Profile,
    play_releases,
    read_tree,
    without_the_library,
)
from support.paths import ROOT
from support.simple_players import run_audit

import audits
from adversaries.release.point_swap import CountSwap, PointSwap
from arena import InvalidArgument, Learner, Neighbours, Release, Sample, UnknownRelease, Unsupported
from arena.privacy_curves import ConcentratedCurve, GaussianCurve
from arena.testing import check_learner
from learners.foreign.diffprivlib import Diffprivlib, DiffprivlibModel
from learners.foreign.opendp import OpenDP

SAMPLE = Sample([0.5, 2.0], [1, 0], [2, 1])
COUNT = Sample([0.0, 0.0], [1, 0], [1, 9])
QUIET = partial(MeanModel, epsilon=0.5, noise=0.0)


def wrap_measurement(
    d_in: float = 1, *, receives: str = "ones", delta: float | None = None, **about: Any
) -> OpenDP:
    vectorised = about.pop("vectorised", False)
    make = partial(Measurement, **about)
    return OpenDP(make=make, d_in=d_in, receives=receives, delta=delta, vectorised=vectorised)


# --- OpenDP -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "claimed"),
    [
        ({"loss": 0.5}, (0.5, 0)),
        ({"distance": "f64"}, (1, 0)),
        ({"measure": "Approximate(MaxDivergence)", "loss": (0.5, 1e-6)}, (0.5, 1e-6)),
        ({"measure": "SmoothedMaxDivergence", "loss": Profile(), "delta": 1e-3}, (3, 1e-3)),
    ],
)
def test_the_claim_is_that_of_the_map(about: dict[str, Any], claimed: tuple[float, float]) -> None:
    learner = wrap_measurement(**about)
    assert (learner.claim.epsilon, learner.claim.delta) == claimed
    assert learner.own_coins


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"measure": "SmoothedMaxDivergence", "loss": Profile()}, "its claim depends on δ. Set delta."),
        ({"measure": "RenyiDivergence"}, "must be about (ε, δ) or zero-concentrated privacy, got 'Renyi"),
        (
            {"d_in": 0.5, "distance": "f64"},
            "d_in must be at least 1: neighbours change ones by up to 1 in AbsoluteDistance(i32), got 0.5",
        ),
        (
            {"receives": "labels", "metric": "SymmetricDistance()"},
            "d_in must be at least 2: neighbours change labels by up to 2 in SymmetricDistance(), got 1",
        ),
    ],
)
def test_claims_that_cannot_be_made(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        wrap_measurement(**settings).claim


def test_a_sum_may_change_by_less_than_one() -> None:
    assert wrap_measurement(0.25, receives="sum", carrier="f64", distance="f64").claim.epsilon == 1


@pytest.mark.parametrize(("distance", "argument"), [("i32", 2), ("u32", 2), ("f64", 1.5)])
def test_the_map_is_never_evaluated_below_d_in(distance: str, argument: float) -> None:
    class Linear(Measurement):
        def map(self, d_in: float) -> Any:
            return 10 * d_in

    assert OpenDP(make=lambda: Linear(distance=distance), d_in=1.5).claim.epsilon == 10 * argument


@pytest.mark.parametrize(
    ("receives", "about", "expected"),
    [
        ("ones", {}, [2] * 3),
        ("ones", {"carrier": "f64"}, [2.0] * 3),
        ("labels", {"carrier": "Vec<i32>"}, [[1, 1, 0]] * 3),
        ("labels", {"carrier": "Vec<bool>"}, [[1, 1, 0]] * 3),
        ("sum", {"carrier": "f64"}, [3.0] * 3),
        ("points", {"carrier": "Vec<f64>"}, [[0.5, 0.5, 2.0]] * 3),
        ("ones", {"carrier": "Vec<f64>", "vectorised": True}, [2.0] * 3),
    ],
)
def test_data_that_a_measurement_receives(receives: str, about: dict[str, Any], expected: list[Any]) -> None:
    releases = play_releases(wrap_measurement(receives=receives, noise=False, **about), SAMPLE)
    assert releases.tolist() == expected


@pytest.mark.parametrize(
    ("receives", "about", "message"),
    [
        ("ones", {"carrier": "bool"}, "a measurement of bits must receive 0 or 1, got 2"),
        ("ones", {"carrier": "String"}, "the measurement must take numbers or bits, got 'String'"),
        ("ones", {"vectorised": True}, "must take a vector with one number for each game, got 'on"),
        ("labels", {"carrier": "Vec<i32>", "vectorised": True}, "each game, got 'labels for Vec<i32>'"),
    ],
)
def test_data_that_a_measurement_cannot_receive(receives: str, about: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        play_releases(wrap_measurement(receives=receives, **about), SAMPLE)


class Queryable:
    """Stands for what a measurement of OpenDP returns that answers queries later."""


def test_a_queryable_is_refused() -> None:
    class Interactive(Measurement):
        def __call__(self, data: Any) -> Any:
            return Queryable()

    with pytest.raises(UnknownRelease, match="must release numbers, not answer queries, got 'Queryable'"):
        play_releases(OpenDP(make=Interactive, d_in=1), SAMPLE)


# --- diffprivlib ------------------------------------------------------------------------------------------


def test_the_claim_is_that_of_the_mechanism() -> None:
    learner = Diffprivlib(make=partial(Mechanism, epsilon=0.5, delta=1e-6))
    assert (learner.claim.epsilon, learner.claim.delta) == (0.5, 1e-6)
    assert learner.own_coins


def test_a_sensitivity_below_that_of_a_count_is_refused() -> None:
    make = partial(Mechanism, epsilon=1.0, sensitivity=0.5)
    with pytest.raises(InvalidArgument, match="by 1, which is more than the mechanism's sensitivity"):
        Diffprivlib(make=make).claim
    assert Diffprivlib(make=make, receives="sum").claim.epsilon == 1


def test_seeded_mechanisms_repeat() -> None:
    learner = Diffprivlib(make=partial(Mechanism, epsilon=1.0), seeded=True)
    assert not learner.own_coins
    check_learner(learner, games=1_000)
    assert play_releases(learner, SAMPLE).tolist() == play_releases(learner, SAMPLE).tolist()
    own = Diffprivlib(make=partial(Mechanism, epsilon=1.0))
    assert play_releases(own, SAMPLE).tolist() != play_releases(own, SAMPLE).tolist()


# --- diffprivlib-model ----------------------------------------------------------------------------------


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
    with pytest.raises(Unsupported, match=r"NothingFitted.*Set release_of to a function of the fitted"):
        play_releases(DiffprivlibModel(make=NothingFitted), SAMPLE)


def test_a_model_that_reads_its_bounds_from_the_data_is_refused() -> None:
    message = (
        "reads a bound from the data, so that its epsilon is no claim, got 'Bounds have not been specified"
    )
    with pytest.raises(InvalidArgument, match=message):
        play_releases(DiffprivlibModel(make=partial(MeanModel, bounds=None)), SAMPLE)


def test_a_sample_that_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="MeanModel could not be fitted, ValueError: too many examples"):
        play_releases(DiffprivlibModel(make=QUIET), Sample([0.0], [1], [5_001]))


@pytest.mark.thorough
def test_a_model_conforms_and_is_audited() -> None:
    """Bounded noise satisfies no ε, so the claim is refuted."""
    learner = DiffprivlibModel(make=MeanModel, domain=(0, 1))
    check_learner(learner, games=300)
    swap = PointSwap(sample=Sample([0.0], [0]))
    assert run_audit(learner, swap, Release(), games=500, distinguisher="learned").refuted


# --- all --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "library"),
    [
        (OpenDP(make=without_the_library, d_in=1), "opendp"),
        (Diffprivlib(make=without_the_library), "diffprivlib"),
        (DiffprivlibModel(make=lambda random_state: without_the_library()), "diffprivlib"),
    ],
    ids=["opendp", "diffprivlib", "model"],
)
def test_a_missing_library_is_named(learner: Learner, library: str) -> None:
    message = (
        rf"{library} cannot be imported \(No module named 'no_such_library'\)\. Run pip install 'dp-arena"
    )
    with pytest.raises(Unsupported, match=message + rf"\[{library}\]'\."):
        learner.claim


def test_a_maker_that_fails_is_named() -> None:
    message = "Mechanism, which makes the mechanism, raised TypeError: .* argument: 'epsilon'"
    with pytest.raises(InvalidArgument, match=message):
        Diffprivlib(make=Mechanism).claim


@pytest.mark.thorough
@pytest.mark.parametrize(
    "learner",
    [wrap_measurement(), Diffprivlib(make=partial(Mechanism, epsilon=1.0))],
    ids=["opendp", "diffprivlib"],
)
def test_they_conform_and_are_audited(learner: Learner) -> None:
    """Bounded noise satisfies no ε, so the claim is refuted."""
    check_learner(learner, games=500)
    assert run_audit(learner, CountSwap(), Release(), games=1_000).refuted


# --- the libraries themselves -----------------------------------------------------------------------------


def of_opendp(name: str) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    bits, vector = dp.atom_domain(T=float, nan=False), dp.vector_domain(dp.atom_domain(T=int))
    makers = {
        "integers": lambda: dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0),
        "floats": lambda: dp.m.make_laplace(bits, dp.absolute_distance(T=float), scale=2.0),
        "vector": lambda: dp.m.make_laplace(vector, dp.l1_distance(T=int), scale=2.0),
        "zCDP": lambda: dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=4.0),
        "zCDP of a vector": lambda: dp.m.make_gaussian(vector, dp.l2_distance(T=int), scale=2.0),
        "approximate": lambda: dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(makers["zCDP"]()), delta=1e-6),
        "bit": lambda: dp.m.make_randomized_response_bool(prob=0.75),
    }
    return makers[name]()


@pytest.mark.parametrize(
    ("name", "settings", "claimed"),
    [
        ("integers", {}, (0.5, 0)),
        ("floats", {}, (0.5, 0)),
        ("vector", {"receives": "labels"}, (0.5, 0)),
        ("vector", {"vectorised": True}, (0.5, 0)),
        ("zCDP", {"delta": 1e-6}, (1.14, 1e-6)),
        ("approximate", {}, (1.14, 1e-6)),
        ("bit", {}, (1.0986, 0)),
    ],
)
def test_measurements_of_opendp(name: str, settings: dict[str, Any], claimed: tuple[float, float]) -> None:
    pytest.importorskip("opendp")
    learner = OpenDP(make=partial(of_opendp, name), d_in=1, **settings)
    assert (learner.claim.epsilon, learner.claim.delta) == (pytest.approx(claimed[0], rel=0.01), claimed[1])
    games = 200  # randomised response gives the same bit so often with probability 0.75^200 < 1e-24
    releases = play_releases(learner, COUNT, games=games)
    assert releases.shape == ((games, 10) if "receives" in settings else (games,))
    assert len(np.unique(releases, axis=0)) > 1


def test_mechanisms_of_diffprivlib() -> None:
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    for make in (mechanisms.Laplace, mechanisms.Geometric, partial(mechanisms.Snapping, lower=0, upper=10)):
        learner = Diffprivlib(make=partial(make, epsilon=1, sensitivity=1))
        assert (learner.claim.epsilon, learner.claim.delta) == (1, 0)
        assert len(np.unique(play_releases(learner, COUNT, games=50))) > 1
    seeded = Diffprivlib(make=partial(mechanisms.Laplace, epsilon=1, sensitivity=1), seeded=True)
    assert play_releases(seeded, COUNT).tolist() == play_releases(seeded, COUNT).tolist()


def test_a_zcdp_map_of_opendp_is_audited_in_its_own_unit() -> None:
    """ρ = 1/(2·2²); the bound for (ε, δ) is far below the claim."""
    pytest.importorskip("opendp")
    learner = OpenDP(make=partial(of_opendp, "zCDP of a vector"), d_in=1, delta=1e-6, vectorised=True)
    assert learner.claim.curve == ConcentratedCurve(0.125)
    report = audits.audit(learner, "count-swap", games=100_000)
    assert not report.refuted
    assert 0.08 < report.curve_lower.rho < 0.125
    assert report.epsilon_lower < 0.7 * learner.claim.epsilon


@pytest.mark.parametrize("name", ["Gaussian", "GaussianAnalytic"])
def test_gaussian_mechanisms_of_diffprivlib_are_audited_as_such(name: str) -> None:
    """μ is estimated to within 0.0045, its standard error, and certified some four of these below."""
    mechanisms = pytest.importorskip("diffprivlib.mechanisms")
    make = partial(getattr(mechanisms, name), epsilon=0.8, delta=1e-5, sensitivity=1)
    learner = Diffprivlib(make=make, seeded=True)
    curve = learner.claim.curve
    assert isinstance(curve, GaussianCurve)
    assert curve.mu == pytest.approx(1 / make()._scale, rel=1e-6)
    report = audits.audit(learner, "count-swap", games=100_000)
    assert not report.refuted
    assert 0.7 * curve.mu < report.curve_lower.mu < curve.mu


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
    example = runpy.run_path(str(ROOT / "examples" / "library_models.py"))
    rows = [example["audit_model"](*entry) for entry in example["list_models"]()]
    assert {(row[0], row[1]) for row in rows if row[-1] == "is REFUTED"} == {
        ("GaussianNB, bounds (10, 11)", "label, at 10"),
        ("LinearRegression without intercept", "point 0.01 or 1"),
        ("LogisticRegression", "point -1 or 1, of two"),
        ("KMeans", "point 0 or 1"),
    }
