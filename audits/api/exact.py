"""`audits.exact`: exact privacy loss, from output distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arena import InvalidArgument
from arena.settings import is_number
from audits.api.arguments import read_data, split_settings
from audits.exact_loss.exact_audit import ExactAudit
from audits.exact_loss.exact_audit import exact as compute_exact
from audits.registry.given_players import GivenAdversary, GivenLearner
from audits.registry.match import build_match
from audits.registry.suggestions import explain_arguments


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
) -> ExactAudit:
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
    return compute_exact(match.learner, match.adversary, match.referee, epsilons=tuple(epsilons), delta=delta)
