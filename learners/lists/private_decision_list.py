"""Learners of decision lists: private-decision-list, list-choice, and rivest without privacy."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, neighbours_setting
from arena.concepts import ConceptClass, DecisionLists, Variables
from arena.errors import InvalidArgument
from arena.laws import Finite
from arena.messages import Hypothesis
from arena.players import Learner
from arena.sample import Sample, Training, freeze
from arena.settings import at_least, less_than, setting
from learners.common.learner_bases import (
    FittedLearner,
    ReleaseLearner,
    claim_for_example,
    claim_of_monotone_choice,
)
from learners.mechanisms.selection import EMCover, choice_weights, cover_cost, largest_cover_rate, other_costs


def decision_lists_setting(help: str) -> Any:
    return setting(DecisionLists(Variables(3)), help=help, check=_require_decision_lists)


def _require_decision_lists(instance: Learner, attribute: object, value: object) -> None:
    if not isinstance(value, DecisionLists):
        raise InvalidArgument(
            f"{instance.name} learns decision lists", value=value, remedy="For instance concepts=lists:4."
        )


def tabulate_examples(concepts: DecisionLists, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """The features of each distinct example (U, F + 1) bool, "true" last; and its copies by label (U, 2)."""
    features = concepts.features.evaluate(sample.points)
    features = np.concatenate([features, np.ones((len(features), 1), bool)], axis=1)
    return features, sample.counts[:, None] * (sample.labels[:, None] == [0, 1])


_SLAB = 2**23  # games x examples whose cover is held in memory at a time


@attrs.frozen
class PrivateDecisionList(Learner):
    """Private greedy decision list (section 3 of Bun and Fang).

    In a round for each feature and one for "true", the exponential mechanism draws a feature f and a label b
    with probability proportional to exp(−ε₀·m/2), where m is the number of remaining examples with f = 1 and
    another label; then f and the examples with f = 1 are removed. The list ends with "true", whatever
    remains.

    Privacy: the exact worst-case cost (docs/proofs/em_cover.md). Utility: Theorem 3.5. Releases lists (n,
    features + 1).
    """

    name = "private-decision-list"
    usual_adversary = "cover-swap"
    protocols = ("Release",)
    theorem = "Theorem 3.5 of Bun and Fang; privacy by our form of its Lemma A.1"
    common_random_numbers = True  # every game draws one random number for each round, used or not

    concepts: DecisionLists = decision_lists_setting("decision lists, as lists:8 or lists:8:literals")
    epsilon: float = setting(1.0, unit="nats", help="ε of the list; not used if rate is set")
    delta: float = setting(
        1e-6, unit="probability", help="δ of the list; 0 for pure privacy", check=[at_least(0), less_than(1)]
    )
    rate: float | None = setting(None, unit="nats", help="ε₀ of a choice; default: the largest for ε and δ")

    @property
    def effective_rate(self) -> float:
        """ε₀ of each choice, nats."""
        if self.rate is not None:
            return self.rate
        return largest_cover_rate(self.rounds, epsilon=self.epsilon, delta=self.delta)

    @property
    def rounds(self) -> int:
        """The largest number of rules in a list: one for each feature, and "true"."""
        return self.concepts.max_rules

    @property
    def claim(self) -> Claim:
        return claim_for_example(*cover_cost(self.rounds, self.effective_rate, delta=self.delta))

    def other_costs(self) -> dict[str, float]:
        """The cost by other arguments: ε at the claim's δ, nats."""
        return other_costs(self.rounds, self.effective_rate, delta=self.delta)

    def most_errors(self, beta: float) -> float:
        """The errors on a sample, which some list labels correctly, exceeded with probability at most beta
        (Lemma A.4)."""
        rounds = self.rounds
        tail = math.log(rounds / beta)
        return 2 / self.effective_rate * sum(math.log(2 * left) + tail for left in range(1, rounds + 1))

    def law(self, sample: Sample) -> Finite:
        """The exact distribution over all lists. Raises: Unsupported for more than 200,000 (7 features or
        more)."""
        lists = self.concepts.all_lists()
        by_used = self._rule_probabilities(sample)
        used, probability = np.zeros(len(lists), np.int64), np.ones(len(lists))
        for rules in lists.T:
            present = rules >= 0
            probability[present] *= by_used[used[present], rules[present]]
            used[present] |= 1 << (rules[present] // 2)
        return Finite(lists, probability / probability.sum())

    def start(self, games: int, rng: np.random.Generator) -> PrivateDecisionListState:
        return PrivateDecisionListState(self, rng)

    def _rule_probabilities(self, sample: Sample) -> np.ndarray:
        """(2^F, 2F + 2): the probability of each rule, by the set of features used so far as bits."""
        features, by_label = tabulate_examples(self.concepts, sample)
        count = self.concepts.features.count
        used = np.arange(2**count)[:, None] >> np.arange(count + 1) & 1 == 1
        left = ~(used @ features.T)
        errors = np.einsum("su,uf,uo->sfo", left, features, by_label[:, ::-1], optimize=True)
        weights = choice_weights(-errors, used, rate=self.effective_rate)
        return freeze(weights / weights.sum(axis=1, keepdims=True))


class PrivateDecisionListState:
    def __init__(self, spec: PrivateDecisionList, rng: np.random.Generator) -> None:
        self._spec = spec
        self._rng = rng

    def release(self, training: Training) -> Hypothesis:
        spec = self._spec
        coins = self._rng.random((training.games, spec.rounds))
        lists = np.full(coins.shape, -1)
        for sample, games in training.groups():
            features, by_label = tabulate_examples(spec.concepts, sample)
            step = max(1, _SLAB // max(1, len(features)))
            for start in range(0, len(games), step):
                slab = games[start : start + step]
                lists[slab] = self._draw_lists(features, by_label[:, ::-1], coins[slab])
        return Hypothesis(spec.concepts, lists)

    def _draw_lists(self, features: np.ndarray, errors: np.ndarray, coins: np.ndarray) -> np.ndarray:
        """A list for each row of coins (n, rounds); features (U, F + 1) bool; errors (U, 2) of each label."""
        cover = self._start_cover(features, errors, coins)
        lists = np.full(coins.shape, -1)
        for rules in lists.T:
            if cover.finished:
                break
            rules[:] = cover.choose(self._scores(cover))
        return lists

    def _start_cover(self, features: np.ndarray, errors: np.ndarray, coins: np.ndarray) -> EMCover:
        return EMCover(
            features, errors, coins, rate=self._spec.effective_rate, universal_set=features.shape[1] - 1
        )

    def _scores(self, cover: EMCover) -> np.ndarray:
        """(m, F + 1, 2): minus the number of remaining examples that each rule gets wrong."""
        return -cover.sums


@attrs.frozen
class ListChoice(ReleaseLearner):
    """The exponential mechanism over all decision lists, the baseline in Bun and Fang's introduction.

    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith (2011): a list c has probability proportional to
    exp(−ε·m(c)/2), where it labels m(c) examples wrongly, among all lists in which no feature occurs twice. A
    blank example is wrong for every list. Raises: Unsupported for more than 200,000 lists (7 features or
    more).
    """

    name = "list-choice"
    usual_adversary = "cover-swap"
    theorem = "the exponential mechanism (McSherry and Talwar 2007)"
    common_random_numbers = True  # every game draws one random number

    concepts: DecisionLists = decision_lists_setting("decision lists over at most 6 features")
    epsilon: float = setting(1.0, unit="nats", help="ε of the choice if an example is replaced")
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    def __attrs_post_init__(self) -> None:
        self.concepts.all_lists()  # refuses classes with too many lists

    @property
    def claim(self) -> Claim:
        return claim_of_monotone_choice(self.epsilon, self.neighbours)

    def law(self, sample: Sample) -> Finite:
        lists = self.concepts.all_lists()
        wrong = (self.concepts.labels(lists, sample.points) != sample.labels) @ sample.counts.astype(float)
        weights = np.exp(-self.epsilon * (wrong - wrong.min()) / 2)
        return Finite(lists, weights / weights.sum())

    def release(self, training: Training, rng: np.random.Generator) -> Hypothesis:
        uniform = rng.random(training.games)
        choices = np.empty(training.games, np.intp)
        for sample, games in training.groups():
            cumulative = np.cumsum(self.law(sample).probabilities)
            choices[games] = np.searchsorted(cumulative, uniform[games] * cumulative[-1], side="right")
        return Hypothesis(self.concepts, self.concepts.all_lists()[choices])


@attrs.frozen
class Rivest(FittedLearner):
    """The greedy algorithm of Rivest (1987), a baseline without privacy (ε = ∞) for private-decision-list.

    Of the rules that cover a remaining example it appends one with the smallest share of errors; among those
    one that covers most; among those the first. It stops after "true".
    """

    name = "rivest"
    usual_adversary = "cover-swap"

    concepts: DecisionLists = decision_lists_setting("decision lists, as lists:8 or lists:8:literals")

    @property
    def _hypotheses(self) -> ConceptClass:
        return self.concepts

    def fit(self, sample: Sample) -> np.ndarray:
        return greedy_list(*tabulate_examples(self.concepts, sample))


def greedy_list(features: np.ndarray, by_label: np.ndarray) -> np.ndarray:
    """(F + 1,): the list that `Rivest` describes, for features (U, F + 1) bool, "true" last; by_label (U, 2)
    copies."""
    true = features.shape[1] - 1
    rules, left = np.full(true + 1, -1), np.ones(len(features), bool)
    as_numbers = features.astype(np.float64)
    counts = as_numbers.T @ by_label  # remaining examples that a feature covers, by label
    for position in range(true + 1):
        feature, label = _best_rule(counts)
        rules[position] = 2 * feature + label
        if feature == true:
            break
        covered = np.flatnonzero(left & features[:, feature])
        left[covered] = False
        counts -= as_numbers[covered].T @ by_label[covered]
    return rules


def _best_rule(counts: np.ndarray) -> tuple[int, int]:
    """The feature and label with the smallest share of errors; then the most examples; then the first."""
    counts = np.roll(counts, 1, axis=0)  # "true" first
    covered = counts.sum(axis=1)[:, None]
    errors = counts[:, ::-1]  # label 0 is wrong for examples with label 1
    share = np.where(covered > 0, errors / np.maximum(covered, 1), np.inf)
    eligible = np.where(share == share.min(), covered, -1)
    row, label = np.unravel_index(eligible.argmax(), eligible.shape)
    return int(row - 1) % len(counts), int(label)
