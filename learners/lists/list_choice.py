"""list-choice: a decision list chosen among all of them by the exponential mechanism."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim
from arena.concepts import DecisionLists
from arena.laws import Finite
from arena.neighbours import Neighbours, neighbours_setting
from arena.replies import Hypothesis
from arena.sample import Sample, Training
from arena.settings import setting
from learners.common.relation_claims import claim_of_monotone_choice
from learners.common.release_learner import ReleaseLearner
from learners.lists.base import decision_lists_setting


@attrs.frozen
class ListChoice(ReleaseLearner):
    """The exponential mechanism over all decision lists.

    The baseline in Bun and Fang's introduction, after Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith
    (2011). A list c is drawn with probability proportional to exp(−ε·m(c)/2), where m(c) is the number of
    examples that it labels wrongly. It chooses among all lists in which no feature occurs twice, while
    exponential-choice chooses among their functions. All lists are held in memory: k features have about
    3.3·k!·2^k. A blank example is wrong for every list.

    Raises: Unsupported if there are more than 200,000 lists (7 features or more).
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
