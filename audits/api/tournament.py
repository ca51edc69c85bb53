"""`audits.tournament`: every learner against every adversary that it can meet."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from arena import InvalidArgument, Learner
from audits.registry.given_players import GivenAdversary
from audits.registry.suggestions import explain_arguments
from audits.runs.workers import Workers
from audits.tournaments import TournamentResult, plan_tournament, run_tournament
from audits.tournaments.tournament_plan import CONFIDENCE


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
) -> TournamentResult:
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
    return run_tournament(plan, jobs=jobs, ledger=ledger, watch=progress)
