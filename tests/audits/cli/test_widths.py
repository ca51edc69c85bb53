"""Outputs of commands, recorded on terminals of several widths: no line is longer, and no word is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import Command, print_on_terminal

from audits.cli import arena as group

WIDTHS = (60, 80, 100, 200)
COUNT = ("laplace-count", "--against", "count-swap")
MINE = """
def noisy_sum(points, rng):
    return points.sum() + rng.laplace(scale=1.0)
"""
RUNS = ("list", "report", "watch", "resume", "merge", "verify", "export")
HELP = [("--help",), ("runs", "--help"), *((name, "--help") for name in group.list_commands(None))]  # type: ignore[arg-type]
HELP += [("runs", name, "--help") for name in RUNS]
QUICK = [
    *(("show", name) for name in ("laplace-count", "everlasting-v1", "dp-winnow", "halt-counter", "svt-1")),
    ("show", "thresholds:1..7"),
    ("list", "winnow"),
    ("runs", "list", "."),
    ("audit", "laplace-cuont", "--epsilon", "1"),
    ("audit", "laplace-count", "--set", "epsilom=1"),
    ("audit", "static-erm"),
    ("certify", "none.csv", "--column", "score", "--world", "world"),
    ("frobnicate",),
]
PLAYED = [
    ("list",),
    ("audit", *COUNT, "--games", "40", "--estimators", "--seed", "1"),
    ("audit", "laplace-count", "--games", "40", "--epsilon", "0.1"),
    ("play", "noisy-majority", "--against", "contrarian", "--rounds", "12"),
    ("play", "everlasting-v1", "--against", "halt-counter", "--set", "teachers=201"),
    ("race", "soa", "halving", "--against", "shattered-tree", "--rounds", "6", "--games", "4"),
    ("exact", "svt-1"),
    ("solve", "noisy-votes", "--set", "size=5", "--set", "answers=1", "--rounds", "1"),
    ("search", "laplace-count", "--examples", "2", "--games", "64"),
]


def check_widths(words: tuple[str, ...]) -> None:
    texts = {width: "".join(print_on_terminal(*words, width=width)) for width in WIDTHS}
    for width, text in texts.items():
        assert text.strip()
        assert [line for line in text.split("\n") if len(line) > width] == []
    known = find_words(texts[WIDTHS[-1]])
    for text in texts.values():
        broken = {word for word in find_words(text) - known if any(word in whole for whole in known)}
        assert not broken


def find_words(text: str) -> set[str]:
    """The words of a text, but figures, which may be times, and the rules of tables."""
    words = text.replace(" \\\n", " ").split()
    return {word for word in words if set(word) - {"-"} and not any(letter.isdigit() for letter in word)}


@pytest.mark.thorough
def test_help_and_descriptions_and_refusals_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (*HELP, *QUICK):
        check_widths(words)


@pytest.mark.thorough
@pytest.mark.parametrize("words", PLAYED, ids=lambda words: " ".join(words[:2]))
def test_results_fit(words: tuple[str, ...]) -> None:
    check_widths(words)


@pytest.mark.thorough
def test_what_a_search_found_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    words = ("search", "mine.py:noisy_sum", "--set", "receives=points", "--set", "epsilon=1")
    output, _ = print_on_terminal(*words, width=60)
    assert max(map(len, output.split("\n"))) <= 60
    assert "Refuted: with confidence" in output


def test_a_pipe_gets_whole_lines_whatever_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = []
    for width in ("60", "200"):
        monkeypatch.setenv("COLUMNS", width)
        printed.append(Command("show", "laplace-count").text())
    assert printed[0] == printed[1]
    assert max(map(len, printed[0].split("\n"))) > 60
