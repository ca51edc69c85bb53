"""How often audits claim too much, over 2,000 seeds, where the true ε is known and equals the claim.

laplace-count at ε = 1 and δ = 0 on neighbouring samples that differ in one label: ε = 1 holds and no smaller
ε does.
"""

from __future__ import annotations

import sys

from scipy.stats import binom
from tqdm import tqdm

from adversaries.release.point_swap import CountSwap
from arena import Release
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.releases.counts import LaplaceCount

SEEDS, GAMES, CONFIDENCE = 2_000, 20_000, 0.95


def main() -> None:
    false, bounds = 0, []
    for seed in tqdm(range(SEEDS), disable=not sys.stderr.isatty()):
        plan = Plan(
            learner=LaplaceCount(epsilon=1.0),
            adversary=CountSwap(),
            referee=Release(),
            epsilon=1.0,
            delta=0.0,
            confidence=CONFIDENCE,
            games=GAMES,
            seed=seed,
        )
        verdict = run(plan)
        false += verdict.refuted
        bounds.append(verdict.epsilon_lower)
    most = int(binom.isf(1e-6, SEEDS, 1 - CONFIDENCE))
    print(
        f"validity: a true claim refuted in {false} of {SEEDS:,} audits at confidence {CONFIDENCE}; at the "
        f"stated rate {1 - CONFIDENCE:.0%} it is more than {most} with probability 1e-6; "
        f"median bound {sorted(bounds)[SEEDS // 2]:.2f} of ε = 1"
    )
    if false > most:
        raise SystemExit("audits claim too much")


if __name__ == "__main__":
    main()
