"""report-noisy-max-1: which query is the largest, with Laplace noise."""

from __future__ import annotations

import attrs

from learners.zoo.noisy_max import LAPLACE, NoisyArgmax


@attrs.frozen
class ReportNoisyMax1(NoisyArgmax):
    """Releases argmax_i (q_i + Lap(2/ε)), (n,) int64: Algorithm 5 of Ding, Wang, Wang, Zhang, Kifer,
    Detecting Violations of Differential Privacy (2018), after Dwork and Roth, The Algorithmic Foundations of
    Differential Privacy (2014), section 3.3.

    Queries that an example may move up and down need the scale 2/ε. The claim is ε; at ε = 0.1 and m = 5 the
    exact value at the inputs of StatDP is 0.0946.
    """

    name = "report-noisy-max-1"
    theorem = "report noisy max (Dwork and Roth 2014, Claim 3.9, at sensitivity 1 in both directions)"
    noise = LAPLACE
