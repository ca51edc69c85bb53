"""`arena list`, `arena show`, and what all commands share."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from audits import cli


def arena(*arguments: str) -> Result:
    return CliRunner().invoke(cli.arena, arguments)


# --- all commands -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], ["list"], ["show"], ["play"], ["audit"], ["exact"]])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_explains_itself(command: list[str], flag: str) -> None:
    shown = arena(*command, flag)
    assert shown.exit_code == 0
    assert shown.stdout.startswith(" ".join(["Usage: arena", *command]))


def test_the_help_names_units_exit_status_and_examples() -> None:
    shown = " ".join(arena("audit", "--help").stdout.split())
    for text in (
        "in nats",
        "a probability",
        "3 refuted",
        "arena audit everlasting-v1 --against halt-counter",
    ):
        assert text in shown


def test_the_version_is_told() -> None:
    assert arena("--version").stdout.startswith("arena, dp-arena ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arena: Missing command. See arena --help."),
        (["lst"], "arena: No such command 'lst'. See arena --help."),
        (
            ["audit", "static-erm", "--against", "reconstruct", "--epsilon", "nan"],
            "arena: Invalid value for '--epsilon': --epsilon must be a finite number, got 'nan'. "
            "See arena audit --help.",
        ),
        (
            ["show", f"{__file__}:CliRunner"],
            f"arena: {__file__}:CliRunner is no player: it is a subclass neither of arena.Learner nor of "
            "arena.Adversary. Name one that is.",
        ),
        (["show"], "arena: Missing argument 'PLAYER'. See arena show --help."),
        (["play", "static-erm"], "arena: Missing option '--against'. See arena play --help."),
    ],
)
def test_bad_use_is_one_line_and_status_2(arguments: list[str], message: str) -> None:
    refused = arena(*arguments)
    assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", message + "\n")


def test_a_fault_is_one_line_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARENA_DEBUG", raising=False)
    monkeypatch.setattr("audits.cli.show.find_any", lambda name: 1 / 0)
    failed = arena("show", "static-erm")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr == (
        "arena: unexpected ZeroDivisionError: division by zero; --debug shows where it came from\n"
    )


def test_debugging_lets_errors_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_DEBUG", "1")
    monkeypatch.setattr("audits.cli.show.find_any", lambda name: 1 / 0)
    assert isinstance(arena("show", "static-erm").exception, ZeroDivisionError)
    assert arena("show").exit_code == 2


def test_an_interruption_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audits.cli.show.find_any", interrupt)
    assert arena("show", "static-erm").exit_code == 130


# --- list ---------------------------------------------------------------------------------------------


def test_list_has_a_line_for_every_player() -> None:
    lines = arena("list").stdout.splitlines()
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


def test_list_as_json_is_one_object() -> None:
    found = json.loads(arena("list", "--json").stdout)
    assert list(found) == ["learners", "adversaries"]
    (counter,) = (player for player in found["adversaries"] if player["name"] == "halt-counter")
    assert counter == {
        "name": "halt-counter",
        "protocols": ["Figure1"],
        "summary": "infers a query from the moment at which the learner halts.",
        "class": "adversaries.figure1.halt_counter:HaltCounter",
    }


def test_list_tells_of_a_player_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    from arena import InvalidArgument
    from audits.registry.players import ADVERSARIES, Registry

    every = Registry.every

    def with_one_broken(self: Registry) -> dict[str, object]:
        broken = {"broken": InvalidArgument("broken cannot be loaded")} if self is ADVERSARIES else {}
        return {**broken, **every(self)}

    monkeypatch.setattr(Registry, "every", with_one_broken)
    listed = arena("list")
    assert listed.exit_code == 0
    assert listed.stderr == "arena: note: broken cannot be loaded\n"
    assert "halt-counter" in listed.stdout


# --- show ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [player["name"] for kind in json.loads(arena("list", "--json").stdout).values() for player in kind],
)
def test_every_player_can_be_shown(name: str) -> None:
    shown = arena("show", name)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith(f"{name} (")


def test_show_prints_settings_and_what_follows_from_them() -> None:
    shown = arena(
        "show", "everlasting-v1", "--set", "teachers=2_001", "--set", "concepts=thresholds:1..16"
    ).stdout
    lines = {line.split()[0]: line.split() for line in shown.splitlines() if line.strip()}
    assert lines["teachers"][:3] == ["teachers", "2001", "20_001"]
    assert lines["concepts"][1:5] == ["Thresholds(16", "points", "from", "1"]
    assert lines["epsilon"][1:4] == ["1", "1", "nats"]
    assert lines["sample_size"][1] == "1,514,889"
    assert lines["rate_run"][1] == "0.00660445"
    assert lines["theorem"][1:3] == ["Claim", "5.3"]
    assert "-DP for a training example or a query (replace one)" in shown
    assert "round 1            noise ε′ = 0.0337323 nats, 2,001 teachers, 6,059,555 answers" in shown
    assert "round 2            noise ε′ = 0.0337323 nats, 4,002 teachers" in shown


def test_show_has_no_round_that_is_not_played() -> None:
    shown = arena("show", "everlasting-v1", "--set", "rounds=1").stdout
    assert "round 1  " in shown
    assert "round 2  " not in shown


@pytest.mark.parametrize(
    ("name", "demand"), [("everlasting-v1", "n = 4e+24"), ("everlasting-v2", "n = 9.1e+14")]
)
def test_show_says_what_the_printed_constants_demand(name: str, demand: str) -> None:
    shown = " ".join(arena("show", name).stdout.split())
    assert f"demand {demand} labelled examples" in shown
    assert "(α = 0.05, β = 0.05, ε = 1, δ = 1e-05; the theorem takes α, β and δ below 1/16)" in shown
    in_range = " ".join(arena("show", name, "--set", "alpha_1=0.01", "--set", "beta_1=0.02").stdout.split())
    assert "(α = 0.02, β = 0.04, ε = 1, δ = 1e-05)" in in_range


def test_show_says_what_is_filled_in() -> None:
    shown = " ".join(arena("show", "halt-counter").stdout.split())
    assert "filled from --data" in shown
    assert "filled with the opponent's spec" in shown
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
    refused = arena("show", *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(f"arena: {message}")
    assert refused.stderr.count("\n") == 1
