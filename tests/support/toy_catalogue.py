"""A catalogue of a library that does not exist, with an entry for each way in which an audit ends."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as st

import audits

catalogue = audits.Catalogue(made_for="1.0", public=lambda: ["count", "sum"])
BITS: dict[str, Any] = {
    "epsilon": 1,
    "neighbours": "add or remove one",
    "data": lambda: audits.records(st.integers(0, 1)),
}


@catalogue.entry("count", **BITS)
def make_count():
    def count(bits, rng):
        return sum(bits) + int(rng.geometric(1 - np.exp(-1))) - int(rng.geometric(1 - np.exp(-1)))

    return count


@catalogue.entry("count: flawed", note="The page of the library says so.", **BITS)
def make_flawed_count():
    return lambda bits, rng: sum(bits) + rng.laplace(scale=0.1)


@catalogue.entry("hangs", **BITS)
def make_hanging():
    def hang(bits):
        while True:
            time.sleep(0.01)

    return hang


@catalogue.entry("crashes", **BITS)
def make_crashing():
    return lambda bits: os.abort()


@catalogue.entry("raises", **BITS)
def make_raising():
    children = []

    def fail(bits):
        print("counting ...")
        warnings.warn("the count is private", stacklevel=1)
        if not children:
            children.append(os.fork())
            if children[0]:
                os.waitpid(children[0], 0)
        raise ValueError("no data will do")

    return fail


@catalogue.entry("missing", **BITS)
def make_missing():
    from fractions import NoSuchMechanism  # type: ignore[attr-defined]

    return NoSuchMechanism


catalogue.add("no map", make_count, claim=lambda count: count.map(1), data=BITS["data"])
catalogue.add("no number", make_count, epsilon="one", data=BITS["data"])
catalogue.add("infinite", make_count, epsilon=float("inf"), data=BITS["data"])
