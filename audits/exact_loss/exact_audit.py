"""Exact audit: the privacy loss of an adversary's view, computed from the learner's output distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import attrs
import numpy as np

from arena import Adversary, Learner, NothingTested, Referee
from arena.engine import check_protocol
from arena.settings import at_least, at_most, check_value, less_than
from audits.exact_loss.declared_law import check_declared_law
from audits.exact_loss.exact_report import DeltaBracket, EpsilonBracket, ExactAudit, ViewProbabilities
from audits.exact_loss.privacy_loss import PrivacyLoss
from audits.exact_loss.released_values import LabelledLoss
from audits.exact_loss.view_laws import MAX_PATHS, view_law
from audits.registry.match import check_protected, read_claim

_MAX_REVEALING = 10  # views in the report


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
        players=(learner, adversary),
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
