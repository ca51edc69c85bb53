"""Private online learners before special-swap and update-swap, in settings in which updates come soon.

Every audit of a learner that keeps its claim refutes it with probability 1e-4 at most. That the same
adversaries find slips is tested on the mutants.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from mutants.online.online_realizable import ComparesAtMistakes, NoiseOfThresholdAlone

from adversaries.online.base import middle_point
from adversaries.online.special_swap import SpecialSwap, UpdateSwap
from arena import Adversary, Learner, SpecialRound
from arena.concepts import ConceptClass, FiniteClass, Halfspaces, Points, Thresholds
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from learners.halfspaces.dp_winnow import DpWinnow
from learners.online.agnostic_batched import AgnosticBatched
from learners.online.agnostic_experts import LAZY, AgnosticExperts
from learners.online.golowich_livni import GolowichLivni
from learners.online.noisy_majority import NoisyMajority
from learners.online.realizable import RealizableLearner

ERROR = 1e-4
GAMES = 1_000  # enough for the same swaps to refute the mutants


def realizable(concepts: ConceptClass, **others: Any) -> RealizableLearner:
    """AboveThreshold fires after 15 to 20 mistakes, and histograms list what half of a layer has."""
    usual = {"rounds": 48, "nodes": 32, "watching": 0.7, "patience": 0.1}
    return RealizableLearner(concepts=concepts, epsilon=2.0, delta=0.1, beta=0.99, **(usual | others))


def forest(concepts: ConceptClass, **others: Any) -> GolowichLivni:
    """A function that most trees know is shown after about 50 mistakes."""
    usual = {"rounds": 80, "nodes": 64, "switches": 1, "level": 3.0}
    return GolowichLivni(concepts=concepts, epsilon=6.0, delta=0.2, **(usual | others))


def experts(concepts: ConceptClass, **others: Any) -> AgnosticExperts:
    """Experts move first after 8 rounds, unless it is said otherwise."""
    usual = {"rounds": 24, "stretches": 3, "epsilon": 3.0, "delta": 0.0, "share": 0.6, "threshold": 0.5}
    return AgnosticExperts(concepts=concepts, **(usual | others))


def winnow(**others: Any) -> DpWinnow:
    """Three updates at most, the first after about six mistakes. Of half of all points: they move no weights,
    but bring new draws."""
    usual = {"rounds": 32, "updates": 3, "draws": 3, "rate": 0.1, "cached": 1, "threshold": 6.0}
    return DpWinnow(concepts=Halfspaces(3, 0.4), epsilon=2.0, delta=0.05, watching=0.5, **(usual | others))


ONE_LABELLING = FiniteClass([[0, 1]])
D1, D2 = Thresholds(range(2)), Thresholds(range(3))
STILL: dict[str, tuple[Learner, int]] = {  # has one function to show
    "realizable, d = 0": (realizable(ONE_LABELLING), 15),
    "golowich-livni, d = 0": (forest(ONE_LABELLING), 4),
}
MOVING: dict[str, tuple[Learner, int]] = {  # and about how many mistakes bring it to the brink
    "noisy-majority": (NoisyMajority(rounds=48), 10),
    "realizable, d = 1": (realizable(D1), 15),
    "realizable, points": (realizable(Points(range(3))), 15),
    "realizable, d = 2": (realizable(D2, nodes=64), 18),
    "realizable, printed": (realizable(D1, nodes=128, update="printed", patience=0.6, rounds=100), 90),
    "golowich-livni, d = 1": (forest(D1), 45),
    "golowich-livni, points": (forest(Points(range(3)), switches=2), 45),
    "agnostic-batched": (AgnosticBatched(concepts=D1, rounds=48, batch=8, calls=2, rate=4.0), 8),
    "agnostic-batched, in twos": (AgnosticBatched(concepts=D1, rounds=48, batch=2, alpha=0.25), 3),
    "agnostic-experts, d = 1": (experts(D1), 8),
    "agnostic-experts, d = 2": (experts(D2, stretches=4), 6),
    "agnostic-experts, draws alone": (experts(D1, share=0.0), 8),
    "agnostic-experts, halfway": (experts(D1, rounds=12, stretches=2, share=0.9, threshold=2.0), 6),
    "agnostic-experts, lazy": (experts(D1, draws=LAZY), 8),
    "agnostic-experts, lazy draws alone": (experts(D1, share=0.0, draws=LAZY), 8),
    "dp-winnow": (winnow(), 6),
    "dp-winnow, means of four": (winnow(cached=4, rate=0.4), 6),
    "dp-winnow, one update of many draws": (winnow(updates=1, draws=40, rate=0.05), 6),
    "dp-winnow, every round": (winnow(threshold=-1e6, updates=8, draws=1, rate=0.05), 0),
}
# An instance of the reduction has so little of ε that it shows h_1 alone, unless ε is beyond all audits: this
# one can find gross errors only.
STILL["golowich-livni, reduction"] = forest(D1, reduction=True, rounds=24, nodes=16), 8
LEARNERS = STILL | MOVING


def attacks(learner: Learner, brink: int, *, every: bool) -> Iterator[Adversary]:
    """The swaps around the brink. every: all labels after the swap and all scores, and more places."""
    rounds = learner.rounds
    places = (-3, -1, 0, 1, 3, 20) if every else (-1, 1)
    for place in places:
        before = min(max(brink + place, 0), rounds - 2)
        for probes in ("against", "with"):
            for score in ("first-change", "stays") if every else ("first-change",):
                yield UpdateSwap(rounds=rounds, before=before, probes=probes, score=score, learner=learner)
    yield SpecialSwap(rounds=rounds, learner=learner)
    if every:
        first, second, *_ = getattr(learner, "concepts", D1).domain or map(tuple, learner.some_points)
        for point, other in ((first, second), (second, first)):
            yield SpecialSwap(
                rounds=rounds, point=point, label=0, other_point=other, other_label=1, learner=learner
            )
            yield SpecialSwap(
                rounds=rounds, point=point, label=0, other_point=other, other_label=0, learner=learner
            )
            yield UpdateSwap(rounds=rounds, before=brink, point=point, other_point=other, learner=learner)


def audit(learner: Learner, adversary: Adversary, *, games: int, seed: int = 0) -> Verdict:
    players = {"learner": learner, "adversary": adversary, "referee": SpecialRound(adversary.rounds)}
    claim = {"epsilon": learner.claim.epsilon, "delta": learner.claim.delta, "confidence": 1 - ERROR}
    return run(Plan(**players, **claim, games=games, until_refuted=True, seed=seed))


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_swaps_do_not_refute_it(name: str) -> None:
    learner, brink = LEARNERS[name]
    for adversary in attacks(learner, brink, every=False):
        assert not audit(learner, adversary, games=GAMES).refuted, adversary


@pytest.mark.thorough
@pytest.mark.parametrize("name", MOVING)
def test_updates_come_within_its_games(name: str) -> None:
    """Audits of a learner that never moves would say nothing."""
    learner, _ = MOVING[name]
    point = middle_point(learner)
    state = learner.start(400, np.random.default_rng(1))
    first = state.hypothesis()
    left = np.zeros(400, bool)
    for _ in range(learner.rounds - 1):
        state.observe(np.repeat(np.asarray(point, float)[None], 400, axis=0), ~first(point))
        moved = state.hypothesis().concepts != first.concepts
        left |= moved.reshape(400, -1).any(axis=1)
    assert left.mean() >= 0.25


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_many_games_of_many_swaps_do_not_refute_it(name: str) -> None:
    learner, brink = LEARNERS[name]
    for adversary in attacks(learner, brink, every=True):
        assert not audit(learner, adversary, games=4_000, seed=1).refuted, adversary


@pytest.mark.thorough
@pytest.mark.parametrize("mutant", [NoiseOfThresholdAlone(), ComparesAtMistakes()], ids=lambda one: one.name)
def test_the_same_swaps_refute_mutants(mutant: Learner) -> None:
    swaps = attacks(mutant, 16, every=False)
    assert any(audit(mutant, adversary, games=GAMES).refuted for adversary in swaps)
