"""Exact audit: the privacy loss of an adversary's view, computed from the learner's output distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from arena import Adversary, Claim, Learner, NothingTested, Referee, Unsupported
from arena.engine import check_protocol
from arena.settings import at_least, at_most, check_value, less_than
from arena.testing import RATE
from arena.testing.laws.comparison import compare_with_law
from arena.testing.laws.goodness_of_fit import Comparison
from audits.exact_loss.privacy_loss import Bracket, PrivacyLoss
from audits.exact_loss.view_laws import MAX_PATHS, LabelledLoss, ViewLaw, view_law
from audits.registry.match import check_protected, read_claim
from audits.registry.settings_text import summarize_player
from audits.reports.formatting import wrap_value
from audits.reports.json_form import describe_players, to_data
from audits.reports.plots import GREY, Picture, choose_colour
from audits.reports.report import Document, Facts, Part, Prose, Report, Table
from audits.reports.result_table import ResultRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DECLARED = "if its declared output distribution is right"  # in headlines
_COLUMNS = ("view", "p0", "p1", "privacy_loss", "alpha", "beta")
_MAX_REVEALING = 10  # views in the report


@attrs.frozen
class DeltaBracket(Bracket):
    """Bounds on the least δ at `epsilon`, nats."""

    epsilon: float


@attrs.frozen
class EpsilonBracket(Bracket):
    """Bounds on the least ε in nats at `delta`."""

    delta: float


@attrs.frozen(kw_only=True)
class ViewProbabilities:
    """A view, or a cell of views: its probability in each world and its privacy loss log(p1/p0) in nats."""

    view: str
    p0: float
    p1: float
    privacy_loss: float


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ExactAudit(Report):
    """The result of an exact audit.

    refuted: the claim is false, by more than all stated errors.
    epsilon: the pure ε of the view in nats; a lower bound if unlikely paths were given up (not `complete`).
    delta: the δ that the claim's ε requires; None if nothing is claimed. deltas: the same at other ε.
    epsilon_at: the ε that the view requires at the δ asked for. score: the largest ε that the adversary's
        score could certify at that δ; None if it is unknown.
    views: the number of cells of views.
    computation_error: how much a δ at ε = 0 may be off by the computation, apart from their width.
    error: the same, and by how much the declared output distribution may be off without being noticed.
    comparison: of games with that distribution.
    worst, most_revealing: the views with the largest loss, and with the largest loss times probability.
    """

    kind: ClassVar[str] = "exact"
    derived: ClassVar[tuple[str, ...]] = ("epsilon_infinite",)  # fields of its JSON that are properties

    learner: str
    adversary: str
    protocol: str
    claim: Claim
    refuted: bool
    epsilon: float
    complete: bool
    delta: Bracket | None
    deltas: tuple[DeltaBracket, ...]
    epsilon_at: EpsilonBracket
    score: EpsilonBracket | None
    views: int
    computation_error: float
    error: float
    comparison: Comparison
    worst: ViewProbabilities
    most_revealing: tuple[ViewProbabilities, ...]
    law: ViewLaw = attrs.field(repr=False)
    players: tuple[Learner, Adversary] = attrs.field(repr=False)

    @property
    def epsilon_infinite(self) -> bool:
        """Whether no finite ε holds at δ = 0."""
        return math.isinf(self.epsilon)

    def table(self) -> list[tuple[str, float, float, float, float, float]]:
        """Every view, from the most to the least indicative of world 1: its probability in world 0 and in
        world 1, its mean loss, and the errors α and β of the test that decides for world 1 on the views so
        far."""
        loss, order = self.law.loss, self.law.loss.order
        alpha, beta = loss.tradeoff()
        columns = (loss.p0[order], loss.p1[order], loss.mean[order], alpha[1:], beta[1:])
        figures = zip(*(column.tolist() for column in columns), strict=True)
        text = self.law.views.text
        return [(text(int(cell)), *row) for cell, row in zip(order, figures, strict=True)]

    def _list_records(self) -> list[dict[str, Any]]:
        """Every view with its probabilities and the trade-off curve: see `table`."""
        return [dict(zip(_COLUMNS, row, strict=True)) for row in self.table()]

    def list_rows(self) -> list[ResultRow]:
        at = self.epsilon_at
        return [
            ResultRow(
                mechanism=self.learner,
                adversary=self.adversary,
                method=self.kind,
                **ResultRow.describe_claim(self.claim),
                epsilon_lower=at.lower,
                epsilon_upper=at.upper,
                delta=at.delta,
                refuted=None if self.claim.empty else self.refuted,
            )
        ]

    @property
    def headline(self) -> str:
        pure = "infinite" if math.isinf(self.epsilon) else f"{self.epsilon:.6g}"
        outcome = "refuted" if self.refuted else "not refuted"
        return (
            f"{self.learner} against {self.adversary}: claim {outcome}, exact ε {pure} at δ = 0, {DECLARED}"
        )

    def document(self) -> Document:
        parts: list[Part] = [Facts(self._rows()), Prose(self.explain())]
        if self.most_revealing:
            headers = ("probability in world 0", "in world 1", "loss in nats", "view")
            lines = [
                (f"{cell.p0:.6g}", f"{cell.p1:.6g}", f"{cell.privacy_loss:.4g}", cell.view)
                for cell in self.most_revealing
            ]
            parts.append(Table(headers, lines, "The most revealing views, by loss times probability:"))
        title = f"{self.learner} against {self.adversary}"
        picture = Picture(draw=self._draw, title=title, reading="No guess is better than the solid line")
        return Document(parts=parts, picture=picture)

    def _draw(self, axes: Axes) -> None:
        alpha, beta = self.law.loss.tradeoff()
        axes.plot(alpha, beta, color=choose_colour(0), linewidth=2, label="the best guess from this view")
        axes.plot([0, 1], [1, 0], color=GREY, linestyle=":", label="a guess without any view")
        axes.set(xlabel="type I error (probability)", ylabel="type II error (probability)", aspect="equal")

    def _describe(self) -> dict[str, Any]:
        return {**to_data(self), **describe_players(*self.players)}

    def _rows(self) -> list[tuple[str, str]]:
        learner, adversary = (summarize_player(player) for player in self.players)
        at_least = "" if self.complete else "at least "
        score = "unknown; at most that of the view" if self.score is None else _epsilon(self.score)
        of_claim = [] if self.delta is None else [(self.claim.epsilon, self.delta)]
        deltas = [*of_claim, *((delta.epsilon, delta) for delta in self.deltas)]
        return [
            ("learner", learner),
            ("adversary", adversary),
            ("protocol", self.protocol),
            ("claim", str(self.claim)),
            ("pure ε", "infinite" if self.epsilon_infinite else f"{at_least}{self.epsilon:.10g} nats"),
            *((f"δ at ε = {epsilon:.4g}", _delta(delta)) for epsilon, delta in deltas),
            (f"ε at δ = {self.epsilon_at.delta:.3g}", _epsilon(self.epsilon_at)),
            ("ε of the score alone", score),
            ("views", f"{self.views:,}"),
            ("error", wrap_value(describe_error(self.comparison, self.computation_error))),
            ("compared with games", wrap_value(str(self.comparison))),
        ]

    def explain(self) -> str:
        """What the audit says about the claim, in sentences."""
        if self.epsilon == 0 and self.complete:
            explanation = (
                "The view has the same declared distribution in both worlds; by that, this adversary learns "
                "nothing."
            )
        # An infinite ε alone may also mean that paths were pruned.
        elif self.epsilon_infinite and math.isinf(self.worst.privacy_loss):
            explanation = "Some view is possible in one world only: at δ = 0 no finite ε holds."
        elif self.epsilon_infinite:
            explanation = "The privacy loss is unbounded: at δ = 0 no finite ε holds."
        else:
            explanation = ""
        if self.claim.empty:
            verdict = (
                "Nothing is claimed, so there is nothing to refute; the figures are those of the learner "
                f"{self.comparison.condition}"
            )
        elif self.refuted:
            verdict = (
                "Refuted: the claim is false of the declared output distribution, by the exact distribution "
                "of this adversary's view."
            )
        else:
            verdict = (
                f"Not refuted: against this adversary the claim holds {self.comparison.condition} Another "
                "adversary may see more."
            )
        return f"{verdict} {explanation}".rstrip()


def _epsilon(bracket: Bracket) -> str:
    if math.isinf(bracket.lower):
        return "infinite"
    if math.isinf(bracket.upper):
        return f"at least {bracket.lower:.6g} nats"
    return f"{_middle(bracket)} nats" if bracket.lower > 0 else f"at most {bracket.upper:.2g} nats"


def _delta(bracket: Bracket) -> str:
    return _middle(bracket) if bracket.lower > 0 else f"at most {bracket.upper:.2g}"


def _middle(bracket: Bracket) -> str:
    half = (bracket.upper - bracket.lower) / 2
    return f"{bracket.middle:.6g}" + (f" (± {half:.1e})" if half else "")


def describe_error(comparison: Comparison, of_computation: float) -> str:
    """By how much probabilities may be off that were computed from a declared output distribution."""
    return (
        f"probabilities may be off by {comparison.deviation + of_computation:.2g}: by {of_computation:.1e} "
        f"in the computation, and by {comparison.deviation:.2g} (one of 0.01, "
        f"{comparison.rare_deviation:.2g}) since the games would not have shown that the declared output "
        "distribution is off by as much; by more in events of a kind that was not compared"
    )


def check_declared_law(learner: Learner, adversary: Adversary, referee: Referee) -> Comparison:
    """Compare the learner's games in both worlds with its output distribution: a subclass may inherit `law`
    and change the answers. The same players are compared once in a process, whatever the number of their
    audits. Raises: NotConforming; Unsupported; whatever a referee raises in a game."""
    try:
        return _compare_once(learner, adversary, referee)
    except TypeError:  # a configuration that cannot be hashed
        return _compare_once.__wrapped__(learner, adversary, referee)


@lru_cache(maxsize=64)
def _compare_once(learner: Learner, adversary: Adversary, referee: Referee) -> Comparison:
    comparison = compare_with_law(learner, adversary, referee, rate=RATE)
    if comparison is None or not comparison.ways:
        raise Unsupported(
            f"{adversary.name} plays no games that could be compared with what {learner.own_name} declares"
        )
    return comparison


def exact(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    epsilons: Sequence[float] = (),
    delta: float | None = None,
    max_paths: int = MAX_PATHS,
    watch: Callable[[float], object] | None = None,
) -> ExactAudit:
    """Audit `learner` by the exact distribution of what `adversary` sees of it.

    epsilons: further ε in nats at which δ(ε) is computed. delta: at which ε(δ) is; default: the claim's.
    max_paths: that may be played. watch: called with the part of the probability that is done.

    Raises: InvalidArgument, also if the worlds differ in something that the learner does not protect;
        NothingTested if they do not differ; NotConforming if games do not follow the distribution; otherwise
        as `view_law`.
    """
    check_protocol(learner, adversary, referee)
    claim = read_claim(learner)
    if delta is None:
        delta = 0.0 if claim.empty else claim.delta
    for epsilon in epsilons:
        check_value("epsilon", epsilon, at_least(0), less_than(math.inf))
    check_value("delta", delta, at_least(0), at_most(1))
    law = view_law(learner, adversary, referee, max_paths=max_paths, watch=watch)
    check_protected(law.challenges, learner, adversary)
    if not law.challenges:
        raise NothingTested(
            f"{adversary.name} hands {learner.own_name} the same in both worlds, so there is no loss to "
            "compute. Let an example or a query differ, or choose another adversary."
        )
    comparison = check_declared_law(learner, adversary, referee)
    loss = law.loss
    # The cell with the largest absolute loss; the most likely of several.
    worst = int(np.lexsort((np.maximum(loss.p0, loss.p1), np.abs(loss.mean)))[-1])
    of_score = None if law.score is None else law.score.epsilon_at(delta)
    return ExactAudit(
        learner=learner.own_name,
        adversary=adversary.name,
        protocol=referee.name,
        claim=claim,
        refuted=loss.refutes(claim),
        epsilon=loss.epsilon,
        complete=loss.complete,
        delta=None if claim.empty else loss.delta(claim.epsilon),
        deltas=tuple(DeltaBracket(**attrs.asdict(loss.delta(at)), epsilon=at) for at in map(float, epsilons)),
        epsilon_at=EpsilonBracket(**attrs.asdict(loss.epsilon_at(delta)), delta=delta),
        score=None if of_score is None else EpsilonBracket(**attrs.asdict(of_score), delta=delta),
        views=len(loss.p0),
        computation_error=loss.stated_error,
        error=loss.stated_error + comparison.deviation,
        comparison=comparison,
        worst=_describe_cell(law.views, worst),
        most_revealing=tuple(_describe_cell(law.coarse, cell) for cell in _revealing_cells(law.coarse.loss)),
        law=law,
        players=(learner, adversary),
    )


def _revealing_cells(loss: PrivacyLoss) -> list[int]:
    """The cells with the largest loss times probability in the world that they indicate, in this order."""
    mass = np.where(loss.mean > 0, loss.p1, loss.p0)
    weight = np.abs(loss.mean) * np.where(mass > 0, mass, 1e-300)
    weight[(mass == 0) | (loss.mean == 0)] = 0.0
    order = np.lexsort((mass, weight))[::-1][:_MAX_REVEALING]
    return [int(cell) for cell in order if weight[cell] > 0]


def _describe_cell(listed: LabelledLoss, cell: int) -> ViewProbabilities:
    loss = listed.loss
    p0, p1, mean = (float(array[cell]) for array in (loss.p0, loss.p1, loss.mean))
    return ViewProbabilities(view=listed.text(cell), p0=p0, p1=p1, privacy_loss=mean)
