"""`arena play`: one pair of games, written out."""

from __future__ import annotations

from itertools import count

import click
import numpy as np

from arena import GameAdversary, Played, play
from arena.randomness import block_seed
from audits.cli.match import Match
from audits.cli.options import takes_match
from audits.settings import summary


@click.command("play")
@takes_match
def play_pair(found: Match, *, seed: int, quiet: bool) -> None:
    """Play LEARNER once in each world and print both games side by side; where there is one world, one game.

    \b
    Examples:
      arena play everlasting-v1 --against halt-counter
      arena play noisy-majority --against contrarian --rounds 20
    """
    if not found.referee.two_worlds:
        texts = [_one(_recorded(found, block_seed(seed, 0), games=1))]
    elif isinstance(found.adversary, GameAdversary):
        texts = [side_by_side(played) for played in _one_of_each(found, seed)]
    else:
        texts = [side_by_side(_recorded(found, block_seed(seed, 0), games=2))]
    players = f"{summary(found.learner)}, against {summary(found.adversary)}"
    click.echo("\n\n".join([f"{players}, under {found.referee.name}, seed {seed}", *texts]))


def _recorded(found: Match, seed: np.random.SeedSequence, *, games: int) -> Played:
    return play(found.learner, found.adversary, found.referee, games=games, seed=seed, record=True)


def _one_of_each(found: Match, seed: int) -> list[Played]:
    """A game in world 0 and one in world 1, tried until the referee's coin has fallen on both sides."""
    kept: dict[bool, Played] = {}
    for attempt in count():
        played = _recorded(found, block_seed(seed, attempt), games=1)
        kept.setdefault(bool(played.worlds[0]), played)
        if len(kept) == 2:
            break
    return [kept[False], kept[True]]


def side_by_side(played: Played) -> str:
    """Every game of a recorded table, world 0 first, and how they ended."""
    order = [int(game) for game in np.argsort(played.worlds)]
    assert played.transcript is not None
    outcomes = [f"world {int(played.worlds[game])}: {_outcome(played, game)}" for game in order]
    differ = " and ".join(sorted(played.challenges))
    outcomes.append(f"The worlds differ in {differ}." if differ else "The worlds do not differ.")
    return played.transcript.table(*order) + "\n\n" + "\n".join(outcomes)


def _outcome(played: Played, game: int) -> str:
    parts = ["no score" if played.score is None else f"score {played.score[game]:.6g}"]
    if played.halted is not None:
        parts.append("the learner halted" if played.halted[game] else "the learner did not halt")
    if played.mistakes is not None:
        parts.append(f"{played.mistakes[game]} mistakes in {played.rounds} rounds")
    return ", ".join(parts)


def _one(played: Played) -> str:
    assert played.transcript is not None
    assert played.mistakes is not None
    return f"{played.transcript.table(0)}\n\n{played.mistakes[0]} mistakes in {played.rounds} rounds"


COMMANDS = {"play": play_pair}
