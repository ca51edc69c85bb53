"""Functions of one's own, mechanisms of OpenDP and of diffprivlib before two adversaries: one that looks at
the number that is released, and one that looks at its last bits.

    pip install 'dp-arena[opendp,diffprivlib]'
    python examples/libraries.py

A library that is not installed is left out. Where coins are a mechanism's own, figures differ a little from
run to run; those of the functions that draw from numpy do not.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from tabulate import tabulate

from adversaries.release.count_swap import CountSwap
from adversaries.release.low_bits import LowBits
from arena import Learner, Release
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.foreign.diffprivlib import Diffprivlib
from learners.foreign.function import Function
from learners.foreign.opendp import OpenDP

GAMES, CONFIDENCE, DELTA = 5_000, 0.99, 1e-6
HEADERS = ("library", "mechanism", "adversary", "claim", "certified", "ceiling", "the claim")
Entry = tuple[str, str, Learner]


# --- functions of one's own -------------------------------------------------------------------------------


def noisy_count(ones: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """The textbook's Laplace mechanism on a count, for ε = 1."""
    return ones + rng.laplace(scale=1.0, size=games)


def rounded_count(ones: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """The same, rounded to multiples of 2^-10."""
    return np.round(noisy_count(ones, games, rng) * 1024) / 1024


def whole_count(labels: np.ndarray) -> int:
    """Noise of whole numbers, from the coins of the system: what is left of two exponential ones, cut off."""
    coins = secrets.SystemRandom()
    return int(labels.sum()) + math.floor(coins.expovariate(1)) - math.floor(coins.expovariate(1))


def of_numpy() -> Iterator[Entry]:
    for name, function in (("Laplace", noisy_count), ("Laplace, rounded", rounded_count)):
        yield "numpy", name, Function(function=function, receives="ones", epsilon=1.0, vectorised=True)


def of_python() -> Iterator[Entry]:
    yield "Python", "geometric", Function(function=whole_count, epsilon=1.0)


# --- OpenDP -----------------------------------------------------------------------------------------------


def laplace_on(kind: type) -> Any:
    """Laplace noise of scale 1 on every entry of a vector."""
    import opendp.prelude as dp

    dp.enable_features("contrib")  # here, since every process makes its own
    domain = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
    return dp.m.make_laplace(dp.vector_domain(domain), dp.l1_distance(T=kind), scale=1.0)


def gaussian() -> Any:
    """Gaussian noise of scale 4 on every entry of a vector, whose map speaks of zCDP."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=4.0)


def randomised_response() -> Any:
    """One bit, told truly with a chance of 3/4."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_randomized_response_bool(prob=0.75)


def of_opendp() -> Iterator[Entry]:
    table = partial(OpenDP, d_in=1, vectorised=True)  # a call plays a table: an entry of the vector, a game
    yield "OpenDP", "make_laplace, integers", table(make=partial(laplace_on, int))
    yield "OpenDP", "make_laplace, floats", table(make=partial(laplace_on, float))
    yield "OpenDP", "make_gaussian, floats", table(make=gaussian, delta=DELTA)
    yield "OpenDP", "make_randomized_response_bool", OpenDP(make=randomised_response, d_in=1)


# --- diffprivlib ------------------------------------------------------------------------------------------


def of_diffprivlib() -> Iterator[Entry]:
    from diffprivlib import mechanisms

    made: list[tuple[str, Callable[..., Any]]] = [
        ("Laplace", partial(mechanisms.Laplace, epsilon=1, sensitivity=1)),
        ("Snapping", partial(mechanisms.Snapping, epsilon=1, sensitivity=1, lower=0, upper=10)),
        ("Geometric", partial(mechanisms.Geometric, epsilon=1, sensitivity=1)),
        ("Gaussian", partial(mechanisms.Gaussian, epsilon=1, delta=DELTA, sensitivity=1)),
    ]
    for name, make in made:
        yield "diffprivlib", name, Diffprivlib(make=make)


LIBRARIES = (of_numpy, of_python, of_opendp, of_diffprivlib)


def row(library: str, mechanism: str, learner: Learner, adversary: CountSwap | LowBits) -> list[str]:
    """One audit, and what it found."""
    claim = learner.claim
    verdict = run(
        Plan(
            learner=learner,
            adversary=adversary,
            referee=Release(),
            epsilon=claim.epsilon,
            delta=claim.delta,
            confidence=CONFIDENCE,
            games=GAMES,
            seed=1,
        )
    )
    return [
        library,
        mechanism,
        adversary.name,
        f"({claim.epsilon:.3g}, {claim.delta:g})",
        f"ε ≥ {verdict.epsilon_lower:.2f}",
        f"{verdict.ceiling:.2f}",
        "is REFUTED" if verdict.refuted else "stands",
    ]


def rows(libraries: Sequence[Callable[[], Iterator[Entry]]] = LIBRARIES) -> list[list[str]]:
    """Every mechanism of the libraries before both adversaries."""
    found = []
    for library in libraries:
        try:
            for entry in library():
                found += [row(*entry, adversary) for adversary in (CountSwap(), LowBits())]
        except ImportError as error:
            print(f"{library.__name__} is left out: {error}")
    return found


def main() -> None:
    started = time.perf_counter()
    print(tabulate(rows(), HEADERS, disable_numparse=True))
    print(
        f"\n{GAMES:,} games in each world, confidence {CONFIDENCE:.0%}; the worlds hold 0 and 1 of 10 people"
    )
    print(f"labelled 1. {time.perf_counter() - started:.0f} s in all.")


if __name__ == "__main__":
    main()
