"""`arena play`: the transcript that it prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import halfspaces
from support.command_line import Command

arena = Command()

BY_HAND = '''
import attrs
from arena import GameAdversary, Query, Sample, Train

@attrs.frozen
class ByHand(GameAdversary):
    """Asks one of two points, then what came of it."""
    name = "by-hand"
    protocols = ("Figure1",)

    def play_one(self, rng):
        yield Train(Sample([0.0, 1.0], [0, 1], [5, 5]))
        yield Query(0.0, 1.0)
        reply = yield Query(1.0)
        return float(reply.label)
'''


def test_both_worlds_stand_side_by_side() -> None:
    played = arena("play", "everlasting-v1", "--against", "halt-counter", "--seed", "3")
    assert (played.exit_code, played.stderr) == (0, "")
    lines = played.stdout.splitlines()
    assert lines[0] == "everlasting-v1, against halt-counter, under Figure1, seed 3"
    (header,) = (line for line in lines if line.startswith("round "))
    assert header.index("world 0") < header.index("world 1")
    (challenge,) = (line for line in lines if line.startswith("8 "))
    assert challenge.split() == ["8", "-0.5", "0", "withheld", "0.5", "1,", "halts", "withheld"]
    assert lines[-3:] == [
        "world 0: score 0, the learner did not halt",
        "world 1: score 1, the learner halted",
        "The worlds differ in a query.",
    ]


def test_the_games_are_printed_as_json() -> None:
    played = arena.json("play", "everlasting-v1", "--against", "halt-counter", "--seed", "3")
    assert (played["protocol"], played["seed"], played["challenges"]) == ("Figure1", 3, ["a query"])
    games = played["games"]
    assert [(game["world"], game["score"], game["halted"]) for game in games] == [(0, 0, False), (1, 1, True)]
    assert games[0]["transcript"][0]["round"] == 0
    assert games[1]["transcript"][8] == {
        "round": 8,
        "gets": "0.5",
        "answers": "1, halts",
        "adversary_sees": "withheld",
    }
    (online,) = arena.json("play", "noisy-majority", "--against", "contrarian", "--rounds", "1")["games"]
    assert (online["rounds"], online["score"], len(online["transcript"])) == (1, None, 1)
    assert online["mistakes"] in (0, 1)


def test_vectors_are_shortened_and_rounds_with_others_are_not_folded() -> None:
    winnow = f"{halfspaces.__file__}:PlainWinnow"
    decoys = ("--set", "adversary.decoys=1", "--rounds", "6")
    played = arena("play", winnow, "--against", "hidden-coordinate", *decoys, "--seed", "2")
    assert (played.exit_code, played.stderr) == (0, "")
    rows = [line for line in played.stdout.splitlines() if line[:1].isdigit() and "[" in line]
    assert len(rows) == 6
    assert all(" ...]" in row for row in rows)
    assert len({row[1:] for row in rows}) < 6  # most of them show what others do
    assert "[1 1 1 1 1 1 ...]" in arena("play", winnow, "--against", "first-swap", "--rounds", "3").stdout


def test_an_online_game_counts_mistakes() -> None:
    lines = arena("play", "noisy-majority", "--against", "contrarian", "--rounds", "4").stdout.splitlines()
    assert lines[0] == "noisy-majority, against contrarian with rounds=4, under Adaptive, seed 0"
    assert lines[-1].endswith(" mistakes in 4 rounds")
    assert not any("world 1" in line for line in lines)


def test_settings_reach_both_players() -> None:
    settings = ["--set", "learner.epsilon=0.5", "--set", "rounds=9", "--set-adversary", "point=0.25"]
    played = arena("play", "noisy-majority", "--against", "contrarian", "--rounds", "9", *settings)
    expected = (
        "noisy-majority with epsilon=0.5, rounds=9, against contrarian with rounds=9, point=0.25, under "
    )
    assert played.stdout.startswith(expected)


def test_a_strategy_for_one_game_is_shown_in_each_world(tmp_path: Path) -> None:
    path = tmp_path / "hand.py"
    path.write_text(BY_HAND)
    for seed in ("0", "1", "2", "3"):
        lines = arena("play", "static-erm", "--against", f"{path}:ByHand", "--seed", seed).stdout.splitlines()
        worlds = [line for line in lines if line.startswith("world ")]
        assert worlds == [f"world {world}: score 1, the learner did not halt" for world in (0, 1)]
        asked = [line.split() for line in lines if line.startswith("1 ")]
        assert asked == [["1", "0", "0", "withheld"], ["1", "1", "1", "withheld"]]


@pytest.mark.thorough
def test_data_size_the_learner_and_reach_the_adversary(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,rich\n" + "30,no\n30,yes\n" * 15_000 + "50,yes\n" * 3_000)
    data = ["--data", str(path), "--x", "age", "--y", "rich", "--positive", "yes"]
    played = arena("play", "everlasting-v1", "--against", "halt-counter", *data)
    assert played.stderr.startswith("arena: note: sized for 33,000 examples: everlasting-v1 with teachers=")
    assert "33,000 examples: 15,000 x (30, 0), 15,000 x (30, 1), 3,000 x (50, 1)" in played.stdout
    assert arena("play", "everlasting-v1", "--against", "halt-counter", *data, "--quiet").stderr == ""


@pytest.mark.thorough
def test_what_the_user_has_set_is_not_sized_away(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,rich\n" + "30,no\n30,yes\n" * 20_000)
    data = ["--data", str(path), "--x", "age", "--y", "rich", "--positive", "yes"]
    refused = arena("play", "everlasting-v1", "--against", "halt-counter", *data, "--set", "teachers=3_001")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(
        "arena: everlasting-v1 with 3,001 teachers of 5 examples and rate 0.006604 needs a sample of "
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("laplace-count halt-counter", "laplace-count and halt-counter play no protocol in common. laplace-"),
        (
            "laplace-count count-swap --protocol Relase",
            "there is no protocol of that name, got 'Relase'. Did",
        ),
        ("laplace-count count-swap --protocol Figure1", "learner laplace-count does not play Figure1. It"),
        ("laplace-count count-swap --rounds 5", "Release has no number of rounds. Leave out --rounds."),
        ("noisy-majority contrarian --rounds 5 --set-adversary rounds=5", "the rounds are set twice. Leave"),
        ("noisy-majority contrarian --rounds 0", "rounds must be at least 1, got 0"),
    ],
)
def test_play_refuses(words: str, message: str) -> None:
    learner, *others = words.split()
    assert arena.refusal("play", learner, "--against", *others).startswith(message)


def test_rounds_bound_the_queries_of_figure1() -> None:
    players = ("play", "everlasting-v1", "--against", "halt-counter", "--rounds")
    assert arena(*players, "9").exit_code == 0
    assert "round 9: Figure1 with t = 8 has at most 8 rounds" in arena.refusal(*players, "8")


def test_records_are_shown_as_a_function_receives_them(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def f(data, rng):\n    return 0.0\n")
    shown = {
        receives: arena.text("play", f"{path}:f", "--set", f"receives={receives}", "--against", "count-swap")
        for receives in ("points", "labels", "both")
    }
    assert "example: 1 x 0" in shown["points"] or "examples: " in shown["points"]
    assert "(0, 0)" not in shown["points"]
    assert "label 1" in shown["labels"]
    assert "(0, 1)" in shown["both"]
