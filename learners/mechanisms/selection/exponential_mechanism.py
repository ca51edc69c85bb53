"""The exponential mechanism for a batch of games: a private choice among m options in each game."""

from __future__ import annotations

import math

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.parameter_checks import check_positive

# Below this, doubles are at most 2^-20 apart, so rounding changes no probability by more than a factor of 1 ±
# 1e-6.
_LARGEST = 2.0**32


def exponential_mechanism(
    rng: np.random.Generator,
    scores: np.ndarray,
    *,
    epsilon: float,
    sensitivity: float,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """Choose in each game option j with probability proportional to exp(epsilon·score_j / (2·sensitivity)).

    (epsilon, 0)-DP if scores of neighbours differ by at most `sensitivity` and `allowed` does not depend on
    the
    data: Definition 2.8 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023), after McSherry and Talwar (2007). The
    choice is the option of the largest score plus Gumbel noise, which has exactly this distribution.

    Shapes: scores (n, m), m ≥ 1; allowed (n, m) bool, default all; scores of options that are not allowed are
    ignored; the result is (n,), in 0 … m − 1.
    Units: epsilon in nats; sensitivity in units of the scores.
    Raises: InvalidArgument if a game has no allowed option, if an allowed score is not finite or exceeds
    2^32·2·sensitivity/epsilon, where rounding would swallow the noise, or if a parameter is out of range.
    """
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise InvalidArgument("scores must have shape (games, options), options ≥ 1", value=scores.shape)
    mask = True if allowed is None else _mask(allowed, scores.shape)
    with np.errstate(all="ignore"):  # ignored scores may be anything
        utilities = scores * (epsilon / (2 * sensitivity))
        if not (np.abs(utilities) <= _LARGEST).all(where=mask):
            raise InvalidArgument(
                "allowed scores must be finite and at most 2^32 in units of 2·sensitivity/epsilon",
                remedy="Exclude options with allowed=, or subtract the largest score of each game.",
            )
        noise = rng.standard_exponential(scores.shape)
        utilities -= np.log(noise, out=noise)  # minus the logarithm of an exponential number is Gumbel
    if allowed is not None:
        np.putmask(utilities, ~allowed, -math.inf)
    choices: np.ndarray = utilities.argmax(axis=1)
    return choices


def _mask(allowed: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if allowed.dtype != np.bool_ or allowed.shape != shape:
        raise InvalidArgument(
            "allowed must hold one bool per score", value=f"{allowed.dtype} array of shape {allowed.shape}"
        )
    empty = np.flatnonzero(~allowed.any(axis=1))
    if empty.size:
        raise InvalidArgument(
            "every game needs an allowed option", value=f"none in {empty.size} games, the first {empty[0]}"
        )
    return allowed
