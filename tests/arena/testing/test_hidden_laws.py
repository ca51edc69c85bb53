"""Wrong output distributions whose single outcomes, coordinates and pairs are right are noticed, too.

What is not compared is said first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from mutants import hidden_laws
from mutants.declared_laws import NoisyShare, exponential
from mutants.wrong_laws import gaussian_density

import audits
from adversaries.release.point_swap import CountSwap
from arena import Finite, Independent, Mixture, NotConforming, Release, Sample
from arena.laws import Branches, Transformed, ValueLaw
from arena.testing.laws.goodness_of_fit import check_events
from arena.testing.laws.uniform_events import list_uniform_events
from arena.testing.laws.value_events import is_possible, list_value_events
from audits.exact_loss import exact
from audits.exact_loss.exact_audit import check_declared_law
from learners.releases.counts import LaplaceCount

REFUSED = (
    "its (values|answers|hypotheses) (follow|are possible by) the (output )?distribution that it declares"
)
MANY = {  # of which 500 games are too few
    "the parity of four of 16 bits, in a twentieth of the games",
    "a value far in the tail",
    "a value of probability 0",
    "a value outside of the support",
    "a value without noise in one of 5,000 games",
    "ten times the noise in one of 5,000 games",
    "a value that repeats an earlier one",
    "two tails that go together",
    "a weak parity of the signs two and five before",
    "one sign for all noises in one of 500 games",
    "1 after nine answers 0",
    "1 after a pattern of eight answers",
    "1 where a query is asked for the third time, after the answer 1",
}


def _mark(flaws: Iterable[str]) -> list[Any]:
    marks = {True: pytest.mark.slow, False: pytest.mark.thorough}
    return [pytest.param(flaw, marks=marks[flaw in MANY]) for flaw in flaws]


@pytest.mark.parametrize("flaw", _mark(hidden_laws.VALUES))
def test_hidden_flaws_of_values_are_noticed(flaw: str) -> None:
    with pytest.raises(NotConforming, match=REFUSED):
        check_declared_law(hidden_laws.VALUES[flaw], CountSwap(), Release())


@pytest.mark.parametrize("flaw", _mark(hidden_laws.ANSWERS))
def test_hidden_flaws_of_answers_are_noticed(flaw: str) -> None:
    learner = hidden_laws.ANSWERS[flaw]
    with pytest.raises(NotConforming, match=REFUSED):
        audits.solve(learner, "training-swap", rounds=learner.answers)


@pytest.mark.parametrize("flaw", _mark(hidden_laws.HYPOTHESES))
def test_hidden_flaws_of_hypotheses_are_noticed(flaw: str) -> None:
    learner = hidden_laws.HYPOTHESES[flaw]
    with pytest.raises(NotConforming, match=REFUSED):
        audits.solve(learner, rounds=learner.rounds)


@pytest.mark.parametrize(("size", "places"), [(6, (0, 2, 5)), (12, (0, 3, 4, 11)), (17, (1, 2, 9, 13, 16))])
def test_parities_of_several_bits_are_seen_in_few_games(
    size: int, places: tuple[int, ...], rng: np.random.Generator
) -> None:
    *others, last = places
    columns = rng.random((400, size))
    even = (columns[:, others] > 0.5).sum(axis=1) % 2
    columns[:, last] = (columns[:, last] + even) / 2
    with pytest.raises(NotConforming):
        check_events("name", "rule", list_uniform_events(columns, rng), games=400, rate=1e-9)


def _uniform() -> ValueLaw:
    law = hidden_laws.VALUES["a value outside of the support"].tell(0.0)
    assert isinstance(law, Independent)
    return law.parts[0]


@pytest.mark.parametrize(
    ("law", "value", "possible"),
    [
        (_uniform(), [np.nextafter(1.0, 2.0)], True),
        (_uniform(), [-1e-12], True),
        (_uniform(), [1.0 + 1e-6], False),
        (Independent((_uniform(), _uniform())), [[-1e-17, 1.0 + 1e-15]], True),
        (Independent((_uniform(), _uniform())), [[0.5, 1.1]], False),
        (Transformed(_uniform(), inverse=lambda values: values / 3), [3 * 1.1], False),
        (Mixture([0.5, 0.5], [_uniform(), exponential()]), [7.0], True),
        (Mixture([0.5, 0.5], [_uniform(), exponential()]), [-1.0], False),
        (Finite([0, 1], [1.0, 0.0]), [1], False),
        (
            Branches(parts=(0.5, exponential(share=0.5)), read=lambda v: ((v >= -1e-11).astype(int), v)),
            [-1e-12],
            True,
        ),
    ],
)
def test_rounding_at_the_edge_of_a_support_is_no_breach(
    law: ValueLaw, value: list[Any], possible: bool
) -> None:
    assert is_possible(law, np.array(value)).tolist() == [possible]


def test_densities_of_many_coordinates_do_not_underflow(rng: np.random.Generator) -> None:
    """Each part of the mixture has density e**-800 or less where the other has its values."""
    parts = [Independent((gaussian_density(mean, 1.0),) * 6) for mean in (0.0, 20.0)]
    values = rng.standard_normal((300, 6)) + 20.0 * (rng.random((300, 1)) < 0.5)
    sums = list_value_events("name", Mixture([0.5, 0.5], parts), values)
    check_events("name", "rule", sums, games=300, rate=1e-6)


def test_one_impossible_value_refutes() -> None:
    learner = hidden_laws.WrongValues(
        draw=lambda count, games, rng: np.where(np.arange(games) == 3, 2.0, rng.integers(2, size=games)),
        tell=lambda count: Finite([0, 1, 2], [0.5, 0.5, 0.0]),
    )
    with pytest.raises(
        NotConforming, match="2 has the declared probability 0, and such values occur in 1 of"
    ):
        exact(learner, CountSwap(), Release())


@pytest.mark.thorough
def test_an_answer_of_probability_zero_with_which_a_game_ends_refutes() -> None:
    with pytest.raises(NotConforming, match="answer 1, halting in round 3 has the declared probability 0"):
        audits.solve(hidden_laws.HALTING, "training-swap", rounds=4)


def test_a_distribution_that_is_wrong_at_other_sizes_is_noticed_there() -> None:
    learner = NoisyShare(noise=10)  # right for ten examples alone
    small, large = (CountSwap(sample=Sample([0.0], [0], [size])) for size in (10, 40))
    exact(learner, small, Release())
    with pytest.raises(NotConforming, match="its values follow"):
        exact(learner, large, Release())


@pytest.mark.thorough
def test_what_is_too_rare_is_accepted_on_that_condition() -> None:
    """One history of 2,048 is too rare to be seen in the games of a comparison."""
    learner = hidden_laws.RARE
    first = re.split(r"\.\s", audits.solve(learner, "training-swap", rounds=learner.answers).explain())[0]
    assert "if the declared output distribution is right" in first
    assert "would not have been noticed" in first


@pytest.mark.thorough
def test_the_first_sentence_says_what_would_not_have_been_noticed() -> None:
    result = exact(LaplaceCount(), CountSwap(), Release())
    first = re.split(r"\.\s", result.explain())[0]
    assert "the claim holds if the declared output distribution is right" in first
    assert "500 games in each world" in first
    assert f"and of up to {result.comparison.deviation:.2g} in the others" in first
    assert "would not have been noticed" in first
    assert all(way.name in first for way in result.comparison.ways)
    assert result.error >= result.comparison.deviation > 0.05
    assert "if its declared output distribution is right" in result.headline


@pytest.mark.thorough
def test_a_proof_is_conditional_on_the_declared_distribution() -> None:
    solution = audits.solve("noisy-votes", rounds=1, settings={"size": 5, "epsilon": 1.0, "answers": 1})
    first = re.split(r"\.\s", solution.explain())[0]
    assert "the claim holds if the declared output distribution is right" in first
    assert "would not have been noticed" in first
    assert solution.error >= solution.comparison.deviation > 0.05
    assert math.isclose(solution.to_dict()["error"], solution.error)
