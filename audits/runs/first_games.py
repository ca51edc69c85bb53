"""The first games of an audit: whether they could refute anything, whatever the players do in them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator

import numpy as np

from arena import ArenaError, Learner, LearnerFails, NothingTested, Played, PlayerError, Sample, play
from arena.capabilities import ReceivesPart
from arena.errors import describe_error, format_place, is_users_file, locate_error
from arena.randomness import block_seed
from arena.transcript import TrainingEntry
from audits.runs.blocks import check_outcome
from audits.runs.plan import Plan

_FIRST_PAIRS = 32  # if their worlds do not differ, the whole first block is played


def check_first_games(plan: Plan) -> None:
    """Check that the games of a plan could show a violation, and warn if the learner fails in both worlds.

    To fail in one world only is evidence, which an audit with `faults` weighs.

    Raises: NothingTested if the worlds never differ in what the learner receives, or if the learner fails in
    every game; whatever `arena.play` and `check_outcome` raise.
    """
    for pairs in (min(_FIRST_PAIRS, plan.pairs(0)), plan.pairs(0)):
        played = _play_first(plan, pairs)
        fault = _find_same_data(plan, played)
        if fault is None:
            break
    else:
        raise fault
    if played.failed is not None and played.failure is not None:
        if all(played.failed[played.worlds == world].any() for world in (False, True)):
            failures, games = int(played.failed.sum()), len(played.worlds)
            report_failures(plan.learner, played.failure, failures, games, "games")


def report_failures(learner: Learner, first: ArenaError | str, failures: int, tried: int, units: str) -> None:
    """Say how often the learner failed, and how it did so first.

    units: what was tried, in the plural. Raises: NothingTested if it always failed.
    """
    text = first if isinstance(first, str) else describe_failure(first, learner)
    if failures < tried:
        share = f"{failures:,} of the first {tried:,} {units} ({100 * failures / tried:.2g} %)"
        warnings.warn(f"{learner.name} failed in {share}, first: {text}", LearnerFails, stacklevel=2)
        return
    raise NothingTested(
        f"{learner.name} failed in, or declined, all of {tried:,} {units}, so nothing was tested; first: {text}. "
        "Fix the learner, or set what it needs."
    )


def describe_failure(error: ArenaError, learner: Learner) -> str:
    """What a learner raised, and where: the line that did, or that of the learner's definition."""
    is_own = isinstance(error, PlayerError)
    text = str(error) if is_own else describe_error(error)
    place = locate_error(error) or _locate_definition(learner)
    return text if (is_own and error.place) or not place else f"{text} ({place})"


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
