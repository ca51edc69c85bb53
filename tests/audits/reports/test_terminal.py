"""Text that fits a terminal: no line is longer, no word is broken, and a pipe gets the text as it is."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.command_line import Terminal
from tabulate import tabulate

from audits.reports.terminal import fit_prose, fit_text, measure_width

WORDS = st.text("abcdefgh-=.ε", min_size=1, max_size=18).filter(lambda word: set(word) - {"-"})
CELLS = st.lists(WORDS, max_size=6).map(" ".join)
WIDTHS = st.integers(60, 200)
LINES = st.builds(
    lambda indent, words: " " * indent + " ".join(words), st.integers(0, 12), st.lists(WORDS, max_size=60)
)


def words_of(text: str) -> list[str]:
    """All words, without the rules of tables."""
    return [word for word in text.split() if set(word) - {"-"}]


@pytest.mark.thorough
@given(st.lists(LINES, max_size=6), WIDTHS)
def test_lines_fit_and_words_stay_whole_and_in_order(lines: list[str], width: int) -> None:
    text = "\n".join(lines)
    fitted = fit_text(text, width)
    assert max(map(len, fitted.split("\n"))) <= width
    assert words_of(fitted) == words_of(text)


@pytest.mark.thorough
@given(
    st.integers(2, 7).flatmap(lambda n: st.lists(st.lists(CELLS, min_size=n, max_size=n), max_size=5)), WIDTHS
)
def test_tables_fit_and_lose_no_word(rows: list[list[str]], width: int) -> None:
    rows = [["cell", *row[1:]] for row in rows]  # a line without any would end the table
    columns = max(map(len, rows), default=2)
    headers = [f"head {number}" for number in range(columns)]
    text = str(tabulate(rows, headers, tablefmt="simple", disable_numparse=True))
    fitted = fit_text(text, width)
    assert max(map(len, fitted.split("\n"))) <= width
    assert set(words_of(fitted)) >= set(words_of("\n".join(cell for row in rows for cell in row)))


def test_columns_stay_columns_if_they_can() -> None:
    table = (
        "name  what it is\n----  --------------------------------\nab    one two three four five six seven"
    )
    assert fit_text(table, 24).split("\n") == [
        "name  what it is",
        "----  ------------------",
        "ab    one two three four",
        "      five six seven",
    ]


def test_values_stand_below_values_and_commands_stay_commands() -> None:
    text = (
        "learner   "
        + "word " * 20
        + "\n    arena audit laplace-count --against count-swap --epsilon 0.5 --games 100"
    )
    lines = fit_text(text, 40).split("\n")
    assert lines[1].startswith(" " * 10 + "word")
    command = [line for line in lines if "word" not in line]
    assert all(line.endswith(" \\") for line in command[:-1])
    joined = " ".join(line.removesuffix("\\").strip() for line in command)
    assert joined == "arena audit laplace-count --against count-swap --epsilon 0.5 --games 100"


def test_a_pipe_gets_text_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert measure_width(io.StringIO()) is measure_width(None) is None
    assert measure_width(Terminal()) == 60
    assert fit_prose("x " * 80, io.StringIO()) == "x " * 80
    assert fit_text("x " * 80, None) == "x " * 80
    assert "\n" in fit_prose("x " * 80, Terminal())
