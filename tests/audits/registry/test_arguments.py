"""Arguments of verbs that have a wrong kind, and optional packages that are missing."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import audits
from arena import InvalidArgument, NothingTested
from audits.registry.suggestions import explain_arguments
from audits.runs.learner_failures import refuse_failures
from audits.runs.run_page import RecordedRun
from audits.runs.workers import Workers
from learners.foreign.function import Function


@explain_arguments
def choose(
    *,
    games: Any = None,
    seed: Any = 0,
    ledger: Any = None,
    bits: Any = False,
    announce: Any = None,
    make: Any = None,
) -> str:
    return "played"


@pytest.mark.parametrize(
    "given",
    [{"games": "many"}, {"games": [1]}, {"seed": 1.5}, {"ledger": 1}, {"bits": "yes"}, {"announce": 1}],
)
def test_a_value_of_another_kind_is_refused_with_the_rule(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(InvalidArgument, match=f"{name} must be "):
        choose(**given)


def test_values_of_their_kinds_are_taken() -> None:
    assert choose(games=np.int64(5), ledger="run.ledger", bits=True, announce=print) == "played"
    assert choose(games=None, make=list) == "played"


def test_an_audit_says_what_games_are() -> None:
    with pytest.raises(InvalidArgument, match="games must be an integer, got 'many'"):
        audits.audit("laplace-count", games="many")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="jobs must be an integer"):
        Workers.from_jobs(1.5)  # type: ignore[arg-type]


def test_a_comparison_takes_several_results() -> None:
    with pytest.raises(InvalidArgument, match="several results"):
        audits.compare(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_table_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InvalidArgument, match=rf"needs {library}\. Run pip install 'dp-arena\[{library}\]'"):
        audits.table(age=st.integers(0, 9), library=library)


@pytest.mark.thorough
def test_a_page_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlite3")
    verdict = audits.audit("laplace-count", games=40, seed=1)
    assert isinstance(verdict.record, RecordedRun)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidArgument, match="needs matplotlib"):
        verdict.to_html()


def test_data_without_records_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="must hold a record"):
        audits.search(len, data=np.empty((0, 2)), epsilon=1.0)


def test_an_error_without_a_failure_names_none() -> None:
    error = refuse_failures(Function(function=len, epsilon=1.0), "", "against all of 0 adversaries")
    assert isinstance(error, NothingTested)
    assert "first:" not in str(error)
    assert "all of 0" not in str(error)
