"""Objects that answer queries or receive a stream: composition, budgets, continual release."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.bugs.bug import SESSION, STREAM, Bug, a_list, choices, integers
from benchmarks.bugs.bug import numbers as field

FILTERS, STREAMS = "composition and filters", "streams"


class ChargedByMatch:
    """Answers counts for a quarter of the budget each, which is charged if the query met a record."""

    def __init__(self, data, rng):
        self.data, self.rng, self.left = data, rng, 1.0

    def ask(self, age):
        if self.left <= 0:
            return None
        count = self.data.count(age)
        self.charge(count)
        return count + self.rng.laplace(scale=4)

    def charge(self, count):
        self.left -= 0.25 if count else 0.0


class ChargedAlways(ChargedByMatch):
    def charge(self, count):
        self.left -= 0.25


class BudgetOfPrivateValues:
    """A sum costs as much as the private values say; a budget that is NaN is never exceeded."""

    def __init__(self, data, rng):
        self.data, self.rng, self.spent = np.array(data, float), rng, 0.0

    def ask(self, query):
        cost = self.find_cost()
        if self.spent + cost > 1:
            return None
        self.spent += cost
        return float(np.clip(np.nan_to_num(self.data), 0, 1).sum()) + self.rng.laplace(scale=2)

    def find_cost(self):
        norm = 1 + float(np.linalg.norm(self.data))
        return 0.5 * norm / norm


class BudgetOfBounds(BudgetOfPrivateValues):
    def find_cost(self):
        return 0.5


class Guesses:
    """Whether a count exceeds a guess. The noisy threshold and noise suffice for a single yes."""

    most = math.inf

    def __init__(self, data, rng):
        self.data, self.rng, self.given = data, rng, 0
        self.bar = rng.laplace(scale=2)

    def ask(self, question):
        value, guess = question
        if self.given >= self.most:
            return None
        over = self.data.count(value) - guess + self.rng.laplace(scale=4) >= self.bar
        self.given += bool(over)
        return bool(over)


class GuessesUntilYes(Guesses):
    most = 1


class RestartedTree:
    """Running totals of records that each get noise. From time to time the exact total becomes the base."""

    def __init__(self, rng):
        self.rng, self.total, self.noise, self.rounds = rng, 0, 0.0, 0

    def update(self, record):
        if self.rounds and self.rounds % 4 == 0:
            self.noise = self.restart(self.noise)
        self.rounds += 1
        self.total += record
        self.noise += self.rng.laplace()
        return self.total + self.noise

    def restart(self, noise):
        return 0.0


class ContinuedTree(RestartedTree):
    def restart(self, noise):
        return noise


class DailyBudget:
    """A person's device answers by randomised response every day, with a budget that is renewed."""

    epsilon = 1.0

    def __init__(self, rng):
        self.rng = rng

    def update(self, bit):
        truth = 1 / (1 + math.exp(-self.epsilon))
        return int(bit) if self.rng.random() < truth else 1 - int(bit)


class SharedBudget(DailyBudget):
    epsilon = 1.0 / 8


QUESTIONS = [(value, guess) for value in (1, 2) for guess in (-2, 0, 2)]

BUGS = [
    Bug(
        name="budget-charged-by-match",
        kind=FILTERS,
        address="https://repository.upenn.edu/cis_papers/609/",
        library="PINQ, found by Haeberlen, Pierce, Narayan (2011)",
        summary="A query costs nothing if it meets no record, and the budget that is left shows it.",
        relation="add or remove one",
        epsilon=1.0,
        form=SESSION,
        schema=a_list(integers(0, 5)),
        queries=[0, 1, 2, 3, 4, 5],
        asked=[3, 3, 3, 3, 3],
        mechanism=ChargedByMatch,
        twin=ChargedAlways,
        worlds=([], [3]),
    ),
    Bug(
        name="budget-becomes-nan",
        kind=FILTERS,
        address="https://github.com/OpenMined/PySyft/issues/6956",
        library="PySyft 0.7",
        summary="A missing value makes the spent budget NaN, and then every query is answered.",
        relation="add or remove one",
        epsilon=1.0,
        form=SESSION,
        schema=a_list(field(0, 1, special=[math.nan])),
        queries=["sum"],
        asked=["sum"] * 4,
        mechanism=BudgetOfPrivateValues,
        twin=BudgetOfBounds,
        worlds=([0.5], [0.5, math.nan]),
    ),
    Bug(
        name="sparse-vector-without-end",
        kind=FILTERS,
        address="https://arxiv.org/abs/1603.01699",
        library="Chen et al. (2015), Algorithm 6 of Lyu, Su, Li (2017)",
        summary="The sparse vector technique goes on after its first positive answer.",
        relation="replace one",
        epsilon=1.0,
        form=SESSION,
        schema=a_list(choices(1, 2), least=1),
        queries=QUESTIONS,
        asked=[(1, 0), (2, 0)] * 10,
        mechanism=Guesses,
        twin=GuessesUntilYes,
        worlds=([1], [2]),
    ),
    Bug(
        name="tree-restarted",
        kind=STREAMS,
        address="https://github.com/google-research/DP-FTRL/issues/2",
        library="DP-FTRL, restarts without tree completion",
        summary="A new tree begins at the exact total, without the noise of the old tree.",
        relation="replace one",
        epsilon=1.0,
        form=STREAM,
        schema=a_list(choices(0, 1), most=16),
        mechanism=RestartedTree,
        twin=ContinuedTree,
        worlds=([1] + [0] * 15, [0] * 16),
    ),
    Bug(
        name="daily-budget",
        kind=STREAMS,
        address="https://arxiv.org/abs/1709.02753",
        library="macOS 10.12, found by Tang et al. (2017)",
        summary="The budget of a person is renewed every day, and the losses add up.",
        relation="replace a group of 8",
        epsilon=1.0,
        form=STREAM,
        schema=a_list(choices(0, 1), most=8),
        mechanism=DailyBudget,
        twin=SharedBudget,
        worlds=([0] * 8, [1] * 8),
    ),
]
