"""The worked examples run and give the results that their pages state."""

from __future__ import annotations

import runpy
import subprocess
import sys

import pytest
from support.paths import ROOT

LIBRARIES = ROOT / "examples" / "libraries.py"


@pytest.mark.thorough
def test_textbook_laplace_is_refuted_only_by_its_last_bits() -> None:
    example = runpy.run_path(str(LIBRARIES))
    assert [[row[1], row[2], row[-1]] for row in example["audit_all"]((example["numpy_functions"],))] == [
        ["Laplace", "count-swap", "stands"],
        ["Laplace", "low-bits", "is REFUTED"],
        ["Laplace, rounded", "count-swap", "stands"],
        ["Laplace, rounded", "low-bits", "stands"],
    ]


def test_a_missing_library_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    def no_functions():  # type: ignore[no-untyped-def]
        import no_such_library  # type: ignore[import-not-found]

        yield no_such_library

    assert runpy.run_path(str(LIBRARIES))["audit_all"]((no_functions,)) == []
    assert capsys.readouterr().out == "no_functions is skipped: No module named 'no_such_library'\n"


@pytest.mark.slow
def test_mechanisms_of_libraries() -> None:
    """A correct claim is refuted with probability 1 % in an audit; those that low-bits refutes always are."""
    pytest.importorskip("opendp")
    pytest.importorskip("diffprivlib")
    done = subprocess.run(
        [sys.executable, str(LIBRARIES)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    refuted = {tuple(line.split()[:2]) for line in done.stdout.split("\n") if "REFUTED" in line}
    assert {("numpy", "Laplace"), ("diffprivlib", "Laplace"), ("diffprivlib", "Gaussian")} <= refuted
    assert len(done.stdout.split("\n")) > 20
