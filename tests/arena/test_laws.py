"""The laws that learners tell."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from arena import Branches, Density, Finite, Independent, InvalidArgument, Mixture, project
from arena.laws import simplify_laws
from arena.released.encoding import encode_values
from audits.exact_loss.view_laws import loss_of_values


def laplace(location: float, share: float = 1.0) -> Density:
    return Density(
        log=lambda x: np.log(share) + stats.laplace.logpdf(x, location),
        kinks=(location,),
        low=location - 40,
        high=location + 40,
        scale=1.0,
    )


def test_a_finite_distribution_has_its_values_and_no_others() -> None:
    law = Finite([[0, 1], [2, 2], [3, 0]], [0.5, 0.5, 0.0])
    found = law.log_density(np.array([[2.0, 2.0], [9.0, 9.0], [0.0, 1.0], [3.0, 0.0]]))
    assert np.exp(found).tolist() == [0.5, 0, 0.5, 0]


@pytest.mark.parametrize(
    ("values", "probabilities", "rule"),
    [
        ([0, 1], [1.0], "2 values need as many probabilities"),
        ([], [], "0 values need as many probabilities"),
        ([0, 1], [0.5, 0.6], "have sum 1"),
        ([0, 1], [1.5, -0.5], "at least 0"),
        ([0, 1], [np.nan, 1.0], "at least 0"),
        ([1, 1], [0.5, 0.5], "distinct"),
    ],
)
def test_an_invalid_finite_distribution_is_refused(
    values: list[int], probabilities: list[float], rule: str
) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        Finite(values, probabilities)


def test_independent_parts_add_up() -> None:
    law = Independent((laplace(0.0), Finite([0, 1], [0.25, 0.75])))
    found = law.log_density(np.array([[0.5, 1.0], [2.0, 5.0]]))
    assert found[0] == pytest.approx(stats.laplace.logpdf(0.5) + np.log(0.75))
    assert found[1] == -np.inf


def test_branches_are_read_off_the_value() -> None:
    law = Branches(
        parts=(0.25, laplace(1.0, share=0.75)), read=lambda values: ((values > -1000).astype(int), values)
    )
    found = law.log_density(np.array([-1000.0, 3.0]))
    assert found.tolist() == pytest.approx([np.log(0.25), np.log(0.75) + stats.laplace.logpdf(3.0, 1.0)])


def test_a_mixture_of_points_and_a_density_becomes_branches() -> None:
    """Numbers that are points in any of the distributions are points in all."""
    clipped = Mixture([0.25, 0.75], (Finite([2.0], [1.0]), laplace(0.0)))
    dropped = Mixture([0.5, 0.5], (Finite([-1.0], [1.0]), Mixture([1.0], (laplace(1.0),))))
    values = np.array([2.0, -1.0, 0.5])
    first, second = simplify_laws(clipped, dropped)
    assert np.exp(first.log_density(values)) == pytest.approx([0.25, 0, 0.75 * stats.laplace.pdf(0.5)])
    assert np.exp(second.log_density(values)) == pytest.approx([0, 0.5, 0.5 * stats.laplace.pdf(-0.5)])


def test_mixtures_of_one_kind_stay_of_that_kind() -> None:
    (finite,) = simplify_laws(Mixture([0.5, 0.5], (Finite([0, 1], [0.5, 0.5]), Finite([1, 2], [0.5, 0.5]))))
    assert isinstance(finite, Finite)
    assert finite.probabilities.tolist() == [0.25, 0.5, 0.25]
    (density,) = simplify_laws(Mixture([0.5, 0.5], (laplace(0.0), laplace(3.0))))
    assert isinstance(density, Density)
    assert density.kinks == (0.0, 3.0)


def test_a_mixture_of_vectors_has_a_density() -> None:
    one, other = (Independent((laplace(place), laplace(place))) for place in (0.0, 2.0))
    values = np.array([[0.0, 1.0], [5.0, -5.0]])
    mixed = np.exp(Mixture([0.25, 0.75], (one, other)).log_density(values))
    assert mixed == pytest.approx(
        0.25 * np.exp(one.log_density(values)) + 0.75 * np.exp(other.log_density(values))
    )


def test_projections() -> None:
    pair = Independent((laplace(0.0), Finite([0, 1], [0.25, 0.75])))
    assert project(pair, [1]).log_density(np.array([[1.0]])) == pytest.approx(np.log([0.75]))
    grid = Finite([[0, 1], [1, 1], [1, 2]], [0.25, 0.25, 0.5])
    shown = project(Mixture([0.5, 0.5], (grid, grid)), lambda values: values[:, 0])
    assert np.exp(shown.log_density(np.array([0, 1]))) == pytest.approx([0.25, 0.75])
    with pytest.raises(InvalidArgument, match="a projection needs a Finite and a function"):
        project(laplace(0.0), [0])


@pytest.mark.parametrize("weights", [[0.5, 0.6], [1.0], [1.5, -0.5]])
def test_weights_of_a_mixture_are_checked(weights: list[float]) -> None:
    with pytest.raises(InvalidArgument, match="weights"):
        Mixture(weights, (laplace(0.0), laplace(1.0)))


def test_a_distribution_of_releases_of_several_shapes() -> None:
    """Densities do not depend on the longest release of a batch."""
    values = [None, 2.5, [1.0], [1.0, 2.0], {"a": 1.0}]
    law = Finite(values, [0.1, 0.2, 0.3, 0.25, 0.15])
    for batch in (values, values[:1], values[:3], values[2:3], values[3:], [[1.0, 2.0], [1.0] * 9]):
        density = np.exp(law.log_density(encode_values(batch)))
        possible = [law.probabilities[values.index(value)] if value in values else 0.0 for value in batch]
        assert density == pytest.approx(possible)
    scalars = Finite([None, 2.5], [0.4, 0.6])
    assert np.exp(scalars.log_density(encode_values([2.5, [2.5], "a"]))).tolist() == pytest.approx(
        [0.6, 0, 0]
    )


def test_the_loss_between_releases_of_several_shapes() -> None:
    one, other = Finite([[1.0], None], [0.5, 0.5]), Finite([[1.0], [1.0, 2.0], None], [0.2, 0.3, 0.5])
    assert loss_of_values(one, other).delta(0.0).upper == pytest.approx(0.3)
