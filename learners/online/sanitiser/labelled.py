"""Labelled examples as points, and whether a concept errs on them as a function."""

from __future__ import annotations

import numpy as np


def labelled(labellings: np.ndarray) -> np.ndarray:
    """H^label, of every concept h the function (x, y) → 1[h(x) ≠ y]: (concepts, 2·points) bool.

    The example (x, y) is the point y·points + x. Lemma 2.8 of Li, Wang, Ye makes a sanitiser for H^label from
    one for H, at a constant factor of everything. On a finite domain no such step is needed: H^label is a
    finite class on a domain of twice as many points, sanitised like any other at a price of ln 2 in what is
    logarithmic.

    Shapes: labellings (concepts, points) bool.

    >>> labelled(np.array([[False, True]])).astype(int)
    array([[0, 1, 1, 0]])
    """
    return np.concatenate([labellings, ~labellings], axis=1)
