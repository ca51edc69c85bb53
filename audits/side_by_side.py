"""One pair of games, written out side by side."""

from __future__ import annotations

from itertools import count

import numpy as np

from arena import Adversary, GameAdversary, Learner, Played, Referee, play
from arena.randomness import block_seed


def side_by_side(
    learner: Learner, adversary: Adversary, referee: Referee, *, seed: int, faults: bool = False
) -> str:
    """A game in each world, with scores and what the worlds differ in; where there is one world, one game.

    faults: as `arena.play` has it.

    Raises: whatever a referee raises in a game.
    """
    games = _Games(learner, adversary, referee, faults)
    if not referee.two_worlds:
        return _one(games.recorded(block_seed(seed, 0), games=1))
    if faults or isinstance(adversary, GameAdversary):
        return "\n\n".join(_worlds(played) for played in games.one_of_each(seed))
    return _worlds(games.recorded(block_seed(seed, 0), games=2))


class _Games:
    def __init__(self, learner: Learner, adversary: Adversary, referee: Referee, faults: bool) -> None:
        self._players = learner, adversary, referee
        self._faults = faults

    def recorded(self, seed: np.random.SeedSequence, *, games: int) -> Played:
        return play(*self._players, games=games, seed=seed, faults=self._faults, record=True)

    def one_of_each(self, seed: int) -> list[Played]:
        """A game in world 0 and one in world 1, tried until the referee's coin has fallen on both sides."""
        kept: dict[bool, Played] = {}
        for attempt in count():
            played = self.recorded(block_seed(seed, attempt), games=1)
            kept.setdefault(bool(played.worlds[0]), played)
            if len(kept) == 2:
                break
        return [kept[False], kept[True]]


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
