"""`audits.audit_one_run`: a learner is trained once on data with many canaries, whose presence is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena import InvalidArgument, OneRun, play
from arena.randomness import block_seed
from arena.settings import at_least, check_value, whole
from audits.api.arguments import split_settings
from audits.api.one_run import OneRunCertificate, certify_one_run
from audits.registry.given_players import GivenAdversary, GivenLearner, copy_learner, read_sample
from audits.registry.match import Match, build_match
from audits.registry.suggestions import explain_arguments
from audits.registry.tested_claim import check_protected, read_claim
from audits.statistics.one_run import MIN_CANARIES


@explain_arguments
def audit_one_run(
    learner: GivenLearner,
    against: GivenAdversary = "planted-canaries",
    *,
    data: Any = None,
    canaries: int = 1_000,
    seed: int = 0,
    confidence: float = 0.95,
    settings: Mapping[str, Any] | None = None,
) -> OneRunCertificate:
    """Train a learner once, on data and about half of many canaries, and test its claim by guessing which.

    The game is `arena.OneRun`: the referee tosses a coin for each canary, and the adversary chooses the
    canaries and scores them by the models that it sees. By default they lie along features that the data do
    not have, so a linear model, as that of `dp-sgd`, needs more features than the data.

    learner, against, settings: as in `audits.audit`. data: points and labels, or a `Sample`. canaries: m. The
    result is that of `certify_one_run` for the learner's claim.

    Raises: InvalidArgument; Unsupported if the claim does not say what adding, removing or zeroing out an
    example costs; the errors of `arena.play`.

    >>> import numpy as np
    >>> people = (np.eye(2)[[0, 1] * 50], [0, 1] * 50)
    >>> settings = {"features": 502, "size": 100, "batch": 100, "steps": 20, "noise": 1.0}
    >>> audit_one_run("dp-sgd", data=people, canaries=500, settings=settings).refuted
    False
    """
    sample = None if data is None else read_sample("data", data)
    match = build_match(
        learner,
        against,
        settings=split_settings(settings),
        data=sample,
        protocol=OneRun.name,
        rounds=None,
    )
    return certify_match(match, canaries=canaries, seed=seed, confidence=confidence)


def certify_match(match: Match, *, canaries: int, seed: int, confidence: float) -> OneRunCertificate:
    """Play one run with so many canaries, and test the learner's claim. Errors as of `audit_one_run`."""
    check_value("canaries", canaries, whole, at_least(MIN_CANARIES))
    claim, learner = read_claim(match.learner), copy_learner(match.learner)
    played = play(learner, match.adversary, match.referee, games=canaries, seed=block_seed(seed, 0))
    check_protected(played.challenges, learner, match.adversary)
    if played.score is None:
        raise InvalidArgument(
            f"{match.adversary.name} returns no scores, so no canary can be guessed",
            remedy="Let play() return one for each canary.",
        )
    return certify_one_run(
        played.score,
        played.worlds,
        delta=claim.delta,
        confidence=confidence,
        epsilon=claim.epsilon if claim.curve is None else None,
        curve=claim.curve,
    )
