"""Where a batch of games stands: what every refusal names."""

from __future__ import annotations

from typing import Any

import attrs

from arena.errors import ProtocolViolation


@attrs.define(eq=False)
class Position:
    """The names of the players, and the round that the batch is in (0: the training phase)."""

    learner: str
    adversary: str
    round: int = 0

    def refuse_adversary(self, rule: str, **details: Any) -> ProtocolViolation:
        """The violation of `rule` by the adversary, to be raised."""
        return ProtocolViolation(rule, player=f"adversary {self.adversary}", round=self.round, **details)

    def refuse_learner(self, rule: str, **details: Any) -> ProtocolViolation:
        """The violation of `rule` by the learner, to be raised."""
        return ProtocolViolation(rule, player=f"learner {self.learner}", round=self.round, **details)
