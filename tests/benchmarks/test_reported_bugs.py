"""Which of the reported bugs other auditors are given, in what form, and what the page says of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.anchors.peers import reported_bugs
from benchmarks.anchors.peers.reported_bugs import MARK, OwnData, Target, find_own_data, run_limited
from benchmarks.bugs import page
from benchmarks.bugs.collection import find_bug


@pytest.mark.parametrize(
    ("name", "numeric"),
    [
        ("tied-weights", True),
        ("noise-by-dimensions", True),
        ("noise-for-one-of-three", True),  # of several lengths
        ("tree-restarted", True),
        ("budget-charged-by-match", True),  # with None for a refusal
        ("threshold-reached", False),  # a dictionary
        ("categories-of-the-data", False),  # names
        ("extreme-value-fails", False),
    ],
)
def test_bugs_whose_releases_are_numbers_are_chosen(name: str, numeric: bool) -> None:
    assert reported_bugs.releases_numbers(find_bug(name)) == numeric


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("noise-by-dimensions", OwnData(5, (0, 20), whole=True, all_differ=True)),
        ("tree-overflows", OwnData(2, (0, 2**31 - 1), whole=True, all_differ=False)),
        ("batch-normalisation", OwnData(6, (0, 10), whole=False, all_differ=False)),
        ("teachers-share-records", OwnData(5, (0, 1), whole=True, all_differ=False)),
        ("tied-weights", None),  # records are added and removed
        ("count-after-cast", None),  # text
        ("sparse-vector-without-end", None),  # a session
        ("score-of-two-errors", None),  # a table
    ],
)
def test_tools_choose_vectors_that_are_neighbours(name: str, own: OwnData | None) -> None:
    assert find_own_data(find_bug(name)) == own


def test_a_target_plays_the_pair_of_the_entry_or_chosen_vectors() -> None:
    tied = Target(find_bug("tied-weights"))
    means = [tied.sample((world,), 2_000).mean() for world in (0, 1)]
    assert means[1] - means[0] == pytest.approx(6, abs=1)  # six layers; 0.12 is a standard deviation
    bug = find_bug("noise-by-dimensions")
    chosen = Target(bug, find_own_data(bug))
    np.testing.assert_allclose(chosen.sample((7, 8, 9, 10, 11), 4_000).mean(axis=0), range(7, 12), atol=0.3)


def test_short_releases_and_refusals_are_marked() -> None:
    short = Target(find_bug("noise-for-one-of-three"))
    assert short.marked
    assert short.width == 8
    rows = short.sample((0,), 200)
    assert rows.shape == (200, 8)
    assert set(np.unique(rows)) == {MARK, 0.0, 1.0}
    assert Target(find_bug("budget-charged-by-match")).marked
    assert not Target(find_bug("default-seed")).marked


def test_more_games_are_played_of_what_costs_less() -> None:
    target = Target(find_bug("tied-weights"))
    target.cost = 1e-3
    assert target.count_games(10.0, 2, 0.0, 10**6) == reported_bugs.PLAYED * 5_000
    target.cost = 1e-5
    assert target.count_games(10.0, 2, 0.0, 10**6) == reported_bugs.PLAYED * 500_000
    assert target.count_games(10.0, 2, 0.0, 1_000) == 1_000


def test_what_a_tool_does_is_recorded() -> None:
    def fail() -> bool:
        raise MemoryError("too many events")

    assert run_limited(lambda: True, 5)[:2] == (page.FOUND, "")
    assert run_limited(lambda: False, 5)[:2] == (page.NOT_FOUND, "")
    assert run_limited(fail, 5)[:2] == (page.FAILED, "MemoryError: too many events")


@pytest.mark.thorough
def test_a_tool_that_does_not_end_is_stopped() -> None:
    def spin() -> bool:
        while True:
            pass

    assert run_limited(spin, 1)[0] == page.LATE


def test_claims_with_delta_are_not_tested_by_tools_for_pure_ones() -> None:
    row = reported_bugs.run_tool("statdp", find_bug("tied-weights"), 1.0)
    assert row["result"] == page.CANNOT


def test_what_is_recorded_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bugs = [find_bug(name) for name in ("tied-weights", "last-bits", "default-seed")]
    monkeypatch.setattr(page, "PEERS", tmp_path / "peers.csv")
    monkeypatch.setattr(reported_bugs, "list_numeric_bugs", lambda: bugs)
    monkeypatch.setattr(reported_bugs, "run_tool", lambda tool, bug, seconds: {"bug": bug.name})
    for name, result in (("last-bits", page.NOT_FOUND), ("tied-weights", page.FOUND)):
        reported_bugs.keep_row(make_row(name, "dp-sniper", result, "own", seconds="5.0"))
    assert [row["bug"] for row in page.read_records(page.PEERS)] == ["tied-weights", "last-bits"]

    def list_missing(tool: str, seconds: float, *names: str, again: bool = False) -> list[str]:
        return [row["bug"] for row in reported_bugs.run_missing(tool, names, seconds, again)]

    assert list_missing("dp-sniper", 5.0) == ["default-seed"]
    assert list_missing("dp-sniper", 9.0) == ["last-bits", "default-seed"]
    assert list_missing("dp-sniper", 5.0, "tied-weights", again=True) == ["tied-weights"]
    assert len(list_missing("statdp", 5.0)) == 3


def make_row(bug: str, tool: str, result: str, data: str, *, seconds: str = "30.0") -> dict[str, str]:
    cells = {"bug": bug, "tool": tool, "data": data, "seconds": seconds, "result": result}
    return {**cells, "cpu": "2.5", "why": ""}


def test_the_page_says_what_other_tools_find() -> None:
    peers = [
        make_row("last-bits", "dp-sniper", page.FOUND, "own", seconds="10.0"),
        make_row("last-bits", "statdp", page.LATE, "given"),
        make_row("last-bits", "jax-privacy", page.FOUND, "given"),
        make_row("tied-weights", "dp-sniper", page.CANNOT, "given"),
        make_row("tied-weights", "statdp", page.FAILED, "own"),
    ]
    ours = [
        {"bug": "last-bits", "form": "bug", "seed": "0", "result": "not refuted", "cpu": "60.0"},
        {"bug": "tied-weights", "form": "bug", "seed": "0", "result": "refuted", "cpu": "0.5"},
        {"bug": "default-seed", "form": "bug", "seed": "0", "result": "refuted", "cpu": "0.5"},
    ]
    cell = "found: DP-Sniper* (2.5 s), jax-privacy (2.5 s); not found: StatDP"
    assert page.describe_peers(peers[:3]) == cell
    assert page.describe_peers([]) == "–"
    head, _, *table = page.summarise_peers(ours, peers).splitlines()
    assert head.startswith("The 2 bugs whose releases are numbers; each tool is stopped after 10 to 30 s")
    table = [line.strip("| ").split(" | ") for line in table]
    assert table[2] == ["DP-Sniper", "1", "1", "1 of 1", "2.5, at most 2.5"]
    assert table[3] == ["StatDP", "2", "0", "0 of 1", "–"]
    assert table[-1] == ["dp-arena, unaided, seed 0", "2", "1", "1 of 2", "0.5, at most 0.5"]
