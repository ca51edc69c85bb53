"""Notes on a run for readers who do not have the players: their names, the claim's words, one pair of games.

They follow from the plan, but for the command line, and no figure depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

import attrs

from arena import ArenaError, Neighbours, PrivacyUnit
from audits.registry.settings_text import summary
from audits.runs.game_transcript import side_by_side
from audits.runs.plan import Plan

_MOST_LINES = 40
_LAST_LINES = 12


def _read_units(units: Iterable[str]) -> tuple[PrivacyUnit, ...]:
    return tuple(PrivacyUnit(unit) for unit in units)


@attrs.frozen(kw_only=True)
class Notes:
    """What a report says beside the figures. What is not known is empty.

    learner, adversary, protocol: names. learner_set, adversary_set: names with settings that are not usual.
    claim: the learner's own, in words. protects, neighbours: what it speaks of. theorem: on what it rests.
    transcript: the first pair of games, as `arena play` prints it. command: the command line.
    """

    learner: str = ""
    adversary: str = ""
    protocol: str = ""
    learner_set: str = ""
    adversary_set: str = ""
    claim: str = ""
    protects: tuple[PrivacyUnit, ...] = attrs.field(default=(), converter=_read_units)
    neighbours: Neighbours = attrs.field(default=Neighbours.REPLACE_ONE, converter=Neighbours)
    theorem: str = ""
    transcript: str = ""
    command: str = ""

    @classmethod
    def of(cls, plan: Plan, command: str | None = None) -> Self:
        """The notes on a plan."""
        claim = plan.learner.claim
        return cls(
            learner=plan.learner.name,
            adversary=plan.adversary.name,
            protocol=plan.referee.name,
            learner_set=summary(plan.learner),
            adversary_set=summary(plan.adversary),
            claim=str(claim),
            protects=claim.protects,
            neighbours=claim.neighbours,
            theorem=plan.learner.theorem,
            transcript=_transcript(plan),
            command=command or "",
        )

    @classmethod
    def read(cls, notes: Mapping[str, Any]) -> Self:
        """The notes of a ledger; those of one that was begun without any are empty."""
        return cls(**{field.name: notes[field.name] for field in attrs.fields(cls) if field.name in notes})


def _transcript(plan: Plan) -> str:
    """The first pair of games; nothing if it cannot be played so, which need not keep an audit from it."""
    try:
        games = side_by_side(plan.learner, plan.adversary, plan.referee, seed=plan.seed, faults=plan.faults)
    except ArenaError:
        return ""
    lines = games.splitlines()
    left_out = len(lines) - _MOST_LINES
    if left_out > 0:
        lines[_MOST_LINES - _LAST_LINES : -_LAST_LINES] = ["", f"({left_out:,} lines left out)", ""]
    return "\n".join(lines)
