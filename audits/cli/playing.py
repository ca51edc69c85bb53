"""`arena play`: one pair of games, written out."""

from __future__ import annotations

import click
import numpy as np

from arena import Played, play
from arena.randomness import block_seed
from arena.side_by_side import side_by_side
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
        text = _one(_recorded(found, block_seed(seed, 0), games=1))
    else:
        text = side_by_side(_recorded(found, block_seed(seed, 0), games=2))
    players = f"{summary(found.learner)}, against {summary(found.adversary)}"
    click.echo(f"{players}, under {found.referee.name}, seed {seed}\n\n{text}")


def _recorded(found: Match, seed: np.random.SeedSequence, *, games: int) -> Played:
    return play(found.learner, found.adversary, found.referee, games=games, seed=seed, record=True)


def _one(played: Played) -> str:
    assert played.transcript is not None
    assert played.mistakes is not None
    return f"{played.transcript.table(0)}\n\n{played.mistakes[0]} mistakes in {played.rounds} rounds"


COMMANDS = {"play": play_pair}
