"""Refusals end with the whole command as it was probably meant, which then is not refused for the same."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support.command_line import Command

FUNCTIONS = """
import random

calls = []

def release(data, rng):
    return len(data) + rng.laplace()

def draw_globally(data):
    return len(data) + random.gauss(0, 1)

def fail_rarely(points, rng):
    calls.append(None)
    if len(calls) % 900 == 899:
        raise ValueError("rare")
    return points.sum() + rng.laplace()
"""
TABLES = {"two.csv": "a,b\n1,2\n3,4\n", "one.csv": "a,b\n1,2\n", "bits.csv": "score,bit\n1,0\n2,1\n"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(FUNCTIONS)
    for name, text in TABLES.items():
        Path(name).write_text(text)


def suggest(words: str) -> str:
    """The command that the refusal of another one names."""
    refused = Command(*shlex.split(words))()
    assert refused.exit_code == 2
    return refused.stderr.rstrip().rpartition("Try: arena ")[2]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("audit laplace-cuont --epsilon 1", "audit laplace-count --epsilon 1"),
        ("audit laplace-count --against cuont-swap", "audit laplace-count --against count-swap"),
        ("audit laplace-count --set epsilom=2", "audit laplace-count --set epsilon=2"),
        ("audit laplace-count --epsilom 2", "audit laplace-count --epsilon 2"),
        ("audit laplace-count --protocol Relase", "audit laplace-count --protocol Release"),
        ("audit laplace-count --distinguisher learnt", "audit laplace-count --distinguisher learned"),
        ("audit mine.py:relaese --epsilon 1", "audit mine.py:release --epsilon 1"),
        ("adit laplace-count --epsilon 1", "audit laplace-count --epsilon 1"),
        ("report run.ledger", "runs report run.ledger"),
        (
            "race few=soaa --against shattered-tree --rounds 5",
            "race few=soa --against shattered-tree --rounds 5",
        ),
        ("show laplac-count", "show laplace-count"),
        ("search mine.py:release", "search mine.py:release --epsilon 1"),
        ("certify bits.csv --column score --world bits", "certify bits.csv --column score --world bit"),
    ],
)
def test_mistyped_words_are_corrected_in_the_whole_command(words: str, meant: str) -> None:
    assert suggest(words) == meant


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "lacking"),
    [
        (
            "audit mine.py:release --epsilon 9 --games 200 --data two.csv --neighbour one.csv",
            "--neighbours 'add or remove one'",
        ),
        ("audit mine.py:fail_rarely --set receives=points --epsilon 9 --games 1000", "--faults"),
    ],
)
def test_what_a_command_lacks_is_added(words: str, lacking: str) -> None:
    assert suggest(words) == f"{words} {lacking}"


def test_names_that_are_close_to_nothing_are_not_corrected() -> None:
    refused = Command("audit", "qqqqqqqq")()
    assert refused.exit_code == 2
    assert "Try:" not in refused.stderr
