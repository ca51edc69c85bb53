"""Parts of a run, their ledgers merged, blocks played again: what machines do that share a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from mutants import remembering
from support.foreign_mechanisms import with_system_generator
from support.processes import figures, interrupt_at

from adversaries.release.point_swap import CountSwap
from arena import InvalidArgument, NotConforming, Release
from audits.reports.json_form import to_data
from audits.runs.blocks import play_block
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.run_parts import RunPart, merge, play_part, verify
from audits.statistics.score_pairs import PairCounts
from learners.foreign.function import Function
from learners.releases.counts import LaplaceCount

PLAYERS = {"learner": LaplaceCount(), "adversary": CountSwap(), "referee": Release()}
PLAN = Plan(**PLAYERS, epsilon=1.0, delta=0.0, games=1_050, block=100, seed=5)


def ledger_of(path: Path, blocks: range | list[int], plan: Plan = PLAN, **notes: object) -> Path:
    """A ledger with some blocks of the plan."""
    with Ledger.open(path, plan.describe(), notes=lambda: notes) as ledger:
        for index in blocks:
            ledger.add(index, play_block(plan, index))
    return path


def contents(path: Path) -> Mapping[int, bytes]:
    with Ledger.read(path) as ledger:
        return {index: block.to_bytes() for index, block in ledger.blocks()}


@pytest.mark.parametrize("text", ["0/5", "6/5", "2/", "-1/5", "1.0/2", "1/2/3"])
def test_what_is_no_part(text: str) -> None:
    with pytest.raises(InvalidArgument, match="a part is K/M with 1 <= K <= M"):
        RunPart.parse(text)


def test_every_block_is_in_one_part() -> None:
    assert str(RunPart.parse(" 2/5 ")) == "2/5"
    for of in (1, 2, 3, 11, 20):
        blocks = [index for number in range(1, of + 1) for index in RunPart(number, of).block_indices(PLAN)]
        assert sorted(blocks) == list(range(len(PLAN.blocks)))


@pytest.mark.thorough
def test_parts_merged_are_the_run(tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}.ledger" for number in (1, 2, 3)]
    for number, path in enumerate(parts, start=1):
        seen: list[int] = []
        played = play_part(
            PLAN, RunPart(number, 3), ledger=path, jobs=1 + (number == 2), watch=seen.append, command="c"
        )
        assert (played.blocks, played.games) == (played.blocks_planned, played.games_planned)
        assert seen[-1] == played.games
        assert not played.interrupted
    merged = merge(parts, tmp_path / "whole.ledger")
    assert [source.blocks for source in merged.sources] == [4, 4, 3]
    assert (merged.blocks, merged.games, merged.games_planned) == (11, 1_050, 1_050)
    whole = tmp_path / "calm.ledger"
    assert figures(run(PLAN, ledger=tmp_path / "whole.ledger")) == figures(run(PLAN, ledger=whole))
    assert contents(tmp_path / "whole.ledger") == contents(whole)


def test_a_part_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = tmp_path / "part.ledger"
    first = play_part(PLAN, RunPart(1, 2), ledger=path, watch=interrupt_at(200))
    assert (first.interrupted, first.blocks, first.blocks_planned) == (True, 2, 6)
    rest = play_part(PLAN, RunPart(1, 2), ledger=path)
    done = {"blocks": 6, "blocks_planned": 6, "games": 550, "games_planned": 550}
    assert to_data(rest) == {"part": "1/2", **done, "interrupted": False}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (remembering.remember_rarely, "came out otherwise when they were played again"),
        (remembering.remember_late_own, "vary more than independent games could"),
    ],
)
def test_a_part_is_checked_as_a_run_is(make: Callable[[], Any], message: str, tmp_path: Path) -> None:
    learner = Function(function=make())
    plan = Plan(**PLAYERS | {"learner": learner}, epsilon=1.0, delta=0.0, games=4_000)
    with pytest.raises(NotConforming, match=message):
        play_part(plan, RunPart(2, 2), ledger=tmp_path / "part.ledger")


def test_a_part_of_a_run_that_ends_when_its_claim_falls_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="a part of a run cannot know when the claim is refuted"):
        play_part(attrs.evolve(PLAN, until_refuted=True), RunPart(1, 2), ledger=tmp_path / "run.ledger")
    assert not os.listdir(tmp_path)


def test_a_merge_may_go_into_one_of_them(tmp_path: Path) -> None:
    a, b = ledger_of(tmp_path / "a", range(4)), ledger_of(tmp_path / "b", range(3, 9))
    merged = merge([a, b], a)
    assert [source.blocks for source in merge([a, b], a).sources] == [0]
    assert to_data(merged) == {
        "into": str(a),
        "sources": [{"ledger": str(b), "blocks": 5}],
        "blocks": 9,
        "games": 900,
        "games_planned": 1_050,
        "finished": False,
    }
    assert set(contents(a)) == set(range(9))
    assert set(contents(b)) == set(range(3, 9))


def test_notes_with_a_command_are_kept(tmp_path: Path) -> None:
    a, b = ledger_of(tmp_path / "a", [0]), ledger_of(tmp_path / "b", [1], command="arena audit ...")
    again = tmp_path / "link"
    again.symlink_to(b)
    assert [source.ledger for source in merge([a, b, again, b], tmp_path / "c").sources] == [a, b]
    with Ledger.read(tmp_path / "c") as ledger:
        assert ledger.notes == {"command": "arena audit ..."}


@pytest.mark.parametrize("into", ["c", "b"])
def test_different_plans_are_refused(tmp_path: Path, into: str) -> None:
    a = ledger_of(tmp_path / "a", [0])
    b = ledger_of(tmp_path / "b", [1], attrs.evolve(PLAN, seed=6, epsilon=0.5))
    before = b.read_bytes()
    with pytest.raises(InvalidArgument) as refused:
        merge([a, b], tmp_path / into)
    assert "epsilon: 1.0 -> 0.5; seed: 5 -> 6" in str(refused.value) or (
        "epsilon: 0.5 -> 1.0; seed: 6 -> 5" in str(refused.value)
    )
    assert b.read_bytes() == before
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("into", ["c", "a", "b"])
def test_a_block_that_differs_is_refused_and_nothing_is_written(tmp_path: Path, into: str) -> None:
    a, b = ledger_of(tmp_path / "a", [0, 2]), ledger_of(tmp_path / "b", [1])
    with Ledger.open(b, PLAN.describe()) as ledger:
        ledger.add(2, PairCounts.of(np.zeros(100), np.ones(100)))
    before = contents(a), contents(b)
    with pytest.raises(InvalidArgument) as refused:
        merge([a, b], tmp_path / into)
    one, other = (b, a) if into == "b" else (a, b)
    assert str(refused.value).startswith(f"block 2 in {one} differs from that in {other}. arena runs verify ")
    assert (contents(a), contents(b)) == before
    assert not (tmp_path / "c").exists()


def test_two_runs_of_a_learner_with_coins_of_its_own_are_no_parts(tmp_path: Path) -> None:
    """Which block is right nobody can find out by playing it again."""
    plan = attrs.evolve(PLAN, learner=Function(function=with_system_generator, epsilon=1.0))
    a, b = (ledger_of(tmp_path / name, [0], plan) for name in "ab")
    with pytest.raises(InvalidArgument, match="two runs whose random numbers no seed repeats"):
        merge([a, b], tmp_path / "c")


def test_what_is_no_merge(tmp_path: Path) -> None:
    a = ledger_of(tmp_path / "a", [0])
    for paths, into in (([a], a), ([a], tmp_path / "c"), ([], a)):
        with pytest.raises(InvalidArgument, match="a merge needs two ledgers"):
            merge(paths, into)
    for name in "de":
        Ledger.open(tmp_path / name, {"tournament": {}}).close()
    with pytest.raises(InvalidArgument, match="contains no audit"):
        merge([tmp_path / "d", tmp_path / "e"], tmp_path / "c")


def test_sound_blocks_are_the_same(tmp_path: Path) -> None:
    path = ledger_of(tmp_path / "run.ledger", [0, 3, 4, 10])
    found = verify(path, PLAN, blocks=None)
    assert (found.played, found.differing, found.miss_probability) == ((0, 3, 4, 10), (), 0.0)
    assert verify(path, PLAN, blocks=9, jobs=2) == found


def test_blocks_are_chosen_by_the_seed(tmp_path: Path) -> None:
    path = ledger_of(tmp_path / "run.ledger", range(11))
    chosen = [verify(path, PLAN, blocks=3, seed=seed).played for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert all(len(set(blocks)) == 3 for blocks in chosen)


def test_a_block_that_differs_is_found(tmp_path: Path) -> None:
    path = ledger_of(tmp_path / "run.ledger", range(3))
    block = play_block(PLAN, 3)
    assert isinstance(block, PairCounts)
    scores = block.scores
    scores[7, 1] = np.nextafter(scores[7, 1], np.inf)
    with Ledger.open(path, PLAN.describe()) as ledger:
        ledger.add(3, PairCounts.of(*scores.T, block.counts))
    assert verify(path, PLAN, blocks=None).differing == (3,)


def test_what_cannot_be_verified(tmp_path: Path) -> None:
    path = ledger_of(tmp_path / "run.ledger", [])
    with pytest.raises(InvalidArgument, match="contains no games yet"):
        verify(path, PLAN)
    with pytest.raises(InvalidArgument, match="blocks must be at least 1, got 0"):
        verify(path, PLAN, blocks=0)
    with pytest.raises(InvalidArgument, match="holds another plan: seed: 5 -> 6"):
        verify(path, attrs.evolve(PLAN, seed=6))


def test_games_that_nothing_repeats_are_not_played_again(tmp_path: Path) -> None:
    learner = Function(function=sum, coins="own", epsilon=1.0)
    with pytest.raises(InvalidArgument, match="sum draws random numbers that no seed repeats, so no"):
        verify(tmp_path / "run.ledger", attrs.evolve(PLAN, learner=learner))
