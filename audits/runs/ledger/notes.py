"""Notes in a ledger for readers who do not have the players.

They follow from the plan, except for the command line, and no figure depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, Self

import attrs
from attrs.validators import deep_iterable, deep_mapping, instance_of, optional

from arena import ArenaError, Claim, Neighbours, PrivacyUnit
from arena.neighbours import read_relation
from audits.data.terminal_text import escape_controls
from audits.runs.example_games import write_example_games
from audits.runs.plan import OWN_COINS, Plan
from audits.runs.verdict import PlayerSummary

_MAX_LINES = 40  # of a transcript
_MAX_WIDTH = 20_000  # characters of a line
_LAST_LINES = 12  # of a longer one, which are kept besides its first lines
_TYPES = {"protects": list, "own_claim": list, "settings": dict}  # of entries that are no strings


def _name_relation(text: str) -> str:
    return str(read_relation(text))  # an unknown one raises


@attrs.frozen(kw_only=True)
class LedgerNotes:
    """What a report says besides the figures. Unknown entries are empty.

    learner, adversary, protocol: names. learner_set, adversary_set: names with the settings that differ from
    the defaults. claim: the learner's own, in words. protects, neighbours: see `Claim`. theorem: its source.
    settings: as of `PlayerSummary`. own_claim: ε (None for infinity) and δ of the learner's own claim.
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
    neighbours: str = attrs.field(default=str(Neighbours.REPLACE_ONE), converter=_name_relation)
    theorem: str = ""
    settings: Mapping[str, Mapping[str, str]] = attrs.field(
        factory=dict,
        validator=deep_mapping(instance_of(str), deep_mapping(instance_of(str), instance_of(str))),
    )
    own_claim: list[float | None] = attrs.field(
        factory=list, validator=deep_iterable(optional(instance_of(float)))
    )
    transcript: str = ""
    command: str = ""

    @classmethod
    def from_plan(cls, plan: Plan, command: str | None = None) -> Self:
        """The notes on a plan. Plays a few pairs of games."""
        players = PlayerSummary.from_plan(plan)
        claim = players.own_claim
        return cls(
            learner=players.learner,
            adversary=players.adversary,
            protocol=plan.referee.name,
            learner_set=players.learner_set,
            adversary_set=players.adversary_set,
            settings=players.settings,
            claim=str(claim),
            own_claim=[claim.epsilon if isfinite(claim.epsilon) else None, claim.delta],
            protects=claim.protects,
            neighbours=str(claim.neighbours),
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
            if not isinstance(value, _TYPES.get(entry, str)):
                raise ValueError(f"its notes have a wrong entry {entry}")
            if isinstance(value, str):  # each is one line, but for the games
                entries[entry] = escape_controls(value, one_line=entry != "transcript")
        for role, entry in (("learner", "learner"), ("adversary", "adversary"), ("referee", "protocol")):
            spec = plan.get(role)
            if not entries.get(entry) and isinstance(spec, dict):
                name = spec.get("name") or spec.get("class", "").rpartition(":")[2]
                entries[entry] = escape_controls(name, one_line=True)
        try:
            return cls(**entries)
        except TypeError as error:  # of a validator
            raise ValueError("its notes have a wrong entry settings or own_claim") from error

    def summarize_players(self, plan: Mapping[str, Any]) -> PlayerSummary | None:
        """The players of the ledger with these notes and this plan; None if they lack some of it."""
        if not self.settings or len(self.own_claim) != 2:
            return None
        epsilon, delta = (inf if number is None else number for number in self.own_claim)
        return PlayerSummary(
            learner=self.learner,
            adversary=self.adversary,
            learner_set=self.learner_set,
            adversary_set=self.adversary_set,
            settings=self.settings,
            own_claim=Claim(epsilon=epsilon, delta=delta, protects=self.protects, neighbours=self.neighbours),
            own_coins=bool(plan.get(OWN_COINS)),
            distinguisher=str(plan.get("distinguisher", "")),
        )


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
