"""Broken everlasting-fresh learners are refuted, and the learner itself is not."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from mutants.broken_everlasting_fresh import EVERY, QUIET, RARE, CountsKinds, FirstShare, LeaksQueries
from support.simple_players import NamedByClass

from adversaries.common.training_samples import build_separable_sample
from adversaries.figure1.query_swap import UnlabelledSwap
from arena import Adversary, Figure1, Learner, Moves, Queries, Query, Train, Unlabelled
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from learners.everlasting.everlasting_v2 import EverlastingFresh

CONFIDENCE = 1 - 1e-6


def as_(kind: type[EverlastingFresh], spec: EverlastingFresh, **changes: Any) -> EverlastingFresh:
    same = {field.name: getattr(spec, field.name) for field in attrs.fields(EverlastingFresh)}
    return kind(**(same | changes))


@attrs.frozen
class BeforeThePool(NamedByClass, Adversary):
    """A query differs, and comes before all unlabelled points; the score is the number of later answers 1."""

    protocols = ("Figure1",)

    learner: Learner

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(build_separable_sample(self.learner))
        yield Query(0.0, 1.0)
        yield Query(0.0)
        yield Unlabelled(np.zeros(40))
        reply = yield Queries(np.ones(8))
        return (reply.label == 1).sum(axis=1)


def run_audit(
    learner: EverlastingFresh, adversary: Adversary, claim: tuple[float, float], games: int = 20_000
) -> Verdict:
    return run(
        Plan(
            learner=learner,
            adversary=adversary,
            referee=Figure1(),
            epsilon=claim[0],
            delta=claim[1],
            confidence=CONFIDENCE,
            games=games,
            until_refuted=True,
        )
    )


def own(spec: EverlastingFresh) -> tuple[float, float]:
    return spec.claim.epsilon, spec.claim.delta


CASES = [
    (FirstShare, RARE, lambda spec: UnlabelledSwap(learner=spec, probes=32), own),
    (CountsKinds, QUIET, lambda spec: UnlabelledSwap(learner=spec, probes=8), own),
    (LeaksQueries, EVERY, BeforeThePool, lambda spec: (0.01, 0.0)),
]
NAMES = [kind.name for kind, *_ in CASES]


@pytest.mark.parametrize(("kind", "spec", "made", "claim"), CASES, ids=NAMES)
def test_the_mutant_is_refuted(kind: Any, spec: Any, made: Any, claim: Any) -> None:
    broken = as_(kind, spec)
    assert broken.claim == spec.claim
    assert run_audit(broken, made(broken), claim(spec)).refuted


@pytest.mark.parametrize(("kind", "spec", "made", "claim"), CASES, ids=NAMES)
def test_the_learner_itself_is_not(kind: Any, spec: Any, made: Any, claim: Any) -> None:
    assert not run_audit(spec, made(spec), claim(spec), games=4_000).refuted
