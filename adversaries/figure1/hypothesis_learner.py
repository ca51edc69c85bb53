"""hypothesis-learner: turns answers into a hypothesis, as the proof of Theorem 3.3 does."""

from __future__ import annotations

from collections.abc import Generator
from math import ceil, log
from typing import Any

import attrs
import numpy as np

from adversaries.figure1.populations import Listed, class_of, population
from adversaries.figure1.round_lengths import handed, stretches
from adversaries.figure1.training_sets import needed
from arena import Adversary, Learner, Moves, Queries, Train, Unsupported, setting
from arena.concepts import ConceptClass
from arena.settings import at_least, at_most, more_than, whole


@attrs.frozen
class HypothesisLearner(Adversary):
    """Algorithm HypothesisLearner of Private Everlasting Prediction, v2 (appendix B): R random points of a
    finite domain are asked, and h(x) is one of the answers at x, chosen evenly; if some point was never asked
    it fails, and h labels everything 0.

    Against a predictor that does not learn from queries the error of h is 8α at most with probability 3/4,
    α that of its hypotheses (Claim B.1): an unlimited private interface of that kind is a private learner.
    All games of a table have one target, so that AccuracyBoost may put their hypotheses to a vote.

    Slips of the printed text, which `as_printed` keeps:
    - L_x is a set there. The proof wants each round that asked x to count alike, so L_x is a list here. Of a
      set with both labels in it a fair coin errs at x half the time, however rare the wrong answers were.
    - R = |X| log|X| log(1/β) fails with a chance of up to |X|^(1 − log(1/β)), which is above β = 1/8 for
      |X| < 7. |X| (1 − 1/|X|)^R ≤ β takes R = |X| log(|X|/β).

    The score is the error of h under the uniform law on the domain, from which the sample is drawn, too.
    """

    name = "hypothesis-learner"
    protocols = ("Figure1",)
    returns_score = True

    beta: float = setting(
        0.125, unit="probability", help="β, of failing", check=[more_than(0), at_most(0.125)]
    )
    as_printed: bool = setting(False, help="keep the printed R, and L_x as a set")
    asked: int | None = setting(
        None, help="R; default: |X| log(|X|/β), or as printed", check=[whole, at_least(1)]
    )
    sample_size: int | None = setting(
        None, help="training examples; default: as many as the learner needs", check=[whole, at_least(1)]
    )
    concepts: ConceptClass | None = setting(None, help="the class of the target; default: the learner's")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if not games:
            return np.zeros(0)
        learned = yield from self.learn(games, rng)
        return learned.errors

    def learn(self, games: int, rng: np.random.Generator) -> Generator[Any, Any, Learned]:
        """Play, and return what was learned."""
        people = self._people(games, rng)
        points = people.points
        yield Train(people.samples(rng, self.sample_size or needed(self.learner), 0.0))
        rounds = self.rounds(len(points))
        yield from handed(self.learner, rounds, games, lambda size: people.draw(rng, size)[0])
        said = np.zeros(
            (2, games, len(points)), np.int64
        )  # how often each label was the answer at each point
        for stretch in stretches(rounds, games, self.learner):
            places = rng.integers(0, len(points), (games, stretch))
            reply = yield Queries(points[places])
            for label in (0, 1):
                game, at = np.nonzero(reply.label == label)
                np.add.at(said[label], (game, places[game, at]), 1)
        return self._chosen(said, people.labels[0] == 1, rng)

    def rounds(self, points: int) -> int:
        """R, for a domain of so many points."""
        if self.asked is not None:
            return self.asked
        if self.as_printed:
            return max(1, ceil(points * log(points) * log(1 / self.beta)))
        return ceil(points * log(points / self.beta))

    def _people(self, games: int, rng: np.random.Generator) -> Listed:
        """The uniform law on the domain, and one target for all games."""
        concepts = class_of(self.concepts, self.learner)
        if concepts.domain is None:
            raise Unsupported(
                f"{concepts} has no finite domain, and all of it must be asked",
                remedy="Give it one, as in concepts=thresholds:1..16.",
            )
        one = population(1, rng, concepts=self.concepts, learner=self.learner, sample=None)
        assert isinstance(one, Listed)
        return attrs.evolve(one, games=games)

    def _chosen(self, said: np.ndarray, truth: np.ndarray, rng: np.random.Generator) -> Learned:
        """Steps 3 to 5, of answers (2, n, |X|)."""
        total = said.sum(axis=0)
        share = said[1] / np.maximum(total, 1)
        if self.as_printed:
            share = np.where((said > 0).all(axis=0), 0.5, share)
        failed = (total == 0).any(axis=1)
        hypotheses = (rng.random(share.shape) < share) & ~failed[:, None]
        wrong = np.where(truth, said[0], said[1]).sum(axis=1)
        return Learned(hypotheses, truth, failed, wrong / np.maximum(total.sum(axis=1), 1))


@attrs.frozen(eq=False)
class Learned:
    """Shapes: hypotheses (n, |X|) bool, truth (|X|,) bool, failed (n,) bool; wrong (n,), the share of the
    answers that were, which is the mean error of the hypotheses that gave them.
    """

    hypotheses: np.ndarray
    truth: np.ndarray
    failed: np.ndarray
    wrong: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """(n,)"""
        return np.asarray((self.hypotheses != self.truth).mean(axis=1))

    @property
    def boosted(self) -> float:
        """The error of AccuracyBoost's hypothesis, the majority of all (ties are 1)."""
        return float(((2 * self.hypotheses.sum(axis=0) >= len(self.hypotheses)) != self.truth).mean())
