"""Audits of claims that are privacy curves, from the plan to the ledger and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from scipy.special import ndtr, ndtri
from support.command_line import Command
from support.processes import interrupt_at

import audits
from adversaries.training.canaries import GradientCanaryAttack
from arena import InvalidArgument, TrainingRun
from arena.privacy_curves import GaussianCurve, NoisyStepsCurve, describe_curve, parse_curve, read_curve
from audits.reports.json_form import to_data
from audits.runs.plan import Plan, PlanSettings
from audits.runs.run import run
from audits.runs.run_history import read_history
from audits.statistics.estimates import TRADE_OFF
from learners.releases.counts import GaussianCount
from learners.training.dp_sgd import DPSGD

LEARNER = DPSGD(size=4, batch=4, steps=4, noise=2.0)  # whose curve is Gaussian
SUBSAMPLED = DPSGD(size=20, batch=4, steps=5, noise=1.0)


def make_plan(learner: DPSGD = LEARNER, **settings: Any) -> Plan:
    claim = learner.claim
    settings = {"epsilon": claim.epsilon, "delta": claim.delta, "games": 2_000} | settings
    adversary = GradientCanaryAttack(learner=learner)
    return Plan(learner=learner, adversary=adversary, referee=TrainingRun(), **settings)


@pytest.mark.thorough
def test_the_learners_own_claim_is_tested_with_its_curve() -> None:
    verdict = run(make_plan(SUBSAMPLED))
    assert not verdict.refuted
    assert verdict.claim.curve == NoisyStepsCurve(0.2, 1.0, 5, slack=verdict.claim.curve.slack)  # type: ignore[union-attr]
    assert verdict.curve_epsilon_lower is not None
    assert verdict.epsilon_lower < verdict.curve_epsilon_lower < verdict.claim.epsilon
    assert "with the privacy curve of 5 noisy sums with rate 0.2 and noise multiplier 1" in verdict.summary()
    assert to_data(verdict)["claim"]["curve"]["sigma"] == 1.0


def test_another_claim_has_no_curve() -> None:
    plan = make_plan(epsilon=1.0)
    assert plan.curve is None
    assert "curve" not in plan.describe()
    verdict = run(plan)
    assert verdict.curve_epsilon_lower is None
    assert "for its curve" not in verdict.summary()


COUNT = GaussianCount(sigma=2.0)  # μ = 0.5, and so ρ = 0.125


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("false", "true"), [("mu=0.4", "mu=0.5"), ("rho=0.09", "rho=0.125"), ("rdp=1.5,0.13", "rdp=1.5,0.1875")]
)
def test_a_given_curve_is_tested_in_place_of_the_learners_own(false: str, true: str) -> None:
    refuted = audits.audit(COUNT, curve=false, games=40_000)
    assert refuted.refuted
    assert refuted.claim.curve == parse_curve(false)
    assert not audits.audit(COUNT, curve=true, games=40_000).refuted
    found = refuted.to_dict()
    assert found["claim"]["curve"] == to_data(parse_curve(false))
    certified = read_curve({name: value for name, value in found["curve_lower"].items() if name != "text"})
    assert certified == refuted.curve_lower
    assert str(certified) in refuted.summary()


@pytest.mark.thorough
def test_a_ledger_of_a_given_curve_can_be_continued_and_read(tmp_path: Path) -> None:
    """The first run stops after half of its blocks."""
    path = tmp_path / "run.ledger"

    with pytest.raises(audits.Interrupted):
        audits.audit(COUNT, curve="rho=0.1", games=40_000, ledger=path, progress=interrupt_at(10_001))
    whole = audits.audit(COUNT, curve="rho=0.1", games=40_000, ledger=path)
    assert 0 < whole.played_now < 40_000
    fresh = audits.audit(COUNT, curve="rho=0.1", games=40_000)
    assert whole.curve_lower == fresh.curve_lower
    assert read_history(path).verdict.curve_lower == fresh.curve_lower
    with pytest.raises(InvalidArgument, match="another plan"):
        audits.audit(COUNT, curve="rho=0.11", games=40_000, ledger=path)


@pytest.mark.thorough
def test_assertions_and_the_search_test_a_given_curve() -> None:
    with pytest.raises(audits.NotPrivate, match=r"for its privacy curve, that of the Gaussian mechanism"):
        audits.assert_private(COUNT, claim=GaussianCurve(0.3), against="count-swap", games=40_000)
    audits.assert_private(COUNT, claim="mu=0.5", against="count-swap", games=40_000)
    report = audits.search(COUNT, curve="mu=0.3", error=0.01)
    assert report.refuted
    assert report.plan.given_curve == GaussianCurve(0.3)


@pytest.mark.thorough
def test_the_command_line_takes_a_curve_and_replays_it() -> None:
    command = Command(
        "audit", "gaussian-count", "--against", "count-swap", "--set", "sigma=2", "--games", "4e4", "--json"
    )
    done = command("--curve", "rho=0.08")
    assert done.exit_code == 3
    printed = json.loads(done.stdout)
    assert printed["claim"]["curve"]["rho"] == 0.08
    assert "--curve rho=0.08" in printed["command"]
    with pytest.raises(audits.NotPrivate) as caught:
        audits.assert_private(COUNT, claim="rho=0.05", against="count-swap", games=40_000)
    assert "--curve rho=0.05 --delta 0.0068" in caught.value.replay


@pytest.mark.parametrize(
    ("curve", "settings", "rule"),
    [
        ("mu=0", {}, "mu must be more than 0"),
        ("mu=1", {"epsilon": 1.0}, "not both"),
        ("mu=1e-9", {}, "no finite ε above 0"),
        ("nothing", {}, "a claim must be"),
        (3.0, {}, "a claim must be"),
    ],
)
def test_a_given_curve_that_makes_no_sense_is_refused(
    curve: Any, settings: dict[str, float], rule: str
) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        audits.audit(COUNT, curve=curve, **settings)


@pytest.mark.thorough
def test_noise_that_is_too_small_is_refuted_by_the_curve_first() -> None:
    """The claim is that of a noise of 2.5; by (ε, δ) alone 2,000 games would not refute it."""
    weak = make_plan()
    claimed = attrs.evolve(LEARNER, noise=2.5).claim

    class Lies(DPSGD):
        @property
        def claim(self) -> Any:
            return claimed

    liar = Lies(**attrs.asdict(LEARNER))
    verdict = run(attrs.evolve(weak, learner=liar, epsilon=claimed.epsilon))
    assert verdict.refuted
    assert verdict.epsilon_lower < claimed.epsilon <= (verdict.curve_epsilon_lower or 0.0)
    assert "the claim is false" in verdict.summary()


@pytest.mark.thorough
def test_a_ledger_gives_the_same_figures(tmp_path: Path) -> None:
    ledger = tmp_path / "run.ledger"
    verdict = run(make_plan(), ledger=ledger)
    history = read_history(ledger)
    stored = attrs.evolve(history.verdict, estimates=None)
    curves = next(row.details[TRADE_OFF] for row in history.verdict.estimates or () if row.details)
    assert curves is not None
    exact = GaussianCurve(1.0)  # 1 − β = Φ(Φ⁻¹(α) + μ)
    allowed = ndtr(-ndtri(curves.alpha[1:-1]) - exact.mu)
    assert curves.allowed[1:-1] == pytest.approx(allowed, abs=0.02)
    assert attrs.evolve(stored, played_now=verdict.played_now, seconds=verdict.seconds) == verdict


def test_too_few_games_are_said_to_be_too_few() -> None:
    verdict = run(make_plan(games=4))
    assert not verdict.refutable
    assert "So few games could not refute it" in verdict.summary()


@pytest.mark.parametrize(
    ("curve", "rule"),
    [
        (5, "a privacy curve must be of a known kind"),
        ({"kind": "unknown"}, "a privacy curve must be of a known kind"),
        ({"kind": "Gaussian", "mu": 1.0}, "a Gaussian curve has other entries"),
        ({"kind": "Gaussian", "mu": -1.0, "slack": 0.0}, "mu must be more than 0"),
        ({"kind": "Gaussian", "mu": 1.0, "slack": -0.1}, "slack must be at least 0"),
        ({"kind": "Gaussian", "mu": "1", "slack": 0.0}, "mu must be a number"),
        ({**describe_curve(NoisyStepsCurve(0.5, 1.0, 3)), "times": 2.5}, "times must be an integer"),
        ({**describe_curve(NoisyStepsCurve(0.5, 1.0, 3)), "rate": 2.0}, "rate must be at most 1"),
        ({**describe_curve(NoisyStepsCurve(0.5, 1.0, 3)), "slack": float("nan")}, "slack must be at least 0"),
    ],
)
def test_a_forged_curve_is_refused(curve: object, rule: str) -> None:
    plan = make_plan().describe() | {"curve": curve}
    with pytest.raises(InvalidArgument, match=rule):
        PlanSettings.read_stored(plan)


@pytest.mark.parametrize("curve", [GaussianCurve(0.3), NoisyStepsCurve(0.1, 2.0, 7, 2.0, True, 1e-9)])
def test_a_curve_is_read_as_it_was_described(curve: GaussianCurve | NoisyStepsCurve) -> None:
    assert read_curve(describe_curve(curve)) == curve
