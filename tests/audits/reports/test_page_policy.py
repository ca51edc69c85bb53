"""Every page that dp-arena writes has the same content security policy, and holds nothing that it forbids."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from support.flawed.sessions import AGES, Odometer
from support.paths import ROOT

import audits
from arena.concepts import DecisionLists, FiniteClass, Variables
from audits.cli.fit import fit_to_data
from audits.cli.show import describe_class
from audits.data.one_hot import load_one_hot
from audits.reports.plots import BoundRow, Picture
from audits.reports.report import Document, Listing, Report, make_policy
from audits.runs.run_page import write_html
from audits.surveys.entry_result import REFUTED, EntryResult
from learners.lists.private_decision_list import Rivest

COUNT = ("laplace-count", "count-swap")
SCORES = np.linspace(-1, 1, 40)
SMALL: dict[str, Any] = {"games": 200}


def fit_rules(folder: Path) -> str:
    table = folder / "table.csv"
    table.write_text("x,y\n" + "u,0\nv,1\n" * 20)
    learner = Rivest(concepts=DecisionLists(Variables(2)))
    return fit_to_data(learner, load_one_hot(table, y="y"), holdout=0, splits=1, seed=0).to_html()


def audit_with_ledger(folder: Path) -> str:
    audits.audit(*COUNT, ledger=folder / "run.ledger", **SMALL)
    write_html(folder / "run.ledger", folder / "run.html")
    return (folder / "run.html").read_text(encoding="utf-8")


# A page of each kind, by the class of its result.
PAGES: dict[str, Callable[[Path], str]] = {
    "Verdict": lambda folder: audits.audit(*COUNT, **SMALL).to_html(),
    "run with a ledger": audit_with_ledger,
    "Certificate": lambda folder: audits.certify(SCORES, SCORES + 1).to_html(),
    "OneRunCertificate": lambda folder: audits.certify_one_run(SCORES, SCORES > 0, delta=1e-5).to_html(),
    "Comparison": lambda folder: audits.compare([audits.exact(*COUNT)]).to_html(),
    "ClassFigures": lambda folder: describe_class(FiniteClass(np.eye(3, dtype=bool))).to_html(),
    "FitResult": fit_rules,
    "ExactAudit": lambda folder: audits.exact(*COUNT).to_html(),
    "Solution": lambda folder: audits.solve(
        "noisy-votes", rounds=1, settings={"size": 5, "answers": 1}
    ).to_html(),
    "SearchResult": lambda folder: audits.search("laplace-count", examples=2, games=200).to_html(),
    "OdometerResult": lambda folder: audits.search(
        audits.session(
            Odometer, data=AGES, ask=st.just((5, 1.0)), odometer="spent", neighbours="add or remove one"
        ),
        examples=2,
        games=64,
    ).to_html(),
    "RaceResult": lambda folder: audits.race(["soa"], "shattered-tree", rounds=5, games=2).to_html(),
    "MonitorReport": lambda folder: audits.monitor(
        [audits.claim("count", "laplace-count", against="count-swap")], store=folder / "store", games=100
    ).to_html(),
    "Survey": lambda folder: audits.Survey(
        library="mine",
        version="1.0",
        seed=0,
        error=1e-6,
        max_seconds=1.0,
        max_calls=None,
        results=(EntryResult(name="mean", outcome=REFUTED, claim="ε = 1", epsilon=1.0, certified=2.0),),
        planned=1,
    ).to_html(),
    "TournamentResult": lambda folder: audits.tournament(
        ["laplace-count"], ["count-swap"], games=50
    ).to_html(),
}


def test_there_is_a_page_of_every_kind_of_result() -> None:
    kinds = {kind.__name__ for kind in Report.__subclasses__() if kind.__module__.startswith("audits.")}
    assert kinds <= PAGES.keys()


def test_pages_are_made_in_these_places_only() -> None:
    places = [
        path.relative_to(ROOT).as_posix()
        for package in ("arena", "adversaries", "learners", "audits", "benchmarks", "examples")
        for path in (ROOT / package).rglob("*")
        if path.suffix in (".py", ".j2", ".html") and "<html" in path.read_text(encoding="utf-8")
    ]
    assert sorted(places) == ["audits/reports/page.html", "audits/tournaments/tournament.html.j2"]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", PAGES)
def test_a_page_has_the_policy_and_nothing_that_it_forbids(kind: str, tmp_path: Path) -> None:
    page = PAGES[kind](tmp_path)
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert html.unescape(policy) == make_policy(*scripts)
    assert len(scripts) <= 1
    assert "<script" not in page.replace("<script>", "")
    # The policy comes before all that it rules, and nothing is loaded, sent or run but the one script.
    assert page.index(policy) < min(page.index("<title"), page.index("<style"))
    assert not re.search(r"<(img|image|iframe|object|embed|form|link|base|audio|video)\b", page)
    assert not re.search(r"\son\w+\s*=|javascript:|url\((?!#)", page)


def test_texts_of_strangers_cannot_leave_their_place() -> None:
    class Titled(Report):
        kind = "titled"
        headline = "</title><script>alert(1)</script>\u202e"

        def document(self) -> Document:
            listing = Listing("</pre><img src=x onerror=alert(1)>")
            return Document(
                parts=[listing], picture=Picture.of_bounds([BoundRow(name="<img>")], "<img>\u202e")
            )

    page = Titled().to_html()
    assert "<script" not in page
    assert "<img" not in page
    assert "\u202e" not in page


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [1e-300, 1e308])
def test_charts_of_claims_of_any_size_are_drawn_without_a_warning(epsilon: float, tmp_path: Path) -> None:
    report = audits.audit(*COUNT, epsilon=epsilon, ledger=tmp_path / "run.ledger", **SMALL)
    report.plot().to_svg()
    write_html(tmp_path / "run.ledger", tmp_path / "run.html")
    assert f"{epsilon:.4g}" in audits.certify(SCORES, SCORES + 1, epsilon=epsilon).to_html()
