"""low-bits: a noisy number in floating point shows, by its last bits, what the noise was added to."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Moves, Sample, Train, setting

_COARSEST = 2_000.0  # above every place of a bit of a double: 0 has no last bit


@attrs.frozen
class LowBits(Adversary):
    """Two samples that differ in one label; the score is the place of the last bit of the released number,
    the z of y = odd·2^z.

    Mironov, On Significance of the Least Significant Bits for Differential Privacy (2012), found that noise
    added in doubles leaves holes; that the spacing at the true value shows is the precision-based attack of
    Haney, Desfontaines, Hartman, Shrestha, Hay, Precision-based Attacks and Interval Refining: How to Break,
    then Fix, Differential Privacy on Finite Computers (2022).

    Let u(x) be the spacing of doubles at x ≠ 0, 2^-52 at 1. Whatever double the noise n is, the released
    y = fl(x + n) is a multiple of u(x)/2. Proof. If |y| ≥ |x|/2, then y is a multiple of u(y) ≥ u(x)/2. If
    |y| < |x|/2, then n has the other sign and, rounding being monotone, |n| ≥ |x|/2, so that n is a multiple
    of u(x)/2 as x is; so is x + n, which lies below |x|/2 and is therefore a double: y = x + n.

    So with x = 1 in world 1 no number with a last bit below 2^-53 is released, while in world 0, with x = 0,
    the number is the noise with all its bits: for |y| in [2^-(k+1), 2^-k) it has a last bit below 2^-53 with
    a chance of about 1 - 2^-k. In general the worlds tell apart where u differs, at the counts 0 and 1 or
    2^k - 1 and 2^k; the larger number is in world 1. Where u is the same this score says nothing. Numbers
    from a grid that does not hang on x give nothing away: whole ones, and those that are snapped.
    """

    name = "low-bits"
    protocols = ("Release",)
    returns_score = True

    sample: Sample | None = setting(
        None, help="the sample, the last example of whose first run varies; default: ten examples labelled 0"
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or Sample([0.0, 0.0], [0, 0], [1, 9])
        at = sample.points[0]
        reply = yield Train(sample.replace_one(0, at, 0), sample.replace_one(0, at, 1))
        return last_bits(np.reshape(reply.value, (games, -1))[:, 0])


def last_bits(y: np.ndarray) -> np.ndarray:
    """(n,): the z of y = odd·2^z; 2000 where y is 0 or no number.

    >>> last_bits(np.array([1.0, 0.5, 6.0, 1 + 2.0**-52, 0.0])).tolist()
    [0.0, -1.0, 1.0, -52.0, 2000.0]
    """
    y = np.asarray(y, dtype=np.float64)
    known = np.isfinite(y) & (y != 0)
    fraction, exponent = np.frexp(np.where(known, y, 1.0))
    digits = np.ldexp(fraction, 53).astype(np.int64)
    last = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(known, exponent - 53.0 + last, _COARSEST)
