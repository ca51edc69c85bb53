"""list-choice: a decision list among all of them, chosen by the exponential mechanism."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import DecisionLists, Variables
from arena.concepts.base import ConceptClass
from arena.laws import Finite
from arena.players import Learner
from arena.replies import Hypothesis
from arena.sample import Sample, Training
from arena.settings import more_than, setting
from learners.lists.private_decision_list import lists_only


@attrs.frozen
class ListChoice(Learner):
    """The baseline of Bun and Fang's introduction: the exponential mechanism of Kasiviswanathan, Lee, Nissim,
    Raskhodnikova, Smith (2011) over decision lists. A list c is drawn with probability proportional to
    exp(−ε·m(c)/2), where m(c) is the number of examples that it labels wrongly.

    It chooses among all lists in which no feature comes twice, not among their functions as
    exponential-choice does, and needs them in memory: k features have about 3.3·k!·2^k.

    Raises: Unsupported if there are more than 200,000 lists (7 features or more).
    """

    name = "list-choice"
    protocols = ("Release",)
    theorem = "the exponential mechanism (McSherry and Talwar 2007)"

    concepts: ConceptClass = setting(
        DecisionLists(Variables(3)), help="decision lists over 6 features at most", check=lists_only
    )
    epsilon: float = setting(1.0, unit="nats", help="ε of the choice", check=more_than(0))

    def __attrs_post_init__(self) -> None:
        self.lists()

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number."""
        return True

    def lists(self) -> np.ndarray:
        """(k, L): the lists to choose from."""
        assert isinstance(self.concepts, DecisionLists)
        return self.concepts.all_lists()

    def law(self, sample: Sample) -> Finite:
        lists = self.lists()
        wrong = (self.concepts.labels(lists, sample.points) != sample.labels) @ sample.counts.astype(float)
        weights = np.exp(-self.epsilon * (wrong - wrong.min()) / 2)
        return Finite(lists, weights / weights.sum())

    def start(self, games: int, rng: np.random.Generator) -> ListChoiceState:
        return ListChoiceState(self, rng)


@attrs.frozen(eq=False)
class ListChoiceState:
    """list-choice at a table."""

    spec: ListChoice
    rng: np.random.Generator

    def release(self, training: Training) -> Hypothesis:
        coins = self.rng.random(training.games)
        lists = self.spec.lists()
        chosen = np.empty(training.games, np.intp)
        for sample, games in training.groups():
            below = np.cumsum(self.spec.law(sample).probabilities)
            chosen[games] = np.searchsorted(below, coins[games] * below[-1], side="right")
        return Hypothesis(self.spec.concepts, lists[chosen])
