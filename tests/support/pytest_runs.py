"""Runs of pytest with this plug-in, in this process or in one of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from support.paths import ROOT

PLUGIN = "audits.pytest_plugin"
# Newer versions of pytest warn of plug-ins in PYTEST_PLUGINS, which they import twice.
TWICE = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
UNCACHED = ("-p", "no:cacheprovider")
COMMAND = ("-W", "error", "-W", TWICE, "--strict-markers")
WORKERS = ("-p", "xdist", "-n", "2")


@attrs.frozen
class Run:
    """What a run of pytest printed, and its status."""

    status: int
    text: str


def make_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """Run pytest in this process, with this plug-in and no other."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", PLUGIN)
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        monkeypatch.delenv(name, raising=False)

    def run_in_process(source: str, *options: str, ini: str = "", cached: bool = False) -> Run:
        pytester.makepyfile(test_them=source)
        pytester.makefile(".ini", pytest=f"[pytest]\n{ini}")
        result = pytester.runpytest_inprocess(*(() if cached else UNCACHED), *COMMAND, *options)
        return Run(int(result.ret), result.stdout.str() + result.stderr.str())

    return run_in_process


def run_process(folder: Path, source: str, *options: str, ini: str = "", file: str = "test_them.py") -> Run:
    """The same in a process of its own, and with xdist where it is asked for."""
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(source)
    (folder / "pytest.ini").write_text(f"[pytest]\n{ini}")
    environment = os.environ | {
        "COLUMNS": "200",
        "PYTEST_ADDOPTS": "",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": PLUGIN,
        "PYTHONPATH": str(ROOT),
    }
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "pytest", *COMMAND, *options]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return Run(done.returncode, done.stdout + done.stderr)
