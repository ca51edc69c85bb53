"""Claims for all neighbouring relations, beside what was asked and exact losses."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import audits
from adversaries.release.cover_swap import CoverSwap
from adversaries.release.statdp import StatDP
from arena import BLANK, Claim, InvalidArgument, Learner, Sample, Unsupported
from arena.claims import DISTANCES, Neighbours, Relation, read_relation
from arena.concepts import DecisionLists, Thresholds
from arena.concepts.features import Variables
from arena.privacy_curves import GroupCurve
from audits.adversary_search.script_strategies import neighbours
from audits.data.schemas import find_schema
from audits.registry.players import LEARNERS
from learners.everlasting.generic_bbl import GenericBBL
from learners.lists.private_decision_list import ListChoice
from learners.releases.choices import ExponentialChoice
from learners.releases.counts import GaussianCount, GeometricCount
from learners.streams.counters import AnnouncedSampling
from learners.training.dp_fedavg import DPFedAvg
from learners.training.dp_sgd import DPFTRL, DPSGD
from learners.training.noisy_sums_state import FIXED, POISSON, SHUFFLED
from learners.zoo.counting_queries import NoisyHist1, ZooLaplace
from learners.zoo.svt import Svt1

RELATIONS = [
    *(Relation(kind) for kind in Neighbours if kind not in DISTANCES),
    Relation(Neighbours.REPLACE_GROUP, 3),
    Relation(Neighbours.ADD_OR_REMOVE_USER, 2),
]
QUICK = {"size": 20, "batch": 4, "steps": 3}  # of training runs
GIVEN: dict[str, dict[str, Any]] = {
    "function": {"function": len, "epsilon": 1.0, "users": -1, "dimension": 2},
    "session": {
        "factory": list,
        "schema": find_schema(st.lists(st.integers(0, 1), min_size=1, max_size=4)),
        "epsilon": 1.0,
    },
    "stream": {"make": dict, "epsilon": 1.0},
    "fixed-stream": {"make": dict, "epsilon": 1.0},
}
WITHOUT_CHANCE = [DPSGD(**QUICK, sampling=SHUFFLED), DPSGD(size=20, batch=20, steps=3), DPFTRL(**QUICK)]
BY_CHANCE = [DPSGD(**QUICK), DPSGD(**QUICK, sampling=FIXED), DPFedAvg(**QUICK)]  # slower to account for


def list_settings(kind: type[Learner]) -> dict[str, Any]:
    names = {field.name for field in attrs.fields(kind)}
    quick = QUICK if {"size", "batch", "steps"} <= names else {}
    return quick | GIVEN.get(kind.name, {})


def list_learners(setting: str) -> list[type[Learner]]:
    """The shipped learners with this setting that need no other library."""
    kinds = [kind for kind in LEARNERS.load_all().values() if not isinstance(kind, InvalidArgument)]
    return [
        kind
        for kind in kinds
        if not getattr(kind, "packages", ()) and setting in {field.name for field in attrs.fields(kind)}
    ]


def check_claim(claim: Claim, relation: Relation, delta: float) -> None:
    assert claim.neighbours == relation
    assert claim.delta <= delta
    if claim.curve is not None:
        assert claim.curve.deltas(np.array([claim.epsilon]))[0] <= 1.02 * delta  # on a coarser grid


@pytest.mark.parametrize("kind", list_learners("neighbours"), ids=lambda kind: kind.name)
def test_a_claim_names_its_relation_and_keeps_delta(kind: type[Learner]) -> None:
    settings = list_settings(kind) | ({"noise": 3.0} if issubclass(kind, DPSGD) else {})
    answers = 0
    for relation in RELATIONS:
        try:
            learner = kind(**settings, neighbours=str(relation))
            claim = learner.claim
        except Unsupported:
            continue  # nothing is known about this relation
        # The δ of sampling follows from its rate; all others have none, or are asked for it.
        asked = 1.0 if isinstance(learner, AnnouncedSampling) else getattr(learner, "delta", None) or 0.0
        check_claim(claim, relation, asked)
        answers += 1
    assert answers > 1


@pytest.mark.thorough
# The ε and δ of GenericBBL choose its defaults; its claim is what these cost, by docs/proofs/generic_bbl.md.
@pytest.mark.parametrize(
    "kind",
    [kind for kind in list_learners("delta") if not issubclass(kind, GenericBBL)],
    ids=lambda kind: kind.name,
)
def test_no_claim_has_a_larger_delta_than_asked(kind: type[Learner]) -> None:
    for epsilon, delta in ((0.3, 1e-9), (1.0, 1e-6), (3.0, 1e-3)):
        try:
            claim = kind(**(list_settings(kind) | {"epsilon": epsilon, "delta": delta})).claim
        except (InvalidArgument, Unsupported):
            continue  # ε is out of its range, or its other settings do not fit so small an ε and δ
        assert claim.delta <= delta * (1 + 1e-12)
        assert claim.epsilon <= epsilon * (1 + 1e-9) or claim.empty


@pytest.mark.parametrize(
    "learner",
    [*WITHOUT_CHANCE, *(pytest.param(learner, marks=pytest.mark.thorough) for learner in BY_CHANCE)],
    ids=lambda learner: f"{learner.name}-{learner.sampling}-{learner.batch}",
)
def test_noise_is_found_for_the_relation_that_is_named(learner: DPSGD) -> None:
    """(ε, δ) as asked; the same noise as without the name; never less for a larger group."""
    unnamed = attrs.evolve(learner, neighbours=attrs.fields(type(learner)).neighbours.default)
    for epsilon in (0.7, 6.0):
        own = attrs.evolve(unnamed, epsilon=epsilon)
        named = attrs.evolve(own, neighbours=str(own.claim.neighbours))
        assert named.noise_run == own.noise_run
        assert named.claim == own.claim
        assert own.claim.curve is not None
        noises: dict[Neighbours, list[float]] = {}
        for relation in RELATIONS:
            learner = attrs.evolve(own, neighbours=str(relation))
            try:
                claim = learner.claim
            except Unsupported:
                continue
            check_claim(claim, relation, learner.delta)
            assert 0.98 * epsilon <= claim.epsilon <= epsilon
            assert claim.curve is not None
            noises.setdefault(relation.kind, []).append(learner.noise_run)
        assert all(np.diff(noise).min(initial=0) >= 0 for noise in noises.values())
        if Neighbours.REPLACE_ONE in noises:
            assert noises[Neighbours.REPLACE_GROUP][0] == noises[Neighbours.REPLACE_ONE][0]
            assert noises[Neighbours.ZERO_OUT_ONE][0] <= noises[Neighbours.REPLACE_ONE][0]


def test_conversions_count_at_the_delta_that_is_asked() -> None:
    """By the curve, at the δ that is asked; where there is no curve, δ would grow, and so is refused."""
    learner = DPSGD(**QUICK, noise=1.0, neighbours="replace one")
    single = attrs.evolve(learner, neighbours="add or remove one").claim
    assert learner.claim.delta == single.delta == 1e-5
    assert single.curve is not None
    assert learner.claim.epsilon == GroupCurve(single.curve, 2).epsilon(1e-5) > 2 * single.epsilon
    with pytest.raises(Unsupported, match="implies no ε for 'replace one' at so small a δ, got 1e-05"):
        attrs.evolve(single, curve=None).convert("replace one", 1e-5)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_gaussian_count_is_exact_for_each_relation(relation: Relation) -> None:
    """The counts of a group, or of a user with so many examples, differ by their number."""
    learner = GaussianCount(epsilon=1.5, delta=1e-6, neighbours=str(relation))
    sigma, epsilon, k = learner.sigma_run, learner.claim.epsilon, relation.size
    exact = norm.cdf(k / (2 * sigma) - epsilon * sigma / k)
    exact -= np.exp(epsilon) * norm.cdf(-k / (2 * sigma) - epsilon * sigma / k)
    assert learner.claim.delta == pytest.approx(exact, rel=1e-6)
    assert learner.claim.delta == pytest.approx(1e-6, rel=1e-6)
    assert learner.sigma_run == pytest.approx(k * GaussianCount(epsilon=1.5, delta=1e-6).sigma_run)


# Sums of one step in one dimension: with the changed example in the batch, and with others in its place.
# The others have gradient `other`; the changed example has 1 in one world and `changed` in the other one.
@pytest.mark.parametrize(
    ("sampling", "neighbours", "changed"),
    [
        (POISSON, "add or remove one", 0.0),
        (POISSON, "zero out one", 0.0),
        (POISSON, "replace one", -1.0),
        (FIXED, "replace one", -1.0),
        (FIXED, "zero out one", 0.0),
        (SHUFFLED, "replace one", -1.0),
        (SHUFFLED, "zero out one", 0.0),
    ],
)
@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
def test_no_sums_of_a_step_are_further_apart_than_claimed(
    sampling: str, neighbours: str, changed: float, noise: float
) -> None:
    rate = 1.0 if sampling == SHUFFLED else 0.1
    learner = DPSGD(
        features=1, size=10, batch=1, steps=1, noise=noise, sampling=sampling, neighbours=neighbours
    )
    curve = learner.claim.curve
    epsilons = np.array([0.05, 0.5, 1.0, 2.0, 4.0])
    x = np.linspace(-2 - 10 * noise, 2 + 10 * noise, 40_001)
    for other in (-1.0, 0.0, 1.0) if sampling == FIXED else (0.0,):
        p, q = (
            ((1 - rate) * norm.pdf(x, other, noise) + rate * norm.pdf(x, own, noise)) * (x[1] - x[0])
            for own in (1.0, changed)
        )
        for first, second in ((p, q), (q, p)):
            truth = np.maximum(first - np.exp(epsilons)[:, None] * second, 0).sum(axis=1)
            assert (curve.deltas(epsilons) >= truth * (1 - 1e-6) - 1e-12).all()


@pytest.mark.parametrize("relation", ["replace a group of 2", "add or remove a user of at most 2"])
def test_no_sums_of_a_group_are_further_apart_than_claimed(relation: str) -> None:
    """A step of Poisson sampling in which each example of the group is drawn on its own."""
    learner = DPSGD(features=1, size=10, batch=2, steps=1, noise=1.0, neighbours=relation)
    curve = learner.claim.curve
    moved = -1.0 if read_relation(relation).kind is Neighbours.REPLACE_GROUP else 0.0
    x = np.linspace(-14, 14, 40_001)
    chances = np.array([0.64, 0.32, 0.04])
    p, q = (
        sum(chance * norm.pdf(x, own * k, 1.0) for k, chance in enumerate(chances)) * (x[1] - x[0])
        for own in (1.0, moved)
    )
    epsilons = np.array([0.05, 0.5, 1.0, 2.0, 4.0])
    truth = np.maximum(p - np.exp(epsilons)[:, None] * q, 0).sum(axis=1)
    assert (curve.deltas(epsilons) >= truth).all()


def test_noise_that_cannot_exist_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"no noise makes dp-sgd \(ε, δ\)-DP, .* got 'ε = 1, δ = 1e-14"):
        DPSGD(delta=1e-14, neighbours="replace one").noise_run


ADD, ZERO, REPLACE = Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE, Neighbours.REPLACE_ONE
CHOICES = [(kind, share) for kind, share in ((REPLACE, 1.0), (ADD, 0.5), (ZERO, 0.5))]


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "epsilon"), [(ADD, 0.4), (ZERO, 0.4), (REPLACE, 0.8)])
def test_a_histogram_costs_its_epsilon_for_each_bin_that_changes(kind: Neighbours, epsilon: float) -> None:
    learner = NoisyHist1(epsilon=0.4, neighbours=kind)
    assert learner.claim.epsilon == epsilon
    for swapped in (False, True):  # one bin changes by one, also where an example is replaced
        exact = audits.exact(learner, StatDP(swapped=swapped, learner=learner))
        assert exact.epsilon == pytest.approx(0.4, rel=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [ADD, ZERO, REPLACE])
@pytest.mark.parametrize("pattern", ["one-above", "all-below"])
def test_counting_queries_cost_the_same_for_each_relation(kind: Neighbours, pattern: str) -> None:
    for learner in (ZooLaplace(epsilon=0.5, neighbours=kind), Svt1(epsilon=0.5, queries=4, neighbours=kind)):
        assert learner.claim.epsilon == 0.5
        exact = audits.exact(learner, StatDP(pattern=pattern, learner=learner))
        assert 0.05 < exact.epsilon <= 0.5 + 1e-6


def test_patterns_that_replace_an_example_are_refused_elsewhere() -> None:
    learner = Svt1(neighbours=ADD)
    with pytest.raises(InvalidArgument, match="one example replaces another, got 'neighbours that add"):
        StatDP(pattern="half-half", learner=learner).samples()


def loss_of(learner: Learner, pair: tuple[Sample, Sample]) -> float:
    first, second = (learner.law(sample).probabilities for sample in pair)
    return float(np.abs(np.log(first) - np.log(second)).max())


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "share"), CHOICES)
def test_no_neighbours_exceed_the_claim_of_a_choice(kind: Neighbours, share: float) -> None:
    learner = ExponentialChoice(concepts=Thresholds(range(4)), epsilon=0.8, neighbours=kind)
    assert learner.claim.epsilon == 0.8 * share

    @settings(max_examples=25)
    @given(neighbours(learner))
    def check(pair: tuple[Sample, Sample]) -> None:
        assert loss_of(learner, pair) <= learner.claim.epsilon + 1e-12

    check()


def test_the_claims_of_a_choice_are_nearly_attained() -> None:
    """Nearly all mass is on the threshold that 40 examples agree with, and the example errs there or not."""
    learner = ExponentialChoice(concepts=Thresholds(range(4)), epsilon=0.8, neighbours=ADD)
    without = Sample([1.0, 2.0], [0, 1], [40, 40])
    pair = without, without.add_one(0, 1.0, 1)
    assert loss_of(learner, pair) > 0.999 * learner.claim.epsilon
    blank = without, without.add_one(0, 0.0, BLANK)
    assert loss_of(learner, blank) == 0


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "share"), CHOICES)
def test_cover_swap_draws_the_neighbours_of_the_claim(kind: Neighbours, share: float) -> None:
    learner = ListChoice(concepts=DecisionLists(Variables(2)), epsilon=1.0, neighbours=kind)
    exact = audits.exact(learner, CoverSwap(learner=learner, background=4))
    assert 0.5 * share < exact.epsilon <= share + 1e-9


@given(ones=st.integers(0, 9))
def test_a_count_of_fixed_size_has_blank_examples_but_no_missing_ones(ones: int) -> None:
    learner = GeometricCount(neighbours=ZERO)
    assert learner.claim.epsilon == GeometricCount().claim.epsilon
    sample = Sample([0.0, 0.0], [0, 1], [9 - ones + 1, ones]) if ones else Sample([0.0], [0], [10])
    pair = sample.replace_one(0, 0.0, 1), sample.blank_one(0)
    assert loss_of(learner, pair) <= learner.claim.epsilon + 1e-12
    with pytest.raises(InvalidArgument, match="says nothing about 'add or remove one'"):
        GeometricCount(neighbours=ADD).claim
