"""honest: what utility theorems assume, a sample and queries drawn from one law."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.figure1.populations import Population, class_of, population
from adversaries.figure1.round_lengths import handed, stretches
from adversaries.figure1.training_sets import needed
from arena import Adversary, Learner, Moves, Queries, Sample, Train, setting
from arena.concepts import ConceptClass
from arena.settings import at_least, less_than, whole


@attrs.frozen
class Honest(Adversary):
    """Definition 3.1 of Private Everlasting Prediction: the training set and all queries are independent
    draws from one law D, and a concept, the target, labels the former. Both worlds are alike.

    D is uniform on the class's domain (`points_at_random`), with a target of its own in every game; or the
    user's data, drawn with replacement, their labels being the truth. The score is the number of answers that
    tell the truth.
    """

    name = "honest"
    protocols = ("Figure1",)
    returns_score = True

    queries: int = setting(1_000, help="queries in all", check=[whole, at_least(1)])
    sample_size: int | None = setting(
        None, help="training examples; default: as many as the learner needs", check=[whole, at_least(1)]
    )
    noise: float = setting(
        0.0,
        unit="probability",
        help="that a training example has the wrong label",
        check=[at_least(0), less_than(1)],
    )
    concepts: ConceptClass | None = setting(None, help="the class of the target; default: the learner's")
    sample: Sample | None = setting(None, help="the population; default: uniform on the class's domain")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def population(self, games: int, rng: np.random.Generator) -> Population:
        """D for each game: that of `play`, which draws it first from the same coins."""
        return population(games, rng, concepts=self.concepts, learner=self.learner, sample=self.sample)

    @property
    def examples(self) -> int:
        """The size of the training sets."""
        return self.sample_size or needed(self.learner)

    @property
    def taught(self) -> ConceptClass:
        """The class of the target, or, with data, of the learner."""
        return class_of(self.concepts, self.learner)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if not games:
            return np.zeros(0)
        people = self.population(games, rng)
        yield Train(people.samples(rng, self.examples, self.noise))
        yield from handed(self.learner, self.queries, games, lambda size: people.draw(rng, size)[0])
        right = np.zeros(games)
        for stretch in stretches(self.queries, games, self.learner):
            points, truth = people.draw(rng, stretch)
            reply = yield Queries(points)
            right += (reply.label == truth).sum(axis=1)
        return right
