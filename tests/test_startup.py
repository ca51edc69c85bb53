"""Importing the packages imports no slow library. Who may import whom is in the contracts of setup.cfg."""

from __future__ import annotations

import json
import subprocess
import sys

from support.paths import ROOT

SLOW = {"scipy", "sklearn", "matplotlib", "networkx", "hypothesis"}


def test_importing_the_packages_imports_nothing_slow() -> None:
    code = (
        "import arena, audits.runs.run, learners.everlasting.paper_versions, json, sys;"
        "print(json.dumps(list(sys.modules)))"
    )
    command = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert not SLOW & set(json.loads(command.stdout))
