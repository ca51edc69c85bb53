"""reconstruct: asks the whole domain, so that a predictor which never changes gives its hypothesis away."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.samples import swapped_label, telling_points, tied_sample
from arena import Adversary, Learner, Moves, Query, Sample, Train, setting
from arena.points import finite_domain


@attrs.frozen
class Reconstruct(Adversary):
    """Section 3 of Private Everlasting Prediction: against a predictor that answers from its training set
    alone, all queries x ∈ X recover h_0, and with it all that h_0 owes to one example.

    The training sets differ in the label of one example where the labels tie, so that the two empirical
    risk minimisers differ. The score counts, over the domain, how much nearer the answers are to world
    1's minimiser than to world 0's.
    """

    name = "reconstruct"
    protocols = ("Figure1",)

    sample: Sample | None = setting(None, help="the training set; default: one point with both labels")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or tied_sample(self.learner)
        split = telling_points(self.learner, sample).split
        worlds = swapped_label(sample, split)
        domain = self._domain(sample)
        expected = [_answers(world, domain) for world in worlds]

        yield Train(*worlds)
        score = np.zeros(games)
        for x, in_0, in_1 in zip(domain, *expected, strict=True):
            reply = yield Query(x)
            score += (reply.label == in_1).astype(float) - (reply.label == in_0)
        return score

    def _domain(self, sample: Sample) -> np.ndarray:
        domain = finite_domain(self.learner)
        return np.unique(sample.points) if domain is None else np.asarray(domain, float)


def _answers(sample: Sample, domain: np.ndarray) -> np.ndarray:
    """The labels of the domain by the best threshold for the sample (the smallest of the best)."""
    at = np.unique(sample.points)
    ones = np.array([(sample.counts * sample.labels)[sample.points == p].sum() for p in at])
    zeros = np.array([sample.counts[sample.points == p].sum() for p in at]) - ones
    errors = np.append(np.cumsum(ones) - ones + zeros.sum() - np.cumsum(zeros) + zeros, ones.sum())
    return domain >= np.append(at, np.inf)[errors.argmin()]
