"""Certificates of one run: what they say, what they refuse, and audits by training once."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from mutants.training.learners import NoiseWithoutClip
from support.simple_players import Scripted

import audits
from adversaries.training.canaries import PlantedCanaries
from arena import Advance, InvalidArgument, Moves, ProtocolViolation, Sample, TrainWithCanaries, Unsupported
from arena.privacy_curves import GaussianCurve
from learners.training.dp_sgd import DPSGD


def draw(m: int = 1_000, mu: float = 1.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    bits = rng.integers(2, size=m)
    return rng.standard_normal(m) + mu * bits, bits


def test_certificate_says_what_was_guessed_and_what_follows() -> None:
    certificate = audits.certify_one_run(*draw(), delta=1e-5, epsilon=1.0)
    assert 1.5 < certificate.epsilon_lower < certificate.ceiling
    assert (certificate.canaries, certificate.guesses, certificate.refuted) == (1_000, 160, True)
    assert certificate.curve_epsilon_lower is None
    assert "160 right, of the most extreme scores" in certificate.summary()
    assert json.loads(json.dumps(certificate.to_dict()))["curve"] is None


def test_a_curve_gives_a_second_bound_and_both_share_the_error() -> None:
    scores, bits = draw()
    curve = GaussianCurve.of_claim(4.0, 1e-5)
    alone = audits.certify_one_run(scores, bits, delta=1e-5)
    both = audits.certify_one_run(scores, bits, delta=1e-5, curve=curve)
    assert both.epsilon_lower < alone.epsilon_lower < (both.curve_epsilon_lower or 0.0)
    assert alone.refuted is None
    assert audits.certify_one_run(scores, bits, delta=1e-5, curve=GaussianCurve(0.3)).refuted
    assert both.to_dict()["curve"]["mu"] == curve.mu
    assert both.curve_lower is not None
    assert both.curve_lower.epsilon(1e-5) == both.curve_epsilon_lower
    assert both.to_dict()["curve_lower"]["mu"] == both.curve_lower.mu < 1.5
    assert f"that of {both.curve_lower} is false" in both.summary()
    assert str(both.curve_lower) in both.headline
    nothing = audits.certify_one_run(*draw(mu=0.0), delta=1e-5, curve=curve)
    assert (nothing.curve_lower, nothing.curve_epsilon_lower) == (None, 0.0)
    assert "no privacy curve of this family below" in both.summary()


@pytest.mark.parametrize(
    ("scores", "included", "settings", "message"),
    [
        ([0.1, float("nan")] * 10, [0, 1] * 10, {}, "scores must not contain NaN. Score a canary"),
        ([0.1, 0.2] * 10, [0, 1] * 9, {}, "one entry for each canary, got '20 and 18'"),
        ([0.1, 0.2] * 10, [0, 2] * 10, {}, "included must hold 0 and 1 only, got 2.0"),
        ([0.1, 0.2], [0, 1], {}, "at least 10 canaries, got 2"),
        ([0.1, 0.2] * 50, [1] * 100, {}, "100 of 100 are included, which fair coins do with probability"),
        ([0.1, 0.2] * 500, [1, 0, 0, 0] * 250, {}, "250 of 1,000 are included"),
        ([0.1, 0.2] * 500, [0, 1] * 500, {}, "the bit changes 999 times in a list of 1,000"),
        ([0.1, 0.2] * 10, [0, 1] * 10, {"curve": 1.0, "delta": 0.1}, "must be a privacy curve"),
        ([0.1, 0.2] * 10, [0, 1] * 10, {"curve": GaussianCurve(1.0), "delta": 0.0}, "no finite ε"),
    ],
)
def test_bad_input_is_refused(scores: Any, included: Any, settings: Any, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        audits.certify_one_run(scores, included, **settings)
    assert message in str(refused.value)


def test_a_list_may_be_sorted_by_the_coins() -> None:
    scores, bits = draw(mu=2.0)
    order = np.argsort(bits)
    certificate = audits.certify_one_run(np.array(scores)[order], np.array(bits)[order])
    assert certificate.epsilon_lower == audits.certify_one_run(scores, bits).epsilon_lower


TWO = DPSGD(features=2, noise=4.0)
PEOPLE = (np.eye(2)[[0, 1] * 50], [0, 1] * 50)
SETTINGS = {"features": 402, "size": 100, "batch": 100, "steps": 10, "noise": 4.0}


def test_a_training_run_keeps_its_claim_and_is_no_trivial_audit() -> None:
    certificate = audits.audit_one_run("dp-sgd", data=PEOPLE, canaries=400, settings=SETTINGS)
    assert certificate.refuted is False
    assert 0.3 < (certificate.curve_epsilon_lower or 0.0) < (certificate.epsilon or 0.0)


def test_zeroed_canaries_are_blank_examples() -> None:
    settings = SETTINGS | {"neighbours": "zero out one", "sampling": "fixed", "features": 202}
    certificate = audits.audit_one_run("dp-sgd", data=PEOPLE, canaries=400, settings=settings)
    assert certificate.refuted is False


def test_a_learner_with_too_little_noise_is_refuted_and_its_twin_is_not() -> None:
    broken = NoiseWithoutClip(**SETTINGS)
    assert audits.audit_one_run(broken, data=PEOPLE, canaries=400).refuted
    assert audits.audit_one_run(broken.twin, data=PEOPLE, canaries=400).refuted is False


class Meddler(PlantedCanaries):
    """Takes the noise from the learner whose configuration it is given."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        object.__setattr__(self.learner, "noise", 0.5)
        return super().play(games, rng)


def test_an_adversary_has_no_hold_of_the_learner() -> None:
    learner = DPSGD(**SETTINGS)
    sample = Sample(*PEOPLE)
    certificate = audits.audit_one_run(learner, Meddler(sample=sample, learner=learner), canaries=400)
    assert certificate.refuted is False


def score_all(score: Any) -> Scripted:
    """An adversary of one run that returns this."""

    def make(games: int, rng: np.random.Generator) -> Moves:
        yield TrainWithCanaries(Sample(*PEOPLE), Sample(np.ones((games, 2)), np.zeros(games, int)))
        yield Advance()
        return score

    return Scripted(make, protocols=("OneRun",))


@pytest.mark.parametrize(
    ("learner", "against", "given", "error", "message"),
    [
        (DPSGD(**SETTINGS | {"features": 2}), "planted-canaries", {}, InvalidArgument, "needs features"),
        (DPSGD(**SETTINGS | {"hidden": 2}), "planted-canaries", {}, Unsupported, "in linear models only"),
        (DPSGD(**SETTINGS | {"sampling": "fixed"}), "planted-canaries", {}, Unsupported, "other neighbours"),
        (TWO, "planted-canaries", {"data": None}, InvalidArgument, "planted-canaries needs data"),
        ("dp-sgd", "planted-canaries", {"canaries": 9}, InvalidArgument, "canaries must be at least 10"),
        (TWO, "planted-canaries", {"seed": -1}, InvalidArgument, "seed must be at least 0, got -1"),
        ("laplace-count", "planted-canaries", {}, InvalidArgument, "laplace-count does not play TrainingRun"),
        (TWO, "gradient-canary", {}, InvalidArgument, "gradient-canary does not play OneRun"),
        (TWO, score_all(None), {"data": None}, InvalidArgument, "scripted returns no scores"),
        (TWO, score_all([0.0]), {"data": None}, ProtocolViolation, "one number for each game"),
    ],
)
def test_what_cannot_be_audited_is_refused(
    learner: Any, against: Any, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        audits.audit_one_run(learner, against, **{"data": PEOPLE, "canaries": 400} | given)


def test_an_audit_of_independent_games_refuses_one_run() -> None:
    with pytest.raises(InvalidArgument, match="share one run, and an audit needs independent ones"):
        audits.audit(DPSGD(**SETTINGS), "planted-canaries", data=PEOPLE)
