"""Number of pairs that the betting test needs to refute false claims, and the cost of an update.

python benchmarks/betting_power.py
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

from arena.randomness import generator
from audits.statistics.betting import Betting, ceiling
from audits.statistics.score_pairs import PairCounts

AUDITS = 40
MOST_PAIRS = 400_000

Law = Callable[[np.random.Generator, int], np.ndarray]


def response(rng: np.random.Generator, pairs: int) -> np.ndarray:
    """Randomised response with ε = 1."""
    lie = 1 / (1 + math.e)
    return (rng.random((2, pairs)) < [[lie], [1 - lie]]).astype(float)


def laplace(rng: np.random.Generator, pairs: int) -> np.ndarray:
    """The Laplace mechanism with ε = 1."""
    return rng.laplace([[0.0], [1.0]], 1.0, (2, pairs))


def threshold(rng: np.random.Generator, pairs: int) -> np.ndarray:
    """The Laplace mechanism with ε = 1, seen through its best threshold."""
    return (laplace(rng, pairs) >= 1.0).astype(float)


LAWS: dict[str, Law] = {
    "randomised response": response,
    "Laplace, best threshold": threshold,
    "Laplace": laplace,
}


def growing() -> Iterator[int]:
    """Block sizes 256, 256, 512, 1,024, ..., and 4,096 from then on."""
    yield 256
    size = 256
    while True:
        yield size
        size = min(2 * size, 4_096)


def pairs_needed(law: Law, rng: np.random.Generator, *, claim: float) -> int:
    test = Betting(delta=0.0, confidence=1 - 1e-6, epsilon_claim=claim)
    for size in growing():
        test.update(PairCounts.of(*law(rng, size)))
        if test.refuted or test.pairs >= MOST_PAIRS:
            break
    return test.pairs


def update_milliseconds(law: Law, rng: np.random.Generator, *, blocks: int) -> float:
    """Mean over an audit in blocks of 4,096 pairs."""
    test = Betting(delta=0.0, confidence=1 - 1e-6, epsilon_claim=0.9)
    played = [PairCounts.of(*law(rng, 4_096)) for _ in range(blocks)]
    start = time.perf_counter()
    for block in played:
        test.update(block)
    return (time.perf_counter() - start) / blocks * 1e3


def main() -> None:
    rng = generator(np.random.SeedSequence(1))
    print(f"pairs to refute a claim where ε = 1, at a = 1e-6 (quartiles of {AUDITS} audits)")
    for name, law in LAWS.items():
        for claim in (0.5, 0.9, 0.95):
            needed = [pairs_needed(law, rng, claim=claim) for _ in range(AUDITS)]
            low, middle, high = statistics.quantiles(needed, n=4)
            print(f"  {name:24} {claim:5.2f} {low:10,.0f} {middle:10,.0f} {high:10,.0f}")

    sizes = [4_096] * 12 + [848]
    separated = Betting(delta=1e-5, confidence=0.999)
    for size in sizes:
        separated.update(PairCounts.of(rng.random(size), 2 + rng.random(size)))
    print("perfect separation, 50,000 pairs, a = 0.001, δ = 1e-5; the limit of information is 8.79")
    print(f"  two scores {ceiling(sizes, delta=1e-5, confidence=0.999):.2f}", end="")
    print(f"   continuous scores {separated.epsilon_lower:.2f}")

    print("milliseconds an update, blocks of 4,096 pairs")
    for name, law in LAWS.items():
        short, long = (update_milliseconds(law, rng, blocks=blocks) for blocks in (12, 200))
        print(f"  {name:24} {short:6.2f} over 12 blocks {long:6.2f} over 200")

    for size in (1, 4_096):
        start = time.perf_counter()
        bound = ceiling([size] * 100_000, delta=1e-5, confidence=0.999)
        print(f"ceiling of 100,000 blocks of {size:5,}: {bound:5.2f} in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
