"""opendp and diffprivlib: claims, data and refusals, with stand-ins and with the libraries."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from support.foreign_mechanisms import (
    Measurement,
    Mechanism,
    Profile,
    play_releases,
    without_the_library,
)

import audits
from adversaries.release.point_swap import CountSwap
from arena import InvalidArgument, Learner, Release, Sample, UnknownRelease, Unsupported
from arena.privacy_curves import ConcentratedCurve, GaussianCurve
from arena.testing import check_learner
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.foreign.diffprivlib import Diffprivlib
from learners.foreign.opendp import OpenDP

SAMPLE = Sample([0.5, 2.0], [1, 0], [2, 1])
COUNT = Sample([0.0, 0.0], [1, 0], [1, 9])


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
        (
            {"measure": "SmoothedMaxDivergence", "loss": Profile()},
            "the measurement has a privacy profile, so that its claim depends on δ. Set delta.",
        ),
        (
            {"measure": "RenyiDivergence"},
            "the map of a measurement must be about (ε, δ) or zero-concentrated privacy, got "
            "'RenyiDivergence'. Convert it where it is made (opendp.combinators).",
        ),
        (
            {"d_in": 0.5, "distance": "f64"},
            "d_in must be at least 1: neighbours change ones by up to 1 in AbsoluteDistance(i32), got 0.5. "
            "Set d_in to 1.",
        ),
        (
            {"receives": "labels", "metric": "SymmetricDistance()"},
            "d_in must be at least 2: neighbours change labels by up to 2 in SymmetricDistance(), got 1. "
            "Set d_in to 2.",
        ),
    ],
)
def test_claims_that_cannot_be_made(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        wrap_measurement(**settings).claim
    assert str(refused.value) == message


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
        (
            "ones",
            {"carrier": "bool"},
            "a measurement of bits must receive 0 or 1, got 2. Use a sample with at most",
        ),
        (
            "ones",
            {"carrier": "String"},
            "the measurement must take numbers or bits, got 'String'. Wrap it in a Py",
        ),
        (
            "ones",
            {"vectorised": True},
            "a vectorised measurement must take a vector with one number for each game, got 'on",
        ),
        (
            "labels",
            {"carrier": "Vec<i32>", "vectorised": True},
            "a vectorised measurement must take a vector with one number for each game, got "
            "'labels for Vec<i32>'. M",
        ),
    ],
)
def test_data_that_a_measurement_cannot_receive(receives: str, about: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        play_releases(wrap_measurement(receives=receives, **about), SAMPLE)
    assert str(refused.value).startswith(message)


class Queryable:
    """Stands for what a measurement of OpenDP returns that answers queries later."""


def test_a_queryable_is_refused() -> None:
    class Interactive(Measurement):
        def __call__(self, data: Any) -> Any:
            return Queryable()

    with pytest.raises(UnknownRelease) as refused:
        play_releases(OpenDP(make=Interactive, d_in=1), SAMPLE)
    assert str(refused.value) == (
        "the measurement must release numbers, not answer queries, got 'Queryable'. Wrap it in a Python "
        "function that asks it and returns the answers, and audit that by the learner function."
    )


# --- diffprivlib ------------------------------------------------------------------------------------------


def test_the_claim_is_that_of_the_mechanism() -> None:
    learner = Diffprivlib(make=partial(Mechanism, epsilon=0.5, delta=1e-6))
    assert (learner.claim.epsilon, learner.claim.delta) == (0.5, 1e-6)
    assert learner.own_coins


def test_a_sensitivity_below_that_of_a_count_is_refused() -> None:
    make = partial(Mechanism, epsilon=1.0, sensitivity=0.5)
    with pytest.raises(InvalidArgument) as refused:
        Diffprivlib(make=make).claim
    assert str(refused.value) == (
        "neighbours change a count by 1, which is more than the mechanism's sensitivity, got 0.5. "
        "Make it with a sensitivity of at least 1."
    )
    assert Diffprivlib(make=make, receives="sum").claim.epsilon == 1


def test_seeded_mechanisms_repeat() -> None:
    learner = Diffprivlib(make=partial(Mechanism, epsilon=1.0), seeded=True)
    assert not learner.own_coins
    check_learner(learner, games=1_000)
    assert play_releases(learner, SAMPLE).tolist() == play_releases(learner, SAMPLE).tolist()
    own = Diffprivlib(make=partial(Mechanism, epsilon=1.0))
    assert play_releases(own, SAMPLE).tolist() != play_releases(own, SAMPLE).tolist()


# --- both -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "library"),
    [
        (OpenDP(make=without_the_library, d_in=1), "opendp"),
        (Diffprivlib(make=without_the_library), "diffprivlib"),
    ],
    ids=["opendp", "diffprivlib"],
)
def test_a_missing_library_is_named(learner: Learner, library: str) -> None:
    with pytest.raises(Unsupported) as refused:
        learner.claim
    assert str(refused.value) == (
        f"{library} cannot be imported (No module named 'no_such_library'). "
        f"Run pip install 'dp-arena[{library}]'."
    )


def test_a_maker_that_fails_is_named() -> None:
    with pytest.raises(InvalidArgument) as refused:
        Diffprivlib(make=Mechanism).claim
    assert str(refused.value) == (
        "Mechanism, which makes the mechanism of diffprivlib, raised TypeError: Mechanism.__init__() missing "
        "1 required positional argument: 'epsilon'. Correct it, and try it on its own."
    )


@pytest.mark.parametrize(
    "learner",
    [wrap_measurement(), Diffprivlib(make=partial(Mechanism, epsilon=1.0))],
    ids=["opendp", "diffprivlib"],
)
def test_they_conform_and_are_audited(learner: Learner) -> None:
    """Bounded noise satisfies no ε, so the claim is refuted."""
    check_learner(learner, games=500)
    plan = Plan(learner=learner, adversary=CountSwap(), referee=Release(), epsilon=1, delta=0, games=1_000)
    assert run(plan).refuted


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
    assert report.curve_lower is not None
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
    assert report.curve_lower is not None
    assert 0.7 * curve.mu < report.curve_lower.mu < curve.mu
