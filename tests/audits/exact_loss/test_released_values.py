"""The privacy loss between laws of one released value, against closed forms and brute force."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.exact.players import gaussian, laplace, response, uniform

from arena import Branches, Density, Finite, Independent, InvalidArgument, Mixture, Transformed, ValueLaw
from arena.privacy_curves.gaussian_curves import gaussian_delta
from audits.exact_loss import loss_of_values
from audits.exact_loss.privacy_loss import Bracket, PrivacyLoss
from audits.exact_loss.view_laws import losses_of_values

INF = float("inf")
EPSILONS = np.linspace(0, 3, 31)


def laplace_delta(epsilon: float, shift: float) -> float:
    return max(0.0, -np.expm1((epsilon - shift) / 2))


def check(bracket: Bracket, value: float, slack: float) -> None:
    assert bracket.lower - 1e-15 <= value <= bracket.upper + 1e-15
    assert bracket.upper - bracket.lower <= slack


# --- one number ---------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(("shift", "scale"), [(1, 1.0), (1, 0.5), (1, 100.0), (3, 0.5)])
@pytest.mark.parametrize("location", [0.0, 1e6])
def test_the_laplace_mechanism(shift: float, scale: float, location: float) -> None:
    loss = loss_of_values(laplace(location, scale), laplace(location + shift, scale))
    for epsilon in EPSILONS:
        check(loss.delta(epsilon), laplace_delta(epsilon, shift / scale), 1e-9)
    assert loss.epsilon == pytest.approx(shift / scale, abs=1e-12)
    assert loss.error < 1e-11


def test_the_tails_of_laplace_noise_are_one_cell_each() -> None:
    views, _ = losses_of_values(laplace(0.0), laplace(1.0))
    assert views.loss.p0[[0, -1]] == pytest.approx([0.5, np.exp(-1) / 2], abs=1e-14)
    assert views.loss.high[-1] - views.loss.low[-1] < 1e-12
    assert views.text(0) == "value from -40 to 0"


@pytest.mark.thorough
@pytest.mark.parametrize("sigma", [0.2, 1.0, 10.0])
def test_the_gaussian_mechanism(sigma: float) -> None:
    loss = loss_of_values(gaussian(3.0, sigma), gaussian(4.0, sigma))
    for epsilon in EPSILONS:
        check(loss.delta(epsilon), gaussian_delta(epsilon, 1 / sigma), 1e-9)
    assert loss.epsilon == INF
    at = loss.epsilon_at(1e-6)
    assert gaussian_delta(at.lower, 1 / sigma) == pytest.approx(1e-6, rel=1e-3)
    assert gaussian_delta(at.upper, 1 / sigma) == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.thorough
def test_the_tradeoff_curve_of_gaussian_noise() -> None:
    alpha, beta = loss_of_values(gaussian(0.0), gaussian(1.0)).tradeoff()
    assert np.abs(beta - stats.norm.cdf(stats.norm.isf(np.minimum(alpha, 1)) - 1)).max() < 1e-9


@pytest.mark.thorough
def test_gaussians_of_two_widths_have_a_loss_that_turns() -> None:
    loss = loss_of_values(gaussian(0.0, 1.0), gaussian(0.0, 2.0))
    edge = np.sqrt(8 / 3 * np.log(2))  # where the densities meet
    check(loss.delta(0), 2 * (stats.norm.sf(edge / 2) - stats.norm.sf(edge)), 1e-9)
    assert float(loss.low.min()) == pytest.approx(-np.log(2), abs=1e-11)
    assert loss.epsilon == INF


def test_a_loss_that_turns_within_a_cell_has_its_peak_found() -> None:
    # One density is the other times 1 + sin(x + 0.1)/2: the loss peaks where no cut is.
    normal = np.log1p(np.exp(-0.5) * np.sin(0.1) / 2)
    bump = Density(
        log=lambda x: stats.norm.logpdf(x) + np.log1p(np.sin(x + 0.1) / 2) - normal,
        kinks=(),
        low=-9.0,
        high=9.0,
        scale=1.0,
    )
    loss = loss_of_values(gaussian(0.0), bump)
    assert float(loss.high.max()) == pytest.approx(np.log(1.5) - normal, abs=1e-11)
    assert float(loss.low.min()) == pytest.approx(np.log(0.5) - normal, abs=1e-11)


def test_uniform_noise_lets_some_values_occur_in_one_world_only() -> None:
    loss = loss_of_values(uniform(0.0), uniform(0.25))
    assert loss.epsilon == INF
    check(loss.delta(7.0), 0.25, 1e-12)
    alpha, beta = loss.tradeoff()
    assert alpha.tolist() == pytest.approx([0, 0, 0.75, 1])
    assert beta.tolist() == pytest.approx([1, 0.75, 0, 0])


def test_equal_laws_lose_nothing() -> None:
    loss = loss_of_values(gaussian(0.0), gaussian(0.0))
    assert loss.epsilon == 0
    assert loss.delta(0).upper < 1e-12


def test_a_law_that_misses_mass_says_so() -> None:
    loss = loss_of_values(laplace(0.0), attrs.evolve(laplace(1.0), low=-0.5, kinks=(1.0,), high=2.0))
    assert loss.error == 0  # the line is looked at as far as either law reaches
    short = attrs.evolve(laplace(0.0), low=-3.0, high=3.0)
    found = loss_of_values(short, attrs.evolve(laplace(0.1), low=-3.0, high=3.0))
    assert found.error == pytest.approx(np.exp(-3) * np.cosh(0.1), rel=0.01)


@pytest.mark.thorough
@settings(max_examples=10)
@given(st.floats(0.01, 5), st.floats(0.05, 20), st.floats(0, 4))
def test_laplace_noise_of_any_scale(shift: float, scale: float, epsilon: float) -> None:
    loss = loss_of_values(laplace(0.0, scale), laplace(shift, scale))
    check(loss.delta(epsilon), laplace_delta(epsilon, shift / scale), 1e-9)
    assert loss.epsilon == pytest.approx(shift / scale, rel=1e-12, abs=1e-12)


# --- finitely many values -----------------------------------------------------------------------------


def test_finite_laws_are_matched_by_value() -> None:
    views, _ = losses_of_values(Finite([2, 1], [0.75, 0.25]), Finite([1, 2, 3], [0.75, 0.25, 0.0]))
    described = dict(zip(map(views.text, range(2)), views.loss.p1, strict=True))
    assert described == {"value 1": 0.75, "value 2": 0.25}
    assert views.loss.epsilon == pytest.approx(np.log(3), abs=1e-15)


def test_finite_laws_of_vectors() -> None:
    loss = loss_of_values(Finite([[0, 1], [1, 1]], [0.5, 0.5]), Finite([[1, 1], [2, 0]], [0.5, 0.5]))
    assert loss.epsilon == INF
    check(loss.delta(3.0), 0.5, 1e-12)


# --- vectors ------------------------------------------------------------------------------------------


def test_ten_bits_of_randomised_response() -> None:
    pair = [Independent((response(count),) * 10) for count in (0.0, 1.0)]
    loss = loss_of_values(*pair)
    assert loss.epsilon == pytest.approx(10 * np.log(3), abs=1e-12)
    whole = PrivacyLoss.of_views(
        *[[np.prod(bits) for bits in product(law.parts[0].probabilities, repeat=10)] for law in pair]
    )
    for epsilon in EPSILONS:
        assert loss.delta(epsilon).middle == pytest.approx(whole.delta(epsilon).middle, abs=1e-12)


def test_parts_that_do_not_differ_drop_out() -> None:
    same = (gaussian(0.0), Finite([0, 1], [0.5, 0.5]))
    loss = loss_of_values(Independent((laplace(0.0), *same)), Independent((laplace(1.0), *same)))
    alone = loss_of_values(laplace(0.0), laplace(1.0))
    assert len(loss.p0) == len(alone.p0)
    check(loss.delta(0.5), laplace_delta(0.5, 1.0), 1e-9)
    nothing = loss_of_values(Independent(same), Independent(same))
    assert (nothing.epsilon, len(nothing.p0)) == (0, 1)


def one_sided(epsilon: np.ndarray, shift: float) -> np.ndarray:
    """The one-sided δ of Laplace noise of scale 1 at any real ε."""
    between = np.where(epsilon <= -shift, -np.expm1(epsilon), -np.expm1((epsilon - shift) / 2))
    return np.where(epsilon >= shift, 0.0, between)


def brute_force(epsilon: float) -> float:
    """δ of two Laplace coordinates that both move by 1: the second's δ, averaged over the first's loss."""
    cuts = np.linspace(0, 1, 2_001)
    points, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(cuts)[:, None] / 2
    x = (cuts[1:] + cuts[:-1])[:, None] / 2 + half * points
    inner = (half * weights * stats.laplace.pdf(x, 1.0) * one_sided(epsilon - (2 * x - 1), 1.0)).sum()
    ends = stats.laplace.cdf(-1.0) * one_sided(np.array(epsilon + 1), 1.0)
    return float(inner + ends + 0.5 * one_sided(np.array(epsilon - 1), 1.0))


@pytest.mark.thorough
def test_two_laplace_coordinates() -> None:
    loss = loss_of_values(*[Independent((laplace(at), laplace(at))) for at in (0.0, 1.0)])
    for epsilon in (0.0, 0.3, 1.0, 1.7):
        check(loss.delta(epsilon), brute_force(epsilon), 5e-7)
        assert loss.delta(epsilon).lower == pytest.approx(brute_force(epsilon), abs=1e-8)
    assert loss.epsilon == pytest.approx(2, abs=1e-12)
    assert len(loss.p0) < 70_000


@pytest.mark.thorough
def test_two_gaussian_coordinates_are_one() -> None:
    loss = loss_of_values(*[Independent((gaussian(at, 2.0),) * 2) for at in (0.0, 1.0)])
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        check(loss.delta(epsilon), gaussian_delta(epsilon, np.sqrt(2) / 2), 1e-4)
    assert loss.epsilon == INF


def test_infinite_losses_of_independent_parts() -> None:
    pair = [Independent((uniform(at), laplace(at), uniform(at))) for at in (0.0, 0.25)]
    loss = loss_of_values(*pair)
    # Both uniform parts must lie in the overlap; else the view is possible in one world only.
    at = 1 - 0.75**2
    check(loss.delta(0.25), at, 1e-9)
    assert loss.p0[loss.low == -INF].sum() == pytest.approx(at)


# --- branches -----------------------------------------------------------------------------------------


def branches(*parts: float | Density) -> Branches:
    return Branches(parts=parts, read=lambda values: (values.astype(int), values))


def test_branches_are_concatenated() -> None:
    loss = loss_of_values(branches(0.25, laplace(0.0, share=0.75)), branches(0.5, laplace(1.0, share=0.5)))
    assert loss.epsilon == pytest.approx(1 + np.log(1.5), abs=1e-12)
    check(loss.one_sided_delta(0.5), 0.5 - 0.25 * np.exp(0.5) + over(0.5, 0.75, 0.5), 1e-9)


def over(epsilon: float, share_0: float, share_1: float) -> float:
    """sup of share_1 P1 − e^ε share_0 P0 for Laplace noise."""
    return share_1 * float(one_sided(np.array(epsilon + np.log(share_0 / share_1)), 1.0))


def test_a_number_shown_in_one_world_only_tells() -> None:
    loss = loss_of_values(
        branches(0.25, laplace(0.0, share=0.75)), branches(laplace(0.0, share=0.25), laplace(0.0, share=0.75))
    )
    assert loss.epsilon == INF
    check(loss.delta(3.0), 0.25, 1e-12)


def test_branches_of_no_chance() -> None:
    views, _ = losses_of_values(branches(1.0, 0.0, 0.0), branches(0.5, 0.5, 0.0))
    assert [views.text(cell) for cell in range(len(views.loss.p0))] == ["branch 0", "branch 1"]
    worlds = (branches(0.5, laplace(place, share=0.5)) for place in (0.0, 1.0))
    _, coarse = losses_of_values(*worlds)
    assert coarse.text(1) == "branch 1, number from -40 to 0"
    assert len(coarse.loss.p0) < 30


# --- bad input ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world_0", "world_1", "rule"),
    [
        (laplace(0.0), response(0), "of the same kind"),
        (response(0), Finite([[[0, 1], [2, 3]]], [1.0]), "must have the same shape"),
        (Independent((laplace(0.0),)), Independent((laplace(0.0),) * 2), "must have the same length"),
        (Independent((laplace(0.0),)), Independent((response(0),)), "Finite in both worlds or have"),
        (branches(1.0), branches(0.5, 0.5), "must have the same branches"),
    ],
)
def test_laws_that_do_not_match_are_refused(world_0: ValueLaw, world_1: ValueLaw, rule: str) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        loss_of_values(world_0, world_1)


@pytest.mark.parametrize("log", [lambda x: x * np.nan, lambda x: x * 0 + np.inf])
def test_what_is_no_log_density_is_refused(log: Callable) -> None:
    with pytest.raises(InvalidArgument, match="a log density must be a number or -inf"):
        loss_of_values(laplace(0.0), attrs.evolve(laplace(0.0), log=log))


# --- compositions -------------------------------------------------------------------------------------------


def test_an_invertible_function_loses_nothing() -> None:
    pair = laplace(0.0), laplace(1.0)
    transformed = loss_of_values(*(Transformed(law, inverse=np.negative) for law in pair))
    assert transformed.epsilon == loss_of_values(*pair).epsilon
    doubled = (Transformed(law, lambda values, s=s: s * values) for law, s in zip(pair, (1, 2), strict=True))
    with pytest.raises(InvalidArgument, match="the function of a Transformed must be the same for all data"):
        loss_of_values(*doubled)


def clip(location: float) -> Mixture:
    """Laplace noise of scale 1 around `location`, clipped to [0, 1]."""
    below, above = stats.laplace.cdf(0, location), stats.laplace.sf(1, location)
    inside = 1 - below - above
    between = attrs.evolve(
        laplace(location), log=lambda x: stats.laplace.logpdf(x, location) - np.log(inside), low=0.0, high=1.0
    )
    return Mixture([below, above, inside], (Finite([0.0], [1.0]), Finite([1.0], [1.0]), between))


def test_clipping_noise_at_both_ends_of_the_shift_hides_the_rest() -> None:
    loss = loss_of_values(clip(0.0), clip(1.0))
    assert loss.epsilon == pytest.approx(1.0, abs=1e-9)
    assert loss.delta(0.5).upper == pytest.approx(laplace_delta(0.5, 1.0), abs=1e-3)
    vectors = loss_of_values(*(Independent((clip(0.0), clip(place))) for place in (0.0, 1.0)))
    assert vectors.epsilon == pytest.approx(1.0, abs=1e-9)


def test_a_distribution_of_ones_own_cannot_be_integrated() -> None:
    class Own(ValueLaw):
        def log_density(self, values: np.ndarray) -> np.ndarray:
            return np.zeros(len(values))

    with pytest.raises(InvalidArgument, match="likelihood ratios need no more than log_density"):
        loss_of_values(Own(), Own())
