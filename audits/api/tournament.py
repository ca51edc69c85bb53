"""`audits.tournament`: every learner against every adversary that it can meet."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from arena import InvalidArgument, Learner
from audits.data.output_files import check_extra
from audits.registry.given_players import GivenAdversary
from audits.registry.suggestions import explain_arguments
from audits.reports.plots import draw_bars
from audits.reports.report import Report, extend_record
from audits.runs.workers import Workers
from audits.tournaments import TournamentResult, plan_tournament, run_tournament
from audits.tournaments.tournament_page import render_tournament
from audits.tournaments.tournament_plan import CONFIDENCE
from audits.tournaments.tournament_text import describe_tournament, tournament_text

if TYPE_CHECKING:
    from audits.reports.figure import ReportFigure

_BARS = 20  # of the chart


@attrs.frozen(eq=False, kw_only=True, repr=False)
class TournamentReport(Report, TournamentResult):
    """The result of a tournament: `rows` has the cells, `ranking` the adversaries."""

    @property
    def headline(self) -> str:
        played = sum(result is not None for result in self.results)
        end = ", interrupted" if self.interrupted else ""
        return f"{played} of {len(self.results)} pairs, {len(self.refuted)} refuted{end}"

    def summary(self) -> str:
        return tournament_text(self)

    def plot(self) -> ReportFigure:
        """The best adversaries. Raises: InvalidArgument without matplotlib, or if no claim was audited."""
        check_extra("a chart", "matplotlib")
        from audits.reports.figure import make_figure  # an extra, and slow to import

        places = sorted(self.ranking, key=lambda place: -place.score)[:_BARS]
        if not places:
            raise InvalidArgument("no claim was audited, so no adversary is ranked", remedy="Show rows.")
        bars = [(place.adversary, place.score) for place in places]
        label, title = "mean of certified ε / ε of the claim, at most 1", "The best adversaries"
        return make_figure(lambda axes: draw_bars(axes, bars, label=label, title=title), of="tournament")

    def _render_page(self) -> str:
        check_extra("the page", "jinja2")
        return render_tournament(self)

    def _describe(self) -> dict[str, Any]:
        return describe_tournament(self)


@explain_arguments
def tournament(
    learners: Sequence[str | Learner] = (),
    against: Sequence[GivenAdversary] = (),
    *,
    protocols: Sequence[str] = (),
    games: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    jobs: int | Workers = 1,
    ledger: str | os.PathLike[str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> TournamentReport:
    """Audit every learner against every adversary that it can meet, and rank the adversaries.

    learners, against: players or names; default: all of `arena list`. Adversaries that are objects or from
        files join those of `arena list`, unless another is given by its name.
    protocols: default: all. In games of one world mistakes or regret are counted, as by `audits.race`.
    games: of each pair, in each world; default: by protocol, so that all pairs take minutes.
    confidence: of each pair by itself. seed: from which, and from the names of the players, the seed of each
        pair is derived. jobs: as in `audits.audit`.
    ledger: a file that stores finished pairs, so that a killed tournament can be continued.
    progress: called with the number of pairs so far.

    A player that raises ends its pair only. Raises: InvalidArgument.

    >>> import audits
    >>> report = audits.tournament(["laplace-count"], ["count-swap", "point-swap"], games=200)
    >>> [(place.adversary, place.learners) for place in report.ranking]
    [('count-swap', 1), ('point-swap', 1)]
    """
    for role, given in (("learners", learners), ("against", against)):
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise InvalidArgument(
                f"{role} must be a list of players or names",
                value=given,
                remedy='Write ["laplace-count", "svt-1"].',
            )
    plan = plan_tournament(
        learners, against, protocols=protocols, games=games, confidence=confidence, seed=seed
    )
    result = run_tournament(plan, jobs=jobs, ledger=ledger, watch=progress)
    return extend_record(result, TournamentReport)
