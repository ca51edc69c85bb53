"""`arena show` of players."""

from __future__ import annotations

import pytest
from support.command_line import Command

arena = Command("show")
PLAYERS = [player["name"] for players in Command("list").json().values() for player in players]


@pytest.mark.parametrize("name", PLAYERS)
def test_every_player_can_be_shown(name: str) -> None:
    shown = arena(name)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"{name} (")


def test_show_prints_settings_and_what_follows_from_them() -> None:
    shown = arena("everlasting-v1", "--set", "teachers=2_001", "--set", "concepts=thresholds:1..16").stdout
    lines = {line.split()[0]: line.split() for line in shown.splitlines() if line.strip()}
    assert lines["teachers"][:3] == ["teachers", "2001", "20_001"]
    assert lines["concepts"][1:5] == ["Thresholds(16", "points", "from", "1"]
    assert lines["epsilon"][1:4] == ["1", "1", "nats"]
    assert lines["sample_size"][1] == "1,514,889"
    assert lines["rate_run"][1] == "0.00660445"
    assert lines["theorem"][1:3] == ["Claim", "5.3"]
    assert "-DP for a training example or a query (replace one)" in shown
    words = " ".join(shown.split())
    assert "round 1 noise ε′ = 0.0337323 nats, 2,001 teachers, 6,059,555 answers" in words
    assert "round 2 noise ε′ = 0.0337323 nats, 4,002 teachers" in words


def test_show_has_no_round_that_is_not_played() -> None:
    shown = arena("everlasting-v1", "--set", "rounds=1").stdout
    assert "round 1  " in shown
    assert "round 2  " not in shown


@pytest.mark.parametrize(
    ("name", "demand"), [("everlasting-v1", "n = 4e+24"), ("everlasting-v2", "n = 9.1e+14")]
)
def test_show_says_what_the_printed_constants_demand(name: str, demand: str) -> None:
    shown = " ".join(arena(name).stdout.split())
    assert f"demand {demand} labelled examples" in shown
    assert "(α = 0.05, β = 0.05, ε = 1, δ = 1e-05; the theorem takes α, β and δ below 1/16)" in shown
    in_range = " ".join(arena(name, "--set", "alpha_1=0.01", "--set", "beta_1=0.02").stdout.split())
    assert "(α = 0.02, β = 0.04, ε = 1, δ = 1e-05)" in in_range


def test_show_says_what_is_filled_in() -> None:
    shown = " ".join(arena("halt-counter").stdout.split())
    assert "filled from --data" in shown
    assert "filled with the opponent's configuration" in shown
    assert "claim" not in shown.split("setting")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "there is no player of that name, got 'nobody'. There are: "),
        (["halt-counter", "--set", "budgt=3"], "halt-counter has no setting 'budgt'. Did you mean budget? "),
        (
            ["halt-counter", "--set", "budget"],
            "A setting is NAME=VALUE or adversary.NAME=VALUE, got 'budget'.",
        ),
        (["halt-counter", "--set", "budget=0"], "budget must be at least 1, got 0"),
        (
            ["static-erm", "--set", "concepts=circles"],
            "there is no such concept class, got 'circles'. Possible are: ",
        ),
    ],
)
def test_show_refuses(arguments: list[str], message: str) -> None:
    refused = arena(*arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"arena: {message}")
    assert refused.stderr.count("\n") == 1
