"""Commands of `arena`, run in this process."""

from __future__ import annotations

import io
import json
import re
import signal
import subprocess
import sys
from typing import Any

import attrs
import pytest
from click.testing import CliRunner, Result
from support.paths import ROOT

from audits import cli

ARENA = (sys.executable, "-m", "audits.cli")
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TIMES = ("seconds", "games_per_second")
HEADER = ("schema", "kind", "version", "command")  # with which every JSON object begins
PLAYERS = ("players", "distinguisher")  # which follow, unless the command has no hold of the players


@attrs.frozen(init=False)
class Command:
    """`arena` and words that follow it: call it with more of them."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        self.__attrs_init__(words)  # type: ignore[attr-defined]

    def __call__(self, *arguments: object) -> Result:
        return CliRunner().invoke(cli.arena, [*self.words, *map(str, arguments)])

    def text(self, *arguments: object, status: int = 0) -> str:
        """What it prints on standard output, with that exit status."""
        result = self(*arguments)
        assert result.exit_code == status, result.stderr
        return result.stdout

    def json(self, *arguments: object, status: int = 0, notes: bool = False) -> dict[str, Any]:
        """What it prints with --json, which is one line, after its header. notes: may it print notes."""
        result = self(*arguments, "--json")
        assert result.exit_code == status, result.stderr
        assert notes or result.stderr == ""
        assert result.stdout.count("\n") == 1
        entries = json.loads(result.stdout)
        assert tuple(entries)[: len(HEADER)] == HEADER
        assert entries["command"].startswith("arena ")
        return {name: entry for name, entry in entries.items() if name not in (*HEADER, *PLAYERS)}

    def refusal(self, *arguments: object) -> str:
        """The one line of an error, with status 2. There may be notes before it."""
        refused = self(*arguments)
        assert (refused.exit_code, refused.stdout) == (2, "")
        lines = [line for line in refused.stderr.splitlines() if not line.startswith("arena: note: ")]
        assert len(lines) == 1
        assert lines[0].startswith("arena: ")
        return lines[0].removeprefix("arena: ")


class Terminal(io.StringIO):
    """What a command takes for a terminal."""

    def isatty(self) -> bool:
        return True


def print_on_terminal(*words: str, width: int) -> tuple[str, str]:
    """What a command prints on a terminal without colours of so many columns: its output, its errors."""
    streams = Terminal(), Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setenv("NO_COLOR", "1")
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        with pytest.raises(SystemExit):
            cli.arena.main([*words], prog_name="arena")
    output, errors = (stream.getvalue() for stream in streams)
    bars = [line for line in errors.split("\n") if "\r" not in line]  # they are wiped out
    return output, "\n".join(bars)


def start(*words: object) -> subprocess.Popen[str]:
    """`arena` and these words in a process group of its own, all of whose output can be read."""
    return subprocess.Popen(
        [*ARENA, *map(str, words)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # A suite that was started in the background has them ignored, and hands that down.
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in ENDING],
    )


def unify_refused_options(text: str) -> str:
    """click before 8.3 writes `No such option: --x`, later ones `No such option '--x'`."""
    return re.sub(r"No such option: (--\w[\w-]*)", r"No such option '\1'", text)


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    """The figures of a JSON result that do not depend on the clock."""
    return {name: value for name, value in result.items() if name not in TIMES}
