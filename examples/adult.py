"""Both versions of Private Everlasting Prediction, trained on UCI Adult, before the same adversary.

The first version halts after a fixed number of split votes. The adversary trains it on education against
income, brings its count to one short of the halt, and lets one secret query decide. Run with `make demo`.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from adversaries.figure1.halt_counter import HaltCounter
from arena import Figure1, Sample, play
from audits.data.csv_samples import load_sample
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.everlasting.everlasting_v2 import EverlastingV2
from learners.everlasting.generic_bbl import GenericBBL

ADULT = Path(__file__).parent / "data" / "adult.csv.gz"
EPSILON, DELTA, CONFIDENCE, GAMES, SEED = 1.0, 1e-5, 0.999, 20_000, 7


def audit(learner: GenericBBL, adversary: HaltCounter, published: str) -> None:
    """Audit one version and print what was found."""
    plan = Plan(
        learner=learner,
        adversary=adversary,
        referee=Figure1(),
        epsilon=EPSILON,
        delta=DELTA,
        confidence=CONFIDENCE,
        games=GAMES,
        seed=SEED,
    )
    verdict = run(plan)
    print(f"\n{learner.name} ({published}): {learner.teachers:,} teachers of {learner.chunk} examples")
    print(f"  tested     (ε, δ) = ({EPSILON:g}, {DELTA:g}) for every training example and every query")
    print(f"  claims     {learner.claim}")
    print(f"  played     {verdict.games:,} games in each world in {verdict.seconds:.1f} s")
    if verdict.refuted:
        print(
            f"  REFUTED    with confidence {CONFIDENCE:.1%}, no ε below {verdict.epsilon_lower:.2f} is true"
        )
    else:
        print(f"  stands     nothing certified: ε ≥ {verdict.epsilon_lower:.2f}; this audit could have")
        print(f"             certified up to {verdict.ceiling:.2f}")


def show(learner: GenericBBL, adversary: HaltCounter) -> None:
    """Print one game in each world: the smallest play that shows the leak."""
    played = play(learner, adversary, Figure1(), games=2, seed=SEED, record=True)
    assert played.transcript is not None
    print("\nThe smallest play that shows it. The votes agree at one point and tie at the other; the answer")
    print("to the secret query is withheld, but the silence after it is not:\n")
    print(played.transcript.table(int(np.argmin(played.worlds)), int(np.argmax(played.worlds))))


def main() -> None:
    started = time.perf_counter()
    sample: Sample = load_sample(ADULT, x="education-num", y="income", positive=">50K")
    print(f"UCI Adult, education-num against income > 50K: {sample.size:,} people")
    first = EverlastingV1().adapt_to(sample.size)
    second = EverlastingV2().adapt_to(sample.size)
    attack = HaltCounter(learner=first, sample=sample)
    audit(first, attack, "16 May 2023")
    show(first, attack)
    audit(second, HaltCounter(learner=second, sample=sample), "NeurIPS 2023")
    print(f"\n{time.perf_counter() - started:.1f} s in all.")


if __name__ == "__main__":
    main()
