"""`audits.audit`: play many games and test a privacy claim."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, Unpack

import attrs

from arena import InvalidArgument, Relation
from audits.api.user_data import read_data
from audits.counted_warnings import tally_warnings
from audits.interrupts import return_unless_interrupted
from audits.registry.match import PlayerSettings, build_match
from audits.registry.players import GivenAdversary, GivenLearner, choose_learner, is_function
from audits.registry.suggestions import explain_arguments
from audits.registry.user_files import UsedFiles
from audits.runs.blocks import plan_audit
from audits.runs.limits import LOGGER, Limits, check_enough
from audits.runs.other_relation import (
    OTHER,
    apply_decision,
    decide_audit,
    is_chosen,
    is_open,
    record_decision,
)
from audits.runs.plan import PlanArguments, list_arguments
from audits.runs.run import RunProgress, run
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers

F = TypeVar("F", bound=Callable[..., Any])


def _list_plan_arguments(verb: F) -> F:
    """Show the arguments of a plan in the signature of a verb, by which help and completion go."""
    own, hints = inspect.signature(verb), PlanArguments.__annotations__
    named = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.metadata["chosen"] else field.default,
            annotation=getattr(hints[name], "__forward_arg__", hints[name]),
        )
        for name, field in list_arguments().items()
    ]
    others = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    parameters = sorted([*named, *others], key=lambda parameter: parameter.kind)
    verb.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return verb


@explain_arguments
@_list_plan_arguments
@tally_warnings
def audit(
    learner: GivenLearner | None = None,
    against: GivenAdversary | None = None,
    *,
    make: Callable[[], Any] | None = None,
    data: Any = None,
    neighbour: Any = None,
    neighbours: Relation | str | None = None,
    user: Any = None,
    protocol: str | None = None,
    rounds: int | None = None,
    settings: Mapping[str, Any] | None = None,
    jobs: int | Workers = 1,
    ledger: str | os.PathLike[str] | None = None,
    estimators: bool = False,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    progress: Callable[[RunProgress], None] | None = None,
    announce: Callable[[str], None] | None = None,
    **plan_arguments: Unpack[PlanArguments],
) -> Verdict:
    """Play a learner in two neighbouring worlds and certify a lower bound on its privacy loss ε.

    learner: a learner; the name of one, or path/to/file.py:name; or a mechanism: a function f(data, rng) or
        f(data), also a coroutine function, or a class with `fit`, whose fitted models are released.
    make: in place of a mechanism, a function without arguments that makes it, once in each process: for what
        cannot be sent to other processes, such as a connection.
    against: an adversary or its name. Default: the usual one of the learner; for a function, two data sets
        that differ in one record.
    data: what a function receives: a DataFrame, an array, a pair (X, y), a list of records, or a dictionary
        of these; for another learner an array of points, or (points, labels).
    neighbour: the data of world 1; default: the worst that the adversary knows.
    neighbours: how they differ: "replace one" (default), "add or remove one", "add or remove a user of at
        most 5" and so on, see `arena.Neighbours`. If nobody says, a refutation that a claim for added or
        removed records allows is no verdict: these are played, too, and `relation_note` says what came out,
        or `undecided`, if they could not be played.
    user: the column that says whose a record is, or a function of a record.
    epsilon, delta: the claim under test, ε in nats; default: the learner's own. curve: a claim for every ε
        instead, of `arena.privacy_curves` or as a text: "mu=1", "rho=0.5", "rdp=8,2" or a CSV file.
    games: in each world; default: 100,000, with until_refuted at most 10 million. fixed_games: certify more
        from few games, by a bound that holds at this number only; an audit that ends early certifies nothing.
    confidence: the bound is wrong with probability at most 1 - confidence, whenever the audit stops.
    settings: of players that are given by name, {"teachers": 2001, "adversary.probes": 20}, or of a function.
    distinguisher, faults, seed: as in `Plan`. protocol, rounds: default: as the players have it.
    jobs: processes. ledger: a file that stores all games. estimators: also compute all other estimators.
    max_calls: of a function, or games, in both worlds and for checks, at most. max_seconds: after which no
        game begins. Either ends the audit early, with a valid verdict on the games so far.
    progress: called after every block of games. announce: called with what an audit of over ten seconds
        costs; default: a warning of the log `audits`.

    Raises: InvalidArgument if a value makes no sense; NothingTested if the games could not refute the claim;
    NotConforming and the errors of `arena.play`; Interrupted, with the verdict so far.

    >>> import audits
    >>> def release_count(labels, rng):
    ...     return labels.sum() + rng.laplace()
    >>> verdict = audits.audit(release_count, epsilon=0.5, games=4_000)
    >>> verdict.refuted, verdict.epsilon_lower > 0.5
    (True, True)
    """
    asked, files = split_settings(settings), UsedFiles()
    learner, asked["learner"] = choose_learner(learner, make, asked["learner"])
    with Limits(max_calls, max_seconds) as limits, TemporaryDirectory() as folder:
        with files.watch():
            sample, asked = read_data(learner, data, neighbour, asked, neighbours, user)
            claim = plan_arguments.get("epsilon"), plan_arguments.get("delta")
            match = build_match(
                learner,
                against,
                settings=claim_for_function(learner, asked, *claim),
                data=sample,
                protocol=protocol,
                rounds=rounds,
            )
        check_enough(match.learner, max_calls)
        plan, notes = plan_audit(match, option="epsilon=..., in nats", **plan_arguments)
        if ledger is None:  # the plan of a ledger is the same, whatever the limits
            plan = plan.fit_blocks(max_calls, max_seconds)
        store = Path(folder, "run.ledger") if ledger is None else Path(ledger)
        chosen = neighbour is not None or is_chosen(learner, asked["learner"]) or not is_open(plan)
        verdict = run(
            plan,
            jobs=jobs,
            ledger=store,
            watch=progress,
            files=files,
            all_estimators=estimators,
            limits=limits,
            announce=LOGGER.warning if announce is None else announce,
            relation_chosen=chosen,
        )

        def play_other(left: Limits) -> Verdict:
            return audit(
                None if make is not None else learner,
                against,
                make=make,
                data=data,
                neighbours=OTHER,
                user=user,
                protocol=protocol,
                rounds=rounds,
                settings=settings,
                jobs=jobs,
                max_calls=left.max_calls,
                max_seconds=left.max_seconds,
                **plan_arguments,
            )

        if not chosen:
            decision = decide_audit(verdict, plan.learner, play_other, limits)
            record_decision(store, plan, decision)
            verdict = apply_decision(verdict, decision)
        recorded = store.read_bytes()
    from audits.runs.run_page import RecordedRun  # with sqlite3

    verdict = attrs.evolve(verdict, notes=match.notes + notes, record=RecordedRun(recorded))
    return return_unless_interrupted(verdict)


def split_settings(settings: Mapping[str, Any] | None, *labels: str) -> PlayerSettings:
    """Settings by player and name, of {name: value} and {"adversary.name": value}, as `--set` has them."""
    players: PlayerSettings = {player: {} for player in ("learner", "adversary", *labels)}
    if settings is not None and not isinstance(settings, Mapping):
        raise InvalidArgument(
            "settings must be a mapping of names to values",
            value=settings,
            remedy='Write settings={"epsilon": 0.5}, or {"adversary.rounds": 100} for the adversary.',
        )
    for path, value in (settings or {}).items():
        player, _, name = str(path).rpartition(".")
        if (player or "learner") not in players:
            raise InvalidArgument(f"no player is called {player}", value=path)
        players[player or "learner"][name] = value
    return players


def claim_for_function(
    learner: object, settings: PlayerSettings, epsilon: object, delta: object
) -> PlayerSettings:
    """The settings with the claim under test as that of a function, which has none unless they give one."""
    if not is_function(learner):
        return settings
    claim = {name: value for name, value in (("epsilon", epsilon), ("delta", delta)) if value is not None}
    return {**settings, "learner": {**claim, **settings["learner"]}}
