"""`audits.race`: compare learners by mistakes, regret, or errors of their hypotheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from arena import InvalidArgument, Learner
from audits.api.arguments import split_settings
from audits.races import RaceResult, run_race
from audits.races.race_setup import build_race
from audits.registry.entrants import find_entrants
from audits.registry.given_players import read_sample
from audits.registry.suggestions import explain_arguments
from audits.runs.workers import Workers


@explain_arguments
def race(
    learners: Sequence[str | Learner],
    against: str | None = None,
    *,
    rounds: int | None = None,
    games: int | None = None,
    protocol: str | None = None,
    agnostic: bool = False,
    marks: int | None = None,
    as_set: bool = False,
    data: Any = None,
    confidence: float = 0.95,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    progress: Callable[[int], None] | None = None,
) -> RaceResult:
    """Play each learner many times against an adversary, and compare mistakes, regret or errors.

    learners: learners, or names; "few=realizable" gives a learner a label. against: the name of the
        adversary; default for predictors: honest.
    rounds: of a game; default: the adversary's. games: of each learner; default: 1,000, for predictors fewer.
    agnostic: allow games that no concept explains, and count regret. marks: the number of rounds at which
        figures are recorded, at most. as_set: keep the default sizes of predictors.
    settings: {"nodes": 64} of all learners, {"few.nodes": 64} of one, and {"adversary.noise": 0}.
    confidence: of all limits together. data, protocol, seed, jobs: as in `audits.audit`.
    progress: called with the number of games played.

    Raises: InvalidArgument; NotConforming; Unsupported if a class is too large.

    >>> import audits
    >>> result = audits.race(["soa", "halving"], "shattered-tree", rounds=20, games=10)
    >>> [standing.label for standing in result.standings], result.broken
    (['soa', 'halving'], False)
    """
    if isinstance(learners, str | Learner) or not isinstance(learners, Sequence) or not learners:
        raise InvalidArgument(
            "learners must be a list of learners or names", value=learners, remedy='Write ["soa", "halving"].'
        )
    entrants = find_entrants(learners)
    plan, notes = build_race(
        entrants,
        split_settings(settings, *(label for label, _ in entrants)),
        against=against,
        rounds=rounds,
        games=games,
        protocol=protocol,
        agnostic=agnostic,
        marks=marks,
        as_set=as_set,
        data=None if data is None else read_sample("data", data),
        confidence=confidence,
        seed=seed,
    )
    return attrs.evolve(run_race(plan, jobs=jobs, watch=progress), notes=tuple(notes))
