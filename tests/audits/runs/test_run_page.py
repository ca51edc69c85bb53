"""The HTML report on a run: its contents for every kind of run, from nothing but the ledger."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import attrs
import numpy as np
import pytest
from support.processes import interrupt_at

from adversaries.figure1.swaps import HaltCounter
from adversaries.release.point_swap import CountSwap
from arena import Adversary, Figure1, InvalidArgument, Moves, Release, Sample, Train
from audits.runs import example_games
from audits.runs.blocks import play_block
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan
from audits.runs.run import RunProgress, run
from audits.runs.run_history import read_history
from audits.runs.run_page import check_html, write_html
from audits.runs.verdict import RunNotes, Verdict
from learners.everlasting.paper_versions import EverlastingV1
from learners.releases.counts import LaplaceCount

V1 = EverlastingV1()
COUNT = Plan(
    learner=LaplaceCount(), adversary=CountSwap(), referee=Release(), epsilon=1, delta=0, games=5_000
)
PLAYERS = {"learner": V1, "adversary": HaltCounter(learner=V1), "referee": Figure1()}
HALTS = Plan(**PLAYERS, epsilon=1, delta=1e-5, confidence=0.999, games=5_000, seed=7)
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
    """A page as its reader meets it: text by tag, and the rows of its tables."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._open.append(tag)
        self.text.setdefault(tag, []).append("")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

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
    assert explanation.endswith(f"the claim is false, and no claim below ε = {bound} at δ = 1e-05 holds.")
    assert meaning.endswith("true claim with a probability of at most 0.1 %, whenever it is stopped.")
    assert page.facts["claim under test"] == "(1, 1e-05)-DP for a training example or a query (replace one)"
    assert page.facts["learner's own claim"].startswith("(0.1731, 7.92e-08)-DP for a training example or a ")
    assert page.facts["learner's own claim"].endswith(f", by {V1.theorem}")
    assert page.facts["certified"] == f"ε ≥ {bound} nats at δ = 1e-05, confidence 99.9 %"
    assert page.facts["ceiling"].startswith(f"ε ≥ {verdict.ceiling:.4g} nats, had the adversary ")
    assert page.facts["games"] == "5,000 in each world, in blocks of at most 8,192 pairs"
    assert page.text["h2"] == HEADINGS


@pytest.mark.thorough
def test_one_pair_of_games_is_shown_as_it_was_played(halts_page: Page) -> None:
    transcript, command = halts_page.text["pre"]
    assert transcript.endswith("world 1: score 1, the learner halted\nThe worlds differ in a query.")
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


@pytest.mark.thorough
def test_an_interrupted_run(ledger: Path) -> None:
    run(COUNT, ledger=ledger, watch=interrupt_at(2_000))
    page = page_of(ledger)
    assert "The run is not finished (2,250 of 5,000 in each world)" in prose(page, "p")[1]
    assert prose(page, "figcaption")[2].startswith("There is no trade-off curve: it holds only after 5,000 p")
    assert page.facts["held-out Clopper-Pearson"].startswith("not available: ")
    assert len(page.text["svg"]) == 2


@pytest.mark.thorough
def test_a_killed_run_is_read_with_its_log_and_not_changed(ledger: Path, tmp_path: Path) -> None:
    book = Ledger.open(ledger, COUNT.describe(), notes=lambda: attrs.asdict(RunNotes.from_plan(COUNT)))
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


@pytest.mark.thorough
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


@pytest.mark.thorough
def test_a_pair_that_cannot_be_recorded_is_left_out(ledger: Path, monkeypatch) -> None:
    def fail(*players: object, **options: object) -> str:
        raise InvalidArgument("no")

    monkeypatch.setattr(example_games, "write_example_games", fail)
    run(attrs.evolve(COUNT, games=500), ledger=ledger)
    assert "No pair of games was recorded." in prose(page_of(ledger), "p")


# --- the file ---------------------------------------------------------------------------------------------


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
    assert page.text["pre"] == ["<b>"]


def test_a_missing_package_is_named_before_any_game(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InvalidArgument) as refused:
        check_html(tmp_path / "report.html")
    assert str(refused.value) == "the HTML report needs matplotlib. Run pip install 'dp-arena[report]'."
