"""All online learners: conformance, refusals, and the distributions that they declare; and doubling."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
from scipy import stats
from support.laws.learner_laws import check_common_random_numbers
from support.simple_players import script
from support.statistical import check_counts, expect_rejection, statistical

from arena import (
    Adaptive,
    BudgetExceeded,
    Claim,
    Example,
    Hypothesis,
    InvalidArgument,
    Learner,
    OnlineLaw,
    Sample,
    Unsupported,
    play,
)
from arena.claims import PrivacyUnit
from arena.concepts import FiniteClass, Intervals, Rectangles, Thresholds
from arena.testing import check_learner
from audits.solver.belief_graph import BeliefGraph, GraphLimits
from audits.solver.game_value import GameSolution
from audits.solver.games.online_game import online_game
from learners.online.agnostic_batched import AgnosticBatched
from learners.online.agnostic_experts import FRESH, LAZY, AgnosticExperts
from learners.online.conservative import Halving, Soa, SparseMajorityLearner
from learners.online.doubling import Doubling
from learners.online.golowich_livni import GolowichLivni
from learners.online.hedge import BpsExperts, WeightedMajority
from learners.online.noisy_majority import NoisyMajority
from learners.online.realizable import KEEP, PRINTED, RealizableLearner

EVERY = [AgnosticBatched, AgnosticExperts, BpsExperts, GolowichLivni, Halving, RealizableLearner, Soa]
EVERY += [SparseMajorityLearner, WeightedMajority]
SMALL = {"nodes": 16, "epsilon": 200.0, "delta": 0.1, "patience": 0.3, "frequent": 0.01}
FOREST = {"nodes": 8, "epsilon": 3_000.0, "rounds": 12, "level": 3.0}
EXPERTS = [
    {"stretches": 4},
    {"stretches": 12, "epsilon": 50.0, "concepts": Intervals(range(4))},
    {"stretches": 5, "share": 0.0, "epsilon": 20.0, "concepts": Rectangles([3, 2])},
    {"concepts": FiniteClass([[0, 1, 1]])},
    {"stretches": 1},
    {"stretches": 6, "mistakes": 1, "rate": 0.5, "threshold": -1.0},
]
CONFORM = [
    AgnosticBatched(rounds=12, batch=4),
    AgnosticBatched(rounds=12, batch=5, epsilon=50.0, concepts=Intervals(range(4)), calls=None),
    AgnosticBatched(rounds=12, batch=1, concepts=FiniteClass([[0, 1, 1]])),
    AgnosticBatched(rounds=12, batch=3, concepts=Rectangles([3, 2])),
    *(AgnosticExperts(rounds=12, draws=draws, **EXPERTS[0]) for draws in (FRESH, LAZY)),
    *(
        pytest.param(AgnosticExperts(rounds=12, draws=draws, **more), marks=pytest.mark.slow)
        for more in EXPERTS[1:]
        for draws in (FRESH, LAZY)
    ),
    *(kind() for kind in (BpsExperts, Halving, Soa, SparseMajorityLearner, WeightedMajority)),
    BpsExperts(concepts=Rectangles((2, 2))),
    GolowichLivni(concepts=Thresholds(range(3)), **FOREST),
    pytest.param(
        GolowichLivni(concepts=Thresholds(range(3)), **FOREST, reduction=True), marks=pytest.mark.slow
    ),
    RealizableLearner(concepts=Thresholds(range(4)), rounds=12, update=KEEP, **SMALL),
    pytest.param(
        RealizableLearner(concepts=Thresholds(range(4)), rounds=12, update=PRINTED, **SMALL),
        marks=pytest.mark.slow,
    ),
    Doubling(inner=RealizableLearner(concepts=Thresholds(range(4)), **SMALL), first=2, rounds=12),
]
LIMITED = [
    AgnosticBatched(rounds=2, batch=1),
    *(
        kind(rounds=2)
        for kind in (AgnosticExperts, BpsExperts, Doubling, RealizableLearner, WeightedMajority)
    ),
    *(GolowichLivni(rounds=2, reduction=reduction) for reduction in (False, True)),
]
RATE = 1e-8
GAMES = 400_000
EXAMPLES = [(0, 1), (2, 0), (1, 0), (0, 1), (2, 1)]
LINE = Thresholds(range(1, 4))
LEARNERS = [
    NoisyMajority(rounds=4, epsilon=3.0),
    WeightedMajority(concepts=LINE, rounds=4),
    AgnosticExperts(concepts=LINE, rounds=4, share=0.0, epsilon=5.0),
    AgnosticExperts(concepts=LINE, rounds=4, stretches=4, share=0.0, epsilon=5.0, mistakes=1),
]
CERTAIN = [
    kind(concepts=concepts)
    for kind in (Halving, Soa, SparseMajorityLearner)
    for concepts in (LINE, FiniteClass([[1, 0, 1], [0, 1, 1], [0, 0, 0], [1, 1, 1]]))
]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", CONFORM, ids=lambda learner: learner.name)
def test_it_conforms(learner: Learner) -> None:
    check_learner(learner, games=800)


@pytest.mark.parametrize("kind", [BpsExperts, Halving, Soa, SparseMajorityLearner, WeightedMajority])
def test_baselines_claim_nothing_and_draw_the_same_numbers_in_every_game(kind: type[Learner]) -> None:
    samples = Sample([0.0], [0]), Sample([0.0], [1])
    check_common_random_numbers(kind(), *samples, [0.0, 9.0, 3.0, 15.0, 9.0] * 4)
    assert kind().claim.empty


@pytest.mark.parametrize("learner", LIMITED, ids=lambda learner: learner.name)
def test_a_game_longer_than_its_rounds_is_refused(learner: Learner) -> None:
    with pytest.raises(BudgetExceeded, match=f"{learner.name} has spent its 2 rounds; set rounds"):
        play(learner, script(*[Example(0.0, 1)] * 3), Adaptive(3), games=2, seed=1)


@pytest.mark.parametrize("kind", EVERY)
def test_classes_and_points_without_a_finite_domain_are_refused(kind: type[Learner]) -> None:
    with pytest.raises(Unsupported, match=r"Littlestone dimension .*is infinite"):
        kind(concepts=Thresholds()).start(1, np.random.default_rng(0))  # type: ignore[call-arg]
    with pytest.raises(InvalidArgument, match="one of the 16 points of the domain"):
        kind().start(1, np.random.default_rng(0)).observe(np.array([16.0]), np.array([1]))


def view_law(law: OnlineLaw, examples: Sequence[tuple[int, int]]) -> np.ndarray:
    """(k, …, k): the probability of the hypotheses shown before, between and after the examples."""
    count = len(law.hypotheses.concepts)
    found = np.zeros((count,) * (len(examples) + 1))

    def follow(measure: dict[Hashable, float], view: tuple[int, ...]) -> None:
        parts: defaultdict[int, defaultdict[Hashable, float]] = defaultdict(lambda: defaultdict(float))
        for state, mass in measure.items():
            for number, after, p in law.show(state):
                parts[number][after] += mass * p
        for number, part in parts.items():
            if len(view) == len(examples):
                found[(*view, number)] += sum(part.values())
                continue
            following: defaultdict[Hashable, float] = defaultdict(float)
            for state, mass in part.items():
                for after, p in law.observe(state, *examples[len(view)]):
                    following[after] += mass * p
            follow(following, (*view, number))

    follow({law.start(): 1.0}, ())
    return found


def count_views(
    learner: Learner, law: OnlineLaw, examples: Sequence[tuple[int, int]], games: int
) -> np.ndarray:
    """(k, …, k): how often games show these hypotheses."""
    state = learner.start(games, np.random.default_rng(1))
    shown = []
    for point, label in [*examples, (0, 0)]:
        hypothesis = state.hypothesis()
        matches = hypothesis.concepts == law.hypotheses.concepts[:, None]
        assert (matches.sum(axis=0) == 1).all()
        shown.append(matches.argmax(axis=0))
        state.observe(np.full(games, law.points[point]), np.full(games, label))
    shape = (len(law.hypotheses.concepts),) * len(shown)
    return np.bincount(np.ravel_multi_index(shown, shape), minlength=int(np.prod(shape))).reshape(shape)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.name)
@pytest.mark.thorough
@statistical(rate=RATE)
def test_what_is_shown_follows_the_law(learner: Learner) -> None:
    law = learner.online_law()  # type: ignore[attr-defined]
    examples = [(min(point, len(law.points) - 1), label) for point, label in EXAMPLES[:3]]
    expected, seen = view_law(law, examples), count_views(learner, law, examples, GAMES)
    check_counts(seen.ravel(), expected.ravel(), rate=RATE, effect=0.01, power=1 - RATE)


def test_noisy_majority_has_the_law_of_laplace_noise() -> None:
    (_, _, zero), (_, _, one) = NoisyMajority(epsilon=4.0, rounds=4).online_law().show(3)
    assert (zero, one) == pytest.approx((stats.laplace(scale=2).sf(3), stats.laplace(scale=2).cdf(3)))


@statistical(rate=2 * RATE)
def test_the_law_of_another_rate_would_be_noticed() -> None:
    learner, other = (WeightedMajority(concepts=LINE, rounds=4, rate=rate) for rate in (1.0, 1.1))
    law = learner.online_law()
    seen = count_views(learner, law, EXAMPLES[:3], GAMES)
    with expect_rejection():
        expected = view_law(other.online_law(), EXAMPLES[:3])
        check_counts(seen.ravel(), expected.ravel(), rate=RATE, effect=0.02, power=1 - RATE)


@pytest.mark.parametrize("learner", CERTAIN, ids=lambda learner: learner.name)
def test_learners_without_randomness_show_what_their_law_says(learner: Learner) -> None:
    law = learner.online_law()  # type: ignore[attr-defined]
    for examples in (EXAMPLES[:4], EXAMPLES[::-1][:4]):
        assert (view_law(law, examples) == count_views(learner, law, examples, 1)).all()


FEW_EXPERTS = AgnosticExperts(
    concepts=Thresholds(range(1, 3)), stretches=3, share=0.0, epsilon=2.0, delta=0.01, rate=0.9
)


def delta_of_best(learner: Any, rounds: int, epsilon: float) -> float:
    """The least δ at which no adversary refutes ε."""
    graph = BeliefGraph(online_game(learner, rounds)[0], np.array([epsilon]), GraphLimits())
    return float(GameSolution(graph).root.values.upper[0])


def test_stretches_double_and_their_delta_adds_up() -> None:
    learner = Doubling(inner=RealizableLearner(delta=1e-3), first=5, rounds=36)
    told = [(one.rounds, one.delta) for one in learner.list_instances()]  # type: ignore[attr-defined]
    assert told == [(5, 1e-3 / 2), (10, 1e-3 / 6), (20, 1e-3 / 12), (40, 1e-3 / 20)]
    assert len(list(attrs.evolve(learner, rounds=35).list_instances())) == 3
    assert learner.claim.epsilon == pytest.approx(1.0)
    assert learner.claim.delta == pytest.approx(1e-3 * (1 - 1 / 5))
    assert learner.claim.protects == (PrivacyUnit.STREAM_EXAMPLE,)
    assert attrs.evolve(learner, rounds=10**9).claim.delta < 1e-3


def test_the_worst_instance_determines_epsilon() -> None:
    learner = Doubling(inner=FEW_EXPERTS, first=3, rounds=9)
    costs = [one.claim.epsilon for one in learner.list_instances()]
    assert costs[0] != costs[1]
    assert learner.claim.epsilon == max(costs)


def test_every_stretch_begins_anew(rng: np.random.Generator) -> None:
    """A deterministic learner with the settings, beside one that is run on each stretch alone."""

    @attrs.frozen
    class Told(Soa):
        rounds: int = 1
        delta: float = 0.0

    state = Doubling(inner=Told(concepts=Thresholds(range(7))), first=2, rounds=14).start(3, rng)
    x, y = rng.integers(0, 7, (14, 3)).astype(float), rng.random((14, 3)) < 0.5
    for start, end in ((0, 2), (2, 6), (6, 14)):
        alone = Soa(concepts=Thresholds(range(7))).start(3, rng)
        for t in range(start, end):
            assert np.array_equal(state.hypothesis().concepts, alone.hypothesis().concepts)
            state.observe(x[t], y[t])
            alone.observe(x[t], y[t])
    with pytest.raises(BudgetExceeded, match="doubling has spent its 14 rounds"):
        state.hypothesis()


def test_the_claim_holds_against_the_best_adversary() -> None:
    learner = Doubling(inner=FEW_EXPERTS, first=3, rounds=5)
    claim = learner.claim
    assert delta_of_best(learner, 5, claim.epsilon) <= claim.delta + 1e-12
    assert delta_of_best(learner, 5, claim.epsilon / 4) > claim.delta


@attrs.frozen
class Announces(Learner):
    """(0, δ)-DP: with probability δ it shows function 1 first, and then the label of the last example."""

    name = "announces"
    protocols = ("Oblivious", "Adaptive", "SpecialRound")
    concepts: Any = FiniteClass([[0], [1]])
    rounds: int = 2
    delta: float = 0.3

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=0, delta=self.delta, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def online_law(self) -> AnnouncesLaw:
        return AnnouncesLaw(self)


class AnnouncesLaw(OnlineLaw[Any]):
    """States: None before the announcement, then whether it fails and the label that it shows."""

    def __init__(self, spec: Announces) -> None:
        self.delta = spec.delta
        self.hypotheses = Hypothesis(spec.concepts, np.array([0, 1]))
        self.points = np.array(spec.concepts.domain, float)

    def start(self) -> Any:
        return None

    def show(self, state: Any) -> Iterable[tuple[int, Any, float]]:
        if state is None:
            return [(0, (False, 0), 1 - self.delta), (1, (True, 0), self.delta)]
        return [(state[1], state, 1.0)]

    def observe(self, state: Any, point: int, label: int) -> Iterable[tuple[Any, float]]:
        return [((state[0], label if state[0] else 0), 1.0)]


def test_an_adversary_that_waits_for_a_failure_attains_the_sum_of_deltas() -> None:
    learner = Doubling(inner=Announces(), first=2, rounds=6)
    first, second = (one.delta for one in learner.list_instances())  # type: ignore[attr-defined]
    found = delta_of_best(learner, 6, 0.0)
    assert found == pytest.approx(1 - (1 - first) * (1 - second), abs=1e-12)
    assert max(first, second) + 0.01 < found <= learner.claim.delta


def test_learners_that_are_not_told_the_length_are_refused() -> None:
    with pytest.raises(
        InvalidArgument, match="inner must be a learner with settings rounds and delta, got 'soa'"
    ):
        Doubling(inner=Soa())


def test_without_a_law_there_is_none() -> None:
    with pytest.raises(Unsupported, match="realizable does not declare its output distribution"):
        Doubling().online_law()
