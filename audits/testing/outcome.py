"""The outcome of a test of a claim: a refutation as a person needs it, and the failures that report it."""

from __future__ import annotations

from functools import cached_property

import attrs

from arena import Adversary, ArenaError, Claim
from audits.adversary_search import SearchResult
from audits.reports.formatting import name_table
from audits.runs.example_games import find_telling_games, format_games
from audits.runs.plan import Plan
from audits.runs.replay import FOUND, FOUND_FILE, format_replay, name_player, write_adversary
from audits.runs.verdict import Verdict

_FIGURES = ("claim under test", "certified", "adversary", "protocol", "games")
_MAX_LINES = 60  # of a printed game


@attrs.frozen(kw_only=True, slots=False)
class Refutation:
    """A refuted claim.

    plan, verdict: of the audit that refutes it. search: the search that found the adversary, if one did.
    """

    plan: Plan
    verdict: Verdict
    search: SearchResult | None = None

    @property
    def adversary(self) -> Adversary:
        """The adversary that refutes the claim."""
        return self.plan.adversary

    @property
    def source(self) -> str:
        """A file of Python with the adversary; empty if a command line can name it."""
        is_named = name_player(self.adversary, self.plan.learner) is not None
        return "" if is_named else write_adversary(self.plan, self.verdict)

    @cached_property
    def replay(self) -> str:
        """The command line that replays the audit, or Python code if no command line can name the learner."""
        return format_replay(self.plan)

    @cached_property
    def game(self) -> str:
        """One game in each world, side by side: the first pair with a higher score in world 1."""
        try:
            plan = self.plan
            players = plan.learner, plan.adversary, plan.referee
            lines = format_games(find_telling_games(*players, seed=0, faults=plan.faults)).splitlines()
        except ArenaError as error:
            return f"(it ends early: {error})"
        omitted = len(lines) - _MAX_LINES
        return "\n".join([*lines[:_MAX_LINES], *([f"... and {omitted} lines more"] if omitted > 0 else [])])

    @property
    def headline(self) -> str:
        """The refutation in one line."""
        verdict = self.verdict
        return (
            f"{verdict.learner} violates its claim: with confidence {100 * verdict.confidence:.10g} %, "
            f"every ε below {verdict.epsilon_lower:.4g} at δ = {verdict.claim.delta:.3g} is false"
            f"{verdict.curve_note}"
        )

    @property
    def details(self) -> str:
        """The figures, a game, the adversary if it has no name, and the line that replays the audit."""
        figures = dict(self.verdict.rows())
        if self.search is not None:
            tries = self.search.examples
            figures["adversary"] = f"found by a search, in {tries:,} tr{'y' if tries == 1 else 'ies'}"
        sections = [
            name_table([(name, figures[name]) for name in _FIGURES]),
            f"One game in each world:\n\n{self.game}",
        ]
        if f"{FOUND_FILE}:{FOUND}" in self.replay:
            sections.append(f"The adversary, as {FOUND_FILE}:\n\n{self.source.rstrip()}")
        return "\n\n".join([*sections, f"Replay it:\n\n{self.replay}"])

    def __str__(self) -> str:
        return f"{self.headline}\n\n{self.details}"


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
    """A claim of privacy is refuted. brief: whether the message is only one line."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        assert outcome.refutation is not None
        self.outcome = outcome
        self.refutation = outcome.refutation
        self.verdict = outcome.refutation.verdict
        self.adversary = outcome.refutation.adversary
        self.brief = False

    def __str__(self) -> str:
        return self.refutation.headline if self.brief else str(self.refutation)

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
