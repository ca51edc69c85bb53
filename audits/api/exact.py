"""`audits.exact`: exact privacy loss, from output distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from arena import Adversary, InvalidArgument, Learner
from arena.settings import is_number
from audits.api.arguments import read_data, split_settings
from audits.data.output_files import check_extra
from audits.exact_loss.exact_audit import ExactAudit
from audits.exact_loss.exact_audit import exact as compute_exact
from audits.registry.given_players import GivenAdversary, GivenLearner
from audits.registry.match import build_match
from audits.registry.settings_text import summarize_player
from audits.registry.suggestions import explain_arguments
from audits.reports.exact_text import describe_exact, format_exact
from audits.reports.report import Report, extend_record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from audits.reports.figure import ReportFigure


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ExactReport(Report, ExactAudit):
    """The exact privacy loss of a game. players: the learner and the adversary."""

    players: tuple[Learner, Adversary] = attrs.field(repr=False)

    @property
    def headline(self) -> str:
        pure = "infinite" if math.isinf(self.epsilon) else f"{self.epsilon:.6g}"
        outcome = "refuted" if self.refuted else "not refuted"
        return f"{self.learner} against {self.adversary}: claim {outcome}, exact ε {pure} at δ = 0"

    def summary(self) -> str:
        learner, adversary = (summarize_player(player) for player in self.players)
        return format_exact(self, learner=learner, adversary=adversary)

    def plot(self) -> ReportFigure:
        """The trade-off of the two errors of the best guess of the world.

        Raises: InvalidArgument without matplotlib.
        """
        check_extra("a chart", "matplotlib")
        from audits.reports.figure import make_figure  # an extra, and slow to import

        return make_figure(self._draw, of="exact")

    def _draw(self, axes: Axes) -> None:
        from audits.reports.plots import BLUE, GREY, set_title  # with matplotlib

        alpha, beta = self.law.loss.tradeoff()
        axes.plot(alpha, beta, color=BLUE, linewidth=2, label="the best guess from this view")
        axes.plot([0, 1], [1, 0], color=GREY, linestyle=":", label="a guess without any view")
        axes.set(xlabel="type I error (probability)", ylabel="type II error (probability)", aspect="equal")
        set_title(axes, f"{self.learner} against {self.adversary}", "No guess is better than the solid line")

    def _describe(self) -> dict[str, Any]:
        return describe_exact(self, *self.players)


@explain_arguments
def exact(
    learner: GivenLearner,
    against: GivenAdversary | None = None,
    *,
    epsilon: float | Sequence[float] = (),
    delta: float | None = None,
    data: Any = None,
    neighbour: Any = None,
    protocol: str | None = None,
    rounds: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ExactReport:
    """Compute the distributions of the adversary's view in two neighbouring worlds, and ε and δ from them.

    The learner must know its output distribution, and the adversary must draw no random numbers.

    epsilon: one ε in nats or several, at which δ is computed beside that of the claim. delta: where ε is
    computed; default: the claim's. The rest is as in `audits.audit`.

    Raises: InvalidArgument; Unsupported if a distribution is unknown; NothingTested; NotConforming.

    >>> import audits
    >>> round(audits.exact("laplace-count", "count-swap", settings={"epsilon": 0.5}).epsilon, 6)
    0.5
    """
    sample, asked = read_data(learner, data, neighbour, split_settings(settings))
    match = build_match(learner, against, settings=asked, data=sample, protocol=protocol, rounds=rounds)
    if isinstance(epsilon, str):
        raise InvalidArgument("epsilon must be a number or several", value=epsilon)
    epsilons: Any = [epsilon] if is_number(epsilon) else epsilon
    audit = compute_exact(
        match.learner, match.adversary, match.referee, epsilons=tuple(epsilons), delta=delta
    )
    return extend_record(audit, ExactReport, players=(match.learner, match.adversary))
