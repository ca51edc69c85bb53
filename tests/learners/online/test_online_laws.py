"""The distributions that online learners declare of the hypotheses they show, against play."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from support.statistical import check_counts, expect_rejection, statistical

from arena import Learner, OnlineLaw
from arena.concepts import FiniteClass, Thresholds
from learners.online.agnostic_experts import AgnosticExperts
from learners.online.conservative import Halving, Soa, SparseMajorityLearner
from learners.online.hedge import WeightedMajority
from learners.online.noisy_majority import NoisyMajority

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
