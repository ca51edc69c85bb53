"""The HTML report in Chromium: narrow and wide, light and dark, it fits and can be read."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
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


# The report is in a frame, whose colour scheme is what its media queries see. It keeps its own policy.
HOST = """<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0">
<iframe id="frame" style="border: 0; color-scheme: {scheme}" width="{width}" height="4500" srcdoc="{page}">
</iframe><pre id="result"></pre><script>{script}</script>"""
MEASURE = """
document.getElementById("frame").addEventListener("load", async event => {
  const page = event.target.contentDocument, view = event.target.contentWindow;
  const width = page.documentElement.clientWidth;
  const name = node => node.tagName + ": " + node.textContent.trim().slice(0, 60);
  const opaque = node => {
    for (; node; node = node.parentElement) {
      const colour = view.getComputedStyle(node).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const luminance = colour => {
    const linear = colour.match(/[\\d.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const button = page.getElementById("copy"), wide = [], faint = [], cut = [];
  const shown = !!button && !button.hidden;
  for (const node of page.body.querySelectorAll("*")) {
    const text = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
    if (["SCRIPT", "STYLE"].includes(node.tagName.toUpperCase()) || node.closest("defs")) continue;
    const box = node.getBoundingClientRect(), style = view.getComputedStyle(node);
    if (box.right > width + 1 && !node.closest(".wide")) wide.push(name(node));  // it scrolls by itself
    if (!text) continue;
    if (contrast(node.closest("svg") ? style.fill : style.color, opaque(node)) < 4.5) faint.push(name(node));
    const chart = node.closest("svg")?.getBoundingClientRect();
    if (chart && (box.left < chart.left - 1 || box.right > chart.right + 1)) cut.push(name(node));
  }
  button?.click();
  await new Promise(done => setTimeout(done, 500));
  const result = {
    width, wide, faint, cut, shown, overflow: page.documentElement.scrollWidth - width,
    background: luminance(opaque(page.body)), button: button?.textContent,
  };
  document.getElementById("result").textContent = JSON.stringify(result);
});
"""


@pytest.fixture(scope="module")
def browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on the path")
    return found


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
    pages["table"] = audits.audit(list_items, **given, neighbour=ORDERS[1:], games=500).to_html()
    return pages


def measure(browser: str, page: str, width: int, scheme: str, folder: Path) -> dict[str, Any]:
    """What a page looks like in a frame of this width, in pixels, and this colour scheme."""
    host = folder / "host.html"
    host.write_text(
        HOST.format(page=html.escape(page), width=width, scheme=scheme, script=MEASURE), encoding="utf-8"
    )
    options = [f"--{name}" for name in ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars")]
    options.append(f"--user-data-dir={folder / 'profile'}")
    command = [browser, *options, "--window-size=1400,4600", "--virtual-time-budget=20000", "--dump-dom"]
    done = subprocess.run([*command, host.as_uri()], capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="result">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    result: dict[str, Any] = json.loads(html.unescape(found[1]))
    return result


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("outcome", [*PLANS, "search", "table"])
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
    result = measure(browser, broken, 400, "dark", tmp_path)
    assert result["overflow"] > 0
    assert result["wide"]
    assert result["faint"]
    assert not result["shown"]
