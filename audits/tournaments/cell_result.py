"""The figures of one pair of a tournament, and the ledger that stores them."""

from __future__ import annotations

import json
from typing import Any, Self

import attrs
from attrs.validators import in_, instance_of, optional

from arena.errors import (
    ArenaError,
    BudgetExceeded,
    InternalError,
    InvalidArgument,
    NothingTested,
    ProtocolViolation,
    describe_error,
)
from audits.runs.ledger import Store

AUDITED, RACED, REFUSED, FAILED = OUTCOMES = ("audited", "raced", "refused", "failed")
_REFUSALS = (InvalidArgument, NothingTested, ProtocolViolation, BudgetExceeded)  # the players cannot meet


def _number() -> Any:
    return attrs.field(default=None, validator=optional(instance_of(float)))


def _text() -> Any:
    return attrs.field(default="", validator=instance_of(str))


@attrs.frozen(kw_only=True)
class CellResult:
    """The figures of a cell. All but `seconds` depend on the plan of the cell alone.

    outcome: one of OUTCOMES. reason: why the pair was refused, or what a player raised.
    epsilon_lower: the certified bound (nats). ceiling: that of an adversary that always tells the worlds
        apart, in as many games. refuted: whether the claim is false, with the confidence of the tournament;
        of a race, whether a promised bound is violated.
    exact: the exact ε of the adversary's view at the δ under test (nats; may be infinite); exact_reason: why
        it is None.
    delta_star: δ*, the least δ at the claim's ε that holds against every adversary of at most four rounds on
        the adversary's samples, where that game is solved; delta_star_reason: why it is None.
    mean: mean mistakes or regret of an online game.
    """

    outcome: str = attrs.field(validator=in_(OUTCOMES))
    reason: str = _text()
    epsilon_lower: float | None = _number()
    ceiling: float | None = _number()
    refuted: bool = attrs.field(default=False, validator=instance_of(bool))
    exact: float | None = _number()
    exact_reason: str = _text()
    delta_star: float | None = _number()
    delta_star_reason: str = _text()
    mean: float | None = _number()
    seconds: float = attrs.field(default=0.0, eq=False, validator=instance_of(float))

    @property
    def pairs(self) -> int:
        """The number of cells, as a ledger counts."""
        return 1

    @classmethod
    def of_error(cls, error: BaseException) -> Self:
        """The cell of players that cannot meet, or of which one has a fault. Raises: InternalError."""
        if isinstance(error, InternalError):
            raise error
        own_fault = error.__cause__ is not None and not isinstance(error.__cause__, ArenaError)
        outcome = REFUSED if isinstance(error, _REFUSALS) and not own_fault else FAILED
        return cls(outcome=outcome, reason=explain(error))

    def to_bytes(self) -> bytes:
        """A canonical encoding, which keeps every float."""
        return json.dumps(attrs.asdict(self), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """The inverse of `to_bytes`; raises InvalidArgument for any other bytes."""
        try:
            result = cls(**json.loads(blob))
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgument("these bytes encode no cell of a tournament") from error
        if result.to_bytes() != blob:
            raise InvalidArgument("these bytes encode a cell of a tournament in another way")
        return result


class TournamentLedger(Store[CellResult]):
    """The ledger of a tournament, with a block for each cell."""

    kind = "a tournament"
    decode = staticmethod(CellResult.from_bytes)

    def find_fault(self, block: int, pairs: int, result: CellResult | None) -> str:
        cells = self.plan.get("tournament")
        if not isinstance(cells, dict) or not 0 <= block < len(cells):
            return f"it has {len(cells) if isinstance(cells, dict) else 'no'} cells"
        return "" if pairs == 1 else f"it says that it is {pairs!r} cells"


def explain(error: BaseException) -> str:
    """What an error says, without its advice."""
    if not isinstance(error, ArenaError):
        return describe_error(error)
    remedy = getattr(error, "remedy", "")
    return str(error).removesuffix(f" {remedy}").removesuffix(".") if remedy else str(error)
