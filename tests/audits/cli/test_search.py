"""`arena search`: what it prints, writes and returns."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from support.command_line import Command
from support.paths import ROOT

from audits.adversary_search import SearchProgress, search
from learners.releases.counts import LaplaceCount

arena = Command("search")
PLAYERS = ROOT / "tests" / "support" / "simple_players.py"
ERM = ("static-erm", "--epsilon", "1")


@pytest.mark.thorough
def test_a_refutation_is_told_verdict_first() -> None:
    done = arena(*ERM)
    assert done.exit_code == 3
    parts = ("learner", "Refuted: with confidence 1 - 1e-06", "world 0: gets", "found = Script(")
    places = [done.stdout.index(text) for text in parts]
    assert places == sorted(places)
    assert "arena audit static-erm \\\n" in done.stdout
    assert done.stderr == ""


@pytest.mark.thorough
def test_nothing_found_is_no_refutation() -> None:
    done = arena("laplace-count", "--examples", "10")
    assert done.exit_code == 0
    assert "Nothing found: of" in done.stdout
    assert "This does not prove privacy." in " ".join(done.stdout.split())


@pytest.mark.thorough
def test_the_report_says_what_was_searched_and_what_it_would_have_found() -> None:
    words = " ".join(arena("laplace-count", "--examples", "30").stdout.split())
    assert "points with numbers from -1.79769e+308 to 1.79769e+308 (domain: unbounded)" in words
    assert "would have been found with probability 90 %" in words
    file = f"{ROOT / 'tests' / 'support' / 'foreign_mechanisms.py'}:laplace"
    bounded = arena(file, "--set", "domain=0,1", "--epsilon", "1", "--examples", "5")
    assert "numbers from 0 to 1 (domain: 0 to 1)" in " ".join(bounded.stdout.split())


@pytest.mark.thorough
def test_data_of_the_user_are_tried(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(
        "def total(points, games, rng):\n    return points.clip(0, 60).sum() + 60 * rng.laplace(size=games)\n"
    )
    (tmp_path / "people.csv").write_text("age,income\n20,0\n31.25,1\n")
    file = f"{tmp_path / 'code.py'}:total"
    settings = ("--set", "receives=points", "--set", "vectorised=true", "--set", "epsilon=1")
    data = ("--data", f"{tmp_path / 'people.csv'}", "--x", "age", "--y", "income")
    done = arena(file, *settings, *data, "--examples", "5")
    assert done.exit_code == 0
    assert "of them from the constants of its code" in " ".join(done.stdout.split())
    assert "--data needs --x COLUMN" in arena(file, *settings, *data[:2]).stderr


def test_confirmations_that_fail_often_are_a_sign_of_dependent_games() -> None:
    failed = attrs.evolve(search(LaplaceCount(), examples=10, pairs=16), confirmations=5)
    text = " ".join(failed.summary().split())
    assert "5 confirmations on fresh games failed, which is rare if games are independent" in text


@pytest.mark.thorough
def test_the_file_is_a_player_and_names_the_settings(tmp_path: Path) -> None:
    file = str(tmp_path / "mine.py")
    name = f"{PLAYERS}:Copying"
    done = arena(name, "--set", "rounds=4", "-o", file)
    assert done.exit_code == 3
    assert f"The adversary is in {file}; commands play it as {file}:found." in " ".join(done.stdout.split())
    assert f"Copying --set rounds=4 \\\n        --against {file}:found" in Path(file).read_text()
    against = ["audit", name, "--set", "rounds=4", "--against", f"{file}:found"]
    again = Command(*against)("--games", "2000", "--json")
    assert again.exit_code == 3


@pytest.mark.slow
def test_a_fault_is_shown_game_by_game() -> None:
    done = arena(f"{PLAYERS}:RaisesOnLabels")
    assert done.exit_code == 3
    assert "--faults" in done.stdout
    assert done.stdout.count("The worlds differ in a training example.") == 2


def test_an_interrupt_has_a_status_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    from audits.cli import search as searching

    def search_and_stop(*given, progress, **options):
        def stop(now: SearchProgress) -> None:
            if now.examples >= 3:
                raise KeyboardInterrupt

        return search_adversary(*given, progress=stop, **options)

    search_adversary = searching.search_adversary
    monkeypatch.setattr(searching, "search_adversary", search_and_stop)
    done = arena("laplace-count")
    assert done.exit_code == 130
    assert "Interrupted. Undecided" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("static-erm",), "static-erm claims nothing with these settings, so there is nothing to refute"),
        (("laplace-count", "--examples", "0"), "examples must be at least 1, got 0"),
        (("laplace-count", "--error", "1"), "error must be less than 1, got 1.0"),
        (("laplace-count", "--epsilon", "0"), "finite ε above 0"),
        (("laplace-count", "--delta", "2"), "δ must be a probability"),
        (("laplace-count", "--protocol", "Figure1"), "learner laplace-count does not play Figure1"),
        (("laplace-count", "--set", "adversary.x=1"), "A search makes its own adversary"),
        (("laplace-count", "-o", "found.txt"), "the adversary is written as a file of Python"),
        (("laplace-count", "-o", "nowhere/found.py"), "the directory of the adversary's file nowhere"),
    ],
)
def test_bad_use_is_one_line(arguments: tuple[str, ...], message: str) -> None:
    assert message in arena.refusal(*arguments)


@pytest.mark.thorough
def test_nothing_is_left_where_the_user_is(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "HYPOTHESIS_STORAGE_DIRECTORY"}
    done = subprocess.run(
        [sys.executable, "-m", "audits.cli", "search", "laplace-count", "--examples", "2"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT)},
        capture_output=True,
    )
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []
