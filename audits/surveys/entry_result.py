"""What a survey found out about one entry of a catalogue, and the ledger that stores it."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any, Self

import attrs
from attrs.validators import deep_mapping, in_, instance_of, optional

from arena.errors import InvalidArgument
from audits.runs.ledger import Store

REFUTED, NOT_REFUTED, UNDECIDED = "refuted", "not refuted", "undecided"
MISSING, UNREADABLE, FAILED = "missing", "claim not readable", "cannot be played"
TOO_SLOW, NO_RETURN, CRASHED = "too slow", "does not return", "crashed"
OUTCOMES = (REFUTED, NOT_REFUTED, UNDECIDED, MISSING, UNREADABLE, FAILED, TOO_SLOW, NO_RETURN, CRASHED)


def _text() -> Any:
    return attrs.field(default="", validator=instance_of(str))


def _number() -> Any:
    return attrs.field(
        default=None,
        converter=lambda value: float(value) if type(value) is int else value,
        validator=optional(instance_of(float)),
    )


def _count() -> Any:
    return attrs.field(default=0, validator=instance_of(int))


@attrs.frozen(kw_only=True)
class EntryResult:
    """The audit of one entry.

    reason: why it was not audited, or the audit decides nothing. claim, neighbours: in words. epsilon: of the
    claim (nats).
    certified: the certified bound on ε, if there is one. told_apart: by which part of the release.
    ceiling: of an audit without a search, the most that its games could have certified.
    detectable: of a search, the nats above the claim that would have been found with probability 90 %.
    examples, games: adversaries, and games in each world that explored. failed: adversaries against which it
        raised; failure: the first time. stopped: the limit that ended the search.
    pair: code of the smallest data that show the violation.
    warned: how often it warned, by text. printed, first_line: lines of output. forked: how often it forked.
    """

    name: str
    outcome: str = attrs.field(validator=in_(OUTCOMES))
    reason: str = _text()
    claim: str = _text()
    neighbours: str = _text()
    note: str = _text()
    epsilon: float | None = _number()
    certified: float | None = _number()
    ceiling: float | None = _number()
    told_apart: str = _text()
    detectable: float | None = _number()
    examples: int = _count()
    games: int = _count()
    failed: int = _count()
    failure: str = _text()
    stopped: str = _text()
    pair: str = _text()
    warned: dict[str, int] = attrs.field(
        factory=dict, validator=deep_mapping(instance_of(str), instance_of(int))
    )
    printed: int = _count()
    first_line: str = _text()
    forked: int = _count()
    seconds: float = attrs.field(default=0.0, eq=False, converter=float)

    @property
    def audited(self) -> bool:
        return self.outcome in (REFUTED, NOT_REFUTED, UNDECIDED)

    @property
    def multiple(self) -> float | None:
        """The loss, as a multiple of the claim, that would have been found with probability 90 %."""
        if self.detectable is None or not self.epsilon:
            return None
        return (self.epsilon + self.detectable) / self.epsilon

    @property
    def pairs(self) -> int:
        """The number of entries, as a ledger counts."""
        return 1

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """The inverse of `attrs.asdict`. Raises: InvalidArgument for anything else."""
        try:
            return cls(**data)
        except (TypeError, ValueError) as error:
            raise InvalidArgument("this is no entry of a survey", value=str(error)) from error

    def to_bytes(self) -> bytes:
        """A canonical encoding, which keeps every float."""
        return json.dumps(attrs.asdict(self), sort_keys=True).encode()

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """The inverse of `to_bytes`. Raises: InvalidArgument."""
        try:
            return cls.from_data(json.loads(blob))
        except (ValueError, RecursionError) as error:
            raise InvalidArgument("these bytes encode no entry of a survey") from error


class SurveyLedger(Store[EntryResult]):
    """The ledger of a survey, with a block for each entry."""

    def decode(self, blob: bytes) -> EntryResult:
        return EntryResult.from_bytes(blob)

    @cached_property
    def sizes(self) -> list[int]:
        return [1] * len(self.plan["survey"])
