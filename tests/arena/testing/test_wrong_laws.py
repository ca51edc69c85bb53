"""No figure is computed from an output distribution that games do not follow."""

from __future__ import annotations

import numpy as np
import pytest
from mutants import wrong_laws

import audits
from adversaries.release.point_swap import CountSwap
from arena import NotConforming, Release
from audits.exact_loss import exact
from audits.runs.plan import LIKELIHOOD, Plan
from audits.runs.run import run
from learners.mechanisms.noise import laplace_density

pytestmark = pytest.mark.thorough  # a comparison plays 200,000 games in each world


@pytest.fixture(autouse=True)
def long_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many games as outside of tests."""
    monkeypatch.setattr("arena.testing.laws.comparison.MOST_GAMES", 200_000)


LONG = {  # over 4 s
    "a correlation of 0.06 of eight coordinates",
    "noise of one magnitude with signs of its own",
    "the first and the last coordinate share their noise",
    "two coordinates have opposite noise",
}


@pytest.mark.parametrize(
    "flaw",
    [pytest.param(flaw, marks=[pytest.mark.slow] * (flaw in LONG)) for flaw in wrong_laws.VALUES],
)
def test_wrong_distributions_of_values_are_noticed(flaw: str) -> None:
    learner = wrong_laws.VALUES[flaw]
    with pytest.raises(NotConforming, match="its values follow the output distribution that it declares"):
        exact(learner, CountSwap(), Release())


@pytest.mark.parametrize(
    ("draw", "found"),
    [
        (lambda count, games, rng: np.where(rng.random(games) < 0.01, np.nan, count), "nan has none"),
        (lambda count, games, rng: np.zeros((games, 2)), r"of values of shape \(2,\) it raised ValueError"),
    ],
)
def test_values_without_a_density_are_named(draw: wrong_laws.Draw, found: str) -> None:
    learner = wrong_laws.WrongValues(draw=draw, tell=lambda count: laplace_density(count, wrong_laws.SCALE))
    with pytest.raises(NotConforming, match=found):
        exact(learner, CountSwap(), Release())


@pytest.mark.parametrize("flaw", wrong_laws.RATIOS)
def test_no_likelihood_ratio_is_of_a_wrong_distribution(flaw: str) -> None:
    plan = Plan(
        learner=wrong_laws.RATIOS[flaw],
        adversary=CountSwap(),
        referee=Release(),
        epsilon=1.0,
        delta=0.0,
        games=100,
        distinguisher=LIKELIHOOD,
    )
    with pytest.raises(NotConforming, match="its values follow the output distribution that it declares"):
        run(plan)


@pytest.mark.parametrize("flaw", wrong_laws.ANSWERS)
def test_wrong_distributions_of_answers_are_noticed(flaw: str) -> None:
    learner = wrong_laws.ANSWERS[flaw]
    with pytest.raises(NotConforming, match="its answers follow the output distribution that it declares"):
        audits.solve(learner, rounds=learner.answers)


@pytest.mark.parametrize("flaw", wrong_laws.HYPOTHESES)
def test_wrong_distributions_of_hypotheses_are_noticed(flaw: str) -> None:
    learner = wrong_laws.HYPOTHESES[flaw]
    with pytest.raises(NotConforming, match="its hypotheses follow the output distribution that it declares"):
        audits.solve(learner, rounds=learner.rounds)
