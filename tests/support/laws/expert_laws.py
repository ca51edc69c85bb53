"""Private prediction from expert advice: exact distributions of draws in tiny games, and plain references.

Those of the exponential and lazy mechanisms are as their papers state them, with experts that are not merged;
`learners.mechanisms` computes the cost and the regret of both, and agnostic-experts draws likewise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from arena.errors import InvalidArgument
from arena.settings import at_least, at_most, check_value
from learners.mechanisms.parameter_checks import check_positive
from learners.mechanisms.selection import exponential_mechanism

View = tuple[int, ...]
Law = dict[View, float]
Losses = Callable[[View], Sequence[float]]  # the losses of a round, by the experts drawn so far


def oblivious(rows: Sequence[Sequence[float]]) -> Losses:
    """The losses of an oblivious adversary."""
    return lambda view: rows[len(view) - 1]


def hedge(past: Sequence[Sequence[float]], prior: Sequence[float], rate: float) -> list[float]:
    """The probabilities of the experts after these losses; prior: log-weights."""
    weights = [math.exp(p - rate * sum(row[i] for row in past)) for i, p in enumerate(prior)]
    return [w / sum(weights) for w in weights]


def fresh_law(losses: Losses, rounds: int, prior: Sequence[float], rate: float) -> Law:
    """The distribution of the experts of all rounds, with fresh draws."""
    law: Law = {}
    for view in itertools.product(range(len(prior)), repeat=rounds):
        past = [losses(view[: t + 1]) for t in range(rounds)]
        law[view] = math.prod(hedge(past[:t], prior, rate)[i] for t, i in enumerate(view))
    return law


def lazy_law(
    losses: Losses, rounds: int, prior: Sequence[float], rate: float, redraw: float, most: int
) -> Law:
    """The distribution of the experts of all rounds, for the shrinking dartboard."""
    law: Law = {}

    def play(view: View, past: list[Sequence[float]], left: int, mass: float) -> None:
        if len(view) == rounds:
            law[view] = law.get(view, 0.0) + mass
            return
        row = losses(view)
        past = [*past, row]
        keep = (1 - redraw) * math.exp(-rate * row[view[-1]]) if left else 1.0
        play((*view, view[-1]), past, left, mass * keep)
        for i, p in enumerate(hedge(past, prior, rate)):
            if left:
                play((*view, i), past, left - 1, mass * (1 - keep) * p)

    for i, p in enumerate(hedge([], prior, rate)):
        play((i,), [], most, p)
    return law


def delta(law: Law, other: Law, epsilon: float) -> float:
    """The exact δ(ε), in this direction."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(view, 0.0)) for view, p in law.items())


def worst_delta(law_of: Callable[[Losses], Law], experts: int, rounds: int, epsilon: float) -> float:
    """The largest δ(ε) over oblivious neighbours, with losses 0 or 1 in the round that is replaced.

    All other rounds have losses 0, or all have losses 1, which cause redraws.
    """
    rows = list(itertools.product([0.0, 1.0], repeat=experts))
    worst = 0.0
    for s, others in itertools.product(range(rounds - 1), [(0.0,) * experts, (1.0,) * experts]):
        laws = [law_of(oblivious([row if t == s else others for t in range(rounds)])) for row in rows]
        worst = max(worst, *(delta(a, b, epsilon) for a, b in itertools.permutations(laws, 2)))
    return worst


def adaptive(seed: int, replaced: int, by: int) -> Losses:
    """Losses in {0, 1}² that depend on the view; round `replaced` has the bits of `by`."""

    def losses(view: View) -> Sequence[float]:
        if len(view) - 1 == replaced:
            return (by & 1, by >> 1)
        coins = np.random.default_rng([seed, *view])
        return tuple(coins.integers(0, 2, size=2))

    return losses


class ExponentialExperts:
    """Draws a fresh expert i every round with probability proportional to exp(prior_i − rate·losses_i).

    This is Hedge, whose every draw is an exponential mechanism on the losses so far; equivalently, follow the
    perturbed leader with Gumbel noise (Jain and Thakurta 2014; Theorem E.11 of Li, Wang, Ye). `cost` bounds
    its privacy loss and `regret` its regret, both against adversaries that see every draw.

    Shapes: n games, N experts; losses (n, N) in [0, 1]; log_prior (N,) or (n, N), up to a constant.
    Units: rate in nats per unit of loss.
    """

    def __init__(
        self, games: int, experts: int, rng: np.random.Generator, *, rate: float, log_prior: object = 0.0
    ) -> None:
        check_positive(rate=rate)
        prior = np.asarray(log_prior, float)
        if not np.isfinite(prior).all():
            raise InvalidArgument("prior log-weights must be finite", value=prior[~np.isfinite(prior)][0])
        check_value("experts", experts, at_least(1))
        self._rng = rng
        self._rate = rate
        # The prior is a head start, so that scores remain sums of losses.
        self._scores = np.empty((games, experts))
        self._scores[:] = prior / rate

    def observe(self, losses: np.ndarray) -> None:
        """Add this round's losses (n, N). Raises: InvalidArgument for another shape, or outside [0, 1]."""
        losses = np.asarray(losses)
        if losses.shape != self._scores.shape:
            raise InvalidArgument(f"losses must have shape {self._scores.shape}", value=losses.shape)
        if losses.size and not (losses.min() >= 0 and losses.max() <= 1):  # false for NaN too
            raise InvalidArgument("losses must lie in [0, 1]", value=(losses.min(), losses.max()))
        self._scores -= losses

    def draw(self, games: np.ndarray | slice = slice(None)) -> np.ndarray:
        """An expert, 0 … N−1, for each of `games`; default: all, (n,)."""
        scores = self._scores[games]
        return exponential_mechanism(
            self._rng,
            scores - scores.max(axis=1, keepdims=True),  # so that large sums lose no precision
            epsilon=2 * self._rate,
            sensitivity=1,
        )


class LazyExperts:
    """Keeps its expert i with probability (1 − redraw)·exp(−rate·loss_i), and otherwise draws as Hedge would.

    The private shrinking dartboard of Asi, Feldman, Koren, Talwar (2023). Redraws that no loss caused (with
    probability `redraw`) hide those that a loss caused. After `max_draws` draws, not counting the first, an
    expert is kept for good. Proofs: docs/proofs/lazy_experts.md.

    Random numbers are drawn only for the games that need them (see `RestartBudget`).

    Shapes and units: as `ExponentialExperts`; redraw is a probability per round.
    """

    def __init__(
        self,
        games: int,
        experts: int,
        rng: np.random.Generator,
        *,
        rate: float,
        redraw: float = 0.0,
        max_draws: int | None = None,
        log_prior: object = 0.0,
    ) -> None:
        """max_draws: None for no limit."""
        check_value("redraw", redraw, at_least(0), at_most(1))
        self._rng = rng
        self._rate = rate
        self._stay = 1 - redraw
        self._hedge = ExponentialExperts(games, experts, rng, rate=rate, log_prior=log_prior)
        self._left = np.full(games, np.iinfo(np.int64).max if max_draws is None else max_draws)
        self._rows = np.arange(games)
        self._expert = self._hedge.draw()

    def draw(self) -> np.ndarray:
        """(n,) experts, 0 … N−1; they change only with the next losses."""
        return self._expert.copy()

    @property
    def draws_left(self) -> np.ndarray:
        """(n,): how many draws each game has left."""
        return self._left.copy()

    def observe(self, losses: np.ndarray) -> None:
        """Add this round's losses as `ExponentialExperts.observe`, then keep or redraw the experts."""
        losses = np.asarray(losses)
        self._hedge.observe(losses)
        stay = self._stay * np.exp(-self._rate * losses[self._rows, self._expert])
        redrawn = np.flatnonzero((self._rng.random(len(stay)) >= stay) & (self._left > 0))
        self._left[redrawn] -= 1
        self._expert[redrawn] = self._hedge.draw(redrawn)
