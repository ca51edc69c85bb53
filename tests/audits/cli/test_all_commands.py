"""What all commands share: help, errors, exit status."""

from __future__ import annotations

import pytest
from support.command_line import Command

arena = Command()


@pytest.mark.parametrize("command", [[], ["list"], ["show"], ["play"], ["audit"], ["exact"]])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_explains_itself(command: list[str], flag: str) -> None:
    shown = arena(*command, flag)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(" ".join(["Usage: arena", *command]))


def test_the_help_names_units_exit_status_and_examples() -> None:
    shown = " ".join(arena("audit", "--help").stdout.split())
    for text in (
        "in nats",
        "a probability",
        "3 refuted",
        "arena audit everlasting-v1 --against halt-counter",
    ):
        assert text in shown


def test_the_version_is_printed() -> None:
    assert arena("--version").stdout.startswith("arena, dp-arena ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lst"], "arena: No such command 'lst'. Did you mean arena list? See arena --help."),
        (
            ["audit", "static-erm", "--against", "reconstruct", "--epsilon", "nan"],
            "arena: Invalid value for '--epsilon': --epsilon must be a finite number, got 'nan'. "
            "See arena audit --help.",
        ),
        (
            ["show", f"{__file__}:Command"],
            f"arena: {__file__}:Command is no player: it is neither a subclass of arena.Learner nor of "
            "arena.Adversary. Name a subclass of one of them.",
        ),
        (["show"], "arena: Missing argument 'PLAYER'. See arena show --help."),
        (
            ["race", "soa"],
            "arena: a race of online learners needs an adversary. Name it: --against adaptive.",
        ),
    ],
)
def test_bad_use_is_one_line_and_status_2(arguments: list[str], message: str) -> None:
    refused = arena(*arguments)
    assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", message + "\n")


def test_an_unexpected_error_is_one_line_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARENA_DEBUG", raising=False)
    monkeypatch.setattr("audits.cli.show.find_player", lambda name: 1 / 0)
    failed = arena("show", "static-erm")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr == (
        "arena: unexpected ZeroDivisionError: division by zero; --debug shows the traceback\n"
    )


def test_debugging_lets_errors_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_DEBUG", "1")
    monkeypatch.setattr("audits.cli.show.find_player", lambda name: 1 / 0)
    assert isinstance(arena("show", "static-erm").exception, ZeroDivisionError)
    assert arena("show").exit_code == 2


def test_too_little_memory_for_a_player_is_told_likewise() -> None:
    refused = arena.refusal("audit", "everlasting-v2", "--against", "query-swap", "--set", "teachers=1e12")
    assert refused.startswith("not enough memory (learner everlasting-v2 raised MemoryError: Unable to ")
    assert refused.endswith(": make the data, the sizes of the players (--set), --rounds or --jobs smaller")


def test_an_interruption_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audits.cli.show.find_player", interrupt)
    stopped = arena("show", "static-erm")
    assert (stopped.exit_code, stopped.stdout) == (130, "")
    assert stopped.stderr == "arena: interrupted: the command was not finished\n"


@pytest.mark.parametrize("text", ["", "Unable to allocate 8.00 TiB for an array"])
def test_too_little_memory_is_status_2_with_what_to_make_smaller(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def fill_memory(name: str) -> None:
        raise MemoryError(text)

    monkeypatch.setattr("audits.cli.show.find_player", fill_memory)
    reason = f" ({text})" if text else ""
    assert arena.refusal("show", "static-erm") == (
        f"not enough memory{reason}: make the data, the sizes of the players (--set), --rounds or --jobs "
        "smaller"
    )
