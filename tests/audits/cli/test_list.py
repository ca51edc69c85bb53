"""`arena list`."""

from __future__ import annotations

import pytest
from support.command_line import Command

from arena import InvalidArgument
from audits.cli.list import format_players
from audits.registry.players import ADVERSARIES, Registry

arena = Command("list")

HALT_COUNTER = "Uses up the halting budget except for one unit, which the challenge uses up in world 1 only."


def test_every_player_has_a_line() -> None:
    lines = arena().stdout.splitlines()
    assert lines[0] == "learners"
    assert "adversaries" in lines
    (line,) = (line for line in lines if "halt-counter" in line)
    assert line.split(maxsplit=2) == [
        "halt-counter",
        "Figure1",
        HALT_COUNTER,
    ]
    (line,) = (line for line in lines if "noisy-majority" in line)
    assert "Oblivious, Adaptive, SpecialRound" in line


def test_json_is_one_object() -> None:
    players = arena.json()
    assert list(players) == ["learners", "adversaries"]
    (counter,) = (player for player in players["adversaries"] if player["name"] == "halt-counter")
    assert counter == {
        "name": "halt-counter",
        "protocols": ["Figure1"],
        "summary": HALT_COUNTER,
        "class": "adversaries.figure1.swaps:HaltCounter",
    }


def test_list_notes_a_player_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    load_all = Registry.load_all

    def load_all_and_one_broken(self: Registry) -> dict[str, object]:
        broken = {"broken": InvalidArgument("broken cannot be loaded")} if self is ADVERSARIES else {}
        return {**broken, **load_all(self)}

    monkeypatch.setattr(Registry, "load_all", load_all_and_one_broken)
    listed = arena()
    assert listed.exit_code == 0
    assert listed.stderr == "arena: note: broken cannot be loaded\n"
    assert "halt-counter" in listed.stdout


def test_players_are_chosen_by_a_word_and_by_protocol() -> None:
    shown = arena.json("winnow")
    assert {player["name"] for player in shown["learners"]} == {"winnow", "confident-winnow", "dp-winnow"}
    released = arena.json("--protocol", "release")
    players = [player for section in released.values() for player in section]
    assert players
    assert all("Release" in player["protocols"] for player in players)
    assert arena.text("no-such-word") == "No player fits.\n"
    assert "There are: Adaptive, Figure1" in arena.refusal("--protocol", "Figur1")


def test_mechanisms_to_test_audits_on_stand_apart_from_learners() -> None:
    lines = arena().stdout.splitlines()
    titles = [number for number, line in enumerate(lines) if line and line[0] != " "]
    assert len(titles) == 3
    broken = next(number for number, line in enumerate(lines) if line.split()[:1] == ["svt-4"])
    assert titles[1] < broken < titles[2]
    assert any(line.startswith("  everlasting: ") for line in lines[: titles[1]])


@pytest.mark.parametrize("width", [64, 80, 200])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    players = arena.json()
    lines = format_players(players, width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.split()[:1] == ["halt-counter"] for line in lines) == 1
