"""A catalogue of a library that does not exist, for tests of surveys: one entry for each way to end."""

from __future__ import annotations

import os
import warnings

import numpy as np
from hypothesis import strategies as st

import audits

catalogue = audits.Catalogue(made_for="1.0", public=lambda: ["counts", "sums"])
BITS = {"data": lambda: audits.records(st.integers(0, 1)), "neighbours": "add or remove one"}


@catalogue.entry("counts", epsilon=1, **BITS)
def make_count():
    def count(bits, rng):
        print("counting")
        warnings.warn("the count is noisy", UserWarning, stacklevel=1)
        if os.fork() == 0:
            return 0.0
        os.wait()
        return sum(bits) + rng.geometric(1 - np.exp(-1)) - rng.geometric(1 - np.exp(-1))

    return count


@catalogue.entry("counts: flawed", epsilon=1, **BITS, note="The page of the library says so.")
def make_flawed():
    return lambda bits, rng: sum(bits) + rng.laplace(scale=0.1)
