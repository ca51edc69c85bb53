"""`arena play`: one pair of games, written out."""

from __future__ import annotations

import click

from audits.cli.option_groups import option_groups
from audits.cli.options import MatchOptions
from audits.cli.output import Quiet
from audits.registry.settings_text import summarize_player
from audits.runs.example_games import write_example_games


@click.command("play")
@option_groups
def play(game: MatchOptions, output: Quiet) -> None:
    """Play LEARNER once in each world and print both games side by side.

    Under a protocol of one world, one game is printed.

    \b
    Examples:
      arena play everlasting-v1 --against halt-counter
      arena play noisy-majority --against contrarian --rounds 20
    """
    match = game.build()
    output.print_notes(match.notes)
    games = write_example_games(match.learner, match.adversary, match.referee, seed=game.seed)
    names = f"{summarize_player(match.learner)}, against {summarize_player(match.adversary)}"
    click.echo(f"{names}, under {match.referee.name}, seed {game.seed}\n\n{games}")
