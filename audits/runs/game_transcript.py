"""One pair of games, written out side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arena import Adversary, Learner, Played, Referee, play
from arena.randomness import block_seed


def side_by_side(
    learner: Learner, adversary: Adversary, referee: Referee, *, seed: int, faults: bool = False
) -> str:
    """A game in each world, with scores and what the worlds differ in; where there is one world, one game.

    faults: as `arena.play` has it.

    Raises: whatever a referee raises in a game.
    """
    return written(one_of_each(learner, adversary, referee, seed=seed, faults=faults))


def one_of_each(
    learner: Learner, adversary: Adversary, referee: Referee, *, seed: int, faults: bool = False
) -> tuple[Played, ...]:
    """The recorded games that `side_by_side` writes: one table of both; or where every game is played alone,
    that of world 0 and that of world 1; where there is one world, one game."""
    games, coins = 2 if referee.two_worlds else 1, block_seed(seed, 0)
    played = play(learner, adversary, referee, games=games, seed=coins, faults=faults, record=True)
    return tuple(sorted(played.single_games, key=lambda one: bool(one.worlds[0]))) or (played,)


def written(tables: Sequence[Played]) -> str:
    """Recorded games as text."""
    if len(tables) == len(tables[0].worlds) == 1:  # of one world
        return _one(tables[0])
    return "\n\n".join(_worlds(played) for played in tables)


def _worlds(played: Played) -> str:
    """Every game, world 0 first."""
    order = [int(game) for game in np.argsort(played.worlds)]
    assert played.transcript is not None
    outcomes = [f"world {int(played.worlds[game])}: {_outcome(played, game)}" for game in order]
    differ = " and ".join(sorted(played.challenges))
    outcomes.append(f"The worlds differ in {differ}." if differ else "The worlds do not differ.")
    return played.transcript.table(*order) + "\n\n" + "\n".join(outcomes)


def _outcome(played: Played, game: int) -> str:
    parts = ["no score" if played.score is None else f"score {played.score[game]:.6g}"]
    if played.failed is not None and played.failed[game]:
        parts.append("the learner failed")
    if played.halted is not None:
        parts.append("the learner halted" if played.halted[game] else "the learner did not halt")
    if played.mistakes is not None:
        parts.append(f"{played.mistakes[game]} mistakes in {played.rounds} rounds")
    return ", ".join(parts)


def _one(played: Played) -> str:
    assert played.transcript is not None
    assert played.mistakes is not None
    return f"{played.transcript.table(0)}\n\n{played.mistakes[0]} mistakes in {played.rounds} rounds"
