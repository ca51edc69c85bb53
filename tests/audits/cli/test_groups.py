"""What all commands share: groups, help, mistyped names, errors, completion, colours, progress."""

from __future__ import annotations

import functools
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner
from support.command_line import Command, Terminal
from support.processes import wait_until
from tqdm import tqdm

import audits
from audits import cli
from audits.cli import output as output_module
from audits.cli.output import Output, colour_verdicts

arena = Command()


def complete(*words: str, incomplete: str = "") -> list[str]:
    completer = ShellComplete(cli.arena, {}, "arena", "_ARENA_COMPLETE")
    return [item.value for item in completer.get_completions([*words], incomplete)]


@pytest.mark.parametrize("group", [(), ("runs",)])
def test_a_bare_group_shows_its_help(group: tuple[str, ...]) -> None:
    assert arena.text(*group) == arena.text(*group, "--help")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("report", "run.ledger"), "arena runs report"),
        (("resume", "run.ledger"), "arena runs resume"),
        (("export",), "arena runs export"),
        (("adit",), "arena audit"),
        (("runs", "."), "arena runs list ."),
        (("runs", "verfy"), "arena runs verify"),
    ],
)
def test_mistyped_names_are_answered_with_the_command(words: tuple[str, ...], meant: str) -> None:
    assert f"Did you mean {meant}?" in arena.refusal(*words)


def test_short_options_and_synonyms() -> None:
    def read(*options: str) -> Any:
        found = arena.json("search", "laplace-count", "--examples", "3", "-q", "-j", "1", *options)
        return found["error"]

    assert read("--confidence", "0.9") == read("--error", "0.1") == 0.1
    assert "--error" not in arena.text("search", "--help")


def test_debugging_may_be_asked_for_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.cli.show.find_player", lambda name: 1 / 0)
    with monkeypatch.context() as debugging:
        debugging.setenv("ARENA_DEBUG", "1")
        assert isinstance(arena("show", "x").exception, ZeroDivisionError)
    for words in (("--debug", "show", "x"), ("show", "--debug", "x"), ("show", "x", "--debug")):
        assert isinstance(arena(*words).exception, ZeroDivisionError)


def test_shells_complete_commands_players_and_settings() -> None:
    assert complete(incomplete="au") == ["audit"]
    assert complete("runs", incomplete="re") == ["report", "resume"]
    assert complete("show", incomplete="laplace-c") == ["laplace-count"]
    assert complete("audit", "laplace-count", "--against", incomplete="count-") == ["count-swap"]
    words = ("audit", "laplace-count", "--against", "count-swap", "--set")
    assert complete(*words, incomplete="eps") == ["epsilon="]
    assert complete(*words, incomplete="adv") == ["adversary.sample="]
    assert complete("list", "--protocol", incomplete="Rel") == ["Release"]
    assert "race" in complete()
    assert "--version" in complete(incomplete="--v")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_that_completes_is_printed(shell: str) -> None:
    assert f"_ARENA_COMPLETE={shell}_source arena" in arena.text("completion", shell)


@pytest.mark.thorough
def test_verdicts_are_coloured_on_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["audit", "laplace-count", "--against", "count-swap", "--games", "300", "-q"]
    red = click.style("Refuted", fg="red", bold=True)
    green = click.style("Not refuted", fg="green", bold=False)
    assert colour_verdicts("Refuted: x\nNot refuted") == f"{red}: x\n{green}"
    assert "\x1b" not in CliRunner().invoke(cli.arena, words, color=True).stdout
    monkeypatch.setattr("audits.cli.output._has_colour", lambda: True)
    assert green in CliRunner().invoke(cli.arena, words, color=True).stdout


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert output_module._has_colour()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output_module._has_colour()


@pytest.mark.parametrize("words", [("-h",), ("list", "--help"), ("runs", "watch", "-h")], ids=" ".join)
def test_every_command_explains_itself(words: tuple[str, ...]) -> None:
    assert arena.text(*words).startswith(" ".join(["Usage: arena", *words[:-1]]))


def test_the_version_is_printed() -> None:
    assert arena("--version").stdout.startswith("arena, dp-arena ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("xyzzy", "No such command 'xyzzy'. See arena --help."),
        ("lst", "No such command 'lst'. Did you mean arena list? See arena --help."),
        ("show", "Missing argument 'PLAYER'. See arena show --help."),
        (f"show {__file__}:Command", f"{__file__}:Command is no player: it is neither a subclass of arena."),
    ],
)
def test_bad_use_is_one_line_and_status_2(words: str, message: str) -> None:
    assert arena.refusal(*words.split()).startswith(message)


LARGE = "make the data, the sizes of the players (--set), --rounds or --jobs smaller"


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ZeroDivisionError("no"), 1, "unexpected ZeroDivisionError: no; --debug shows the traceback"),
        (KeyboardInterrupt(), 130, "interrupted: the command was not finished"),
        (MemoryError(), 2, f"not enough memory: {LARGE}"),
        (
            MemoryError("no 8.00 TiB for an array"),
            2,
            f"not enough memory (no 8.00 TiB for an array): {LARGE}",
        ),
    ],
)
def test_an_error_is_one_line_with_its_status(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, said: str
) -> None:
    def fail(name: str) -> None:
        raise error

    monkeypatch.delenv("ARENA_DEBUG", raising=False)
    monkeypatch.setattr("audits.cli.show.find_player", fail)
    failed = arena("show", "static-erm")
    assert (failed.exit_code, failed.stdout, failed.stderr) == (status, "", f"arena: {said}\n")


def test_too_little_memory_for_a_player_is_told_likewise() -> None:
    refused = arena.refusal("audit", "everlasting-v2", "--against", "query-swap", "--set", "teachers=1e12")
    assert refused.startswith("not enough memory (learner everlasting-v2 raised MemoryError: Unable to ")
    assert refused.endswith(f": {LARGE}")


@contextmanager
def open_terminal() -> Iterator[Terminal]:
    """Standard error as a terminal, within a test: pytest replaces it before each phase of one."""
    shown = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", shown)
        yield shown


def test_a_stage_shows_how_much_is_done_and_an_estimate() -> None:
    with open_terminal() as terminal, Output(quiet=False, as_json=False).stage_progress() as show:
        show("training", 0, 0)
        show("rounds", 0, 4)
        time.sleep(0.15)  # the bar is drawn every tenth of a second
        show("rounds", 2, 4)
    text = terminal.getvalue()
    assert "training: 0 done" in text
    assert re.search(r"rounds:  50%.* 2/4 \[\d\d:\d\d<\d\d:", text)
    assert text.endswith("\r"), "the bar is removed"


def test_the_clock_goes_on_in_a_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_module, "_REFRESH", 0.02)
    with open_terminal() as terminal, Output(quiet=False, as_json=False).stage_progress() as show:
        show("training", 0, 0)
        before = terminal.getvalue().count("training")
        wait_until(lambda: terminal.getvalue().count("training") > before + 1)


@pytest.mark.parametrize("options", [{"quiet": True, "as_json": False}, {"quiet": False, "as_json": True}])
def test_nothing_is_shown_beside_json_or_if_quiet(options: dict[str, bool]) -> None:
    with open_terminal() as terminal, Output(**options).stage_progress() as show:
        show("rounds", 1, 2)
    assert terminal.getvalue() == ""


@pytest.mark.thorough
@pytest.mark.parametrize("quiet", [False, True])
def test_an_audit_shows_its_games_and_its_bound_unless_quiet(
    monkeypatch: pytest.MonkeyPatch, quiet: bool
) -> None:
    monkeypatch.setattr("tqdm.tqdm", functools.partial(tqdm, mininterval=0))
    words = [*["audit", "laplace-count", "--against", "count-swap", "--games", "1000"], *["--quiet"] * quiet]
    with open_terminal() as terminal, pytest.raises(SystemExit):
        cli.arena.main(words)
    assert ("1.00k/1.00k" in terminal.getvalue() and "ε ≥ 0." in terminal.getvalue()) is not quiet


def test_nothing_is_shown_without_a_terminal() -> None:
    assert Command("play", "laplace-count", "--against", "count-swap")().stderr == ""


@pytest.mark.thorough
def test_the_solver_reports_every_stage_up_to_its_whole() -> None:
    seen: dict[str, list[tuple[int, int]]] = {}
    audits.solve(
        "above-threshold",
        rounds=3,
        settings={"size": 5, "epsilon": 1.0},
        watch=lambda stage, done, total: seen.setdefault(stage, []).append((done, total)),
    )
    assert {"matrices", "rounds", "values"} <= seen.keys()
    for stage, steps in seen.items():
        assert all(0 <= done <= total for done, total in steps), stage
    values = [done for done, total in seen["values"] if total == seen["values"][0][1]]
    assert len(values) > 2


def test_the_pairs_of_samples_are_counted() -> None:
    stages = []
    audits.solve(
        "noisy-votes",
        rounds=1,
        worst_samples=True,
        settings={"concepts": "thresholds:1..3", "size": 2, "answers": 1},
        watch=lambda *progress: stages.append(progress),
    )
    pairs = [(done, total) for stage, done, total in stages if stage == "pairs of samples"]
    assert pairs[0] == (0, 0)
    assert [done for done, _ in pairs[1:]] == [*range(pairs[-1][1])]
