"""Private online learners before special-swap and update-swap, in settings in which updates come soon.

Every audit of a learner that keeps its claim refutes it with probability 1e-4 at most. That the same
adversaries find slips is tested on the mutants.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest
from mutants.online_realizable import ComparesAtMistakes, NoiseOfThresholdAlone

from adversaries.online import SpecialSwap
from adversaries.update_swap import UpdateSwap
from arena import Adversary, Learner, SpecialRound
from arena.concepts import ConceptClass, FiniteClass, Points, Thresholds
from audits.plan import Plan
from audits.run import run
from audits.verdict import Verdict
from learners.agnostic_batched import AgnosticBatched
from learners.golowich_livni import GolowichLivni
from learners.noisy_majority import NoisyMajority
from learners.realizable import Realizable

ERROR = 1e-4
ROUNDS = 48


def realizable(concepts: ConceptClass, *, nodes: int = 32, update: str = "keep") -> Realizable:
    """AboveThreshold fires after 15 to 20 mistakes, and histograms list what half of a layer has."""
    return Realizable(
        concepts=concepts,
        rounds=ROUNDS,
        epsilon=2.0,
        delta=0.1,
        beta=0.99,
        nodes=nodes,
        watching=0.7,
        patience=0.1,
        update=update,
    )


def forest(concepts: ConceptClass, *, nodes: int = 16, switches: int = 2) -> GolowichLivni:
    return GolowichLivni(
        concepts=concepts,
        rounds=ROUNDS,
        epsilon=4.0,
        delta=0.2,
        nodes=nodes,
        switches=switches,
        level=nodes / 2,
    )


ONE_LABELLING = FiniteClass([[0, 1]])
D1, D2 = Thresholds(range(2)), Thresholds(range(3))
LEARNERS: dict[str, tuple[Learner, int]] = {  # and about how many mistakes bring it to the brink
    "noisy-majority": (NoisyMajority(rounds=ROUNDS), 10),
    "realizable, d = 0": (realizable(ONE_LABELLING), 15),
    "realizable, d = 1": (realizable(D1), 15),
    "realizable, points": (realizable(Points(range(3))), 15),
    "realizable, d = 2": (realizable(D2, nodes=64), 18),
    "realizable, printed": (realizable(D2, nodes=64, update="printed"), 18),
    "golowich-livni, d = 0": (forest(ONE_LABELLING), 4),
    "golowich-livni, d = 1": (forest(D1), 6),
    "golowich-livni, one tree": (forest(D2, nodes=4, switches=4), 1),
    "golowich-livni, d = 2": (forest(D2, nodes=32), 8),
    "agnostic-batched": (AgnosticBatched(concepts=D1, rounds=ROUNDS, batch=8, calls=2, rate=4.0), 8),
    "agnostic-batched, in twos": (AgnosticBatched(concepts=D1, rounds=ROUNDS, batch=2, alpha=0.25), 3),
}
REDUCED = {
    f"{name}, reduction": (attrs.evolve(learner, reduction=True, rounds=24, epsilon=30.0), brink)
    for name, (learner, brink) in LEARNERS.items()
    if isinstance(learner, GolowichLivni) and brink > 1
}


def attacks(learner: Learner, brink: int, rounds: int, *, every: bool) -> Iterator[Adversary]:
    """The swaps around the brink. every: all labels after the swap and all scores, and more places."""
    places = (-3, -1, 0, 1, 3, 20) if every else (-1, 1)
    for place in places:
        before = min(max(brink + place, 0), rounds - 2)
        for probes in ("against", "with"):
            for score in ("first-change", "stays") if every else ("first-change",):
                yield UpdateSwap(rounds=rounds, before=before, probes=probes, score=score, learner=learner)
    yield SpecialSwap(rounds=rounds, learner=learner)
    if every:
        domain = getattr(learner, "concepts", D1).domain
        for point, other in (domain[:2], domain[1::-1]):
            yield SpecialSwap(
                rounds=rounds, point=point, label=0, other_point=other, other_label=1, learner=learner
            )
            yield SpecialSwap(
                rounds=rounds, point=point, label=0, other_point=other, other_label=0, learner=learner
            )
            yield UpdateSwap(rounds=rounds, before=brink, point=point, other_point=other, learner=learner)


def audited(learner: Learner, adversary: Adversary, *, games: int, seed: int = 0) -> Verdict:
    claim = learner.claim
    plan = Plan(
        learner=learner,
        adversary=adversary,
        referee=SpecialRound(adversary.rounds),
        epsilon=claim.epsilon,
        delta=claim.delta,
        confidence=1 - ERROR,
        games=games,
        until_refuted=True,
        seed=seed,
    )
    return run(plan)


@pytest.mark.parametrize("name", LEARNERS)
def test_swaps_do_not_refute_it(name: str) -> None:
    learner, brink = LEARNERS[name]
    for adversary in attacks(learner, brink, ROUNDS, every=False):
        assert not audited(learner, adversary, games=1_600).refuted, adversary


@pytest.mark.slow
@pytest.mark.parametrize("name", [*LEARNERS, *REDUCED])
def test_many_games_of_many_swaps_do_not_refute_it(name: str) -> None:
    learner, brink = {**LEARNERS, **REDUCED}[name]
    games = 2_000 if name in REDUCED else 8_000
    for adversary in attacks(learner, brink, 24 if name in REDUCED else ROUNDS, every=True):
        assert not audited(learner, adversary, games=games, seed=1).refuted, adversary


@pytest.mark.parametrize("mutant", [NoiseOfThresholdAlone(), ComparesAtMistakes()], ids=lambda one: one.name)
def test_the_same_swaps_refute_mutants(mutant: Learner) -> None:
    swaps = attacks(mutant, 16, 40, every=False)
    assert any(audited(mutant, adversary, games=3_200).refuted for adversary in swaps)
