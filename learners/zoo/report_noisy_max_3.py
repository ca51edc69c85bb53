"""report-noisy-max-3: the largest noisy query itself, with Laplace noise."""

from __future__ import annotations

import attrs

from learners.zoo.noisy_max import LAPLACE, NoisyMaximum


@attrs.frozen
class ReportNoisyMax3(NoisyMaximum):
    """Releases max_i (q_i + Lap(2/ε)), (n,) float64: Algorithm 7 of Ding, Wang, Wang, Zhang, Kifer, Detecting
    Violations of Differential Privacy (2018).

    The slip: it releases the noisy number, where the proof is about its index. It claims ε; where all queries
    move, the exact value is m·ε/2: at ε = 0.1 and m = 5, 0.25.
    """

    name = "report-noisy-max-3"
    theorem = "none: the number is released instead of its index; exactly m·ε/2"
    noise = LAPLACE
