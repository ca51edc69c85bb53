"""What an exact audit says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Claim, InvalidArgument, Learner, Referee
from arena.engine import check_protocol
from audits.exact.privacy_loss import Bracket, PrivacyLoss
from audits.exact.values import Listed
from audits.exact.views import ViewLaw, view_law
from audits.registry.tested_claim import read_claim

_TELLING = 10


@attrs.frozen(kw_only=True)
class Witness:
    """A view, or a cell of views, and its probability in each world. loss: the log of their ratio, nats."""

    text: str
    p0: float
    p1: float
    loss: float

    def as_json(self) -> dict[str, Any]:
        """Plain data; null for an infinite loss."""
        return {"view": self.text, "p0": self.p0, "p1": self.p1, "privacy_loss": _number(self.loss)}


@attrs.frozen(kw_only=True, eq=False)
class Exact:
    """The outcome of an exact audit.

    claim: the learner's.
    refuted: the claim is false, beyond all that is stated as error.
    epsilon: the pure ε of the view (nats), infinite where a view is possible in one world only; where not
        `complete`, since unlikely paths were given up, it may be more.
    delta: the δ that the claim's ε needs; None where nothing is claimed.
    deltas: the same at other ε.
    epsilon_at: the ε that the view needs at the δ `at`.
    score: the most that the adversary's score could ever certify at that δ; None where it is not known.
    views: how many there are, or cells of them.
    error: what a δ at ε = 0 may be off by, the width of cells apart.
    worst: the view of the greatest loss. telling: the views of the greatest loss x probability.
    law: all of the view's law.
    """

    learner: str
    adversary: str
    protocol: str
    claim: Claim
    refuted: bool
    epsilon: float
    complete: bool
    delta: Bracket | None
    deltas: tuple[tuple[float, Bracket], ...]
    at: float
    epsilon_at: Bracket
    score: Bracket | None
    views: int
    error: float
    worst: Witness
    telling: tuple[Witness, ...]
    law: ViewLaw

    def as_json(self) -> dict[str, Any]:
        """One object. null stands for infinity in brackets and losses, and for a figure that is not known."""
        return {
            "learner": self.learner,
            "adversary": self.adversary,
            "protocol": self.protocol,
            "claim": {
                "epsilon": _number(self.claim.epsilon),
                "delta": self.claim.delta,
                "protects": list(self.claim.protects),
                "neighbours": self.claim.neighbours,
            },
            "refuted": self.refuted,
            "epsilon": _number(self.epsilon),
            "epsilon_infinite": math.isinf(self.epsilon),
            "complete": self.complete,
            "delta": None if self.delta is None else _ends(self.delta),
            "deltas": [{"epsilon": epsilon, **_ends(delta)} for epsilon, delta in self.deltas],
            "epsilon_at": {"delta": self.at, **_ends(self.epsilon_at)},
            "score": None if self.score is None else {"delta": self.at, **_ends(self.score)},
            "views": self.views,
            "error": self.error,
            "worst": self.worst.as_json(),
            "telling": [witness.as_json() for witness in self.telling],
        }

    def table(self) -> list[tuple[str, float, float, float, float, float]]:
        """Every view from the most to the least like world 1: its text, its probability in world 0 and 1, its
        mean privacy loss, and the rates α and β of the test that holds it and those before it for world 1.
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
) -> Exact:
    """Audit `learner` by the exact law of what `adversary` sees of it.

    epsilons: where else δ(ε) is asked for, nats. delta: where ε(δ) is; default: the claim's.

    Raises: InvalidArgument if they are none, a player does not know the protocol, or the worlds differ in
    what the learner does not promise to protect; else as `view_law`.
    """
    check_protocol(learner, adversary, referee)
    claim = read_claim(learner)
    at = (0.0 if claim.empty else claim.delta) if delta is None else delta
    _check_asked(epsilons, at)
    law = view_law(learner, adversary, referee)
    _check_claimed(law, learner, adversary)
    loss = law.loss
    return Exact(
        learner=learner.name,
        adversary=adversary.name,
        protocol=referee.name,
        claim=claim,
        refuted=loss.refutes(claim),
        epsilon=loss.epsilon,
        complete=loss.complete,
        delta=None if claim.empty else loss.delta(claim.epsilon),
        deltas=tuple((float(epsilon), loss.delta(epsilon)) for epsilon in epsilons),
        at=at,
        epsilon_at=loss.epsilon_at(at),
        score=None if law.score is None else law.score.epsilon_at(at),
        views=len(loss.p0),
        error=loss.stated_error,
        worst=_witness(law.views, _worst(loss)),
        telling=tuple(_witness(law.few, cell) for cell in _telling(law.few.loss)),
        law=law,
    )


def _check_asked(epsilons: Sequence[float], delta: float) -> None:
    for epsilon in epsilons:
        if not 0 <= epsilon < math.inf:
            raise InvalidArgument("δ is asked for at an ε of at least 0 nats and finite", value=epsilon)
    if not 0 <= delta <= 1:
        raise InvalidArgument("δ is a probability", value=delta)


def _check_claimed(law: ViewLaw, learner: Learner, adversary: Adversary) -> None:
    strays = sorted(law.challenges - set(learner.claim.protects))
    if strays:
        raise InvalidArgument(
            f"{adversary.name} lets the worlds differ in {strays[0]}, which {learner.name} does not promise "
            "to protect",
            remedy=f"It protects {' and '.join(learner.claim.protects)}.",
        )


def _worst(loss: PrivacyLoss) -> int:
    """The cell of the greatest absolute loss, the likelier of two."""
    return int(np.lexsort((np.maximum(loss.p0, loss.p1), np.abs(loss.mean)))[-1])


def _telling(loss: PrivacyLoss) -> list[int]:
    """The cells of the greatest loss x probability in the world that they speak for, most of it first."""
    mass = np.where(loss.mean > 0, loss.p1, loss.p0)
    weight = np.abs(loss.mean) * np.where(mass > 0, mass, 1e-300)
    weight[(mass == 0) | (loss.mean == 0)] = 0.0
    order = np.lexsort((mass, weight))[::-1][:_TELLING]
    return [int(cell) for cell in order if weight[cell] > 0]


def _witness(listed: Listed, cell: int) -> Witness:
    loss = listed.loss
    p0, p1, mean = (float(array[cell]) for array in (loss.p0, loss.p1, loss.mean))
    return Witness(text=listed.text(cell), p0=p0, p1=p1, loss=mean)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _ends(bracket: Bracket) -> dict[str, float | None]:
    return {"lower": _number(bracket.lower), "upper": _number(bracket.upper)}
