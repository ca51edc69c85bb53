"""Searches with one small budget: mutants must be found with it, and correct learners must pass it."""

from __future__ import annotations

from typing import Any

import attrs
from mutants.figure1.teacher_learners import SUBSET
from mutants.learners import MUTANTS

from arena import Learner
from arena.concepts import Halfspaces, Points, Thresholds
from audits.adversary_search import SearchResult
from audits.adversary_search import search as run_search
from learners.everlasting.everlasting_counter import EverlastingCounter
from learners.everlasting.paper_versions import EverlastingFresh
from learners.halfspaces.dp_winnow import DpWinnow
from learners.lists.private_decision_list import ListChoice, PrivateDecisionList
from learners.online.agnostic_batched import AgnosticBatched
from learners.online.agnostic_experts import LAZY, AgnosticExperts
from learners.online.golowich_livni import GolowichLivni
from learners.online.noisy_majority import NoisyMajority
from learners.online.realizable import RealizableLearner
from learners.pate.independent_answers import PateGaussian
from learners.pate.screening import SparseVector
from learners.pate.student_learners import PateAsq, PatePsq
from learners.pate.teacher import Minimiser
from learners.predictors.vote_predictors import (
    AboveThresholdPredictor,
    BetweenThresholdsPredictor,
    NoisyVotes,
    SteadyThresholdsPredictor,
)
from learners.releases.choices import ExponentialChoice, RandomisedResponse
from learners.releases.counts import GaussianCount, LaplaceCount
from learners.training.dp_sgd import DPFTRL, DPSGD
from learners.training.private_logistic import ObjectivePerturbation, OutputPerturbation
from learners.zoo.counting_queries import NoisyHist1, ZooLaplace
from learners.zoo.noisy_max import ReportNoisyMax1, ReportNoisyMax2
from learners.zoo.svt import Svt1, Svt2

SMALL: dict[str, Any] = {"examples": 120, "pairs": 64}
ERROR = 0.05  # of a search of a correct learner: large enough to be measured


@attrs.frozen
class Correct:
    """A learner whose claim is true, the protocol under which it is searched, and settings of the search."""

    spec: Learner
    protocol: str
    budget: dict[str, Any] = attrs.field(factory=lambda: SMALL, eq=False)

    @property
    def name(self) -> str:
        return self.spec.name

    def search(self, seed: int, *, error: float = ERROR) -> SearchResult:
        """A search that refutes the claim with probability at most `error`."""
        return run_search(self.spec, protocol=self.protocol, seed=seed, error=error, **self.budget)


# Updates come within about fifteen mistakes.
_REALIZABLE = RealizableLearner(
    concepts=Thresholds(range(3)),
    rounds=40,
    epsilon=2,
    delta=0.1,
    beta=0.99,
    nodes=16,
    watching=0.7,
    patience=0.1,
)
_FOREST = GolowichLivni(
    concepts=Thresholds(range(2)), rounds=24, epsilon=2, delta=0.1, nodes=16, switches=2, level=8
)
# Experts move after 6 and 12 rounds.
_EXPERTS = AgnosticExperts(
    concepts=Thresholds(range(2)), rounds=18, stretches=3, epsilon=2, delta=0, share=0.6, threshold=0.5
)
# Two updates, each after a few mistakes.
_WINNOW = DpWinnow(
    concepts=Halfspaces(2, 0.5),
    rounds=24,
    epsilon=2.0,
    delta=0.05,
    watching=0.5,
    updates=2,
    draws=2,
    rate=0.2,
    cached=1,
    threshold=3.0,
)
# One round, which is likely to stop after a dozen answers near a tie.
_COUNTER = EverlastingCounter(
    teachers=3,
    chunk=1,
    training_rate=0.5,
    rate=0.1,
    answers=40,
    rounds=1,
    delta=0.1,
    noise=0.2,
    counter="crossing",
    counter_epsilon=2.0,
    halts=10,
)
_OF_POINTS = Minimiser(Points(range(3)))
# Two rounds: two answers, of which eight more follow what a few fresh points teach.
_FRESH = EverlastingFresh(
    teachers=4, chunk=1, training_rate=0.1, rate=0.2, answers=2, noise=0.5, pool=10, rounds=2
)
# Four steps with so much δ that a few games come close to the claim.
_SGD = DPSGD(size=8, batch=2, steps=4, noise=1.5, delta=0.02)
TRAINING = (
    Correct(_SGD, "TrainingRun"),
    Correct(attrs.evolve(_SGD, neighbours="zero out one"), "TrainingRun"),
    Correct(attrs.evolve(_SGD, sampling="fixed"), "TrainingRun"),
    Correct(attrs.evolve(_SGD, sampling="shuffled"), "TrainingRun"),
    Correct(attrs.evolve(_SGD, features=2, hidden=2), "TrainingRun"),
    Correct(DPFTRL(size=8, batch=2, steps=4, noise=3.0, delta=0.02), "TrainingRun"),
    Correct(OutputPerturbation(size=10, regularisation=0.5), "Release"),
    Correct(ObjectivePerturbation(size=10, regularisation=0.5), "Release"),
)
_OWN = (
    Correct(LaplaceCount(), "Release"),
    Correct(GaussianCount(), "Release"),
    Correct(RandomisedResponse(), "Release"),
    Correct(ExponentialChoice(), "Release"),
    Correct(ListChoice(), "Release"),
    Correct(PrivateDecisionList(delta=0.05), "Release"),
    Correct(NoisyMajority(), "SpecialRound"),
    Correct(_REALIZABLE, "SpecialRound"),
    Correct(_FOREST, "SpecialRound"),
    Correct(attrs.evolve(_FOREST, reduction=True), "SpecialRound"),
    Correct(AgnosticBatched(concepts=Thresholds(range(2)), rounds=24, batch=4), "SpecialRound"),
    Correct(_EXPERTS, "SpecialRound"),
    Correct(attrs.evolve(_EXPERTS, draws=LAZY), "SpecialRound"),
    Correct(_WINNOW, "SpecialRound"),
    Correct(attrs.evolve(_WINNOW, cached=3, rate=1.0), "SpecialRound"),
    Correct(BetweenThresholdsPredictor(), "Figure1"),
    Correct(AboveThresholdPredictor(), "Figure1"),
    Correct(SteadyThresholdsPredictor(size=20, epsilon=0.5, slack=0.01), "Figure1"),
    Correct(_COUNTER, "Figure1"),
    Correct(NoisyVotes(), "Figure1"),
    Correct(SUBSET, "Figure1"),
    Correct(_FRESH, "Figure1"),
    Correct(PateGaussian(teachers=11, queries=20), "Voting"),
    Correct(SparseVector(teachers=41, queries=20, unstable=2), "Voting"),
    Correct(PatePsq(teacher=_OF_POINTS, teachers=9), "Release"),
    Correct(PateAsq(teacher=_OF_POINTS, teachers=9, queries=2), "Release"),
    Correct(ZooLaplace(), "Release"),
    Correct(NoisyHist1(), "Release"),
    Correct(ReportNoisyMax1(), "Release"),
    Correct(ReportNoisyMax2(), "Release"),
    Correct(Svt1(), "Release"),
    Correct(Svt2(), "Release"),
    *TRAINING,
)
_TWINS = tuple(Correct(mutant.twin, mutant.protocol) for mutant in MUTANTS)
CORRECT = tuple({(one.spec, one.protocol): one for one in (*_OWN, *_TWINS)}.values())
