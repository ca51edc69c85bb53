"""The exponential mechanism on a table: a private choice among m options in each game."""

from __future__ import annotations

import math

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.parameter_checks import check_positive

# Where doubles are 2^-20 apart, rounding moves no probability by more than a millionth of itself.
_LARGEST = 2.0**32


def exponential_mechanism(
    rng: np.random.Generator,
    scores: np.ndarray,
    *,
    epsilon: float,
    sensitivity: float,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """In each game choose option j with probability proportional to exp(epsilon·score_j / (2·sensitivity)).

    (epsilon, 0)-DP if a neighbour moves no score by more than `sensitivity` and `allowed` does not depend on
    the data: Definition 2.8 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023), after McSherry and Talwar (2007).
    Drawn as the option of the largest score plus Gumbel noise, which has exactly this law.

    Shapes: scores (n, m) with m at least 1; allowed (n, m) bool, by default everything, and where it is False
    the score is not looked at; returns (n,) of 0..m-1.
    Units: epsilon in nats; sensitivity in those of the scores.
    Raises: InvalidArgument if a game has nothing to choose from, an allowed score is not finite or beyond
    2^32 of 2·sensitivity/epsilon, where rounding would swallow the noise, or a parameter is out of range.
    """
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise InvalidArgument("scores are (games, options) with at least one option", value=scores.shape)
    mask = True if allowed is None else _mask(allowed, scores.shape)
    with np.errstate(all="ignore"):  # scores that are not allowed may be anything
        utilities = scores * (epsilon / (2 * sensitivity))
        if not (np.abs(utilities) <= _LARGEST).all(where=mask):
            raise InvalidArgument(
                "allowed scores must be finite and at most 2^32 in units of 2·sensitivity/epsilon",
                remedy="Rule options out with allowed=, or subtract the largest score of each game",
            )
        noise = rng.standard_exponential(scores.shape)
        utilities -= np.log(noise, out=noise)  # minus the logarithm of Exp(1) is Gumbel
    if allowed is not None:
        np.putmask(utilities, ~allowed, -math.inf)
    choices: np.ndarray = utilities.argmax(axis=1)
    return choices


def _mask(allowed: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if allowed.dtype != np.bool_ or allowed.shape != shape:
        raise InvalidArgument(
            "allowed is a bool for each score", value=f"{allowed.dtype} array of shape {allowed.shape}"
        )
    stuck = np.flatnonzero(~allowed.any(axis=1))
    if stuck.size:
        raise InvalidArgument(
            "every game needs an allowed option", value=f"none in {stuck.size} games, the first {stuck[0]}"
        )
    return allowed
