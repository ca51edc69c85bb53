"""Nights of a monitor: evidence that adds up, what one hands on to the next, and what is reported."""

from __future__ import annotations

import json
import re
from math import inf, log
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import strategies as st
from support.command_line import Command

import audits
from adversaries import CountSwap
from arena import InvalidArgument, Sample
from arena.randomness import generator
from arena.records import Records
from audits.adversary_search import Score, Script
from audits.cli.monitor.commands import format_annotation, get_status
from audits.monitors import monitor as monitors
from audits.monitors.kept_adversary import pack_scores, read_adversary, unpack_scores, write_adversary
from audits.monitors.monitor_report import MonitorReport
from audits.monitors.night import NightPlan, NightResult
from audits.monitors.power import expect_log_wealth, find_shown_factor
from audits.monitors.store import Kept, Store
from audits.statistics.score_pairs import PairCounts
from learners import LaplaceCount

arena = Command("monitor")
CLAIMS = """
import audits
from learners import LaplaceCount

audits.claim("first", LaplaceCount(epsilon={epsilon}), epsilon=1.0, against="count-swap")
audits.claim("second", LaplaceCount(epsilon=0.5), against="count-swap")
"""
FOUND = Script(
    protocol="Release", world_0=Records((1, 1)), world_1=Records((1,)), score=Score("value", sign=-1)
)


def state(epsilon: float, **settings: Any) -> Any:
    """A claim of ε = 1 for noise of another ε, which one adversary plays against."""
    return audits.claim("count", LaplaceCount(epsilon=epsilon), epsilon=1.0, against="count-swap", **settings)


def play(folder: Path, *entries: Any, **settings: Any) -> MonitorReport:
    return audits.monitor([*entries], store=folder / "store", **{"games": 500, **settings})


# --- nights ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_evidence_of_several_nights_refutes_what_none_refutes_alone(tmp_path: Path) -> None:
    needed = inf
    for night in range(1, 9):
        (claim,) = play(tmp_path, state(1.4), games=150).claims
        assert claim.nights == night
        needed = claim.needed
        if claim.refuted:
            break
    assert claim.refuted
    assert night > 1
    assert claim.evidence >= needed
    (version,) = Store.read(tmp_path / "store").versions["count"]
    assert max(each.log_wealth for each in version.nights) < needed
    assert sum(each.log_wealth for each in version.nights) == pytest.approx(claim.evidence)
    again = play(tmp_path, state(1.4)).claims[0]
    assert (again.nights, again.refuted) == (night, True)  # it is not played any more


@pytest.mark.thorough
def test_nights_play_new_games_and_the_same_seeds_the_same(tmp_path: Path) -> None:
    first, second = (play(tmp_path / name, state(1.0)).claims[0].evidence for name in "ab")
    assert first == second
    nights = play(tmp_path / "a", state(1.0)).claims[0].history[0].evidence
    assert nights[1] - nights[0] not in (0.0, nights[0])
    other = play(tmp_path / "c", state(1.0), part="2/2").claims[0]
    assert other.evidence != first


@pytest.mark.thorough
def test_a_change_of_the_code_starts_anew_and_a_change_back_goes_on(tmp_path: Path) -> None:
    seen = [play(tmp_path, state(epsilon)).claims[0] for epsilon in (0.9, 0.8, 0.9)]
    assert [claim.nights for claim in seen] == [1, 1, 2]
    assert seen[2].history[0].evidence[0] == seen[0].evidence
    assert seen[1].needed == pytest.approx(seen[0].needed + log(3))  # the second error, 1/6 after 1/2
    assert [each.changes for each in seen[2].history] == [
        (),
        ("code or settings of the mechanism, or its data, changed",),
    ]


@pytest.mark.thorough
def test_games_of_code_that_changes_meanwhile_are_discarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version, seen = monitors.describe_version, []

    def describe(target: Any) -> dict[str, dict[str, str]]:
        seen.append(target)
        return version(target) | {"files": {"mine.py": str(len(seen))}}

    monkeypatch.setattr(monitors, "describe_version", describe)
    (claim,) = play(tmp_path, state(1.0)).claims
    assert (claim.state, claim.nights) == ("failed", 0)
    assert "the code changed while the night was played" in claim.failure


class Failing(LaplaceCount):
    """It raises in every game."""

    name = "failing"

    def release(self, training: Any, rng: Any) -> Any:
        raise ZeroDivisionError("no example")


@pytest.mark.thorough
def test_a_claim_that_raises_fails_alone(tmp_path: Path) -> None:
    failing = audits.claim("fails", Failing(), against="count-swap")
    unknown = audits.claim("unknown", LaplaceCount, epsilon=1.0)
    result = play(tmp_path, failing, unknown, state(1.0))
    assert [claim.state for claim in result.claims] == ["failed", "failed", "not refuted"]
    assert "ZeroDivisionError" in result.claims[0].failure
    assert "got the class LaplaceCount" in result.claims[1].failure
    assert result.headline == "3 claims, none refuted; 2 failed: fails, unknown"


@pytest.mark.thorough
def test_lost_evidence_spends_the_next_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = play(tmp_path, state(1.0)).claims[0]
    plans: list[NightPlan] = []

    def lose(plan: NightPlan) -> NightResult:
        plans.append(plan)
        return NightResult(bet=True, failure="it raised", kept=Kept(faults=True))

    monkeypatch.setattr(monitors, "play_night", lose)
    lost = play(tmp_path, state(1.0)).claims[0]
    assert (lost.state, lost.nights, lost.evidence) == ("failed", 0, 0.0)
    assert lost.needed == pytest.approx(before.needed + log(3))
    play(tmp_path, state(1.0))
    assert plans[1].kept == Kept(faults=True)
    assert plans[0].seed != plans[1].seed  # the games that were seen are not played again


def test_an_interrupted_night_counts_and_ends_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = NightResult(games=100, log_wealth=0.25, bet=True, interrupted=True)
    monkeypatch.setattr(monitors, "play_night", lambda plan: played)
    result = play(tmp_path, state(1.0), attrs.evolve(state(1.0), name="other"))
    assert [claim.nights for claim in result.claims] == [1, 0]
    assert result.interrupted
    assert result.headline.endswith("; interrupted")


def clip(records: list[int], rng: np.random.Generator) -> float:
    """Its sum changes by up to 9, and its noise is for 1."""
    return sum(records) + rng.laplace()


@pytest.mark.thorough
def test_a_night_finds_an_adversary_and_the_next_begins_with_it(tmp_path: Path) -> None:
    settings = {"data": st.lists(st.integers(0, 9)), "neighbours": "add or remove one"}
    entry = audits.claim("sum", clip, epsilon=1.0, **settings)
    (claim,) = play(tmp_path, entry, games=1_000).claims
    assert claim.refuted
    assert claim.adversary.startswith("found by a search")
    assert "arena audit" in claim.counterexample
    (version,) = Store.read(tmp_path / "store").versions["sum"]
    assert version.kept is not None
    assert isinstance(read_adversary(version.kept.source), Script)
    other = attrs.evolve(entry, epsilon=1.5)
    (again,) = play(tmp_path, other, games=1_000).claims
    assert again.refuted
    assert len(again.history) == 2


@pytest.mark.slow
def test_claims_are_played_by_several_processes_alike(tmp_path: Path) -> None:
    entries = [state(1.0), attrs.evolve(state(0.5), name="other")]
    alone = play(tmp_path / "a", *entries)
    together = play(tmp_path / "b", *entries, jobs=2)
    assert [claim.evidence for claim in alone.claims] == [claim.evidence for claim in together.claims]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"error": 0}, "error must be"),
        ({"minutes": 0}, "minutes must be"),
        ({"games": 1.5}, "games must be"),
        ({"part": "2/1"}, "a part is K/M"),
        ({"jobs": 0}, "jobs must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        play(tmp_path, state(1.0), **settings)


# --- what is kept ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "adversary",
    [
        FOUND,
        attrs.evolve(FOUND, world_0=Records(((1, "a", None), (2.5, "b", True))), score=None),
        Script(
            protocol="Release", world_0=Sample([0.0], [1], counts=[2]), world_1=Sample([0.0, 1.0], [1, 0])
        ),
        CountSwap(),
    ],
    ids=["records", "rows", "sample", "shipped"],
)
def test_an_adversary_is_read_as_it_was_written(adversary: Any) -> None:
    assert read_adversary(write_adversary(adversary)) == adversary


@pytest.mark.parametrize(
    "text",
    [
        "import os\nkept = os.system('touch {path}')",
        "from os import system\nkept = system('touch {path}')",
        "kept = __import__('os').system('touch {path}')",
        "from pathlib import Path\nkept = Path('{path}').touch()",
        "from audits.registry.user_files import load_module\nkept = load_module('{path}.py')",
        "from base64 import b64decode\nfrom pickle import loads\nkept = loads(b64decode(''))",
        "from arena import Sample\nkept = Sample.__init__.__globals__",
        "from arena import Sample\nkept = [Sample([0.0], [1]) for _ in range(10)]",
        "from audits.adversary_search import Script\nkept = Script(**{{'protocol': 'Release'}})",
        "kept = 1",
        "kept = (" * 500,
        "x = 1",
        "",
    ],
)
def test_no_code_of_a_store_is_run(tmp_path: Path, text: str) -> None:
    target = tmp_path / "touched"
    target.with_suffix(".py").write_text(f"open({str(target)!r}, 'w')")
    assert read_adversary(text.format(path=target)) is None
    assert not target.exists()


def test_kept_scores_are_few_and_end_to_end_the_same_games() -> None:
    rng = generator(np.random.SeedSequence(0))
    few = PairCounts.of(np.array([0.0, 1.0, -np.inf]), np.array([1.0, 1.0, np.inf]))
    (same,) = unpack_scores(Kept(scores=pack_scores([few])))
    assert same.scores.tolist() == few.scores.tolist()
    many = PairCounts.of(*rng.laplace(size=(2, 5_000)))
    (coarse,) = unpack_scores(Kept(scores=pack_scores([many, few])))
    assert len(coarse.levels) <= 64
    assert coarse.pairs == 5_003
    assert {*coarse.levels} <= {*many.levels, *few.levels}
    for threshold in coarse.levels:  # events between these levels are counted as before
        for world in (0, 1):
            both = [many.scores[:, world] >= threshold, few.scores[:, world] >= threshold]
            reached = sum(int(part @ block.counts) for part, block in zip(both, (many, few), strict=True))
            assert coarse.counts @ (coarse.scores[:, world] >= threshold) == reached
    assert unpack_scores(None) == []
    with pytest.raises(InvalidArgument):
        unpack_scores(Kept(scores="%%%"))


# --- power -------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_more_games_show_smaller_losses() -> None:
    shown = [find_shown_factor(games, epsilon=1.0, delta=0.0, threshold=12.0) for games in (10, 300, 3_000)]
    assert shown[0] is None
    assert shown[1] > shown[2] > 1.0  # type: ignore[operator]
    with_curve = find_shown_factor(300, epsilon=1.0, delta=0.0, threshold=12.0, has_curve=True)
    assert with_curve > shown[1]  # type: ignore[operator]
    assert find_shown_factor(300, epsilon=25.0, delta=0.0, threshold=12.0) is None


def test_a_true_claim_is_expected_to_win_nothing() -> None:
    assert -2 < expect_log_wealth(3_000, epsilon=1.0, delta=0.0, loss=1.0) < 0.01
    assert expect_log_wealth(3_000, epsilon=1.0, delta=0.0, loss=1.3) > 20


# --- reports and commands ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store after two nights: of true claims, and of code that breaks the first one."""
    folder = tmp_path_factory.mktemp("nights")
    for epsilon in (1.0, 3.0):
        (folder / "claims.py").write_text(CLAIMS.format(epsilon=epsilon))
        result = arena("play", folder / "claims.py", "--store", folder / "store", "--games", 500)
        assert result.exit_code == (0 if epsilon == 1.0 else 3), result.stderr
    return folder


@pytest.mark.thorough
def test_the_page_shows_claims_power_nights_and_changes(nights: Path) -> None:
    page, badge = nights / "page.html", nights / "badge.svg"
    said = arena.text("report", "--store", nights / "store", "-o", page, "--badge", badge)
    assert said == f"The report is in {page}.\n"
    html = page.read_text()
    assert html.count("<svg") == 2
    assert html.count("<polyline") == 3  # two versions of the first claim, and one of the second
    assert re.search(r"<td>1\.\d+ ε</td>", html)
    assert "code or settings of the mechanism, or its data, changed" in html
    assert "1 of 2 claims refuted: first" in html
    assert "1 of 2 refuted" in badge.read_text()
    arena.text("report", "--store", nights / "store", "-o", nights / "again.html")
    assert (nights / "again.html").read_bytes() == page.read_bytes()


def test_the_same_state_as_json(nights: Path) -> None:
    entries = MonitorReport.of(Store.read(nights / "store")).to_dict()
    assert entries["refuted"] == ["first"]
    first, second = entries["claims"]
    assert [each["refuted"] for each in first["history"]] == [False, True]
    assert second["state"] == "not refuted"
    assert second["history"][0]["evidence"][-1] == pytest.approx(second["evidence"])
    assert second["shown_factor"] > 1


@pytest.mark.thorough
def test_merging_by_command(nights: Path, tmp_path: Path) -> None:
    (tmp_path / "claims.py").write_text(CLAIMS.format(epsilon=3.0))
    for part in ("1/2", "2/2"):
        words = ("play", tmp_path / "claims.py", "--store", tmp_path / part[0], "--part", part)
        assert arena(*words, "--games", 500).exit_code == 3
    merged = arena.json("merge", tmp_path / "2", "--store", tmp_path / "1", status=3)
    assert merged == {"store": str(tmp_path / "1"), "nights": 2, "refuted": ["first"]}
    assert arena.json("merge", tmp_path / "2", "--store", tmp_path / "1", status=3)["nights"] == 0
    assert "there is no store" in arena.refusal("merge", tmp_path / "none", "--store", tmp_path / "1")


def test_a_claim_that_cannot_be_played_is_invalid_usage(tmp_path: Path) -> None:
    path = tmp_path / "claims.py"
    path.write_text("import audits\naudits.claim('wrong', 'no-such-learner', epsilon=1.0)\n")
    result = arena("play", path, "--store", tmp_path / "store", "--games", 500)
    assert result.exit_code == 2
    assert "wrong could not be played: there is no learner of that name" in result.stdout
    assert "failed" in arena.text("play", path, "--store", tmp_path / "store", "--minutes", 1, status=2)


@pytest.mark.thorough
def test_annotations_for_github(nights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.chdir(nights)
    result = arena("play", "claims.py", "--store", "store", "--games", 500)
    line = "::error file=claims.py,line=5,title=privacy claim refuted::first: (1, 0)-DP"
    assert next(each for each in result.stderr.splitlines() if each.startswith("::")).startswith(line)
    claim = MonitorReport.of(Store.read("store")).claims[0]
    odd = attrs.evolve(claim, name="100 %\nof", file="/a,b:c.py", line=2)
    assert format_annotation(odd).startswith("::error file=/a%2Cb%3Ac.py,line=2,")
    assert "100 %25%0Aof" in format_annotation(odd)


def test_texts_of_a_store_are_no_markup(nights: Path, tmp_path: Path) -> None:
    store = Store.read(nights / "store")
    store.folder = tmp_path
    name = "<b>\u202e"
    store.shares[name] = store.shares.pop("first")
    store.versions[name] = [attrs.evolve(version, claim=name) for version in store.versions.pop("first")]
    for version in store.versions[name]:
        for night in version.nights:
            night.commit = night.adversary = "<script>"
    page = MonitorReport.of(store).to_html()
    assert not re.search(r"<script>|<b>|\u202e", page)
    assert not re.search(r"<script>|<b>|\u202e", MonitorReport.of(store).draw_badge())


def test_a_store_named_as_a_command_is_explained(nights: Path) -> None:
    said = arena.refusal(nights / "claims.py")
    assert f"Did you mean arena monitor play {nights / 'claims.py'}?" in said
    assert json.loads((nights / "store" / "monitor.json").read_text())["format"] == 1


def test_too_few_games_leave_a_claim_undecided(nights: Path) -> None:
    report = MonitorReport.of(Store.read(nights / "store"))
    claims = [
        attrs.evolve(claim, state="undecided" if claim.nights else "not played") for claim in report.claims
    ]
    open_report = attrs.evolve(report, claims=tuple(claims))
    assert "undecided" in open_report.headline
    assert open_report.summary().startswith("Undecided: ")
    assert "not refuted" not in open_report.draw_badge()
    assert get_status(open_report) == 4
    assert format_annotation(claims[0]).startswith("::warning ")
