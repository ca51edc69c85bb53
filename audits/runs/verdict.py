"""The outcome of an audit, and the base of errors that end a run early but leave it with valid figures."""

from __future__ import annotations

from typing import ClassVar

import attrs

from arena import ArenaError, Claim
from arena.privacy_curves import PrivacyCurve
from audits.statistics.estimates import Estimates


@attrs.frozen(kw_only=True)
class Verdict:
    """The outcome of an audit. All figures but `played_now` and `seconds` depend on the plan alone.

    claim: the claim under test. refuted: whether it is false, with confidence `confidence`.
    epsilon_lower: the certified bound (nats): with that confidence, every smaller ε at this δ is false.
    curve_lower: the same for the privacy curve of the claim: the largest curve of its family that is false,
        with all smaller ones. None if the claim under test has no curve, or none is certified to be false.
    curve_epsilon_lower: its ε at this δ; None if the claim has no curve. Both bounds hold together.
    ceiling: the epsilon_lower of an adversary that always tells the worlds apart, in as many games.
    refutable: whether that adversary would have refuted the claim.
    clopper_pearson: the classical bound on an event chosen on other games, for comparison; None if the number
        of games was not fixed beforehand or not reached, or there are too few blocks.
    games: in each world. played_now, seconds: games of this invocation in each world, and its duration.
    until_refuted: whether the run was to end when the claim is refuted.
    estimates: all estimators side by side, if asked for.
    """

    kind: ClassVar[str] = "audit"
    derived: ClassVar = ("delta", "games_per_second")

    learner: str
    adversary: str
    protocol: str
    claim: Claim
    refuted: bool
    epsilon_lower: float
    confidence: float
    ceiling: float
    refutable: bool
    clopper_pearson: float | None
    games: int
    played_now: int = attrs.field(repr=False)
    seconds: float
    seed: int
    interrupted: bool = False
    until_refuted: bool = False
    estimates: Estimates | None = None
    curve_epsilon_lower: float | None = None
    curve_lower: PrivacyCurve | None = None

    @property
    def delta(self) -> float:
        """δ of the claim under test."""
        return self.claim.delta

    @property
    def curve_note(self) -> str:
        """The bound for the privacy curve, in brackets after a space; empty if the claim has none."""
        bound, curve = self.curve_epsilon_lower, self.curve_lower
        if bound is None:
            return ""
        member = "" if curve is None else f", that of {curve}"
        return f" (ε ≥ {bound:.4g} for its privacy curve{member})"

    @property
    def games_per_second(self) -> float:
        """Games of both worlds that this invocation played in a second."""
        return 2 * self.played_now / self.seconds if self.seconds > 0 else 0.0


class RunStopped(ArenaError):
    """A failure that ends a run early.

    verdict: the figures of the blocks that were tested, marked as interrupted; None if the run had not begun.
    """

    verdict: Verdict | None = None
