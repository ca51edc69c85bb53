"""For each broken learner an adversary that refutes it: inputs, and a score that distinguishes the worlds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, cycle, islice
from typing import Any

import attrs
import numpy as np
from mutants.scores import (
    CALM,
    begins_with_the_variable,
    below_a_whole_number,
    changes,
    drop_past_the_middle,
    first,
    first_coordinate,
    first_coordinates_later_ones_more,
    first_is_zero,
    first_point_less_second,
    first_variable_says_one,
    has_one_rule_of_a_variable,
    label_of_first_rule,
    label_of_true,
    labels,
    labels_one_less_zero,
    last,
    late_one,
    later_if_never_one,
    later_total,
    leaves_the_first,
    more_ones_in_the_second_calm,
    ones_less_zeros,
    second,
    second_less_first,
    total,
    unlike_each_other,
    unlike_the_first,
)

from adversaries.halfspaces.few_coordinates import FirstSwap
from adversaries.online.special_swap import UpdateSwap
from adversaries.voting.repeated_queries import SmallMargin
from adversaries.voting.vote_inference import VoteInference
from arena import UNSTABLE, Adversary, Example, Learner, Moves, Query, Ready, Sample, Train
from audits.adversary_search.protocols.round_scripts import AGAINST, WITH, Show, Special

Score = Callable[[np.ndarray], np.ndarray]

# --- adversaries --------------------------------------------------------------------------------------------


@attrs.frozen
class SwapSamples(Adversary):
    """Trains on one of two samples, filled up with the first example to the size that the learner needs.

    score: of the released numbers (n, k).
    """

    name = "neighbours"
    protocols = ("Release",)

    sample: Sample
    other: Sample
    score: Score
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield self.train()
        return self.score(reply.value.reshape(games, -1))

    def train(self) -> Train:
        """The opening move."""
        return Train(self.fill_up(self.sample), self.fill_up(self.other))

    def fill_up(self, sample: Sample) -> Sample:
        """The sample with its first example repeated to the size that the learner needs."""
        missing = ((self.learner and self.learner.sample_size) or 0) - sample.size
        if missing <= 0:
            return sample
        points = np.append(self.sample.points[0], sample.points)
        return Sample(points, [self.sample.labels[0], *sample.labels], [missing, *sample.counts])


@attrs.frozen
class SwapListSamples(SwapSamples):
    """Swaps samples for a learner that releases decision lists. score: of the rules (n, L)."""

    name = "list-neighbours"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield self.train()
        return self.score(reply.value.concepts).astype(float)


@attrs.frozen
class AskQueries(SwapSamples):
    """Swaps samples and asks queries: points, or pairs of points, one for each world.

    score: of the answers (n, q), with whether the learner has halted as the last column.
    """

    name = "asks"
    protocols = ("Figure1",)

    queries: tuple[float | tuple[float, float], ...] = attrs.field(kw_only=True)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield self.train()
        seen = []
        for query in self.queries:
            reply = yield Query(*query) if isinstance(query, tuple) else Query(query)
            seen.append(reply.label)
        return self.score(np.stack([*seen, reply.halted], axis=1).astype(float))


@attrs.frozen
class AskTeachers(AskQueries):
    """The same under Voting."""

    name = "asks-teachers"
    protocols = ("Voting",)


@attrs.frozen
class PlayExamples(Adversary):
    """The examples (x, y) of `before`, a special one (x, y; x, y in world 1), then those of `after` in turn.

    score: of the predictions of h_1 … h_T at the points `asked`, (n, T, k); without points, of their concepts
    (n, T, d), which are vectors.
    """

    name = "examples"
    protocols = ("SpecialRound",)

    rounds: int
    special: tuple[Any, int, Any, int]
    after: tuple[tuple[Any, int], ...]
    score: Score
    asked: tuple[float, ...] = (0.0,)
    before: tuple[tuple[Any, int], ...] = ()
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        hypothesis = (yield Ready()).hypothesis
        shown = []
        for example in islice(chain(self.before, [self.special], cycle(self.after)), self.rounds):
            at_points = np.stack([hypothesis(x) for x in self.asked], axis=1) if self.asked else None
            shown.append(hypothesis.concepts if at_points is None else at_points)
            hypothesis = (yield Example(*example)).hypothesis
        return self.score(np.stack(shown, axis=1).astype(float)).reshape(games)


@attrs.frozen
class PlaySteps(Adversary):
    """Steps of a script, any number of them.

    asked: the points at which hypotheses are evaluated. score: of these predictions, without those of h_1.
    """

    name = "stretches"
    protocols = ("SpecialRound",)

    steps: tuple[Show | Special, ...]
    asked: tuple[float, ...]
    score: Score
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        hypothesis = (yield Ready()).hypothesis
        predictions = []
        for step in (stretch for stretch in self.steps for _ in range(stretch.rounds)):
            if isinstance(step, Special):
                example = Example(*step.world_0, *step.world_1)
            elif step.label in (WITH, AGAINST):
                example = Example(step.point, hypothesis(step.point) ^ (step.label == AGAINST))
            else:
                example = Example(step.point, step.label)
            shown = (yield example).hypothesis
            if shown is not None:
                hypothesis = shown
                predictions.append(np.stack([shown(x) for x in self.asked], axis=1))
        return self.score(np.stack(predictions, axis=1)).astype(float)


# --- one for each -------------------------------------------------------------------------------------------

ZERO, ONE = Sample([0.0], [0]), Sample([0.0], [1])
TWO_ZEROS = Sample([0.0], [0], [2])
ZERO_ONE = Sample([0.0, 0.0], [0, 1])
FLIP, FLIP_AT_HALF, ALTERNATING = (0.0, 0, 0.0, 1), (0.5, 0, 0.5, 1), ((0.5, 0), (0.5, 1))
NO_MISTAKE_OR_ONE = Special((0.0, 0), (0.0, 1))
# Uniform weights label both points 1. These mistakes make one coordinate likelier, in world 1 the first.
FIRST_UP_OR_DOWN = (1.0, -1.0), 0, (-1.0, 1.0), 0
RIGHT = (((1.0, 1.0), 1),)
NO_STEP_OR_STEP = (0.5, 0.25), 1, (0.5, 0.25), 0
AT_HALF, AT_ONE = Sample([0.5], [0]), Sample([1.0], [0])
# Nine teachers of one example each: four or five for 1; of one mind, or all but one.
ONE_SHORT, ONE_OVER = (Sample([0.0, 0.0], [0, 1], [9 - ones, ones]) for ones in (4, 5))
ALL, ALL_BUT_ONE = Sample([0.0], [1], [9]), Sample([0.0, 0.0], [1, 0], [8, 1])
TRIES_THE_TIE = AskTeachers(ONE_SHORT, ONE_OVER, labels_one_less_zero, queries=(0.0,) * 6)
COUNTS_ONES = AskTeachers(ONE_SHORT, ONE_OVER, total, queries=(0.0,) * 16)
AT_0, AT_1 = Sample([[0]], [0]), Sample([[1]], [0])


@attrs.frozen
class CountUnstable(Adversary):
    """Queries a point with 1 of 3 votes in world 0 and 2 of 3 in world 1, and counts unstable answers."""

    name = "counts-unstable"
    protocols = ("Voting",)

    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(Sample([0.5] * 3, [1, 0, 0]), Sample([0.5] * 3, [1, 1, 0]))
        unstable = np.zeros(games)
        for _ in range(8):
            reply = yield Query(0.5)
            unstable += reply.label == UNSTABLE
        return unstable


REFUTING: dict[str, Adversary] = {
    "half-of-a-vote": SmallMargin(),
    "bare-screen": CountUnstable(),
    "half-the-scale": SwapSamples(ZERO, ONE, first),
    "exact-zero": SwapSamples(ZERO, ONE, first_is_zero),
    "noise-seeded-by-data": SwapSamples(ZERO, ONE, first),
    "bounded-noise": SwapSamples(ZERO, ONE, first),
    "noise-cut-to-whole": SwapSamples(ZERO, ONE, first_is_zero),
    "suppressed-by-exact-count": SwapSamples(
        Sample([0.0, 0.0], [0, 1], [1, 2]), Sample([0.0], [1], [3]), first_is_zero
    ),
    "sensitivity-of-adding": SwapSamples(ZERO, ONE, second_less_first),
    "one-noise-for-both": SwapSamples(ZERO, ONE, second_less_first),
    "exact-size": SwapSamples(ZERO, AT_HALF, second),
    "refuses-empty-selection": SwapSamples(AT_HALF, ZERO, first),
    "order-of-data": SwapSamples(Sample([0.0, 0.5], [0, 0]), Sample([1.0, 0.5], [0, 0]), first),
    "epsilon-for-delta": SwapSamples(ZERO, AT_ONE, last),
    "unclipped-sum": SwapSamples(ZERO, AT_ONE, first),
    "variance-for-deviation": SwapSamples(ZERO, ONE, first),
    "choice-without-the-two": SwapSamples(Sample([0.0], [0], [3]), Sample([0.0, 1.0], [0, 0], [2, 1]), first),
    "coin-for-flip": SwapSamples(ZERO, ONE, first),
    "without-the-two": SwapListSamples(
        Sample([[0], [1]], [1, 0], [2, 2]), Sample([[0], [1], [1]], [1, 0, 1], [2, 1, 1]), label_of_first_rule
    ),
    "share-of-covered": SwapListSamples(
        Sample([[0], [1]], [0, 0], [40, 1]), Sample([[0], [1]], [0, 1], [40, 1]), first_variable_says_one
    ),
    "keeps-covered": SwapListSamples(
        Sample([[1] * 6, [1] * 6], [0, 1]), Sample([[1] * 6], [1], [2]), ones_less_zeros
    ),
    "stops-when-empty": SwapListSamples(AT_0, AT_1, has_one_rule_of_a_variable),
    "skips-useless": SwapListSamples(AT_0, AT_1, begins_with_the_variable),
    "exact-end": SwapListSamples(
        Sample([[0], [0]], [0, 1], [2, 1]), Sample([[0], [0]], [0, 1], [1, 2]), label_of_true
    ),
    "claims-one-round": SwapListSamples(
        Sample([[0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]], [1, 0, 0, 0], [1, 2, 2, 1]),
        Sample([[0, 1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], [1, 0, 1, 0, 0], [1, 1, 1, 2, 1]),
        late_one,
    ),
    "stale-noise": AskQueries(
        Sample([0.0, 0.5], [0, 1]), Sample([0.0, 0.5], [1, 1]), second_less_first, queries=(0.0, 0.5)
    ),
    "pays-for-one-answer": AskQueries(ZERO, ONE, total, queries=(0.0,) * 8),
    "one-answer-more": AskQueries(TWO_ZEROS, ZERO_ONE, total, queries=(0.0, 0.0)),
    "nothing-to-learn": AskQueries(TWO_ZEROS, ZERO_ONE, last, queries=(0.0,)),
    "memorises": AskQueries(ZERO, ONE, first, queries=(0.0,)),
    "unknown-point": AskQueries(AT_HALF, ZERO, first, queries=(0.5,)),
    "refuses-unknown-point": AskQueries(AT_HALF, ZERO, first, queries=(0.5,)),
    "noise-seeded-by-query": AskQueries(ZERO, ONE, first, queries=(0.0,)),
    "free-repeats": AskQueries(ZERO, ZERO, last, queries=(0.0, (0.0, 1.0), 0.0)),
    "bare-threshold": AskQueries(ZERO, ONE, last, queries=(0.0,) * 8),
    "halts-on-true-count": AskQueries(ZERO, ONE, last, queries=(0.0,)),
    "shared-example": AskQueries(TWO_ZEROS, Sample([0.0, 0.0], [1, 0]), first, queries=(0.0,)),
    "no-noise-if-unanimous": AskQueries(TWO_ZEROS, ZERO_ONE, first, queries=(0.0,)),
    "whole-sample": AskQueries(TWO_ZEROS, ZERO_ONE, total, queries=(0.0, 0.0)),
    "never-stops": TRIES_THE_TIE,
    "one-unstable-more": TRIES_THE_TIE,
    "tells-the-vote": TRIES_THE_TIE,
    "counts-the-stable": TRIES_THE_TIE,
    "too-far-by-one": TRIES_THE_TIE,
    "tells-the-tie": VoteInference(),
    "bare-distance": AskTeachers(ALL_BUT_ONE, ALL, labels, queries=(0.0,)),
    "pays-for-one-vote": COUNTS_ONES,
    "two-teachers-each": AskTeachers(
        Sample([0.0, 0.0], [0, 1], [3, 2]), Sample([0.0, 0.0], [0, 1], [2, 3]), total, queries=(0.0,) * 16
    ),
    "one-number": AskTeachers(
        Sample([0.0, 1.0], [1, 0], [4, 5]),
        Sample([0.0, 1.0, 1.0], [1, 1, 0], [4, 1, 4]),
        unlike_each_other,
        queries=(0.0, 1.0),
    ),
    "stale-majority": PlayExamples(12, FLIP_AT_HALF, ALTERNATING, second_less_first, (0.5,)),
    "noisy-start": PlayExamples(12, FLIP_AT_HALF, ALTERNATING, second, (0.5,)),
    "pays-for-one-round": PlayExamples(12, FLIP_AT_HALF, ALTERNATING, total, (0.5,)),
    "bare-counts": PlayExamples(24, (0.0, 1, 1.0, 0), ((1.0, 0),), unlike_the_first),
    "noise-of-threshold-alone": UpdateSwap(rounds=22, before=17, probes="with"),
    "compares-at-mistakes": UpdateSwap(rounds=22, before=18, probes="with"),
    "pairs-in-turn": PlayExamples(
        64, (0.0, 0, 0.0, 1), ((0.0, 1), (0.0, 1), (2.0, 0), (2.0, 0)), unlike_the_first, (0.0, 2.0)
    ),
    "sum-goes-on": PlaySteps(
        (*(Show(x, 1, 11) for x in range(6)), NO_MISTAKE_OR_ONE, Show(0, WITH, 120)),
        asked=tuple(range(6)),
        score=changes,
    ),
    "whole-epsilon-each": PlaySteps(
        (
            NO_MISTAKE_OR_ONE,
            Show(0, 1, 6),
            Show(1, 1, 185),
            Show(2, WITH, 60),
            Show(2, AGAINST, 12),
            Show(1, AGAINST, 222),
        ),
        asked=(0.0, 1.0),
        score=later_if_never_one,
    ),
    "each-switch-whole": PlaySteps(
        (Show(0, 1, 170), Show(0, AGAINST, 40), Show(1, 1, CALM), NO_MISTAKE_OR_ONE, Show(1, 1, CALM)),
        asked=(0.0,),
        score=more_ones_in_the_second_calm,
    ),
    "leaves-in-turn": PlaySteps(
        (NO_MISTAKE_OR_ONE, *(Show(0, 1, 2), Show(1, 0, 2)) * 32, Show(0, 0, 10)),
        asked=(0.0, 1.0),
        score=unlike_the_first,
    ),
    "bare-forest": PlayExamples(12, (0.0, 1, 1.0, 0), ((0.0, 0),), unlike_the_first),
    "keeps-batches": PlayExamples(60, FLIP, ((0.0, 1),) * 29 + ((0.0, 0),) * 60, later_total),
    "noise-of-means": PlayExamples(40, FLIP, ((0.0, 1),) * 19 + ((0.0, 0),) * 40, later_total),
    "bare-candidates": PlayExamples(12, (1.0, 1, 0.0, 1), ((0.0, 1),), unlike_the_first),
    "strikes-out": PlayExamples(12, (0.0, 0, 1.0, 0), ((0.0, 0),), unlike_the_first, (1.0,)),
    "noise-of-one-level": PlayExamples(
        60, (0.0, 0, 1.0, 0), ((2.0, 0),), first_point_less_second, asked=(0.0, 1.0), before=((0.0, 0),)
    ),
    "whole-for-counters": PlayExamples(12, (0.0, 1, 1.0, 1), ((1.0, 1),), unlike_the_first),
    "shows-the-best": PlayExamples(12, (0.0, 0, 0.0, 1), ((0.0, 0),), total, before=((0.0, 0),) * 6),
    "pays-for-one-draw": PlayExamples(
        24, (0.0, 0, 0.0, 1), ((0.0, 0), (0.0, 1)), total, before=((0.0, 0),) * 12
    ),
    "skips-the-bit": PlayExamples(
        12, (0.0, 1, 0.0, 0), ((0.0, 0),), drop_past_the_middle, before=((0.0, 0),) * 6
    ),
    "redraws-at-mistakes": PlayExamples(
        12, (0.0, 1, 0.0, 0), ((0.0, 0),), drop_past_the_middle, before=((0.0, 0),) * 6
    ),
    "draws-for-one": PlayExamples(2, FIRST_UP_OR_DOWN, RIGHT, first_coordinate, asked=()),
    "sum-for-mean": PlayExamples(2, FIRST_UP_OR_DOWN, RIGHT, first_coordinate, asked=()),
    "cache-stays": PlayExamples(12, FIRST_UP_OR_DOWN, RIGHT, first_coordinates_later_ones_more, asked=()),
    "keeps-weights": PlayExamples(80, FIRST_UP_OR_DOWN, RIGHT, first_coordinates_later_ones_more, asked=()),
    "cache-shows": PlayExamples(2, NO_STEP_OR_STEP, RIGHT, below_a_whole_number, asked=()),
    "nothing-new": PlayExamples(2, NO_STEP_OR_STEP, RIGHT, leaves_the_first, asked=()),
    "watches-mistakes": UpdateSwap(rounds=10, before=3, probes="with"),
    "bare-mistakes": UpdateSwap(rounds=10, before=3, probes="with"),
    "many-draws-after-calm": FirstSwap(rounds=40, correct=8),
    "bare-brink": UpdateSwap(rounds=40),
    "jumps-after-calm": UpdateSwap(rounds=40, correct=8),
}
