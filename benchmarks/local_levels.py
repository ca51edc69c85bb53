"""The coefficients of the polynomial in audits/statistics/simultaneous_limits.py, from levels sought.

Every level is that at which the limits are left with a probability of 0.995 of the allowed error, half-way
between the least and the largest that are accepted. Half an hour on a core.

python benchmarks/local_levels.py
"""

from __future__ import annotations

import math

import numpy as np
from numpy.polynomial.polynomial import polyvander2d

from audits.statistics.simultaneous_limits import _choose_indices, _limits_at_level, crossing_probability

PAIRS = [round(10 ** (half / 2)) for half in range(8, 16)]
ERRORS = (0.05, 0.025, 0.01, 0.003, 0.001, 0.0005)
SPENT = 0.995
DEGREES = (3, 4)  # in log10(pairs) - 6 and log10(error) + 2


def find_level(pairs: int, error: float, guess: float) -> float:
    """The level, by the secant method on the logarithms of level and probability."""
    index, goal = _choose_indices(pairs), math.log(SPENT * error)
    point, points = math.log(guess), []
    while True:
        reached = math.log(crossing_probability(_limits_at_level(pairs, index, math.exp(point))))
        points.append((point, reached))
        if abs(reached - goal) < 3e-4:
            return math.exp(point + goal - reached)
        slope = 1.0
        if len(points) > 1:
            (before, value), (last, latest) = points[-2:]
            slope = (latest - value) / (last - before)
        point += (goal - reached) / slope


def main() -> None:
    nodes, levels = [], {error: error / 40 for error in ERRORS}
    for pairs in PAIRS:
        for error in ERRORS:
            levels[error] = find_level(pairs, error, levels[error])
            nodes.append((math.log10(pairs) - 6, math.log10(error) + 2, math.log(error / levels[error])))
            print(f"{pairs:,} pairs, error {error:g}: level {levels[error]:.6g}", flush=True)
    x, y, looks = np.array(nodes).T
    terms = polyvander2d(x, y, DEGREES)
    coefficients = np.linalg.lstsq(terms, looks, rcond=None)[0]
    print(f"largest residual: {np.abs(looks - terms @ coefficients).max():.2g}")
    for row in coefficients.reshape(np.add(DEGREES, 1)):
        print("[" + ", ".join(f"{coefficient:.6e}" for coefficient in row) + "],")


if __name__ == "__main__":
    main()
