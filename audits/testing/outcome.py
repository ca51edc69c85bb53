"""What a test of a claim came to, and the failures that say so."""

from __future__ import annotations

import attrs

from arena import Adversary, Claim
from audits.runs.verdict import Verdict
from audits.testing.finding import Finding


@attrs.frozen(kw_only=True)
class Outcome:
    """What a test of a claim came to.

    claim: under test. error: the chance, at most, that it is refuted though it is true.
    verdicts: one for every adversary that was audited; of a search, of the adversary that it confirmed.
    ceiling: ε in nats that an adversary which tells the worlds apart every time would have certified: what
        "not refuted" should be held against.
    games: played in each world, those of a search included.
    finding: what refutes the claim, or None.
    """

    learner: str
    claim: Claim
    error: float
    verdicts: tuple[Verdict, ...]
    ceiling: float
    games: int
    finding: Finding | None

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, with confidence 1 - error."""
        return self.finding is not None

    @property
    def epsilon_lower(self) -> float:
        """The largest ε that was certified, in nats: with confidence 1 - error, no smaller one is true."""
        return max((verdict.epsilon_lower for verdict in self.verdicts), default=0.0)


class NotPrivate(AssertionError):
    """A claim of privacy is refuted. `outcome` has everything; what matters most is here by name.

    brief: whether it says so in one line only.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.brief = False

    def __str__(self) -> str:
        return self.finding.headline if self.brief else str(self.finding)

    @property
    def finding(self) -> Finding:
        """What refutes the claim."""
        assert self.outcome.finding is not None
        return self.outcome.finding

    @property
    def verdict(self) -> Verdict:
        """The verdict that refutes it."""
        return self.finding.verdict

    @property
    def adversary(self) -> Adversary:
        """The adversary that refutes it."""
        return self.finding.adversary

    @property
    def replay(self) -> str:
        """The line that plays the audit again."""
        return self.finding.replay


class NotRefuted(AssertionError):
    """A claim that a test expects to be refuted stands. Attribute: `outcome`."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome

    def __str__(self) -> str:
        told = self.outcome
        return (
            f"{told.learner}: the claim {told.claim} is not refuted at error {told.error:g}; certified "
            f"ε ≥ {told.epsilon_lower:.4g} nats in {told.games:,} games in each world, of at most "
            f"{told.ceiling:.4g}"
        )
