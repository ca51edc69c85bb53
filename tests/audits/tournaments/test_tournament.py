"""Tournaments: pairs, seeds, figures, ledgers, rankings, reports and refusals."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import attrs
import pytest
from hypothesis import strategies as st
from support.command_line import Command
from support.flawed.sessions import AGES, Server

import audits
from arena import Adversary, Ask, InvalidArgument, Train
from arena.errors import MissingPackage
from arena.records import Records
from audits.tournaments.cells import CellResult
from audits.tournaments.tournament_plan import Tournament, derive_seed, plan_tournament
from audits.tournaments.tournament_result import TournamentResult, run_tournament
from learners.predictors.vote_predictors import StaticErm

LEARNERS = ("laplace-count", "randomised-response", "static-erm", "soa")
ADVERSARIES = ("count-swap", "point-swap", "reconstruct", "honest", "shattered-tree")
PLUGIN = '''
import attrs
from adversaries.release.point_swap import CountSwap

@attrs.frozen
class Best(CountSwap):
    """The shipped one under another name."""
    name = "best"

@attrs.frozen
class Faulty(CountSwap):
    """Raises in its first move."""
    name = "faulty"
    def play(self, games, rng):
        raise RuntimeError("this adversary is broken")
        yield

@attrs.frozen
class Unbuilt(CountSwap):
    """Raises when it is created."""
    name = "unbuilt"
    def __attrs_post_init__(self):
        raise RuntimeError("no configuration suits it")
'''


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    return path


def plan(*learners: str, against: tuple = ADVERSARIES, games: int = 100, **settings) -> Tournament:
    return plan_tournament(learners or LEARNERS, against, games=games, **settings)


@pytest.fixture(scope="module")
def small() -> TournamentResult:
    return run_tournament(plan())


# --- the plan -----------------------------------------------------------------------------------------


def test_every_pair_is_a_cell_or_is_listed_with_the_reason() -> None:
    tournament = plan()
    pairs = {(cell.learner, cell.adversary) for cell in tournament.cells}
    unmatched = {(learner, adversary) for learner, adversary, _ in tournament.unmatched}
    assert pairs | unmatched == {(one, other) for one in LEARNERS for other in ADVERSARIES}
    assert not pairs & unmatched
    assert all(cell.refusal for cell in tournament.cells if cell.game is None)
    assert {reason for *_, reason in tournament.unmatched} == {"they play no protocol in common"}


@pytest.mark.thorough
def test_a_seed_depends_on_the_names_of_the_pair_only() -> None:
    few = plan("laplace-count", against=("count-swap",))
    seeds = {str(cell): cell.seed for cell in plan().cells}
    assert seeds[str(few.cells[0])] == few.cells[0].seed == derive_seed(0, "laplace-count", "count-swap")
    assert len(set(seeds.values())) == len(seeds)
    assert plan("laplace-count", against=("count-swap",), seed=1).cells[0].seed != few.cells[0].seed


def test_adversaries_from_files_join_the_shipped_ones_unless_some_are_named(plugin: Path) -> None:
    mine = f"{plugin}:Best"
    joined = plan("laplace-count", against=(mine,))
    assert {"best", "count-swap", "low-bits"} <= {cell.adversary for cell in joined.cells}
    alone = plan("laplace-count", against=(mine, "count-swap"))
    assert [cell.adversary for cell in alone.cells] == ["best", "count-swap"]


def test_protocols_can_be_chosen() -> None:
    tournament = plan(protocols=("Adaptive",))
    assert {cell.protocol for cell in tournament.cells} == {"Adaptive"}
    reasons = {(one, other): reason for one, other, reason in tournament.unmatched}
    assert reasons["laplace-count", "count-swap"] == "they play Release only"
    assert all("--protocol Adaptive" in cell.command for cell in tournament.cells)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learners": ("laplace-cont",)}, "no learner of that name, got 'laplace-cont'. Did you mean"),
        ({"protocols": ("Releas",)}, "there is no protocol of that name, got 'Releas'. Did you mean"),
        ({"learners": ("soa", "soa")}, "two of the learners are called soa"),
        ({"learners": ("soa",), "adversaries": ("count-swap",)}, "no learner of this tournament can meet an"),
        ({"learners": ("soa",), "adversaries": ("honest",)}, "(they play no protocol in common). `arena"),
        ({"learners": (7,)}, "a learner is given as an instance or a name, got 7. Give a learner"),
        ({"games": 0}, "games must be at least 1, got 0"),
    ],
)
def test_refusals(settings, message) -> None:
    with pytest.raises(InvalidArgument) as refused:
        plan_tournament(**{"learners": ("laplace-count",), "adversaries": ("count-swap",), **settings})
    assert message in str(refused.value)


# --- the figures --------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_line_of_an_audit_repeats_its_figures(small: TournamentResult) -> None:
    for name in ("laplace-count against count-swap", "static-erm against reconstruct"):
        row = next(row for row in small.rows if str(row.cell) == name)
        replayed = Command()(*shlex.split(row.cell.command)[1:], "--json")
        again = json.loads(replayed.stdout)
        assert again["epsilon_lower"] == row.result.epsilon_lower
        assert (again["ceiling"], again["games"]) == (row.result.ceiling, row.cell.games)
        assert again["refuted"] == row.result.refuted


@pytest.mark.thorough
def test_the_line_of_a_race_repeats_its_figures(small: TournamentResult) -> None:
    row = next(row for row in small.rows if str(row.cell) == "soa against shattered-tree")
    again = Command().json(*shlex.split(row.cell.command)[1:])
    assert again["learners"][0]["mean"][-1] == row.result.mean
    assert (row.cell.quantity, again["quantity"]) == ("mistakes", "mistakes")


@pytest.mark.thorough
def test_exact_losses_are_computed_or_the_reason_is_given(small: TournamentResult) -> None:
    by_name = {str(row.cell): row.result for row in small.rows}
    assert by_name["laplace-count against count-swap"].exact == pytest.approx(1.0)
    assert by_name["static-erm against reconstruct"].exact_reason == "infinite"
    pytest.importorskip("sklearn")
    logistic = run_tournament(plan("logistic", against=("cover-swap",))).results[0]
    assert logistic is not None
    assert logistic.exact_reason == "logistic does not declare its output distribution"
    assert by_name["laplace-count against count-swap"].delta_star is None
    votes = run_tournament(plan("noisy-votes", against=("training-swap",))).results[0]
    assert votes is not None
    assert 0 <= votes.delta_star <= 1e-6


def test_pairs_that_cannot_be_played_say_why(small: TournamentResult) -> None:
    reasons = {str(row.cell): row.result.reason for row in small.rows if row.verdict == "not played"}
    assert reasons["static-erm against honest"].startswith("honest draws all examples from one distribution")


def test_a_learner_without_a_claim_is_tested_but_not_ranked(small: TournamentResult) -> None:
    row = next(row for row in small.rows if str(row.cell) == "static-erm against reconstruct")
    assert (row.verdict, row.share, row.rank) == ("no claim", None, None)
    assert (row.result.refuted, row.refuted) == (True, False)
    assert "--epsilon 1 " in row.cell.command
    assert "reconstruct" not in [place.adversary for place in small.ranking]


def test_a_player_that_raises_ends_its_cell_only(plugin: Path) -> None:
    against = (f"{plugin}:Faulty", f"{plugin}:Unbuilt", "count-swap")
    result = run_tournament(plan("laplace-count", against=against))
    rows = {row.cell.adversary: row for row in result.rows}
    assert (rows["faulty"].verdict, rows["count-swap"].verdict) == ("failed", "not refuted")
    assert "RuntimeError: this adversary is broken" in rows["faulty"].result.reason
    assert rows["unbuilt"].verdict == "failed"
    assert "no configuration suits it" in rows["unbuilt"].result.reason
    assert "Failed: laplace-count against faulty: " in " ".join(result.summary().split())


@pytest.mark.thorough
def test_an_adversary_from_a_file_is_ranked_among_the_others(plugin: Path) -> None:
    result = run_tournament(plan("laplace-count", against=(f"{plugin}:Best", "count-swap", "point-swap")))
    places = {place.adversary: place.rank for place in result.ranking}
    assert (places["best"] in (1, 2), places["point-swap"]) == (True, 3)
    ranks = {row.cell.adversary: row.rank for row in result.rows}
    assert ranks == places


@pytest.mark.thorough
def test_players_may_be_objects() -> None:
    from adversaries.release.point_swap import CountSwap
    from learners.releases.counts import LaplaceCount

    result = run_tournament(
        plan_tournament([LaplaceCount(epsilon=0.5)], [CountSwap(), "point-swap"], games=50)
    )
    assert [row.cell.epsilon for row in result.rows] == [0.5, 0.5]
    assert {row.cell.command for row in result.rows} == {""}


@pytest.mark.thorough
def test_a_game_with_too_many_numbers_is_refused() -> None:
    @attrs.frozen
    class Long(Adversary):
        name = "long"
        protocols = ("Release",)

        def play(self, games, rng):
            from arena import Sample, Train

            yield Train(Sample(points=[0.0] * 2_000, labels=[0] * 2_000))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("audits.tournaments.cells.MAX_NUMBERS", 1_000)
        result = run_tournament(plan_tournament(["laplace-count"], [Long(), "count-swap"], games=50))
    assert [row.verdict for row in result.rows] == ["not refuted", "not played"]
    assert "hands over more than 1,000 numbers" in result.rows[1].result.reason


# --- workers and ledgers ------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_figures_do_not_depend_on_workers_or_other_players(small: TournamentResult) -> None:
    assert run_tournament(plan(), jobs=2).results == small.results
    fewer = run_tournament(plan("laplace-count", "soa"))
    whole = {str(cell): figures for cell, figures in zip(plan().cells, small.results, strict=True)}
    assert fewer.results == tuple(whole[str(cell)] for cell in plan("laplace-count", "soa").cells)


@pytest.mark.thorough
def test_a_ledger_of_another_tournament_is_refused(tmp_path) -> None:
    path = tmp_path / "t.ledger"
    run_tournament(plan("laplace-count", against=("count-swap",)), ledger=path)
    with pytest.raises(InvalidArgument, match=r"holds another plan: seed: 0 -> 1; tournament\."):
        run_tournament(plan("laplace-count", against=("count-swap",), seed=1), ledger=path)
    with pytest.raises(InvalidArgument, match=r"contains a tournament, not an audit\. To resume it, give"):
        audits.audit("laplace-count", "count-swap", games=50, ledger=path)


@pytest.mark.parametrize(
    "blob", [b"", b"{}", b"[]", b'{"outcome": "won"}', b'{"outcome": "audited"}', b"\xff"]
)
def test_other_bytes_are_no_cell(blob: bytes) -> None:
    with pytest.raises(InvalidArgument, match="these bytes encode"):
        CellResult.from_bytes(blob)


def test_a_cell_is_stored_to_the_last_bit(small: TournamentResult) -> None:
    for result in small.results:
        assert result is not None
        again = CellResult.from_bytes(result.to_bytes())
        assert (again, again.seconds) == (result, result.seconds)


# --- reports ------------------------------------------------------------------------------------------


def test_reports_agree_with_each_other(small: TournamentResult, tmp_path) -> None:
    table = tmp_path / "t.csv"
    small.write_csv(table)
    with table.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells = small.to_dict()["cells"]
    assert [row["adversary"] for row in rows] == [cell["adversary"] for cell in cells]
    assert [row["command"] for row in rows] == [cell["command"] for cell in cells]
    bounds = [cell["epsilon_lower"] for cell in cells]
    assert [float(row["epsilon_lower"]) if row["epsilon_lower"] else None for row in rows] == bounds
    assert len(small.to_dict()["unmatched"]) == len(small.tournament.unmatched)


@pytest.mark.thorough
def test_the_page_needs_nothing_and_has_every_line(small: TournamentResult) -> None:
    pytest.importorskip("jinja2")
    page = small.to_html()
    assert page == run_tournament(plan()).to_html()
    assert "http" not in page.replace("http-equiv", "")
    for row in small.rows:
        if row.result.outcome in ("audited", "raced"):
            assert f"<code>{row.cell.command}</code>" in page


def read_tables(page: str) -> dict[str, list[list[str]]]:
    """The texts of the cells of each table, by the heading before it and the number of tables there."""
    tables, heading = {}, ""
    pattern = r"<h[123][^>]*>(.*?)</h[123]>|<table[^>]*>(.*?)</table>"
    for found, table in re.findall(pattern, page, re.DOTALL):
        heading = found or heading
        if table:
            rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("</tr>")[:-1]]
            tables[heading] = [[re.sub(r"<[^>]*>", "", text) for text in row] for row in rows]
    return tables


class Absent(StaticErm):
    """Needs a package that is not installed."""

    name = "absent"

    def start(self, games, rng):
        raise MissingPackage("it needs no-such-package", extra="learning")


@pytest.mark.thorough
def test_a_page_shows_what_can_play_by_family_and_lists_the_rest_apart() -> None:
    pytest.importorskip("jinja2")
    learners = ["laplace-count", "svt-1", "static-erm", "soa", "function", Absent()]
    against = ("count-swap", "statdp", "reconstruct", "honest", "shattered-tree")
    result = run_tournament(plan_tournament(learners, against, games=500))
    tables = read_tables(result.to_html())
    (head, row) = tables["releases"]
    assert head[1:] == ["claim: ε", "best adversary", "certified ε", "optimum", "reached", "count-swap"]
    certified = result.rows[[str(row.cell) for row in result.rows].index("laplace-count against count-swap")]
    bound = certified.result.epsilon_lower
    assert row[:6] == [
        "laplace-count",
        "1",
        "count-swap",
        f"{bound:.4g}",
        "1 (exact)",
        f"{bound:.0%}"[:-1] + " %",
    ]
    assert [line[0] for line in tables["zoo"]] == ["learner", "svt-1"]
    assert tables["zoo"][0][6:] == ["count-swap", "statdp"]  # a column for each that meets one of the family
    assert tables["predictors"][1][:3] == ["static-erm", "none", "reconstruct"]
    assert tables["predictors"][1][4].endswith("(ceiling)")  # the view's loss is infinite
    assert tables["online"][1][:4] == ["soa", "shattered-tree", "4 mistakes", "4 %"]
    (missing,) = tables["Not installed"]
    assert missing == ["absent", "it needs no-such-package. Run pip install &#39;dp-arena[learning]&#39;."]
    assert dict(tables["Without an opponent"]) == {
        "function": "function needs a value for function",
        "honest": "honest draws all examples from one distribution",
    }
    assert "–" not in [text for table in tables.values() for row in table for text in row]


@pytest.mark.thorough
def test_a_cell_of_a_package_that_is_not_installed_is_tried_again(tmp_path: Path) -> None:
    def play(learner: StaticErm) -> str:
        tournament = plan_tournament([learner, "laplace-count"], ["reconstruct", "count-swap"], games=50)
        rows = run_tournament(tournament, ledger=tmp_path / "t.ledger").rows
        return {row.cell.learner: row.verdict for row in rows}[learner.name]

    assert play(Absent()) == "not installed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Absent, "start", StaticErm.start)
        assert play(Absent()) == "no claim"


@attrs.frozen
class AskTwice(Adversary):
    """The last record is there or not; asks twice how many there are."""

    name = "ask-twice"
    protocols = ("Session",)
    returns_score = False

    def play(self, games, rng):
        yield Train(Records([20]), Records([20, 50]))
        for query in (100, 100):
            yield Ask(query)


@pytest.mark.thorough
def test_sessions_and_streams_play() -> None:
    server = audits.session(Server, data=AGES, ask=st.just(100), neighbours="add or remove one", epsilon=1.0)
    rows = run_tournament(
        plan_tournament([server, "linear-stream"], [AskTwice(), "event-swap"], games=2_000)
    ).rows
    assert [(row.cell.protocol, row.verdict) for row in rows] == [
        ("Session", "not refuted"),
        ("Stream", "not refuted"),
    ]
    assert all(row.result.epsilon_lower > 0 for row in rows)


@pytest.mark.thorough
def test_names_are_escaped(plugin: Path) -> None:
    pytest.importorskip("jinja2")
    plugin.write_text(PLUGIN.replace('"best"', '"<b>best"'))
    page = run_tournament(plan("laplace-count", against=(f"{plugin}:Best", "count-swap"))).to_html()
    assert "&lt;b&gt;best" in page
    assert "<b>best" not in page
