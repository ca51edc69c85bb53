"""report-noisy-max-2: which query is the largest, with exponential noise."""

from __future__ import annotations

import attrs

from learners.zoo.noisy_max import EXPONENTIAL, NoisyArgmax


@attrs.frozen
class ReportNoisyMax2(NoisyArgmax):
    """Releases argmax_i (q_i + Exp(2/ε)), (n,) int64: Algorithm 6 of Ding, Wang, Wang, Zhang, Kifer,
    Detecting Violations of Differential Privacy (2018), after Dwork and Roth, The Algorithmic Foundations of
    Differential Privacy (2014), section 3.3. Exp(b) is the exponential law of mean b.

    The claim is ε, and exact: at ε = 0.1 the value at the inputs of StatDP is 0.1.
    """

    name = "report-noisy-max-2"
    theorem = "report noisy max with exponential noise (Dwork and Roth 2014, section 3.3); tight"
    noise = EXPONENTIAL
