"""`arena play`: one pair of games, written out."""

from __future__ import annotations

import click

from audits.cli.options import takes_match
from audits.registry.match import Match
from audits.registry.settings_text import summary
from audits.runs.example_games import write_example_games


@click.command("play")
@takes_match
def play_pair(found: Match, *, seed: int, quiet: bool) -> None:
    """Play LEARNER once in each world and print both games side by side; where there is one world, one game.

    \b
    Examples:
      arena play everlasting-v1 --against halt-counter
      arena play noisy-majority --against contrarian --rounds 20
    """
    games = write_example_games(found.learner, found.adversary, found.referee, seed=seed)
    players = f"{summary(found.learner)}, against {summary(found.adversary)}"
    click.echo(f"{players}, under {found.referee.name}, seed {seed}\n\n{games}")


COMMANDS = {"play": play_pair}
