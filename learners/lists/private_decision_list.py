"""private-decision-list: Rivest's greedy list, each rule drawn by the exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import DecisionLists, Variables
from arena.concepts.base import ConceptClass
from arena.errors import InvalidArgument
from arena.laws import Finite
from arena.players import Learner
from arena.points import freeze
from arena.replies import Hypothesis
from arena.sample import Sample, Training
from arena.settings import at_least, less_than, more_than, setting
from learners.mechanisms.selection.em_cover import (
    EMCover,
    choice_weights,
    cover_cost,
    largest_cover_rate,
    other_costs,
)

_STATE_NUMBERS = 2**23  # of a table, held at once


def lists_only(instance: Learner, attribute: object, value: object) -> None:
    """A check of the setting `concepts`."""
    if not isinstance(value, DecisionLists):
        raise InvalidArgument(
            f"{instance.name} learns decision lists", value=value, remedy="As in concepts=lists:4."
        )


@attrs.frozen
class PrivateDecisionList(Learner):
    """Section 3 of Bun and Fang. A round for each feature and one for "true": the exponential mechanism draws
    a feature f and a label b with probability proportional to exp(−ε₀·m/2), m being the number of examples
    left with f = 1 and another label; the rule is "if f then b"; f and the examples with f = 1 leave.

    Their Theorem 3.5: on examples that a list labels the released one is nearly right. The claim is what all
    rounds cost exactly in the worst case, proven in `learners.mechanisms.selection.em_cover`: at ε = 1 and δ = 1e-6
    less than a third of what the printed Lemma A.1 says of a replaced example. `other_costs` tells that too.

    What follows "true" is never asked, so a game stops there. It does not stop when nothing is left, which
    would show.

    Shapes: releases a Hypothesis of lists (n, features + 1).
    """

    name = "private-decision-list"
    protocols = ("Release",)
    theorem = "Theorem 3.5 of Bun and Fang; privacy by our form of its Lemma A.1"

    concepts: ConceptClass = setting(
        DecisionLists(Variables(3)), help="decision lists, as lists:8 or lists:8:literals", check=lists_only
    )
    epsilon: float = setting(1.0, unit="nats", help="ε of the list; rate goes before it", check=more_than(0))
    delta: float = setting(
        1e-6, unit="probability", help="δ of the list; 0 for pure privacy", check=[at_least(0), less_than(1)]
    )
    rate: float | None = setting(
        None,
        unit="nats",
        help="ε₀ of each choice; default: the largest that costs epsilon at delta",
        check=more_than(0),
    )

    @property
    def chosen_rate(self) -> float:
        """ε₀ of each choice, nats."""
        if self.rate is not None:
            return self.rate
        return largest_cover_rate(self.rounds, epsilon=self.epsilon, delta=self.delta)

    @property
    def rounds(self) -> int:
        """How many rules a list has at most: a feature each, and "true"."""
        return self._lists.max_rules

    @property
    def claim(self) -> Claim:
        spent = cover_cost(self.rounds, self.chosen_rate, delta=self.delta)
        return Claim(epsilon=spent.epsilon, delta=spent.delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def other_costs(self) -> dict[str, float]:
        """What other arguments say that it costs: ε at the claim's δ, nats."""
        return other_costs(self.rounds, self.chosen_rate, delta=self.delta)

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number a round, whatever comes of it."""
        return True

    def most_errors(self, beta: float) -> float:
        """Lemma A.4: with a chance of beta at most, a list errs on more examples of a sample that some list
        labels.

        A round's choice has more than (2/ε₀)·(ln(candidates) + x) errors with chance e^{−x} at most, as some
        candidate has none (Proposition 3.3), and round i has 2(features + 2 − i) of them. x is such that all
        rounds together miss with chance beta.
        """
        rounds = self.rounds
        tail = math.log(rounds / beta)
        return 2 / self.chosen_rate * sum(math.log(2 * left) + tail for left in range(1, rounds + 1))

    def law(self, sample: Sample) -> Finite:
        """Exact, over all lists.

        Raises: Unsupported if there are more than 200,000 (7 features or more).
        """
        values = self._lists.all_lists()
        table = self._chances(sample)
        used, chance = np.zeros(len(values), np.int64), np.ones(len(values))
        for code in values.T:
            asked = code >= 0
            chance[asked] *= table[used[asked], code[asked]]
            used[asked] |= 1 << (code[asked] // 2)
        return Finite(values, chance / chance.sum())

    def problem(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        """Which features hold at which examples, (U, F + 1), "true" last; and the copies of each that are
        wrong if called 0 and 1, (U, 2)."""
        held = self._lists.features.evaluate(sample.points)
        held = np.concatenate([held, np.ones((len(held), 1), bool)], axis=1)
        return held, sample.counts[:, None] * (sample.labels[:, None] != [0, 1])

    def start(self, games: int, rng: np.random.Generator) -> PrivateDecisionListState:
        return PrivateDecisionListState(self, rng)

    @property
    def _lists(self) -> DecisionLists:
        assert isinstance(self.concepts, DecisionLists)
        return self.concepts

    def _chances(self, sample: Sample) -> np.ndarray:
        """(2^F, 2F + 2): the chance of each rule where the features in a set of bits are used."""
        held, wrong = self.problem(sample)
        count = self._lists.features.count
        used = np.arange(2**count)[:, None] >> np.arange(count + 1) & 1 == 1
        left = ~(used @ held.T)
        errors = np.einsum("su,uf,uo->sfo", left, held, wrong, optimize=True)
        weights = choice_weights(-errors, used, rate=self.chosen_rate)
        return freeze(weights / weights.sum(axis=1, keepdims=True))


class PrivateDecisionListState:
    """private-decision-list at a table."""

    def __init__(self, spec: PrivateDecisionList, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rng = rng

    def release(self, training: Training) -> Hypothesis:
        spec = self._spec
        coins = self._rng.random((training.games, spec.rounds))
        lists = np.full(coins.shape, -1)
        for sample, games in training.groups():
            held, wrong = spec.problem(sample)
            for slab in _slabs(games, len(held)):
                lists[slab] = self._drawn(held, wrong, coins[slab])
        return Hypothesis(spec.concepts, lists)

    def _drawn(self, held: np.ndarray, wrong: np.ndarray, coins: np.ndarray) -> np.ndarray:
        """(n, rounds): a list for each row of coins."""
        cover = self._cover(held, wrong, coins)
        lists = np.full(coins.shape, -1)
        for rules in lists.T:
            if cover.finished:
                break
            rules[:] = cover.choose(self._scores(cover))
        return lists

    def _cover(self, held: np.ndarray, wrong: np.ndarray, coins: np.ndarray) -> EMCover:
        return EMCover(held, wrong, coins, rate=self._spec.chosen_rate, universal_set=held.shape[1] - 1)

    def _scores(self, cover: EMCover) -> np.ndarray:
        """(m, F + 1, 2): minus the number of examples left that a rule gets wrong."""
        return -cover.sums


def _slabs(games: np.ndarray, examples: int) -> Iterator[np.ndarray]:
    step = max(1, _STATE_NUMBERS // max(1, examples))
    return (games[start : start + step] for start in range(0, max(1, len(games)), step))
