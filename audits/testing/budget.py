"""How many games a test plays, and whether they can refute a claim."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, log, log1p, nextafter
from typing import Any

import attrs

from arena import Claim, InvalidArgument
from arena.settings import at_least, whole
from audits.registry.suggestions import unknown_name
from audits.runs.plan import MAX_BLOCK_PAIRS, BlockSizes, first_block_pairs, keeps_half
from audits.statistics.betting import EPSILON_MAX, ceiling, is_refutable

MIN_ERROR = 1e-12  # below it 1 - error has too few significant digits in floating point
_MAX_GAMES = 10**10  # in each world; more cannot be played


@attrs.frozen
class Budget:
    """How much to play. Budgets are numbers and not durations: a test plays the same games on every machine.

    games: in each world, against one adversary. examples: adversaries that a search tries.
    """

    games: int = attrs.field(validator=[whole, at_least(1)])
    examples: int = attrs.field(validator=[whole, at_least(1)])


BUDGETS = {"quick": Budget(4_000, 100), "usual": Budget(20_000, 500), "long": Budget(400_000, 5_000)}


class Underpowered(InvalidArgument):
    """Too few games to refute the claim, even for a learner without privacy.

    Attributes: `games`, the planned number in each world; `needed`, a sufficient number, or None if it is too
    large to play.
    """

    def __init__(self, claim: Claim, *, error: float, games: int, needed: int | None) -> None:
        self.games, self.needed = games, needed
        sufficient = "no number of games is enough" if needed is None else f"games={needed:_} are enough"
        super().__init__(
            f"{games:,} games in each world cannot refute {claim} at error {error:g}, not even for a learner "
            "without privacy",
            remedy=f"At this error {sufficient}; or set allow_underpowered=True.",
        )


def get_budget(budget: str | Budget) -> Budget:
    """The budget of that name, or the budget itself. Raises: InvalidArgument if there is none."""
    if isinstance(budget, Budget):
        return budget
    if not isinstance(budget, str) or budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS, "; or Budget(games, examples)")
    return BUDGETS[budget]


def compute_confidence(error: float) -> float:
    """The confidence 1 - error of an audit, rounded up.

    Raises: InvalidArgument unless the error is a probability of at least 1e-12 and below 1.
    """
    if not MIN_ERROR <= error < 1:
        raise InvalidArgument(
            f"the error of an audit must be a probability of at least {MIN_ERROR:g} and below 1", value=error
        )
    confidence = 1.0 - error
    return confidence if 1.0 - confidence <= error else nextafter(confidence, 1.0)


@lru_cache(maxsize=256)
def games_needed(claim: Claim, *, error: float, until_refuted: bool = False) -> int | None:
    """The games in each world that refute the claim of a learner whose worlds can always be distinguished.

    A learner that keeps some privacy needs more games. None if the number is too large to play.

    error: the maximum probability that a true claim is refuted. until_refuted: whether the games end when the
        claim is refuted, as in `assert_refuted`.
    """
    if claim.epsilon > EPSILON_MAX or claim.delta >= 1:
        return None
    games = ceil(log(1 / error) / log1p(exp(-claim.epsilon)))
    while games <= _MAX_GAMES:
        if _can_refute(games, claim, error, until_refuted):
            return games
        games += games // 10 + 1
    return None


@lru_cache(maxsize=256)
def compute_ceiling(
    games: int,
    *,
    claim: Claim,
    error: float,
    until_refuted: bool = False,
    block: int = MAX_BLOCK_PAIRS,
) -> float:
    """The largest ε in nats that so many games can certify: that of an adversary that is always right.

    block: pairs of games in the largest block.
    """
    sizes, settings = _plan_betting(games, claim, error, until_refuted, block)
    return ceiling(sizes, **settings)


def _can_refute(games: int, claim: Claim, error: float, until_refuted: bool) -> bool:
    """Whether so many games refute the claim of a learner without privacy, at (ε, δ) or as a curve."""
    if compute_ceiling(games, claim=claim, error=error, until_refuted=until_refuted) >= claim.epsilon:
        return True
    if claim.curve is None:
        return False
    sizes, settings = _plan_betting(games, claim, error, until_refuted)
    return is_refutable(sizes, claim.curve, **settings)


def _plan_betting(
    games: int, claim: Claim, error: float, until_refuted: bool, block: int = MAX_BLOCK_PAIRS
) -> tuple[BlockSizes, dict[str, Any]]:
    """The blocks of an audit, and the settings of each of its tests."""
    share = error if claim.curve is None else error / 2  # a curve is tested beside (ε, δ)
    sizes = BlockSizes(games, first_block_pairs(games, until_refuted=until_refuted), block)
    half = keeps_half(games, until_refuted=until_refuted)
    return sizes, {"delta": claim.delta, "confidence": compute_confidence(share), "keep_half": half}


def check_power(games: int, *, claim: Claim, error: float, until_refuted: bool = False) -> None:
    """Refuse a test that cannot fail. Raises: Underpowered."""
    if not _can_refute(games, claim, error, until_refuted):
        needed = games_needed(claim, error=error, until_refuted=until_refuted)
        raise Underpowered(claim, error=error, games=games, needed=needed)
