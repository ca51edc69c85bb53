"""`arena list`."""

from __future__ import annotations

import pytest
from support.command_line import Command

from arena import InvalidArgument
from audits.registry.players import ADVERSARIES, Registry

arena = Command("list")


def test_every_player_has_a_line() -> None:
    lines = arena().stdout.splitlines()
    assert lines[0] == "learners"
    assert "adversaries" in lines
    (line,) = (line for line in lines if "halt-counter" in line)
    assert line.split(maxsplit=2) == [
        "halt-counter",
        "Figure1",
        "infers a query from the moment at which the learner halts.",
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
        "summary": "infers a query from the moment at which the learner halts.",
        "class": "adversaries.figure1.halt_counter:HaltCounter",
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
