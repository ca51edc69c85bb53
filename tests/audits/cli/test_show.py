"""`arena list` and `arena show`: players, and concept classes with their trees."""

from __future__ import annotations

import pytest
from support.command_line import Command
from support.online import players as online_players

from arena import InvalidArgument
from audits.cli.list import format_players
from audits.registry.players import ADVERSARIES, Registry

arena, listing = Command("show"), Command("list")
SOA = f"{online_players.__file__}:TinySoa"
PLAYERS = [player["name"] for players in listing.json().values() for player in players]


@pytest.mark.thorough
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
    assert "round 2  " not in arena("everlasting-v1", "--set", "rounds=1").stdout


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


def test_a_player_is_shown_as_json() -> None:
    shown = arena.json("everlasting-v1", "--set", "teachers=2_001")
    assert (shown["name"], shown["role"], shown["protocols"]) == ("everlasting-v1", "learner", ["Figure1"])
    (teachers,) = (setting for setting in shown["settings"] if setting["name"] == "teachers")
    assert (teachers["value"], teachers["default"]) == ("2001", "20_001")
    assert shown["properties"]["sample_size"]["value"] == 1_514_889
    assert shown["claim"]["text"].startswith("(")
    assert "2,001 teachers" in shown["explanations"]["round 1"]
    adversary = arena.json("halt-counter")
    assert adversary["role"] == "adversary"
    assert "claim" not in adversary


def test_a_class_is_shown_with_its_tree() -> None:
    shown = arena("thresholds:1..3", "--tree")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == (
        "class                       Thresholds(3 points from 1 to 3)\n"
        "VC dimension                1\n"
        "Littlestone dimension       2\n"
        "dual VC dimension           1\n"
        "dual Littlestone dimension  1\n"
        "\n"
        "A shattered tree, 2 levels; every node is a point, every edge its label:\n"
        "\n"
        "2\n├─0→ 3\n│    ├─0→ ·\n│    └─1→ ·\n└─1→ 1\n     ├─0→ ·\n     └─1→ ·\n"
    )


def test_a_class_is_shown_as_json() -> None:
    finite, infinite = arena.json("thresholds:1..3"), arena.json("stumps:8")
    assert finite["concepts"] == "Thresholds(3 points from 1 to 3)"
    dimensions = ("vc_dimension", "littlestone_dimension", "dual_vc_dimension", "dual_littlestone_dimension")
    assert [finite[name] for name in dimensions] == [1, 2, 1, 1]
    assert (finite["levels"], finite["tree"][:2], finite["labellings"]) == (2, "2\n", None)
    assert (infinite["vc_dimension"], infinite["tree"], infinite["labellings"]["10"]) == (5, None, 146)


@pytest.mark.parametrize(
    ("margin", "most", "relevant"), [(0.2, 207, "of at most 2 variables"), (0.4, 51, "none")]
)
def test_of_halfspaces_is_shown_what_their_margin_allows(margin: float, most: int, relevant: str) -> None:
    lines = arena.text(f"halfspaces:64,{margin}").splitlines()
    assert lines[-3:] == [
        "VC dimension                     63",
        f"mistakes of an optimal learner   at most {most}: Winnow's bound, 2 ln d/ρ²",
        f"disjunctions, of points (x, -1)  {relevant}",
    ]


def test_a_learners_class_is_shown_with_its_settings() -> None:
    shown = arena(SOA, "--tree", "--set", "concepts=points:1..4").stdout
    assert "Points(4 points from 1 to 4)" in shown
    assert "A shattered tree, 1 level; " in shown


def test_of_a_deep_tree_some_levels_are_shown_on_demand() -> None:
    shown = arena("thresholds:1..127", "--tree", "--depth", "2").stdout
    assert "Littlestone dimension       7" in shown
    assert shown.endswith(
        "A shattered tree, 2 of its 7 levels; every node is a point, every edge its label:\n\n"
        "64\n├─0→ 96\n│    ├─0→ ·\n│    └─1→ ·\n└─1→ 32\n     ├─0→ ·\n     └─1→ ·\n"
    )
    whole = arena("thresholds:1..127", "--tree", "--depth", "9").stdout
    assert "A shattered tree, 7 levels" in whole
    assert whole.count("·") == 128


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("thresholds:1..127 --tree", "a shattered tree of Thresholds(127 points from 1 to 127) has 7"),
        ("thresholds:1..7 --tree --depth 0", "a tree has at least 1 level, got 0"),
        ("stumps:-1", "dimensions and the sides of a grid must be integers, got '-1'"),
        ("boxes:2 --depth 1", "Boxes(dimension=2) has no finite domain, so no tree of it can be shown"),
        ("thresholds:1..99999 --tree", "Thresholds(99999 points from 1 to 99999) has 9,999,900,000 labels"),
        ("noisy-majority --tree", "noisy-majority has no setting `concepts`. Name a learner of a class"),
        ("contrarian --tree", "contrarian is an adversary. Name a learner or a concept class."),
        ("points:1..4 --tree --set a=1", "points:1..4 is a concept class, which has no settings."),
        ("noisy-majority --depth 3", "--depth needs --tree, which is missing."),
        ("nobody", "there is no player of that name, got 'nobody'. Give a name from "),
        ("halt-counter --set budgt=3", "halt-counter has no setting 'budgt'. Did you mean budget? "),
        ("halt-counter --set budget=0", "budget must be at least 1, got 0"),
        ("static-erm --set concepts=circles", "there is no such concept class, got 'circles'. Possible"),
    ],
)
def test_bad_use_is_one_line_and_status_2(words: str, message: str) -> None:
    assert arena.refusal(*words.split()).startswith(message)


@pytest.mark.parametrize(
    ("name", "dimension", "ways"),
    [("thresholds", 1, 11), ("intervals", 2, 56), ("stumps:8", 5, 146), ("halfplanes", 3, 92)],
)
def test_classes_without_a_finite_domain_tell_how_many_ways_they_label(
    name: str, dimension: int, ways: int
) -> None:
    shown = arena(name, "--tree").stdout
    assert f"VC dimension                {dimension}\n" in shown
    assert f"labellings of 10 points     at most {ways}\n" in shown


@pytest.mark.parametrize(
    ("text", "dimension"), [("boxes:1000000000", "2000000000"), ("stumps:100000000000000000000", "70")]
)
def test_a_class_of_many_dimensions_is_told_at_once(text: str, dimension: str) -> None:
    shown = arena(text).stdout
    assert f"VC dimension                {dimension}\n" in shown
    assert "labellings of 10 points     at most 1,024\n" in shown


HALT_COUNTER = "Uses up the halting budget except for one unit, which the challenge uses up in world 1 only."


def test_every_player_has_a_line() -> None:
    lines = listing().stdout.splitlines()
    assert lines[0] == "learners"
    assert "adversaries" in lines
    (line,) = (line for line in lines if "halt-counter" in line)
    assert line.split(maxsplit=2) == ["halt-counter", "Figure1", HALT_COUNTER]
    (line,) = (line for line in lines if "noisy-majority" in line)
    assert "Oblivious, Adaptive, SpecialRound" in line


def test_the_list_as_json() -> None:
    players = listing.json()
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
    listed = listing()
    assert listed.exit_code == 0
    assert listed.stderr == "arena: note: broken cannot be loaded\n"
    assert "halt-counter" in listed.stdout


def test_players_are_chosen_by_a_word_and_by_protocol() -> None:
    shown = listing.json("winnow")
    assert {player["name"] for player in shown["learners"]} == {"winnow", "confident-winnow", "dp-winnow"}
    released = listing.json("--protocol", "release")
    players = [player for section in released.values() for player in section]
    assert players
    assert all("Release" in player["protocols"] for player in players)
    assert listing.text("no-such-word") == "No player fits.\n"
    assert "Did you mean Figure1?" in listing.refusal("--protocol", "Figur1")


def test_mechanisms_to_test_audits_on_stand_apart_from_learners() -> None:
    lines = listing().stdout.splitlines()
    titles = [number for number, line in enumerate(lines) if line and line[0] != " "]
    assert len(titles) == 3
    broken = next(number for number, line in enumerate(lines) if line.split()[:1] == ["svt-4"])
    assert titles[1] < broken < titles[2]
    assert any(line.startswith("  everlasting: ") for line in lines[: titles[1]])


@pytest.mark.parametrize("width", [64, 80, 200])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    players = listing.json()
    lines = format_players(players, width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.split()[:1] == ["halt-counter"] for line in lines) == 1
