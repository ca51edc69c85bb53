"""The HTML report on a run: its contents for every kind of run, from nothing but the ledger."""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import attrs
import numpy as np
import pytest

from adversaries.figure1.halt_counter import HaltCounter
from adversaries.release.point_swap import CountSwap
from arena import Adversary, Figure1, InvalidArgument, Moves, Release, Sample, Train
from audits.runs import example_games
from audits.runs.blocks import play_block
from audits.runs.ledger import Ledger, notes
from audits.runs.plan import Plan
from audits.runs.run import RunProgress, run
from audits.runs.run_charts import _choose_points
from audits.runs.run_history import MAX_POINTS, read_history
from audits.runs.run_page import check_html, write_html
from audits.runs.verdict import Verdict
from learners.everlasting.everlasting_v1 import EverlastingV1
from learners.releases.counts import LaplaceCount

V1 = EverlastingV1()
COUNT = Plan(
    learner=LaplaceCount(), adversary=CountSwap(), referee=Release(), epsilon=1, delta=0, games=5_000
)
HALTS = Plan(
    learner=V1,
    adversary=HaltCounter(learner=V1),
    referee=Figure1(),
    epsilon=1,
    delta=1e-5,
    confidence=0.999,
    games=5_000,
    seed=7,
)
HEADINGS = [
    "Evidence against the claim",
    "Certified ε",
    "Trade-off of the two errors",
    "Estimators side by side",
    "One pair of games",
    "Settings",
    "Run it again",
]


class Page(HTMLParser):
    """A page as its reader meets it: text by tag, and what the page would fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text: dict[str, list[str]] = {}
        self.attributes: dict[str, list[dict[str, str | None]]] = {}
        self._open: list[str] = []
        self.links: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        self.text.setdefault(tag, []).append("")
        self.attributes.setdefault(tag, []).append(dict(attributes))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        fetched = [value or "" for name, value in attributes if name in ("src", "href", "xlink:href")]
        self.links += [value for value in fetched if not value.startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        for tag in set(self._open):
            self.text[tag][-1] += data
        if self._open and self._open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    @property
    def facts(self) -> dict[str, str]:
        """The rows that have a name, and those of the estimators."""
        return {row[0]: " ".join(row[1:]) for row in self.rows}


def page_of(ledger: Path) -> Page:
    path = ledger.with_suffix(".html")
    write_html(ledger, path)
    return Page(path.read_text(encoding="utf-8"))


def prose(page: Page, tag: str) -> list[str]:
    return [" ".join(text.split()) for text in page.text.get(tag, [])]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "run.ledger"


@pytest.fixture(scope="module")
def halts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    """The ledger of a run that refutes a claim, and its verdict."""
    path = tmp_path_factory.mktemp("halts") / "run.ledger"
    return path, run(HALTS, ledger=path, command="arena audit everlasting-v1 --against halt-counter")


@pytest.fixture(scope="module")
def halts_page(halts: tuple[Path, Verdict]) -> Page:
    return page_of(halts[0])


@pytest.fixture(scope="module")
def count(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Verdict]:
    """The ledger of a run that does not refute a claim, and its verdict."""
    path = tmp_path_factory.mktemp("count") / "run.ledger"
    return path, run(COUNT, ledger=path)


# --- contents ---------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_refuted_claim(halts: tuple[Path, Verdict], halts_page: Page) -> None:
    page, verdict = halts_page, halts[1]
    assert page.text["title"] == ["everlasting-v1 against halt-counter: refuted"]
    assert page.text["h1"] == ["everlasting-v1 against halt-counter"]
    assert page.text["strong"] == ["Refuted"]
    (explanation, meaning) = prose(page, "p")[:2]
    bound = f"{verdict.epsilon_lower:.4g}"
    assert explanation == (
        "Refuted: with confidence 99.9 %, the claim is false, and no claim below "
        f"ε = {bound} at δ = 1e-05 holds."
    )
    assert meaning == (
        "The adversary tells the two worlds apart better than the claim allows. An audit refutes a true "
        "claim with a probability of at most 0.1 %, whenever it is stopped."
    )
    assert page.facts["claim under test"] == "(1, 1e-05)-DP for a training example or a query (replace one)"
    assert page.facts["learner's own claim"].startswith("(0.1731, 7.92e-08)-DP for a training example or a ")
    assert page.facts["learner's own claim"].endswith(f", by {V1.theorem}")
    assert page.facts["certified"] == f"ε ≥ {bound} nats at δ = 1e-05, confidence 99.9 %"
    assert page.facts["ceiling"].startswith(f"ε ≥ {verdict.ceiling:.4g} nats, had the adversary ")
    assert page.facts["games"] == "5,000 in each world, in blocks of at most 8,192 pairs"
    assert page.text["h2"] == HEADINGS


@pytest.mark.thorough
def test_every_chart_has_a_description_and_a_caption(halts_page: Page) -> None:
    page = halts_page
    drawn = page.attributes["svg"]
    assert [one["role"] for one in drawn] == ["img"] * 3
    told = [one["aria-label"] or "" for one in drawn]
    assert "the claim is refuted at 1,000." in told[0]
    assert told[1].startswith("Certified ε over the games: ")
    assert told[2] == (
        "Type II error against type I error: the certified curve falls below what the claim allows."
    )
    captions = prose(page, "figcaption")
    assert [caption.count(". ") for caption in captions] == [1, 0, 2]
    assert captions[0].endswith("once they reach the dashed line, the claim is refuted for good.")
    assert captions[2].endswith("does at least as well as the solid line, which leaves that region.")
    labels = [text for text in page.text["text"] if text]
    assert labels.count("games in each world") == 2
    assert {"certified ε (nats)", "claim refuted (ln 1,000)", "claim (1)"} <= set(labels)
    assert "log wealth of the bets (nats)" in labels


def test_all_estimators_are_shown(halts_page: Page) -> None:
    facts = halts_page.facts
    assert facts["betting"].endswith(" nats nothing: it holds at any time")
    fixed = {
        "held-out Clopper-Pearson": r"ε ≥ [\d.]+ nats a fixed number of games; one event",
        "simultaneous band": r"ε ≥ [\d.]+ nats a fixed number of games; all thresholds at once",
        "region of (ε, δ)": r"δ ≥ [\d.]+ a fixed number of games; the same band, read at the .* ε",
        "μ-GDP, one event": r"μ ≥ [\d.]+ a fixed number of games; one event",
        "μ-GDP, band": r"μ ≥ [\d.]+ a fixed number of games; all thresholds at once",
    }
    for method, told in fixed.items():
        assert re.fullmatch(told, facts[method]), facts[method]


def test_one_pair_of_games_is_shown_as_it_was_played(halts_page: Page) -> None:
    transcript, command = halts_page.text["pre"]
    assert transcript.endswith(
        "world 0: score 0, the learner did not halt\n"
        "world 1: score 1, the learner halted\n"
        "The worlds differ in a query."
    )
    assert max(map(len, transcript.splitlines())) <= 110
    assert command == "arena audit everlasting-v1 --against halt-counter"


def test_all_settings_and_versions_are_shown(halts_page: Page) -> None:
    facts = halts_page.facts
    assert facts["learner"].startswith("everlasting-v1: agnostic = false, alpha_1 = 0.2, ")
    assert "teachers = 20_001" in facts["learner"]
    assert "learner = the one above" in facts["adversary"]
    assert facts["protocol"] == "Figure1: t = none"
    assert (facts["seed"], facts["confidence"], facts["failures"]) == ("7", "99.9 %", "end the audit")
    assert facts["distinguisher"] == "the adversary's score"
    assert f"numpy {np.__version__}" in facts["versions"]


@pytest.mark.thorough
def test_a_claim_that_is_not_refuted(count: tuple[Path, Verdict]) -> None:
    page = page_of(count[0])
    explanation, meaning = prose(page, "p")[:2]
    assert explanation == count[1].explain()
    assert meaning == ("This is no proof of privacy: more games, or another adversary, may refute the claim.")
    assert page.facts["claim under test"].startswith(
        "(1, 0)-DP for a training example (replace one), the learner's own, by the Laplace mechanism"
    )
    assert "learner's own claim" not in page.facts
    assert (page.attributes["svg"][2]["aria-label"] or "").endswith("stays where the claim allows it to be.")
    assert prose(page, "p")[-1] == (
        "The run was not started from the command line; it depends only on the settings above."
    )


def test_games_without_any_evidence(ledger: Path) -> None:
    """A score that says nothing: every figure is 0, and the page is whole."""

    @attrs.frozen
    class Same(Adversary):
        name = "same"
        protocols = ("Release",)

        def play(self, games: int, rng: np.random.Generator) -> Moves:
            yield Train(Sample([0.0], [0], [10]), Sample([0.0, 0.0], [0, 1], [9, 1]))
            return np.zeros(games)

    run(attrs.evolve(COUNT, adversary=Same(), games=1_000), ledger=ledger)
    page = page_of(ledger)
    assert page.facts["betting"].startswith("ε ≥ 0 nats (these games certify no privacy loss)")
    assert page.text["h2"] == HEADINGS


# --- runs that did not finish ------------------------------------------------------------------


def stop_run(ledger: Path, at: int) -> None:
    def stop(now: RunProgress) -> None:
        if now.games >= at:
            raise KeyboardInterrupt

    run(COUNT, ledger=ledger, watch=stop)


def test_an_interrupted_run(ledger: Path) -> None:
    stop_run(ledger, 2_000)
    page = page_of(ledger)
    assert (
        "The run is not finished (2,250 of 5,000 in each world); the games played so far count."
        in (prose(page, "p")[1])
    )
    assert prose(page, "figcaption")[2] == (
        "There is no trade-off curve: "
        "it holds only after 5,000 pairs, as fixed beforehand; 2,250 were played."
    )
    assert page.facts["held-out Clopper-Pearson"].startswith("not available: ")
    assert len(page.text["svg"]) == 2


def test_a_killed_run_is_read_with_its_log_and_not_changed(ledger: Path, tmp_path: Path) -> None:
    book = Ledger.open(
        ledger, COUNT.describe(), notes=lambda: attrs.asdict(notes.LedgerNotes.from_plan(COUNT))
    )
    for index in range(3):
        book.add(index, play_block(COUNT, index))
    killed = tmp_path / "killed"
    killed.mkdir()
    for name in ("run.ledger", "run.ledger-wal"):
        shutil.copy(tmp_path / name, killed / name)
    book.close()
    before = {path.name: path.read_bytes() for path in killed.iterdir()}
    write_html(killed / "run.ledger", tmp_path / "report.html")
    assert {path.name: path.read_bytes() for path in killed.iterdir()} == before
    assert "(1,500 of 5,000 in each world)" in (tmp_path / "report.html").read_text()


def test_a_run_until_refuted(ledger: Path) -> None:
    plan = attrs.evolve(HALTS, games=1_000_000, until_refuted=True)
    verdict = run(plan, ledger=ledger)
    page = page_of(ledger)
    assert "not finished" not in " ".join(prose(page, "p"))
    assert ["games", f"{verdict.games:,} of at most 1,000,000 in each world"] in page.rows


def test_blocks_after_a_missing_block_do_not_count(ledger: Path) -> None:
    with Ledger.open(ledger, COUNT.describe()) as book:
        for index in (0, 1, 3):
            book.add(index, play_block(COUNT, index))
    assert read_history(ledger).verdict.games == 1_000


@pytest.mark.thorough
def test_a_long_run_has_logarithmic_axes(ledger: Path) -> None:
    run(attrs.evolve(COUNT, games=1_200, block=20), ledger=ledger)
    page = page_of(ledger)
    assert page.text["text"].count("games in each world (logarithmic)") == 2
    assert re.search(r" games, and leaves the chart on its way to [\d.]+\.$", prose(page, "figcaption")[1])


def test_long_curves_are_thinned_out_on_both_scales() -> None:
    assert _choose_points(MAX_POINTS).tolist() == list(range(MAX_POINTS))
    for points in (MAX_POINTS + 1, 10 * MAX_POINTS, 10**6):
        shown = _choose_points(points)
        assert (shown[0], shown[-1]) == (0, points - 1)
        assert MAX_POINTS / 2 <= len(shown) <= MAX_POINTS
        assert (np.diff(shown) > 0).all()
        assert shown[1] == 1


# --- the figures are those of the run -----------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("distinguisher", ["score", "learned", "likelihood"])
def test_a_replay_has_the_figures_of_the_run(ledger: Path, distinguisher: str) -> None:
    plan = attrs.evolve(COUNT, distinguisher=distinguisher, epsilon=0.6)
    history: list[RunProgress] = []
    verdict = run(plan, ledger=ledger, watch=history.append)
    found = read_history(ledger)
    assert found.verdict == attrs.evolve(verdict, seconds=0.0, played_now=0)
    assert found.games.tolist() == [0, *(now.games for now in history)]
    assert found.epsilon_lower.tolist() == [0, *(now.epsilon_lower for now in history)]
    assert (found.log_evidence >= found.threshold).tolist() == [False, *(now.refuted for now in history)]
    assert found.ceilings[-1] == (5_000, verdict.ceiling)
    assert (np.diff([bound for _, bound in found.ceilings]) >= 0).all()
    assert all(row.value is not None for row in found.verdict.estimates or () if row.certified)


def test_the_games_after_a_distinguisher_was_learned_are_counted(ledger: Path) -> None:
    run(attrs.evolve(COUNT, distinguisher="learned", games=2_000), ledger=ledger)
    rows = read_history(ledger).verdict.estimates or ()
    assert all(row.value is not None for row in rows if row.certified)


@pytest.mark.thorough
def test_the_ceiling_is_drawn_after_every_block(count: tuple[Path, Verdict]) -> None:
    result = read_history(count[0])
    assert [games for games, _ in result.ceilings] == result.games[1:].tolist()


# --- from the ledger alone --------------------------------------------------------------------------------

PLUGIN = """
import attrs
from arena import Adversary, Sample, Train

@attrs.frozen
class Gone(Adversary):
    name = "gone"
    protocols = ("Release",)

    def play(self, games, rng):
        sample = Sample([0.0], [0], [10])
        reply = yield Train(sample, sample.replace_one(0, 0.0, 1))
        return reply.value
"""


@pytest.mark.thorough
def test_the_players_need_not_be_installed(ledger: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "gone.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    run(attrs.evolve(COUNT, games=500, adversary=importlib.import_module("gone").Gone()), ledger=ledger)
    (tmp_path / "gone.py").unlink()
    monkeypatch.delitem(sys.modules, "gone")
    page = page_of(ledger)
    assert page.text["h1"] == ["laplace-count against gone"]
    assert "world 1: score" in page.text["pre"][0]


def test_a_ledger_without_notes_is_described_by_its_plan(ledger: Path) -> None:
    with Ledger.open(ledger, COUNT.describe()) as book:
        book.add(0, play_block(COUNT, 0))
        book.add(1, play_block(COUNT, 1))
    page = page_of(ledger)
    assert page.text["h1"] == ["laplace-count against count-swap"]
    assert "No pair of games was recorded." in prose(page, "p")
    assert "pre" not in page.text


def test_a_pair_that_cannot_be_recorded_is_left_out(ledger: Path, monkeypatch) -> None:
    def fail(*players: object, **options: object) -> str:
        raise InvalidArgument("no")

    monkeypatch.setattr(example_games, "write_example_games", fail)
    run(attrs.evolve(COUNT, games=500), ledger=ledger)
    assert "No pair of games was recorded." in prose(page_of(ledger), "p")


def test_the_middle_of_a_long_pair_is_left_out(monkeypatch) -> None:
    lines = "\n".join(f"line {number}" for number in range(100))
    monkeypatch.setattr(example_games, "write_example_games", lambda *players, **options: lines)
    kept = notes.LedgerNotes.from_plan(COUNT).transcript.splitlines()
    assert kept[:28] == [f"line {number}" for number in range(28)]
    assert kept[28:31] == ["", "(60 lines left out)", ""]
    assert kept[31:] == [f"line {number}" for number in range(88, 100)]


# --- the file ---------------------------------------------------------------------------------------------


def test_a_page_loads_nothing_and_has_no_duplicate_ids(halts_page: Page) -> None:
    page = halts_page
    assert "link" not in page.text
    assert page.links == []
    ids = [one["id"] for found in page.attributes.values() for one in found if "id" in one]
    assert len(ids) == len(set(ids))


def read_policy(page: Page) -> dict[str, str]:
    """The sources that the page allows for each kind of content."""
    (policy,) = [meta["content"] for meta in page.attributes["meta"] if "http-equiv" in meta]
    return dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))


def test_only_the_script_of_the_copy_button_may_run(halts_page: Page) -> None:
    (script,) = halts_page.text["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = read_policy(halts_page)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == f"'sha256-{digest}'"
    (button,) = halts_page.attributes["button"]
    assert "hidden" in button  # until the script runs
    assert halts_page.attributes["pre"][-1]["id"] == "command"


def test_every_chart_is_in_the_colours_of_the_page(halts_page: Page, halts: tuple[Path, Verdict]) -> None:
    text = halts[0].with_suffix(".html").read_text(encoding="utf-8")
    charts = re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    assert len(charts) == 3
    assert [re.findall(r"#[0-9a-f]{6}\b", chart) for chart in charts] == [[], [], []]
    assert len([words for words in halts_page.attributes["p"] if words.get("class") == "plain"]) == 3


@pytest.mark.thorough
def test_the_same_run_gives_the_same_bytes(count: tuple[Path, Verdict], tmp_path: Path) -> None:
    first, second = tmp_path / "1.html", tmp_path / "2.html"
    write_html(count[0], first)
    run(COUNT, ledger=tmp_path / "again.ledger")
    write_html(tmp_path / "again.ledger", second)
    assert first.read_bytes() == second.read_bytes()


def test_names_are_text_and_not_markup(ledger: Path) -> None:
    noted = {"learner": "<script>alert(1)</script>", "transcript": "<b>"}
    with Ledger.open(ledger, COUNT.describe(), notes=lambda: noted) as book:
        book.add(0, play_block(COUNT, 0))
    page = page_of(ledger)
    assert "script" not in page.text
    assert read_policy(page)["script-src"] == "'none'"
    assert page.text["pre"] == ["<b>"]


def test_a_missing_package_is_named_before_any_game(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidArgument) as refused:
        check_html(tmp_path / "report.html")
    assert str(refused.value) == ("the HTML report needs matplotlib. Run pip install 'dp-arena[report]'.")


@pytest.mark.thorough
def test_a_full_disk_leaves_the_old_page_alone(
    count: tuple[Path, Verdict], monkeypatch, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(self: Path, *arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(InvalidArgument, match=r"cannot be written \(No space left on device\)"):
        write_html(count[0], path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("plan", [{"seed": 1}, COUNT.describe() | {"games": "many"}])
def test_a_ledger_of_something_else(ledger: Path, plan: dict) -> None:
    Ledger.open(ledger, plan).close()
    with pytest.raises(InvalidArgument) as refused:
        read_history(ledger)
    assert str(refused.value).startswith(
        f"the ledger {ledger} contains no audit: the plan of an audit must have "
    )
    assert str(refused.value).endswith(" Give the ledger of an audit.")
