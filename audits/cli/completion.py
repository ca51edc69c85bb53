"""`arena completion`: how a shell completes commands, and the names of players, settings and protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import attrs
import click
from click.shell_completion import CompletionItem

from arena.errors import ArenaError

_LINES = {
    "bash": ("~/.bashrc", 'eval "$(_ARENA_COMPLETE=bash_source arena)"'),
    "zsh": ("~/.zshrc, below compinit", 'eval "$(_ARENA_COMPLETE=zsh_source arena)"'),
    "fish": ("~/.config/fish/completions/arena.fish", "_ARENA_COMPLETE=fish_source arena | source"),
}


@click.command("completion")
@click.argument("shell", type=click.Choice(list(_LINES)))
def completion(shell: str) -> None:
    """Print the line that makes SHELL complete commands, options, players and their settings.

    Add the line to the file that it names, and open a new shell. Then for instance `arena show ever` and the
    tab key list the players whose names begin so, and `--set` lists the settings of the learner.

    \b
    Example:
      arena completion bash
    """
    file, line = _LINES[shell]
    click.echo(f"# Add this line to {file}:\n{line}")


def _complete_players(*kinds: str) -> Callable[[click.Context, Any, str], list[CompletionItem]]:
    """The players of these kinds whose names begin so; files if there are none."""

    def complete(context: click.Context, parameter: Any, incomplete: str) -> list[CompletionItem]:
        from audits.registry.players import ADVERSARIES, LEARNERS  # slow to import

        label, equals, _ = incomplete.rpartition("=")  # LABEL=PLAYER
        names: list[str] = []
        with suppress(ArenaError):
            for registry in (LEARNERS, ADVERSARIES):
                names += registry.list_names() if registry.kind in kinds else []
        found = _match((f"{label}{equals}{name}" for name in names), incomplete)
        return found or [CompletionItem(incomplete, type="file")]

    return complete


complete_learners = _complete_players("learner")
complete_adversaries = _complete_players("adversary")
complete_players = _complete_players("learner", "adversary")


def complete_protocols(context: click.Context, parameter: Any, incomplete: str) -> list[CompletionItem]:
    """The protocols that some player plays."""
    from audits.registry.players import ADVERSARIES  # slow to import

    players = [player for player in ADVERSARIES.load_all().values() if not isinstance(player, ArenaError)]
    return _match({name for player in players for name in player.protocols}, incomplete)


def complete_settings(context: click.Context, parameter: Any, incomplete: str) -> list[CompletionItem]:
    """The settings of the players that the words so far name, each with an equals sign."""
    given = context.params
    # After an option without its value click has parsed no arguments: they are still in context.args.
    learners = given.get("learners") or [given.get("learner") or given.get("player")]
    learners = [learner for learner in learners if learner] or context.args[:1]
    names: list[str] = []
    for text in learners:
        label, equals, player = text.partition("=")
        settings = _list_settings(player if equals else text)
        names += [*settings, *(f"{label}.{name}" for name in settings if len(learners) > 1)]
    if given.get("against"):
        names += [f"adversary.{name}" for name in _list_settings(given["against"])]
    return _match((f"{name}=" for name in dict.fromkeys(names)), incomplete)


def _list_settings(player: str) -> list[str]:
    from audits.registry.players import find_player  # slow to import

    try:
        fields = [field.name for field in attrs.fields(find_player(player))]
        return [name for name in fields if name != "learner"]  # an adversary is given its opponent
    except (ArenaError, TypeError, OSError):
        return []


def _match(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]
