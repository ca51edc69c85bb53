"""How much ε the best event can certify from n games in each world: the yardstick of black-box audits.

The bound of one event is that of DP-Sniper: Clopper-Pearson limits on its two probabilities, each at half of
the error. The best event collects the largest likelihood ratios; which one is best depends on n.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.stats import beta, binom, laplace

from adversaries.release.statdp import StatDP
from arena import Learner, Release
from audits.exact_loss.view_laws import losses_of_values, value_laws
from audits.registry.players import LEARNERS
from benchmarks.anchors.peers.sniper_mechanisms import (
    BELOW,
    CASES,
    EPSILON,
    ONE_TIME_RAPPOR_F,
    RAPPOR_F,
    RAPPOR_P,
    RAPPOR_Q,
    STOPPED,
    Case,
    geometric_weights,
)

DRAWS = 300_000  # in each world, where a law is known by its density only
DIFFERENT_BITS = 6  # of the Bloom filters of 0 and 1
_SEED = 20_262
_EVENTS = 2_000  # that are compared, by rank from either end
_GRID = 20_001  # values of the noisy threshold
_REACH = 40.0  # of these, in scales of the noise

Laws = tuple[np.ndarray, np.ndarray]


def information_limit(p0: np.ndarray, p1: np.ndarray, games: int, confidence: float) -> float:
    """ε (nats) that the best event certifies if its counts in `games` games of each world are as expected.

    p0, p1: the probabilities (k,) of the outcomes in both worlds. Either world may be the likely one.
    """
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(p0) - np.log(p1), kind="stable")
    likely = np.cumsum(p1[order]), np.cumsum(p0[order])
    unlikely = np.cumsum(p0[order[::-1]]), np.cumsum(p1[order[::-1]])
    return max(_bound_events(*pair, games, confidence) for pair in (likely, unlikely))


def _bound_events(likely: np.ndarray, rare: np.ndarray, games: int, confidence: float) -> float:
    """The largest bound among events with probabilities (k,) in the world where they are likely, and not."""
    if len(likely) > 2 * _EVENTS:  # neighbours hardly differ
        chosen = np.unique(np.geomspace(1, len(likely), _EVENTS).astype(int)) - 1
        chosen = np.union1d(chosen, len(likely) - 1 - chosen)
        likely, rare = likely[chosen], rare[chosen]
    counts = np.clip(games * np.array([likely, rare]), 0, games)
    counts = np.where(np.abs(counts - np.round(counts)) < 1e-6, np.round(counts), counts)
    tail = (1 - confidence) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(counts[0] > 0, beta.ppf(tail, counts[0], games - counts[0] + 1), 0.0)
        high = np.where(counts[1] < games, beta.ppf(1 - tail, counts[1] + 1, games - counts[1]), 1.0)
        bounds = np.log(low) - np.log(high)
    return max(0.0, float(np.max(bounds, initial=0.0)))


def find_laws(name: str) -> Laws:
    """Probabilities (k,) of sets of outcomes with one likelihood ratio each, in world 0 and in world 1.

    Exact but where `LOG_RATIOS` has the case: there the sets are outcomes drawn in both worlds.
    """
    case = CASES[name]
    if case.learner:
        loss = losses_of_values(*value_laws(*zoo_players(case), Release()))[0].loss
        return loss.p0, loss.p1
    if name == "TruncatedGeometric":
        weights = [geometric_weights(int(data[0])) for data in case.worlds]
        return weights[0] / weights[0].sum(), weights[1] / weights[1].sum()
    if name in _BIT_PROBABILITIES:
        agreeing = np.arange(DIFFERENT_BITS + 1)  # with world 1
        right = _BIT_PROBABILITIES[name]
        return binom.pmf(agreeing, DIFFERENT_BITS, 1 - right), binom.pmf(agreeing, DIFFERENT_BITS, right)
    rng = np.random.default_rng(_SEED)
    ratios = np.concatenate([LOG_RATIOS[name](case, case.mechanism(x, DRAWS, rng)) for x in case.worlds])
    return weigh_draws(ratios)


def weigh_draws(ratios: np.ndarray) -> Laws:
    """Probabilities (2n,) of outcomes of which half were drawn in each world, from their log ratios (2n,)."""
    p1 = 2 / len(ratios) / (1 + np.exp(-ratios))
    return 2 / len(ratios) - p1, p1


def zoo_players(case: Case) -> tuple[Learner, StatDP]:
    """The learner of the zoo, and the adversary with the case's data sets."""
    learner = LEARNERS.find(case.learner)()
    return learner, StatDP(pattern=case.pattern, swapped=case.swapped, learner=learner)


def laplace_log_ratio(
    case: Case, released: np.ndarray, scale: float, shown: np.ndarray | bool = True
) -> np.ndarray:
    """Σ over the answers of the log ratio of Laplace densities; the data are one number, or one for each.

    shown: the answers that are released."""
    distances = [np.abs(released - data) for data in case.worlds]
    return np.where(shown, distances[0] - distances[1], 0.0).sum(axis=1) / scale


def prefix_sum_log_ratio(case: Case, released: np.ndarray) -> np.ndarray:
    return laplace_log_ratio(case, np.diff(released, axis=1, prepend=0.0), 1 / EPSILON)


def laplace_parallel_log_ratio(case: Case, released: np.ndarray) -> np.ndarray:
    return laplace_log_ratio(case, released, 20 / EPSILON)


def svt34_log_ratio(case: Case, released: np.ndarray) -> np.ndarray:
    first, second = np.hsplit(released, 2)
    below, stopped = first == BELOW, first == STOPPED
    shown = ~below & ~stopped
    marks = np.where(stopped, -1, shown)
    lowest = np.where(shown, first, np.inf).min(axis=1)  # the noisy threshold is at most this
    ratios = _pattern_log_ratio(case, marks, 2 / EPSILON, 4 / EPSILON, lowest)
    return (
        ratios
        + laplace_log_ratio(case, first, 4 / EPSILON, shown)
        + _pattern_log_ratio(case, second, 4 / EPSILON, 4 / (3 * EPSILON))
    )


def numerical_svt_log_ratio(case: Case, released: np.ndarray) -> np.ndarray:
    shown = (released != BELOW) & (released != 0)
    marks = np.where(released == BELOW, -1, shown)
    ratios = _pattern_log_ratio(case, marks, 3 / EPSILON, 12 / EPSILON)
    return ratios + laplace_log_ratio(case, released, 6 / EPSILON, shown)


def _pattern_log_ratio(
    case: Case, marks: np.ndarray, rho: float, nu: float, highest: np.ndarray | None = None
) -> np.ndarray:
    """The log ratio (n,) of the probabilities of 1 (above), 0 (below) and -1 (not asked) in marks (n, m).

    rho, nu: the scales of the noise of the threshold and of an answer. highest: the noisy threshold is at
    most this (n,), and the factors of the answers above it are left out, since their values are released.
    """
    codes = (marks + 1) @ 3.0 ** np.arange(marks.shape[1])
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    noise = np.linspace(-_REACH, _REACH, _GRID) * rho
    density = np.exp(-np.abs(noise) / rho)
    logs = []
    for answers in case.worlds:
        below = laplace.cdf(noise[:, None] + 1.0, answers, nu)  # 1 is the threshold
        above = 1 - below if highest is None else np.ones_like(below)
        masses = np.empty(len(marks))
        for index, pattern in enumerate(marks[first]):
            games = place == index
            factors = np.where(pattern == 0, below, np.where(pattern == 1, above, 1.0)).prod(axis=1)
            whole = np.cumsum(density * factors)
            masses[games] = whole[-1] if highest is None else np.interp(highest[games], noise + 1.0, whole)
        logs.append(np.log(masses))
    return logs[1] - logs[0]


# log(P1/P0) of what a mechanism released, (n,), for laws that neither the zoo nor a formula knows.
LOG_RATIOS: Mapping[str, Callable[[Case, np.ndarray], np.ndarray]] = {
    "LaplaceParallel": laplace_parallel_log_ratio,
    "SVT34Parallel": svt34_log_ratio,
    "PrefixSum": prefix_sum_log_ratio,
    "NumericalSVT": numerical_svt_log_ratio,
}
_BIT_PROBABILITIES = {  # that a bit which differs between the filters is released as world 1 has it
    "OneTimeRAPPOR": 1 - ONE_TIME_RAPPOR_F / 2,
    "RAPPOR": RAPPOR_P * RAPPOR_F / 2 + RAPPOR_Q * (1 - RAPPOR_F / 2),
}
