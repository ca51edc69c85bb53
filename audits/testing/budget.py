"""How much a test plays, and whether that is enough to find anything."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, exp, log, log1p, nextafter

import attrs

from arena import Claim, InvalidArgument
from arena.settings import at_least, whole
from audits.runs.plan import default_block
from audits.statistics.betting import EPSILON_MAX, ceiling

LEAST_ERROR = 1e-12  # below it a confidence in floating point no longer says what it should
_MOST_GAMES = 10**10


@attrs.frozen
class Budget:
    """How much to play. Numbers, never a clock: the same test plays the same games everywhere.

    games: in each world, against one adversary.
    examples: adversaries that a search draws before it gives up.
    """

    games: int = attrs.field(validator=[whole, at_least(1)])
    examples: int = attrs.field(validator=[whole, at_least(1)])


BUDGETS = {"quick": Budget(4_000, 100), "usual": Budget(20_000, 500), "long": Budget(400_000, 5_000)}


class Underpowered(InvalidArgument):
    """Too few games to refute the claim, even of a learner without privacy.

    Attributes: `games`, those that were to be played in each world; `needed`, those that would do, None where
    nobody could play so many.
    """

    def __init__(self, claim: Claim, *, error: float, games: int, needed: int | None) -> None:
        self.games, self.needed = games, needed
        enough = "no number of games would do" if needed is None else f"games={needed:_} would do"
        super().__init__(
            f"{games:,} games in each world cannot refute {claim}: at error {error:g} not even a learner "
            "without privacy would be",
            remedy=f"At this error {enough}; or allow_underpowered=True.",
        )


def budget_of(budget: str | Budget) -> Budget:
    """The budget of a name, or itself. Raises: InvalidArgument if it is neither."""
    if isinstance(budget, Budget):
        return budget
    if budget not in BUDGETS:
        raise InvalidArgument(
            "there is no budget of that name",
            value=budget,
            remedy=f"There are: {', '.join(BUDGETS)}; or Budget(games, examples).",
        )
    return BUDGETS[budget]


def confidence_at(error: float) -> float:
    """The confidence of an audit that may err with a chance of `error`; rounded up.

    Raises: InvalidArgument unless the error is a probability of at least 1e-12 and below 1.
    """
    if not LEAST_ERROR <= error < 1:
        raise InvalidArgument(
            f"the error of an audit is a probability of at least {LEAST_ERROR:g} and below 1", value=error
        )
    confidence = 1.0 - error
    return confidence if 1.0 - confidence <= error else nextafter(confidence, 1.0)


@lru_cache(maxsize=256)
def games_needed(claim: Claim, *, error: float) -> int | None:
    """The games in each world that refute the claim of a learner whose worlds can be told apart every time.

    error: the chance, at most, that a true claim is refuted. None where nobody could play so many. A learner
    that keeps some privacy takes more games.
    """
    if claim.epsilon > EPSILON_MAX or claim.delta >= 1:
        return None
    games = ceil(log(1 / error) / log1p(exp(-claim.epsilon)))
    while games <= _MOST_GAMES:
        if ceiling_of(games, claim=claim, error=error) >= claim.epsilon:
            return games
        games += games // 10 + 1
    return None


@lru_cache(maxsize=256)
def ceiling_of(games: int, *, claim: Claim, error: float) -> float:
    """The ε in nats that an adversary which tells the worlds apart every time certifies in so many games."""
    block = default_block(games)
    sizes = [block] * (games // block) + [games % block]
    return ceiling(sizes, delta=claim.delta, confidence=confidence_at(error))


def check_power(games: int, *, claim: Claim, error: float) -> None:
    """Refuse a test that cannot fail. Raises: Underpowered."""
    if ceiling_of(games, claim=claim, error=error) < claim.epsilon:
        raise Underpowered(claim, error=error, games=games, needed=games_needed(claim, error=error))
