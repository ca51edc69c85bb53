"""A command of `arena`, run in this process."""

from __future__ import annotations

import json
from typing import Any

import attrs
from click.testing import CliRunner, Result

from audits import cli


@attrs.frozen
class Command:
    """`arena NAME`: call it with the arguments that follow."""

    name: str

    def __call__(self, *arguments: str) -> Result:
        return CliRunner().invoke(cli.arena, [self.name, *arguments])

    def found(self, *arguments: str) -> dict[str, Any]:
        """What it prints with --json, which is one line and nothing else."""
        done = self(*arguments, "--json")
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout.count("\n") == 1
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    def refusal(self, *arguments: str) -> str:
        """The one line with which it refuses, status 2."""
        refused = self(*arguments)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith("arena: ")
        assert refused.stderr.count("\n") == 1
        return refused.stderr.removeprefix("arena: ").rstrip("\n")
