"""What an audit says."""

from __future__ import annotations

from typing import Any

import attrs

from arena import Claim
from audits.statistics.estimates import Estimates


@attrs.frozen(kw_only=True)
class Verdict:
    """The outcome of an audit.

    claim: the claim under test.
    refuted: with confidence `confidence`, it is false.
    epsilon_lower: with that confidence, every claim of a smaller ε at this δ is false (nats).
    ceiling: the epsilon_lower of an adversary that tells the worlds apart without error, in as many games:
        what "not refuted" should be held against.
    clopper_pearson: the classical bound on an event chosen on other games, for comparison; None where it
        does not hold (a run that may stop early) and where there are too few blocks.
    games: played in each world, by this invocation and by those that it goes on from.
    played_now: those of this invocation alone.
    seconds: of this invocation.
    estimates: all estimators side by side, where they were asked for.
    """

    learner: str
    adversary: str
    protocol: str
    claim: Claim
    refuted: bool
    epsilon_lower: float
    confidence: float
    ceiling: float
    clopper_pearson: float | None
    games: int
    played_now: int
    seconds: float
    seed: int
    interrupted: bool = False
    estimates: Estimates | None = None

    @property
    def games_per_second(self) -> float:
        """Games of both worlds that this invocation played, a second."""
        return 2 * self.played_now / self.seconds if self.seconds > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """One flat object, but for `estimates`, which is there if it was asked for. All but `seconds` and
        `games_per_second` depend on the plan alone.
        """
        estimates = {} if self.estimates is None else {"estimates": self.estimates}
        return {
            "learner": self.learner,
            "adversary": self.adversary,
            "protocol": self.protocol,
            "claim": {
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta,
                "protects": list(self.claim.protects),
                "neighbours": self.claim.neighbours,
            },
            "refuted": self.refuted,
            "epsilon_lower": self.epsilon_lower,
            "delta": self.claim.delta,
            "confidence": self.confidence,
            "ceiling": self.ceiling,
            "clopper_pearson": self.clopper_pearson,
            "games": self.games,
            "seconds": round(self.seconds, 3),
            "games_per_second": round(self.games_per_second),
            "seed": self.seed,
            "interrupted": self.interrupted,
            **estimates,
        }
