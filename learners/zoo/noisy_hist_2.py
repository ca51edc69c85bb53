"""noisy-hist-2: a histogram whose noise has scale ε instead of 1/ε."""

from __future__ import annotations

import attrs

from learners.zoo.noisy_histograms import NoisyHistogram


@attrs.frozen
class NoisyHist2(NoisyHistogram):
    """Releases every bin + Lap(ε): Algorithm 10 of Ding, Wang, Wang, Zhang, Kifer, Detecting Violations of
    Differential Privacy (2018).

    The slip: the scale of the noise is ε where 1/ε is right. It claims what its authors believed, as
    noisy-hist-1: ε for histograms that differ in one bin by one, so 2ε where a person may move. The exact
    values are 1/ε and 2/ε: at ε = 0.1, 10 and 20.
    """

    name = "noisy-hist-2"
    theorem = "none: the noise has scale ε, not 1/ε; exactly 2/ε"

    @property
    def scale(self) -> float:
        return self.epsilon
