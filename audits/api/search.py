"""`audits.search`: find an adversary that refutes a privacy claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from arena import InvalidArgument
from arena.privacy_curves import PrivacyCurve
from audits.adversary_search.adversary_search import ERROR, EXAMPLES, SearchProgress, SearchResult
from audits.adversary_search.adversary_search import search as search_adversary
from audits.adversary_search.search_text import describe_search, format_search
from audits.api.arguments import check_extra, claim_for_function, read_data, split_settings
from audits.api.report import Report, extend_record
from audits.registry.given_players import GivenLearner, configure_learner
from audits.registry.suggestions import explain_arguments
from audits.registry.tested_claim import change_claim, read_claim, resolve_claim, resolve_curve
from audits.reports.formatting import nats
from audits.reports.replay import write_adversary
from audits.runs.workers import Workers

if TYPE_CHECKING:
    from audits.api.figure import ReportFigure


@attrs.frozen(kw_only=True, repr=False)
class SearchReport(Report, SearchResult):
    """The result of a search."""

    @property
    def headline(self) -> str:
        if self.verdict is not None:
            bound = f"ε ≥ {nats(self.verdict.epsilon_lower)} at δ = {self.claim.delta:.3g}"
            bound += self.verdict.curve_note
            return f"{self.learner.name}: refuted by an adversary that was found, {bound} certified"
        return f"{self.learner.name}: nothing found in {self.examples:,} adversaries"

    @property
    def source(self) -> str:
        """A Python file with the adversary that was found; empty if there is none."""
        return "" if self.plan is None or self.verdict is None else write_adversary(self.plan, self.verdict)

    def summary(self) -> str:
        return format_search(self, source=self.source or None, output=None)

    def plot(self) -> ReportFigure:
        """What is certified, beside the claim. Raises: InvalidArgument without matplotlib."""
        check_extra("a chart", "matplotlib")
        from audits.api.figure import draw_bars, make_figure  # an extra, and slow to import

        certified = 0.0 if self.verdict is None else self.verdict.epsilon_lower
        rows = [("certified", certified), ("claimed", self.claim.epsilon)]
        label, title = "ε (nats)", self.headline
        return make_figure(
            lambda axes: draw_bars(axes, rows, label=label, title=title), of="search", bars=True
        )

    def _describe(self) -> dict[str, Any]:
        return describe_search(self, source=self.source or None)


@explain_arguments
def search(
    learner: GivenLearner,
    *,
    data: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    curve: PrivacyCurve | str | None = None,
    protocol: str | None = None,
    error: float = ERROR,
    examples: int = EXAMPLES,
    games: int | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    progress: Callable[[SearchProgress], None] | None = None,
) -> SearchReport:
    """Search for an adversary that refutes a learner's claim of privacy.

    learner, settings, curve: as in `audits.audit`, and so data, whose examples are tried, too.
    epsilon, delta: the claim, ε in nats; default: the learner's.
    error: the probability, at most, that the whole search refutes a true claim.
    examples: the number of adversaries to try. games: in each world to confirm one, at most.
    progress: called after every adversary.

    Raises: as `audits.adversary_search.search`.
    """
    sample, asked = read_data(learner, data, None, split_settings(settings))
    asked = claim_for_function(learner, asked, epsilon, delta)
    player = configure_learner(learner, asked["learner"], sample)
    curve, epsilon, delta = resolve_curve(curve, epsilon, delta, player)
    epsilon, delta = resolve_claim(player, epsilon, delta, purpose="refute", option="epsilon=..., in nats")
    for name, value in (("epsilon", epsilon), ("delta", delta), ("error", error)):
        if isinstance(value, str):
            raise InvalidArgument(f"{name} must be a number", value=value)
    result = search_adversary(
        player,
        protocol=protocol,
        claim=change_claim(read_claim(player), epsilon, delta, curve),
        error=error,
        examples=examples,
        confirm_games=games,
        data=sample,
        seed=seed,
        jobs=jobs,
        watch=progress,
    )
    return extend_record(result, SearchReport)
