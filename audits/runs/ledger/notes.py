"""Notes in a ledger for readers who do not have the players.

They follow from the plan, except for the command line, and no figure depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import attrs

from arena import ArenaError, Neighbours, PrivacyUnit
from audits.data.terminal_text import escape_controls
from audits.registry.settings_text import summarize_player
from audits.runs.example_games import write_example_games
from audits.runs.plan import Plan

_MAX_LINES = 40  # of a transcript
_MAX_WIDTH = 20_000  # characters of a line
_LAST_LINES = 12  # of a longer one, which are kept besides its first lines


@attrs.frozen(kw_only=True)
class LedgerNotes:
    """What a report says besides the figures. Unknown entries are empty.

    learner, adversary, protocol: names. learner_set, adversary_set: names with the settings that differ from
    the defaults. claim: the learner's own, in words. protects, neighbours: see `Claim`. theorem: its source.
    transcript: the first pair of games, as `arena play` prints it. command: the command line of the run.
    """

    learner: str = ""
    adversary: str = ""
    protocol: str = ""
    learner_set: str = ""
    adversary_set: str = ""
    claim: str = ""
    protects: tuple[PrivacyUnit, ...] = attrs.field(
        default=(), converter=lambda units: tuple(map(PrivacyUnit, units))
    )
    neighbours: Neighbours = attrs.field(default=Neighbours.REPLACE_ONE, converter=Neighbours)
    theorem: str = ""
    transcript: str = ""
    command: str = ""

    @classmethod
    def from_plan(cls, plan: Plan, command: str | None = None) -> Self:
        """The notes on a plan. Plays a few pairs of games."""
        claim = plan.learner.claim
        return cls(
            learner=plan.learner.name,
            adversary=plan.adversary.name,
            protocol=plan.referee.name,
            learner_set=summarize_player(plan.learner),
            adversary_set=summarize_player(plan.adversary),
            claim=str(claim),
            protects=claim.protects,
            neighbours=claim.neighbours,
            theorem=plan.learner.theorem,
            transcript=_write_transcript(plan),
            command=command or "",
        )

    @classmethod
    def from_ledger(cls, notes: Mapping[str, Any], plan: Mapping[str, Any]) -> Self:
        """The notes of a ledger. Names that they lack are taken from its plan.

        Raises: ValueError if an entry is not what `from_plan` writes.
        """
        entries = {field.name: notes[field.name] for field in attrs.fields(cls) if field.name in notes}
        for entry, value in entries.items():
            if not isinstance(value, list if entry == "protects" else str):
                raise ValueError(f"its notes have a wrong entry {entry}")
            if isinstance(value, str):  # each is one line, but for the games
                entries[entry] = escape_controls(value, one_line=entry != "transcript")
        for role, entry in (("learner", "learner"), ("adversary", "adversary"), ("referee", "protocol")):
            spec = plan.get(role)
            if not entries.get(entry) and isinstance(spec, dict):
                name = spec.get("name") or spec.get("class", "").rpartition(":")[2]
                entries[entry] = escape_controls(name, one_line=True)
        return cls(**entries)


def _write_transcript(plan: Plan) -> str:
    """A pair of games; empty if it cannot be played, which must not keep the audit from starting."""
    players = (plan.learner, plan.adversary, plan.referee)
    try:
        games = write_example_games(*players, seed=plan.seed, faults=plan.faults, telling=True)
    except ArenaError:
        return ""
    lines = [line[:_MAX_WIDTH] for line in games.splitlines()]
    omitted = len(lines) - _MAX_LINES
    if omitted > 0:
        lines[_MAX_LINES - _LAST_LINES : -_LAST_LINES] = ["", f"({omitted:,} lines left out)", ""]
    return "\n".join(lines)
