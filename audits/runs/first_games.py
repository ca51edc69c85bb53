"""The first games of an audit: they complete its plan, and show whether it could refute anything."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any, Unpack

import numpy as np

from arena import (
    Adversary,
    ArenaError,
    BudgetExceeded,
    InvalidArgument,
    Learner,
    LearnerFails,
    NotConforming,
    NothingTested,
    Played,
    PlayerError,
    Referee,
    Sample,
    play,
)
from arena.capabilities import ReceivesPart
from arena.errors import UnknownRelease, describe_error, format_place, is_users_file, locate_error
from arena.randomness import block_seed
from arena.referees.transcript import TrainingEntry
from arena.testing import check_adversary, check_learner
from arena.testing.independence import check_batches_independent, check_common_random_numbers
from arena.testing.memory import Record, check_memory
from audits.registry.match import Match
from audits.registry.tested_claim import resolve_claim, resolve_curve
from audits.runs.blocks import check_outcome, choose_distinguisher, uses_common_random_numbers
from audits.runs.plan import LEARNED, LIKELIHOOD, SCORE, Plan, PlanArguments, list_arguments

REFUSALS = (PlayerError, InvalidArgument, BudgetExceeded)  # what a learner raises that cannot play a game

_MAX_GAMES_UNTIL_REFUTED = 10_000_000
_NOTES_WITHOUT_SCORE = {
    LEARNED: "{} returns no score, so a distinguisher is learned from the games",
    LIKELIHOOD: "{} returns no score, so the likelihood ratio distinguishes the worlds",
}
_FEW_BLOCKS = 8  # too few to see from their scores that the games of a block depend on each other
_MIN_BATCHES, _MAX_BATCHES = 16, 64  # of fresh games, if the blocks are few or scatter
_FIRST_PAIRS = 32
_MORE_PAIRS = 1_024  # played if the worlds of the first do not differ, as some challenges are rare
_checked: set[Learner] = set()  # learners that have passed `check_learner` in this process


def plan_audit(
    match: Match, *, option: str = "--epsilon, in nats", **asked: Unpack[PlanArguments]
) -> tuple[Plan, tuple[str, ...]]:
    """The plan of an audit of a match, and what the user should know about how it was chosen.

    option: how the user names an ε. asked: what is missing or None has the default, for the claim the
    learner's own. A learner that raises in some games, but not in all, is audited with `faults`.

    Raises: InvalidArgument as `Plan` and `resolve_claim` do; whatever `arena.play` raises in a first game.
    """
    notes: tuple[str, ...] = ()
    chosen = {name for name, field in list_arguments().items() if field.metadata["chosen"]}
    given: dict[str, Any] = {
        name: value for name, value in asked.items() if value is not None or name not in chosen
    }
    if "distinguisher" not in given:
        players, faults = (match.learner, match.adversary, match.referee), given.get("faults", False)
        try:
            distinguisher = choose_distinguisher(*players, faults=faults)
        except PlayerError as error:
            if faults or not fails_sometimes(*players, error):
                raise
            given["faults"], distinguisher = True, choose_distinguisher(*players, faults=True)
            notes = (f"{error}, which the adversary sees (faults)",)
        if distinguisher != SCORE:
            notes += (_NOTES_WITHOUT_SCORE[distinguisher].format(match.adversary.name),)
        given["distinguisher"] = distinguisher
    claim = given.pop("curve", None), given.pop("epsilon", None), given.pop("delta", None)
    curve, epsilon, delta = resolve_curve(*claim, match.learner)
    epsilon, delta = resolve_claim(match.learner, epsilon, delta, option=option)
    if "games" not in given and given.get("until_refuted"):
        given["games"] = _MAX_GAMES_UNTIL_REFUTED
    given |= {"learner": match.learner, "adversary": match.adversary, "referee": match.referee}
    return Plan(epsilon=epsilon, delta=delta, curve=curve, **given), notes


def check_players(plan: Plan) -> Record | None:
    """Check the properties of the players that the verdict relies on; returns as `check_memory` does.

    Raises: NotConforming if the adversary fails `arena.testing.check_adversary`, or the learner does not use
    the random numbers that it declares, common to both worlds or its own; NothingTested if the first games
    show that none could refute the claim.
    """
    games = plan.blocks[0]
    record = check_memory(plan.learner, plan.adversary, plan.referee, faults=plan.faults)
    check_independence(plan, games)
    if 1 < len(plan.blocks) < _FEW_BLOCKS and not plan.faults:
        check_scatter(plan, games)
    check_first_games(plan)
    if plan.distinguisher == LIKELIHOOD:
        from audits.exact_loss.exact_audit import check_declared_law  # slow to import

        check_declared_law(plan.learner, plan.adversary, plan.referee)
    return record


def check_independence(plan: Plan, games: int) -> None:
    """Check in a batch of so many games that what a player does in one does not depend on the others.

    Raises: NotConforming.
    """
    if not plan.faults:  # with faults, every game is played alone
        check_adversary(plan.adversary, plan.learner, plan.referee, games=games)
    if uses_common_random_numbers(plan):
        check_common_random_numbers(plan.learner, plan.adversary, plan.referee, games=games)


def check_scatter(plan: Plan, games: int) -> None:
    """Check in fresh batches of so many games that the games of a batch are independent.

    An adversary may draw random numbers for a whole batch, which make blocks differ and do no harm. So in
    these games it draws the same in every batch.

    Raises: NotConforming.
    """
    batches = min(max(len(plan.blocks), _MIN_BATCHES), _MAX_BATCHES)
    players = (plan.learner, plan.adversary, plan.referee)
    check_batches_independent(*players, games=games, batches=batches, faults=plan.faults)


def check_first_games(plan: Plan) -> None:
    """Check that the games of a plan could show a violation, and warn if the learner fails in both worlds.

    To fail in one world only is evidence, which an audit with `faults` weighs.

    Raises: NothingTested if the worlds never differ in what the learner receives, or if the learner fails in
    every game; whatever `arena.play` and `check_outcome` raise.
    """
    played = _play_first(plan, _FIRST_PAIRS)
    if _find_same_data(plan, played) is not None:
        played = _play_first(plan, _MORE_PAIRS)
        fault = _find_same_data(plan, played)
        if fault is not None:
            raise fault
    if played.failed is None or played.failure is None:
        return
    failures, games = int(played.failed.sum()), len(played.worlds)
    first = describe_failure(played.failure, plan.learner)
    if failures == games:
        raise refuse_failures(plan.learner, first, f"in all of the first {games:,} games")
    if all(played.failed[played.worlds == world].any() for world in (False, True)):
        warn_of_failures(plan.learner, first, failures, games, "in {} first games")


def warn_of_failures(learner: Learner, first: str, failures: int, tried: int, where: str) -> None:
    """Warn that the learner failed. where: what it failed in, as "in {} first games"."""
    share = where.format(f"{failures:,} of {tried:,}") + f" ({100 * failures / tried:.3g} %)"
    warnings.warn(f"{learner.name} failed {share}; first: {first}", LearnerFails, stacklevel=3)


def refuse_failures(learner: Learner, first: str, where: str) -> NothingTested:
    """The error for a learner that always failed. where: as "in all 64 first games"."""
    return NothingTested(
        f"{learner.name} failed, or declined to play, {where}, so nothing was tested; first: {first}. "
        "Fix the learner, or set what it needs."
    )


def find_failure(learner: Learner, adversary: Adversary, referee: Referee) -> PlayerError | None:
    """The first failure of a learner that is its own and no refusal, in a few games in each world, if any."""
    played = play(learner, adversary, referee, games=2 * _FIRST_PAIRS, seed=0, faults=True)
    failure = played.failure
    return None if failure is None or isinstance(failure.__cause__, ArenaError) else failure


def fails_sometimes(learner: Learner, adversary: Adversary, referee: Referee, error: PlayerError) -> bool:
    """Whether `error` is the learner's own, and it raises in some games but not in all: this is seen."""
    if error.player != "learner" or isinstance(error.__cause__, ArenaError | MemoryError):
        return False
    if not referee.two_worlds:
        return False
    played = play(learner, adversary, referee, games=2 * _FIRST_PAIRS, seed=0, faults=True)
    return played.failed is not None and 0 < played.failed.sum() < len(played.failed)


def check_learner_first(learner: Learner) -> None:
    """Check a learner before its claim is tested, once in a process.

    A learner that raises or refuses in games of the check is left to the test, which says how often it does.
    Raises: NotConforming; UnknownRelease.
    """
    if learner in _checked:
        return
    try:
        check_learner(learner)
    except UnknownRelease:
        raise
    except REFUSALS:
        return
    except NotConforming as error:
        if isinstance(error.__cause__, REFUSALS):
            return
        raise
    _checked.add(learner)


def describe_failure(error: ArenaError, learner: Learner) -> str:
    """What a learner raised, and where: the line that did, or that of the learner's definition."""
    text = str(error) if isinstance(error, PlayerError) else describe_error(error)
    if isinstance(error, PlayerError) and error.place:
        return text
    place = locate_error(error) or _locate_definition(learner)
    return f"{text} ({place})" if place else text


def _locate_definition(learner: Learner) -> str:
    try:
        path, line = inspect.getsourcefile(type(learner)) or "", inspect.getsourcelines(type(learner))[1]
    except (TypeError, OSError):  # its source is gone
        return ""
    return format_place(path, line) if path and is_users_file(path) else ""


def _play_first(plan: Plan, pairs: int) -> Played:
    players = (plan.learner, plan.adversary, plan.referee)
    seed = block_seed(plan.seed, 0)
    played = play(*players, games=2 * pairs, seed=seed, faults=plan.faults, record=True)
    if played.score is None:
        check_outcome(plan, played)
    return played


def _find_same_data(plan: Plan, played: Played) -> NothingTested | None:
    """The error if the learner receives the same in both worlds of every pair of games."""
    learner, adversary = plan.learner, plan.adversary
    if not played.flag.any():
        if played.failed is not None and played.failed.all():
            return None  # it failed before anything could differ
        return NothingTested(
            f"{adversary.name} hands {learner.name} the same in both worlds, so its games test nothing. "
            "Let an example or a query differ, or choose another adversary."
        )
    if not isinstance(learner, ReceivesPart) or (pairs := [*_list_training_pairs(played)]) == []:
        return None
    differ = {
        part
        for first, second in pairs
        for part, data in learner.read_parts(first).items()
        if not _is_same(data, learner.read_parts(second)[part])
    }
    if learner.receives in differ:
        return None
    others = " or ".join(f"receives={part}" for part in learner.read_parts(pairs[0][0]) if part in differ)
    return NothingTested(
        f"{learner.name} receives {learner.receives} only, which {adversary.name} leaves the same in both "
        f"worlds, so its games test nothing. " + (f"Set {others}." if others else "Choose another adversary.")
    )


def _list_training_pairs(played: Played) -> Iterator[tuple[Sample, Sample]]:
    """The distinct pairs of training sets that the two games of a pair received."""
    samples = [
        entry.training.samples[which]
        for batch in played.single_games or (played,)
        for entry in ([] if batch.transcript is None else batch.transcript.entries)
        if isinstance(entry, TrainingEntry)
        for which in entry.training.which
    ]
    yield from dict.fromkeys(zip(samples[::2], samples[1::2], strict=False))


def _is_same(first: object, second: object) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return all(map(np.array_equal, first, second))
    return np.array_equal(first, second)  # type: ignore[arg-type]
