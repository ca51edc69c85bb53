"""Notes in a ledger for readers who do not have the players.

They follow from the plan, except for the command line, and no figure depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, Self

import attrs
from attrs.validators import deep_iterable, deep_mapping, instance_of, optional

from arena import Claim, Neighbours, PrivacyUnit
from arena.claims import read_relation
from audits.reports.formatting import escape_controls
from audits.runs.example_games import write_excerpt
from audits.runs.plan import OWN_COINS, Plan
from audits.runs.verdict import PlayerSummary

_SHARED = ("learner", "adversary", "learner_set", "adversary_set", "settings")


def _text() -> Any:
    return attrs.field(default="", validator=instance_of(str))


@attrs.frozen(kw_only=True)
class LedgerNotes:
    """What a report says besides the figures. Unknown entries are empty.

    learner, adversary, learner_set, adversary_set, settings: as of `PlayerSummary`. protocol: its name.
    claim: the learner's own, in words. own_claim: its ε (None for infinity) and δ. protects, neighbours: see
    `Claim`. theorem: its source. transcript: the first pair of games. command: the command line of the run.
    """

    learner: str = _text()
    adversary: str = _text()
    protocol: str = _text()
    learner_set: str = _text()
    adversary_set: str = _text()
    claim: str = _text()
    theorem: str = _text()
    transcript: str = _text()
    command: str = _text()
    protects: tuple[PrivacyUnit, ...] = attrs.field(
        default=(), converter=lambda units: tuple(map(PrivacyUnit, units))
    )
    neighbours: str = attrs.field(
        default=str(Neighbours.REPLACE_ONE), converter=lambda text: str(read_relation(text))
    )
    settings: Mapping[str, Mapping[str, str]] = attrs.field(
        factory=dict,
        validator=deep_mapping(instance_of(str), deep_mapping(instance_of(str), instance_of(str))),
    )
    own_claim: list[float | None] = attrs.field(
        factory=list, validator=deep_iterable(optional(instance_of(float)), instance_of(list))
    )

    @classmethod
    def from_plan(cls, plan: Plan, command: str | None = None) -> Self:
        """The notes on a plan. Plays a few pairs of games."""
        players = PlayerSummary.from_plan(plan)
        claim = players.own_claim
        return cls(
            **{name: getattr(players, name) for name in _SHARED},
            protocol=plan.referee.name,
            claim=str(claim),
            own_claim=[claim.epsilon if isfinite(claim.epsilon) else None, claim.delta],
            protects=claim.protects,
            neighbours=str(claim.neighbours),
            theorem=plan.learner.theorem,
            transcript=write_excerpt(
                plan.learner, plan.adversary, plan.referee, seed=plan.seed, faults=plan.faults
            ),
            command=command or "",
        )

    @classmethod
    def from_ledger(cls, notes: Mapping[str, Any], plan: Mapping[str, Any]) -> Self:
        """The notes of a ledger. Names that they lack are taken from its plan.

        Raises: ValueError if an entry is not what `from_plan` writes.
        """
        names = {field.name for field in attrs.fields(cls)}
        entries = {name: value for name, value in notes.items() if name in names}
        for role, entry in (("learner", "learner"), ("adversary", "adversary"), ("referee", "protocol")):
            spec = plan.get(role)
            if not entries.get(entry) and isinstance(spec, dict):
                entries[entry] = str(spec.get("name") or spec.get("class"))
        for entry, value in entries.items():
            if isinstance(value, str):  # each is one line, but for the games
                entries[entry] = escape_controls(value, one_line=entry != "transcript")
        try:
            return cls(**entries)
        except TypeError as error:  # of a validator
            raise ValueError(f"its notes make no sense ({error.args[0]})") from error

    def summarize_players(self, plan: Mapping[str, Any]) -> PlayerSummary | None:
        """The players of the ledger with these notes and this plan; None if they lack some of it."""
        if not self.settings or len(self.own_claim) != 2:
            return None
        epsilon, delta = (inf if number is None else number for number in self.own_claim)
        return PlayerSummary(
            **{name: getattr(self, name) for name in _SHARED},
            own_claim=Claim(epsilon=epsilon, delta=delta, protects=self.protects, neighbours=self.neighbours),
            own_coins=bool(plan.get(OWN_COINS)),
            distinguisher=str(plan.get("distinguisher", "")),
        )
