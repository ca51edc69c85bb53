"""The output distribution of an everlasting predictor that halts after its first round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from math import comb, prod

import numpy as np

from arena.errors import Unsupported
from arena.laws import AnswerLaw
from arena.sample import Sample
from learners.common.teacher_votes import Electorate
from learners.everlasting.generic_bbl import GenericBBL

_MOST_ELECTORATES = 10_000  # ways to draw the teachers that are listed


class FirstRoundLaw(AnswerLaw):
    """The answers of teachers drawn at random, with `weights`; the draw is a part of the hidden state."""

    def __init__(self, laws: Sequence[AnswerLaw], weights: Sequence[float], answers: int) -> None:
        self._laws, self.outcomes, self.last = laws, laws[0].outcomes, answers
        self._starts = [weight * law.start() for law, weight in zip(laws, weights, strict=True)]
        self._cuts = np.cumsum([len(start) for start in self._starts])[:-1]

    def start(self) -> np.ndarray:
        return np.concatenate(self._starts)

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        parts = zip(self._laws, np.split(measure, self._cuts, axis=1), strict=True)
        return np.concatenate([law.step(part, x) for law, part in parts], axis=2)


def first_round_law(
    learner: GenericBBL, sample: Sample, answer: Callable[[Electorate], AnswerLaw]
) -> FirstRoundLaw:
    """The distribution of a learner with rounds=1. answer: that of its answers, given its teachers.

    Raises: Unsupported for later rounds, a sample too small or relabelled, or too many ways to draw the
    teachers.
    """
    if learner.rounds != 1 or learner.agnostic:
        raise Unsupported(
            f"{learner.name} declares its output distribution for its first round only, without relabelling",
            value=f"rounds={learner.rounds}, agnostic={learner.agnostic}",
            remedy="Set rounds=1 and agnostic=false, or audit it by playing.",
        )
    if sample.size < learner.sample_size:
        raise Unsupported(f"{learner.name} needs a sample of {learner.sample_size:,}", value=sample.size)
    drawn = _draw_electorates(learner, sample)
    laws = [answer(electorate) for electorate, _ in drawn]
    return FirstRoundLaw(laws, [weight for _, weight in drawn], learner.round(1).answers)


def _draw_electorates(learner: GenericBBL, sample: Sample) -> list[tuple[Electorate, float]]:
    """The ways to draw T disjoint chunks of λ examples and train a teacher on each, with probabilities."""
    run, sample = learner.round(1), sample.distinct()
    kinds = range(len(sample.counts))
    chunks = [
        tuple(chosen.count(kind) for kind in kinds)
        for chosen in combinations_with_replacement(kinds, run.chunk)
    ]
    minimisers = learner.concepts.erm(sample.points[None], sample.labels[None], np.array(chunks))
    concepts, places = np.unique(minimisers, axis=0, return_inverse=True)
    concept_of = dict(zip(chunks, places.ravel().tolist(), strict=True))
    begin = tuple(sample.counts.tolist()), (0,) * len(concepts)
    states = {begin: 1.0}  # by the examples that are left, and how many teachers hold each concept
    for _ in range(run.teachers):
        following: defaultdict[tuple[tuple[int, ...], tuple[int, ...]], float] = defaultdict(float)
        for (left, held), weight in states.items():
            ways = comb(sum(left), run.chunk)
            for chunk, concept in concept_of.items():
                chance = prod(map(comb, left, chunk)) / ways
                if chance:
                    rest = tuple(have - used for have, used in zip(left, chunk, strict=True))
                    tally = (*held[:concept], held[concept] + 1, *held[concept + 1 :])
                    following[rest, tally] += weight * chance
        states = following
        if len(states) > _MOST_ELECTORATES:
            raise Unsupported(
                f"the teachers of {learner.name} can be drawn in more than {_MOST_ELECTORATES:,} ways",
                value=len(states),
                remedy="Use a sample with fewer distinct examples, or set fewer teachers.",
            )
    tallies: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for (_, held), weight in states.items():
        tallies[held] += weight
    return [
        (Electorate(learner.concepts, sample, concepts, np.array(held, float)), weight)
        for held, weight in tallies.items()
    ]
