"""Audits of Python functions and of mechanisms of OpenDP and diffprivlib, each against two adversaries.

One adversary looks at the released number, the other at its last bits.

    pip install 'dp-arena[opendp,diffprivlib]'
    python examples/libraries.py

A library that is not installed is skipped. Figures of mechanisms that draw their own random numbers differ a
little from run to run; those of functions that draw from numpy do not.
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

from adversaries.release.point_swap import CountSwap, LowBits
from arena import Learner, Release
from audits.runs.plan import Plan
from audits.runs.run import run
from learners.foreign.diffprivlib import Diffprivlib
from learners.foreign.function import Function
from learners.foreign.opendp import OpenDP

GAMES, CONFIDENCE, DELTA = 5_000, 0.99, 1e-6
HEADERS = ("library", "mechanism", "adversary", "claim", "certified", "ceiling", "the claim")
Entry = tuple[str, str, Learner]


# --- Python functions -------------------------------------------------------------------------------------


def noisy_count(ones: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """The textbook Laplace mechanism on a count, for ε = 1."""
    return ones + rng.laplace(scale=1.0, size=games)


def coarse_count(ones: int, games: int, rng: np.random.Generator) -> np.ndarray:
    """The same, rounded to multiples of 2^-10."""
    return np.round(noisy_count(ones, games, rng) * 1024) / 1024


def whole_count(labels: np.ndarray) -> int:
    """Integer noise from the system's generator: the difference of two exponential variables, rounded
    down."""
    system = secrets.SystemRandom()
    return int(labels.sum()) + math.floor(system.expovariate(1)) - math.floor(system.expovariate(1))


def numpy_functions() -> Iterator[Entry]:
    for name, function in (("Laplace", noisy_count), ("Laplace, rounded", coarse_count)):
        yield "numpy", name, Function(function=function, receives="ones", epsilon=1.0, vectorised=True)


def python_functions() -> Iterator[Entry]:
    yield "Python", "geometric", Function(function=whole_count, epsilon=1.0)


# --- OpenDP -----------------------------------------------------------------------------------------------


def laplace_on(kind: type) -> Any:
    """Laplace noise of scale 1 on every entry of a vector."""
    import opendp.prelude as dp

    dp.enable_features("contrib")  # here, because every process makes its own measurement
    domain = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
    return dp.m.make_laplace(dp.vector_domain(domain), dp.l1_distance(T=kind), scale=1.0)


def gaussian() -> Any:
    """Gaussian noise of scale 4 on every entry of a vector; its privacy map is about zCDP."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False))
    return dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=4.0)


def randomise_bit() -> Any:
    """Randomised response: one bit, correct with probability 3/4."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_randomized_response_bool(prob=0.75)


def opendp_measurements() -> Iterator[Entry]:
    batch = partial(
        OpenDP, d_in=1, vectorised=True
    )  # one call plays a batch, one entry of the vector for each game
    yield "OpenDP", "make_laplace, integers", batch(make=partial(laplace_on, int))
    yield "OpenDP", "make_laplace, floats", batch(make=partial(laplace_on, float))
    yield "OpenDP", "make_gaussian, floats", batch(make=gaussian, delta=DELTA)
    yield "OpenDP", "make_randomized_response_bool", OpenDP(make=randomise_bit, d_in=1)


# --- diffprivlib ------------------------------------------------------------------------------------------


def diffprivlib_mechanisms() -> Iterator[Entry]:
    from diffprivlib import mechanisms

    makers: list[tuple[str, Callable[..., Any]]] = [
        ("Laplace", partial(mechanisms.Laplace, epsilon=1, sensitivity=1)),
        ("Snapping", partial(mechanisms.Snapping, epsilon=1, sensitivity=1, lower=0, upper=10)),
        ("Geometric", partial(mechanisms.Geometric, epsilon=1, sensitivity=1)),
        ("Gaussian", partial(mechanisms.Gaussian, epsilon=1, delta=DELTA, sensitivity=1)),
    ]
    for name, make in makers:
        yield "diffprivlib", name, Diffprivlib(make=make)


LIBRARIES = (numpy_functions, python_functions, opendp_measurements, diffprivlib_mechanisms)


def audit(library: str, mechanism: str, learner: Learner, adversary: CountSwap | LowBits) -> list[str]:
    """Run one audit and report its result."""
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


def audit_all(libraries: Sequence[Callable[[], Iterator[Entry]]] = LIBRARIES) -> list[list[str]]:
    """Audit every mechanism of the libraries against both adversaries."""
    rows = []
    for library in libraries:
        try:
            for entry in library():
                rows += [audit(*entry, adversary) for adversary in (CountSwap(), LowBits())]
        except ImportError as error:
            print(f"{library.__name__} is skipped: {error}")
    return rows


def main() -> None:
    started = time.perf_counter()
    print(tabulate(audit_all(), HEADERS, disable_numparse=True))
    print(f"\n{GAMES:,} games in each world, confidence {CONFIDENCE:.0%}. Of 10 people, none is labelled 1")
    print(f"in world 0, and one in world 1. {time.perf_counter() - started:.0f} s in all.")


if __name__ == "__main__":
    main()
