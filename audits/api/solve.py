"""`audits.solve`: how much the best adversary of a game learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from arena import InvalidArgument, Learner
from arena.settings import is_number
from audits.api.audit import split_settings
from audits.api.user_data import read_data, read_sample
from audits.exact_loss.exact_audit import ExactAudit
from audits.exact_loss.exact_audit import exact as compute_exact
from audits.interrupts import check_before, return_unless_interrupted
from audits.registry.match import build_match
from audits.registry.players import GivenAdversary, GivenLearner, configure_adversary, configure_learner
from audits.registry.suggestions import explain_arguments
from audits.solver.choice_of_samples import pose_against, pose_every_vote, pose_samples, pose_smallest
from audits.solver.linear_game import Watch, ignore_progress
from audits.solver.posed_games import PosedGame, pose_untrained
from audits.solver.solution import solve as solve_game
from audits.solver.solution_report import Solution

DEFAULT_ROUNDS = 4


@explain_arguments
def solve(
    learner: GivenLearner,
    against: GivenAdversary | None = None,
    *,
    rounds: int = DEFAULT_ROUNDS,
    epsilon: float | Sequence[float] = (),
    delta: float | None = None,
    data: Any = None,
    neighbour: Any = None,
    worst_samples: bool = False,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    watch: Watch = ignore_progress,
) -> Solution:
    """Compute how much the best adversary learns in at most `rounds` rounds, whatever its strategy.

    The learner must declare the distribution of its answers or, online, of its hypotheses, or of what it
    publishes of a stream.

    against: the adversary whose training samples are taken; with equal samples, a query differs. data,
        neighbour: samples instead. worst_samples: those of the domain from which most is learned. By default
        teachers, each with one example, can cast every pair of votes. Online, one round's examples differ;
        in a stream, one record.
    epsilon: one ε in nats or several, at which δ is computed beside that of the claim; the best adversary is
        told for the first. delta: where the least ε is computed; default: the claim's.
    seed: of the adversary's samples. watch: receives what is computed, how much is done, and the whole.

    Raises: InvalidArgument; Unsupported if a distribution is unknown, or the game is too large; Interrupted,
    with the bounds so far, or with those of a shorter game.

    >>> import audits
    >>> report = audits.solve("noisy-votes", rounds=1, settings={"size": 5, "epsilon": 1.0, "answers": 1})
    >>> report.outcome.value, round(report.epsilon_at.upper, 9)
    ('proved', 1.0)
    """
    epsilons, watch = _read_epsilons(epsilon), check_before(watch)
    asked = split_settings(settings)
    chosen = [against is not None, data is not None or neighbour is not None, worst_samples]
    if sum(chosen) > 1:
        raise InvalidArgument(
            "the samples are chosen in several ways", remedy="Give only an adversary, data or worst_samples."
        )
    if against is None and asked["adversary"]:
        raise InvalidArgument("an adversary has settings but no name", remedy="Say against whom: --against.")
    configured: Learner = configure_learner(learner, asked["learner"])
    if against is not None:
        opponent = configure_adversary(against, asked["adversary"], learner=configured)
        posed: PosedGame = pose_against(configured, opponent, seed=seed)
    elif data is not None or neighbour is not None:
        posed = pose_samples(configured, read_sample("data", data), read_sample("neighbour", neighbour))
    elif worst_samples:
        posed, _ = pose_smallest(configured, rounds, epsilons[0] if epsilons else 0.0, watch=watch)
    else:
        posed = pose_untrained(configured) or pose_every_vote(configured)
    solution = solve_game(posed, rounds=rounds, epsilons=epsilons, delta=delta, watch=watch)
    given = learner if isinstance(learner, str) else configured.name
    return return_unless_interrupted(attrs.evolve(solution, given=given))


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
    epsilons = _read_epsilons(epsilon)
    return compute_exact(match.learner, match.adversary, match.referee, epsilons=epsilons, delta=delta)


def _read_epsilons(epsilon: Any) -> tuple[float, ...]:
    if isinstance(epsilon, str):
        raise InvalidArgument("epsilon must be a number or several", value=epsilon)
    return (epsilon,) if is_number(epsilon) else tuple(epsilon)
