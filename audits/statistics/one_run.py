"""One-run test: a mechanism is private only if few of m independent bits can be guessed from its output.

Proof: docs/proofs/one_run.md.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from arena.errors import InvalidArgument, Unsupported
from arena.randomness import generator
from audits.statistics.bets import Hypotheses
from audits.statistics.betting import EPSILON_MAX

_GUESSES_PER_ROOT = 5.0  # guesses over √m; about the best for Gaussian scores of 100 to 20,000 canaries
_SHARES = {"both": 0.8, "high": 0.1, "low": 0.1}  # of the error, by the ends of the scores that are guessed
_CURVE_POINTS = 128
_ROUNDING = 1e-9  # of a total probability
FAIR_COINS_LEVEL = 1e-6  # p-value below which bits are not taken for fair coins
MIN_CANARIES = 10


@attrs.frozen
class RightGuesses:
    """How many guesses are right: "included" at the high end of the ordered scores, "not included" at the low
    end. ends: "both", half of the guesses at each; "high" or "low". canaries: m. guesses: n."""

    ends: str
    canaries: int
    guesses: int
    right: int

    def exclude(self, epsilons: np.ndarray, deltas: np.ndarray, error: float) -> bool:
        """Whether so many right guesses have a probability below `error` under conditions (K,) on each bit,
        P(A | b) ≤ e^ε·P(A | 1 − b) + δ. Theorem 1 of docs/proofs/one_run.md."""
        slack = deltas if self.ends == "both" else deltas / 2
        shrink = np.exp(-epsilons)
        m, n = self.canaries, self.guesses
        tail, above = error, 0.0  # lower bounds on P(C ≥ c), and on its sum over the counts above c
        for c in range(self.right, 0, -1):
            wrong = max(0.0, float((((c * tail + above) / m - slack) * shrink).max()))
            larger = (m * wrong + above + tail) / (n - c + 1)
            if larger <= tail:  # and so for all smaller counts
                return False
            above, tail = above + tail, larger
            if tail > 1.0 + _ROUNDING:
                return True
        return False


def count_guesses(canaries: int) -> int:
    """n, the number of guesses for m canaries; even, and chosen before any score is seen."""
    return min(canaries - canaries % 2, 2 * math.ceil(_GUESSES_PER_ROOT * math.sqrt(canaries) / 2))


def guess_bits(scores: np.ndarray, included: np.ndarray) -> tuple[RightGuesses, ...]:
    """The guesses at both ends, at the high end and at the low end, from scores (m,), higher if the canary
    looks included, and bits (m,). Equal scores are ordered at random: the list's order may depend on bits."""
    m = len(scores)
    order = np.lexsort((generator(np.random.SeedSequence(m)).random(m), scores))
    bits = included[order]
    n = count_guesses(m)
    one_end = min(n, m // 2)
    high, low = np.cumsum(bits[::-1]), np.cumsum(~bits)
    return (
        RightGuesses("both", m, n, int(high[n // 2 - 1] + low[n // 2 - 1])),
        RightGuesses("high", m, one_end, int(high[one_end - 1])),
        RightGuesses("low", m, one_end, int(low[one_end - 1])),
    )


def check_fair_coins(included: np.ndarray) -> None:
    """Raises: InvalidArgument if the bits (m,) cannot be those of fair coins: too many or too few are set, or
    the bit changes too often along the list, as where one canary of each pair is included."""
    from scipy.stats import binomtest  # slow to import

    chosen, m = int(included.sum()), len(included)
    changes = int(np.count_nonzero(np.diff(included)))
    tests = {
        f"{chosen:,} of {m:,} are included": binomtest(chosen, m),
        f"the bit changes {changes:,} times in a list of {m:,}": binomtest(
            changes, m - 1, alternative="greater"
        ),
    }
    for what, test in tests.items():
        if test.pvalue < FAIR_COINS_LEVEL:
            raise InvalidArgument(
                "each canary must be included by a fair coin of its own",
                value=f"{what}, which fair coins do with probability {test.pvalue:.1g}",
                remedy="Draw the included canaries again, and train again; no bound holds for this run.",
            )


def is_excluded(hypotheses: Hypotheses, index: int, guesses: tuple[RightGuesses, ...], error: float) -> bool:
    """Whether the guesses reject a hypothesis. If it is true, that has a probability of at most `error`."""
    epsilons, deltas = _list_conditions(hypotheses, index)
    return any(made.exclude(epsilons, deltas, error * _SHARES[made.ends]) for made in guesses)


def _list_conditions(hypotheses: Hypotheses, index: int) -> tuple[np.ndarray, np.ndarray]:
    """ε and δ (K,) of the conditions of a hypothesis: more points of a curve than bets use."""
    curve = hypotheses.read_curve(index)
    if curve is None:
        epsilons, deltas = hypotheses.list_conditions(np.array([index]))
        return epsilons[0], deltas[0]
    points = EPSILON_MAX * np.linspace(0, 1, _CURVE_POINTS) ** 2
    try:
        return points, np.minimum(curve.deltas(points), 1.0)
    except Unsupported:  # nothing is known
        return np.zeros(1), np.ones(1)


def is_claim_excluded(hypotheses: Hypotheses, guesses: tuple[RightGuesses, ...], error: float) -> bool:
    """The same for the claim under test; False without one."""
    return hypotheses.claim is not None and is_excluded(hypotheses, hypotheses.claim, guesses, error)


def count_rejected(hypotheses: Hypotheses, guesses: tuple[RightGuesses, ...], error: float) -> int:
    """How many hypotheses, from the first on, are rejected.
    With probability at least 1 − error, all of them are false: Theorem 2 of docs/proofs/one_run.md."""
    rejected, stands = -1, len(hypotheses)
    while stands - rejected > 1:
        middle = (rejected + stands) // 2
        if is_excluded(hypotheses, middle, guesses, error):
            rejected = middle
        else:
            stands = middle
    return stands


def find_bound(hypotheses: Hypotheses, guesses: tuple[RightGuesses, ...], error: float) -> float:
    """The certified bound in nats: that of the last of `count_rejected`, or 0."""
    rejected = count_rejected(hypotheses, guesses, error)
    return hypotheses.read_bound(rejected - 1) if rejected else 0.0
