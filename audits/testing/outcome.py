"""The outcome of a test of a claim, and the failures that report it."""

from __future__ import annotations

import attrs

from arena import Adversary, Claim
from audits.runs.verdict import Verdict
from audits.testing.refutation import Refutation


@attrs.frozen(kw_only=True)
class Outcome:
    """The outcome of a test of a claim.

    claim: the claim under test. error: the maximum probability that it is refuted although it is true.
    verdicts: one for each adversary that was audited; for a search, that of the confirmed adversary.
    ceiling: the largest ε in nats that the games could have certified, to compare with if nothing is refuted.
    games: played in each world, including those of a search.
    refutation: how the claim is refuted, or None.
    """

    learner: str
    claim: Claim
    error: float
    verdicts: tuple[Verdict, ...]
    ceiling: float
    games: int
    refutation: Refutation | None

    @property
    def refuted(self) -> bool:
        """Whether the claim is false, with confidence 1 - error."""
        return self.refutation is not None

    @property
    def epsilon_lower(self) -> float:
        """The largest certified ε in nats: with confidence 1 - error, every claim of a smaller ε is false."""
        return max((verdict.epsilon_lower for verdict in self.verdicts), default=0.0)


class NotPrivate(AssertionError):
    """A claim of privacy is refuted. Attributes: `outcome`, and its main parts by name.

    brief: whether the message is only one line.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome
        self.brief = False

    def __str__(self) -> str:
        return self.refutation.headline if self.brief else str(self.refutation)

    @property
    def refutation(self) -> Refutation:
        """How the claim is refuted."""
        assert self.outcome.refutation is not None
        return self.outcome.refutation

    @property
    def verdict(self) -> Verdict:
        """The verdict that refutes it."""
        return self.refutation.verdict

    @property
    def adversary(self) -> Adversary:
        """The adversary that refutes it."""
        return self.refutation.adversary

    @property
    def replay(self) -> str:
        """The command line that replays the audit."""
        return self.refutation.replay


class NotRefuted(AssertionError):
    """A claim that a test expects to be refuted is not. Attribute: `outcome`."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome

    def __str__(self) -> str:
        outcome = self.outcome
        return (
            f"{outcome.learner}: the claim {outcome.claim} is not refuted at error {outcome.error:g}; "
            f"certified ε ≥ {outcome.epsilon_lower:.4g} nats in {outcome.games:,} games in each world, "
            f"which could have certified {outcome.ceiling:.4g}"
        )
