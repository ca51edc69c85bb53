"""The documentation site: it builds, its search finds what people look for, and its pages can be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import find_browser, measure_pages, search_site
from support.paths import ROOT

pytestmark = pytest.mark.slow

# What people search for, and a page that must be among the first that are found.
WORDS = {
    "DataFrame": "guides/audit_a_pipeline.html",
    "pandas": "guides/audit_a_pipeline.html",
    "OpenDP session": "guides/audit_an_interactive_system.html",
    "Opacus": "foreign.html",
    "CI": "guides/monitor_in_ci.html",
}
FIRST = 5


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "furo", "myst_nb", "sphinx_click"):
        pytest.importorskip(package, reason="pip install 'dp-arena[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--quiet",
        str(ROOT / "docs"),
        str(folder),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_page_of_the_tournament_leads_back(site: Path) -> None:
    assert '<a href="index.html">' in (site / "tournament.html").read_text(encoding="utf-8")


def test_the_search_finds_what_people_look_for(site: Path) -> None:
    found = search_site(find_browser(), [*WORDS, "xylophone"], site)
    assert not found.pop("xylophone")
    assert {words: page for words, page in WORDS.items() if page not in found[words][:FIRST]} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_page_fits_and_can_be_read(site: Path, width: int, scheme: str) -> None:
    pages = sorted(
        str(path.relative_to(site)) for path in site.rglob("*.html") if "_static" not in path.parts
    )
    for page in measure_pages(find_browser(), pages, width, scheme, site):
        assert (page["width"], page["overflow"]) == (width, 0), page["name"]
        assert (page["wide"], page["cut"], page["faint"]) == ([], [], []), page["name"]
        assert (page["background"] < 0.1) == (scheme == "dark"), page["name"]
