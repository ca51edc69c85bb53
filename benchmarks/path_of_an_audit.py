"""The files that an audit passes, from the command line to its verdict.

Runs `arena audit laplace-count` in this process and lists the files of `audits` and of `arena` of which a
function is executed. Code that runs while a module is imported is left out.

python benchmarks/path_of_an_audit.py [words of a command]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parent.parent
COMMAND = ("audit", "laplace-count")
PACKAGES = ("audits", "arena")


def trace_command(words: Sequence[str] = COMMAND) -> dict[str, list[str]]:
    """The files that a command passes, by package, in the order of their first function."""
    from audits.cli import arena

    executed: dict[CodeType, None] = {}
    imports = 0  # that are going on

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal imports
        if frame.f_code.co_name == "<module>":
            imports += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not imports:
            executed[frame.f_code] = None

    sys.setprofile(note)
    try:
        with suppress(SystemExit), redirect_stdout(StringIO()):
            arena.main([*words], prog_name="arena")
    finally:
        sys.setprofile(None)
    files = dict.fromkeys(Path(code.co_filename) for code in executed)
    own = [file.relative_to(ROOT) for file in files if file.is_relative_to(ROOT)]
    return {package: [str(file) for file in own if file.parts[0] == package] for package in PACKAGES}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for package, files in trace_command(sys.argv[1:] or COMMAND).items():
        print(f"{package}: {len(files)} files", *files, sep="\n  ")
