"""noisy-hist-1: a histogram with Laplace noise on every bin."""

from __future__ import annotations

import attrs

from learners.zoo.noisy_histograms import NoisyHistogram


@attrs.frozen
class NoisyHist1(NoisyHistogram):
    """Releases every bin + Lap(1/ε): Algorithm 9 of Ding, Wang, Wang, Zhang, Kifer, Detecting Violations of
    Differential Privacy (2018).

    The literature claims ε, for histograms that differ in one bin by one: a person joins or leaves. That is
    exact. Here neighbours replace one example, so a person may move from one bin to another; both then change
    by one, and the claim is 2ε, exact as well.
    """

    name = "noisy-hist-1"
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006) at L1 sensitivity 2; tight"

    @property
    def scale(self) -> float:
        return 1 / self.epsilon
