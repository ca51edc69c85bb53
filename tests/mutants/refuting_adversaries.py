"""For each broken learner the adversary that refutes it: inputs, and a score that tells the worlds apart."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, cycle, islice

import attrs
import numpy as np

from adversaries.online.update_swap import UpdateSwap
from adversaries.voting.small_margin import SmallMargin
from arena import UNSTABLE, Adversary, Example, Learner, Moves, Query, Ready, Sample, Train
from audits.search.script import AGAINST, WITH, Show, Special

Score = Callable[[np.ndarray], np.ndarray]

# --- scores -------------------------------------------------------------------------------------------------


def first(values: np.ndarray) -> np.ndarray:
    return values[:, 0]


def second(values: np.ndarray) -> np.ndarray:
    return values[:, 1]


def last(values: np.ndarray) -> np.ndarray:
    return values[:, -1]


def first_is_zero(values: np.ndarray) -> np.ndarray:
    return values[:, 0] == 0


def second_less_first(values: np.ndarray) -> np.ndarray:
    return values[:, 1] - values[:, 0]


def total(values: np.ndarray) -> np.ndarray:
    return values.sum(axis=1)


def even_less_odd(values: np.ndarray) -> np.ndarray:
    return values[:, ::2].sum(axis=1) - values[:, 1::2].sum(axis=1)


def drop_past_the_middle(values: np.ndarray) -> np.ndarray:
    middle = values.shape[1] // 2
    return values[:, middle] - values[:, middle + 1]


# --- scores of decision lists: rules (n, L), 2·feature + label or -1 ----------------------------------------


def label_of_first_rule(rules: np.ndarray) -> np.ndarray:
    return rules[:, 0] % 2


def label_of_true(rules: np.ndarray) -> np.ndarray:
    return rules.max(axis=1) % 2


def ones_less_zeros(rules: np.ndarray) -> np.ndarray:
    return np.where(rules < 0, 0, 2 * (rules % 2) - 1).sum(axis=1)


def has_one_rule_of_a_variable(rules: np.ndarray) -> np.ndarray:
    return (rules[:, 0] < 2) & (rules[:, 1] < 0)


def begins_with_the_variable(rules: np.ndarray) -> np.ndarray:
    return rules[:, 0] < 2


def first_variable_says_one(rules: np.ndarray) -> np.ndarray:
    return rules[:, 0] == 1


def late_one(rules: np.ndarray) -> np.ndarray:
    """The second variable, then the third, and of the rest a 1 first."""
    return (rules[:, 0] // 2 == 1) & (rules[:, 1] // 2 == 2) & (rules[:, 2] % 2 == 1)


# --- scores of answers and halts (n, q + 1): 0, 1, 2 for ⊥, −1 for none -------------------------------------


def labels_one_less_zero(seen: np.ndarray) -> np.ndarray:
    return (seen[:, :-1] == 1).sum(axis=1) - (seen[:, :-1] == 0).sum(axis=1)


def labels(seen: np.ndarray) -> np.ndarray:
    return (seen[:, :-1] < 2).sum(axis=1)


def unlike_each_other(seen: np.ndarray) -> np.ndarray:
    return seen[:, 0] != seen[:, 1]


# --- scores of what h_2 ... h_T say of some points: bool (n, rounds, points) --------------------------------

CALM = 120  # rounds before and after an example


def changes(said: np.ndarray) -> np.ndarray:
    """How often a hypothesis is not the one before it."""
    return (said[:, 1:] != said[:, :-1]).any(axis=2).sum(axis=1)


def unlike_the_first(said: np.ndarray) -> np.ndarray:
    return (said != said[:, :1]).any(axis=2).sum(axis=1)


def later_if_never_one(said: np.ndarray) -> np.ndarray:
    """How late h changes, in games in which no h labels the first point 1."""
    changed = (said != said[:, :1]).any(axis=2)
    first = np.where(changed.any(axis=1), changed.argmax(axis=1), changed.shape[1])
    return np.where(said[:, :, 0].any(axis=1), -1, first)


def first_coordinate(shown: np.ndarray) -> np.ndarray:
    """Of concepts that are vectors: the first coordinate of the second, from 0 to 1."""
    return shown[:, 1, 0] / shown[:, 1].sum(axis=1)


def first_coordinates_later_ones_more(shown: np.ndarray) -> np.ndarray:
    return shown[:, 1:, 0] @ np.arange(1.0, shown.shape[1])


def leaves_the_first(shown: np.ndarray) -> np.ndarray:
    return (shown[:, 1] != shown[:, 0]).any(axis=1).astype(float)


def below_a_whole_number(shown: np.ndarray) -> np.ndarray:
    return (shown[:, 1] % 1).sum(axis=1)


def more_ones_in_the_second_calm(said: np.ndarray) -> np.ndarray:
    ones = said[:, :, 0]
    return ones[:, -CALM:].sum(axis=1) - ones[:, -2 * CALM : -CALM].sum(axis=1)


# --- adversaries --------------------------------------------------------------------------------------------


@attrs.frozen
class Neighbours(Adversary):
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
        return Train(self.filled(self.sample), self.filled(self.other))

    def filled(self, sample: Sample) -> Sample:
        """The sample, the first run of `sample` before it as often as it takes."""
        missing = ((self.learner and self.learner.sample_size) or 0) - sample.size
        if missing <= 0:
            return sample
        points, labels = (
            np.append(self.sample.points[0], sample.points),
            [self.sample.labels[0], *sample.labels],
        )
        return Sample(points, labels, [missing, *sample.counts])


@attrs.frozen
class ListNeighbours(Neighbours):
    """The same before a learner that releases decision lists. score: of the rules (n, L)."""

    name = "list-neighbours"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield self.train()
        return self.score(reply.value.concepts).astype(float)


@attrs.frozen
class Asks(Neighbours):
    """And asks: a point, or two of which each world gets one.

    score: of the answers (n, q) and of whether the learner has stopped, the last column.
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
class AsksTeachers(Asks):
    """The same of votes of teachers."""

    name = "asks-teachers"
    protocols = ("Voting",)


@attrs.frozen
class Stream(Adversary):
    """One special label in round 1, then 0 and 1 by turns. score: of what h_1 … h_T say of the point."""

    name = "stream"
    protocols = ("SpecialRound",)

    rounds: int
    score: Score
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Ready()
        said = [reply.hypothesis(0.5)]
        for t in range(self.rounds):
            reply = yield Example(0.5, 0, other_y=1) if t == 0 else Example(0.5, (t + 1) % 2)
            if reply.hypothesis is not None:
                said.append(reply.hypothesis(0.5))
        return self.score(np.stack(said, axis=1).astype(float))


@attrs.frozen
class Shows(Adversary):
    """A special example (x, y in world 0; x, y in world 1), then the examples (x, y) of `after` by turns.

    The score is how many later hypotheses label a point of `asked` other than h_1 does.
    """

    name = "shows"
    protocols = ("SpecialRound",)

    rounds: int
    special: tuple[float, int, float, int]
    after: tuple[tuple[float, int], ...]
    asked: tuple[float, ...] = (0.0,)
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        first = (yield Ready()).hypothesis
        moved = np.zeros(games)
        for t in range(self.rounds):
            example = self.special if t == 0 else self.after[(t - 1) % len(self.after)]
            shown = (yield Example(*example)).hypothesis
            if shown is not None:
                moved += np.any([shown(x) != first(x) for x in self.asked], axis=0)
        return moved


@attrs.frozen
class Ones(Adversary):
    """A special label first, then `ones` labels 1 and zeros. score: how often the hypotheses say 1."""

    name = "ones"
    protocols = ("SpecialRound",)

    rounds: int
    ones: int
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Ready()
        said = np.zeros(games)
        for t in range(self.rounds):
            reply = yield Example(0.0, 0, other_y=1) if t == 0 else Example(0.0, int(t <= self.ones))
            if reply.hypothesis is not None:
                said += reply.hypothesis(0.0)
        return said


@attrs.frozen
class Swaps(Adversary):
    """The examples (x, y) of `before`, a special one as in `Shows`, then those of `after` by turns.

    score: of what h_1 … h_T say of the points `asked`, (n, T) for one point; for k (n, T·k), round by round.
    """

    name = "swaps"
    protocols = ("SpecialRound",)

    rounds: int
    before: tuple[tuple[float, int], ...]
    special: tuple[float, int, float, int]
    after: tuple[tuple[float, int], ...]
    score: Score
    asked: tuple[float, ...] = (0.0,)
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        shown = (yield Ready()).hypothesis
        said = []
        examples = chain(self.before, [self.special], cycle(self.after))
        for example in islice(examples, self.rounds):
            said += [shown(x) for x in self.asked]
            shown = (yield Example(*example)).hypothesis
        return self.score(np.stack(said, axis=1).astype(float))


@attrs.frozen
class Stretches(Adversary):
    """Stretches of examples, as a search draws them, any number of them.

    asked: the points that hypotheses are asked about. score: of what they say, but for h_1.
    """

    name = "stretches"
    protocols = ("SpecialRound",)

    steps: tuple[Show | Special, ...]
    asked: tuple[float, ...]
    score: Score
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        hypothesis = (yield Ready()).hypothesis
        said = []
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
                said.append(np.stack([shown(x) for x in self.asked], axis=1))
        return self.score(np.stack(said, axis=1)).astype(float)


@attrs.frozen
class Counts(Adversary):
    """A special example (x, y in world 0; x, y in world 1), then one example again and again.

    score: of the concepts of h_1 … h_T, vectors, (n, T, d).
    """

    name = "counts"
    protocols = ("SpecialRound",)

    rounds: int
    special: tuple[tuple[float, ...], int, tuple[float, ...], int]
    after: tuple[tuple[float, ...], int]
    score: Score
    learner: Learner | None = None

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        shown = [(yield Ready()).hypothesis.concepts]
        for t in range(self.rounds):
            reply = yield Example(*(self.after if t else self.special))
            if reply.hypothesis is not None:
                shown.append(reply.hypothesis.concepts)
        return self.score(np.stack(shown, axis=1).astype(float))


# --- one for each -------------------------------------------------------------------------------------------

ZERO, ONE = Sample([0.0], [0]), Sample([0.0], [1])
TWO_ZEROS = Sample([0.0], [0], [2])
ZERO_ONE = Sample([0.0, 0.0], [0, 1])
NO_MISTAKE_OR_ONE = Special((0.0, 0), (0.0, 1))
# Uniform weights label both points 1. These mistakes make one coordinate likelier, in world 1 the first.
FIRST_UP_OR_DOWN = (1.0, -1.0), 0, (-1.0, 1.0), 0
RIGHT = (1.0, 1.0), 1
NO_STEP_OR_STEP = (0.5, 0.25), 1, (0.5, 0.25), 0
AT_HALF, AT_ONE = Sample([0.5], [0]), Sample([1.0], [0])
# Nine teachers of one example each: four or five for 1; of one mind, or all but one.
ONE_SHORT, ONE_OVER = (Sample([0.0, 0.0], [0, 1], [9 - ones, ones]) for ones in (4, 5))
ALL, ALL_BUT_ONE = Sample([0.0], [1], [9]), Sample([0.0, 0.0], [1, 0], [8, 1])
TRIES_THE_TIE = AsksTeachers(ONE_SHORT, ONE_OVER, labels_one_less_zero, queries=(0.0,) * 6)
COUNTS_ONES = AsksTeachers(ONE_SHORT, ONE_OVER, total, queries=(0.0,) * 16)
AT_0, AT_1 = Sample([[0]], [0]), Sample([[1]], [0])


@attrs.frozen
class CountsUnstable(Adversary):
    """Asks a point at which the votes are 1 of 3 in world 0, and 2 of 3 in world 1; counts ⊥."""

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
    "bare-screen": CountsUnstable(),
    "half-the-scale": Neighbours(ZERO, ONE, first),
    "exact-zero": Neighbours(ZERO, ONE, first_is_zero),
    "noise-seeded-by-data": Neighbours(ZERO, ONE, first),
    "bounded-noise": Neighbours(ZERO, ONE, first),
    "noise-cut-to-whole": Neighbours(ZERO, ONE, first_is_zero),
    "suppressed-by-exact-count": Neighbours(
        Sample([0.0, 0.0], [0, 1], [1, 2]), Sample([0.0], [1], [3]), first_is_zero
    ),
    "sensitivity-of-adding": Neighbours(ZERO, ONE, second_less_first),
    "one-noise-for-both": Neighbours(ZERO, ONE, second_less_first),
    "exact-size": Neighbours(ZERO, AT_HALF, second),
    "refuses-empty-selection": Neighbours(AT_HALF, ZERO, first),
    "order-of-data": Neighbours(Sample([0.0, 0.5], [0, 0]), Sample([1.0, 0.5], [0, 0]), first),
    "epsilon-for-delta": Neighbours(ZERO, AT_ONE, last),
    "unclipped-sum": Neighbours(ZERO, AT_ONE, first),
    "variance-for-deviation": Neighbours(ZERO, ONE, first),
    "choice-without-the-two": Neighbours(Sample([0.0], [0], [3]), Sample([0.0, 1.0], [0, 0], [2, 1]), first),
    "coin-for-flip": Neighbours(ZERO, ONE, first),
    "without-the-two": ListNeighbours(
        Sample([[0], [1]], [1, 0], [2, 2]), Sample([[0], [1], [1]], [1, 0, 1], [2, 1, 1]), label_of_first_rule
    ),
    "share-of-covered": ListNeighbours(
        Sample([[0], [1]], [0, 0], [40, 1]), Sample([[0], [1]], [0, 1], [40, 1]), first_variable_says_one
    ),
    "keeps-covered": ListNeighbours(
        Sample([[1] * 6, [1] * 6], [0, 1]), Sample([[1] * 6], [1], [2]), ones_less_zeros
    ),
    "stops-when-empty": ListNeighbours(AT_0, AT_1, has_one_rule_of_a_variable),
    "skips-useless": ListNeighbours(AT_0, AT_1, begins_with_the_variable),
    "exact-end": ListNeighbours(
        Sample([[0], [0]], [0, 1], [2, 1]), Sample([[0], [0]], [0, 1], [1, 2]), label_of_true
    ),
    "claims-one-round": ListNeighbours(
        Sample([[0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0]], [1, 0, 0, 0], [1, 2, 2, 1]),
        Sample([[0, 1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], [1, 0, 1, 0, 0], [1, 1, 1, 2, 1]),
        late_one,
    ),
    "stale-noise": Asks(
        Sample([0.0, 0.5], [0, 1]), Sample([0.0, 0.5], [1, 1]), second_less_first, queries=(0.0, 0.5)
    ),
    "pays-for-one-answer": Asks(ZERO, ONE, total, queries=(0.0,) * 8),
    "one-answer-more": Asks(TWO_ZEROS, ZERO_ONE, total, queries=(0.0, 0.0)),
    "nothing-to-learn": Asks(TWO_ZEROS, ZERO_ONE, last, queries=(0.0,)),
    "memorises": Asks(ZERO, ONE, first, queries=(0.0,)),
    "unknown-point": Asks(AT_HALF, ZERO, first, queries=(0.5,)),
    "refuses-unknown-point": Asks(AT_HALF, ZERO, first, queries=(0.5,)),
    "noise-seeded-by-query": Asks(ZERO, ONE, first, queries=(0.0,)),
    "free-repeats": Asks(ZERO, ZERO, last, queries=(0.0, (0.0, 1.0), 0.0)),
    "bare-threshold": Asks(ZERO, ONE, last, queries=(0.0,) * 8),
    "halts-on-true-count": Asks(ZERO, ONE, last, queries=(0.0,)),
    "shared-example": Asks(TWO_ZEROS, Sample([0.0, 0.0], [1, 0]), first, queries=(0.0,)),
    "no-noise-if-unanimous": Asks(TWO_ZEROS, ZERO_ONE, first, queries=(0.0,)),
    "whole-sample": Asks(TWO_ZEROS, ZERO_ONE, total, queries=(0.0, 0.0)),
    "never-stops": TRIES_THE_TIE,
    "one-unstable-more": TRIES_THE_TIE,
    "tells-the-vote": TRIES_THE_TIE,
    "counts-the-stable": TRIES_THE_TIE,
    "too-far-by-one": TRIES_THE_TIE,
    "bare-distance": AsksTeachers(ALL_BUT_ONE, ALL, labels, queries=(0.0,)),
    "pays-for-one-vote": COUNTS_ONES,
    "two-teachers-each": AsksTeachers(
        Sample([0.0, 0.0], [0, 1], [3, 2]), Sample([0.0, 0.0], [0, 1], [2, 3]), total, queries=(0.0,) * 16
    ),
    "one-number": AsksTeachers(
        Sample([0.0, 1.0], [1, 0], [4, 5]),
        Sample([0.0, 1.0, 1.0], [1, 1, 0], [4, 1, 4]),
        unlike_each_other,
        queries=(0.0, 1.0),
    ),
    "stale-majority": Stream(12, second_less_first),
    "noisy-start": Stream(12, second),
    "pays-for-one-round": Stream(12, total),
    "bare-counts": Shows(24, (0.0, 1, 1.0, 0), ((1.0, 0),)),
    "noise-of-threshold-alone": UpdateSwap(rounds=22, before=17, probes="with"),
    "compares-at-mistakes": UpdateSwap(rounds=22, before=18, probes="with"),
    "pairs-in-turn": Shows(64, (0.0, 0, 0.0, 1), ((0.0, 1), (0.0, 1), (2.0, 0), (2.0, 0)), (0.0, 2.0)),
    "sum-goes-on": Stretches(
        (*(Show(x, 1, 11) for x in range(6)), NO_MISTAKE_OR_ONE, Show(0, WITH, 120)),
        asked=tuple(range(6)),
        score=changes,
    ),
    "whole-epsilon-each": Stretches(
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
    "each-switch-whole": Stretches(
        (Show(0, 1, 170), Show(0, AGAINST, 40), Show(1, 1, CALM), NO_MISTAKE_OR_ONE, Show(1, 1, CALM)),
        asked=(0.0,),
        score=more_ones_in_the_second_calm,
    ),
    "leaves-in-turn": Stretches(
        (NO_MISTAKE_OR_ONE, *(Show(0, 1, 2), Show(1, 0, 2)) * 32, Show(0, 0, 10)),
        asked=(0.0, 1.0),
        score=unlike_the_first,
    ),
    "bare-forest": Shows(12, (0.0, 1, 1.0, 0), ((0.0, 0),)),
    "keeps-batches": Ones(60, 29),
    "noise-of-means": Ones(40, 19),
    "bare-candidates": Shows(12, (1.0, 1, 0.0, 1), ((0.0, 1),)),
    "strikes-out": Shows(12, (0.0, 0, 1.0, 0), ((0.0, 0),), (1.0,)),
    "noise-of-one-level": Swaps(
        60, ((0.0, 0),), (0.0, 0, 1.0, 0), ((2.0, 0),), even_less_odd, asked=(0.0, 1.0)
    ),
    "whole-for-counters": Shows(12, (0.0, 1, 1.0, 1), ((1.0, 1),)),
    "shows-the-best": Swaps(12, ((0.0, 0),) * 6, (0.0, 0, 0.0, 1), ((0.0, 0),), total),
    "pays-for-one-draw": Swaps(24, ((0.0, 0),) * 12, (0.0, 0, 0.0, 1), ((0.0, 0), (0.0, 1)), total),
    "skips-the-bit": Swaps(12, ((0.0, 0),) * 6, (0.0, 1, 0.0, 0), ((0.0, 0),), drop_past_the_middle),
    "redraws-at-mistakes": Swaps(12, ((0.0, 0),) * 6, (0.0, 1, 0.0, 0), ((0.0, 0),), drop_past_the_middle),
    "draws-for-one": Counts(2, FIRST_UP_OR_DOWN, RIGHT, first_coordinate),
    "sum-for-mean": Counts(2, FIRST_UP_OR_DOWN, RIGHT, first_coordinate),
    "cache-stays": Counts(12, FIRST_UP_OR_DOWN, RIGHT, first_coordinates_later_ones_more),
    "cache-shows": Counts(2, NO_STEP_OR_STEP, RIGHT, below_a_whole_number),
    "nothing-new": Counts(2, NO_STEP_OR_STEP, RIGHT, leaves_the_first),
    "watches-mistakes": UpdateSwap(rounds=10, before=3, probes="with"),
    "bare-mistakes": UpdateSwap(rounds=10, before=3, probes="with"),
}
