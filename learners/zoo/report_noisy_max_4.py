"""report-noisy-max-4: the largest noisy query itself, with exponential noise."""

from __future__ import annotations

import attrs

from learners.zoo.noisy_max import EXPONENTIAL, NoisyMaximum


@attrs.frozen
class ReportNoisyMax4(NoisyMaximum):
    """Releases max_i (q_i + Exp(2/ε)), (n,) float64: Algorithm 8 of Ding, Wang, Wang, Zhang, Kifer, Detecting
    Violations of Differential Privacy (2018). Exp(b) is the exponential law of mean b.

    The slip: it releases the noisy number, where the proof is about its index. It claims ε, but no ε holds:
    the number is never below the largest query, so one between the largest of two samples tells which.
    """

    name = "report-noisy-max-4"
    theorem = "none: the number is released instead of its index, and its support tells; infinite"
    noise = EXPONENTIAL
