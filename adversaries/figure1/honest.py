"""honest: draws the sample and the queries from one distribution, as utility theorems assume."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.shared_settings import choose_concept_class
from adversaries.common.training_samples import choose_sample_size
from adversaries.figure1.base import Figure1Adversary, chunk_sizes
from adversaries.figure1.example_distributions import DEFAULT_CLASS, LabelledDistribution, choose_distribution
from arena import Moves, Queries, Sample, Train, count_setting, setting
from arena.concepts import ConceptClass
from arena.settings import at_least, less_than


@attrs.frozen
class Honest(Figure1Adversary):
    """Training set and queries are independent draws from one distribution D, labelled by a target concept.

    Definition 3.1 of Private Everlasting Prediction. The worlds do not differ. D is uniform on the domain of
    the class (`draw_points`), with a target for each game; or it is the user's data, drawn with replacement,
    whose labels are the truth. The score is the number of correct answers.
    """

    name = "honest"

    queries: int = count_setting(1_000, help="queries in all")
    sample_size: int | None = count_setting(
        None, help="training examples; default: as many as the learner needs"
    )
    noise: float = setting(
        0.0,
        unit="probability",
        help="that a training example has the wrong label",
        check=[at_least(0), less_than(1)],
    )
    concepts: ConceptClass | None = setting(None, help="the class of the target; default: the learner's")
    sample: Sample | None = setting(None, help="the data D; default: uniform on the domain of the class")

    def population(self, games: int, rng: np.random.Generator) -> LabelledDistribution:
        """D for each game. `play` draws it first, so the same random numbers give the same D."""
        return choose_distribution(
            games, rng, concepts=self.concepts, learner=self.learner, sample=self.sample
        )

    @property
    def examples(self) -> int:
        """The size of the training sets."""
        return self.sample_size or choose_sample_size(self.learner)

    @property
    def target_class(self) -> ConceptClass:
        """The class of the target, or, with data, that of the learner."""
        return choose_concept_class(self.concepts, self.learner, DEFAULT_CLASS)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if not games:
            return np.zeros(0)
        distribution = self.population(games, rng)
        chosen_points = self.choose_points(distribution, games, rng)
        yield Train(distribution.draw_samples(rng, self.examples, self.noise))
        yield from self._give_unlabelled(self.queries, games, lambda size: distribution.draw(rng, size)[0])
        correct = np.zeros(games)
        for size in chunk_sizes(self.queries, games, self.learner):
            points, truth = distribution.draw(rng, size)
            is_chosen = self._replace_queries(points, chosen_points, rng)
            reply = yield Queries(points)
            correct += ((reply.label == truth) & ~is_chosen).sum(axis=1)
        return correct

    def choose_points(
        self, distribution: LabelledDistribution, games: int, rng: np.random.Generator
    ) -> list[np.ndarray]:
        """For each game, the points (m, ...) from which chosen queries are drawn; none if all are honest."""
        return []

    def _replace_queries(
        self, points: np.ndarray, chosen_points: list[np.ndarray], rng: np.random.Generator
    ) -> np.ndarray:
        """Replace some queries (n, k, ...) by chosen points. (n, k) bool: which ones."""
        return np.zeros(points.shape[:2], bool)
