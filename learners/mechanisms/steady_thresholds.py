"""SteadyThresholds and MarkedVotes: noisy answers, of which only those of close votes are charged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting import Guarantee, zcdp_guarantee
from learners.mechanisms.noise import RandomFunction, laplace, point_bits
from learners.mechanisms.parameter_checks import check_positive, check_probability
from learners.mechanisms.sparse_vector import count_columns_to_true

ANSWERS_AT_ONCE = 16_384  # in all games together; more would be wasted, since a halt in one game ends them
# Moments that are tried, evenly spaced, and as many smaller ones for millions of charged answers.
_MOMENTS = 400


class SteadyThresholds:
    """Adds fresh noise Lap(1/(ε·size)) to each value and answers whether it is at or above 1/2.

    If the noisy value lies in [lower, upper], the answer is also "between" (⊤), and a game halts with the
    c-th of these; only they are charged (`steady_thresholds_cost`). In section 6.1 of Naor, Nissim, Stemmer,
    Yan (2023) it replaces BetweenThresholds: docs/proofs/steady_thresholds.md.

    watch: a further rule that halts games: from which answers were ⊤, (n, k), which games it halts with each,
    (n, j), up to the first such answer. epsilon: of a single answer; neighbours replace one of `size`
    records, which moves no value by more than 1/size.
    """

    def __init__(
        self,
        games: int,
        rng: np.random.Generator,
        *,
        lower: float,
        upper: float,
        epsilon: float,
        size: int,
        halts: int,
        watch: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        if not -math.inf < lower < 0.5 < upper < math.inf:
            raise InvalidArgument("1/2 must lie between lower and upper, both finite", value=(lower, upper))
        check_positive(epsilon=epsilon, size=size, halts=halts)
        self._rng = rng
        self._scale = 1 / (epsilon * size)
        self._lower = lower
        self._upper = upper
        self._halts = halts
        self._watch = watch
        self._count = np.zeros(games, np.int64)
        self.halted = np.zeros(games, bool)
        self.between = np.zeros((games, 0), bool)
        self.cuts = np.zeros((games, 0))

    def respond(self, values: np.ndarray) -> np.ndarray:
        """(n, j) bool: the answers to the first j of values (n, k), k ≥ 1, up to the first halt of a game.

        Then `between` (n, j) holds which were "between", and `cuts` (n, j) from which value on they would
        have been True. In a game that has halted they are meaningless. Raises: InvalidArgument if values has
        another shape or is not finite.
        """
        if values.ndim != 2 or len(values) != len(self.halted) or not values.shape[1]:
            raise InvalidArgument("values must have shape (games, k), k ≥ 1", value=values.shape)
        if not np.isfinite(values).all():
            raise InvalidArgument("the values of a query must be finite", value=values)
        values = values[:, : max(1, ANSWERS_AT_ONCE // max(1, len(values)))]
        noise, between = self._draw(values)
        between &= ~self.halted[:, None]
        count = self._count[:, None] + np.cumsum(between, axis=1)
        ends = (count >= self._halts) & ~self.halted[:, None]
        j = count_columns_to_true(ends)
        if self._watch is not None:
            watched = self._watch(between[:, :j])
            j = watched.shape[1]
            ends[:, j - 1] |= watched[:, -1]
        self.halted = self.halted | ends[:, j - 1]
        self._count = count[:, j - 1]
        self.between = between[:, :j]
        self.cuts = 0.5 - noise[:, :j]
        return np.asarray(values[:, :j] >= self.cuts)

    def _draw(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The noise on each value, and which answers are "between"."""
        noise = laplace(self._rng, np.empty(values.shape), self._scale)
        noisy = values + noise
        return noise, (noisy >= self._lower) & (noisy <= self._upper)


def steady_thresholds_cost(halts: int, epsilon: float, *, gap: float, slack: float) -> Guarantee:
    """The cost of all answers of SteadyThresholds together: (ε, slack), whatever the number of answers.

    About 2h√(c·ln(1/slack)) + h·ln(1/slack) for small h = epsilon and c = halts; formula:
    docs/proofs/steady_thresholds.md. gap: in scales of the noise, (upper − lower)·size·epsilon.
    """
    check_positive(halts=halts, epsilon=epsilon, gap=gap)
    check_probability(slack=slack)
    kappa = 0.5 / math.expm1(min(gap / 2, 700.0))
    limit = math.log1p(math.exp(-epsilon) / (1 + kappa))  # of λh, where the logarithm ends
    parts = np.concatenate([np.geomspace(1e-9, 1, _MOMENTS, endpoint=False), np.arange(1, _MOMENTS)])
    lambda_h = limit * parts / _MOMENTS
    moment = lambda_h / epsilon
    s = -lambda_h - np.log1p(-(1 + kappa) * math.exp(epsilon) * np.expm1(lambda_h))
    return Guarantee(max(0.0, float(epsilon_of_moment(halts * s, moment, slack).min())), slack)


def epsilon_of_moment(log_mean: Any, moment: Any, slack: float) -> Any:
    """The ε at which δ = slack, where ln E e^{moment·loss} ≤ log_mean: docs/proofs/steady_thresholds.md."""
    tail = -math.log(slack) - moment * np.log1p(1 / moment) - np.log1p(moment)
    return (log_mean + tail) / moment


CHANCE = 0.2  # that the answer of a tie is charged; of those that were tried it needs the fewest examples
_FIRST_MOMENT, _MOMENT_STEPS, _MOMENT_TOLERANCE = 16.0, 12, 0.1
_EXCESS = 5e-4  # relative, of a σ above the one at which a cost is expected to equal the budget


class MarkedVotes(SteadyThresholds):
    """Answers whether a mean vote plus Gaussian noise is at least 1/2, and marks answers of close votes.

    An answer is marked ("between", ⊤) with chance 0.2·exp(−|vote − 1/2|/gap), independently of its label, and
    charged if its point is asked first; a game halts with the c-th mark. Noise and marks are functions of the
    point (`RandomFunction`). Cost: `marked_votes_cost`; docs/proofs/marked_votes.md. sigma, gap: in votes of
    one of `size` teachers.
    """

    def __init__(
        self,
        games: int,
        rng: np.random.Generator,
        *,
        sigma: float,
        gap: float,
        size: int,
        halts: int,
        watch: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        check_positive(sigma=sigma, gap=gap)
        self._sigma, self._gap = sigma / size, gap / size
        self._random_function = RandomFunction(games, rng)
        self._charged: set[tuple[int, int | bytes]] = set()  # games with points
        self._answered = 0
        super().__init__(
            games, rng, lower=0.0, upper=1.0, epsilon=1 / sigma, size=size, halts=halts, watch=watch
        )

    def respond(self, values: np.ndarray, points: np.ndarray | None = None) -> np.ndarray:
        """As in `SteadyThresholds`, for mean votes (n, k) at points (n, k) or (n, k, d), by default new
        ones."""
        if points is None:
            points = np.broadcast_to(self._answered + np.arange(values.shape[-1]), values.shape)
        self._points = points
        answers = super().respond(values)
        self._answered += answers.shape[1]
        self._charged.update(_points_of_games(self.between, points))
        return answers

    def _draw(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from scipy.special import ndtri  # slow to import

        points = self._points[:, : values.shape[1]]
        normal, uniform = self._random_function.draw(points)
        noise = ndtri(normal)
        noise *= self._sigma
        marked = uniform < CHANCE * np.exp(-np.abs(values - 0.5) / self._gap)
        return noise, self._first_of_each_point(marked, points)

    def _first_of_each_point(self, marked: np.ndarray, points: np.ndarray) -> np.ndarray:
        """(n, k) bool: the marked answers to points that are asked for the first time."""
        games, places = np.nonzero(marked)
        here: set[tuple[int, int | bytes]] = set()
        new = np.zeros(len(games), bool)
        for number, key in enumerate(_points_of_games(marked, points)):
            if key not in self._charged and key not in here:
                here.add(key)
                new[number] = True
        first = np.zeros(marked.shape, bool)
        first[games[new], places[new]] = True
        return first


def _points_of_games(where: np.ndarray, points: np.ndarray) -> Iterator[tuple[int, int | bytes]]:
    """The game and the bits of its point, for each True of `where` (n, k), of points (n, k) or (n, k, d)."""
    games, places = np.nonzero(where)
    bits = point_bits(points[games, places][:, None])[:, 0]
    keys = bits[:, 0].tolist() if bits.shape[1] == 1 else map(bytes, bits)
    return zip(games.tolist(), keys, strict=True)


def log_answer_laws(votes: np.ndarray, *, size: int, sigma: float, gap: float) -> tuple[np.ndarray, ...]:
    """ln of the probabilities of label 0, of label 1, of a mark and of none, for numbers of votes for 1."""
    from scipy.special import log_ndtr  # slow to import

    ahead = votes - size / 2
    mark = math.log(CHANCE) - np.abs(ahead) / gap
    return log_ndtr(-ahead / sigma), log_ndtr(ahead / sigma), mark, np.log1p(-np.exp(mark))


@lru_cache(maxsize=256)
def marked_votes_cost(halts: int, *, size: int, sigma: float, gap: float, slack: float) -> Guarantee:
    """The cost of all answers of MarkedVotes together: (ε, slack), whatever the number of answers.

    ε is infinite where answers without a mark may reveal more than marks pay for. Formula:
    docs/proofs/marked_votes.md. sigma, gap: in votes.
    """
    check_positive(halts=halts, size=size, sigma=sigma, gap=gap)
    check_probability(slack=slack)
    votes = np.arange(size // 2 + 2.0)  # the other half mirrors these
    laws = log_answer_laws(votes, size=size, sigma=sigma, gap=gap)
    pairs = [
        [(law[here], law[here] - law[there]) for law in laws]
        for here, there in (np.s_[:-1, 1:], np.s_[1:, :-1])
    ]
    epsilon, moment, limit = math.inf, _FIRST_MOMENT, math.inf
    for _ in range(
        _MOMENT_STEPS
    ):  # every moment is valid; ε is about moment·c·curvature + ln(1/slack)/moment
        charge = max(_charge(pair, moment) for pair in pairs)
        if math.isinf(charge):
            limit, moment = moment, moment / 4
            continue
        epsilon = min(epsilon, float(epsilon_of_moment(halts * charge, moment, slack)))
        curvature = max(charge, math.ulp(1.0)) / (moment * (moment + 1))
        best = math.sqrt(-math.log(slack) / (halts * curvature))
        following = best if best < limit else math.sqrt(moment * limit)
        if abs(math.log(following / moment)) < _MOMENT_TOLERANCE:
            break
        moment = following
    return Guarantee(max(0.0, epsilon), slack)


def _charge(pair: list[tuple[np.ndarray, np.ndarray]], moment: float) -> float:
    """The least s with which exp(moment·loss − s·marks) grows in expectation at no number of votes."""
    zero, one, mark, none = (law + moment * ratio for law, ratio in pair)
    label = np.logaddexp(zero, one)
    unmarked = label + none
    if (unmarked >= 0).any():
        return math.inf
    return max(0.0, float((label + mark - np.log(-np.expm1(unmarked))).max()))


def all_answers_cost(answers: int, *, sigma: float, gap: float, slack: float) -> Guarantee:
    """The cost of so many answers of MarkedVotes, whatever the votes, by zCDP: labels have ρ = 1/(2σ²), and a
    mark is (1/gap, 0)-DP."""
    check_positive(answers=answers, sigma=sigma, gap=gap)
    return zcdp_guarantee(answers * 0.5 * (1 / sigma**2 + 1 / gap**2), slack=slack)


def find_sigma(cost: Callable[[float], float], budget: float, *, guess: float) -> float:
    """A σ with cost(σ) ≤ budget, hardly above the least, for a cost that falls as σ grows."""
    check_positive(budget=budget, guess=guess)
    low, high, sigma, found = 0.0, math.inf, guess, cost(guess)
    while not (1 - 4 * _EXCESS) * budget <= found <= budget:
        low, high = (low, sigma) if found <= budget else (sigma, high)
        sigma *= min(max(found / budget, 0.1), 10) ** 0.8 * (1 + _EXCESS)
        if not low < sigma < high:
            sigma = math.sqrt(low * high)
        if sigma in (low, high):
            return high
        found = cost(sigma)
    return sigma
