"""`arena play`: one pair of games, written out."""

from __future__ import annotations

import click

from audits.cli.options import MatchOptions, option_groups
from audits.cli.output import Output
from audits.registry.settings_text import summarize_player
from audits.reports.json_form import describe_players, to_data, to_json
from audits.runs.example_games import describe_games, format_games, play_example_games


@click.command("play")
@option_groups
def play(game: MatchOptions, output: Output) -> None:
    """Play LEARNER once in each world and print both games side by side.

    The columns of each game are what the learner gets, what it answers, and what the adversary sees. Under
    Adaptive and Oblivious there is one world, and one game is printed.

    \b
    Examples:
      arena play everlasting-v1 --against halt-counter
      arena play noisy-majority --against contrarian --rounds 20
    """
    match = game.build()
    output.print_notes(match.notes)
    rounds = match.referee.rounds or 0
    with output.stage_progress() as show:
        show("training", 0, 0)
        games = play_example_games(
            match.learner,
            match.adversary,
            match.referee,
            seed=game.seed,
            watch=lambda round: show("rounds" if round else "training", round, rounds if round else 0),
        )
    names = f"{summarize_player(match.learner)}, against {summarize_player(match.adversary)}"
    title = f"{names}, under {match.referee.name}, seed {game.seed}"
    entries = {
        **describe_players(match.learner, match.adversary),
        "protocol": match.referee.name,
        "seed": game.seed,
        "challenges": sorted(frozenset().union(*(played.challenges for played in games))),
    }
    output.print_result(
        games,
        lambda games: f"{title}\n\n{format_games(games)}",
        lambda games, header: to_json(to_data({**entries, "games": describe_games(games)}), header),
    )
