"""hypothesis-learner: turns answers into a hypothesis, as in the proof of Theorem 3.3."""

from __future__ import annotations

from collections.abc import Generator
from math import ceil, log
from typing import Any

import attrs
import numpy as np

from adversaries.common.concept_choice import choose_concept_class
from adversaries.common.training_samples import choose_sample_size
from adversaries.figure1.base import Figure1Adversary, chunk_sizes
from adversaries.figure1.example_distributions import DEFAULT_CLASS, FiniteDistribution, choose_distribution
from arena import Moves, Queries, Train, Unsupported, count_setting, setting
from arena.concepts import ConceptClass
from arena.settings import at_most, more_than


@attrs.frozen
class HypothesisLearner(Figure1Adversary):
    """Algorithm HypothesisLearner of Private Everlasting Prediction, v2 (appendix B).

    R random points of a finite domain are queried, and h(x) is a uniformly chosen answer at x. If some point
    was never queried, it fails, and h labels everything 0. Against a predictor that does not learn from
    queries, the error of h is at most 8α with probability 3/4, where α is the error of the predictor's
    hypotheses (Claim B.1). So an unlimited private interface of that kind is a private learner. All games
    have the same target, so that AccuracyBoost can take a vote of their hypotheses. The score is the error of
    h under the uniform distribution on the domain, from which the sample is drawn too.

    Deviations, which `as_printed` undoes:
    - L_x is a list and not a set, because the proof needs each round that queried x to count alike. Of a set
      with both labels a fair coin errs half the time, however rare the wrong answers were.
    - R = |X| log(|X|/β), so that |X| (1 − 1/|X|)^R ≤ β. The printed R = |X| log|X| log(1/β) fails with
      probability up to |X|^(1 − log(1/β)), which is above β = 1/8 for |X| < 7.
    """

    name = "hypothesis-learner"

    beta: float = setting(
        0.125, unit="probability", help="β, of failure", check=[more_than(0), at_most(0.125)]
    )
    as_printed: bool = setting(False, help="keep the printed R, and L_x as a set")
    asked: int | None = count_setting(None, help="R; default: |X| log(|X|/β), or as printed")
    sample_size: int | None = count_setting(
        None, help="training examples; default: as many as the learner needs"
    )
    concepts: ConceptClass | None = setting(None, help="the class of the target; default: the learner's")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if not games:
            return np.zeros(0)
        learned = yield from self.learn(games, rng)
        return learned.errors

    def learn(self, games: int, rng: np.random.Generator) -> Generator[Any, Any, LearnedHypotheses]:
        """Play, and return the hypotheses."""
        distribution = self._choose_distribution(games, rng)
        points = distribution.points
        size = self.sample_size or choose_sample_size(self.learner)
        yield Train(distribution.draw_samples(rng, size, 0.0))
        rounds = self.rounds(len(points))
        yield from self._give_unlabelled(rounds, games, lambda size: distribution.draw(rng, size)[0])
        answers = np.zeros((2, games, len(points)), np.int64)  # how often each label was the answer
        for size in chunk_sizes(rounds, games, self.learner):
            columns = rng.integers(0, len(points), (games, size))
            reply = yield Queries(points[columns])
            for label in (0, 1):
                game, query = np.nonzero(reply.label == label)
                np.add.at(answers[label], (game, columns[game, query]), 1)
        return self._choose_hypotheses(answers, distribution.labels[0] == 1, rng)

    def rounds(self, points: int) -> int:
        """R, for a domain of so many points."""
        if self.asked is not None:
            return self.asked
        if self.as_printed:
            return max(1, ceil(points * log(points) * log(1 / self.beta)))
        return ceil(points * log(points / self.beta))

    def _choose_distribution(self, games: int, rng: np.random.Generator) -> FiniteDistribution:
        """The uniform distribution on the domain, with one target for all games."""
        concepts = choose_concept_class(self.concepts, self.learner, DEFAULT_CLASS)
        if concepts.domain is None:
            raise Unsupported(
                f"{concepts} has no finite domain, and every point of it must be queried",
                remedy="Give it one, as in concepts=thresholds:1..16.",
            )
        distribution = choose_distribution(1, rng, concepts=self.concepts, learner=self.learner, sample=None)
        assert isinstance(distribution, FiniteDistribution)
        return attrs.evolve(distribution, games=games)

    def _choose_hypotheses(
        self, answers: np.ndarray, truth: np.ndarray, rng: np.random.Generator
    ) -> LearnedHypotheses:
        """Steps 3 to 5, from the counts of the answers (2, n, |X|)."""
        total = answers.sum(axis=0)
        share = answers[1] / np.maximum(total, 1)
        if self.as_printed:
            share = np.where((answers > 0).all(axis=0), 0.5, share)
        failed = (total == 0).any(axis=1)
        hypotheses = (rng.random(share.shape) < share) & ~failed[:, None]
        wrong = np.where(truth, answers[0], answers[1]).sum(axis=1)
        return LearnedHypotheses(hypotheses, truth, failed, wrong / np.maximum(total.sum(axis=1), 1))


@attrs.frozen(eq=False)
class LearnedHypotheses:
    """The hypotheses of n games.

    Shapes: hypotheses (n, |X|) bool, truth (|X|,) bool, failed (n,) bool; wrong (n,), the share of wrong
    answers, which is the mean error of the predictor's hypotheses.
    """

    hypotheses: np.ndarray
    truth: np.ndarray
    failed: np.ndarray
    wrong: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """(n,): the error of each hypothesis."""
        return np.asarray((self.hypotheses != self.truth).mean(axis=1))

    @property
    def boosted(self) -> float:
        """The error of AccuracyBoost's hypothesis, the majority of all hypotheses (1 on a tie)."""
        return float(((2 * self.hypotheses.sum(axis=0) >= len(self.hypotheses)) != self.truth).mean())
