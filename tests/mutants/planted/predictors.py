"""Flaws planted in a predictor under Figure 1 that shows only after certain answers, samples or queries.

Each breaks the claim of `PointVotes`, which answers with noise for every query and stops when they are paid
for. None declares common random numbers, as a new user's learner would not.
"""

from __future__ import annotations

import attrs
import numpy as np
from mutants.figure1.learners import OneMoreState, PointVotes, VotesState, leads
from mutants.releases.learners import laplace_noise

from arena import Sample, Training


@attrs.frozen
class Votes(PointVotes):
    """The correct learner behind the flaws below: `answers` noisy votes at points."""

    common_random_numbers = False


def true_of_samples(training: Training, holds) -> np.ndarray:
    """(n,) bool: whether `holds(sample)` for the sample of each game."""
    return np.array([holds(sample) for sample in training.samples])[training.which]


class RememberingState(VotesState):
    """Keeps its answers, and leaves out the noise where `bare` says so."""

    def __init__(self, spec: PointVotes, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games, rng)
        self.labels: list[np.ndarray] = []

    def predict(self, x: np.ndarray) -> np.ndarray:
        label = super().predict(x)
        self.labels.append(label)
        return label

    def noise(self, x: np.ndarray) -> np.ndarray:
        return np.where(self.bare(x), 0.0, super().noise(x))

    held: np.ndarray  # of a sample: by default the noise is left out there

    def bare(self, x: np.ndarray) -> np.ndarray:
        return self.held

    def ends_with(self, *answers: int) -> np.ndarray:
        """(n,) bool: whether these were the last answers."""
        if len(self.labels) < len(answers):
            return np.zeros(self.games, bool)
        last = np.stack(self.labels[-len(answers) :], axis=1)
        return (last == np.array(answers, bool)).all(axis=1)


@attrs.frozen
class BareAfterRun(Votes):
    """The flaw: after three answers 1 in a row the next answer has no noise."""

    class State(RememberingState):
        def bare(self, x: np.ndarray) -> np.ndarray:
            return self.ends_with(1, 1, 1)

    answers: int = 10


@attrs.frozen
class BareAtOddParity(Votes):
    """The flaw: from the seventh answer on, there is no noise while the number of answers 1 is odd."""

    class State(RememberingState):
        def bare(self, x: np.ndarray) -> np.ndarray:
            ones = np.sum(self.labels, axis=0) if self.labels else np.zeros(self.games)
            return (ones % 2 == 1) & (self.asked >= 6)

    answers: int = 8


@attrs.frozen
class BareAfterPattern(Votes):
    """The flaw: after the answers 0, 1, 0, 1 the next answer has no noise."""

    class State(RememberingState):
        def bare(self, x: np.ndarray) -> np.ndarray:
            return self.ends_with(0, 1, 0, 1)

    answers: int = 12


@attrs.frozen
class BareAtTheEnd(Votes):
    """The flaw: in a game of 300 answers, the last four have no noise."""

    class State(RememberingState):
        def bare(self, x: np.ndarray) -> np.ndarray:
            return np.full(self.games, self.asked >= self.spec.answers - 4)

    answers: int = 300


@attrs.frozen
class ChargesOnes(Votes):
    """The flaw: only answers 1 are charged to the budget, so that answers 0 are free."""

    class State(VotesState):
        def __init__(self, spec: PointVotes, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.paid = np.zeros(games, int)

        def predict(self, x: np.ndarray) -> np.ndarray:
            label = self.answer(x)
            self.asked += 1
            self.paid = self.paid + label
            self.halted = self.halted | (self.paid >= self.spec.answers)
            return label


@attrs.frozen
class OneAnswerUnpaid(Votes):
    """The flaw: an answer more than was paid for, the comparison after counting up being >."""

    State = OneMoreState
    epsilon: float = 2.0
    answers: int = 2


@attrs.frozen
class CarriesOver(Votes):
    """The flaw: the count at the last query stays in the sum, so that its point shows in the next answer."""

    class State(VotesState):
        def __init__(self, spec: PointVotes, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.before = np.zeros(games)

        def answer(self, x: np.ndarray) -> np.ndarray:
            lead = leads(self.training, x)
            # Twice the noise for twice the sensitivity, but the last query is visible.
            label = lead + self.before + 2 * self.noise(x) >= 0
            self.before = lead
            return label

    epsilon: float = 2.0


@attrs.frozen
class HaltsOnTrueLead(Votes):
    """The flaw: from the second answer on, it halts where zeros are exactly one ahead of ones."""

    class State(VotesState):
        def charge(self, x: np.ndarray) -> None:
            super().charge(x)
            self.halted = self.halted | ((leads(self.training, x) == -1) & (self.asked >= 2))

    answers: int = 5


def tied_at_first(sample: Sample, first: int) -> bool:
    """Whether half of the first so many examples are labelled 1."""
    labels = sample.rows()[1][:first]
    return len(labels) == first and 2 * int(labels.sum()) == first


@attrs.frozen
class BareAtTie(Votes):
    """The flaw: no noise if labels tie within the first 12 of 30 examples."""

    class State(RememberingState):
        def train(self, training: Training) -> None:
            super().train(training)
            self.held = true_of_samples(training, lambda sample: tied_at_first(sample, 12))

    sample_size = 30


@attrs.frozen
class HeavyOnes(Votes):
    """The flaw: a label 1 weighs 2 against a label 0, but the noise is for labels that weigh the same."""

    class State(VotesState):
        def answer(self, x: np.ndarray) -> np.ndarray:
            lead = np.empty(self.games)
            for sample, games in self.training.groups():
                lead[games] = (x[games, None] == sample.points) @ (
                    sample.counts * (3.0 * sample.labels - 1.0)
                )
            return lead + self.noise(x) >= 0


@attrs.frozen
class BareForDuplicates(Votes):
    """The flaw: no noise if an example occurs five times, whose owners are taken to hide each other."""

    class State(RememberingState):
        def train(self, training: Training) -> None:
            super().train(training)
            self.held = true_of_samples(training, lambda sample: sample.distinct().counts.max() >= 5)


@attrs.frozen
class BareForEmptyClass(Votes):
    """The flaw: if no example is labelled 1, it answers 0 for certain."""

    class State(VotesState):
        def train(self, training: Training) -> None:
            super().train(training)
            self.empty = true_of_samples(training, lambda sample: not sample.labels.any())

        def answer(self, x: np.ndarray) -> np.ndarray:
            return np.where(self.empty, False, super().answer(x))


@attrs.frozen
class KeepsTheQuery(Votes):
    """The flaw: the query after the answers 1, 0, 1 is answered for good, instead of all later ones."""

    class State(RememberingState):
        def __init__(self, spec: PointVotes, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.kept = np.full(games, np.nan)

        def predict(self, x: np.ndarray) -> np.ndarray:
            self.kept = np.where(np.isnan(self.kept) & self.ends_with(1, 0, 1), x, self.kept)
            return super().predict(np.where(np.isnan(self.kept), x, self.kept))

        def noise(self, x: np.ndarray) -> np.ndarray:
            return VotesState.noise(self, x)

    answers: int = 10


@attrs.frozen
class UnclippedAnswers(Votes):
    """The flaw: answers whether the noisy sum of points is at least x, with no bound on a point."""

    class State(VotesState):
        def answer(self, x: np.ndarray) -> np.ndarray:
            sums = np.array([float(sample.counts @ sample.points) for sample in self.training.samples])
            return sums[self.training.which] + self.noise(x) >= x


@attrs.frozen
class MirrorsNoise(Votes):
    """The flaw: a query that repeats the last one gets the same noise with the opposite sign."""

    class State(VotesState):
        def __init__(self, spec: PointVotes, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.drawn = np.zeros(games)
            self.last: np.ndarray | None = None

        def noise(self, x: np.ndarray) -> np.ndarray:
            fresh = laplace_noise(self.rng, (self.games,), self.spec.scale)
            twice = np.zeros(self.games, bool) if self.last is None else x == self.last
            # A repeated query takes the other half of the same draw.
            self.drawn, self.last = np.where(twice, -self.drawn, fresh), np.array(x)
            return self.drawn

    answers: int = 4


@attrs.frozen
class SlightlyLessNoise(Votes):
    """The flaw: noise for ε = 1.2 under a claim of ε = 1."""

    class State(VotesState):
        def noise(self, x: np.ndarray) -> np.ndarray:
            return super().noise(x) / 1.2

    answers: int = 1
