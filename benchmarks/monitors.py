"""How often a monitor ever reports a true claim false: projects of many nights and commits.

    python -m benchmarks.monitors --projects 1000

Each project has two claims of ε = 1, of randomised response whose loss is exactly 1, the hardest case. Code
changes every five nights. Bets, thresholds, and what nights hand on are those of `audits.monitor`; the games
are drawn here, so that thousands of nights take minutes. --loss 1.2 shows when false claims are reported.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import exp, inf, log
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from arena.randomness import generator
from audits.adversary_search import share_of_error
from audits.monitors.kept_adversary import pack_scores, unpack_scores
from audits.monitors.power import find_shown_factor
from audits.monitors.store import ClaimVersion, Kept, Night, Store
from audits.runs.run_parts import RunPart
from audits.statistics.betting import Betting
from audits.statistics.score_pairs import PairCounts

NIGHTS, COMMITS, CLAIMS = 50, 10, ("first", "second")
GAMES = 128  # in each world in a night
EPSILON = 1.0
_ENDS = (0, 32, GAMES)  # of the blocks of a night


def simulate_project(
    rng: np.random.Generator,
    *,
    error: float,
    loss: float,
    commits: int = COMMITS,
    claims: Sequence[str] = CLAIMS,
) -> int | None:
    """The first night on which a project reports a claim false; None if it never does."""
    store = Store(Path("unused"), error, RunPart(1, 1), dict.fromkeys(claims, 1 / 2 / len(claims)))
    for night in range(NIGHTS):
        if night % (NIGHTS // commits) == 0:
            versions = [_begin_version(store, claim, str(night)) for claim in claims]
        for version in versions:
            if _play_night(store, version, rng, loss):
                return night + 1
    return None


def _begin_version(store: Store, claim: str, name: str) -> ClaimVersion:
    version = ClaimVersion(
        claim=claim,
        version=name,
        numbers=[store.spend_next(claim)],
        statement="",
        epsilon=EPSILON,
        delta=0.0,
        has_curve=False,
        parts={},
    )
    store.add_version(version)
    return version


def _play_night(store: Store, version: ClaimVersion, rng: np.random.Generator, loss: float) -> bool:
    """Play one night, and return whether the claim is refuted within it."""
    needed = store.compute_threshold(version) - version.log_wealth
    earlier = unpack_scores(version.kept)
    betting = Betting(delta=0.0, confidence=0.5, epsilon_claim=EPSILON, epsilon_max=0.0)
    betting.threshold, refuted, blocks = inf, False, []
    if earlier:
        betting.start_again(earlier)
    for start, end in pairwise(_ENDS):
        wrong = rng.random((2, end - start)) < 1 / (1 + exp(loss))
        blocks.append(PairCounts.of(wrong[0] * 1.0, ~wrong[1] * 1.0))
        betting.update(blocks[-1])
        refuted = refuted or betting.log_wealth_now >= needed
    version.kept = Kept(scores=pack_scores([*earlier, *blocks]))
    version.nights.append(
        Night(
            number=len(version.nights) + 1,
            part="1/1",
            games=GAMES,
            explored=0,
            log_wealth=betting.log_wealth_now,
            adversary="",
            seconds=0.0,
        )
    )
    return refuted


def measure_power(projects: int, error: float) -> None:
    """Print how often the loss is seen that reports say is seen with probability 90 %."""
    threshold = -log(share_of_error(error / 2, 1))
    factor = find_shown_factor(NIGHTS * GAMES, epsilon=EPSILON, delta=0.0, threshold=threshold)
    assert factor is not None
    seen = 0
    for project in range(projects):
        rng = generator(np.random.SeedSequence(1, spawn_key=(project,)))
        night = simulate_project(rng, error=error, loss=factor * EPSILON, commits=1, claims=CLAIMS[:1])
        seen += night is not None
    print(f"{NIGHTS} nights of {GAMES} games: a loss of {factor:.3g} times ε is seen by {seen} of {projects}")


def main() -> None:
    """Simulate projects, and print how many ever report a claim false, with a binomial limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--projects", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first one, for several machines")
    parser.add_argument("--error", type=float, default=0.1)
    parser.add_argument("--loss", type=float, default=EPSILON)
    parser.add_argument("--power", action="store_true", help="check the statement of power instead")
    asked = parser.parse_args()
    if asked.power:
        measure_power(asked.projects, asked.error)
        return
    ends: Counter[int | None] = Counter()
    for project in range(asked.first, asked.first + asked.projects):
        rng = generator(np.random.SeedSequence(0, spawn_key=(project,)))
        ends[simulate_project(rng, error=asked.error, loss=asked.loss)] += 1
    reported = asked.projects - ends[None]
    limit = binomtest(reported, asked.projects, asked.error).proportion_ci(0.95).high
    print(
        f"{asked.projects} projects of {len(CLAIMS)} claims, {NIGHTS} nights of {GAMES} games, {COMMITS} "
        f"commits, loss {asked.loss:g}: {reported} reported a claim false (at most {limit:.3g} of all with "
        f"confidence 97.5 %; stated error {asked.error:g})"
    )


if __name__ == "__main__":
    main()
