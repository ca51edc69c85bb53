"""Exact audit: the privacy loss of an adversary's view, computed from the learner's output distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import attrs
import numpy as np

from arena import Adversary, Claim, Learner, NothingTested, Referee
from arena.engine import check_protocol
from arena.settings import at_least, at_most, check_value, less_than
from arena.testing.laws.goodness_of_fit import Comparison
from audits.exact_loss.declared_law import check_declared_law
from audits.exact_loss.privacy_loss import Bracket, PrivacyLoss
from audits.exact_loss.released_values import LabelledLoss
from audits.exact_loss.view_laws import MAX_PATHS, ViewLaw, view_law
from audits.registry.tested_claim import check_protected, read_claim

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


@attrs.frozen(kw_only=True, eq=False)
class ExactAudit:
    """The result of an exact audit.

    claim: the learner's. refuted: it is false, by more than all stated errors.
    epsilon: the pure ε of the view in nats, infinite where a view is possible in one world only. It is a
        lower bound if not `complete`, i.e. if unlikely paths were given up.
    delta: the δ that the claim's ε requires; None if nothing is claimed. deltas: the same at other ε.
    epsilon_at: the ε that the view requires at the δ asked for. score: the largest ε that the adversary's
        score could certify at that δ; None if it is unknown.
    views: the number of cells of views. error: how much a δ at ε = 0 may be off, apart from their width.
    comparison: of games with the declared output distribution, of which alone the figures speak.
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
    error: float
    comparison: Comparison
    worst: ViewProbabilities
    most_revealing: tuple[ViewProbabilities, ...]
    law: ViewLaw = attrs.field(repr=False)

    @property
    def epsilon_infinite(self) -> bool:
        """Whether no finite ε holds at δ = 0."""
        return math.isinf(self.epsilon)

    def table(self) -> list[tuple[str, float, float, float, float, float]]:
        """Every view, from the most to the least indicative of world 1, with the trade-off curve.

        Columns: the view as text, its probability in world 0 and in world 1, its mean privacy loss, and the
            errors α and β of the test that decides for world 1 on this view and all those before it.
        """
        loss, order = self.law.loss, self.law.loss.order
        alpha, beta = loss.tradeoff()
        columns = (loss.p0[order], loss.p1[order], loss.mean[order], alpha[1:], beta[1:])
        figures = zip(*(column.tolist() for column in columns), strict=True)
        text = self.law.views.text
        return [(text(int(cell)), *row) for cell, row in zip(order, figures, strict=True)]


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
    max_paths: the number of paths that may be played, if views are enumerated. watch: called with the part
        of the probability that is done, between 0 and 1.

    Raises: InvalidArgument if these are out of range, if a player does not play the protocol, or if the
        worlds differ in something that the learner does not promise to protect; NothingTested if they do not
        differ; NotConforming if games do not follow the distribution; otherwise as `view_law`.
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
            f"{adversary.name} hands {learner.name} the same in both worlds, so there is no loss to compute. "
            "Let an example or a query differ, or choose another adversary."
        )
    comparison = check_declared_law(learner, adversary, referee)
    loss = law.loss
    return ExactAudit(
        learner=learner.name,
        adversary=adversary.name,
        protocol=referee.name,
        claim=claim,
        refuted=loss.refutes(claim),
        epsilon=loss.epsilon,
        complete=loss.complete,
        delta=None if claim.empty else loss.delta(claim.epsilon),
        deltas=tuple(DeltaBracket(**attrs.asdict(loss.delta(at)), epsilon=at) for at in map(float, epsilons)),
        epsilon_at=_epsilon_at(loss, delta),
        score=None if law.score is None else _epsilon_at(law.score, delta),
        views=len(loss.p0),
        error=loss.stated_error,
        comparison=comparison,
        worst=_describe_cell(law.views, _worst_cell(loss)),
        most_revealing=tuple(_describe_cell(law.coarse, cell) for cell in _revealing_cells(law.coarse.loss)),
        law=law,
    )


def _epsilon_at(loss: PrivacyLoss, delta: float) -> EpsilonBracket:
    return EpsilonBracket(**attrs.asdict(loss.epsilon_at(delta)), delta=delta)


def _worst_cell(loss: PrivacyLoss) -> int:
    """The cell with the largest absolute loss; the most likely of several."""
    return int(np.lexsort((np.maximum(loss.p0, loss.p1), np.abs(loss.mean)))[-1])


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
