"""The HTML report in Chromium: narrow and wide, light and dark, it fits and can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import find_browser, measure_pages

import audits
from adversaries.figure1.swaps import HaltCounter
from adversaries.release.point_swap import CountSwap
from arena import Figure1, Release
from audits.runs.plan import Plan
from audits.runs.run import run
from audits.runs.run_page import write_html
from learners.everlasting.paper_versions import EverlastingV1
from learners.releases.counts import LaplaceCount

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.slow
COMMAND = "arena audit everlasting-v1 --against halt-counter"
V1 = EverlastingV1()
PLANS = {
    "refuted": Plan(
        learner=V1, adversary=HaltCounter(learner=V1), referee=Figure1(), epsilon=1, delta=1e-5, games=20_000
    ),
    "not refuted": Plan(
        learner=LaplaceCount(), adversary=CountSwap(), referee=Release(), epsilon=1, delta=0, games=5_000
    ),
}
ORDERS = pd.DataFrame(
    {"item": [f"<b>{n}</b>" for n in range(40)], "note": ["a long note " * 9] * 40, "price": [0.1] * 40}
    | {f"column {n}": [n] * 40 for n in range(8)}
)


def list_items(orders: Any, rng: np.random.Generator) -> dict[str, float]:
    return {item: rng.laplace() for item in orders["item"]}


@pytest.fixture(scope="module")
def browser() -> str:
    return find_browser()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The HTML reports on the plans."""
    folder, pages = tmp_path_factory.mktemp("pages"), {}
    for outcome, plan in PLANS.items():
        ledger, path = folder / f"{outcome}.ledger", folder / f"{outcome}.html"
        run(plan, ledger=ledger, command=COMMAND)
        write_html(ledger, path)
        pages[outcome] = path.read_text(encoding="utf-8")
    given: dict[str, Any] = {"data": ORDERS, "epsilon": 1.0, "neighbours": "add or remove one"}
    pages["search"] = audits.search(list_items, **given).to_html()
    pages["tournament"] = audits.tournament(
        ["svt-5", "laplace-count", "soa", "function"], ["statdp", "point-swap", "shattered-tree"], games=5_000
    ).to_html()
    claim = audits.claim("count", LaplaceCount(), epsilon=1.0, against="count-swap")
    pages["monitor"] = audits.monitor([claim], store=folder / "store", games=500).to_html()
    pages["table"] = audits.audit(list_items, **given, neighbour=ORDERS[1:], games=500).to_html()
    return pages


def measure(browser: str, page: str, width: int, scheme: str, folder: Path) -> dict[str, Any]:
    (result,) = measure_pages(browser, [page], width, scheme, folder)
    return result


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("outcome", [*PLANS, "search", "table", "tournament", "monitor"])
def test_a_report_fits_and_can_be_read(
    browser: str, pages: dict[str, str], outcome: str, width: int, scheme: str, tmp_path: Path
) -> None:
    result = measure(browser, pages[outcome], width, scheme, tmp_path)
    assert result["width"] == width
    assert result["overflow"] <= 0
    assert (result["wide"], result["cut"], result["faint"]) == ([], [], [])
    assert (result["background"] < 0.1) == (scheme == "dark")
    if outcome not in PLANS:  # nobody typed a command
        return
    # The policy lets the script of the page run. Browsers without a clipboard select the command instead.
    assert result["shown"]
    assert result["button"] in ("Copied", "Selected: copy it with Ctrl+C")


def test_the_measures_detect_faults(browser: str, pages: dict[str, str], tmp_path: Path) -> None:
    broken = (
        pages["refuted"].replace("--note: #bbb", "--note: #333").replace("<h2>", '<h2 style="width: 90rem">')
    )
    broken = broken.replace("await navigator", "await  navigator")  # another script than the policy names
    result = measure(browser, broken, 360, "dark", tmp_path)
    assert result["overflow"] > 0
    assert result["wide"]
    assert result["faint"]
    assert not result["shown"]
