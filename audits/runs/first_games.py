"""The first games of an audit: whether they could refute anything, whatever the players do in them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator

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
from arena.testing import check_learner
from audits.runs.blocks import check_outcome
from audits.runs.plan import Plan

REFUSALS = (PlayerError, InvalidArgument, BudgetExceeded)  # what a learner raises that cannot play a game

_FIRST_PAIRS = 32
_MORE_PAIRS = 1_024  # played if the worlds of the first do not differ, as some challenges are rare
_checked: set[Learner] = set()  # learners that have passed `check_learner` in this process


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
