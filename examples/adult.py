"""Audit both versions of Private Everlasting Prediction on UCI Adult with the same adversary.

The first version halts after a fixed number of answers near a tie. The adversary trains it on education
against income, brings that number to one short of the halt, and lets the challenge decide.
Run with `make demo`.
"""

from __future__ import annotations

import time
from importlib import resources

import numpy as np

from adversaries.figure1.swaps import HaltCounter
from arena import Figure1, Sample, play
from audits.data.csv_files import load_sample
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.everlasting.generic_bbl import GenericBBL
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2

ADULT = str(resources.files("audits.data") / "examples" / "adult.csv.gz")
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
    print(f"  tested     ({plan.epsilon:g}, {plan.delta:g})-DP for a training example or a query")
    print(f"  own claim  {learner.claim}")
    print(f"  played     {verdict.games:,} games in each world in {verdict.seconds:.1f} s")
    if verdict.refuted:
        bound = verdict.epsilon_lower
        print(f"  REFUTED    every ε below {bound:.2f} is false, with confidence {CONFIDENCE:.1%}")
    else:
        print(f"  stands     certified ε ≥ {verdict.epsilon_lower:.2f}; an adversary that always tells the")
        print(f"             worlds apart would have certified ε ≥ {verdict.ceiling:.2f} in as many games")


def show(learner: GenericBBL, adversary: HaltCounter) -> None:
    """Print one short game in each world in which the leak shows."""
    played = play(learner, adversary, Figure1(), games=2, seed=SEED, record=True)
    assert played.transcript is not None
    print("\nOne game in each world shows why. The votes agree at one point and tie at the other. The answer")
    print("to the challenge is withheld, but a learner that has halted answers nothing after it:\n")
    print(played.transcript.table(int(np.argmin(played.worlds)), int(np.argmax(played.worlds))))


def main() -> None:
    started = time.perf_counter()
    sample: Sample = load_sample(ADULT, x="education-num", y="income", positive=">50K")
    print(f"UCI Adult, education-num against income > 50K: {sample.size:,} people; about 20 seconds")
    first = EverlastingV1().adapt_to(sample.size)
    second = EverlastingV2().adapt_to(sample.size)
    attack = HaltCounter(learner=first, sample=sample)
    audit(first, attack, "16 May 2023")
    show(first, attack)
    audit(second, HaltCounter(learner=second, sample=sample), "NeurIPS 2023")
    print(f"\n{time.perf_counter() - started:.1f} s in all.")


if __name__ == "__main__":
    main()
