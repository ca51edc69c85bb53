"""`arena tournament`."""

from __future__ import annotations

import json
import signal

import pytest
from support.command_line import TIMES, Command, start
from support.processes import count_blocks, wait_until

tournament = Command("tournament")
SMALL = ("laplace-count", "diffprivlib", "--against", "count-swap", "--games", "100")


def drop_times(value):
    if isinstance(value, dict):
        return {name: drop_times(item) for name, item in value.items() if name not in TIMES}
    return [drop_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.thorough
def test_it_prints_the_pairs_the_ranking_and_what_cannot_be_played() -> None:
    text = tournament.text(*SMALL)
    assert "laplace-count  count-swap" in text
    assert "Adversaries by protocol:" in text
    assert "Not played: diffprivlib against count-swap: " in " ".join(text.split())


def test_a_refuted_claim_is_status_3_with_all_files(tmp_path) -> None:
    pytest.importorskip("jinja2")
    page, table = tmp_path / "t.html", tmp_path / "t.csv"
    words = ("svt-5", "--against", "statdp", "--games", "5_000", "--html", page, "--csv", table)
    told = tournament.json(*words, status=3)
    assert [(cell["verdict"], cell["exact_reason"]) for cell in told["cells"]] == [("refuted", "infinite")]
    assert "✗" in page.read_text()
    assert table.read_text().count("\n") == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nobody", *SMALL), "there is no learner of that name, got 'nobody'. Give a name from "),
        (("soa", "--against", "count-swap"), "no learner of this tournament can meet an adversary of it"),
        ((*SMALL, "--html", "/nowhere/t.html"), "the directory of the HTML report /nowhere/t.html does not"),
        ((*SMALL, "--csv", "."), "the CSV file . is a directory"),
    ],
)
def test_bad_use_is_refused_before_any_game(words, message) -> None:
    assert tournament.refusal(*words).startswith(message)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_tournament_goes_on_to_the_same_figures(tmp_path, jobs: str) -> None:
    path = tmp_path / "t.ledger"
    words = ("--protocol", "Release", "--games", "2_000")
    process = start("tournament", *words, "--ledger", str(path), "--jobs", jobs)
    for more in (5, 40):
        wait_until(lambda more=more: count_blocks(path) > more)
        process.kill()
        process.communicate()
        process = start("tournament", *words, "--ledger", str(path), "--jobs", jobs, "--json", "--quiet")
    again, _ = process.communicate()
    whole = tournament.json(*words, "--quiet", status=3)
    assert drop_times(json.loads(again)["cells"]) == drop_times(whole["cells"])


@pytest.mark.slow
def test_an_interruption_prints_the_pairs_so_far_and_how_to_go_on(tmp_path) -> None:
    path = tmp_path / "t.ledger"
    process = start("tournament", "--protocol", "Release", "--ledger", str(path), "--json")
    wait_until(lambda: count_blocks(path) > 3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    told = json.loads(out)
    assert (process.returncode, told["interrupted"]) == (130, True)
    assert f"which {path} keeps; the same command continues from there" in err
    assert 3 < len(told["cells"]) < told["cells_planned"]
