"""low-bits: the last bits of a noisy floating-point number reveal to what the noise was added."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import plant_example
from arena import Adversary, Learner, Moves, Sample, Train, setting
from arena.step_scores import find_last_bits


@attrs.frozen
class LowBits(Adversary):
    """Two samples that differ in one label. The score is z, the place of the last bit of y = odd·2^z, and of
    a vector the sum over its entries.

    Mironov, On Significance of the Least Significant Bits for Differential Privacy (2012), found that noise
    added in floating point leaves gaps. That the spacing of doubles at the true value shows is the
    precision-based attack of Haney, Desfontaines, Hartman, Shrestha, Hay, Precision-based Attacks and
    Interval Refining: How to Break, then Fix, Differential Privacy on Finite Computers (2022).

    With the count 1 in world 1, no number with a last bit below 2^-53 is released, while the count 0 in world
    0 releases the noise with all its bits. In general the worlds differ where the spacing of doubles does, at
    the counts 0 and 1 or 2^k - 1 and 2^k. Otherwise, and for numbers from a fixed grid, this score is not
    informative. Proof: docs/proofs/low_bits.md.
    """

    name = "low-bits"
    protocols = ("Release",)
    returns_score = True

    sample: Sample | None = setting(
        None, help="the sample, whose last example of the first run varies; default: ten examples labelled 0"
    )

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or Sample([0.0, 0.0], [0, 0], [1, 9])
        reply = yield Train(*plant_example(sample, 0, sample.points[0], self.learner))
        return find_last_bits(np.reshape(reply.value, -1)).reshape(games, -1).sum(axis=1)
