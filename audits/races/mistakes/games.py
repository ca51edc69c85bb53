"""The games of a race: blocks of them, played anywhere, with figures that do not depend on where."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial

import attrs
import numpy as np

from arena import InvalidArgument, Realizable, Referee, play
from arena.testing import check_adversary
from audits.races.mistakes.plan import Contest, Entrant, Race
from audits.races.mistakes.result import RaceResult, bounds_of, result_of
from audits.runs.workers import Workers, in_order

_CHECKED = 64  # rounds of the games by which an adversary is checked


def run(race: Race, *, jobs: int | Workers = 1, watch: Callable[[int], None] | None = None) -> RaceResult:
    """Play the race.

    jobs: processes, or `Workers`; the figures do not depend on them. watch: called after every block with the
    games that have been played.

    Raises: NotConforming if an adversary fails `arena.testing.check_adversary`, with which a race begins:
    were games to hang together, limits would hold no more; whatever a referee raises in a game; WorkersFailed
    of the workers.
    """
    for entrant in race.entrants:
        bounds_of(race, entrant)  # what they refuse is better refused before the games
        _check(entrant, race.rounds)
    return result_of(race, play_all(race, partial(play_block, race), jobs, watch))


def play_all(
    race: Contest,
    play_one: Callable[[tuple[int, int]], np.ndarray],
    jobs: int | Workers,
    watch: Callable[[int], None] | None,
) -> list[np.ndarray]:
    """The figures (..., n) of all games of each learner. play_one: those of (number of the entrant, block).

    jobs, watch: as of `run`.
    """
    workers = Workers.of(jobs)
    tasks = [(number, block) for number in range(len(race.entrants)) for block in range(race.blocks)]
    blocks: list[list[np.ndarray]] = [[] for _ in race.entrants]
    played = 0
    with closing(in_order(play_one, tasks, workers)) as results:
        for (number, _), figures in zip(tasks, results, strict=True):
            blocks[number].append(figures)
            played += figures.shape[-1]
            if watch is not None:
                watch(played)
    return [np.concatenate(parts, axis=-1) for parts in blocks]


def play_block(race: Race, task: tuple[int, int]) -> np.ndarray:
    """(k, n): what the games of a block come to at the marks. task: (number of the entrant, block)."""
    entrant = race.entrants[task[0]]
    noted = play(
        entrant.learner,
        entrant.adversary,
        entrant.referee,
        games=race.games_in(task[1]),
        seed=race.seed_of(*task),
        scorebook=race.scorebook(entrant),
    ).mistake_counts
    assert noted is not None
    return noted.mistakes if noted.least is None else noted.mistakes - noted.least


def _check(entrant: Entrant, rounds: int) -> None:
    """Check the adversary on games that are short, where it can play such."""
    adversary, referee = entrant.adversary, entrant.referee
    if "rounds" in attrs.fields_dict(type(adversary)) and rounds > _CHECKED:
        try:
            adversary = attrs.evolve(adversary, rounds=_CHECKED)  # type: ignore[call-arg]
            referee = _shortened(referee)
        except InvalidArgument:  # its other settings need more rounds
            adversary = entrant.adversary
    check_adversary(adversary, entrant.learner, referee)


def _shortened(referee: Referee) -> Referee:
    if isinstance(referee, Realizable):
        return attrs.evolve(referee, referee=attrs.evolve(referee.referee, T=_CHECKED))
    return attrs.evolve(referee, T=_CHECKED)  # type: ignore[call-arg]
